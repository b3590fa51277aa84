"""Whom a party was asked about before: two sums over nearly the same clients show, by subtraction, the few others."""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from folkmoot.conversation.population import Cohort, count_left, ids_of

LEVEL = 1  # of compression: cohorts are a few clients of many, or everyone


@dataclass(frozen=True)
class PastCohort:
    """Who was asked. census: it numbers the clients. size: how many were asked. members: how often each client counts,
    compressed: one bit per client where nobody counts twice (`even`).
    """

    census: str
    size: int
    even: bool
    members: bytes

    @classmethod
    def of(cls, census: str, cohort: Cohort, clients: int) -> "PastCohort":
        times = np.zeros(-(-clients // 8) * 8, dtype=np.int64)  # whole bytes of bits
        times[ids_of(cohort)] = 1 if cohort.times is None else cohort.times
        even = cohort.times is None
        data = np.packbits(times.astype(bool)).tobytes() if even else times.astype("<i8").tobytes()
        return cls(census, cohort.size, even, zlib.compress(data, LEVEL))

    @property
    def bits(self) -> NDArray[np.uint8]:
        """Where nobody counts twice: who was asked."""
        return np.frombuffer(zlib.decompress(self.members), dtype=np.uint8)

    @property
    def times(self) -> NDArray[np.int64]:
        """How often each client counts."""
        return np.unpackbits(self.bits).astype(np.int64) if self.even else self.bits.view("<i8").astype(np.int64)

    def count_apart(self, other: "PastCohort") -> int:
        """How many clients are left if one sum is subtracted from a multiple of the other."""
        if self.even and other.even:
            return int(np.bitwise_count(self.bits ^ other.bits).sum())
        times, often = self.times, other.times
        both = (times > 0) & (often > 0)
        return count_left(int(((times > 0) | (often > 0)).sum()), times[both] / often[both])
