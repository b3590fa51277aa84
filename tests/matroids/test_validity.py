"""is_valid() finds what is wrong, and shows it."""

import numpy as np
import pytest

from folkmoot import Graphic, InputError, Oracle, Uniform


def test_no_empty_set() -> None:
    verdict = Oracle(4, lambda s: len(s) > 0).is_valid()
    assert not verdict
    assert "empty set" in verdict.certificate


def test_a_missing_subset_is_shown() -> None:
    verdict = Oracle(4, lambda s: s in ({0, 1}, set(), {0})).is_valid()
    assert not verdict
    assert verdict.certificate == "{0, 1} is independent, its subset {1} is not"


def test_a_failed_exchange_is_shown() -> None:
    """Intersections of matroids are no matroids: matchings of a path with three edges."""
    verdict = Oracle(3, lambda s: not ({0, 1} <= s or {1, 2} <= s)).is_valid()
    assert not verdict
    assert verdict.certificate == "no item of {0, 2} can join the smaller {1}"


@pytest.mark.parametrize("broken", [lambda s: not {0, 1} <= s <= {0, 1, 2, 3} or len(s) > 2, lambda s: len(s) % 2 == 0])
def test_large_ground_sets_are_searched_at_random(broken: object) -> None:
    verdict = Oracle(14, broken).is_valid(trials=3000)  # type: ignore[arg-type]
    assert not verdict
    assert "independent" in verdict.certificate or "join" in verdict.certificate
    assert not Uniform(14, 3).is_valid(trials=50).exhaustive


def test_large_matroids_keep_the_axioms() -> None:
    edges = np.random.default_rng(0).integers(0, 30, (60, 2)).tolist()
    assert Graphic(edges).is_valid(trials=100)


def test_addable_needs_an_independent_set() -> None:
    with pytest.raises(InputError, match=r"members: \[0, 1, 2\] is not an independent set"):
        Uniform(4, 2).addable([0, 1, 2])
