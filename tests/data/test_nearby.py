"""Pairs within reach are those that a tree finds, with the same distances to the last bit."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import KDTree

from folkmoot.data.nearby import find_pairs
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import threads
from folkmoot.foundation.sets import Array
from folkmoot.foundation.sphere import RADIUS, measure_arcs, project

MOST = 10**7


def scatter(rng: np.random.Generator, count: int, wide: float) -> Array:
    """Towns of people; `wide`: degrees around a middle near the date line."""
    towns = np.array((-17.8, 179.9)) + rng.normal(0, wide, (7, 2))
    return project(towns[rng.integers(0, 7, count)] + rng.normal(0, wide / 5, (count, 2)))


@pytest.mark.parametrize(("wide", "reach"), [(0.1, 3.0), (0.1, 0.2), (10.0, 400.0), (30.0, 25_000.0)])
@pytest.mark.parametrize("people", [1, 70, 10_000])
def test_pairs_are_those_that_a_tree_finds(wide: float, reach: float, people: int) -> None:
    rng = np.random.default_rng(people)
    here, there = scatter(rng, people, wide), scatter(rng, 130, wide)
    there[7] = there[3]
    here[0] = there[3]  # nobody is nearer
    found = find_pairs(here, there, reach, MOST)
    chord = 2 * np.sin(min(reach / RADIUS, np.pi) / 2)
    wanted = np.zeros((people, len(there)))
    pairs = KDTree(here).sparse_distance_matrix(KDTree(there), chord, output_type="ndarray")
    wanted[pairs["i"], pairs["j"]] = np.maximum(1.0 - measure_arcs(np.ascontiguousarray(pairs["v"])) / reach, 0.0)
    np.testing.assert_array_equal(found.matrix().toarray(), wanted)
    assert found.values is not None
    assert (found.values > 0).all()
    for lo, hi in pairwise(found.starts):
        assert (np.diff(found.items[lo:hi]) > 0).all()


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(5)
    here, there = scatter(rng, 20_000, 0.2), scatter(rng, 50, 0.2)
    with threads(1):
        one = find_pairs(here, there, 5.0, MOST)
    with threads(4):
        four = find_pairs(here, there, 5.0, MOST)
    for name in ("starts", "items", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(four, name))


def test_nobody_near_and_too_many() -> None:
    here, there = project(np.array([[0.0, 0.0], [1.0, 0.0]])), project(np.array([[50.0, 0.0]]))
    assert find_pairs(here, there, 3.0, MOST).starts.tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="2 pairs lie within 6000 km, more than 1; give a shorter reach"):
        find_pairs(here, there, 6000.0, 1)
