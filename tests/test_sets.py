"""Numbers are added one after the other, whatever the Python."""

import pytest

from folkmoot.foundation.sets import add_in_order


@pytest.mark.parametrize(
    ("numbers", "total"),
    [((), 0), ((0.1, 0.2, 0.3), 0.1 + 0.2 + 0.3), ((1.0, 1e100, 1.0, -1e100), 0.0), ((0.1,) * 10, 0.9999999999999999)],
)
def test_every_partial_sum_is_rounded(numbers: tuple[float, ...], total: float) -> None:
    assert add_in_order(numbers) == total
