"""Numbers as small integers.

What a client answers is added up in a ring of integers, so that a sum depends on no order and on no engine. A
number is written in units and cut off at a public limit, rounded to the nearest unit or up or down by a private
coin of its client and item that keeps its mean.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.private_coins import NO_KEY, CoinKey, toss_coin
from folkmoot.foundation.sets import Array, Ids, share


class Coding(NamedTuple):
    """How numbers become integers 0..limit."""

    unit: float
    limit: int
    stochastic: bool = False  # round by a coin, so that the mean is kept; else to the nearest
    key: CoinKey = NO_KEY

    @property
    def scalars(self) -> "CodingScalars":
        """As kernels take it."""
        return CodingScalars(float(self.unit), int(self.limit), bool(self.stochastic), self.key)


class CodingScalars(NamedTuple):
    unit: float
    limit: int
    stochastic: bool
    key: CoinKey


def whole_numbers(values: Array, how: Coding) -> Ids:
    """Any array of values, each to the nearest unit; what is no number counts nothing."""
    numbers = np.where(values > 0, values / how.unit, 0.0)
    return np.minimum(np.floor(numbers + 0.5), how.limit).astype(np.int64)


@kernel
def encode_number(value: float, how: CodingScalars, client: int, item: int) -> int:
    """value in units, as a whole number from 0 to the limit."""
    scaled = value / how.unit
    if not scaled > 0.0:
        return 0
    if scaled >= how.limit:
        return how.limit
    below = int(np.floor(scaled))
    return below + (toss_coin(how.key, client, item) < scaled - below if how.stochastic else scaled - below >= 0.5)


def code_column(values: Array, how: CodingScalars, ids: Ids, item: int) -> Ids:
    """One number a client."""
    out = np.empty(len(values), dtype=np.int64)
    code_numbers(share(values), how, share(ids), item, out)
    return out


def code_rows(start: NDArray[Any], items: NDArray[Any], values: Array, how: CodingScalars, ids: Ids) -> Ids:
    """The entries of sparse rows, a row a client."""
    out = np.empty(len(values), dtype=np.int64)
    start, items = (numbers.astype(np.int64, copy=False) for numbers in (start, items))
    code_entries(share(start), share(items), share(values), how, share(ids), out)
    return out


@kernel
def code_numbers(values: Array, how: CodingScalars, ids: Ids, item: int, out: Ids) -> None:
    for at in range(len(values)):
        out[at] = encode_number(values[at], how, ids[at], item)


@kernel
def code_entries(start: Ids, items: Ids, values: Array, how: CodingScalars, ids: Ids, out: Ids) -> None:
    for row in range(len(start) - 1):
        for at in range(start[row], start[row + 1]):
            out[at] = encode_number(values[at], how, ids[row], items[at])
