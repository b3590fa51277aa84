"""Rows stored best first, items of equal benefit in one run: the layout of facility location.

Ratings have a handful of levels, so a row of hundreds of items is a handful of runs. Kernels do much of their
work once per run instead of once per item, and benefits are stored once per run.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import blocks, kernel, run_on_threads
from folkmoot.foundation.sets import Array, Ids, Rows
from folkmoot.objectives.sparse import ranges

MOST_LEVELS = 64  # more different benefits in one block are sorted by value
SLOTS, SHIFT, SPREAD = 1024, np.uint64(54), np.uint64(0x9E3779B97F4A7C15)  # of the hash table that numbers them
ONE = np.uint64(1)


class Runs(NamedTuple):
    """Rows best first: run_end counts entries from the start of the row, row_runs is the first run of each row."""

    items: NDArray[Any]
    row_start: Ids
    run_end: NDArray[np.int32]
    run_value: Array
    row_runs: Ids

    def take(self, rows: Ids) -> "Runs":
        counts, runs = np.diff(self.row_start)[rows], np.diff(self.row_runs)[rows]
        entries, of_rows = ranges(self.row_start[rows], counts), ranges(self.row_runs[rows], runs)
        return Runs(
            self.items[entries],
            np.concatenate(([0], np.cumsum(counts))),
            self.run_end[of_rows],
            self.run_value[of_rows],
            np.concatenate(([0], np.cumsum(runs))),
        )

    def cut(self, lo: int, hi: int) -> "Runs":
        first, last = self.row_start[lo], self.row_start[hi]
        run, end = self.row_runs[lo], self.row_runs[hi]
        return Runs(
            self.items[first:last],
            self.row_start[lo : hi + 1] - first,
            self.run_end[run:end],
            self.run_value[run:end],
            self.row_runs[lo : hi + 1] - run,
        )

    def relabel(self, items: Ids, n_items: int) -> "Runs":
        return self._replace(items=items.astype(item_type(n_items)))

    def filter(self, slots: Ids, n_items: int) -> "Runs":
        at = slots[self.items]
        kept = at >= 0
        before = np.concatenate(([0], np.cumsum(kept)))  # how many entries are kept before each
        starts = np.repeat(self.row_start[:-1], np.diff(self.row_runs))  # of the row of each run
        ends = starts + self.run_end
        some = before[ends] > before[np.concatenate((self.row_start[:1], ends[:-1]))]  # runs of which entries are left
        return Runs(
            at[kept].astype(item_type(n_items)),
            before[self.row_start],
            (before[ends] - before[starts])[some].astype(np.int32),
            self.run_value[some],
            np.concatenate(([0], np.cumsum(some)))[self.row_runs],
        )


def item_type(n_items: int) -> type[np.uint16] | type[np.int32]:
    """Two bytes per entry if they are enough: the busiest kernels are limited by memory bandwidth."""
    return np.uint16 if n_items <= 1 << 16 else np.int32


def sort_runs(rows: Rows) -> Runs:
    """Each row best first, equal benefits together and in the order given: a counting sort if there are few levels."""
    starts = rows.indptr.astype(np.int64)
    entries = int(starts[-1])
    items = np.empty(entries, dtype=item_type(rows.shape[1]))
    run_end = np.empty(entries, dtype=np.int32)  # large enough for one run per entry; untouched pages cost nothing
    run_value = np.empty(entries)
    row_runs = np.zeros(len(starts), dtype=np.int64)

    def one(lo: int, hi: int) -> None:
        first, last = int(starts[lo]), int(starts[hi])
        if first == last:
            return
        out = items[first:last], run_end[first:last], run_value[first:last]
        here = starts[lo : hi + 1] - first
        ids = np.require(rows.indices[first:last], np.int32, ["C", "W"])  # always the same type: compiled once
        values = np.require(rows.data[first:last], np.float64, ["C", "W"])
        code, levels = np.empty(len(values), dtype=np.uint8), np.empty(MOST_LEVELS)
        table = np.zeros(SLOTS, dtype=np.int64), np.zeros(SLOTS, dtype=np.uint8)
        found = number_levels(values.view(np.int64), code, levels.view(np.int64), *table)
        if found > 0:
            best_first = np.argsort(-levels[:found])
            (near, far), best = np.empty((2, found), dtype=np.uint64), np.empty(len(ids), dtype=np.int32)
            runs = row_runs[lo + 1 : hi + 1]
            sort_by_level(here, ids, code, levels, best_first, near, far, best, out[1], out[2], runs)
            out[0][:] = best
            return
        longest = int(np.diff(here).max())
        room = np.empty(longest), np.empty(longest, dtype=np.int32), np.empty(longest + 1, dtype=np.int32)
        best = np.empty(len(ids), dtype=np.int32)
        sort_by_value(here, ids, values, *room, best, out[1], out[2], row_runs[lo + 1 : hi + 1])
        out[0][:] = best

    cuts = blocks(starts, most=len(starts))
    run_on_threads(one, cuts)
    np.cumsum(row_runs, out=row_runs)
    for lo, hi in cuts:  # close the gaps between the blocks
        used, at, first = int(row_runs[hi] - row_runs[lo]), int(row_runs[lo]), int(starts[lo])
        if at == first:
            continue
        run_end[at : at + used] = run_end[first : first + used]
        run_value[at : at + used] = run_value[first : first + used]
    runs = int(row_runs[-1])
    if runs < 0.9 * entries:
        run_end, run_value = run_end[:runs].copy(), run_value[:runs].copy()
    return Runs(items, starts, run_end[:runs], run_value[:runs], row_runs)


@kernel
def number_levels(bits: Ids, code: NDArray[np.uint8], levels: Ids, key: Ids, number: NDArray[np.uint8]) -> int:
    """Number the different values in order of appearance; returns how many there are, or 0 if too many.

    Values are positive floats, compared by their bits. `key` and `number` are a hash table of SLOTS places, all
    zeros at first: the bits of a positive float are never all zero.
    """
    found = 0
    for at in range(len(bits)):
        slot = np.uint64(bits[at]) * SPREAD >> SHIFT
        while key[slot] != bits[at]:
            if key[slot] == 0:
                if found == len(levels):
                    return 0
                key[slot] = bits[at]
                levels[found] = bits[at]
                number[slot] = found
                found += 1
            else:
                slot = (slot + ONE) % np.uint64(SLOTS)
        code[at] = number[slot]
    return found


@kernel
def sort_by_level(
    starts: Ids,
    ids: NDArray[np.int32],
    code: NDArray[np.uint8],
    levels: Array,
    best_first: Ids,
    near: NDArray[np.uint64],
    far: NDArray[np.uint64],
    items: NDArray[np.int32],
    run_end: NDArray[np.int32],
    run_value: Array,
    row_runs: Ids,
) -> None:
    """Counting sort of each row, its levels best first.

    Both halves of a row are counted and moved at the same time, each with its own places (`near`, `far`): a single
    loop would wait for the place it has just updated. Places are unsigned, as a signed one is tested for its sign.
    """
    runs = 0
    for row in range(len(starts) - 1):
        first, last = np.uint64(starts[row]), np.uint64(starts[row + 1])
        half = (last - first) >> ONE
        odd = first + half + half < last
        for k in range(len(near)):
            near[k] = far[k] = 0
        for at in range(first, first + half):
            near[code[at]] += ONE
            far[code[at + half]] += ONE
        if odd:
            far[code[last - ONE]] += ONE
        end = first
        for k in range(len(best_first)):
            level = best_first[k]
            here, there = near[level], far[level]
            near[level], far[level] = end, end + here
            end += here + there
            if here + there > 0:
                run_end[runs] = end - first
                run_value[runs] = levels[level]
                runs += 1
                row_runs[row] += 1
        for at in range(first, first + half):
            here, there = near[code[at]], far[code[at + half]]
            items[here] = ids[at]
            items[there] = ids[at + half]
            near[code[at]] = here + ONE
            far[code[at + half]] = there + ONE
        if odd:
            items[far[code[last - ONE]]] = ids[last - ONE]


@kernel
def sort_by_value(
    starts: Ids,
    ids: NDArray[np.int32],
    values: Array,
    ordered: Array,
    places: NDArray[np.int32],
    ends: NDArray[np.int32],
    items: NDArray[np.int32],
    run_end: NDArray[np.int32],
    run_value: Array,
    row_runs: Ids,
) -> None:
    """Sort each row by value, best first, and equal values by their places.

    A row has as many buckets as entries, each for an equal part of its range of values, and each bucket is sorted by
    itself: most hold an entry or two. `ordered` and `places` are room for the longest row, `ends` for one more.
    """
    runs = 0
    for row in range(len(starts) - 1):
        first = starts[row]
        size = starts[row + 1] - first
        if size == 0:
            continue
        top = bottom = values[first]
        for at in range(first, first + size):
            top, bottom = max(top, values[at]), min(bottom, values[at])
        scale = size / (top - bottom) if top > bottom else 0.0
        if not scale < np.inf:
            scale = 0.0  # values so close that they share a bucket
        for bucket in range(size + 1):
            ends[bucket] = 0
        for at in range(first, first + size):
            ends[min(np.int64((top - values[at]) * scale), size - 1) + 1] += 1
        for bucket in range(1, size):
            ends[bucket] += ends[bucket - 1]
        for at in range(first, first + size):  # now ends[bucket] is where its next entry goes, in the end its end
            bucket = min(np.int64((top - values[at]) * scale), size - 1)
            to = ends[bucket]
            ordered[to], places[to] = values[at], at - first
            ends[bucket] = to + 1
        begin = 0
        for bucket in range(size):
            end = ends[bucket]
            if end > begin + 1:
                sort_bucket(ordered, places, begin, end)
            begin = end
        for at in range(size):
            items[first + at] = ids[first + places[at]]
            if at + 1 == size or ordered[at] != ordered[at + 1]:
                run_end[runs] = at + 1
                run_value[runs] = ordered[at]
                runs += 1
                row_runs[row] += 1


@kernel
def sort_bucket(values: Array, places: NDArray[np.int32], begin: int, end: int) -> None:
    """Sort this part by Shell's method: largest values first, equal ones by place."""
    gap = end - begin
    while gap > 1:
        gap = max((5 * gap - 1) // 11, 1)
        for at in range(begin + gap, end):
            value, place, to = values[at], places[at], at
            while to >= begin + gap:
                other = values[to - gap]
                if other > value or (other == value and places[to - gap] < place):
                    break
                values[to], places[to] = other, places[to - gap]
                to -= gap
            values[to], places[to] = value, place
