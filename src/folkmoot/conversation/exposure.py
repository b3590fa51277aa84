"""What a server can learn by subtracting one sum from another.

If one sum is over everyone except u, and another over everyone except u and v, they differ by what v answered, provided
that the others answered the same in both rounds. The fewer clients are in only one of two sums, the more the difference
reveals about each of them. Two sums are comparable if both questions are about what items and sets are worth (starting
from any set), or if both are of the same kind. (Only pairs are considered: a combination of more than two sums may
isolate fewer clients.)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from folkmoot.conversation.population import Cohort
from folkmoot.conversation.result import Difference
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.foundation.sets import Ids, Mask

Bits = NDArray[np.uint64]

NEVER = np.iinfo(np.int64).max  # for two sums over the same clients: subtracting them isolates nobody


@dataclass(frozen=True, eq=False)
class SumMembers:
    """Who is in one sum: one bit per client asked."""

    question: str  # sums with the same text here are comparable
    number: int  # of the round
    cohort: Cohort
    packed: NDArray[np.uint8] | None  # None: the whole cohort

    @classmethod
    def of(cls, ask: Ask, answer: Sum) -> "SumMembers":
        question = "worth" if ask.query.of_worth else type(ask.query).__name__
        packed = None if answer.present is None else np.packbits(answer.present)
        return cls(question, ask.number, ask.cohort, packed)

    @property
    def present(self) -> Mask | bool:
        return True if self.packed is None else np.unpackbits(self.packed, count=self.cohort.size).astype(bool)


def smallest_difference(sums: Iterable[SumMembers], n_clients: int) -> Difference | None:
    """The smallest number of clients by which two comparable sums differ, and the first two rounds that do; None if no
    two sums differ. A client makes a difference if it is in only one of the sums, or counts more often in one.
    """
    groups: dict[str, list[SumMembers]] = {}
    for one in sums:
        groups.setdefault(one.question, []).append(one)
    found = (_closest(group, n_clients) for group in groups.values() if len(group) > 1)
    return min((one for one in found if one is not None), key=lambda one: (one.clients, one.rounds), default=None)


def _closest(sums: Sequence[SumMembers], n_clients: int) -> Difference | None:
    """|A| + |B|, minus the clients in both, minus those in both who also count equally often in both."""
    cohorts = {id(one.cohort): one.cohort for one in sums}
    ids = [np.arange(n_clients) if one.ids is None else one.ids for one in cohorts.values()]
    clients = _bitmaps(sums, dict(zip(cohorts, _renumber(ids), strict=True)))
    counted = clients
    if len(cohorts) > 1 and any(one.times is not None for one in cohorts.values()):
        times = [np.ones(one.size, dtype=np.int64) if one.times is None else one.times for one in cohorts.values()]
        times = _renumber(times)
        most = 1 + max(int(part.max()) for part in times)
        pairs = [who * most + often for who, often in zip(ids, times, strict=True)]
        counted = _bitmaps(sums, dict(zip(cohorts, _renumber(pairs), strict=True)))
    sizes = _count(clients)
    best: Difference | None = None
    for at in range(len(sums) - 1):
        both = _count_common(clients[at], clients[at + 1 :])
        alike = both if counted is clients else _count_common(counted[at], counted[at + 1 :])
        apart = sizes[at] + sizes[at + 1 :] - both - alike
        apart[apart == 0] = NEVER
        nearest = int(apart.argmin())
        if apart[nearest] < (NEVER if best is None else best.clients):
            best = Difference(int(apart[nearest]), (sums[at].number, sums[at + 1 + nearest].number))
    return best


def _renumber(parts: list[Ids]) -> list[Ids]:
    """Each number replaced by its rank among all distinct ones, so that bitmaps are as short as possible."""
    places = np.unique(np.concatenate(parts), return_inverse=True)[1]
    return np.split(places, np.cumsum([len(part) for part in parts])[:-1])


def _bitmaps(sums: Sequence[SumMembers], places: dict[int, Ids]) -> Bits:
    words = 1 + max(int(part.max()) for part in places.values()) // 64
    rows = np.zeros((len(sums), 8 * words), dtype=np.uint8)
    for row, one in zip(rows, sums, strict=True):
        there = np.zeros(64 * words, dtype=bool)
        there[places[id(one.cohort)]] = one.present
        row[:] = np.packbits(there)
    return rows.view(np.uint64)


def _count_common(one: Bits, others: Bits) -> Ids:
    some = np.flatnonzero(one)  # a cohort sets bits in few of the words
    return _count(one[some] & others[:, some] if 2 * len(some) < len(one) else one & others)


def _count(bits: Bits) -> Ids:
    counts: Ids = np.bitwise_count(bits).sum(axis=-1, dtype=np.int64)
    return counts
