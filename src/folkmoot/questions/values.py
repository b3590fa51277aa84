"""What sets are worth: many sets in one question, and the last question, which the result rests on."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import whole_numbers
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding, Part
from folkmoot.questions.query import FINE, Query, Reply, ReplyT, repeat_rows, write_dense
from folkmoot.theory.confidence import Grid

SETS_AT_ONCE = 64


class ValuesReply(Reply):
    """F of each set."""

    @property
    def value(self) -> float:
        return float(self.mean.max())


@dataclass(frozen=True, eq=False, kw_only=True)
class SetValues(Query[ReplyT]):
    """f_i(S) for each of many sets, in one vector."""

    of_worth = True

    items: Ids  # all items that occur in a set
    sets: Mask  # sets × these items
    whole: float  # values are clipped at this

    def __post_init__(self) -> None:
        freeze(self.items)
        freeze(self.sets)

    @property
    def main(self) -> Part:
        """How values are encoded."""
        return Part(len(self.sets), self.whole / FINE, FINE)

    @property
    def encoding(self) -> Encoding:
        return Encoding((self.main,))

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        """A few sets at a time, so that many sets over many items are never in memory together."""
        values = np.concatenate([clients.values_at(full) for full in self._some(clients)], axis=1)
        return write_dense(whole_numbers(values, self.main.coding()))

    def total_of_block(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        how = self.main.coding()
        return np.concatenate([clients.add_coded_values(full, how, times) for full in self._some(clients)])

    def _some(self, clients: Objective) -> Iterator[Mask]:
        for first in range(0, len(self.sets), SETS_AT_ONCE):
            some = self.sets[first : first + SETS_AT_ONCE]
            full = np.zeros((len(some), clients.n_items), dtype=bool)
            full[:, self.items] = some
            yield full


@dataclass(frozen=True, eq=False, kw_only=True)
class Values(SetValues[ValuesReply]):
    """f_i(S) for each of many sets, and nothing more."""

    reply_kind = ValuesReply


class AppraisalReply(ValuesReply):
    """F of each set, and how the worth of the first two and of all items together is spread over clients."""

    question: "Appraisal"

    @property
    def cut(self) -> float:
        """The share of the clients whose values do not fit the range."""
        return float(self.parts[1][0] / self.count)

    @property
    def histograms(self) -> tuple[Ids, Ids, Ids]:
        """For the first two sets and for all items together: how many clients value it at each point of the grid."""
        first, second, everything = self.parts[2:]
        return first, second, everything


@dataclass(frozen=True, eq=False, kw_only=True)
class Appraisal(SetValues[AppraisalReply]):
    """Values; a mark for clients whose values do not fit the range; and histograms of the values of the first two sets
    and of all items together.

    A value lies between two points of a grid and is counted at one of them, by a coin that keeps its mean: the mean of
    the histogram is that of the values, up to the coins. (A client that counts often is divided between both points.)
    """

    reply_kind = AppraisalReply
    counts_times = True  # histograms do it in their own way

    single: float
    draw: int  # names what clients decide by chance: another number, other coins

    @property
    def grid(self) -> Grid:
        return Grid(self.whole)

    @cached_property
    def encoding(self) -> Encoding:
        histogram = Part(len(self.grid.points), 1.0, 1, most_nonzero=1)
        return Encoding((self.main, Part(1, 1.0, 1), histogram, histogram, histogram))

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        cut = write_dense(mark_cut(clients, self.single, self.whole)[:, None])
        values = (super().write_rows(clients, ids, times, own), cut)
        counts = [self._counts(worth, own.branch(salt), ids, times) for salt, worth in enumerate(self._worths(clients))]
        parts = [*(repeat_rows(one, times) for one in values), *counts]
        return sparse.csr_array(sparse.hstack(parts, format="csr"))

    def total_of_block(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        cut = times @ mark_cut(clients, self.single, self.whole)
        counts = [
            np.asarray(self._counts(worth, own.branch(salt), ids, times).sum(axis=0), dtype=np.int64).reshape(-1)
            for salt, worth in enumerate(self._worths(clients))
        ]
        return np.concatenate([super().total_of_block(clients, ids, times, own), [cut], *counts])

    def count_nonzero(self, answers: int) -> int:
        """All numbers: a sketch may fail, and after the last round there may be no other clients left to ask."""
        return self.length

    def _worths(self, clients: Objective) -> tuple[Array, Array, Array]:
        """What the first two sets, and all items together, are worth to each client."""
        first, second = clients.values_at(next(self._some(clients))[:2]).T
        return first, second, clients.unrestricted.find_ceilings()

    def _counts(self, values: Array, own: PrivateCoins, ids: Ids, times: Ids) -> Rows:
        """One row per client: how often it counts, divided between the two points around its value."""
        grid = self.grid
        below, way = grid.neighbours(values)
        above = np.floor(times * way + own.toss(ids)).astype(np.int64)
        data = np.stack([times - above, above], axis=1).reshape(-1)
        places = np.stack([below, below + 1], axis=1).reshape(-1)
        start = np.arange(0, len(places) + 1, 2)
        return sparse.csr_array((data, places, start), shape=(len(values), len(grid.points)))


def mark_cut(clients: Objective, single: float, whole: float) -> Ids:
    """1 for clients whose numbers do not all fit the range, else 0."""
    everything = clients.unrestricted
    largest = everything.find_largest_shares(np.ones(everything.n_items))
    above = (largest > single) | (everything.find_ceilings() > whole)
    return above.astype(np.int64)


def compress_sets(members: Mask) -> tuple[Ids, Mask]:
    """Sets over all items as the items that occur in any of them, and the sets over those items."""
    items = np.flatnonzero(members.any(axis=0))
    return items, np.ascontiguousarray(members[:, items])
