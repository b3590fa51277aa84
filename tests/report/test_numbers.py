"""Numbers as they are shown: rounded the honest way, never infinite."""

from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.report import markdown
from folkmoot.report.numbers import NARROW, NOTHING, column, find_digits, number, percent, round_down, round_up, size
from tests.report.stories import ESTIMATE, make_federated, make_story


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
    assert float(percent(ratio).removesuffix(f"{NARROW}%")) <= ratio * 100 + 1e-7  # dust


@given(st.floats(-1e9, 1e9).filter(lambda value: value == 0 or abs(value) > 1e-5))
def test_down_is_not_above_and_up_not_below(value: float) -> None:
    low, high = (float(text.replace(",", "").replace("−", "-")) for text in (round_down(value), round_up(value)))
    assert low <= value <= high


def test_known_shares() -> None:
    assert percent(0.29) == f"29{NARROW}%"  # 0.29 · 100 is 28.999999999999996
    assert percent(0.97399) == f"97.3{NARROW}%"
    assert percent(1.0) == f"100{NARROW}%"


def test_equal_sums_are_equal_shares() -> None:
    """The same values, added up in another order."""
    assert percent(4.1227222222222215 / 4.122722222222222) == percent(4.122722222222222 / 4.1227222222222215)
    assert percent(0.3 / (0.1 + 0.2)) == f"100{NARROW}%"


def test_almost_a_whole_is_written_as_all_shares_are() -> None:
    shown = [percent(ratio).removesuffix(f"{NARROW}%") for ratio in (0.9999978, 0.99995, 0.9998, 0.9991)]
    assert shown == ["99.9"] * 4


def test_one_number_is_written_alike_everywhere() -> None:
    for value in (3.8005, 3.8004999999999995, sum([0.1] * 3)):
        assert number(value) == column([value])[0].rstrip("0")
    assert column([3.8005]) == ["3.801"]


def test_what_is_not_exceeded_has_as_many_digits_as_its_neighbours() -> None:
    assert round_up(4.7010346) == "4.702"
    assert round_up(5.0000074) == "5.000008"  # but five stars are not 5.001


def test_ranked_numbers_have_enough_digits_to_be_told_apart() -> None:
    assert find_digits([1.01326, 1.01303, 1.01298]) == 6
    assert find_digits([1.0132, 1.0132, 0.5]) == 4
    assert find_digits([1.00000001, 1.00000002]) == 6  # no more than that


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


def test_a_share_has_no_bound_above_one() -> None:
    estimate = replace(ESTIMATE, value=0.94, low=0.94, high=0.95, bound=0.99, bound_high=1.0000005, everyone=True)
    result = make_federated(("A",), (0.94,), value=0.94, estimate=replace(estimate, range_from="public"))
    told = {kind: markdown(make_story(result, kind=kind)) for kind in ("memberships", "ratings")}
    assert "No allowed set is worth more than 1, " in told["memberships"]
    assert "No allowed set is worth more than 1.000001, " in told["ratings"]
