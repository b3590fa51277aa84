"""is_valid() finds what is wrong, and shows it."""

import numpy as np
import pytest

from folkmoot import Graphic, InputError, Linear, Oracle, Uniform
from folkmoot.foundation.sets import Ids


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


def test_a_fast_way_that_errs_is_found() -> None:
    class Wrong(Uniform):
        def first_base(self, order: Ids) -> Ids:
            return np.sort(order[: self.k + 1])

    verdict = Wrong(5, 2).is_valid()
    assert not verdict
    assert "which is not independent" in verdict.certificate


def test_near_dependent_columns_do_not_raise_the_rank() -> None:
    """A column that repeats another to 1e-5 … 1e-8 leaves a residual that is mostly rounding."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        matrix = rng.normal(size=(4, 7))
        matrix[:, 1] = matrix[:, 0] + 10.0 ** -rng.integers(5, 9) * rng.normal(size=4)
        matroid = Linear(matrix)
        assert matroid.rank == 4
        for _ in range(5):
            assert matroid.independent(matroid.best_base(rng.random(7)))


def test_columns_of_any_size() -> None:
    assert Linear(np.array([[1e200, 0], [0, 1]])).rank == 2
    assert Linear(np.array([[1e-200, 0], [0, 1]])).rank == 2
    assert Linear(np.array([[2**64 - 1, 1]], dtype=np.uint64), 3).best_base([1, 0]).tolist() == [1]
    assert Linear([[1e19, 1.0]], np.int64(3)).rank == 1  # type: ignore[arg-type]
    assert Linear(np.zeros((0, 3))).rank == 0
