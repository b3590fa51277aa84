"""The server looks for the vector in what it was sent: for bytes, bits or pairs of numbers that are more frequent than
others, or for a mask that it has seen before. A masked vector is uniform in the ring, whatever is in it, and no two
masks are the same. Coins are fixed, so the tests give the same result on every run; with fresh coins each single
comparison would fail wrongly with a chance of 1e-9 (there are about 100).
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from folkmoot.secagg.client import Answer
from folkmoot.secagg.keys import MASK_KEY, hash_roll, hash_sharers, mask_private, own_mask_key, pair_purpose
from folkmoot.secagg.messages import Announcement
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.primitives import agree, keyed_hash, public_of
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import VECTOR, Federation

BITS, CHANCE = 20, 1e-9
FEDERATION = Federation(16, length=20_000, largest=40_000)  # sums below 2^20
VICTIM = FEDERATION.ids[6]
Numbers = NDArray[np.int64]


def mask_number(number: int, announcement: Announcement | None = None, seed: int = 0) -> Numbers:
    """The victim's vector, everywhere this number, as the server sees it."""

    def answers(_: int) -> Answer:
        return lambda crowd: np.full(crowd.announcement.length, number, dtype=np.int64)

    server = EvilServer(FEDERATION, announcement, seed=seed, answers=answers)
    outbox = server.advance_to(VECTOR)
    assert server.announcement.ring_bits == BITS
    sent = server.masked_of(server.ask(VICTIM, outbox[VICTIM]))
    words = np.zeros(FEDERATION.length, dtype=np.uint32)
    add_packed(sent.vector, BITS, words)
    return words.astype(np.int64)


def is_even(counts: Numbers) -> bool:
    """Chi-square: all equally frequent."""
    expected = counts.sum() / len(counts)
    return bool(((counts - expected) ** 2 / expected).sum() < chi2.isf(CHANCE, len(counts) - 1))


def oddities(numbers: Numbers) -> list[str]:
    """What is wrong with these as uniform and independent numbers of the ring."""
    bits = (numbers[:, None] >> np.arange(BITS)) & 1
    centred = numbers - (2**BITS - 1) / 2
    serial = (centred[1:] * centred[:-1]).sum() / max((centred**2).sum(), 1) * len(numbers) ** 0.5
    runs = np.count_nonzero(np.diff(bits, axis=0), axis=0)
    spread, edge = len(numbers) ** 0.5 / 2, norm.isf(CHANCE / 2 / BITS)
    found = {
        "low byte": is_even(np.bincount(numbers & 255, minlength=256)),
        "middle byte": is_even(np.bincount(numbers >> 6 & 255, minlength=256)),
        "high byte": is_even(np.bincount(numbers >> 12, minlength=256)),
        "bits": bool((abs(bits.sum(axis=0) - len(numbers) / 2) < edge * spread).all()),
        "runs": bool((abs(runs - (len(numbers) - 1) / 2) < edge * spread).all()),
        "neighbours": bool(abs(serial) < norm.isf(CHANCE / 2)),
        "pairs": is_even(np.bincount((numbers[::2] >> 16) * 16 + (numbers[1::2] >> 16), minlength=256)),
    }
    return [name for name, even in found.items() if not even]


def test_the_tests_see_what_is_not_uniform() -> None:
    generator = np.random.default_rng(0)
    numbers = generator.integers(0, 2**BITS, FEDERATION.length)
    assert not oddities(numbers)
    assert len(oddities(np.zeros_like(numbers))) == 7
    assert "bits" in oddities(numbers | (generator.random(len(numbers)) < 0.1))  # one bit, every tenth time
    assert {"low byte", "high byte"} & set(oddities(np.minimum(numbers, 2**BITS - 2**12)))
    assert {"runs", "neighbours"} <= set(oddities(np.repeat(numbers[::2], 2)))
    assert "pairs" in oddities(np.where(np.arange(len(numbers)) % 20 == 1, np.roll(numbers, 1), numbers))


@pytest.mark.parametrize("number", [0, 40_000])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_masked_vector_is_uniform(number: int, seed: int) -> None:
    assert not oddities(mask_number(number, seed=seed))


def test_no_mask_is_used_again() -> None:
    """The same vector in another round, session or question, or with other coins: what is left of it is uniform."""
    now = FEDERATION.announcement
    others = [FEDERATION.announce_later(), replace(now, session=bytes(16)), replace(now, question=bytes([1] * 32))]
    first = mask_number(7)
    assert (mask_number(7) == first).all()  # the same coins, the same everything: the comparison can fail
    assert set((mask_number(9) - first) % 2**BITS) == {2}
    for again in [*(mask_number(7, other, seed=3) for other in others), mask_number(7, seed=4)]:
        assert not oddities((again - first) % 2**BITS)


def test_even_with_broken_coins_masks_differ_from_round_to_round() -> None:
    """Clients whose coins fall the same way in every round: keys are still bound to all that was said."""
    now = FEDERATION.announcement
    others = [FEDERATION.announce_later(), replace(now, session=bytes(16)), replace(now, question=bytes([1] * 32))]
    for other in others:
        assert not oddities((mask_number(7, other) - mask_number(7)) % 2**BITS)


def test_every_pair_has_masks_of_its_own() -> None:
    seeds = {one: bytes([one] * 32) for one in FEDERATION.ids}
    private = {one: mask_private(seed) for one, seed in seeds.items()}
    public = {one: public_of(key) for one, key in private.items()}
    keys = set[bytes]()
    announcements = [
        FEDERATION.announcement,
        FEDERATION.announce_later(),
        replace(FEDERATION.announcement, session=bytes(16)),
    ]
    states = [
        hash_sharers(hash_roll(one.encode(), roll), bits)
        for one in announcements
        for roll in (b"1", b"2")
        for bits in (b"\1", b"\2")
    ]
    for state in states:
        keys |= {own_mask_key(seed, state) for seed in seeds.values()}
        for one in seeds:
            for other in (two for two in seeds if two > one):
                secret = agree(private[one], public[other])
                assert secret is not None
                assert secret == agree(private[other], public[one])
                assert pair_purpose(state, one, other) == pair_purpose(state, other, one)
                keys.add(keyed_hash(secret, pair_purpose(state, one, other), MASK_KEY))
    assert len(keys) == len(states) * (16 + 16 * 15 // 2)
