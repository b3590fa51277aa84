"""Numbers as small integers, and the coin that everybody tosses alike.

What a client answers is added up in a ring of integers, so that a sum depends on no order and on no engine. A
number is written in units and cut off at a public limit, rounded to the nearest unit or up or down by a coin
that keeps its mean. Coins are hashes of (key, client, item): the same wherever and in whatever order they fall.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.sets import Array, Ids

MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
GOLDEN, FIRST, SECOND = (np.uint64(k) for k in MIX)
S27, S30, S31, S11 = (np.uint64(k) for k in (27, 30, 31, 11))
MASK64 = 2**64 - 1


class Coding(NamedTuple):
    """How numbers become integers 0..limit."""

    unit: float
    limit: int
    stochastic: bool  # round by a coin, so that the mean is kept; else to the nearest
    key: int  # of the coins

    @property
    def scalars(self) -> "CodingScalars":
        """As kernels take it."""
        return CodingScalars(float(self.unit), int(self.limit), bool(self.stochastic), np.uint64(self.key))


class CodingScalars(NamedTuple):
    unit: float
    limit: int
    stochastic: bool
    key: np.uint64


def whole_numbers(values: Array, how: Coding) -> Ids:
    """Any array of values, each to the nearest unit; what is no number counts nothing."""
    numbers = np.where(values > 0, values / how.unit, 0.0)
    return np.minimum(np.floor(numbers + 0.5), how.limit).astype(np.int64)


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


@kernel
def coin(key: np.uint64, client: int, item: int) -> float:
    """A number in [0, 1), as good as random, that depends on nothing but its three names."""
    return float(np.float64(hash_triple(key, client, item) >> S11) * 2.0**-53)


@kernel
def encode_number(value: float, how: CodingScalars, client: int, item: int) -> int:
    """value in units, as a whole number from 0 to the limit."""
    scaled = value / how.unit
    if not scaled > 0.0:
        return 0
    if scaled >= how.limit:
        return how.limit
    below = int(np.floor(scaled))
    return below + (coin(how.key, client, item) < scaled - below if how.stochastic else scaled - below >= 0.5)


@kernel
def coins(key: np.uint64, ids: Ids, item: int) -> Array:
    """One coin a client."""
    out = np.empty(len(ids))
    for at in range(len(ids)):
        out[at] = coin(key, ids[at], item)
    return out


@kernel
def code_column(values: Array, how: CodingScalars, ids: Ids, item: int) -> Ids:
    """One number a client."""
    out = np.empty(len(values), np.int64)
    for at in range(len(values)):
        out[at] = encode_number(values[at], how, ids[at], item)
    return out


@kernel
def code_rows(start: NDArray[Any], items: NDArray[Any], values: Array, how: CodingScalars, ids: Ids) -> Ids:
    """The entries of sparse rows, a row a client."""
    out = np.empty(len(values), np.int64)
    for row in range(len(start) - 1):
        for at in range(start[row], start[row + 1]):
            out[at] = encode_number(values[at], how, ids[row], items[at])
    return out
