"""Which rows hold an item: the transpose of the rows, but only the part that is used.

A walk takes few items, nearly always among those with the largest gains. So when a walk needs an item whose
rows are not known yet, one pass finds the rows of that item and of the most promising other items, and passes
stay few. As the set grows, fewer and fewer entries of a row can still matter, and later passes look only at those.
Choosing 50 of 2,000 items needs a fraction of the whole transpose, in time and in memory.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import blocks, kernel, run_on_threads
from folkmoot.foundation.sets import Ids

SHARE = 1 / 3  # the largest part of all entries that one pass gathers
STRETCH = 4096  # entries sifted at a time

ROW, PLACE = 32, (1 << 32) - 1  # an entry is one number: its row, shifted by 32 bits, plus its place in the row


class ItemEntries:
    """All entries of the rows, in blocks, and how often each item occurs in each block.

    `reach` is where to stop looking in each row; None: at the end of the row.
    """

    def __init__(self, items: NDArray[Any], row_start: Ids, n_items: int) -> None:
        self.items, self.row_start, self.n_items = items, row_start, n_items
        self.cuts = blocks(row_start)
        self.block = {lo: at for at, (lo, _) in enumerate(self.cuts)}
        self.counts = self.count(None)

    def count(self, reach: Ids | None) -> Ids:
        """How often each item occurs in each block."""
        counts = np.zeros((len(self.cuts), self.n_items), dtype=np.int64)
        run_on_threads(
            lambda lo, hi: count_items(self.items, *self._pieces(lo, hi, reach), counts[self.block[lo]]), self.cuts
        )
        return counts

    def gather(self, wanted: NDArray[np.uint8], counts: Ids, reach: Ids | None) -> Ids:
        """The rows of the wanted items and the places in them, item by item; `counts` says how many there are."""
        mine = counts * wanted
        # Where each block writes the entries of each item: no two blocks share a place, so their order is free.
        ends = np.cumsum(mine.T).reshape(mine.T.shape).T
        next_place = (ends - mine).astype(np.uint64)  # unsigned: no sign to test
        entries = np.empty(ends[-1, -1], dtype=np.int64)

        def one(lo: int, hi: int) -> None:
            pieces, found = self._pieces(lo, hi, reach), np.empty(STRETCH, dtype=np.int64)
            fill_columns(self.items, *pieces, self.row_start, lo, wanted, next_place[self.block[lo]], found, entries)

        run_on_threads(one, self.cuts)
        return entries

    def _pieces(self, lo: int, hi: int, reach: Ids | None) -> tuple[Ids, Ids]:
        """Where the entries to look at in rows lo..hi begin and end; adjoining ones form one piece."""
        start = self.row_start[lo : hi + 1]
        if reach is None:
            return start[:1].copy(), start[-1:].copy()
        some = start[:-1] < reach[lo:hi]
        begins, ends = start[:-1][some], reach[lo:hi][some]
        apart = np.flatnonzero(begins[1:] != ends[:-1])
        return begins[np.append(0, apart + 1)[: len(begins)]], ends[np.append(apart, len(ends) - 1)[: len(ends)]]


class ItemColumns:
    """The rows of each item and its places in them, found when a walk first needs them."""

    def __init__(self, entries: ItemEntries) -> None:
        self.entries = entries
        self.found: list[Ids] = []
        self.where = np.full(entries.n_items, -1)  # an item's entries are found[where][first:last]; -1: not found yet
        self.first, self.last = np.zeros((2, entries.n_items), dtype=np.int64)

    def entries_of(self, item: int) -> Ids:
        """The rows that hold this item, in order, and its place in each."""
        entries: Ids = self.found[self.where[item]][self.first[item] : self.last[item]]
        return entries

    def knows(self, item: int) -> bool:
        return bool(self.where[item] >= 0)

    def gather(self, item: int, promise: Ids, reach: Ids | None) -> None:
        """Find the entries of an item, and of the items that `promise` ranks as most likely to be needed next.
        Entries beyond the reach of the rows will never matter again.
        """
        entries = self.entries
        counts = entries.counts if reach is None else entries.count(reach)
        totals = counts.sum(axis=0)
        unknown = np.flatnonzero((self.where < 0) & (totals > 0))
        promising = unknown[np.argsort(-promise[unknown])]  # the order of ties has no effect on results
        share = SHARE
        if not self.found:  # if one item occurs in most rows, most entries soon cease to matter
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
    """Write the row and the place of every entry whose item is wanted: sift a stretch without branches, then write
    what was found. `row` is the first row of the pieces.
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
