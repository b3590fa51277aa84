"""How good an answer is, from sums: what it is worth, and what no allowed set can be worth more than."""

from dataclasses import dataclass
from math import inf
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from folkmoot.algorithms.problem import Problem, in_order
from folkmoot.certificate import bound_from_gains
from folkmoot.coding import key_of
from folkmoot.matroids.matroid import Matroid
from folkmoot.queries.gradient import Gradient
from folkmoot.queries.query import FINE_BITS
from folkmoot.queries.values import LIMIT, Appraisal, Moments, Spread, asked_about
from folkmoot.result import Estimate
from folkmoot.rounds import Run
from folkmoot.sets import Array, Ids, Mask, indicator

MOST_LOOKS = 3  # points from which the bound is looked at; the lowest may be low by luck
BETWEEN = 0.6  # the bound is looked at here between x and the set, a little above both: tighter than at either
RANDOM_BASES = 8  # whose mean is shown as "random"


class Appraised(NamedTuple):
    """How good the answer is, and what each of its items adds to those before it."""

    estimate: Estimate
    order: Ids  # as the search would take them
    gains: Array


def appraised(problem: Problem, chosen: Mask, order: Ids, ceiling: "Ceiling", confidence: float) -> Run[Appraised]:
    """How good the answer is, from a last cohort that scores nothing but it: its score is not the best of many.

    `order`: all items, in which what each adds to those before it is told.
    """
    talk, matroid, ranges, alone = problem.talk, problem.matroid, problem.ranges, problem.singletons
    popular = indicator(matroid.n_items, matroid._first_base(in_order(alone, key_of(talk.seed, -4))))
    rng = np.random.default_rng(key_of(talk.seed, -5))
    randoms = [
        indicator(matroid.n_items, matroid._first_base(rng.permutation(matroid.n_items))) for _ in range(RANDOM_BASES)
    ]
    order = order[chosen[order]]
    firsts = [indicator(matroid.n_items, order[:count]) for count in range(len(order))]
    items, masks = asked_about(np.array([chosen, popular, *randoms, *firsts]))
    last = Appraisal(items=items, sets=masks, whole=ranges.whole, single=ranges.single)
    answer = yield from talk.ask(last, problem.jury, "appraisal")
    worth, most, cut = last.moments(answer.total, answer.count)
    means = last.mean(answer.total, answer.count)
    error = talk.population.error(problem.jury, answer)
    value = float(means[0])
    least = ranges.whole * (0.5 / LIMIT + talk.population.slack)  # what fixed point may be off
    off = NormalDist().inv_cdf((1 + confidence) / 2) * error * float(worth.deviation[0]) + least
    z = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / (MOST_LOOKS + 1))
    bound, high = ceiling.high(matroid, 0.0), ceiling.high(matroid, z)
    everything = float(most.mean[0]) + least  # nor is any set worth more than all items together
    bound, high = min(bound, everything), min(high, everything + z * error * float(most.deviation[0]))
    clipped = max(ranges.clipped, ceiling.cut, cut)
    if clipped:  # values beyond the range count for less than they are: nothing above is bounded
        bound = high = inf
    elif not alone.any():  # nobody gains anything: nothing is the best possible
        off = bound = high = 0.0
    estimate = Estimate(
        value=value,
        low=max(value - off, 0.0),
        high=inf if clipped else value + off,
        bound=max(bound, value),
        bound_high=max(high, value),
        confidence=confidence,
        clients=answer.clients,
        everyone=ranges.complete and ceiling.complete and error == 0 and not clipped,
        popularity=float(means[1]),
        random=float(means[2 : 2 + RANDOM_BASES].mean()),
        clipped=clipped,
    )
    return Appraised(estimate, order, np.diff(np.append(means[2 + RANDOM_BASES :], value)))


@dataclass(frozen=True)
class Ceiling:
    """What the gradient at y says about the optimum: no allowed O is worth more than the tangent at y towards it."""

    y: Array
    gradient: Moments
    value: Moments
    error: float  # of a mean, in standard deviations; 0 where everybody answered
    lost: float  # what fixed point may have lost
    cut: float  # the share of clients whose values do not fit the range

    @property
    def complete(self) -> bool:
        return self.error == 0

    def high(self, matroid: Matroid, z: float) -> float:
        """A bound that the sample's errors do not break but for the chance of z.

        The mean of O's own tangent is off by at most z deviations of it, and these are at most the sum of the
        deviations of its parts; so with every part raised by its own, the best base is not below O.
        """
        raised = (1.0 - self.y) * (self.gradient.mean + z * self.error * self.gradient.deviation)
        value = float(self.value.mean[0] + z * self.error * self.value.deviation[0])
        return bound_from_gains(value, raised, matroid) + self.lost


def near(problem: Problem, chosen: Mask, x: Array | None) -> Array:
    """A point a little above x and the set; the set itself where gradients are sampled or there is no x."""
    at_set = chosen.astype(np.float64)
    if x is None or not problem.talk.population.closed_form:
        return at_set
    return np.minimum(BETWEEN * (x + at_set), 1.0)


def looked_from(problem: Problem, points: list[Array], so_far: Ceiling | None = None) -> Run[Ceiling]:
    """The lowest of the bounds from these points (and so far), one sum over the gradients of all items each.

    For any allowed O, F(O) ≤ F̂(y) + Σ_{e∈O} (1 − y_e)·∂F̂/∂y_e, and the best base makes the right side largest. Where
    everybody answers the gradient alone is enough; else its spread is asked for too.
    """
    talk, matroid, ranges = problem.talk, problem.matroid, problem.ranges
    seen = [] if so_far is None else [so_far]
    lost = (ranges.whole + matroid.rank * ranges.single) * (0.5 / LIMIT + talk.population.slack)
    nothing = np.zeros(matroid.n_items)
    for y in points:
        gradient, value, cut, error = Moments(nothing, nothing), Moments(nothing, nothing), 0.0, 1.0
        if talk.population.asks_everyone(problem.jury):
            plain = Gradient(x=y, whole=ranges.whole, single=ranges.single, bits=FINE_BITS, stochastic=False, key=0)
            answer = yield from talk.ask(plain, problem.jury, "bound, all items")
            error = talk.population.error(problem.jury, answer)
            gradient = Moments(plain.mean(answer.total, answer.count), nothing)
            value = Moments(np.array([plain.value(answer.total, answer.count)]), np.zeros(1))
        if error:
            spread = Spread(x=y, whole=ranges.whole, single=ranges.single)
            answer = yield from talk.ask(spread, problem.jury, "bound, all items")
            error = talk.population.error(problem.jury, answer)
            gradient, value, cut = spread.moments(answer.total, answer.count)
        seen.append(Ceiling(y, gradient, value, error, lost, cut))
    return min(seen, key=lambda one: one.high(matroid, 2.0))
