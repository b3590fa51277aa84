"""Shares, parameters, packing and sketches: each by its own law."""

import numpy as np
import pytest

from folkmoot.errors import InputError
from folkmoot.secagg import shamir
from folkmoot.secagg.masks import as_words
from folkmoot.secagg.packing import add_packed, packed
from folkmoot.secagg.parameters import choose, is_safe, part_of
from folkmoot.secagg.sketch import Sketch, SketchFailed

# (clients, corrupt, dropout, malicious): (degree, threshold)
KNOWN = {
    (100, 0.05, 0.05, True): (16, 11),
    (1_000, 0.05, 0.05, True): (52, 37),
    (10_000, 0.05, 0.05, True): (62, 44),
    (100, 0.1, 0.1, True): (32, 22),
    (1_000, 0.1, 0.1, True): (96, 67),
    (10_000, 0.1, 0.1, True): (122, 85),
    (100_000, 0.1, 0.1, True): (134, 93),
    (1_000, 0.2, 0.1, True): (140, 104),
    (1_000, 0.05, 0.05, False): (30, 17),
}


@pytest.mark.parametrize(("asked", "known"), KNOWN.items(), ids=str)
def test_known_degrees_and_thresholds(asked: tuple[int, float, float, bool], known: tuple[int, int]) -> None:
    clients, corrupt, dropout, malicious = asked
    found = choose(clients, corrupt=corrupt, dropout=dropout, malicious=malicious)
    assert (found.degree, found.threshold) == known
    bad = part_of(corrupt, clients)
    assert is_safe(clients, *known, bad, malicious)
    assert not is_safe(clients, known[0], known[1] - 1, bad, malicious)


@pytest.mark.parametrize("wrong", [{"clients": 2}, {"clients": 10, "corrupt": 1.0}, {"clients": 10, "dropout": 0.9}])
def test_what_cannot_be_protected_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        choose(**wrong)  # type: ignore[arg-type]


def test_any_threshold_of_the_shares_brings_the_secret_back() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 7, 8, 32, 33):
        secret = rng.bytes(size)
        shares = shamir.split(secret, 9, 4, rng.bytes(shamir.bytes_needed(size, 4)))
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
            assert int(shamir.times(a, b)) == int(a) * int(b) % shamir.PRIME
            assert int(shamir.times_small(a, b >> np.uint64(31))) == int(a) * int(b >> np.uint64(31)) % shamir.PRIME
            assert int(shamir.plus(a, b)) == (int(a) + int(b)) % shamir.PRIME
    words = rng.integers(0, 2**64, (50, 2), dtype=np.uint64)
    wide = [(int(low) + (int(high) << 64)) % shamir.PRIME for low, high in words]
    assert shamir.random_field(words.astype("<u8").tobytes()).tolist() == wide


@pytest.mark.parametrize("bits", [1, 3, 8, 20, 31, 32, 33, 53, 63, 64])
def test_packing_is_exact_and_as_small_as_it_can_be(bits: int) -> None:
    rng = np.random.default_rng(bits)
    for length in (1, 7, 64, 1001):
        words = as_words(rng.integers(0, 2**bits, length, dtype=np.uint64), bits)
        data = packed(words, bits)
        assert len(data) == -(-length * bits // 8)
        total = as_words(np.full(length, 5), bits)
        add_packed(data, bits, total)
        np.testing.assert_array_equal(total, words + words.dtype.type(5))


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
