"""Public coins: hashes that everybody can work out again, the same wherever and in whatever order they fall.

The server knows them: they decide what it may know, such as cohorts, ties between its candidates, and which sets
everybody looks at. What a client decides by chance follows from `PrivateCoins`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, share

MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
GOLDEN, FIRST, SECOND = (np.uint64(k) for k in MIX)
S27, S30, S31, S11 = (np.uint64(k) for k in (27, 30, 31, 11))
MASK64 = 2**64 - 1


@dataclass(frozen=True)
class PublicCoins(Registered):
    """The coins of one key. A coin depends on nothing but the key, the client and the item."""

    key: int  # 64 bits

    def __post_init__(self) -> None:
        if type(self.key) is not int or not 0 <= self.key <= MASK64:
            raise InputError("needs a whole number of 64 bits", argument="key")

    @classmethod
    def of(cls, *parts: int) -> "PublicCoins":
        """The coins of several whole numbers together, such as (seed, round)."""
        return cls(key_of(*parts))

    def branch(self, *parts: int) -> "PublicCoins":
        """Other coins for a part of the work, which have nothing to do with these."""
        return PublicCoins(key_of(self.key, *parts))

    def parameters(self) -> Mapping[str, Any]:
        return {"key": self.key}

    @property
    def word(self) -> np.uint64:
        """The key as kernels take it."""
        return np.uint64(self.key)

    def toss(self, ids: Ids, item: int = 0) -> Array:
        """One number in [0, 1) per client."""
        return coins(self.word, ids, item)

    def generator(self) -> np.random.Generator:
        """For what the server draws by itself, such as cohorts."""
        return np.random.default_rng(self.key)


NO_COINS = PublicCoins(0)  # for what chance has no part in


def key_of(*parts: int) -> int:
    """One 64-bit key from several whole numbers, such as (seed, round)."""
    key = 0
    for part in parts:
        key = mix_int(key ^ mix_int((part + MIX[0]) & MASK64))
    return key


def mix_int(z: int) -> int:
    """The same as `mixed`, on Python's whole numbers."""
    z = (z + MIX[0]) & MASK64
    z = (z ^ z >> 30) * MIX[1] & MASK64
    z = (z ^ z >> 27) * MIX[2] & MASK64
    return z ^ z >> 31


@kernel
def mix(z: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of z moves every bit of the result."""
    z = z + GOLDEN
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


@kernel
def hash_triple(key: np.uint64, client: int, item: int | np.uint64) -> np.uint64:
    return mix(mix(key ^ np.uint64(client)) ^ np.uint64(item))


def coins(key: np.uint64, ids: Ids, item: int) -> Array:
    """One coin a client."""
    out = np.empty(len(ids))
    toss_coins(key, share(ids), item, out)
    return out


@kernel
def toss_coins(key: np.uint64, ids: Ids, item: int, out: Array) -> None:
    for at in range(len(ids)):
        out[at] = np.float64(hash_triple(key, ids[at], item) >> S11) * 2.0**-53
