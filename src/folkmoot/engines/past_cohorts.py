"""Whom a party was asked about before: two sums over nearly the same clients show, by subtraction, the few others."""

import zlib
from dataclasses import dataclass

import numpy as np

from folkmoot.conversation.population import Cohort, ids_of
from folkmoot.foundation.sets import Ids

LEVEL = 1  # of compression: cohorts are a few clients of many, or everyone


@dataclass(frozen=True)
class PastCohort:
    """Who was asked. census: it numbers the clients. size: how many were asked. members: how often each client counts,
    packed: one bit per client where nobody counts twice.
    """

    census: str
    size: int
    members: bytes

    @classmethod
    def of(cls, census: str, cohort: Cohort, clients: int) -> "PastCohort":
        times = np.zeros(clients, dtype=np.int64)
        times[ids_of(cohort)] = 1 if cohort.times is None else cohort.times
        once = cohort.times is None
        data = np.packbits(times.astype(bool), bitorder="little") if once else times.astype("<i8")
        return cls(census, cohort.size, bytes([once]) + zlib.compress(data.tobytes(), LEVEL))

    def count_apart(self, other: "PastCohort") -> int:
        """How many clients are in only one of both, or count more often in one."""
        mine, theirs = self._unpack(), other._unpack()
        if self.members[0] and other.members[0]:
            return int(np.bitwise_count(mine ^ theirs).sum())
        return int((self._count_times(mine, len(theirs)) != other._count_times(theirs, len(mine))).sum())

    def _unpack(self) -> Ids:
        data = zlib.decompress(self.members[1:])
        return np.frombuffer(data, dtype=np.uint8 if self.members[0] else "<i8")

    def _count_times(self, unpacked: Ids, clients: int) -> Ids:
        """How often each client counts; clients: how many there are, if they were packed as bits."""
        if not self.members[0]:
            return unpacked
        return np.unpackbits(unpacked, count=clients, bitorder="little").astype(np.int64)
