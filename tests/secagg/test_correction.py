"""Reed–Solomon: up to (values − coefficients) / 2 wrong values are seen through; beyond, nothing false fits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.secagg.correction import at, divided, interpolated, minus, polynomial_through, times
from folkmoot.secagg.shamir import PRIME

FIELD = st.one_of(st.integers(0, PRIME - 1), st.sampled_from([0, 1, PRIME - 1]))
POLYNOMIALS = st.lists(FIELD, max_size=8).map(lambda some: minus(some, []))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(line=st.lists(FIELD, min_size=1, max_size=7), spare=st.integers(0, 9), data=st.data())
def test_as_many_wrong_values_as_can_be_are_seen_through(line: list[int], spare: int, data: st.DataObject) -> None:
    count = len(line) + spare
    points = data.draw(st.lists(st.integers(1, 60), min_size=count, max_size=count, unique=True))
    values = [at(line, point) for point in points]
    wrong = data.draw(st.sets(st.sampled_from(range(count)), max_size=spare // 2))
    for place in wrong:
        values[place] = data.draw(FIELD)
    assert polynomial_through(points, values, len(line)) == minus(line, [])


@pytest.mark.parametrize("wrong", [4, 5, 8, 12])
def test_with_more_there_is_none_or_one_that_most_lie_on(wrong: int) -> None:
    line, points = list(range(5, 11)), list(range(1, 13))
    values = [at(line, point) + (place < wrong) * (3 + place**7) for place, point in enumerate(points)]
    assert polynomial_through(points, values, len(line)) is None


@settings(max_examples=200, deadline=None, derandomize=True)
@given(a=POLYNOMIALS, b=POLYNOMIALS)
def test_quotient_and_remainder(a: list[int], b: list[int]) -> None:
    if b:
        quotient, rest = divided(a, b)
        assert len(rest) < len(b)
        assert minus(a, rest) == times(quotient, b)


def test_values_at_points_come_back() -> None:
    product, through = interpolated([2, 5, 9], [7, PRIME - 1, 0])
    assert [at(through, point) for point in (2, 5, 9)] == [7, PRIME - 1, 0]
    assert [at(product, point) for point in (2, 5, 9)] == [0, 0, 0]
