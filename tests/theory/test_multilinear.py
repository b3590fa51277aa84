"""How many samples are enough, and that they are."""

import numpy as np
import pytest

from folkmoot import FacilityLocation, samples_needed
from folkmoot.theory import multilinear


def test_the_bound_is_hoeffdings_with_a_union() -> None:
    for sigma, delta, n, largest in ((0.1, 0.05, 100, 1.0), (0.3, 1e-3, 7, 5.0)):
        s = samples_needed(sigma, delta, n, largest=largest)
        assert 2 * n * np.exp(-2 * s * sigma**2 / largest**2) <= delta
        assert 2 * n * np.exp(-2 * (s - 1) * sigma**2 / largest**2) > delta
    assert samples_needed(0.1, 0.1, 10, largest=2.0) == pytest.approx(4 * samples_needed(0.1, 0.1, 10), abs=4)


def test_so_many_samples_are_enough() -> None:
    """The promise fails with probability 0.01 a try; 6 or more of 100 tries by chance with probability below 1e-3."""
    rng = np.random.default_rng(0)
    objective = FacilityLocation(rng.random((8, 9)))
    x = rng.random(9)
    largest = multilinear.largest_singleton(objective)
    samples = samples_needed(0.25, 0.01, 9, largest=largest)
    exact = objective.mean_gradient(x)
    misses = 0
    for seed in range(100):
        drawn = objective.mean_gradient(x, samples=samples, seed=seed)
        misses += bool(np.abs(drawn - exact).max() > 0.25)
    assert misses < 6


def test_sampled_values_are_unbiased() -> None:
    """Hoeffding at a failure probability of 1e-9."""
    rng = np.random.default_rng(1)
    objective = FacilityLocation(rng.random((5, 20)))
    x = rng.random(20) * 0.3
    exact = multilinear.value(objective, x)
    assert multilinear.value(objective, x, samples=4000, seed=2) == pytest.approx(
        exact, abs=objective.ceiling * np.sqrt(np.log(2 / 1e-9) / 8000)
    )


def test_whole_points_need_one_sample() -> None:
    objective = FacilityLocation(np.random.default_rng(2).random((4, 30)))
    x = np.zeros(30)
    x[[3, 9]] = 1.0
    assert multilinear.value(objective, x, samples=1) == pytest.approx(objective.mean_values([3, 9]))
