"""Who there is, who is asked, and how those who answer stand for everyone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, sqrt
from typing import Any, Protocol

import numpy as np

from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, Mask, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.theory.confidence import Grid, Tail, bound_thinning, highest_mean, highest_share, mean_interval

WEIGHT_BITS = 36  # of all weights together, when everybody answers and weights are not alike


class Turnout(Protocol):
    """How many answered."""

    @property
    def count(self) -> int:
        """How often those who answered count together."""

    @property
    def clients(self) -> int:
        """How many they were."""

    @property
    def asked(self) -> int:
        """What the count would be had everyone asked answered."""


@dataclass(frozen=True, eq=False)
class Cohort(Registered):
    """Who is asked: client numbers (None: everyone) and how often each counts (None: once)."""

    ids: Ids | None
    times: Ids | None
    size: int  # distinct clients
    weight: int  # how often they count together
    everyone: bool = False

    @classmethod
    def of(cls, ids: Ids, times: Ids | None) -> "Cohort":
        weight = len(ids) if times is None else int(times.sum())
        return cls(freeze(ids), None if times is None else freeze(times), len(ids), weight)

    def deal(self, size: int, coins: PublicCoins) -> list["Cohort"]:
        """All clients, in parts of at most so many each, at random and about equally large."""
        ids, order = ids_of(self), coins.generator().permutation(self.size)
        hands = (np.sort(hand) for hand in np.array_split(order, -(-self.size // size)))
        return [Cohort.of(ids[hand], None if self.times is None else self.times[hand]) for hand in hands]

    def list_members(self) -> tuple[Ids, Ids]:
        """The numbers of all its clients, and how often each counts, written out."""
        ids = ids_of(self)
        return ids, np.ones(len(ids), dtype=np.int64) if self.times is None else self.times

    def mark_present(self, ids: Ids) -> Mask | None:
        """Which of the cohort these are, in its order; None: all of it."""
        if len(ids) == self.size:
            return None
        marks = np.zeros(self.size, dtype=bool)
        marks[ids if self.ids is None else np.searchsorted(self.ids, ids)] = True
        return freeze(marks)

    def parameters(self) -> Mapping[str, Any]:
        """Everyone is who they are by the population; others are named."""
        named = {} if self.everyone else {"ids": self.ids, "times": self.times}
        return {"size": self.size, "weight": self.weight, "everyone": self.everyone, **named}


@dataclass(frozen=True, eq=False)
class Population(Registered):
    """What the server knows beforehand: how many clients and items there are, and how much each client counts."""

    n_items: int
    n_clients: int
    weights: Array | None = None  # None: all alike
    closed_form: bool = True  # whether clients have exact gradients
    most: float | None = None  # no set is worth more to a client, as everybody knows; None: nobody knows

    @classmethod
    def of(cls, objective: Objective) -> "Population":
        weights = objective.client_weights
        alike = bool((weights == weights[0]).all())
        return cls(
            objective.n_items, objective.n_clients, None if alike else weights, objective.closed_form, objective.most
        )

    def parameters(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in ("n_items", "n_clients", "weights", "closed_form", "most")}

    @cached_property
    def everyone(self) -> Cohort:
        """All clients, each as often as it weighs (in whole numbers)."""
        if self.weights is None:
            return Cohort(None, None, self.n_clients, self.n_clients, everyone=True)
        times = np.rint(self.weights * (2.0**WEIGHT_BITS / self.weights.sum())).astype(np.int64)
        ids = np.flatnonzero(times)
        return replace(Cohort.of(ids, times[ids]), everyone=True)

    @property
    def alike(self) -> float:
        """1/Σp_i²: as many clients of equal weight would make means as steady."""
        if self.weights is None:
            return float(self.n_clients)
        return float(self.weights.sum()) ** 2 / float(self.weights @ self.weights)

    @property
    def slack(self) -> float:
        """How much of the weight whole numbers may misplace, when everybody answers."""
        return 0.0 if self.weights is None else self.n_clients * 2.0**-WEIGHT_BITS

    def asks_everyone(self, size: int | None) -> bool:
        """Whether a cohort of this size is everybody there is."""
        return size is None or size >= self.n_clients

    def draw(self, size: int | None, coins: PublicCoins, without: Ids | None = None) -> Cohort:
        """`size` clients at random, each expected size · p_i times; everyone, if there are no more than that.

        Where all weigh the same this is a sample without repeats, whose means vary less than those of
        independent draws; else they are `size` independent draws from p, and who is drawn twice counts twice.
        `without`: clients to leave out, where all weigh the same.
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
        """How those who answered stand for everyone."""
        everyone = self.everyone
        if self.weights is None:  # who answers is as good as drawn without repeats
            return Sample(self, answer.clients, self.n_clients, answer.clients / self.n_clients)
        lost = cohort.size - answer.clients, cohort.size, answer.asked - answer.count
        if cohort.everyone:
            return Sample(self, 0, None, answer.count / everyone.weight, *lost)
        return Sample(self, answer.count, None, 0.0, *lost)


@dataclass(frozen=True, eq=False)
class Sample:
    """How the clients behind a sum stand for everyone, if who is missing is so by chance."""

    population: Population
    draws: int  # by chance; 0: only who is missing is
    among: int | None  # drawn without repeats from so many; None: draws are independent
    heard: float  # the share of everybody's weight that is in the sum for certain
    missing: int = 0  # clients, where weights differ: some take more out of the sum than others
    asked: int = 1  # those and the ones who answered
    unanswered: int = 0  # draws that went to them

    @property
    def complete(self) -> bool:
        """Whether everybody is in it."""
        return self.heard == 1.0

    def shift(self, delta: float) -> float:
        """By how much, of the range, missing clients may move a mean where weights differ; except with
        probability delta. A client that is drawn thirty times is missing thirty times at once.
        """
        if not self.missing:
            return 0.0
        chance = highest_share(self.missing, self.asked, delta / 3)
        off = bound_thinning(self.population.weights, self.population.n_clients, chance, delta / 3)
        if self.draws:  # nor by more than their weight, which the draws that went to them tell
            off = min(off, highest_share(self.unanswered, self.draws + self.unanswered, delta / 3))
        return off

    def interval(self, mean: float, grid: Grid, counts: Ids, alpha: float, coins: PublicCoins) -> tuple[float, float]:
        """Limits of the mean over everyone, from the mean over the sample and the histogram of its values by coins
        on a grid; except with probability alpha.
        """
        if self.complete:
            return mean, mean
        top, spent = grid.top, alpha / 50
        off = grid.coarsest * sqrt(log(2 / spent) / (2 * self.population.alike))  # all coins together (Hoeffding)
        if self.missing:
            off, spent = off + top * self.shift(alpha / 4), spent + alpha / 4
        low = high = mean
        if self.draws:
            low, high = mean_interval(
                grid.points, counts, top, population=self.among, alpha=alpha - spent, key=coins.key
            )
        return max(low - off, self.heard * mean), min(high + off, self.heard * mean + (1 - self.heard) * top)

    def highest(self, mean: float, draws: int, tail: Tail, delta: float) -> float:
        """No mean over everyone is higher of which the mean over these draws (a sample like this, or several) is at
        most `mean`; except with probability delta.
        """
        certain = self.heard * mean + (1 - self.heard) * tail.top
        if self.complete:
            return mean
        spent = delta / 4 if self.missing else 0.0
        off = tail.top * self.shift(spent) if self.missing else 0.0
        by_chance = highest_mean(mean, draws, tail, delta - spent) if draws else mean
        return min(by_chance + off, certain, max(tail.mean, mean))


def ids_of(cohort: Cohort) -> Ids:
    """The numbers of all its clients, written out."""
    return np.arange(cohort.size) if cohort.ids is None else cohort.ids
