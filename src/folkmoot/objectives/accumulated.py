"""Rows whose value depends on one number that accumulates with the set: the base of two families.

A row starts at a state, each of its items in S moves the state by the item's score, and the value is a
function of the state. For probabilistic coverage the state is the chance that no item works; for a concave
function over a modular sum it is the sum.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import kernel, sum_blocks
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, share
from folkmoot.objectives.columns import PLACE, ROW
from folkmoot.objectives.sparse import ScoredRows, SparseRows, to_fixed_point

MISSES, SQRT, LOG1P, CAP = range(4)


class AccumulatedRows(SparseRows):
    """A sparse family described by how its state moves (`_kind`) and, for CAP, a number (`_cap`)."""

    layout: ScoredRows
    _kind: int
    _cap: float = 0.0

    def _arrange(self, rows: Rows) -> ScoredRows:
        return ScoredRows.from_matrix(rows)

    def _row_values(self, words: NDArray[np.uint64], count: int, lo: int, hi: int) -> Array:
        out = np.empty((hi - lo, count))
        values_of_sets(self.layout, self._kind, self._cap, words, lo, hi, out)
        return out

    def _row_gains(self, members: Mask) -> Array:
        out, rows = np.zeros(len(self.layout.items)), len(self.row_weight)
        state, sums = np.empty(rows), np.empty(0, dtype=np.int64)
        if len(out):
            survey(self.layout, self._kind, self._cap, share(members), out, 0.0, 0, rows, state, out, sums)
        return out

    @cached_property
    def _largest_terms(self) -> Array:
        start, scores = self.layout.row_start, self.layout.scores
        out = np.zeros(len(start) - 1)
        some = start[:-1] < start[1:]
        if some.any():
            out[some] = np.maximum.reduceat(scores, start[:-1][some])
        return self._singletons(out)

    def _singletons(self, scores: Array) -> Array:
        """What items with these scores are worth alone."""
        if self._kind == SQRT:
            return np.sqrt(scores)
        if self._kind == LOG1P:
            return np.log1p(scores)
        return scores if self._kind == MISSES else np.minimum(scores, self._cap)

    def _start(self, members: Mask, weight: Array, scale: float) -> tuple[Any, Ids]:
        state, nowhere, inside = np.empty(len(weight)), np.empty(0), share(members)
        sums: Ids = sum_blocks(
            lambda lo, hi, into: survey(
                self.layout, self._kind, self._cap, inside, weight, scale, lo, hi, state, nowhere, into
            ),
            self.layout.row_start,
            self.n_items,
            np.int64,
        )
        return state, sums

    def _grow(self, entries: Ids, weight: Array, scale: float, state: Any, sums: Ids) -> None:
        grow_walk(self.layout, self._kind, self._cap, entries, weight, scale, state, sums)


@kernel
def move(kind: int, state: float, score: float) -> float:
    """The state after an item of this score."""
    return state * (1.0 - score) if kind == MISSES else state + score


@kernel
def value_of(kind: int, cap: float, state: float) -> float:
    if kind == MISSES:
        return 1.0 - state
    if kind == SQRT:
        return float(np.sqrt(state))
    if kind == LOG1P:
        return float(np.log1p(state))
    return min(state, cap)


@kernel
def gain_of(kind: int, cap: float, state: float, score: float) -> float:
    """What an item of this score adds, in a form that stays accurate when the gain is small."""
    if kind == MISSES:
        return state * score
    if kind == SQRT:
        return float(score / (np.sqrt(state + score) + np.sqrt(state)))
    if kind == LOG1P:
        return float(np.log1p(score / (1.0 + state)))
    return min(score, max(cap - state, 0.0))


@kernel
def values_of_sets(
    rows: ScoredRows,
    kind: int,
    cap: float,
    words: NDArray[np.uint64],
    lo: int,
    hi: int,
    out: Array,
) -> None:
    """The value of each row for up to 64 sets, one bit per set."""
    count = out.shape[1]
    for row in range(lo, hi):
        for s in range(count):
            out[row - lo, s] = 1.0 if kind == MISSES else 0.0
        for at in range(rows.row_start[row], rows.row_start[row + 1]):
            word = words[rows.items[at]]
            if word != 0:
                for s in range(count):
                    if (word >> np.uint64(s)) & np.uint64(1):
                        out[row - lo, s] = move(kind, out[row - lo, s], rows.scores[at])
        for s in range(count):
            out[row - lo, s] = value_of(kind, cap, out[row - lo, s])


@kernel
def survey(
    rows: ScoredRows,
    kind: int,
    cap: float,
    members: Mask,
    weight: Array,
    scale: float,
    lo: int,
    hi: int,
    state: Array,
    gains: Array,
    sums: Ids,
) -> None:
    """The state of each row at S, and the gains of its items: written entry by entry to `gains`, or, if `gains` is
    empty, added up item by item in fixed point (members of S included; the walk ignores those).
    """
    for row in range(lo, hi):
        now = 1.0 if kind == MISSES else 0.0
        for at in range(rows.row_start[row], rows.row_start[row + 1]):
            if members[rows.items[at]]:
                now = move(kind, now, rows.scores[at])
        state[row] = now
        for at in range(rows.row_start[row], rows.row_start[row + 1]):
            gain = gain_of(kind, cap, now, rows.scores[at])
            if len(gains) == 0:
                sums[rows.items[at]] += to_fixed_point(weight[row] * gain, scale)
            elif not members[rows.items[at]]:
                gains[at] = gain


@kernel
def grow_walk(
    rows: ScoredRows,
    kind: int,
    cap: float,
    entries: Ids,
    weight: Array,
    scale: float,
    state: Array,
    sums: Ids,
) -> None:
    """Add an item: each row that holds it replaces its old terms in the sums by new ones."""
    for k in range(len(entries)):
        row, place = entries[k] >> ROW, entries[k] & PLACE
        first, last = rows.row_start[row], rows.row_start[row + 1]
        before = state[row]
        after = move(kind, before, rows.scores[first + place])
        state[row] = after
        for at in range(first, last):
            score = rows.scores[at]
            sums[rows.items[at]] += to_fixed_point(
                weight[row] * gain_of(kind, cap, after, score), scale
            ) - to_fixed_point(weight[row] * gain_of(kind, cap, before, score), scale)
