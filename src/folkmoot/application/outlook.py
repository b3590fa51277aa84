"""What to expect of a run under noise, before anybody is asked: from public numbers alone, or from trials on the data.

A server knows no more than numbers. Whoever simulates a run has the data, and can try the same run with other noise.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, log10
from typing import Any

import numpy as np

from folkmoot.algorithms.central import Greedy
from folkmoot.algorithms.federated.private import PrivateGreedy
from folkmoot.algorithms.federated.purse import find_inflation
from folkmoot.application.solve import solve
from folkmoot.conversation.population import Population
from folkmoot.engines.simulate import SampledSimulation, Simulation
from folkmoot.foundation.errors import InputError, RoundFailed
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective
from folkmoot.privacy.accounting import MOST_EPSILON, Privacy
from folkmoot.privacy.forecast import Forecast, find_enough_clients, find_enough_epsilon, forecast, predict
from folkmoot.privacy.noise import KeyedNoise
from folkmoot.secagg import Policy

USUAL = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)  # values of ε that are shown beside the one asked for
TRIALS, SOME_TRIALS, FEW_TRIALS = 100, 40, 8  # runs for the ε that is asked for, where they take long, and for others
SAMPLED = 0.01  # by which limits are moved where trials ask a sample: shares differ a little from those of everybody
MANY_ENTRIES, MOST_ENTRIES = 300_000, 2_000_000  # numbers above 0 that clients hold
LEAST_SAMPLE, PROBED = 10_000, 200  # clients


@dataclass(frozen=True, eq=False)
class Trials:
    """A private run on data that is at hand, as often as one likes, each time with other noise."""

    method: PrivateGreedy
    objective: Objective
    matroid: Matroid
    policy: Policy
    dropout: float = 0.0

    @cached_property
    def sample(self) -> Objective:
        """All clients, or so many of them that a run takes no longer than it must."""
        known, count = self.objective, self.objective.n_clients
        enough = max(int(MOST_ENTRIES / max(self._mean_entries, 1.0)), LEAST_SAMPLE)
        if enough >= count or self.method.cohort is not None or Population.of(known).weights is not None:
            return known
        some = known[np.sort(np.random.default_rng(0).choice(count, enough, replace=False))]
        some.most = known.most
        return some

    @property
    def enough(self) -> int:
        """How many trials say within which limits a run lies."""
        return TRIALS if self._mean_entries * self.sample.n_clients <= MANY_ENTRIES else SOME_TRIALS

    @cached_property
    def _mean_entries(self) -> float:
        """How many numbers above 0 a client holds."""
        known, count = self.objective, self.objective.n_clients
        few = known[np.linspace(0, count - 1, min(count, PROBED)).astype(np.int64)]
        return float(few.gains_at(np.zeros(known.n_items, dtype=bool)).nnz / few.n_clients)

    @property
    def is_sampled(self) -> bool:
        return self.sample is not self.objective

    @cached_property
    def best(self) -> float:
        """What a choice without noise is worth."""
        return float(solve(self.sample, self.matroid, Greedy()).value)

    def run(self, epsilon: float, count: int, key: str = "forecast") -> list[float]:
        """What runs are worth, as shares of a choice without noise; without those that too few clients answered."""
        delta = self.method.privacy.find_delta(self.objective.n_clients)
        method = replace(self.method, epsilon=epsilon, delta=delta)
        shares = list[float]()
        for number in range(count):
            try:
                engine = self._engine(key, number)
                value = solve(None, self.matroid, method, engine=engine, seed=number, progress=False).value
            except RoundFailed:
                continue
            shares.append(value / self.best if self.best > 0 else 1.0)
        return shares

    def _engine(self, key: str, number: int) -> Simulation:
        noise = KeyedNoise(f"{key} {number}".encode())  # nobody is to be protected from whoever has the data
        known: dict[str, Any] = {"dropout": self.dropout, "seed": number, "policy": self.policy, "noise": noise}
        if not self.is_sampled:
            return Simulation(self.objective, **known)
        return SampledSimulation(self.sample, Population.of(self.objective), **known)


@dataclass(frozen=True)
class Outlook:
    """clients: how many there are; asked: how many of them in a round; chosen: how many items; inflation: how many
    times the noise that would hide one honest client of average weight. trials: runs on the data; None: it is not at
    hand, as nobody's is in a federation.
    """

    privacy: Privacy
    clients: int
    asked: int
    chosen: int
    inflation: float
    trials: Trials | None = field(default=None, repr=False)
    mapped: bool = False  # whether a public map says what to choose, where noise would drown all answers

    @classmethod
    def of(
        cls,
        privacy: Privacy,
        population: Population,
        cohort: int | None,
        chosen: int,
        terms: Policy,
        trials: Trials | None = None,
        *,
        mapped: bool = False,
    ) -> "Outlook":
        asked = population.n_clients if cohort is None else min(cohort, population.n_clients)
        speakers = asked if population.sizes is None else len(population.sizes)  # parties speak for their clients
        inflation = find_inflation(population, privacy, speakers, terms.protection(speakers).honest)
        return cls(privacy, population.n_clients, asked, chosen, inflation, trials, mapped)

    @property
    def delta(self) -> float:
        return self.privacy.find_delta(self.clients)

    @cached_property
    def forecast(self) -> Forecast:
        return self._foresee(self.privacy.epsilon)

    def _foresee(self, epsilon: float, count: int | None = None) -> Forecast:
        by_numbers = self._judge(epsilon)
        if self.trials is None or by_numbers.is_hopeless:
            return by_numbers
        shares = self.trials.run(epsilon, count or self.trials.enough)
        if len(shares) < 2:
            return by_numbers
        return predict(by_numbers.signal, shares, SAMPLED if self.trials.is_sampled else 0.0)

    def _judge(self, epsilon: float) -> Forecast:
        """From numbers alone."""
        mu = Privacy(epsilon, self.delta).find_mu(self.clients)
        found = forecast(self.asked, self.chosen, mu, self.inflation)
        return replace(found, is_hopeless=found.is_hopeless and not self.mapped)

    def check(self) -> None:
        """Refuse noise that would drown everything, with what would do instead."""
        if not self._judge(self.privacy.epsilon).is_hopeless:
            return
        enough = find_enough_clients(self.privacy, self.chosen, self.inflation)
        least = find_enough_epsilon(self.asked, self.chosen, self.delta, self.inflation)
        ways = [] if enough is None else [f"{round_up(enough, 2):,.0f} clients"]
        ways += [f"an epsilon of {round_up(least, 2):g}"] if least <= MOST_EPSILON else []
        raise InputError(
            f"noise would drown the answers of {self.asked:,} clients",
            argument="epsilon",
            remedy=f"it takes {', or '.join([*ways, 'fewer items to choose'])}",
        )

    @cached_property
    def curve(self) -> list[tuple[float, Forecast]]:
        """What to expect for several ε, the one asked for among them."""
        mine = float(self.privacy.epsilon)
        others = [(one, self._foresee(one, FEW_TRIALS)) for one in USUAL if one != mine]
        return sorted([*others, (mine, self.forecast)], key=lambda one: one[0])


def round_up(number: float, digits: int) -> float:
    """To so many digits, never below the number: it is to be enough."""
    unit = 10.0 ** (ceil(log10(number)) - digits)
    return ceil(number / unit - 1e-9) * unit
