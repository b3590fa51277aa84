"""Comparing candidates by sums: many sets scored in one question, and single swaps that improve the best one."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from folkmoot.algorithms.federated.search import SearchProblem, order_items
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.differences import Differences
from folkmoot.questions.values import Values, compress_sets

MOST_SWAPS = 2048  # sets in one question
NARROWER = 8  # where a jury was not sure, one in this many sets is asked about again
SKEW = 2.0  # times the reach of the heaviest possible client: extra margin for means of few skewed numbers
FEW_RIVALS = 2.0  # standard errors by which one of a few whole sets must be better


def score_sets(problem: SearchProblem, sets: Mask, label: str, purpose: Purpose = Purpose.SCORING) -> Run[Array]:
    """F of many sets, from one question to the jury."""
    items, masks = compress_sets(sets)
    question = Values(items=items, sets=masks, whole=problem.ranges.whole)
    reply = yield from problem.talk.ask(question, problem.jury, purpose, label)
    return reply.mean


@dataclass(frozen=True)
class Evidence:
    """What juries said about other sets, compared with the present one: mean differences, the squares of their standard
    errors, and how much one client can change a mean.
    """

    mean: Array
    variance: Array
    reach: float = 0.0
    juries: int = 1

    def pool(self, other: "Evidence") -> "Evidence":
        """Both pooled, in proportion to how many juries they come from."""
        juries = self.juries + other.juries
        mine, its = self.juries / juries, other.juries / juries
        return Evidence(
            mine * self.mean + its * other.mean,
            mine**2 * self.variance + its**2 * other.variance,
            self.reach * mine,
            juries,
        )

    def select(self, some: Ids) -> "Evidence":
        return Evidence(self.mean[some], self.variance[some], self.reach, self.juries)

    def lower_limits(self, z: Array) -> Array:
        """Lower limits of the differences, z standard errors below. Means of few skewed numbers have larger errors than
        normal ones: the last term allows for one client that is as heavy as possible.
        """
        return self.mean - z * np.sqrt(self.variance) - SKEW * self.reach


def compare_sets(problem: SearchProblem, sets: Mask, label: str) -> Run[Evidence]:
    """How much better the other sets are than the first, by a fresh jury: differences on the same clients."""
    talk, ranges, who = problem.talk, problem.ranges, problem.jurors
    population, everyone = talk.population, talk.population.everyone
    if population.asks_everyone(problem.jury):
        scores = yield from score_sets(problem, sets, label, Purpose.POLISHING)
        return Evidence(scores[1:] - scores[0], np.zeros(len(sets) - 1))
    items, masks = compress_sets(sets)
    most, single, standing = ranges.whole, ranges.single, 1.0
    if who is not None:
        heaviest = 1 if everyone.times is None else int(everyone.times.max())
        most, standing = who.bound(heaviest, most), who.bound(heaviest, 1.0)
        single = who.bound_own(heaviest, single)

    def question(coins: PublicCoins) -> Differences:
        return Differences(items=items, sets=masks, most=most, standing=standing, draw=coins.key, who=who)

    reply = yield from talk.ask(question, problem.jury if who is None else None, Purpose.POLISHING, label)
    left = 1.0
    if who is None and population.weights is None:  # drawn without repeats
        left = 1 - reply.clients / population.n_clients
    reach = left * single / (max(reply.count, 1) if who is None else everyone.weight)
    return Evidence(reply.mean, left * reply.variance, reach)


def polish(problem: SearchProblem, chosen: Mask, gains: Array, rounds: int, rivals: Sequence[Mask] = ()) -> Run[Mask]:
    """At most `rounds` rounds of single swaps that are significantly better, each asked of a fresh jury.

    Thousands of swaps are compared, and the best of thousands of noisy numbers is above 0 even if no swap is an
    improvement. So a swap must be better by z standard errors of its paired difference, with z such that of as many
    worthless swaps one is expected to pass. If none passes, the best eighth is put to a fresh jury. Its own evidence
    is tested with the z of this smaller number; together with earlier evidence, with the z of the whole number. If
    everyone is asked, nothing is in doubt, and any swap that is better is taken.

    Items that may come in are those that gain most, as the jury said when it was asked for the bound. Swaps that looked
    good besides the best one are tried together in the next round. `rivals` are other whole sets to compare with.
    """
    matroid = problem.matroid
    promising = order_items(np.where(chosen, -1.0, gains), problem.talk.coins(Stream.SWAPS))
    if problem.items is not None:
        promising = promising[np.isin(promising, problem.items)]
    shortlist = promising[: max(MOST_SWAPS // matroid.rank, 1)]
    others: list[Mask] = []
    leaps: list[Mask] = []
    pairs: list[tuple[int, int]] = []
    so_far: Evidence | None = None
    tests = whole = 0
    everyone, left = problem.talk.population.asks_everyone(problem.jury), list[Mask]()

    def is_new(other: Mask) -> bool:
        """If everyone is asked, earlier sets are not tried again: the same clients would be asked the same question."""
        return not everyone or not any((other == one).all() for one in left)

    for turn in range(rounds):
        if so_far is None:
            pairs = [(a, b) for a, b in list_swaps(matroid, chosen, shortlist) if is_new(swap_items(chosen, a, b))]
            different = [rival for rival in rivals if (rival != chosen).any() and is_new(rival)]
            others = [*different, *(swap_items(chosen, a, b) for a, b in pairs), *filter(is_new, leaps)]
            whole = len(different)
            tests = len(others)
        if not others:
            break
        fresh = yield from compare_sets(problem, np.array([chosen, *others]), f"polishing {turn + 1}")
        so_far = fresh if so_far is None else so_far.pool(fresh)
        few = np.arange(len(others)) < whole
        at_first, now = (np.where(few, FEW_RIVALS, deviations_for(count)) for count in (tests, len(others)))
        sure = np.maximum(so_far.lower_limits(at_first), fresh.lower_limits(now))  # this jury did not choose these
        best = int(sure.argmax())
        if sure[best] > 0:
            single = whole <= best < whole + len(pairs)
            leaps = make_leaps(matroid, chosen, pairs, sure[whole : whole + len(pairs)]) if single else []
            left.append(chosen)
            chosen, so_far = others[best], None
            continue
        hopeful = np.flatnonzero((so_far.mean > 0) & (so_far.variance > 0))
        hopeful = np.sort(hopeful[np.argsort(-so_far.mean[hopeful], kind="stable")[: len(others) // NARROWER]])
        if not hopeful.size:
            break
        so_far = so_far.select(hopeful)
        pairs = [pairs[at - whole] for at in hopeful.tolist() if whole <= at < whole + len(pairs)]
        others, whole = [others[at] for at in hopeful.tolist()], int((hopeful < whole).sum())
    return chosen


def deviations_for(tests: int) -> float:
    """z such that, of this many standard normal numbers, about one is expected to exceed z."""
    return NormalDist().inv_cdf(1 - 1 / (tests + 2))


def list_swaps(matroid: Matroid, members: Mask, shortlist: Ids) -> list[tuple[int, int]]:
    """Every pair (out, into) whose swap keeps the set allowed, with `into` from the shortlist."""
    pairs = []
    for out in np.flatnonzero(members).tolist():
        without = members.copy()
        without[out] = False
        fits = matroid.find_addable(without)
        pairs += [(out, into) for into in shortlist.tolist() if fits[into] and into != out and not members[into]]
    return pairs


def swap_items(members: Mask, out: int, into: int) -> Mask:
    other = members.copy()
    other[out], other[into] = False, True
    return other


def make_leaps(matroid: Matroid, members: Mask, pairs: list[tuple[int, int]], better: Array) -> list[Mask]:
    """The best swap together with the next best, and the next, as long as they help and share no item."""
    now, used = members, set[int]()
    leaps: list[Mask] = []
    for at in np.argsort(-better, kind="stable"):
        out, into = pairs[at]
        if better[at] <= 0 or len(leaps) > matroid.rank:
            break
        if out in used or into in used:
            continue
        other = swap_items(now, out, into)
        if matroid.is_independent(other):
            now = other
            used |= {out, into}
            leaps.append(now)
    return leaps[1:]
