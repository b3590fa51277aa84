"""Where an item stands: the transpose of the rows, but only of the part that is used.

A walk takes few items, nearly always among those of the largest gains. So when an item is asked for that
is not known yet, the entries of the most promising unknown items are gathered with it in one pass over
all entries: many at first, then few for the odd one out, then ever more, so that passes stay few.
Choosing 50 of 2,000 items needs a fraction of the whole transpose, in time and in memory.
"""

from itertools import chain, count
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.kernels import blocks, kernel, on_threads
from folkmoot.sets import Ids

FIRST_SHARE, SECOND_SHARE = 1 / 3, 1 / 32  # of all entries, gathered at once; doubling from the second on
STRETCH = 4096
COARSE = 5  # the row of every 32nd entry is kept; the row of any other is a step or two away


class Columns:
    """The entries of each item, and their rows, found when they are first needed."""

    def __init__(self, items: NDArray[Any], row_start: Ids, n_items: int) -> None:
        self.items, self.row_start = items, row_start
        self.cuts = [(int(row_start[lo]), int(row_start[hi])) for lo, hi in blocks(row_start)]
        # How often each item stands in each block: blocks then fill their own places, in any order.
        self.counts = np.array(on_threads(lambda lo, hi: count_items(items[lo:hi], n_items), self.cuts))
        self.coarse = coarse_rows(row_start)
        self.known: dict[int, Ids] = {}
        self.shares = chain([FIRST_SHARE], (SECOND_SHARE * 2**k for k in count()))
        self.lock = Lock()

    def entries_of(self, item: int, promise: Ids) -> tuple[Ids, Ids]:
        """The entries that are this item and their rows, in order. `promise` ranks what may be asked next."""
        with self.lock:
            if item not in self.known:
                self._gather(item, promise)
        entries = self.known[item]
        return entries, rows_of_entries(entries, self.row_start, self.coarse)

    def _gather(self, item: int, promise: Ids) -> None:
        promising = np.argsort(-promise)  # in which order ties come decides nothing
        promising = promising[~np.isin(promising, list(self.known))]
        held = np.cumsum(self.counts[:, promising].sum(axis=0))
        wanted = np.union1d(promising[held <= next(self.shares) * len(self.items)], [item])
        counts = self.counts[:, wanted]
        start = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
        place = (start[:-1] + np.cumsum(counts, axis=0) - counts).astype(np.uint64)  # unsigned: no sign to test
        slot = np.full(self.counts.shape[1], -1, dtype=np.int32)
        slot[wanted] = np.arange(len(wanted))
        entries = np.empty(start[-1], dtype=np.int64)
        block = {lo: at for at, (lo, _) in enumerate(self.cuts)}
        on_threads(lambda lo, hi: fill_columns(self.items, lo, hi, slot, place[block[lo]], entries), self.cuts)
        self.known.update(zip(wanted.tolist(), np.split(entries, start[1:-1]), strict=True))


@kernel
def count_items(items: NDArray[Any], n_items: int) -> Ids:
    counts = np.zeros(n_items, np.int64)
    for at in range(len(items)):
        counts[items[at]] += 1
    return counts


@kernel
def fill_columns(
    items: NDArray[Any], lo: int, hi: int, slot: NDArray[np.int32], place: NDArray[np.uint64], entries: Ids
) -> None:
    """Write down every entry whose item has a slot: sift a stretch without branches, then put it in place."""
    found = np.empty(STRETCH, np.int64)
    for start in range(lo, hi, STRETCH):
        stretch = items[start : min(start + STRETCH, hi)]
        known = 0
        for at in range(len(stretch)):
            found[known] = at
            known += slot[stretch[at]] >= 0
        for k in range(known):
            column = slot[stretch[found[k]]]
            to = place[column]
            entries[to] = start + found[k]
            place[column] = to + np.uint64(1)


@kernel
def coarse_rows(row_start: Ids) -> NDArray[np.int32]:
    """The row of entries 0, 32, 64, …."""
    rows = np.empty((row_start[-1] >> COARSE) + 1, np.int32)
    done = 0
    for row in range(len(row_start) - 1):
        while done << COARSE < row_start[row + 1]:
            rows[done] = row
            done += 1
    return rows


@kernel
def rows_of_entries(entries: Ids, row_start: Ids, coarse: NDArray[np.int32]) -> Ids:
    rows = np.empty(len(entries), np.int64)
    for k in range(len(entries)):
        row = coarse[entries[k] >> COARSE]
        while row_start[row + 1] <= entries[k]:
            row += 1
        rows[k] = row
    return rows
