"""Where a map is public, one round says who lives where; the choice follows from it, and does better than picks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm
from folkmoot.algorithms.federated.census import MOST_PLACES, choose_by_census, soften
from folkmoot.foundation.sets import Array
from folkmoot.foundation.sphere import find_benefits, measure_arcs, project
from folkmoot.privacy.noise import KeyedNoise
from folkmoot.questions.hidden import Favourite
from tests.questions.measures import dense, once

REACH = 60.0


def towns(count: int = 60) -> Array:
    """In a square of some 300 km, most of them near one of three cities."""
    rng = np.random.default_rng(5)
    cities = np.array([[45.0, 8.0], [46.5, 9.5], [44.8, 10.5]])
    near = cities[rng.integers(0, 3, count)] + rng.normal(scale=0.25, size=(count, 2))
    return np.where(rng.random((count, 1)) < 0.6, near, rng.uniform((44.0, 7.0), (47.0, 11.0), (count, 2)))


def people(count: int, seed: int = 1) -> fm.FacilityLocation:
    rng = np.random.default_rng(seed)
    homes = towns()[rng.integers(0, 60, count)] + rng.normal(scale=0.1, size=(count, 2))
    chords = np.linalg.norm(project(homes)[:, None] - project(towns())[None], axis=2)
    return fm.FacilityLocation(
        sparse.csr_array(np.maximum(1 - measure_arcs(chords) / REACH, 0)), most=1.0, keep_empty=True
    )


def run(objective: fm.Objective, epsilon: float, seed: int, *, mapped: bool, k: int = 6) -> fm.Result:
    known: dict[str, Any] = {"positions": towns(), "reach": REACH} if mapped else {}
    engine = fm.Simulation(objective, noise=KeyedNoise(b"%d" % seed))
    return fm.solve(objective, k, fm.PrivateGreedy(epsilon=epsilon, **known), engine=engine, progress=False)


@pytest.mark.parametrize(("epsilon", "least"), [(0.3, 0.96), (1.0, 0.99)])
def test_a_census_beats_picks(epsilon: float, least: float) -> None:
    """Means over six seeds, which are fixed."""
    objective = people(6_000)
    best = fm.solve(objective, 6, fm.Greedy()).value
    mapped, picked = (
        np.mean([run(objective, epsilon, seed, mapped=one).value / best for seed in range(6)]) for one in (True, False)
    )
    assert mapped > least
    assert mapped > picked


def test_a_census_is_one_round_and_an_appraisal(tmp_path: Path) -> None:
    objective = people(3_000)
    engine = fm.Simulation(objective)
    method = fm.PrivateGreedy(epsilon=1.0, positions=towns(), reach=REACH)
    result = fm.solve(objective, 6, method, engine=engine, transcript=tmp_path / "run", progress=False)
    account = result.privacy
    assert account is not None
    assert [one.label for one in account.spendings] == ["census", "appraisal"]
    assert account.spent == pytest.approx(account.mu)
    assert fm.verify(tmp_path / "run", objective) == result
    assert repr(method) == "PrivateGreedy(epsilon=1.0)"
    assert "one round counted" in (result.why or "")


def test_favourites_are_one_number_each() -> None:
    values = np.array([[0.2, 0.9, 0.9], [0.0, 0.0, 0.0], [0.5, 0.1, 0.0]])
    objective = fm.FacilityLocation(values, keep_empty=True, weights=[1.0, 1.0, 0.5])
    query = Favourite(items=np.arange(3), mu=1.0, sd=1 << 16, honest=5)
    rows = dense(query, objective, *once(objective))
    full = int(query.norm * (1 - 2e-9))
    assert rows.tolist() == [[0, full, 0], [0, 0, 0], [full, 0, 0]]
    light = Favourite(
        items=np.array([2, 0]), mu=1.0, sd=1 << 16, honest=5, heaviest=float(objective.client_weights.max())
    )
    halved = dense(light, objective, *once(objective))
    assert halved.tolist()[0][0] > 0
    assert halved[2].tolist() == [0, int(0.5 * query.norm * (1 - 2e-9))]
    assert query.shows_singletons


def test_where_noise_left_nobody_the_map_alone_decides() -> None:
    members, order = choose_by_census(np.full(60, -3.0), 1.0, towns(), REACH, fm.Uniform(60, 6))
    expected = fm.solve(fm.FacilityLocation(find_benefits(towns(), REACH)), 6, fm.Greedy())
    assert tuple(np.flatnonzero(members)) == expected.selected
    assert tuple(order) == expected.order


def test_too_few_for_noise_are_served_by_the_map_alone() -> None:
    """They are not refused, and nothing is spent but on what the answer is worth."""
    few = people(100)
    result = run(few, 0.1, 0, mapped=True)
    by_map = fm.solve(fm.FacilityLocation(find_benefits(towns(), REACH)), 6, fm.Greedy())
    assert result.selected == by_map.selected
    assert result.privacy is not None
    assert [one.label for one in result.privacy.spendings] == ["appraisal"]
    assert result.value > 0.9 * fm.solve(few, 6, fm.Greedy()).value
    with pytest.raises(fm.InputError, match="noise would drown"):
        run(few, 0.1, 0, mapped=False)


@pytest.mark.parametrize("sd", [0.0, 10.0, 1e6])
def test_counts_are_softened_as_far_as_they_are_noise(sd: float) -> None:
    counts = np.array([0.0, 20.0, 40.0, 140.0])
    soft = soften(counts, sd)
    assert soft.mean() == pytest.approx(counts.mean())
    share = max(1 - sd**2 / counts.var(), 0.0)
    assert soft.var() == pytest.approx(share * counts.var())
    assert soften(np.ones(3), sd).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("positions", "reach", "words"),
    [
        (towns()[:5], REACH, "needs latitude and longitude of all 60 items"),
        (np.full((60, 2), np.nan), REACH, "needs latitude and longitude of all 60 items"),
        (towns(), None, "is needed: beyond it a place is of no use"),
        (towns(), -1.0, "above 0"),
    ],
)
def test_wrong_maps_are_refused(positions: Array, reach: float | None, words: str) -> None:
    with pytest.raises(fm.InputError, match=words):
        fm.solve(people(2_000), 6, fm.PrivateGreedy(epsilon=1.0, positions=positions, reach=reach), progress=False)


def test_maps_have_a_largest_size() -> None:
    many = MOST_PLACES + 1
    with pytest.raises(fm.InputError, match="a map may have 5,000"):
        fm.PrivateGreedy(positions=np.zeros((many, 2)), reach=1.0).check(fm.Uniform(many, 3))
