"""Facility location: the value of a row is that of its best item in the set.

f(S) = max_{e∈S} c_e. Items of equal benefit form a run; runs are stored best first, so the first member found is
the best. Cost: the row's own items, whatever n is. The multilinear extension is in `facility_gradient`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.coding import Coding, CodingScalars, encode_number
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.frames import is_frame
from folkmoot.foundation.kernels import kernel, sum_blocks
from folkmoot.foundation.naming import find_rated_pair, names_no_item
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, share
from folkmoot.objectives.columns import PLACE, ROW
from folkmoot.objectives.facility_gradient import (
    add_coded_gradient,
    gradient,
    gradient_at_own_points,
    make_room,
    make_tosses,
    sample_gradient,
)
from folkmoot.objectives.runs import Runs, sort_runs
from folkmoot.objectives.sparse import LEAST_MISS, SETS_PER_WORD, RowOptions, SparseRows, pack_sets, to_fixed_point


class FacilityLocation(SparseRows):
    """f_i(S) = max_{e∈S} c_ie: monotone, submodular, gradient in closed form.

    `benefits` is rows × items (sparse, dense or a DataFrame, not negative). Every row is a client, unless `owners` says
    which client owns each row; a client's function is then the sum of its rows' functions (times `row_weights`).
    """

    by_construction = True
    closed_form = True
    layout: Runs
    _argument = "benefits"
    layout_kind = Runs

    def __init__(self, benefits: Any, **options: Unpack[RowOptions]) -> None:
        table = is_frame(benefits)
        if table:
            _refuse_ratings(benefits)
        super().__init__(benefits, **options)
        if table and options.get("item_names") is None:
            _refuse_ids(self.item_names or ())

    def _arrange(self, rows: Rows) -> Runs:
        return sort_runs(rows)

    def _row_values(self, words: NDArray[np.uint64], count: int, lo: int, hi: int) -> Array:
        out = np.zeros((hi - lo, count))
        best_of_sets(self.layout, words, np.uint64(2**count - 1), lo, hi, out)
        return out

    def _row_gains(self, members: Mask) -> Array:
        out, rows = np.zeros(len(self.layout.items)), len(self.row_weight)
        better, sums = np.empty(rows, dtype=np.int32), np.empty(0, dtype=np.int64)
        if len(out):
            survey(self.layout, share(members), out, 0.0, 0, rows, better, out, sums)
        return out

    @cached_property
    def _largest_terms(self) -> Array:
        runs = self.layout.row_runs
        out = np.zeros(len(runs) - 1)
        some = runs[:-1] < runs[1:]
        out[some] = self.layout.run_value[runs[:-1][some]]
        return out

    def find_ceilings(self) -> Array:
        return self._sum_by_client(self._largest_terms)

    @property
    def ceiling(self) -> float:
        return float((self._mean_weight * self._largest_terms).sum() / self.client_weights.sum())

    def _start(self, members: Mask, weight: Array, scale: float) -> tuple[Any, Ids]:
        better = np.zeros(len(weight), dtype=np.int32)
        inside, nowhere = share(members if members.any() else members[:0]), np.empty(0)
        sums: Ids = sum_blocks(
            lambda lo, hi, into: survey(self.layout, inside, weight, scale, lo, hi, better, nowhere, into),
            self.layout.row_start,
            self.n_items,
            np.int64,
        )
        return better, sums

    def _grow(self, entries: Ids, weight: Array, scale: float, state: Any, sums: Ids) -> None:
        grow_walk(self.layout, entries, weight, scale, state, sums, np.empty(len(entries), dtype=np.int64))

    def _reach(self, state: Any) -> Ids | None:
        """The runs better than S."""
        start, first = self.layout.row_start[:-1], self.layout.row_runs[:-1]
        some = np.flatnonzero(state)
        reach = start.copy()
        reach[some] += self.layout.run_end[first[some] + state[some] - 1]
        return reach

    def extension_at(self, x: Array) -> Array:
        return self.gradients_and_values_at(x)[1]

    def gradients_at(self, x: Array) -> Rows:
        return self.gradients_and_values_at(x)[0]

    def gradients_and_values_at(self, x: Array) -> tuple[Rows, Array]:
        out, expected = self._make_outputs()
        rows = len(expected)
        gradient(
            self.layout, np.ones(rows), 0, rows, self._miss_chances(x), *make_room(self.layout, 0, rows), expected, out
        )
        return self._sum_entries_by_client(out), self._sum_by_client(expected)

    def mean_gradient_at(self, x: Array) -> Array:
        layout, weight, miss, nowhere = self.layout, self._mean_weight, self._miss_chances(x), np.empty(0)
        total: Array = sum_blocks(
            lambda lo, hi, into: gradient(layout, weight, lo, hi, miss, *make_room(layout, lo, hi), nowhere, into),
            layout.row_start,
            self.n_items,
        )
        mean: Array = total / (miss * self.client_weights.sum())
        return mean

    def gradients_at_each(self, points: Rows) -> Rows:
        out, expected = self._make_outputs()
        where, miss = (points.indptr, points.indices, points.data), np.ones(self.n_items)
        room = make_room(self.layout, 0, len(expected))
        once = np.ones(len(expected))
        gradient_at_own_points(self.layout, once, self._client_rows, *where, miss, *room, expected, out)
        return self._sum_entries_by_client(out)

    def sample_gradients_each(self, points: Rows, samples: int, own: PrivateCoins, ids: Ids) -> Rows:
        out, _ = self._make_outputs()
        where = points.indptr, points.indices, points.data
        sample_gradient(self.layout, self._client_rows, *where, self.n_items, samples, own.key, ids, out)
        return self._sum_entries_by_client(out)

    def add_coded_values(self, sets: Mask, how: Coding, times: Ids) -> Ids:
        if self.client_rows is not None:
            return super().add_coded_values(sets, how, times)
        out = np.zeros(len(sets), dtype=np.int64)
        for at, (word, count) in enumerate(pack_sets(sets)):
            into = out[SETS_PER_WORD * at : SETS_PER_WORD * at + count]
            add_coded_values(self.layout, self.row_weight, word, np.uint64(2**count - 1), how.scalars, times, into)
        return out

    def add_coded_gradient(
        self, x: Array, slot: Ids, how: Coding, ids: Ids | None, times: Ids | None, into: Ids
    ) -> Array:
        if self.client_rows is not None:
            return super().add_coded_gradient(x, slot, how, ids, times, into)
        nobody = np.empty(0, dtype=np.int64)
        expected, miss = np.empty(self.n_clients), self._miss_chances(x)
        touched = (miss != 1.0).astype(np.uint8)
        by_item: Ids = sum_blocks(
            lambda lo, hi, part: add_coded_gradient(
                self.layout,
                self.row_weight,
                lo,
                hi,
                miss,
                touched,
                how.scalars,
                nobody if ids is None else ids,
                nobody if times is None else times,
                *make_room(self.layout, lo, hi),
                make_tosses(self.layout, lo, hi),
                expected,
                part,
            ),
            self.layout.row_start,
            self.n_items,
            np.int64,
        )
        asked = slot >= 0
        into[slot[asked]] += by_item[asked]
        return expected

    def _miss_chances(self, x: Array) -> Array:
        return np.maximum(1.0 - x, LEAST_MISS)

    def _make_outputs(self) -> tuple[Array, Array]:
        return np.empty(len(self.layout.items)), np.empty(len(self.row_weight))


def _refuse_ratings(frame: Any) -> None:
    """Refuse a DataFrame of one row per rating, whose columns are no items."""
    if (pair := find_rated_pair([str(column) for column in frame.columns])) is not None:
        raise InputError(
            f"has columns {pair[0]} and {pair[1]}, so it looks like one row per rating",
            argument=FacilityLocation._argument,
            remedy="use folkmoot.load, which reads such tables; here every column is an item",
        )


def _refuse_ids(columns: Sequence[str]) -> None:
    """Refuse columns that are no items by their names."""
    if (strange := next((column for column in columns if names_no_item(column)), None)) is not None:
        raise InputError(
            f"column {strange} is no item by its name, but an id or a time",
            argument=FacilityLocation._argument,
            remedy="make it the index, or leave it out",
        )


@kernel
def best_of_sets(
    rows: Runs,
    words: NDArray[np.uint64],
    everything: np.uint64,
    lo: int,
    hi: int,
    out: Array,
) -> None:
    """Go through a row best first and give each set the first benefit found; stop when all sets have one."""
    for row in range(lo, hi):
        missing = everything
        entry = rows.row_start[row]
        for run in range(rows.row_runs[row], rows.row_runs[row + 1]):
            end = rows.row_start[row] + rows.run_end[run]
            while entry < end and missing != 0:
                found = words[rows.items[entry]] & missing
                if found != 0:
                    missing &= ~found
                    for s in range(out.shape[1]):
                        if (found >> np.uint64(s)) & np.uint64(1):
                            out[row - lo, s] = rows.run_value[run]
                entry += 1
            if missing == 0:
                break


@kernel
def add_coded_values(
    rows: Runs,
    row_weight: Array,
    words: NDArray[np.uint64],
    everything: np.uint64,
    how: CodingScalars,
    times: Ids,
    into: Ids,
) -> None:
    """The value of every set in whole numbers, summed over the rows: rounded once per run, and never stored per row."""
    for row in range(len(row_weight)):
        missing = everything
        entry = rows.row_start[row]
        for run in range(rows.row_runs[row], rows.row_runs[row + 1]):
            end = rows.row_start[row] + rows.run_end[run]
            found = np.uint64(0)
            while entry < end:
                found |= words[rows.items[entry]]
                entry += 1
            found &= missing
            if found != 0:
                missing &= ~found
                number = encode_number(rows.run_value[run] * row_weight[row], how, 0, 0) * times[row]
                for s in range(len(into)):
                    into[s] += number * np.int64((found >> np.uint64(s)) & np.uint64(1))
                if missing == 0:
                    break


@kernel
def survey(
    rows: Runs,
    members: Mask,
    weight: Array,
    scale: float,
    lo: int,
    hi: int,
    better: NDArray[np.int32],
    gains: Array,
    sums: Ids,
) -> None:
    """How many runs of each row are better than all members of S, and what their items gain: c − best.

    Gains are written to `gains` entry by entry (it holds zeros elsewhere), or, if `gains` is empty, w·(c − best)
    is added up item by item. If S is empty, pass a mask of length 0 to skip the search for members.
    """
    for row in range(lo, hi):
        start, first, last = rows.row_start[row], rows.row_runs[row], rows.row_runs[row + 1]
        best, run, entry = 0.0, first, start
        while len(members) and run < last:
            if entry == start + rows.run_end[run]:
                run += 1
            elif members[rows.items[entry]]:
                last = run
                best = rows.run_value[run]
            else:
                entry += 1
        better[row] = last - first
        entry = start
        for run in range(first, last):
            gain = rows.run_value[run] - best
            end = start + rows.run_end[run]
            if len(gains):
                while entry < end:
                    gains[entry] = gain
                    entry += 1
            else:
                term = to_fixed_point(weight[row] * gain, scale)
                while entry < end:
                    sums[rows.items[entry]] += term
                    entry += 1


@kernel
def grow_walk(
    rows: Runs,
    entries: Ids,
    weight: Array,
    scale: float,
    better: NDArray[np.int32],
    sums: Ids,
    which: Ids,
) -> float:
    """Add an item: each row it improves replaces its old terms in the sums by new ones.

    Short loops look up first which rows these are and where they are stored, so that cache misses overlap;
    `which` is work space for that.
    """
    improved, touched = 0, 0.0
    for k in range(len(entries)):
        which[improved] = entries[k]
        row, place = entries[k] >> ROW, entries[k] & PLACE
        improved += better[row] > 0 and place < rows.run_end[rows.row_runs[row] + better[row] - 1]
    for k in range(improved):
        row = which[k] >> ROW
        touched += rows.items[rows.row_start[row]] + rows.run_value[rows.row_runs[row]] + weight[row]
    for k in range(improved):
        row, place = which[k] >> ROW, which[k] & PLACE
        first, start = rows.row_runs[row], rows.row_start[row]
        last = first + better[row]
        best = rows.run_value[last] if last < rows.row_runs[row + 1] else 0.0
        run = first
        while rows.run_end[run] <= place:
            run += 1
        better[row] = run - first
        entry = start
        for other in range(first, last):
            lost = to_fixed_point(weight[row] * (rows.run_value[other] - best), scale)
            if other < run:
                lost -= to_fixed_point(weight[row] * (rows.run_value[other] - rows.run_value[run]), scale)
            end = start + rows.run_end[other]
            while entry < end:
                sums[rows.items[entry]] -= lost
                entry += 1
    return touched
