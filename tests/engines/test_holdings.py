"""How often chance gives one party more of a cohort than may be corrupt."""

import numpy as np
import pytest

from folkmoot.conversation.population import Population, ids_of
from folkmoot.engines.holdings import RARELY, Holdings
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, Ids
from folkmoot.secagg import Policy
from folkmoot.secagg.parameters import count_share

DRAWS = 2_000
SPREAD = 0.5 / np.sqrt(DRAWS)  # the largest standard deviation of a share of these
TEN = (61,) * 10


def hold(*sizes: int) -> Holdings:
    return Holdings(tuple(f"party-{at}" for at in range(len(sizes))), np.cumsum([0, *sizes]))


def draw_heavy(clients: int) -> Array:
    return np.random.default_rng(0).pareto(1.0, clients) + 0.1


def count_refused(holdings: Holdings, population: Population, size: int, corrupt: float, away: Ids) -> float:
    """The share of drawn cohorts in which some party has too many of those who are not away."""
    refused = 0
    for seed in range(DRAWS):
        there = np.setdiff1d(ids_of(population.draw(size, PublicCoins.of(seed))), away)
        refused += max(holdings.count(there).values()) > count_share(corrupt, len(there))
    return refused / DRAWS


@pytest.mark.parametrize(
    ("sizes", "weights", "size", "corrupt"),
    [
        (TEN, None, 100, 0.15),
        (TEN, None, 300, 0.15),
        ((20, 200, 100), None, 60, 0.7),
        ((500,) * 4, None, 100, 0.3),
        ((1_000,) * 3, np.r_[np.full(10, 100.0), np.ones(2_990)], 200, 0.45),  # ten heavy clients of one party
        ((300,) * 3, np.repeat([1.0, 1.0, 4.0], 300), 90, 0.5),
        ((40,) * 3, np.r_[np.ones(40), np.zeros(68), np.ones(12)], 30, 0.5),
        ((200,) * 10, draw_heavy(2_000), 300, 0.15),
        ((200,) * 5, draw_heavy(1_000), 100, 0.35),
    ],
)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_the_chance_is_that_of_drawn_cohorts(
    sizes: tuple[int, ...], weights: Array | None, size: int, corrupt: float, dropout: float
) -> None:
    """Wrong with probability below 1e-5 each, beside an error of a quarter: chances of parties are added up, and where
    weights differ a normal tail stands for that of a sum.
    """
    holdings, population = hold(*sizes), Population(3, sum(sizes), weights=weights)
    chance = holdings.find_chance(population, size, Policy(corrupt=corrupt, dropout=dropout))
    missable = [one for one in range(len(sizes)) if sizes[one] <= dropout * sum(sizes)]
    away = np.arange(*holdings.ends[missable[0] : missable[0] + 2]) if missable else np.empty(0, dtype=np.int64)
    drawn = count_refused(holdings, population, size, corrupt, away)
    assert drawn <= 1.25 * chance + 5 * SPREAD
    assert chance <= 1.5 * drawn + 5 * SPREAD  # two parties rarely have too many at once


def test_enough_is_enough_and_everyone_always_is() -> None:
    for sizes, weights in ((TEN, None), (TEN, draw_heavy(610)), ((90, 10, 20, 30, 40), None)):
        holdings, population = hold(*sizes), Population(3, sum(sizes), weights=weights)
        for corrupt in (0.1, 0.15, 0.2, 0.5):
            terms = Policy(corrupt=corrupt, dropout=0.0)
            enough = holdings.find_enough(population, 20, terms)
            assert 20 <= enough <= sum(sizes)
            assert holdings.find_chance(population, enough, terms) <= RARELY
    assert 100 < hold(*TEN).find_enough(Population(3, 610), 100, Policy(corrupt=0.15, dropout=0.0)) < 610
    assert hold(610).find_enough(Population(3, 610), 5, Policy()) == 5


def test_who_weighs_nothing_is_not_asked() -> None:
    holdings, weights = hold(40, 40, 40), np.r_[np.ones(40), np.zeros(68), np.ones(12)]
    everyone = ids_of(Population(3, 120, weights=weights).everyone)
    assert holdings.describe_excess(np.arange(120), 0.5) == ""
    assert holdings.describe_excess(everyone, 0.5).startswith("party-0 holds 77% of all clients")
