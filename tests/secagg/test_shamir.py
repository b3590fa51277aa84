"""Shares: what cannot be split is refused, and what never was a secret does not come back as one."""

import numpy as np
import pytest

from folkmoot.foundation.errors import InputError
from folkmoot.secagg import shamir


@pytest.mark.parametrize(("shares", "threshold"), [(5, 0), (5, 6), (0, 0), (0, 1), (2**30, 2), (5, -1)])
def test_a_threshold_that_cannot_be(shares: int, threshold: int) -> None:
    with pytest.raises(InputError, match="threshold"):
        shamir.split(bytes(32), shares, threshold, b"")


@pytest.mark.parametrize("size", [0, 1, shamir.count_random_bytes(32, 3) - 1, shamir.count_random_bytes(32, 3) + 16])
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
    shares = shamir.split(bytes(7), 3, 2, bytes(shamir.count_random_bytes(7, 2)))
    assert shamir.combine(np.array([1, point]), shares[:2], 7) is None


@pytest.mark.parametrize("number", [shamir.PRIME, shamir.PRIME + 1, 2**64 - 1])
def test_numbers_outside_the_field_are_no_shares(number: int) -> None:
    shares = shamir.split(bytes(7), 3, 2, bytes(shamir.count_random_bytes(7, 2)))
    shares[1, 0] = number
    assert shamir.combine(np.array([1, 2]), shares[:2], 7) is None


def test_any_threshold_of_the_shares_brings_the_secret_back() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 7, 8, 32, 33):
        secret = rng.bytes(size)
        shares = shamir.split(secret, 9, 4, rng.bytes(shamir.count_random_bytes(size, 4)))
        for _ in range(20):
            some = rng.permutation(9)[:4]
            assert shamir.combine(some + 1, shares[some], size) == secret
        some = rng.permutation(9)[:4]
        wrong = shares[some].copy()
        wrong[0, 0] ^= np.uint64(1)
        assert shamir.combine(some + 1, wrong, size) != secret
        assert shamir.combine(np.array([1, 1, 2, 3]), shares[[0, 0, 1, 2]], size) is None


def test_the_field_is_that_of_2_to_the_61_minus_1() -> None:
    rng = np.random.default_rng(1)
    edge = np.array([0, 1, 2**31, 2**60, shamir.PRIME - 1], dtype=np.uint64)
    numbers = np.concatenate((edge, rng.integers(0, shamir.PRIME, 200, dtype=np.uint64)))
    for a in numbers[:40]:
        for b in numbers:
            assert int(shamir.multiply(a, b)) == int(a) * int(b) % shamir.PRIME
            assert int(shamir.multiply_small(a, b >> np.uint64(31))) == int(a) * int(b >> np.uint64(31)) % shamir.PRIME
            assert int(shamir.add(a, b)) == (int(a) + int(b)) % shamir.PRIME
    words = rng.integers(0, 2**64, (50, 2), dtype=np.uint64)
    wide = [(int(low) + (int(high) << 64)) % shamir.PRIME for low, high in words]
    assert shamir.field_elements(words.astype("<u8").tobytes()).tolist() == wide
