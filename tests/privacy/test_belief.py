"""What a server believes: averages by precision, common factors after picks, and what lies outside the list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.algorithms.federated.belief import LEAST_FACTOR, MISFIT, MOST_FACTOR, Belief, compare_best
from folkmoot.foundation.sets import Array

BOTH = np.arange(2)


def begin(gains: Array, sd: float) -> Belief:
    return Belief.begin(gains, sd**2)


@given(st.floats(0.01, 10.0), st.floats(0.01, 10.0))
def test_sums_of_one_state_are_averaged_by_precision(first: float, second: float) -> None:
    """Where gains are not above 0 there is no misfit, and the average is exact."""
    after = begin(np.array([-4.0, -1.0]), first).hear(BOTH, np.array([-2.0, -1.0]), second**2, picked=False)
    weights = np.array([1 / first**2, 1 / second**2])
    assert after.gains[0] == pytest.approx(float(weights @ [-4.0, -2.0] / weights.sum()))
    assert after.variances == pytest.approx(1 / weights.sum())
    assert (after.variances < min(first, second) ** 2).all()


def test_misfit_keeps_large_gains_uncertain() -> None:
    sure = begin(np.array([10.0, 0.0]), 1e-3).hear(BOTH, np.array([12.0, 0.0]), 1.0, picked=False)
    assert sure.gains[0] == pytest.approx(10 + 2 * (MISFIT * 10) ** 2 / (1 + (MISFIT * 10) ** 2), rel=1e-3)


@pytest.mark.parametrize("truth", [0.3, 0.7, 1.0, 1.5])
def test_a_common_factor_is_found_from_the_sums(truth: float) -> None:
    """Half of the items are asked about, and the other half is believed to have changed as much."""
    rng = np.random.default_rng(0)
    gains, half = rng.uniform(50.0, 100.0, 400), np.arange(200)
    after = begin(gains, 1.0).hear(half, truth * gains[half] + rng.normal(size=200), 1.0, picked=True)
    np.testing.assert_allclose(after.gains, truth * gains, atol=8.0)
    assert after.inside.tolist() == [True] * 200 + [False] * 200


def test_what_is_outside_the_list_has_a_factor_of_its_own() -> None:
    """Near-duplicates of what was picked are worth nothing any more; what was left out before is worth as much."""
    rng = np.random.default_rng(1)
    gains = np.concatenate((np.full(100, 80.0), np.full(100, 20.0)))
    listed = begin(gains, 1.0).hear(np.arange(100), gains[:100], 1.0, picked=False)
    asked = np.arange(120)
    found = np.concatenate((np.full(100, 2.0), np.full(20, 20.0))) + rng.normal(size=120)
    after = listed.hear(asked, found, 1.0, picked=True)
    assert after.gains[:100].max() < 12.0
    np.testing.assert_allclose(after.gains[100:], 20.0, atol=4.0)
    assert after.rivalry == 1.5  # newcomers are far better than what was on the list
    assert listed.rivalry is None


def test_noise_moves_no_factor_far() -> None:
    rng = np.random.default_rng(2)
    after = begin(rng.normal(size=200), 1.0).hear(np.arange(200), rng.normal(size=200), 1.0, picked=True)
    assert np.abs(after.gains).max() < 5.0
    wild = begin(np.full(50, 100.0), 1.0)
    for found, factor in ((1e6, MOST_FACTOR), (-1e6, LEAST_FACTOR)):
        outside = wild.hear(np.arange(10), np.full(10, found), 1.0, picked=True).gains[10:]
        np.testing.assert_allclose(outside, 100.0 * factor)


@pytest.mark.parametrize(("level", "true", "least", "most"), [(60.0, 1.0, 0.8, 1.2), (1.5, 0.24, 0.0, 0.5)])
def test_what_is_outside_the_list_is_believed_in_as_far_as_it_is_sure(
    level: float, true: float, least: float, most: float
) -> None:
    """A clear factor is found; one made of noise stays near that of the list. In every one of 200 cases."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth = np.concatenate((np.full(100, 80.0), np.full(300, level)))
        first = begin(truth + rng.normal(size=400), 1.0)
        listed = first.hear(np.arange(100), truth[:100] + rng.normal(size=100), 1.0, picked=False)
        newcomers = 100 + np.argsort(-first.gains[100:])[:40]
        asked = np.concatenate((np.arange(100), newcomers))
        found = np.concatenate((0.24 * truth[:100], true * truth[newcomers])) + 3 * rng.normal(size=140)
        after = listed.hear(asked, found, 9.0, picked=True)
        others = np.setdiff1d(np.arange(100, 400), newcomers)
        factor = after.gains[others] / listed.gains[others]
        assert least <= np.median(factor) <= most


def test_estimates_outside_the_list_are_read_with_caution() -> None:
    some = begin(np.array([5.0, 5.0, 5.0]), 2.0).hear(np.array([0, 1]), np.array([5.0, 5.0]), 4.0, picked=False)
    assert some.cautious.tolist() == pytest.approx([5.0, 5.0, 3.0])
    assert some.drop(np.array([True, False, False])).inside.tolist() == [False, True, False]


def test_newcomers_are_compared_by_the_best_few() -> None:
    assert compare_best(np.array([1.0, 9.0]), np.array([10.0, 10.0])) == pytest.approx(0.5)
    assert compare_best(np.array([-3.0]), np.array([10.0])) == 0.0
    assert compare_best(np.array([3.0]), np.array([-1.0])) == 1.0
