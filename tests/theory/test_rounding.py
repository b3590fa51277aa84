"""Rounding lands on bases, keeps E[x] and never loses value in expectation, for every matroid.

Statistical bounds are Hoeffding's with a union over the items, each at a failure probability of 1e-9.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from folkmoot import (
    ContinuousGreedy,
    FacilityLocation,
    Graphic,
    InputError,
    Linear,
    Matroid,
    Oracle,
    Partition,
    Transversal,
    Truncation,
    Uniform,
    multilinear,
    rounding,
    solve,
)
from folkmoot.foundation.sets import Array, Mask
from folkmoot.theory.rounding import MixedColumns, sort_rows
from tests.matroids.kinds import KINDS, N

DRAWS = 1500
WAYS: dict[str, Callable[..., Mask]] = {"pipage": rounding.pipage, "swap": rounding.swap}


@pytest.fixture(params=list(KINDS))
def matroid(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Matroid:
    """Asked thousands of times about the same few sets, it remembers what it said: the tests are of rounding."""
    kind = KINDS[request.param].matroid
    for name in ("is_independent", "find_addable"):
        monkeypatch.setattr(kind, name, remember(getattr(kind, name)))
    return kind


def remember(ask: Callable[[Mask], Any]) -> Callable[[Mask], Any]:
    said: dict[bytes, Any] = {}

    def recall(members: Mask) -> Any:
        key = members.tobytes()
        if key not in said:
            said[key] = ask(members)
        return said[key]

    return recall


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> Callable[..., Mask]:
    return WAYS[request.param]


def mixture(matroid: Matroid, count: int, seed: int = 0) -> Array:
    """A random point of the base polytope."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(count))
    x = np.zeros(matroid.n_items)
    for share in shares:
        x[matroid.best_base(rng.random(matroid.n_items))] += share
    return np.minimum(x, 1.0)


def error(n: int, scale: float = 1.0) -> float:
    return scale * float(np.sqrt(np.log(2 * n / 1e-9) / (2 * DRAWS)))


def assert_bases(matroid: Matroid, sets: Mask) -> None:
    for members in np.unique(sets, axis=0):
        assert members.sum() == matroid.rank
        assert matroid.independent(members)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2, 12])
def test_expectation_is_kept(matroid: Matroid, way: Callable[..., Mask], parts: int) -> None:
    x = mixture(matroid, parts)
    sets = way(matroid, x, draws=DRAWS, seed=5)
    assert_bases(matroid, sets)
    assert np.abs(sets.mean(axis=0) - x).max() <= (error(N) if parts > 1 else 1e-9)


@pytest.mark.slow
def test_short_points_are_filled_up(matroid: Matroid, way: Callable[..., Mask]) -> None:
    x = mixture(matroid, 4) * 0.6
    sets = way(matroid, x, draws=DRAWS, seed=6)
    assert_bases(matroid, sets)
    assert (sets.mean(axis=0) >= x - error(N)).all()
    assert_bases(matroid, way(matroid, np.zeros(N), draws=3))


def test_filling_follows_the_weights() -> None:
    fill = np.arange(8.0)
    for matroid in (Uniform(8, 3), Partition([0, 0, 0, 0, 1, 1, 1, 1], [1, 2]), Oracle(8, lambda s: len(s) <= 3)):
        expected = matroid.best_base(fill)
        for way in WAYS.values():
            assert np.flatnonzero(way(matroid, np.zeros(8), fill=fill)[0]).tolist() == expected.tolist()
        assert np.flatnonzero(rounding.top_of_base(matroid, np.zeros(8), fill=fill)).tolist() == expected.tolist()


@pytest.mark.slow
def test_no_value_is_lost_in_expectation(matroid: Matroid, way: Callable[..., Mask]) -> None:
    rng = np.random.default_rng(8)
    objective = FacilityLocation(rng.random((20, N)) * (rng.random((20, N)) < 0.5), keep_empty=True)
    x = mixture(matroid, 6, seed=3)
    values = objective.mean_values(way(matroid, x, draws=DRAWS, seed=7))
    assert values.mean() >= multilinear.value(objective, x) - error(1, objective.ceiling)


def test_draws_differ_and_seeds_repeat(way: Callable[..., Mask]) -> None:
    matroid = Graphic([(a, b) for a in range(5) for b in range(a)])
    x = mixture(matroid, 6)
    sets = way(matroid, x, draws=20, seed=1)
    assert len(np.unique(sets, axis=0)) > 1
    np.testing.assert_array_equal(sets, way(matroid, x, draws=20, seed=1))
    np.testing.assert_array_equal(sets[:5], way(matroid, x, draws=5, seed=1))
    assert (sets != way(matroid, x, draws=20, seed=2)).any()


def test_decomposition_adds_up(matroid: Matroid) -> None:
    for parts in (1, 3, 20):
        x = mixture(matroid, parts, seed=parts)
        found = rounding.decompose(matroid, x)
        assert_bases(matroid, found.bases)
        assert found.shares.sum() == pytest.approx(1.0, abs=1e-12)
        assert (found.shares > 0).all()
        np.testing.assert_allclose(found.point, x, atol=1e-8)


def test_decomposition_of_larger_points() -> None:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 25, (150, 2)).tolist()
    for matroid in (Graphic(edges), Linear(rng.normal(size=(12, 80))), Partition(rng.integers(0, 9, 200), 3)):
        x = mixture(matroid, 30)
        np.testing.assert_allclose(rounding.decompose(matroid, x).point, x, atol=1e-8)
        assert_bases(matroid, rounding.pipage(matroid, x, draws=3))


def test_mixtures_are_fitted_while_columns_come_and_go() -> None:
    """As a library fits them from the start, each time."""
    rng = np.random.default_rng(3)
    mixed, columns = MixedColumns(rng.random(40)), np.empty((40, 0))
    for step in range(60):
        column = (rng.random(40) < 0.3).astype(float)
        columns = np.column_stack((columns, column))
        assert mixed.add(column)
        if step % 3 == 2:
            kept = rng.random(columns.shape[1]) < 0.7
            kept[rng.integers(len(kept))] = False
            mixed.keep(kept)
            columns = columns[:, kept]
        np.testing.assert_array_equal(mixed.columns, columns)
        np.testing.assert_allclose(mixed.fit(), np.linalg.lstsq(columns, mixed.goal)[0], rtol=1e-9, atol=1e-12)
    assert not mixed.add(columns[:, 0] + 2 * columns[:, -1])
    np.testing.assert_array_equal(mixed.columns, columns)


def test_top_of_base_is_the_best_base_by_x(matroid: Matroid) -> None:
    x = mixture(matroid, 5)
    top = rounding.top_of_base(matroid, x)
    assert np.flatnonzero(top).tolist() == matroid.best_base(x).tolist()


def test_points_outside_the_polytope_are_refused() -> None:
    with pytest.raises(InputError, match="x: sums to 4 over group 0, which may have 3"):
        rounding.pipage(Uniform(8, 3), np.full(8, 0.5))
    triangle = Graphic([(0, 1), (1, 2), (2, 0), (2, 3)])
    for way in WAYS.values():
        with pytest.raises(InputError, match="outside the matroid polytope"):
            way(triangle, np.array([0.9, 0.9, 0.9, 0.1]))
    with pytest.raises(InputError, match=r"x: item 1 has 1\.5"):
        rounding.top_of_base(Uniform(2, 1), [0, 1.5])
    with pytest.raises(InputError, match="draws"):
        rounding.swap(Uniform(2, 1), [0, 1], draws=0)


@pytest.mark.parametrize("n", [60, 150])
def test_points_of_continuous_greedy_are_rounded(n: int) -> None:
    """Points with whole items, on sparse and on tight constraints."""
    rng = np.random.default_rng(n)
    objective = FacilityLocation(rng.random((80, n)) ** 4)
    matroids: list[Matroid] = [
        Graphic(rng.integers(0, n // 3, (n, 2)).tolist()),
        Truncation(Partition(rng.integers(0, 8, n), 3), 12),
        Transversal(n, [rng.choice(n, 6, replace=False) for _ in range(12)]),
        Linear(rng.normal(size=(8, n))),
    ]
    for matroid in matroids:
        result = solve(objective, matroid, ContinuousGreedy(20, roundings=2))
        assert result.fractional is not None
        found = rounding.decompose(matroid, result.fractional)
        np.testing.assert_allclose(found.point, result.fractional, atol=1e-7)
        for share in (0.5, 1 - 1e-5):
            below = rounding.decompose(matroid, result.fractional * share)
            assert (below.point >= result.fractional * share - 1e-6).all()


def test_points_a_rounding_error_away_are_inside() -> None:
    triangle = Graphic([(0, 1), (1, 2), (2, 0)])
    for x in (np.full(3, 2 / 3 - 1e-9), np.full(3, 2 / 3 - 1e-8), np.full(3, 2 / 3, dtype=np.float32), np.full(3, 0.6)):
        for way in WAYS.values():
            assert_bases(triangle, way(triangle, x, draws=3))
    many = np.full(300, 10 / 300 * (1 - 1e-7))
    assert_bases(Uniform(300, 10), rounding.swap(Uniform(300, 10), many, draws=1))


@pytest.mark.parametrize("name", ["laminar", "truncated partition"])
def test_limits_are_rounded_as_any_matroid_is(name: str) -> None:
    """The same sets told by a function go the general way, and end the same."""
    kind = KINDS[name]
    for seed in range(5):
        x = mixture(kind.matroid, 6, seed)
        both = kind.matroid, Oracle(N, kind.truth)
        ours, theirs = (rounding.pipage(matroid, x, draws=20, seed=seed) for matroid in both)
        np.testing.assert_array_equal(ours, theirs)


def test_rows_are_sorted_as_numpy_does() -> None:
    rng = np.random.default_rng(3)
    for columns in (1, 3, 8, 9, 20):
        rows = rng.random((50, columns)) < 0.2
        _, first, same = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        ours = sort_rows(rows)
        assert ours[0].tolist() == first.tolist()
        assert ours[1].tolist() == same.reshape(-1).tolist()
