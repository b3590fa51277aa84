"""Properties of whatever Hypothesis can think of."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import sparse

import folkmoot as fm
from folkmoot.foundation.sets import Array
from folkmoot.objectives.runs import sort_runs

levels = st.one_of(st.just(0.0), st.integers(1, 4).map(float), st.floats(1e-3, 1e3))
matrices = st.tuples(st.integers(1, 7), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=levels)
)


@given(matrices, st.data())
def test_owned_rows_add_up(matrix: Array, data: st.DataObject) -> None:
    rows, items = matrix.shape
    clients = data.draw(st.integers(1, rows))
    extra = data.draw(st.lists(st.integers(0, clients - 1), min_size=rows - clients, max_size=rows - clients))
    owners = np.array(data.draw(st.permutations(list(range(clients)) + extra)))
    members = np.array(data.draw(st.lists(st.booleans(), min_size=items, max_size=items)))
    objective = fm.FacilityLocation(matrix, owners=owners, keep_empty=True)
    best = np.max(matrix * members, axis=1, initial=0.0)
    expected = [best[owners == client].sum() for client in range(clients)]
    np.testing.assert_allclose(objective.values(members), expected, rtol=1e-12)
    chosen = data.draw(st.lists(st.integers(0, clients - 1), min_size=1, max_size=4))
    np.testing.assert_allclose(objective[chosen].values(members), np.array(expected)[chosen], rtol=1e-12)


@given(matrices)
def test_rows_are_laid_out_best_first(matrix: Array) -> None:
    runs = sort_runs(sparse.csr_array(matrix))
    for row, wanted in enumerate(matrix):
        mine = runs.items[runs.row_start[row] : runs.row_start[row + 1]]
        first, last = runs.row_runs[row], runs.row_runs[row + 1]
        lengths = np.diff(runs.run_end[first:last], prepend=0)
        values = np.repeat(runs.run_value[first:last], lengths)
        assert sorted(mine) == np.flatnonzero(wanted).tolist()
        np.testing.assert_array_equal(values, wanted[mine])
        assert (np.diff(runs.run_value[first:last]) < 0).all()


values = st.one_of(st.floats(5e-324, 1e-300), st.floats(0.5, 0.5 + 1e-13), st.floats(1e-3, 1e3), st.just(1e300))


@given(st.lists(values, min_size=1, max_size=400), st.integers(0, 3), st.integers(0, 2**31))
def test_rows_of_many_values_are_sorted_by_value_and_then_by_place(some: list[float], rows: int, seed: int) -> None:
    """However unevenly values are spread. A row of 70 values has more levels than a counting sort takes."""
    rng = np.random.default_rng(seed)
    data = np.concatenate([np.linspace(0.1, 0.9, 70), *(rng.permutation(some + some) for _ in range(rows))])
    starts = np.concatenate(([0, 70], 70 + 2 * len(some) * np.arange(1, rows + 1)))
    items = np.concatenate([rng.permutation(1000)[:many] for many in np.diff(starts)])
    runs = sort_runs(sparse.csr_array((data, items, starts), shape=(rows + 1, 1000)))
    for row, (lo, hi) in enumerate(pairwise(starts)):
        order = np.argsort(-data[lo:hi], kind="stable")
        assert runs.items[lo:hi].tolist() == items[lo:hi][order].tolist()
        first, last = runs.row_runs[row], runs.row_runs[row + 1]
        lengths = np.diff(runs.run_end[first:last], prepend=0)
        assert np.repeat(runs.run_value[first:last], lengths).tolist() == data[lo:hi][order].tolist()
        assert (np.diff(runs.run_value[first:last]) < 0).all()


@given(st.integers(2, 9), st.data())
def test_laminar_families_are_matroids(n: int, data: st.DataObject) -> None:
    """Random nested intervals."""
    limits: list[tuple[list[int], int]] = []

    def split(lo: int, hi: int) -> None:
        if hi - lo < 1 or not data.draw(st.booleans()):
            return
        limits.append((list(range(lo, hi)), data.draw(st.integers(0, hi - lo))))
        middle = data.draw(st.integers(lo, hi))
        if middle < hi and lo < middle:
            split(lo, middle)
            split(middle, hi)

    split(0, n)
    matroid = fm.Laminar(n, limits)
    same = fm.Oracle(n, lambda s: all(len(s & set(items)) <= capacity for items, capacity in limits))
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    assert matroid.best_base(weights).tolist() == same.best_base(weights).tolist()
    base = same.best_base(weights)
    np.testing.assert_array_equal(matroid.addable(base[:-1]), same.addable(base[:-1]))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.data())
def test_filling_groups_reaches_a_base(groups: list[int], data: st.DataObject) -> None:
    capacities = data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
    matroid = fm.Partition(groups, capacities)
    shares = data.draw(st.lists(st.floats(0, 1), min_size=len(groups), max_size=len(groups)))
    x = np.array(shares)
    for group in range(4):  # scaled into the polytope
        mine = np.array(groups) == group
        x[mine] *= min(1.0, capacities[group] / max(x[mine].sum(), 1e-300))
    for members in fm.rounding.pipage(matroid, x, draws=3):
        assert matroid.independent(members)
        assert members.sum() == matroid.rank
        assert members[x > 1 - 1e-12].all()


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_any_index_will_do(seed: int, nnz: int) -> None:
    """Unsorted rows, wide indices, any dtype: the same objective."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((5, 8))
    dense.flat[rng.choice(40, nnz, replace=False)] = rng.integers(1, 5, nnz)
    tidy = sparse.csr_array(dense)
    order: NDArray[Any] = np.concatenate(
        [lo + rng.permutation(hi - lo) for lo, hi in zip(tidy.indptr, tidy.indptr[1:], strict=False)]
    ).astype(int)
    messy = sparse.csr_array(
        (
            tidy.data[order].astype([np.int16, np.float32, np.uint64][seed % 3]),
            tidy.indices[order].astype(np.int64),
            tidy.indptr,
        ),
        shape=tidy.shape,
    )
    objective = fm.FacilityLocation(messy, keep_empty=True)
    np.testing.assert_array_equal(objective.gains(()).toarray(), dense)
    assert fm.solve(objective, 3).gains == fm.solve(fm.FacilityLocation(dense, keep_empty=True), 3).gains
