"""Whom a party was asked about before: two sums over nearly the same clients show, by subtraction, the few others."""

import zlib
from dataclasses import dataclass

import numpy as np

from folkmoot.conversation.population import Cohort, ids_of
from folkmoot.foundation.sets import Ids


@dataclass(frozen=True)
class PastCohort:
    """Who was asked a question: the others that it can be compared with, and the census that numbers the clients.

    members: how often each client counts, packed. size: how many clients they are.
    """

    kind: str
    census: str
    size: int
    members: bytes

    @classmethod
    def of(cls, kind: str, census: str, cohort: Cohort, clients: int) -> "PastCohort":
        times = np.zeros(clients, dtype=np.int64)
        ids = ids_of(cohort)
        times[ids] = 1 if cohort.times is None else cohort.times
        return cls(kind, census, cohort.size, _pack(times))

    def count_apart(self, other: "PastCohort") -> int:
        """How many clients are in only one of both, or count more often in one."""
        return int((_unpack(self.members) != _unpack(other.members)).sum())


def _pack(times: Ids) -> bytes:
    """As bits where everyone counts once: eight clients a byte."""
    once = int(times.max(initial=0)) <= 1
    data = np.packbits(times.astype(bool), bitorder="little") if once else times.astype("<i8")
    return bytes([once]) + len(times).to_bytes(8, "little") + zlib.compress(data.tobytes(), 1)


def _unpack(members: bytes) -> Ids:
    data, clients = zlib.decompress(members[9:]), int.from_bytes(members[1:9], "little")
    if members[0]:
        return np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=clients, bitorder="little").astype(np.int64)
    return np.frombuffer(data, dtype="<i8").astype(np.int64)
