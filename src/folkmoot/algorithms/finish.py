"""From candidates to an answer that knows how good it is; every step is a sum over the jury.

Many roundings are scored in one question, a bound on the optimum is asked for, single swaps polish the best
candidate, and a last cohort that had no part in choosing appraises the answer.
"""

from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from statistics import NormalDist

import numpy as np

from folkmoot.algorithms.problem import Found, Problem, in_order
from folkmoot.certificate import bound_from_gains
from folkmoot.coding import key_of
from folkmoot.matroids.matroid import Matroid
from folkmoot.queries.gradient import Gradient
from folkmoot.queries.query import FINE_BITS, Query
from folkmoot.queries.values import LIMIT, Appraisal, Values, asked_about
from folkmoot.result import Estimate
from folkmoot.rounds import Run
from folkmoot.sets import Array, Ids, Mask, indicator

MOST_SWAPS = 2048  # sets in one question
BETWEEN = 0.6  # the bound is looked at here between x and the set, a little above both: tighter than at either
RANDOM_BASES = 8  # whose mean is shown as "random"


def scored(problem: Problem, sets: Mask, label: str) -> Run[Array]:
    """F of many sets, from one question to the jury."""
    items, masks = asked_about(sets)
    query = Values(items=items, sets=masks, whole=problem.ranges.whole)
    answer = yield from problem.talk.ask(lambda _: query, problem.jury, label)
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


def appraised(problem: Problem, chosen: Mask, ceiling: "Ceiling", alone: Array, confidence: float) -> Run[Estimate]:
    """How good the answer is, from a last cohort that scores nothing but it: its score is not the best of many."""
    talk, matroid, ranges = problem.talk, problem.matroid, problem.ranges
    popular = indicator(matroid.n_items, matroid._first_base(in_order(alone, key_of(talk.seed, -4))))
    rng = np.random.default_rng(key_of(talk.seed, -5))
    randoms = [
        indicator(matroid.n_items, matroid._first_base(rng.permutation(matroid.n_items))) for _ in range(RANDOM_BASES)
    ]
    items, masks = asked_about(np.array([chosen, popular, *randoms]))
    steepest = ranges.whole + float(ceiling.slope.sum()) * ranges.single
    last = Appraisal(items=items, sets=masks, whole=ranges.whole, y=ceiling.y, slope=ceiling.slope, steepest=steepest)
    answer = yield from talk.ask(lambda _: last, problem.jury, "appraisal")
    worth, tangent = last.moments(answer.total, answer.count)
    everyone = answer.count == talk.population.everyone.weight
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    z_bound = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / ceiling.looks)  # the lowest of several may be low by luck
    left = 1 - answer.clients / talk.population.n_clients if talk.population.weights is None else 1.0
    spread = 0.0 if everyone else sqrt(max(left, 0.0) / answer.clients)
    value = float(worth.mean[0])
    least = ranges.whole * (0.5 / LIMIT + talk.population.slack)  # what fixed point may be off
    off = z * spread * sqrt(float(worth.variance[0])) + least
    if not alone.any():  # nobody gains anything: nothing is the best possible
        off, ceiling = 0.0, replace(ceiling, bound=0.0)
    high = ceiling.bound + z_bound * spread * sqrt(float(tangent.variance[0]))
    return Estimate(
        value=value,
        low=max(value - off, 0.0),
        high=value + off,
        bound=max(ceiling.bound, value),
        bound_high=max(high, value),
        confidence=confidence,
        clients=answer.clients,
        everyone=everyone,
        popularity=float(worth.mean[1]),
        random=float(worth.mean[2:].mean()),
        clipped=ranges.clipped,
    )


@dataclass(frozen=True)
class Ceiling:
    """A bound on the optimum: F̂(y) + Σ slope_e · ∂F̂/∂y_e, the tangent at y towards the best base."""

    bound: float
    y: Array
    slope: Array
    gains: Array  # the gradient there
    looks: int  # how many points were looked from

    def or_lower(self, other: "Ceiling") -> "Ceiling":
        return replace(min(self, other, key=lambda one: one.bound), looks=self.looks + other.looks)


def beside(problem: Problem, chosen: Mask, found: Found) -> Array:
    """A point a little above x and the set; the set itself where gradients are sampled or there is no x."""
    at_set = chosen.astype(np.float64)
    if found.x is None or not problem.talk.population.closed_form:
        return at_set
    return np.minimum(BETWEEN * (found.x + at_set), 1.0)


def looked_from(problem: Problem, points: list[Array], so_far: Ceiling | None = None) -> Run[Ceiling]:
    """The lowest of the bounds from these points (and so far), one sum over the gradients of all items each.

    For any allowed O, F(O) ≤ F̂(y) + Σ_{e∈O} (1 − y_e)·∂F̂/∂y_e. The base that makes the right side largest in a sample
    makes it at least as large as O does there, so the sample errs on the safe side but for the spread of one
    tangent, which the appraisal asks for.
    """
    matroid, ranges = problem.matroid, problem.ranges
    lowest = so_far
    lost = (ranges.whole + matroid.rank * ranges.single) * (0.5 / LIMIT + problem.talk.population.slack)  # fixed point
    for y in points:
        question = Gradient(x=y, whole=ranges.whole, single=ranges.single, bits=FINE_BITS, stochastic=False, key=0)
        answer = yield from problem.talk.ask(partial(asking, question), problem.jury, "bound, all items")
        gradient = question.mean(answer.total, answer.count)
        slopes = (1.0 - y) * gradient
        bound = bound_from_gains(question.value(answer.total, answer.count), slopes, matroid) + lost
        slope = np.where(indicator(matroid.n_items, matroid.best_base(slopes)), 1.0 - y, 0.0)
        here = Ceiling(bound, y, slope, gradient, 1)
        lowest = here if lowest is None else lowest.or_lower(here)
    assert lowest is not None
    return lowest


def asking(question: Query, _: int) -> Query:
    """A question without coins."""
    return question
