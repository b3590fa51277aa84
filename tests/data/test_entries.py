"""Arranging entries is what a dictionary would do, whatever their order."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.data.entries import Entries, count_repeats, place_column, row_starts

ENTRIES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 5)), max_size=40)
RULES: dict[str, Any] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "largest": max,
    "mean": lambda values: sum(values) / len(values),
    "sum": sum,
}


def arranged(entries: list[tuple[int, int, int]]) -> Entries:
    table = np.array(entries, dtype=np.int32).reshape(-1, 3)
    starts = row_starts(table[:, 0].copy(), 5)
    items, values = (
        place_column(table[:, 0].copy(), starts, table[:, at].copy(), kind) for at, kind in ((1, None), (2, float))
    )
    return Entries(starts, items, values, 4)


@pytest.mark.parametrize("rule", RULES)
@given(entries=ENTRIES)
def test_rows_are_what_a_dictionary_would_hold(rule: str, entries: list[tuple[int, int, int]]) -> None:
    expected: dict[tuple[int, int], list[int]] = {}
    for client, item, value in entries:
        expected.setdefault((client, item), []).append(value)
    rows = arranged(entries)
    assert count_repeats(rows.starts, rows.items, np.full(4, -1, dtype=np.int32)) == len(entries) - len(expected)
    rows.merge(rule)
    assert rows.starts[-1] == len(rows.items) == len(expected)
    matrix = rows.matrix().copy()
    assert matrix.has_canonical_format
    for (client, item), values in expected.items():
        assert matrix[client, item] == pytest.approx(RULES[rule](values))
    rows.drop_worthless()
    assert rows.values is not None
    assert (rows.values > 0).all()
    assert np.allclose(rows.matrix().toarray(), matrix.toarray())
