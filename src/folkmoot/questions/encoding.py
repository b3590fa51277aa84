"""How the numbers of an answer are written, and how much one client can change of a sum.

An answer is a vector of whole numbers in a few parts, each with a unit of its own. Everything that a server, a ring or
a noise mechanism needs to know about the vector is here, and nowhere else.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from math import inf, sqrt

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import Coding
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, Ids, Rows


class Rounding(StrEnum):
    """How a number becomes a whole number of units."""

    NEAREST = "nearest"
    COIN = "coin"  # up or down by a public coin that keeps the mean


@dataclass(frozen=True)
class Part:
    """Some numbers of an answer that are written alike, for a client that counts once.

    A number x is cut at `limit` units (below, too, where it has a sign) and written as round(x / unit).
    """

    length: int
    unit: float
    limit: int
    rounding: Rounding = Rounding.NEAREST
    signed: bool = False
    most_nonzero: int | None = None  # at most so many are not 0; None: all may be
    most_together: int | None = None  # at most so many units in all, without signs; None: as many as fit
    norm: float = inf  # no longer than this in L2, in units: clients shorten what is

    @property
    def lowest(self) -> int:
        return -self.limit if self.signed else 0

    @property
    def nonzero(self) -> int:
        """At most so many numbers are not 0."""
        return self.length if self.most_nonzero is None else min(self.length, self.most_nonzero)

    @property
    def l1(self) -> int:
        """The numbers add up to no more than this, without their signs."""
        most = self.limit * self.nonzero
        return most if self.most_together is None else min(most, self.most_together)

    @property
    def l2(self) -> float:
        """They are no longer than this: longest where as many as can be are at the limit."""
        whole, rest = divmod(self.l1, self.limit)
        return min(sqrt(whole * self.limit**2 + rest**2), self.norm)

    def coding(self, coins: PublicCoins | None = None) -> Coding:
        """As kernels take it; with coins where they decide."""
        assert (coins is not None) or self.rounding is Rounding.NEAREST, "a coin needs a key"
        return Coding(self.unit, self.limit, self.rounding is Rounding.COIN, 0 if coins is None else coins.key)

    def read(self, total: Ids, weight: float) -> Array:
        """The mean that a sum tells, if clients count `weight` times together."""
        return np.asarray(total * (self.unit / weight), dtype=np.float64)


@dataclass(frozen=True)
class Encoding:
    """All parts of an answer.

    headroom: how far beyond its limits a number of one client's answer may lie, on either side: what noise may add.
    """

    parts: tuple[Part, ...]
    headroom: int = 0

    @cached_property
    def length(self) -> int:
        """How many numbers an answer has."""
        return sum(part.length for part in self.parts)

    @cached_property
    def limit(self) -> int:
        """No number of an answer is larger, for a client that counts once."""
        return max(part.limit for part in self.parts)

    @cached_property
    def lowest(self) -> int:
        """No number is smaller; below 0 where answers have a sign."""
        return min(part.lowest for part in self.parts)

    @property
    def fills_up(self) -> bool:
        """Whether no number that is sent is likely to be 0: with a sign, or with noise, they are sent as their distance
        from the lowest.
        """
        return self.lowest < 0 or self.headroom > 0

    @cached_property
    def nonzero(self) -> int:
        """At most so many numbers of one answer are not 0."""
        return sum(part.nonzero for part in self.parts)

    # What one client that counts once adds to a sum, or takes away by staying out (t times as much if it counts t
    # times; questions that clients answer by coins of their own have that in their limits already).

    @cached_property
    def l1(self) -> int:
        return sum(part.l1 for part in self.parts)

    @cached_property
    def l2(self) -> float:
        return sqrt(sum(part.l2**2 for part in self.parts))

    @cached_property
    def linf(self) -> int:
        return self.limit

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where parts begin and end."""
        return tuple(np.cumsum([0, *(part.length for part in self.parts)]).tolist())

    def split(self, vector: Ids) -> list[Ids]:
        """The numbers of each part."""
        return [vector[first:last] for first, last in pairwise(self.ends)]

    def shorten(self, rows: Rows) -> Rows:
        """Rows in which no part is longer than its norm: where one is, its numbers go towards 0 by one factor."""
        for part, (first, last) in zip(self.parts, pairwise(self.ends), strict=True):
            if part.norm < inf:
                inside = (rows.indices >= first) & (rows.indices < last)
                owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
                squares = np.bincount(owner[inside], rows.data[inside].astype(np.float64) ** 2, rows.shape[0])
                factors = np.minimum(1.0, part.norm / np.sqrt(np.maximum(squares, 1e-300)))
                data = np.where(inside, np.trunc(rows.data * factors[owner]), rows.data).astype(np.int64)
                rows = sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
        return rows
