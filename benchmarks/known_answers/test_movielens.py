"""Known answers on MovieLens 1M."""

import numpy as np
import pytest

import folkmoot as fm
from benchmarks.instances import Matrix, Missing, movielens_1m


@pytest.fixture(scope="module")
def ratings() -> Matrix:
    try:
        matrix, names = movielens_1m()
    except Missing as reason:
        pytest.skip(str(reason))
    assert (matrix.shape, matrix.nnz, len(names)) == ((6040, 3706), 1_000_209, 3706)
    return matrix


def test_greedy_reaches_the_known_means_of_the_best_rating(ratings: Matrix) -> None:
    objective = fm.FacilityLocation(ratings)
    result = fm.solve(objective, 25)
    known = {3: 3.7876, 5: 4.1738, 10: 4.5937, 15: 4.7606, 20: 4.8429, 25: 4.8879}
    assert result.order is not None
    for k, value in known.items():
        assert round(float(objective.mean_values(result.order[:k])), 4) == value
    assert fm.solve(objective, 20, fm.Popularity()).value / fm.solve(objective, 20).value == pytest.approx(
        0.988, abs=1e-3
    )
    assert fm.solve(objective, 20).ratio > 0.97


def test_continuous_greedy_is_as_good(ratings: Matrix) -> None:
    objective = fm.FacilityLocation(ratings)
    greedy, continuous = fm.solve(objective, 20), fm.solve(objective, 20, fm.ContinuousGreedy(50))
    assert continuous.value >= 0.999 * greedy.value
    assert continuous.upper_bound <= greedy.upper_bound


def test_coverage_by_five_stars(ratings: Matrix) -> None:
    loved = ratings.copy()
    loved.data = (loved.data == 5).astype(np.float64)  # explicit zeros are no memberships
    objective = fm.Coverage(loved, keep_empty=True)  # some never gave five stars
    greedy = fm.solve(objective, 20)
    assert fm.solve(objective, 20, fm.Popularity()).value / greedy.value == pytest.approx(0.976, abs=1e-3)
    covered = loved.tocsc()[:, list(greedy.selected)].max(axis=1)
    assert greedy.value * 6040 == pytest.approx(covered.sum())


def test_no_dense_array_is_made(ratings: Matrix) -> None:
    """Gradients and gains of everybody live on everybody's own items."""
    objective = fm.FacilityLocation(ratings)
    assert objective.gradients(np.zeros(3706)).nnz == ratings.nnz
    assert objective.gains([0]).nnz < ratings.nnz
