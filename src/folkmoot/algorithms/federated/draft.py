"""What the server believes about gains that it has not asked for, and the sequence that greedy would then take.

The gain of e at S is modelled as F(e) times one discount per member of S. Discounts come from sums: along a sequence
that was asked about, the gains of e before and after a joined are known, and their quotient is the discount that a
gives to e. Along that sequence this is exact by construction; elsewhere it is a guess, and the next look tests it.
"""

from dataclasses import dataclass

import numpy as np

from folkmoot.algorithms.federated.search import SearchProblem
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.foundation.sets import Array, Ids
from folkmoot.matroids.matroid import Matroid
from folkmoot.matroids.simple import Uniform
from folkmoot.questions.along import GainsAlong

TINY = 1e-300
MOST_NUMBERS = 2**16  # in one answer about gains along a sequence, about
SURE = 1e-3  # doubt in discounts that everybody was asked for


@dataclass(frozen=True, eq=False)
class DraftLook:
    """Gains of F along a sequence, at the prefixes whose lengths are in `marks`: the first is 0, one is `wide`."""

    order: Ids
    marks: Ids
    items: Ids
    gains: Array  # marks × items
    others: Ids
    wide: int
    aside: Array  # gains of the others at the prefix of length `wide`

    def gains_at_wide(self, n_items: int) -> Array:
        """Gains at the prefix of length `wide`, over all items (0 for items that were not asked about)."""
        out = np.zeros(n_items)
        out[self.items] = self.gains[int(np.searchsorted(self.marks, self.wide))]
        out[self.others] = self.aside
        return out

    def course(self) -> Array:
        """Which share of the total loss of gains, in logarithms, each item of the prefix of length `wide` causes."""
        sums = np.log(np.maximum(self.gains.sum(axis=1), TINY))
        along = np.interp(np.arange(self.wide + 1), self.marks, sums)
        if along[0] - along[-1] <= 1e-9:
            return np.full(self.wide, 1 / max(self.wide, 1))
        parts: Array = np.maximum(-np.diff(along), 0.0) / (along[0] - along[-1])
        return parts


def discounts(looks: list[DraftLook], items: Ids, alone: Array, doubt: float) -> Array:
    """How much of the gain of e is left when a joins: items × items, row a, column e.

    Looks are pooled in proportion to the gains that could be lost: Σ after / Σ before. What a takes from e, e takes
    from a (at the same prefix, since f(a) + f(e) − f(a, e) does not depend on the order), so every quotient is used
    twice. All are pulled towards the mean discount that a gives, with weight `doubt` times the largest F(e), because
    gains from few clients say little.
    """
    before, after = np.zeros((len(items), len(items))), np.zeros((len(items), len(items)))
    place = np.full(len(alone), -1)
    place[items] = np.arange(len(items))
    for look in looks:
        here = place[look.items]
        some = np.flatnonzero(here >= 0)
        for at, (lo, hi) in enumerate(zip(look.marks[:-1], look.marks[1:], strict=True)):
            joined = look.order[lo:hi]
            had = look.gains[at]
            share = np.minimum(look.gains[at + 1] / np.maximum(had, TINY), 1.0) ** (1 / (hi - lo))
            for a in place[joined][place[joined] >= 0]:
                others = some[here[some] != a]
                e = here[others]
                before[a, e] += had[others]
                after[a, e] += had[others] * share[others]
                mine = had[here == a].sum()
                before[e, a] += mine
                after[e, a] += np.maximum(mine - had[others] * (1 - share[others]), 0.0)
        away = place[look.others]
        known = away >= 0
        if known.any():  # items asked about at one prefix only: assume they lose as the others do in total
            had = alone[look.others[known]]
            lost = np.log(np.clip(look.aside[known] / np.maximum(had, TINY), 1e-9, 1.0))
            rows, parts = place[look.order[: look.wide]], look.course()
            share = np.exp(parts[:, None] * lost)
            block = np.ix_(rows[rows >= 0], away[known])
            before[block] += had
            after[block] += had * share[rows >= 0]
    there = before.sum(axis=1, keepdims=True)
    usual = np.where(there > 0, after.sum(axis=1, keepdims=True) / np.maximum(there, TINY), 1.0)
    weight = doubt * float(alone.max())
    return (after + weight * usual + TINY) / (before + weight + TINY)


def draft_order(
    matroid: Matroid, items: Ids, alone: Array, left: Array, length: int, known: DraftLook | None = None
) -> Ids:
    """Greedy by discounted gains: a base of the matroid, then a base of the items that are left, and so on.

    `items`: among equal gains the first is taken. `known`: a look whose gains are exact; they replace the guesses as
    long as the draft follows its sequence.
    """
    gains, free = alone[items].copy(), np.ones(len(items), dtype=bool)
    exact = {} if known is None else {int(mark): at for at, mark in enumerate(known.marks)}
    asked = np.isin(items, known.items) if known is not None else free
    column = np.searchsorted(known.items, items[asked]) if known is not None else items
    members = np.zeros(matroid.n_items, dtype=bool)
    order: list[int] = []
    while len(order) < length and free.any():
        if known is not None and len(order) in exact:
            gains[asked] = known.gains[exact[len(order)], column]
        fits = free & matroid.find_addable(members)[items]
        if not fits.any():
            if not members.any():
                break  # the items that are left can never be chosen
            members[:] = False
            continue
        best = int(np.where(fits, gains, -1.0).argmax())
        item = int(items[best])
        if known is not None and (len(order) >= len(known.order) or known.order[len(order)] != item):
            known = None
        order.append(item)
        members[item], free[best] = True, False
        gains = gains * left[best]
    return np.array(order, dtype=np.int64)


def ask_greedy_order(problem: SearchProblem, items: Ids, rounds: int) -> Run[Ids]:
    """The order in which greedy takes these items by the sums of everyone, as far as some rounds tell.

    Each asks for the gains of the items that are left at the prefixes of a draft. It confirms the draft up to the first
    place where another item gains more, and says which one.
    """
    ranges, gains = problem.ranges, problem.singletons.copy()
    done, rest, looks = items[:0], items, list[DraftLook]()
    for _ in range(rounds):
        if len(rest) < 2:
            break
        draft = _draft_rest(rest, gains, looks)
        order = np.concatenate((done, draft))
        marks = np.arange(len(done) + 1, len(order))[: max(MOST_NUMBERS // len(rest), 1)]
        question = GainsAlong(
            order=order,
            marks=marks,
            items=np.sort(rest),
            others=items[:0],
            wide=int(marks[-1]),
            single=ranges.single,
            whole=ranges.whole,
        )
        reply = yield from problem.talk.ask(question, None, Purpose.SCORING, f"order, from item {len(done) + 1}")
        rows = np.vstack((gains[question.items], reply.along))
        marks = np.append(len(done), marks)
        looks.append(DraftLook(order, marks, question.items, rows, items[:0], question.wide, np.zeros(0)))
        sure = count_confirmed(draft, question.items, rows)
        gains[question.items] = rows[min(sure, len(rows) - 1)]
        done, rest = order[: len(done) + sure], draft[sure:]
    return np.concatenate((done, _draft_rest(rest, gains, looks)))


def _draft_rest(items: Ids, gains: Array, looks: list[DraftLook]) -> Ids:
    """Greedy over these items, whose gains are known where they begin."""
    if not len(items):
        return items
    return draft_order(Uniform(len(gains), len(items)), items, gains, discounts(looks, items, gains, SURE), len(items))


def count_confirmed(draft: Ids, items: Ids, rows: Array) -> int:
    """How many items of a draft come in the order of greedy, by the gains of these items at its prefixes."""
    free = np.ones(len(items), dtype=bool)
    for count, (item, row) in enumerate(zip(draft, rows, strict=False)):
        own = int(np.searchsorted(items, item))
        if row[own] < row[free].max():
            return count
        free[own] = False
    return len(draft) if len(rows) >= len(draft) else len(rows) - 1  # the last row shows what comes next
