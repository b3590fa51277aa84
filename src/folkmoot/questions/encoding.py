"""How the numbers of an answer are encoded, and how much one client can change a sum.

An answer is a vector of whole numbers in a few parts, each with a unit of its own. Everything that a server, a ring or
a noise mechanism needs to know about the vector is here, and nowhere else.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from math import ceil, inf, sqrt

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import Coding
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Rows
from folkmoot.privacy.noise import DEVIATIONS


class Rounding(StrEnum):
    """How a number becomes a whole number of units."""

    NEAREST = "nearest"
    COIN = "coin"  # up or down by a private coin that keeps the mean
    UP = "up"  # so that a sum is never too low


@dataclass(frozen=True)
class Part:
    """Numbers of an answer that are encoded in the same way, for a client that counts once.

    A number x is clipped at `limit` units (and at −limit if it is signed) and written as round(x / unit).
    """

    length: int
    unit: float
    limit: int
    rounding: Rounding = Rounding.NEAREST
    signed: bool = False
    most_nonzero: int | None = None  # at most this many are not 0; None: all may be
    most_together: int | None = None  # largest sum of absolute values, in units; None: as large as fits
    norm: float = inf  # largest L2 norm, in units: clients scale down what is longer

    @property
    def lowest(self) -> int:
        return -self.limit if self.signed else 0

    @property
    def nonzero(self) -> int:
        """At most this many numbers are not 0."""
        return self.length if self.most_nonzero is None else min(self.length, self.most_nonzero)

    @property
    def l1(self) -> int:
        """The largest possible sum of absolute values."""
        most = self.limit * self.nonzero
        return most if self.most_together is None else min(most, self.most_together)

    @property
    def l2(self) -> float:
        """The largest possible L2 norm: as many numbers as possible are at the limit then."""
        whole, rest = divmod(self.l1, self.limit)
        return min(sqrt(whole * self.limit**2 + rest**2), self.norm)

    def coding(self, own: PrivateCoins | None = None) -> Coding:
        """The form that kernels take; coins are needed where they decide the rounding."""
        assert self.rounding is not Rounding.UP, "kernels of its own round up"
        if self.rounding is not Rounding.COIN:
            return Coding(self.unit, self.limit)
        assert own is not None, "a coin needs a key"
        return Coding(self.unit, self.limit, True, own.key)

    def read(self, total: Ids, weight: float) -> Array:
        """The mean that follows from a sum, if its clients count `weight` times in total."""
        return np.asarray(total * (self.unit / weight), dtype=np.float64)


@dataclass(frozen=True)
class Encoding:
    """All parts of an answer.

    headroom: how far a number of one client's answer may lie beyond its limits, on either side. noise: the standard
    deviation, in units, of the noise that each speaker adds (a client, or a party that speaks for its clients).
    """

    parts: tuple[Part, ...]
    headroom: int = 0
    noise: float = 0.0

    def find_room(self, clients: int, speakers: int) -> int:
        """How far a number of a sum may lie beyond the limits. Noise adds up like a random walk."""
        return self.headroom * clients + ceil(DEVIATIONS * self.noise * sqrt(speakers))

    @cached_property
    def length(self) -> int:
        """How many numbers an answer has."""
        return sum(part.length for part in self.parts)

    @cached_property
    def limit(self) -> int:
        """The largest number that an answer can have, for a client that counts once."""
        return max(part.limit for part in self.parts)

    @cached_property
    def lowest(self) -> int:
        """The smallest such number; below 0 where answers are signed."""
        return min(part.lowest for part in self.parts)

    @property
    def fills_up(self) -> bool:
        """Whether numbers are rarely 0 as they are sent: signed or noisy numbers are sent as their distance from the
        lowest.
        """
        return self.lowest < 0 or self.headroom > 0 or self.noise > 0

    @cached_property
    def nonzero(self) -> int:
        """At most this many numbers of one answer are not 0."""
        return sum(part.nonzero for part in self.parts)

    # By how much one client that counts once can change a sum, by answering or not (t times as much if it counts t
    # times; where clients decide by coins whether to answer, the limits already include that).

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
        """Rows in which no part exceeds its norm: one that does is scaled down by one factor and rounded towards 0."""
        for part, (first, last) in zip(self.parts, pairwise(self.ends), strict=True):
            if part.norm < inf:
                inside = (rows.indices >= first) & (rows.indices < last)
                owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
                squares = np.bincount(owner[inside], rows.data[inside].astype(np.float64) ** 2, rows.shape[0])
                factors = np.minimum(1.0, part.norm / np.sqrt(np.maximum(squares, 1e-300)))
                data = np.where(inside, np.trunc(rows.data * factors[owner]), rows.data).astype(np.int64)
                rows = sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
        return rows
