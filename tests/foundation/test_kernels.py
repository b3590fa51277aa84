"""Blocks and threads change nothing."""

import copy
import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import folkmoot as fm
from folkmoot.foundation import kernels
from folkmoot.foundation.sets import Array


@pytest.fixture
def ratings() -> "sparse.csr_array[np.float64, tuple[int, int]]":
    rng = np.random.default_rng(0)
    mask = rng.random((1500, 400)) < 0.9  # more entries than one block holds
    return sparse.csr_array(np.where(mask, rng.integers(1, 6, mask.shape), 0).astype(float))


@pytest.mark.parametrize("family", [fm.FacilityLocation, fm.ProbabilisticCoverage, fm.ConcaveOverModular])
def test_threads_do_not_change_a_bit(
    family: type[fm.Objective], ratings: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    x, shares = rng.random(400) / 40, rng.random(1500)
    seen = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("FOLKMOOT_THREADS", threads)
        assert kernels.thread_count() == int(threads)
        objective = family(ratings / 5, weights=shares)  # type: ignore[call-arg]
        result = fm.solve(objective, 12)
        seen.append((result.order, result.gains, objective.mean_gradient(x, samples=None).tobytes()))
    assert seen[0] == seen[1] == seen[2]


def test_blocks_cover_all_rows_once() -> None:
    rng = np.random.default_rng(2)
    for rows in (1, 2, 7, 5000):
        start = np.concatenate(([0], np.cumsum(rng.integers(0, 500, rows))))
        cuts = kernels.blocks(start)
        assert [row for lo, hi in cuts for row in range(lo, hi)] == list(range(rows))
    assert len(kernels.blocks(np.arange(0, 10**8, 10**5))) == kernels.MOST_BLOCKS


def test_an_error_in_a_thread_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLKMOOT_THREADS", "2")

    def work(lo: int, hi: int) -> int:
        if lo == 3:
            raise fm.InputError("three")
        return hi

    with pytest.raises(fm.InputError, match="three"):
        kernels.run_on_threads(work, [(k, k + 1) for k in range(6)])
    assert kernels.run_on_threads(lambda lo, hi: lo + hi, [(k, k + 1) for k in range(3)]) == [1, 3, 5]


def test_odd_settings_fall_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for odd in ("", "0", "-1", "many"):
        monkeypatch.setenv("FOLKMOOT_THREADS", odd)
        assert kernels.thread_count() >= 1


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia", "dense"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, np.uint16, bool])
def test_any_matrix_will_do(kind: Any, dtype: type) -> None:
    dense: NDArray[Any] = (
        np.random.default_rng(3).integers(0, 4, (9, 11)) * np.eye(9, 11, k=1) + np.eye(9, 11)
    ).astype(dtype)
    matrix = dense if kind == "dense" else sparse.coo_array(dense).asformat(kind)
    objective = fm.FacilityLocation(matrix)
    np.testing.assert_array_equal(objective.gains(()).toarray(), dense.astype(float))


def test_unsorted_rows_and_wide_indices_are_fine() -> None:
    matrix = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1], dtype=np.int64), np.array([0, 2, 3], dtype=np.int64)),
        shape=(2, 3),
    )
    assert fm.FacilityLocation(matrix).gains(()).toarray().tolist() == [[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]]


def test_more_items_than_two_bytes_count() -> None:
    n = 70_000
    matrix = sparse.csr_array((np.ones(3), np.array([0, 69_999, 69_999]), np.array([0, 2, 3])), shape=(2, n))
    objective = fm.Coverage(matrix)
    assert fm.solve(objective, 1).selected == (69_999,)
    assert objective.mean_gradient(np.zeros(n))[[0, 69_999]].tolist() == [0.5, 1.0]


def test_extreme_weights_change_no_digit_and_extreme_values_are_refused() -> None:
    rng = np.random.default_rng(5)
    benefits, shares = rng.random((20, 8)), rng.random(20)
    plain = fm.solve(fm.FacilityLocation(benefits, weights=shares), 3)
    for scale in (2.0**-1000, 2.0**1000):
        assert fm.solve(fm.FacilityLocation(benefits, weights=shares * scale), 3).gains == plain.gains
    for scale in (1e-290, 1e290):
        with pytest.raises(fm.InputError, match=r"^benefits: all values together come to .* rescale the values"):
            fm.solve(fm.FacilityLocation(benefits * scale), 3)
    assert fm.FacilityLocation(benefits, weights=[1.0] + [0.0] * 19)[3:5].weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_objectives_can_be_copied_and_sent(copied: Any) -> None:
    objective = fm.FacilityLocation(np.random.default_rng(6).random((9, 7)), owners=[0, 0, 1, 1, 2, 2, 3, 3, 3])
    before = fm.solve(objective, 3)
    again = copied(objective)
    assert fm.solve(again, 3).gains == before.gains
    assert not again.layout.items.flags.writeable


def test_what_was_passed_in_is_left_alone() -> None:
    dense, shares = np.random.default_rng(7).random((4, 5)), np.ones(4)
    matrix = sparse.csr_array(dense)
    for given in (dense, matrix):
        objective = fm.FacilityLocation(given, weights=shares, row_weights=shares)
        fm.solve(objective, 2)
    for array in (dense, shares, matrix.data, matrix.indices, matrix.indptr):
        assert array.flags.writeable
    np.testing.assert_array_equal(matrix.toarray(), dense)


def test_many_sets_are_scored_without_a_column_each() -> None:
    """A thousand sets for 20,000 clients: far less memory than clients × sets (160 MB)."""
    rng = np.random.default_rng(8)
    rows = np.arange(0, 20_000 * 5 + 1, 5)
    items = np.sort(rng.random((20_000, 50)).argsort(axis=1)[:, :5], axis=1).ravel()
    objective = fm.Coverage(sparse.csr_array((np.ones(items.size), items, rows), shape=(20_000, 50)))
    sets = rng.random((1000, 50)) < 0.2
    objective.mean_values(sets[:1])
    tracemalloc.start()
    values = objective.mean_values(sets)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6
    assert values[7] == pytest.approx(objective.values(sets[7]).mean())
