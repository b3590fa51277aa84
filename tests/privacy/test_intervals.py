"""What a private run says about its answer is true: the value lies in its interval, and the optimum below its bound.

In every situation, 240 populations and runs at confidence 0.95. If each of the three limits is missed as often as is
allowed, or any of them, more misses than `most_misses` occur with a probability of 1e-6.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import folkmoot as fm
from folkmoot.privacy.noise import KeyedNoise

SEEDS, ITEMS, CHOSEN, CHANCE = 240, 10, 2, 1e-6
SETS = np.array([np.isin(np.arange(ITEMS), pair) for pair in combinations(range(ITEMS), CHOSEN)])
Make = Callable[[np.random.Generator], fm.Objective]


def count_most_misses(chance: float) -> int:
    return int(binom.isf(CHANCE, SEEDS, chance))


def cover(clients: int, share: float) -> Make:
    return lambda rng: fm.Coverage((rng.random((clients, ITEMS)) < share).astype(float), keep_empty=True)


def heavy_tails(rng: np.random.Generator) -> fm.Objective:
    values = np.minimum(np.exp(1.5 * rng.normal(size=(400, ITEMS))), 50.0) * (rng.random((400, ITEMS)) < 0.5)
    return fm.FacilityLocation(values, most=50.0, keep_empty=True)


def pareto_weights(rng: np.random.Generator) -> fm.Objective:
    return fm.FacilityLocation(rng.random((400, ITEMS)), weights=1 + np.minimum(rng.pareto(1.5, 400), 12.0), most=1.0)


def whales(rng: np.random.Generator) -> fm.Objective:
    """2 % of the clients weigh 50 times as much and have other tastes: who of them is missing makes a difference."""
    weights = np.where(np.arange(1_000) < 20, 50.0, 1.0)
    share = np.where(weights > 1, 0.5, 0.02)[:, None]
    return fm.Coverage((rng.random((1_000, ITEMS)) < share).astype(float), weights=weights, keep_empty=True)


@dataclass(frozen=True)
class Situation:
    make: Make
    epsilon: float = 3.0
    cohort: int | None = None
    engine: dict[str, Any] = field(default_factory=dict)


DROPOUT = {"dropout": 0.1}
SITUATIONS = {
    "light tails": Situation(cover(400, 0.3)),
    "heavy tails": Situation(heavy_tails),
    "rare items": Situation(cover(400, 0.004)),
    "nearly all": Situation(cover(400, 0.97)),
    "tiny sample": Situation(cover(30, 0.3), 20.0),
    "weights": Situation(pareto_weights, 10.0),
    "heavy weights": Situation(whales, 90.0),
    "dropouts": Situation(cover(400, 0.3), engine=DROPOUT),
    "dropouts, heavy tails": Situation(heavy_tails, engine=DROPOUT),
    "dropouts, tiny sample": Situation(cover(30, 0.3), 20.0, engine=DROPOUT),
    "dropouts, weights": Situation(pareto_weights, 10.0, engine=DROPOUT),
    "dropouts, heavy weights": Situation(whales, 90.0, engine=DROPOUT),
    "fresh cohorts": Situation(cover(3_000, 0.3), cohort=300),
    "fresh cohorts, dropouts": Situation(cover(3_000, 0.3), cohort=300, engine=DROPOUT),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SITUATIONS))
def test_intervals_hold(name: str) -> None:
    given, missed = SITUATIONS[name], np.zeros(4, dtype=int)
    method = fm.PrivateGreedy(epsilon=given.epsilon, cohort=given.cohort)
    for seed in range(SEEDS):
        objective = given.make(np.random.default_rng([7, seed]))
        engine = fm.Simulation(objective, noise=KeyedNoise(f"{name} {seed}".encode()), seed=seed, **given.engine)
        result = fm.solve(objective, CHOSEN, method, engine=engine, seed=seed, progress=False)
        said, best = result.estimate, float(objective.mean_values(SETS).max())
        assert said is not None
        assert said.low <= said.value <= said.high
        assert said.value <= said.bound <= said.bound_high
        wrong = [said.low > result.value, result.value > said.high, best > said.bound_high]
        missed += [*wrong, any(wrong)]
    for misses, chance in zip(missed.tolist(), (0.025, 0.025, 0.025, 0.075), strict=True):
        assert misses <= count_most_misses(chance)


@pytest.mark.slow
def test_intervals_are_no_wider_than_they_need_to_be() -> None:
    """Without dropouts, what is missed is about what may be: as unlikely to fail as the tests above."""
    missed, make = 0, cover(400, 0.3)
    for seed in range(SEEDS):
        objective = make(np.random.default_rng(seed))
        engine = fm.Simulation(objective, noise=KeyedNoise(f"narrow {seed}".encode()))
        method = fm.PrivateGreedy(epsilon=3.0, confidence=0.5)
        result = fm.solve(objective, CHOSEN, method, engine=engine, seed=seed, progress=False)
        assert result.estimate is not None
        missed += not result.estimate.low <= result.value <= result.estimate.high
    assert int(binom.ppf(CHANCE, SEEDS, 0.5)) <= missed <= int(binom.isf(CHANCE, SEEDS, 0.5))
