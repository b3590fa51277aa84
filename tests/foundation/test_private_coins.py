"""Coins that the server does not know: the values of SipHash-2-4, and what one of them tells of the others."""

from hmac import digest as keyed_digest
from itertools import product

import numpy as np
import pytest
from nacl.encoding import RawEncoder
from nacl.hash import siphash24

from folkmoot.foundation.coins import MASK64, MIX, PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import SECRET, CoinKey, PrivateCoins
from folkmoot.foundation.sets import Array
from tests.coins import toss_bits

OWN = PrivateCoins.derive(3)


def test_values_are_those_of_the_reference() -> None:
    """The first by its authors (appendix A of the paper), the others by libsodium."""
    low, high = np.frombuffer(bytes(range(16)), dtype="<u8")
    message = bytes(range(15))
    client, item = int.from_bytes(message[:8], "little"), int.from_bytes(message[8:], "little")
    assert toss_bits(CoinKey.of(low, high), client, item) == 0xA129CA6149BE45E5
    for seed, client, item in product(range(3), (0, 5, 2**31, 2**63 - 1), (0, 7, 65_535, 2**40)):
        coins = PrivateCoins.derive(seed)
        said = client.to_bytes(8, "little") + item.to_bytes(7, "little")
        known = siphash24(said, keyed_digest(coins.secret, b"", "sha256")[:16], encoder=RawEncoder)
        assert toss_bits(coins.key, client, item) == int.from_bytes(known, "little")


def test_a_coin_depends_on_its_secret_purpose_client_and_item() -> None:
    ids = np.arange(50)
    branches = [OWN, OWN.branch(1), OWN.branch(b"1"), OWN.branch(1, 1), OWN.branch(1).branch(1), OWN.keep(1)]
    branches += [OWN.keep(1, 1), PrivateCoins.derive(4), PrivateCoins.derive(4).branch(1)]
    tossed = np.array([coins.toss(ids, item) for coins in branches for item in (0, 1)])
    assert len(np.unique(tossed)) == tossed.size
    np.testing.assert_array_equal(OWN.branch(1).toss(ids[::-1], 1), tossed[3][::-1])
    np.testing.assert_array_equal(OWN.branch(1).keep(1).toss(ids), OWN.keep(1).toss(ids))


def test_secrets_do_not_show() -> None:
    assert OWN.secret.hex() not in repr(OWN.branch(1))
    assert repr(OWN.secret) not in repr(OWN)
    for secret in (bytes(SECRET - 1), b"", "x" * SECRET, None):
        with pytest.raises(InputError, match=r"^secret: needs 32 bytes$"):
            PrivateCoins(secret)  # type: ignore[arg-type]


# A server that has learned one coin.


def undo_mix(z: int) -> int:
    """The number of which `mix_int` makes z."""
    z ^= z >> 31 ^ z >> 62
    z = z * pow(MIX[2], -1, 2**64) & MASK64
    z ^= z >> 27 ^ z >> 54
    z = z * pow(MIX[1], -1, 2**64) & MASK64
    z ^= z >> 30 ^ z >> 60
    return (z - MIX[0]) & MASK64


def predict_others(known: float, client: int, item: int, ids: np.ndarray) -> Array:
    """Everybody's coins for another item, under each of the 2,048 keys of public coins that make this one."""
    keys = [undo_mix(undo_mix(int(known * 2**53) << 11 | rest) ^ item) ^ client for rest in range(2048)]
    return np.array([PublicCoins(key).toss(ids, item + 1) for key in keys])


def test_one_known_coin_says_nothing_of_any_other() -> None:
    """From one public coin follow 2,048 keys, and one of them tells all 300 other coins. Of private coins, each key
    tells half of the coins' first bits, and no key of 2,048 more than 0.7 of them, but with probability 1e-8.
    """
    ids = np.arange(300)
    public, private = PublicCoins(12345), PrivateCoins.derive(12345)
    for coins, knows_all in ((public, True), (private, False)):
        guesses = predict_others(float(coins.toss(np.array([17]), 4)[0]), 17, 4, ids)
        right = ((guesses < 0.5) == (coins.toss(ids, 5) < 0.5)).mean(axis=1).max()
        assert (right == 1.0) if knows_all else (right < 0.7)
