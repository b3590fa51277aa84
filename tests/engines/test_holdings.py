"""How often chance gives one party more of a cohort than may be corrupt."""

import numpy as np
import pytest

from folkmoot.conversation.population import Population, ids_of
from folkmoot.engines.holdings import RARELY, Holdings
from folkmoot.foundation.coins import PublicCoins
from folkmoot.secagg.parameters import count_share

DRAWS = 2_000


def hold(*sizes: int) -> Holdings:
    return Holdings(tuple(f"party-{at}" for at in range(len(sizes))), np.cumsum([0, *sizes]))


def count_refused(holdings: Holdings, population: Population, size: int, corrupt: float) -> float:
    """The share of drawn cohorts in which some party has too many."""
    refused = 0
    for seed in range(DRAWS):
        cohort = population.draw(size, PublicCoins.of(seed))
        refused += max(holdings.count(ids_of(cohort)).values()) > count_share(corrupt, cohort.size)
    return refused / DRAWS


@pytest.mark.parametrize(
    ("sizes", "size", "corrupt"),
    [((61,) * 10, 100, 0.15), ((61,) * 10, 300, 0.15), ((20, 200, 100), 60, 0.7), ((500,) * 4, 100, 0.3)],
)
def test_the_chance_is_that_of_drawn_cohorts(sizes: tuple[int, ...], size: int, corrupt: float) -> None:
    holdings, population = hold(*sizes), Population(3, sum(sizes))
    (chance,) = holdings.find_chance(population, np.array([size]), corrupt)
    drawn, spread = count_refused(holdings, population, size, corrupt), 0.5 / np.sqrt(DRAWS)
    assert drawn <= chance + 5 * spread  # wrong except with probability 1e-6: the chances of parties are added up
    assert chance <= 1.5 * drawn + 5 * spread  # and two parties rarely have too many at once


def test_weights_decide_who_is_drawn() -> None:
    holdings, weights = hold(300, 300, 300), np.repeat([1.0, 1.0, 4.0], 300)
    even, uneven = (Population(3, 900, weights=one) for one in (None, weights))
    (rare,) = holdings.find_chance(even, np.array([90]), 0.5)
    (often,) = holdings.find_chance(uneven, np.array([90]), 0.5)
    assert rare < RARELY < 0.9 < count_refused(holdings, uneven, 90, 0.5) <= often


def test_enough_is_enough_and_everyone_always_is() -> None:
    holdings, population = hold(*[61] * 10), Population(3, 610)
    enough = holdings.find_enough(population, 100, 0.15)
    assert 100 < enough < 610
    later = holdings.find_chance(population, np.arange(enough, 611, 20), 0.15)
    assert later.max() <= 2 * RARELY  # shares of a cohort are rounded down, so chances rise and fall a little
    assert holdings.find_enough(population, 100, 0.1) == 610
    assert holdings.find_enough(population, 1_000, 0.1) == 1_000
    assert hold(610).find_enough(population, 5, 0.1) == 5
