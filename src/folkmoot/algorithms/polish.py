"""Sums that tell candidates apart: many sets scored in one question, and single swaps that improve the best."""

import numpy as np

from folkmoot.algorithms.problem import Problem, in_order
from folkmoot.coding import key_of
from folkmoot.matroids.matroid import Matroid
from folkmoot.queries.values import Values, asked_about
from folkmoot.rounds import Run
from folkmoot.sets import Array, Ids, Mask

MOST_SWAPS = 2048  # sets in one question


def scored(problem: Problem, sets: Mask, label: str) -> Run[Array]:
    """F of many sets, from one question to the jury."""
    items, masks = asked_about(sets)
    query = Values(items=items, sets=masks, whole=problem.ranges.whole)
    answer = yield from problem.talk.ask(query, problem.jury, label)
    return query.mean(answer.total, answer.count)


def polished(problem: Problem, chosen: Mask, gains: Array, rounds: int) -> Run[Mask]:
    """Rounds of the best single swap, each round scored by a fresh jury.

    What may come in are the items that gain most, as the jury said when it was asked for the bound. Swaps that
    looked good together with the best one are tried at once in the next round, beside all single swaps of the
    new set. Ends when nothing is better.
    """
    matroid = problem.matroid
    promising = in_order(np.where(chosen, -1.0, gains), key_of(problem.talk.seed, -3))
    if problem.items is not None:
        promising = promising[np.isin(promising, problem.items)]
    shortlist = promising[: max(MOST_SWAPS // matroid.rank, 1)]
    leaps: list[Mask] = []
    for turn in range(rounds):
        pairs = swaps(matroid, chosen, shortlist)
        if not pairs and not leaps:
            break
        sets = np.array([chosen, *(swapped(chosen, a, b) for a, b in pairs), *leaps])
        scores = yield from scored(problem, sets, f"polishing {turn + 1}")
        better = scores[1:] - scores[0]
        best = int(better.argmax())
        if better[best] <= 0:
            break
        leaps = leaps_of(matroid, chosen, pairs, better[: len(pairs)]) if best < len(pairs) else []
        chosen = sets[1 + best]
    return chosen


def swaps(matroid: Matroid, members: Mask, shortlist: Ids) -> list[tuple[int, int]]:
    """Every (out, into) that keeps the set allowed, into from the shortlist."""
    pairs = []
    for out in np.flatnonzero(members).tolist():
        without = members.copy()
        without[out] = False
        fits = matroid._addable(without)
        pairs += [(out, into) for into in shortlist.tolist() if fits[into] and into != out and not members[into]]
    return pairs


def swapped(members: Mask, out: int, into: int) -> Mask:
    other = members.copy()
    other[out], other[into] = False, True
    return other


def leaps_of(matroid: Matroid, members: Mask, pairs: list[tuple[int, int]], better: Array) -> list[Mask]:
    """The best swap with the next best beside it, and the next, as long as they help and do not meet."""
    now, used = members, set[int]()
    leaps: list[Mask] = []
    for at in np.argsort(-better, kind="stable"):
        out, into = pairs[at]
        if better[at] <= 0 or len(leaps) > matroid.rank:
            break
        if out in used or into in used:
            continue
        other = swapped(now, out, into)
        if matroid._independent(other):
            now = other
            used |= {out, into}
            leaps.append(now)
    return leaps[1:]
