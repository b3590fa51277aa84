"""Numbers as they are shown: rounded the honest way, never infinite."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.report.numbers import NARROW, NOTHING, column, number, percent, round_down, round_up, size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (4.75, "4.75"),
        (0.99995, "1"),
        (12345.678, "12,346"),
        (2.5e9, "2,500,000,000"),
        (1e15, "1 × 10¹⁵"),
        (1.23456e-9, "1.235 × 10⁻⁹"),
        (-0.5, "−0.5"),
        (inf, NOTHING),
        (-inf, NOTHING),
        (nan, NOTHING),
        (None, NOTHING),
    ],
)
def test_a_number_reads_well(value: float | None, text: str) -> None:
    assert number(value) == text


@given(st.floats(0, 1))
def test_a_share_is_never_rounded_up(ratio: float) -> None:
    assert float(percent(ratio).removesuffix(f"{NARROW}%")) <= ratio * 100 + 1e-9


@given(st.floats(-1e9, 1e9).filter(lambda value: value == 0 or abs(value) > 1e-5))
def test_down_is_not_above_and_up_not_below(value: float) -> None:
    low, high = (float(text.replace(",", "").replace("−", "-")) for text in (round_down(value), round_up(value)))
    assert low <= value <= high


def test_known_shares() -> None:
    assert percent(0.29) == f"29{NARROW}%"  # 0.29 · 100 is 28.999999999999996
    assert percent(0.97399) == f"97.3{NARROW}%"
    assert percent(1.0) == f"100{NARROW}%"


def test_a_column_has_one_number_of_decimals() -> None:
    assert column([12.5, 0.25, -1e-15]) == ["12.50", "0.25", "0.00"]
    assert column([1.0, -0.25]) == ["1.000", "−0.250"]
    assert column([]) == []
    assert column([0.0, 0.0]) == ["0", "0"]
    assert column([3e-9, inf]) == ["3 × 10⁻⁹", NOTHING]


def test_sizes() -> None:
    assert [size(given) for given in (0, 740, 15850, 999_999, 3.1e9)] == [
        *("0 B", "740 B", "15.9 kB", "1 MB", "3.1 GB")
    ]
