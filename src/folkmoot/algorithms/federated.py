"""What every federated method shares: finding the range, choosing among candidates, and saying how good it is.

A method searches, each in its own way, for a point x or a set. Then all do the same, and every step is a sum:
many roundings are scored in one question, single swaps polish the best of them, and a last cohort that had no part
in choosing appraises the answer. The clients who score are the jury.
"""

from dataclasses import dataclass, fields
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from folkmoot import rounding
from folkmoot.certificate import bound_from_gains
from folkmoot.coding import coins, key_of
from folkmoot.errors import InputError
from folkmoot.guarantee import Continuous, Promise
from folkmoot.inputs import as_count, as_number
from folkmoot.matroids.matroid import Matroid
from folkmoot.queries.gains import singletons
from folkmoot.queries.gradient import Gradient
from folkmoot.queries.magnitude import Magnitude, Ranges
from folkmoot.queries.query import FINE_BITS
from folkmoot.queries.values import LIMIT, Appraisal, Values, asked_about
from folkmoot.result import Estimate
from folkmoot.rounds import Run, Talk
from folkmoot.sets import Array, Ids, Mask, indicator

JURY = 30  # times the cohort: roundings differ by little, and many clients must tell which is better
SWAPS_A_RANK = 3  # items on the polishing shortlist, for each item of a base
MOST_SWAPS = 2048  # sets in one question
BETWEEN = 0.6  # the bound is looked at here between x and the set, a little above both: tighter than at either
RANDOM_BASES = 8  # whose mean is shown as "random"


@dataclass(frozen=True)
class Found:
    """What a search ends with."""

    x: Array | None  # a point to round; else the set is in `candidates`
    candidates: Mask  # sets to score besides the roundings of x
    merit: Array  # what items looked worth on the way: ties, gaps and the polishing shortlist go by it
    singletons: Array | None  # what each item is worth alone, if the search asked that
    promise: Promise | None = None
    lowest: Array | None = None  # a point at which the bound on the optimum promises to be low

    @classmethod
    def at(
        cls,
        x: Array,
        merit: Array,
        singletons: Array | None,
        promise: Promise | None,
        lowest: Array | None = None,
    ) -> "Found":
        """A point, with no set yet."""
        return cls(x, np.zeros((0, len(x)), dtype=bool), merit, singletons, promise, lowest)


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that the conversation led to."""

    members: Mask
    x: Array | None
    estimate: Estimate
    ranges: Ranges
    m_F: float
    promise: Promise | None


@dataclass(frozen=True)
class Problem:
    """A conversation, the range of its numbers, and the items that are asked about."""

    talk: Talk
    ranges: Ranges
    jury: int | None
    items: Ids | None = None  # the shortlist; None: all items
    singletons: Array | None = None

    @property
    def matroid(self) -> Matroid:
        return self.talk.matroid

    def continuous(
        self,
        rounds: int,
        cohort: int | None,
        *,
        bases: bool,
        memory: float = 0.0,
        local_steps: int = 1,
        samples: int | None = None,
    ) -> Continuous:
        """What the theorems on continuous greedy need to know."""
        sampled = cohort if cohort is not None and cohort < self.talk.population.n_clients else None
        return Continuous(self.matroid.rank, self.matroid.n_items, rounds, sampled, bases, local_steps, samples, memory)


@dataclass(frozen=True, kw_only=True, repr=False)
class Federated:
    """A method whose server learns sums only. These settings are common to all.

    shortlist: ask about the best so many items alone, found by one round of singleton sums (None: all items).
    roundings: how many pipage draws are scored beside the top of x. polish: at most so many rounds of best swaps.
    jury: clients who score (None: 30 cohorts, or everyone). clip: share of clients whose values must fit the
    public range whole. confidence: of the estimate.
    """

    shortlist: int | None = None
    roundings: int = 31
    polish: int = 4
    jury: int | None = None
    clip: float = 1.0
    confidence: float = 0.95

    def parameters(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"

    def search(self, problem: Problem) -> Run[Found]:
        raise NotImplementedError

    @property
    def asked(self) -> int | None:
        """Clients a round of the search; None: everyone."""
        return None

    def planned(self, matroid: Matroid) -> int:
        """About how many rounds there will be; polishing may end earlier."""
        return 1 + (self.shortlist is not None) + self.searching(matroid) + 1 + self.polish + 3

    def searching(self, matroid: Matroid) -> int:
        raise NotImplementedError

    def check(self, matroid: Matroid) -> None:
        """Refuse settings that cannot work, before anyone is asked."""
        if self.shortlist is not None:
            as_count(self.shortlist, "shortlist")
            if self.shortlist < matroid.rank:
                raise InputError(
                    f"shortlist: {self.shortlist} items cannot hold a base of {matroid.rank}; "
                    f"give at least {matroid.rank}, better ten times that"
                )
        as_count(self.roundings, "roundings", least=0)
        as_count(self.polish, "polish", least=0)
        if self.jury is not None:
            as_count(self.jury, "jury")
        if not 0 < as_number(self.clip, "clip") <= 1:
            raise InputError(f"clip: needs a share above 0 and up to 1, got {self.clip}")
        if not 0 < as_number(self.confidence, "confidence") < 1:
            raise InputError(f"confidence: needs a number between 0 and 1, got {self.confidence}")

    def run(self, talk: Talk) -> Run[Outcome]:
        """The whole conversation."""
        jury = self.jury if self.jury is not None else None if self.asked is None else JURY * self.asked
        answer = yield from talk.ask(lambda _: Magnitude(), jury, "range of values")
        ranges = Magnitude.ranges(answer.total, clip=self.clip)
        problem = Problem(talk, ranges, jury)
        if self.shortlist is not None:
            problem = yield from shortlisted(problem, self.shortlist)
        found = yield from self.search(problem)
        alone = found.singletons if found.singletons is not None else problem.singletons
        if alone is None:
            alone = yield from singleton_means(problem)
        candidates = self._candidates(problem, found)
        chosen = candidates[0]
        if len(candidates) > 1:
            scores = yield from scored(problem, candidates, "scoring roundings")
            chosen = candidates[int(scores.argmax())]
        chosen = yield from polished(problem, chosen, found, self.polish)
        estimate = yield from appraised(problem, chosen, found, alone, self.confidence)
        return Outcome(chosen, found.x, estimate, ranges, float(alone.max()), found.promise)

    def _candidates(self, problem: Problem, found: Found) -> Mask:
        if found.x is None:
            return found.candidates
        sets = [found.candidates, rounding.top_of_base(problem.matroid, found.x, fill=found.merit)[None, :]]
        if self.roundings:
            key = key_of(problem.talk.seed, -1) >> 1
            sets.append(rounding.pipage(problem.matroid, found.x, draws=self.roundings, seed=key, fill=found.merit))
        return distinct(np.vstack(sets))


def distinct(sets: Mask) -> Mask:
    """Each set once, in the order they came."""
    _, first = np.unique(sets, axis=0, return_index=True)
    return sets[np.sort(first)]


def in_order(weights: Array, key: int) -> Ids:
    """Items by weight, largest first; equal ones by coins, so that ties favour nobody."""
    return np.lexsort((coins(np.uint64(key), np.arange(len(weights)), 0), -weights))


def singleton_means(problem: Problem) -> Run[Array]:
    """What each item is worth alone, from the jury."""
    n_items = problem.matroid.n_items
    query = singletons(n_items, problem.ranges.single, 0)
    answer = yield from problem.talk.ask(lambda _: query, problem.jury, "each item alone")
    return query.mean(answer.total, answer.count, n_items)


def shortlisted(problem: Problem, size: int) -> Run[Problem]:
    """The best items alone, and always a whole base."""
    alone = yield from singleton_means(problem)
    best = in_order(alone, key_of(problem.talk.seed, -2))
    base = problem.matroid._first_base(best)
    others = best[~np.isin(best, base)]
    kept = np.sort(np.concatenate((base, others[: max(size - len(base), 0)])))
    return Problem(problem.talk, problem.ranges, problem.jury, kept, alone)


def scored(problem: Problem, sets: Mask, label: str) -> Run[Array]:
    """F of many sets, from one question to the jury."""
    items, masks = asked_about(sets)
    query = Values(items=items, sets=masks, whole=problem.ranges.whole)
    answer = yield from problem.talk.ask(lambda _: query, problem.jury, label)
    return query.mean(answer.total, answer.count)


def polished(problem: Problem, chosen: Mask, found: Found, rounds: int) -> Run[Mask]:
    """Rounds of the best single swap, each round scored by a fresh jury.

    Swaps that looked good together with the best one are tried at once in the next round, beside all single
    swaps of the new set. Ends when nothing is better.
    """
    matroid, x = problem.matroid, 0.0 if found.x is None else found.x
    promising = in_order(found.merit + x * max(float(found.merit.max()), 1e-300), key_of(problem.talk.seed, -3))
    if problem.items is not None:
        promising = promising[np.isin(promising, problem.items)]
    shortlist = promising[: max(min(SWAPS_A_RANK * matroid.rank, MOST_SWAPS // max(matroid.rank, 1)), 1)]
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


def appraised(problem: Problem, chosen: Mask, found: Found, alone: Array, confidence: float) -> Run[Estimate]:
    """How good the answer is: a bound on the optimum, then means and spreads from a last cohort.

    The last cohort scores nothing but the answer, so that its score is not the best of many.
    """
    talk, matroid, ranges = problem.talk, problem.matroid, problem.ranges
    points = points_to_look_from(problem, chosen, found)
    bounds = []
    for y in points:
        bounds.append((yield from bounded(problem, y)))
    bound, slope, y = min(bounds, key=lambda one: one[0])
    popular = indicator(matroid.n_items, matroid._first_base(in_order(alone, key_of(talk.seed, -4))))
    rng = np.random.default_rng(key_of(talk.seed, -5))
    randoms = [
        indicator(matroid.n_items, matroid._first_base(rng.permutation(matroid.n_items))) for _ in range(RANDOM_BASES)
    ]
    items, masks = asked_about(np.array([chosen, popular, *randoms]))
    steepest = ranges.whole + float(slope.sum()) * ranges.single
    last = Appraisal(items=items, sets=masks, whole=ranges.whole, y=y, slope=slope, steepest=steepest)
    answer = yield from talk.ask(lambda _: last, problem.jury, "appraisal")
    worth, tangent = last.moments(answer.total, answer.count)
    everyone = answer.count == talk.population.everyone.weight
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    z_bound = NormalDist().inv_cdf(1 - (1 - confidence) / 2 / len(points))  # the lowest of several may be low by luck
    left = 1 - answer.clients / talk.population.n_clients if talk.population.weights is None else 1.0
    spread = 0.0 if everyone else sqrt(max(left, 0.0) / answer.clients)
    value = float(worth.mean[0])
    off = z * spread * sqrt(float(worth.variance[0]))
    high = bound + z_bound * spread * sqrt(float(tangent.variance[0]))
    return Estimate(
        value=value,
        low=value - off,
        high=value + off,
        bound=max(bound, value),
        bound_high=max(high, value),
        confidence=confidence,
        clients=answer.clients,
        everyone=everyone,
        popularity=float(worth.mean[1]),
        random=float(worth.mean[2:].mean()),
        clipped=ranges.clipped,
    )


def points_to_look_from(problem: Problem, chosen: Mask, found: Found) -> list[Array]:
    """Points of the cube at which the bound may be low: a little above x and the set; and back on the way of x.

    Which is lower depends on the data. Where gradients are sampled only a whole point is exact.
    """
    at_set = chosen.astype(np.float64)
    if found.x is None or not problem.talk.population.closed_form:
        return [at_set]
    return [np.minimum(BETWEEN * (found.x + at_set), 1.0), BETWEEN * found.x if found.lowest is None else found.lowest]


def bounded(problem: Problem, y: Array) -> Run[tuple[float, Array, Array]]:
    """A bound on the optimum from the gradient of all items at y, and the slope and point of its tangent.

    For any allowed O, F(O) ≤ F̂(y) + Σ_{e∈O} (1 − y_e)·∂F̂/∂y_e. The base that makes the right side largest in a sample
    makes it at least as large as O does there, so the sample errs on the safe side but for the spread of one
    tangent, which the appraisal asks for.
    """
    matroid, ranges = problem.matroid, problem.ranges
    question = Gradient(x=y, whole=ranges.whole, single=ranges.single, bits=FINE_BITS, stochastic=False, key=0)
    answer = yield from problem.talk.ask(lambda _: question, problem.jury, "bound, all items")
    slopes = (1.0 - y) * np.maximum(question.mean(answer.total, answer.count), 0.0)
    bound = bound_from_gains(question.value(answer.total, answer.count), slopes, matroid)
    bound += (ranges.whole + matroid.rank * ranges.single) / (2 * LIMIT)  # what fixed point may have lost
    return bound, np.where(indicator(matroid.n_items, matroid.best_base(slopes)), 1.0 - y, 0.0), y
