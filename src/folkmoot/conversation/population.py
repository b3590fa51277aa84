"""All clients, the cohort that is asked, and how those who answer represent everyone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, lgamma, log, sqrt
from typing import Any, Protocol

import numpy as np

from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, Mask, freeze, weigh
from folkmoot.objectives.objective import Objective
from folkmoot.theory.confidence import Grid, Tail, bound_thinning, highest_mean, highest_share, mean_interval

RARELY = 1e-6  # the chance of two cohorts that are too much alike from which on everyone is asked instead
NEARLY = 0.1  # counts in two sums that are proportional but for this much: what is left then hides nobody else
WEIGHT_BITS = 36  # of the sum of all weights, when everyone answers and weights differ


class Turnout(Protocol):
    """How many answered."""

    @property
    def count(self) -> int:
        """How often those who answered count, in total."""

    @property
    def clients(self) -> int:
        """How many clients answered."""

    @property
    def asked(self) -> int:
        """What the count would be if everyone asked had answered."""


@dataclass(frozen=True, eq=False)
class Cohort(Registered):
    """Who is asked: client numbers (None: everyone) and how often each counts (None: once)."""

    ids: Ids | None
    times: Ids | None
    size: int  # distinct clients
    weight: int  # how often they count, in total
    everyone: bool = False

    @classmethod
    def of(cls, ids: Ids, times: Ids | None) -> "Cohort":
        weight = len(ids) if times is None else int(times.sum())
        return cls(freeze(ids), None if times is None else freeze(times), len(ids), weight)

    def deal(self, size: int, coins: PublicCoins) -> list["Cohort"]:
        """All clients of the cohort, dealt at random into cohorts of about equal size, at most `size` each."""
        ids, order = ids_of(self), coins.generator().permutation(self.size)
        hands = (np.sort(hand) for hand in np.array_split(order, -(-self.size // size)))
        return [Cohort.of(ids[hand], None if self.times is None else self.times[hand]) for hand in hands]

    def list_members(self) -> tuple[Ids, Ids]:
        """The numbers of all its clients, and how often each counts."""
        ids = ids_of(self)
        return ids, np.ones(len(ids), dtype=np.int64) if self.times is None else self.times

    def mark_present(self, ids: Ids) -> Mask | None:
        """A mask over the cohort, in its order, that is True for these clients; None if they are the whole cohort."""
        if len(ids) == self.size:
            return None
        marks = np.zeros(self.size, dtype=bool)
        marks[ids if self.ids is None else np.searchsorted(self.ids, ids)] = True
        return freeze(marks)

    def parameters(self) -> Mapping[str, Any]:
        """If everyone is asked, the population says who they are; otherwise they are listed."""
        named = {} if self.everyone else {"ids": self.ids, "times": self.times}
        return {"size": self.size, "weight": self.weight, "everyone": self.everyone, **named}


@dataclass(frozen=True, eq=False)
class Population(Registered):
    """What the server knows beforehand: how many clients and items there are, and the weight of each client."""

    n_items: int
    n_clients: int
    weights: Array | None = None  # None: all equal
    closed_form: bool = True  # whether clients have exact gradients
    most: float | None = None  # public upper bound on what any set is worth to a client; None: not known
    # Where parties speak for their clients, how many clients each holds: the first holds the first ones, and so on.
    sizes: tuple[int, ...] | None = None
    missing_by_chance: bool = True  # whether who does not answer is like who does; a party that is away is not
    apart: int = 1  # by at least so many clients must cohorts differ, or not at all: parties refuse nearly equal ones

    def __post_init__(self) -> None:
        if self.sizes is not None:
            object.__setattr__(self, "sizes", tuple(self.sizes))  # it travels as a list

    @classmethod
    def of(cls, objective: Objective) -> "Population":
        weights = objective.client_weights
        alike = bool((weights == weights[0]).all())
        return cls(
            objective.n_items, objective.n_clients, None if alike else weights, objective.closed_form, objective.most
        )

    def parameters(self) -> Mapping[str, Any]:
        known = {name: getattr(self, name) for name in ("n_items", "n_clients", "weights", "closed_form", "most")}
        if self.sizes is not None:
            known["sizes"] = list(self.sizes)
        if not self.missing_by_chance:
            known["missing_by_chance"] = False
        return known if self.apart == 1 else {**known, "apart": self.apart}

    @cached_property
    def everyone(self) -> Cohort:
        """All clients of any weight; each counts in proportion to it (rounded to whole numbers, and at least once)."""
        if self.weights is None:
            return Cohort(None, None, self.n_clients, self.n_clients, everyone=True)
        times = np.rint(self.weights * (2.0**WEIGHT_BITS / self.weights.sum())).astype(np.int64)
        times = np.maximum(times, self.weights > 0)  # who weighs next to nothing may hold the largest values
        ids = np.flatnonzero(times)
        return replace(Cohort.of(ids, times[ids]), everyone=True)

    @property
    def alike(self) -> float:
        """1/Σp_i², the effective number of clients: as many clients of equal weight give means of the same variance."""
        if self.weights is None:
            return float(self.n_clients)
        return float(self.weights.sum()) ** 2 / float((self.weights**2).sum())

    @property
    def total(self) -> float:
        """The weight of all clients together; their number, if all weigh the same."""
        return float(self.n_clients) if self.weights is None else float(self.weights.sum())

    @property
    def heaviest(self) -> float | None:
        """The largest weight; None: all weigh the same."""
        return None if self.weights is None else float(self.weights.max())

    @property
    def slack(self) -> float:
        """The share of the total weight that rounding to whole numbers may misplace, when everyone answers."""
        return 0.0 if self.weights is None else self.n_clients * 2.0**-WEIGHT_BITS

    def find_variance(self, size: int) -> float:
        """Of a mean over so many random clients, for values of variance 1."""
        left = 1.0 if self.weights is not None else max(1 - size / self.n_clients, 0.0)  # drawn without repeats
        return left / size

    def asks_everyone(self, size: int | None) -> bool:
        """Whether a cohort of this size includes every client: also if random ones would often be too much alike."""
        if size is None or size > self.n_clients - self.apart:
            return True
        return self.apart > 1 and self.weights is None and self._find_chance_alike(size) > RARELY

    def _find_chance_alike(self, size: int) -> float:
        """The chance that two random cohorts of this size differ by fewer clients than they must, but by some."""
        others = self.n_clients - size
        chances = (
            log_choose(size, away) + log_choose(others, away) - log_choose(self.n_clients, size)
            for away in range(1, min((self.apart + 1) // 2, others + 1, size + 1))
        )
        return sum(map(exp, chances))

    def is_apart(self, cohort: Cohort, others: Iterable[Cohort]) -> bool:
        """Whether a cohort is one of these, or differs from each of them by as many clients as it must."""
        counts = (count_apart(cohort, other) for other in others) if self.apart > 1 else ()
        return all(count == 0 or count >= self.apart for count in counts)

    def draw(self, size: int | None, coins: PublicCoins, without: Ids | None = None) -> Cohort:
        """`size` clients at random, each expected size · p_i times; everyone, if there are no more than that.

        If all weights are equal, this is a sample without repeats, whose means vary less than those of independent
        draws; otherwise it is `size` independent draws from p, and a client that is drawn twice counts twice.
        `without`: clients to leave out, if all weights are equal.
        """
        if self.asks_everyone(size):
            return self.everyone
        assert size is not None
        rng = coins.generator()
        if self.weights is None:
            if without is None:
                return Cohort.of(np.sort(rng.choice(self.n_clients, size, replace=False, shuffle=False)), None)
            others = np.setdiff1d(np.arange(self.n_clients), without)
            return Cohort.of(np.sort(rng.choice(others, size, replace=False, shuffle=False)), None)
        assert without is None
        some = np.flatnonzero(self.weights)
        ends = np.cumsum(self.weights[some])
        drawn = np.searchsorted(ends, rng.random(size) * ends[-1], side="right")
        ids, times = np.unique(some[np.minimum(drawn, len(some) - 1)], return_counts=True)
        return Cohort.of(ids, times)

    def sample(self, cohort: Cohort, answer: Turnout) -> "Sample":
        """How those who answered represent everyone."""
        among = self.n_clients if self.weights is None else None
        heard = answer.count / self.everyone.weight if among or cohort.everyone else 0.0
        draws = 0 if cohort.everyone and not among else answer.count
        if not self.missing_by_chance:  # then only those who were asked are like a sample
            unknown = answer.asked - answer.count if draws else 0
            return Sample(self, draws + unknown, among, heard, unknown=unknown)
        if among:  # those who answer are like a sample without repeats
            return Sample(self, draws, among, heard)
        return Sample(self, draws, among, heard, cohort.size - answer.clients, cohort.size, answer.asked - answer.count)


@dataclass(frozen=True, eq=False)
class Sample:
    """How the clients in a sum represent everyone. Those who are missing are missing by chance, or else what they would
    have said is unknown: it may be nothing, or as much as is possible.
    """

    population: Population
    draws: int  # random draws; 0: everyone was asked, and only who is missing is random
    among: int | None  # the number of clients drawn from without repeats; None: draws are independent
    heard: float  # the share of the total weight that is certain to be in the sum
    missing: int = 0  # clients who did not answer, where weights differ: some are missed more than others
    asked: int = 1  # clients who were asked: the missing, and those who answered
    unanswered: int = 0  # draws that went to missing clients
    unknown: int = 0  # draws that were not answered, where who is missing is not missing by chance

    @property
    def complete(self) -> bool:
        """Whether everyone is in the sum."""
        return self.heard == 1.0

    def shift(self, delta: float) -> float:
        """How far missing clients may move a mean, as a share of the range, where weights differ; except with
        probability delta. A client that is drawn thirty times is missing thirty times at once.
        """
        if not self.missing:
            return 0.0
        chance = highest_share(self.missing, self.asked, delta / 3)
        off = bound_thinning(self.population.weights, self.population.n_clients, chance, delta / 3)
        if self.draws:  # nor by more than their weight, which is estimated from their draws
            off = min(off, highest_share(self.unanswered, self.draws + self.unanswered, delta / 3))
        return off

    def interval(
        self, mean: float | None, grid: Grid, counts: Ids, alpha: float, coins: PublicCoins
    ) -> tuple[float, float]:
        """Limits of the mean over everyone, except with probability alpha. They follow from the mean over the sample
        and the histogram of its values on a grid, to which values are rounded by coins. `mean` None: it is known from
        the histogram alone.
        """
        top, spent = grid.top, alpha / 50
        off = grid.coarsest * sqrt(log(2 / spent) / (2 * self.population.alike))  # all coins together (Hoeffding)
        slack = off if mean is None else 0.0
        mean = float(weigh(grid.points, counts)) / max(int(counts.sum()), 1) if mean is None else mean
        if self.complete:
            return max(mean - slack, 0.0), min(mean + slack, top)
        if self.missing:
            off, spent = off + top * self.shift(alpha / 4), spent + alpha / 4
        low = high = mean
        if self.draws:
            low, high = self._enclose(grid, counts, alpha - spent, coins)
        elif not self.population.missing_by_chance:
            low, high = 0.0, top  # nobody was drawn: what is certain follows
        certain = self.heard * mean, self.heard * mean + (1 - self.heard) * top
        return max(low - off, certain[0] - slack), min(high + off, certain[1] + slack)

    def _enclose(self, grid: Grid, counts: Ids, alpha: float, coins: PublicCoins) -> tuple[float, float]:
        """Limits of the mean over everyone by chance alone, with what is unknown at its lowest and at its highest."""
        found = []
        for place in (0, -1) if self.unknown else (0,):
            filled = counts.copy()
            filled[place] += self.unknown
            found.append(
                mean_interval(grid.points, filled, grid.top, population=self.among, alpha=alpha, key=coins.key)
            )
        return found[0][0], found[-1][1]

    def fill(self, mean: float, top: float) -> float:
        """The highest mean over all draws, if that of those who answered is at most `mean`."""
        return mean if not self.unknown else mean + (top - mean) * self.unknown / self.draws

    def bound_mean(self, mean: float, draws: int, tail: Tail, delta: float) -> float:
        """An upper bound on the mean over everyone of anything whose mean over these draws (from one sample like this,
        or several, with what is unknown filled in) is at most `mean`; except with probability delta.
        """
        certain = self.heard * mean + (1 - self.heard) * tail.top
        if self.complete:
            return mean
        spent = delta / 4 if self.missing else 0.0
        off = tail.top * self.shift(spent) if self.missing else 0.0
        if not draws and not self.population.missing_by_chance:
            return min(certain, max(tail.mean, mean))
        by_chance = highest_mean(mean, draws, tail, delta - spent) if draws else mean
        return min(by_chance + off, certain, max(tail.mean, mean))


def log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def count_apart(one: Cohort, other: Cohort) -> int:
    """How many clients are left if one sum is subtracted from a multiple of the other."""
    (ids, times), (their_ids, their_times) = one.list_members(), other.list_members()
    both, mine, theirs = np.intersect1d(ids, their_ids, assume_unique=True, return_indices=True)
    return count_left(len(ids) + len(their_ids) - len(both), times[mine] / their_times[theirs])


def count_left(either: int, ratios: Array) -> int:
    """How many of `either` clients are left of two sums: those who are in only one of both, or count more or less often
    than most others do, by more than NEARLY. ratios: of the counts of those who are in both. 0: one sum is a multiple
    of the other.
    """
    if not len(ratios):
        return either
    ratios = np.sort(ratios)
    alike = (np.searchsorted(ratios, ratios * (1 + NEARLY), side="right") - np.arange(len(ratios))).max()
    return max(either - int(alike), 0 if len(ratios) == either and ratios[0] == ratios[-1] else 1)


def ids_of(cohort: Cohort) -> Ids:
    """The numbers of all its clients."""
    return np.arange(cohort.size) if cohort.ids is None else cohort.ids
