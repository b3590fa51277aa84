"""Sketches: whatever fits comes back, whatever the numbers are."""

import numpy as np
import pytest

from folkmoot.secagg.sketch import Sketch, SketchFailed


@pytest.mark.parametrize("number", [1, 2**13, 2**14, 3 * 2**20, 2**26, 2**27 - 1, 2**27])
def test_one_item_with_any_number_that_fits(number: int) -> None:
    sketch = Sketch(512, 10, 2**27, bytes(32))
    assert sketch.is_feasible
    expected = np.zeros(512, dtype=np.int64)
    expected[5] = number
    np.testing.assert_array_equal(sketch.decode(sketch.encode(np.array([5]), np.array([number]))), expected)


def test_a_sketch_without_bits_to_check_by_does_not_fit() -> None:
    assert Sketch(2**20, 10, 2**22 - 1, bytes(32)).is_feasible  # 22 bits, 20, and 21 that an even number may shift out
    assert not Sketch(2**20, 10, 2**22, bytes(32)).is_feasible
    assert Sketch(2**40, 10, 2**12 - 1, bytes(32)).is_feasible  # 12 bits, 40, and 12 to check by
    assert not Sketch(2**40 + 1, 10, 2**12 - 1, bytes(32)).is_feasible


@pytest.mark.parametrize(("items", "cells"), [(1, 33), (46, 221), (400, 641), (2_000, 2_797), (20_000, 27_997)])
def test_cells_for_so_many_items(items: int, cells: int) -> None:
    assert Sketch(1_000_000, items, 60, bytes(32)).cells == cells


def test_sketches_of_sums_are_sums_of_sketches() -> None:
    rng = np.random.default_rng(0)
    for trial in range(50):
        sketch = Sketch(100_000, 400, 60, bytes([trial] * 32))
        cells, whole = np.zeros(sketch.cells, dtype=np.uint64), np.zeros(100_000, dtype=np.int64)
        for _ in range(20):
            items, numbers = rng.choice(100_000, 20, replace=False), rng.integers(1, 4, 20)
            cells += sketch.encode(items, numbers)
            whole[items] += numbers
        np.testing.assert_array_equal(sketch.decode(cells), whole)


def test_an_overloaded_sketch_is_always_noticed() -> None:
    rng = np.random.default_rng(1)
    sketch = Sketch(100_000, 400, 60, bytes(32))
    for load in range(600, 1600, 20):
        with pytest.raises(SketchFailed):
            sketch.decode(sketch.encode(rng.choice(100_000, load, replace=False), np.ones(load, dtype=np.int64)))
