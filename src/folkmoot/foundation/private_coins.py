"""Private coins: what a client decides by chance, from a secret that the server never learns.

A sum shows more than itself to a server that knows the coins behind it: numbers rounded by known coins show single
entries. So these coins come from a secret of whoever answers, and follow from it and from what they are for. They are
the same in whatever order they fall, on every engine that is given the same secret. The values are those of
SipHash-2-4 (Aumasson and Bernstein 2012), a keyed hash made for short inputs: known ones say nothing of others.
"""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from hmac import digest as keyed_digest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.sets import Array, Ids, share

SECRET = 32  # bytes
FIRST, SECOND, THIRD, FOURTH = (
    np.uint64(k) for k in (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
)
S11, S13, S16, S17, S21, S32, S43, S47, S48, S51 = (np.uint64(k) for k in (11, 13, 16, 17, 21, 32, 43, 47, 48, 51))
LENGTH = np.uint64(15 << 56)  # of the message, which is 8 bytes of the client and 7 of the item; in its last byte
LAST = np.uint64(0xFF)


class CoinKey(NamedTuple):
    """The inside of the hash once it has read the key; after `absorb`, once it has read a client or an item too."""

    first: np.uint64
    second: np.uint64
    third: np.uint64
    fourth: np.uint64

    @classmethod
    def of(cls, low: np.uint64, high: np.uint64) -> "CoinKey":
        """From the two halves of a key of 128 bits."""
        return cls(low ^ FIRST, high ^ SECOND, low ^ THIRD, high ^ FOURTH)


NO_KEY = CoinKey(np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))  # where chance has no part


@dataclass(frozen=True, eq=False)
class PrivateCoins:
    """The coins of one secret for one purpose. A coin depends on both, on the client and on the item."""

    secret: bytes = field(repr=False)
    purpose: bytes = b""

    def __post_init__(self) -> None:
        if type(self.secret) is not bytes or len(self.secret) != SECRET:
            raise InputError(f"needs {SECRET} bytes", argument="secret")

    @classmethod
    def derive(cls, seed: int) -> "PrivateCoins":
        """Coins that follow from a number: for simulations and tests, where the server may know them."""
        return cls(sha256(f"simulated coins {seed}".encode()).digest())

    def branch(self, *parts: bytes | int) -> "PrivateCoins":
        """Other coins, for a part of what these are for."""
        hasher = sha256(self.purpose)
        for part in parts:
            written = part if isinstance(part, bytes) else part.to_bytes(16, "little", signed=True)
            hasher.update(len(written).to_bytes(8, "little") + written)
        return PrivateCoins(self.secret, hasher.digest())

    def keep(self, *parts: bytes | int) -> "PrivateCoins":
        """Coins that are the same in every question that names these parts, unlike those of a single question."""
        return PrivateCoins(self.secret, b"kept").branch(*parts)

    @cached_property
    def key(self) -> CoinKey:
        low, high = np.frombuffer(keyed_digest(self.secret, self.purpose, "sha256"), dtype="<u8", count=2)
        return CoinKey.of(low, high)

    def draw_bits(self, ids: Ids, item: int = 0) -> NDArray[np.uint64]:
        """64 random bits per client."""
        out = np.empty(len(ids), dtype=np.uint64)
        toss_each(self.key, share(ids), item, out)
        return out

    def toss(self, ids: Ids, item: int = 0) -> Array:
        """One number in [0, 1) per client."""
        tossed: Array = (self.draw_bits(ids, item) >> S11).astype(np.float64) * 2.0**-53
        return tossed


SIMULATED = PrivateCoins.derive(0)  # of all clients in simulations, where server and clients are one process


@kernel
def absorb(now: CoinKey, word: int | np.uint64) -> CoinKey:
    """Two rounds of SipHash, with one word."""
    a, b, c, d = now.first, now.second, now.third, now.fourth ^ np.uint64(word)
    for _ in range(2):
        a += b
        b = (b << S13) | (b >> S51)
        b ^= a
        a = (a << S32) | (a >> S32)
        c += d
        d = (d << S16) | (d >> S48)
        d ^= c
        a += d
        d = (d << S21) | (d >> S43)
        d ^= a
        c += b
        b = (b << S17) | (b >> S47)
        b ^= c
        c = (c << S32) | (c >> S32)
    return CoinKey(a ^ np.uint64(word), b, c, d)


@kernel
def toss_bits(row: CoinKey, item: int | np.uint64) -> np.uint64:
    """64 random bits for an item. row: the key that has absorbed the client, which is the same for all its items."""
    now = absorb(row, np.uint64(item) | LENGTH)
    now = absorb(CoinKey(now.first, now.second, now.third ^ LAST, now.fourth), np.uint64(0))
    now = absorb(now, np.uint64(0))
    return now.first ^ now.second ^ now.third ^ now.fourth


@kernel
def toss_coin(key: CoinKey, client: int, item: int) -> float:
    """A number in [0, 1)."""
    return float(np.float64(toss_bits(absorb(key, np.uint64(client)), item) >> S11) * 2.0**-53)


@kernel
def toss_each(key: CoinKey, ids: Ids, item: int, out: NDArray[np.uint64]) -> None:
    for at in range(len(ids)):
        out[at] = toss_bits(absorb(key, np.uint64(ids[at])), item)
