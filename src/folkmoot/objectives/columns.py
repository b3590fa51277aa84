"""Where an item stands: the transpose of the rows, but only of the part that is used.

A walk takes few items, nearly always among those of the largest gains. So when an item is asked for that
is not known yet, the most promising unknown items are gathered with it in one pass, so that passes stay few.
And as the set grows, ever fewer entries of a row can still matter: later passes are over those alone.
Choosing 50 of 2,000 items needs a fraction of the whole transpose, in time and in memory.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import blocks, kernel, on_threads
from folkmoot.foundation.sets import Ids

SHARE = 1 / 3  # of all entries, gathered at once
STRETCH = 4096

ROW, PLACE = 32, (1 << 32) - 1  # an entry is told by its row, shifted so far, and its place in it, in these bits


class ItemEntries:
    """All entries of the rows, in blocks, and how often each item stands in each block.

    `reach` says where the entries of each row end that are looked at; None: where the row does.
    """

    def __init__(self, items: NDArray[Any], row_start: Ids, n_items: int) -> None:
        self.items, self.row_start, self.n_items = items, row_start, n_items
        self.cuts = blocks(row_start)
        self.block = {lo: at for at, (lo, _) in enumerate(self.cuts)}
        self.counts = self.count(None)

    def count(self, reach: Ids | None) -> Ids:
        """How often each item stands in each block."""
        counts = np.zeros((len(self.cuts), self.n_items), dtype=np.int64)
        on_threads(
            lambda lo, hi: count_items(self.items, *self._pieces(lo, hi, reach), counts[self.block[lo]]), self.cuts
        )
        return counts

    def gather(self, wanted: NDArray[np.uint8], counts: Ids, reach: Ids | None) -> Ids:
        """The rows of the wanted items and the places in them, item by item, as many as were counted."""
        mine = counts * wanted
        # Where each block puts the entries of each item: blocks fill places of their own, in any order.
        ends = np.cumsum(mine.T).reshape(mine.T.shape).T
        next_place = (ends - mine).astype(np.uint64)  # unsigned: no sign to test
        entries = np.empty(ends[-1, -1], dtype=np.int64)

        def one(lo: int, hi: int) -> None:
            pieces, found = self._pieces(lo, hi, reach), np.empty(STRETCH, dtype=np.int64)
            fill_columns(self.items, *pieces, self.row_start, lo, wanted, next_place[self.block[lo]], found, entries)

        on_threads(one, self.cuts)
        return entries

    def _pieces(self, lo: int, hi: int, reach: Ids | None) -> tuple[Ids, Ids]:
        """Where the entries to look at in rows lo..hi begin and end, neighbours in one piece."""
        start = self.row_start[lo : hi + 1]
        if reach is None:
            return start[:1].copy(), start[-1:].copy()
        some = start[:-1] < reach[lo:hi]
        begins, ends = start[:-1][some], reach[lo:hi][some]
        apart = np.flatnonzero(begins[1:] != ends[:-1])
        return begins[np.append(0, apart + 1)[: len(begins)]], ends[np.append(apart, len(ends) - 1)[: len(ends)]]


class ItemColumns:
    """The rows of each item, and its places in them, found when a walk first needs them."""

    def __init__(self, entries: ItemEntries) -> None:
        self.entries = entries
        self.found: list[Ids] = []
        self.where = np.full(entries.n_items, -1)  # in which of `found`, from where, to where
        self.first, self.last = np.zeros((2, entries.n_items), dtype=np.int64)

    def of(self, item: int) -> Ids:
        """The rows that hold this item, in order, and its place in each."""
        entries: Ids = self.found[self.where[item]][self.first[item] : self.last[item]]
        return entries

    def knows(self, item: int) -> bool:
        return bool(self.where[item] >= 0)

    def gather(self, item: int, promise: Ids, reach: Ids | None) -> None:
        """Find an item, and with it what may be asked next, as `promise` ranks it. What lies beyond the reach
        of the rows will never matter again.
        """
        entries = self.entries
        counts = entries.counts if reach is None else entries.count(reach)
        totals = counts.sum(axis=0)
        unknown = np.flatnonzero((self.where < 0) & (totals > 0))
        promising = unknown[np.argsort(-promise[unknown])]  # in which order ties come decides nothing
        share = SHARE
        if not self.found:  # where one item stands in most rows, most entries cease to matter very soon
            share *= (1.0 - min(1.0, totals.max() / (len(entries.row_start) - 1))) ** 2
        wanted = np.zeros(entries.n_items, dtype=np.uint8)
        wanted[promising[np.cumsum(totals[promising]) <= share * len(entries.items)]] = 1
        wanted[item] = 1
        new = wanted > 0
        self.where[new] = len(self.found)
        self.last[new] = np.cumsum(totals[new])
        self.first[new] = self.last[new] - totals[new]
        self.found.append(entries.gather(wanted, counts, reach))


@kernel
def count_items(items: NDArray[Any], begins: Ids, ends: Ids, counts: Ids) -> None:
    for piece in range(len(begins)):
        for at in range(begins[piece], ends[piece]):
            counts[items[at]] += 1


@kernel
def fill_columns(
    items: NDArray[Any],
    begins: Ids,
    ends: Ids,
    row_start: Ids,
    row: int,
    wanted: NDArray[np.uint8],
    next_place: NDArray[np.uint64],
    found: Ids,
    entries: Ids,
) -> None:
    """Write down the row and the place of every entry whose item is wanted: sift a stretch without branches, then
    put it in place. Rows are counted on from the first.
    """
    for piece in range(len(begins)):
        for start in range(begins[piece], ends[piece], STRETCH):
            known = 0
            for at in range(start, min(start + STRETCH, ends[piece])):
                found[known] = at
                known += wanted[items[at]]
            for k in range(known):
                entry = found[k]
                while row_start[row + 1] <= entry:
                    row += 1
                item = items[entry]
                to = next_place[item]
                entries[to] = (row << ROW) + entry - row_start[row]
                next_place[item] = to + np.uint64(1)
