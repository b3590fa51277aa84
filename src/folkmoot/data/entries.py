"""From entries in any order to rows: a counting sort by client; within a client items rise and none is repeated.

Columns are moved one at a time, so that at most the entries, the rows and one column are in memory together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.sets import Array, Ids, Rows, share

ITEM, PLACE = 32, (1 << 32) - 1  # a key is an item, shifted by 32 bits, plus its place in the row
FIRST, LAST, LARGEST, MEAN, SUM = range(5)
RULES = {"first": FIRST, "last": LAST, "largest": LARGEST, "mean": MEAN, "sum": SUM}


@dataclass
class Entries:
    """Rows of items with one value each; `values` is None if entries have no values."""

    starts: Ids
    items: NDArray[np.int32]
    values: Array | None
    n_items: int

    def merge(self, rule: str) -> None:
        """Sort the items within each row, and merge repeated ones by the rule."""
        values = np.empty(0) if self.values is None else self.values
        longest = int(np.diff(self.starts).max(initial=0))
        room = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=values.dtype)
        self._keep(order_and_merge(self.starts, self.items, values, RULES.get(rule, FIRST), *room))

    def renumber_items(self, where: Ids, n_items: int) -> None:
        """Give item e the number where[e]."""
        if n_items != self.n_items or (np.diff(where) != 1).any():
            self.items, self.n_items = where.astype(np.int32)[self.items], n_items
            self.merge("first")

    def drop_worthless(self) -> None:
        """Remove entries whose value is 0."""
        if self.values is not None and not (self.values > 0).all():
            self._keep(drop_zeros(self.starts, self.items, self.values))

    def _keep(self, count: int) -> None:
        self.items = self.items[:count]
        self.values = None if self.values is None else self.values[:count]

    def matrix(self) -> Rows:
        data = np.ones(len(self.items), dtype=np.int8) if self.values is None else self.values
        starts = self.starts.astype(np.int32) if len(self.items) < 2**31 else self.starts
        return csr_array((data, self.items, starts), shape=(len(self.starts) - 1, self.n_items))


def row_starts(clients: NDArray[np.int32], n_clients: int) -> Ids:
    """Where the entries of each client will begin, and the end."""
    starts = np.zeros(n_clients + 1, dtype=np.int64)
    count(clients, starts)
    return starts


def place_column(clients: NDArray[np.int32], starts: Ids, column: NDArray[Any], dtype: DTypeLike | None = None) -> Any:
    """The column in the order of the clients, and of the file within a client."""
    out: NDArray[Any] = np.empty(len(column), dtype=dtype or column.dtype)
    column = column.astype(out.dtype, copy=False)
    plain = np.dtype(f"i{out.itemsize}")  # what is moved is no matter: numbers of one size are moved by the same code
    place(share(clients), starts[:-1].copy(), share(column.view(plain)), out.view(plain))
    return out


@kernel
def count(clients: NDArray[np.int32], starts: Ids) -> None:
    for client in clients:
        starts[client + 1] += 1
    for at in range(1, len(starts)):
        starts[at] += starts[at - 1]


@kernel
def place(clients: NDArray[np.int32], upcoming: Ids, column: NDArray[Any], out: NDArray[Any]) -> None:
    for at in range(len(clients)):
        client = clients[at]
        out[upcoming[client]] = column[at]
        upcoming[client] += 1


@kernel
def count_repeats(starts: Ids, items: NDArray[np.int32], seen: NDArray[np.int32]) -> int:
    """How many entries have an earlier one of the same client and item. `seen`: −1 for each item."""
    found = 0
    for row in range(len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            found += seen[items[at]] == row
            seen[items[at]] = row
    return found


@kernel
def list_repeats(starts: Ids, items: NDArray[np.int32], seen: NDArray[np.int32], out: Ids) -> None:
    """client · n + item of each entry that has an earlier one of the same client and item."""
    found = 0
    for row in range(len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            if seen[items[at]] == row:
                out[found] = row * len(seen) + items[at]
                found += 1
            seen[items[at]] = row


@kernel
def sort_keys(keys: Ids, count: int) -> None:
    """The first `count` keys in rising order, by Shell's method: rows are short, and it takes a tenth as long to
    compile as numba's own sort.
    """
    gap = count
    while gap > 1:
        gap = max((5 * gap - 1) // 11, 1)
        for at in range(gap, count):
            key, to = keys[at], at
            while to >= gap and keys[to - gap] > key:
                keys[to] = keys[to - gap]
                to -= gap
            keys[to] = key


@kernel
def order_and_merge(starts: Ids, items: NDArray[np.int32], values: Array, rule: int, keys: Ids, old: Array) -> int:
    """Sort and merge in place; kept entries move up to fill the gaps. Returns how many are kept. `keys` and `old` are
    room for the longest row.
    """
    valued = len(values) > 0
    kept, first = 0, 0
    for row in range(len(starts) - 1):
        last = starts[row + 1]
        size = last - first
        rises = True
        for at in range(first + 1, last):
            rises &= items[at] > items[at - 1]
        if not rises:
            for at in range(size):
                keys[at] = (np.int64(items[first + at]) << ITEM) + at  # the item, then the place: no two are equal
                if valued:
                    old[at] = values[first + at]
            sort_keys(keys, size)
            for at in range(size):
                items[first + at] = keys[at] >> ITEM
                if valued:
                    values[first + at] = old[keys[at] & PLACE]
        begin, times = kept, 1
        for at in range(first, last):
            if kept > begin and items[at] == items[kept - 1]:
                times += 1
                if valued:
                    if rule == LAST:
                        values[kept - 1] = values[at]
                    elif rule == LARGEST:
                        values[kept - 1] = max(values[kept - 1], values[at])
                    elif rule == MEAN:
                        values[kept - 1] += (values[at] - values[kept - 1]) / times
                    elif rule == SUM:
                        values[kept - 1] += values[at]
            else:
                items[kept] = items[at]
                if valued:
                    values[kept] = values[at]
                kept += 1
                times = 1
        first = last
        starts[row + 1] = kept
    return kept


@kernel
def drop_zeros(starts: Ids, items: NDArray[np.int32], values: Array) -> int:
    kept, first = 0, 0
    for row in range(len(starts) - 1):
        last = starts[row + 1]
        for at in range(first, last):
            if values[at] > 0.0:
                items[kept], values[kept] = items[at], values[at]
                kept += 1
        first = last
        starts[row + 1] = kept
    return kept


@kernel
def collect_weights(clients: NDArray[np.int32], weights: Array, out: Array) -> int:
    """Write the weight of each client to `out` (NaN at first); returns the first row that contradicts an earlier one,
    or −1.
    """
    for at in range(len(clients)):
        known = out[clients[at]]
        if np.isnan(known):
            out[clients[at]] = weights[at]
        elif known != weights[at]:
            return at
    return -1
