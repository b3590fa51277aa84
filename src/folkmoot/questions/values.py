"""What sets are worth: many in one question, and the last one that the result rests on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import Coding, coins, key_of, whole_numbers
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.query import FINE_BITS, Query, dense
from folkmoot.theory.confidence import Grid

LIMIT: int = 2**FINE_BITS - 1
SETS_AT_ONCE = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Values(Query):
    """f_i(S) for each of many sets, in one vector."""

    of_worth = True

    items: Ids  # all that occur in a set
    sets: Mask  # sets × these items
    whole: float  # no set is worth more to a client

    def __post_init__(self) -> None:
        freeze(self.items)
        freeze(self.sets)

    @property
    def length(self) -> int:
        return len(self.sets)

    @property
    def bound(self) -> int:
        return LIMIT

    @property
    def scale(self) -> float:
        return self.whole / LIMIT

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        return dense(self._numbers(clients) * times[:, None])

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        return np.concatenate([clients.add_coded_values(full, self._coding, times) for full in self._some(clients)])

    def _numbers(self, clients: Objective) -> Ids:
        """Every client's numbers, for a client that counts once."""
        return whole_numbers(self.values_at(clients), self._coding)

    def values_at(self, clients: Objective) -> Array:
        """clients × sets, a few sets at a time: many sets of many items are never written out together."""
        return np.concatenate([clients.values_at(full) for full in self._some(clients)], axis=1)

    def _some(self, clients: Objective) -> Iterator[Mask]:
        for first in range(0, len(self.sets), SETS_AT_ONCE):
            some = self.sets[first : first + SETS_AT_ONCE]
            full = np.zeros((len(some), clients.n_items), dtype=bool)
            full[:, self.items] = some
            yield full

    @property
    def _coding(self) -> Coding:
        return Coding(self.scale, LIMIT, False, 0)

    def mean(self, total: Ids, count: int) -> Array:
        return np.asarray(total[: len(self.sets)] * (self.scale / count), dtype=np.float64)

    def value(self, total: Ids, count: int) -> float:
        return float(self.mean(total, count).max())


@dataclass(frozen=True, eq=False, kw_only=True)
class Appraisal(Values):
    """Values; a mark for clients whose values do not fit the range; and histograms, of what the
    first two sets and of what everything together is worth to whom.

    A value falls between two points of a grid and counts at one of them by a coin that keeps its mean, so that the
    histogram's mean is that of the values but for the coins. (Who counts often is dealt out between both.)
    """

    single: float
    key: int

    @property
    def grid(self) -> Grid:
        return Grid(self.whole)

    @property
    def length(self) -> int:
        return len(self.sets) + 1 + 3 * len(self.grid.points)

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        values = self._numbers(clients) * times[:, None]
        cut = (mark_cut(clients, self.single, self.whole) * times)[:, None]
        counts = [self._counts(told, salt, ids, times) for salt, told in enumerate(self._told(clients))]
        parts = [dense(np.hstack([values, cut])), *counts]
        return sparse.csr_array(sparse.hstack(parts, format="csr"))

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        cut = times @ mark_cut(clients, self.single, self.whole)
        counts = [
            np.asarray(self._counts(told, salt, ids, times).sum(axis=0), dtype=np.int64).reshape(-1)
            for salt, told in enumerate(self._told(clients))
        ]
        return np.concatenate([super()._total(clients, ids, times), [cut], *counts])

    def _told(self, clients: Objective) -> tuple[Array, Array, Array]:
        """What the first two sets, and everything, are worth to each."""
        first, second = clients.values_at(next(self._some(clients))[:2]).T
        return first, second, clients.find_ceilings()

    def _counts(self, values: Array, salt: int, ids: Ids, times: Ids) -> Rows:
        """One row a client, with its times at the two points around its value."""
        grid = self.grid
        below, way = grid.neighbours(values)
        above = np.floor(times * way + coins(np.uint64(key_of(self.key, salt)), ids, 0)).astype(np.int64)
        data = np.stack([times - above, above], axis=1).reshape(-1)
        places = np.stack([below, below + 1], axis=1).reshape(-1)
        start = np.arange(0, len(places) + 1, 2)
        return sparse.csr_array((data, places, start), shape=(len(values), len(grid.points)))

    def cut(self, total: Ids, count: int) -> float:
        """The share of the clients whose values do not fit."""
        return float(total[len(self.sets)] / count)

    def histograms(self, total: Ids) -> tuple[Ids, Ids, Ids]:
        """How often the first two sets, and everything, are worth each point of the grid."""
        first, second, everything = total[len(self.sets) + 1 :].reshape(3, -1)
        return first, second, everything


def mark_cut(clients: Objective, single: float, whole: float) -> Ids:
    """1 for clients whose numbers do not all fit the range."""
    above = (clients.find_largest_shares(np.ones(clients.n_items)) > single) | (clients.find_ceilings() > whole)
    return above.astype(np.int64)


def compress_sets(members: Mask) -> tuple[Ids, Mask]:
    """Sets over all items, as the items that occur and the sets over those."""
    items = np.flatnonzero(members.any(axis=0))
    return items, np.ascontiguousarray(members[:, items])
