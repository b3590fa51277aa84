"""Parties hold different people, and one that is away takes all of its people with it: what is said of everyone must
hold all the same, whatever those would have said.

Each claim is at 95 % and is to hold in 0.94 of 200 samples; see `tests/theory/test_confidence.py`.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from folkmoot.algorithms.federated.appraisal import Look, bound_highest
from folkmoot.conversation.population import Cohort, Population
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, Ids
from folkmoot.theory.confidence import Grid, Tail

CLIENTS, PARTY = 2_000, 400  # the last party is away
SLACK = 1e-6  # weights are rounded to whole numbers
RNG = np.random.default_rng(11)
HERE, AWAY = np.arange(CLIENTS) < CLIENTS - PARTY, np.arange(CLIENTS) >= CLIENTS - PARTY
VALUES: dict[str, Array] = {
    "they gain nothing": np.where(AWAY, 0.0, RNG.random(CLIENTS)),
    "they gain most": np.where(AWAY, 1.0, 0.3 * RNG.random(CLIENTS)),
    "heavy tails": np.minimum(RNG.pareto(1.2, CLIENTS) * np.where(AWAY, 30.0, 1.0), 500.0),
    "a rare item": (AWAY & (RNG.random(CLIENTS) < 0.02)).astype(float),
    "they are like the others": RNG.random(CLIENTS),
}
WEIGHTS = {"alike": None, "uneven": np.where(AWAY, 3.0, 1.0 + RNG.random(CLIENTS))}


@dataclass(frozen=True)
class Heard:
    count: int
    clients: int
    asked: int


def answer_without_them(cohort: Cohort, values: Array, grid: Grid, seed: int) -> tuple[float, Ids, Heard]:
    """Mean and histogram over those who are there, and the turnout."""
    ids, times = cohort.list_members()
    there = HERE[ids]
    below, way = grid.neighbours(values[ids[there]])
    coin = np.random.default_rng([7, seed]).random(int(there.sum()))
    counts = np.bincount(below + (coin < way), times[there], len(grid.points)).astype(np.int64)
    heard = Heard(int(times[there].sum()), int(there.sum()), int(times.sum()))
    return float(np.average(values[ids[there]], weights=times[there])), counts, heard


@pytest.mark.slow
@pytest.mark.parametrize("size", [30, 300, None])
@pytest.mark.parametrize("weights", list(WEIGHTS))
@pytest.mark.parametrize("name", list(VALUES))
def test_intervals_and_bounds_hold_for_everyone(name: str, weights: str, size: int | None) -> None:
    values, weight = VALUES[name], WEIGHTS[weights]
    population = Population(3, CLIENTS, weight, missing_by_chance=False)
    truth, grid = float(np.average(values, weights=weight)), Grid(1.1 * float(values.max()))
    tries = 200 if size else 1
    enclosed = below = 0
    for seed in range(tries):
        coins = PublicCoins.of(seed, 1)
        cohort = population.draw(size, coins)
        mean, counts, heard = answer_without_them(cohort, values, grid, seed)
        sample = population.sample(cohort, heard)
        assert not sample.complete
        low, high = sample.interval(mean, grid, counts, 0.05, coins)
        enclosed += low - SLACK <= truth <= high + SLACK
        below += truth <= bound_highest([Look(values, mean, sample)], Tail.at_most(grid.top), 0.05) + SLACK
    assert min(enclosed, below) >= 0.94 * tries


def test_by_chance_alone_the_same_samples_would_be_misleading() -> None:
    values, grid, coins = VALUES["they gain most"], Grid(1.1), PublicCoins.of(1, 1)
    found = []
    for by_chance in (True, False):
        population = Population(3, CLIENTS, missing_by_chance=by_chance)
        cohort = population.draw(300, coins)
        mean, counts, heard = answer_without_them(cohort, values, grid, 1)
        found.append(population.sample(cohort, heard).interval(mean, grid, counts, 0.05, coins))
    (_, misled), (low, high) = found
    assert misled < values.mean() < high
    assert high - low < 0.5  # of 1.1: a fifth of the clients is unknown, not everything


def test_while_every_party_answers_nothing_is_lost() -> None:
    values, grid, coins = VALUES["they are like the others"], Grid(1.1), PublicCoins.of(3, 1)
    found = []
    for by_chance in (True, False):
        population = Population(3, CLIENTS, missing_by_chance=by_chance)
        cohort = population.draw(300, coins)
        ids, _ = cohort.list_members()
        below, _ = grid.neighbours(values[ids])
        counts = np.bincount(below, minlength=len(grid.points))
        sample = population.sample(cohort, Heard(300, 300, 300))
        found.append(sample.interval(float(values[ids].mean()), grid, counts, 0.05, coins))
    assert found[0] == found[1]


def test_where_only_a_histogram_is_known_its_coins_are_counted() -> None:
    """Even if everyone answers, a mean of rounded values is not the mean of the values."""
    values = VALUES["they are like the others"][:50]
    population, grid, outside = Population(3, len(values)), Grid(1.1), 0
    below, way = grid.neighbours(values)
    for seed in range(200):
        counts = np.bincount(
            below + (np.random.default_rng(seed).random(len(values)) < way), minlength=len(grid.points)
        )
        sample = population.sample(population.everyone, Heard(50, 50, 50))
        assert sample.complete
        low, high = sample.interval(None, grid, counts, 0.05, PublicCoins(seed))
        assert low <= values.mean() <= high <= low + 0.02
        outside += float(grid.points @ counts) / 50 < values.mean()
    assert outside > 50
