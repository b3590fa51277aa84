"""Shares: what cannot be split is refused, and what never was a secret does not come back as one."""

import numpy as np
import pytest

from folkmoot.errors import InputError
from folkmoot.secagg import shamir


@pytest.mark.parametrize(("shares", "threshold"), [(5, 0), (5, 6), (0, 0), (0, 1), (2**30, 2), (5, -1)])
def test_a_threshold_that_cannot_be(shares: int, threshold: int) -> None:
    with pytest.raises(InputError, match="threshold"):
        shamir.split(bytes(32), shares, threshold, b"")


@pytest.mark.parametrize("size", [0, 1, shamir.bytes_needed(32, 3) - 1, shamir.bytes_needed(32, 3) + 16])
def test_randomness_of_a_wrong_length(size: int) -> None:
    with pytest.raises(InputError, match="randomness"):
        shamir.split(bytes(32), 5, 3, bytes(size))


def test_a_threshold_of_one_needs_no_coins_and_hides_nothing() -> None:
    shares = shamir.split(b"seven b", 4, 1, b"")
    assert {shamir.combine(np.array([x]), shares[x - 1 : x], 7) for x in range(1, 5)} == {b"seven b"}


@pytest.mark.parametrize("limbs", [[2**56, 0, 0, 0, 0], [0, 0, 0, 0, 2**32], [0, 0, shamir.PRIME - 1, 0, 0]], ids=str)
def test_numbers_that_never_were_bytes(limbs: list[int]) -> None:
    assert shamir.from_limbs(np.array(limbs, dtype=np.uint64), 32) is None


@pytest.mark.parametrize("point", [0, -1])
def test_no_share_stands_at_the_secret_itself(point: int) -> None:
    shares = shamir.split(bytes(7), 3, 2, bytes(shamir.bytes_needed(7, 2)))
    assert shamir.combine(np.array([1, point]), shares[:2], 7) is None


@pytest.mark.parametrize("number", [shamir.PRIME, shamir.PRIME + 1, 2**64 - 1])
def test_numbers_outside_the_field_are_no_shares(number: int) -> None:
    shares = shamir.split(bytes(7), 3, 2, bytes(shamir.bytes_needed(7, 2)))
    shares[1, 0] = number
    assert shamir.combine(np.array([1, 2]), shares[:2], 7) is None
