"""Coverage: a row is served as soon as one of its items is in the set."""

from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.sets import Array, Ids, Mask, Rows
from folkmoot.objectives.columns import ROW
from folkmoot.objectives.facility import FacilityLocation
from folkmoot.objectives.runs import Runs, item_type
from folkmoot.objectives.sparse import RowOptions, to_fixed_point


class Coverage(FacilityLocation):
    """f_i(S) = 1 if S holds one of the client's items, else 0: facility location with equal benefits.

    `membership` is rows × items, true or 1 where the item serves the row.
    """

    _argument = "membership"
    _least = _most = _row_most = 1.0

    def __init__(self, membership: Any, **options: Unpack[RowOptions]) -> None:
        super().__init__(membership, **options)

    def _arrange(self, rows: Rows) -> Runs:
        starts = rows.indptr.astype(np.int64)
        counts = np.diff(starts)
        some = counts > 0
        return Runs(
            rows.indices.astype(item_type(rows.shape[1])),
            starts,
            counts[some].astype(np.int32),
            np.ones(np.count_nonzero(some)),
            np.concatenate(([0], np.cumsum(some))),
        )

    @cached_property
    def _largest_terms(self) -> Array:
        return np.diff(self.layout.row_runs).astype(np.float64)

    def _start(self, members: Mask, weight: Array, scale: float) -> tuple[Any, Ids]:
        """At the empty set, with all rows of equal weight, the sums are multiples of counts that are known."""
        if members.any() or (weight != weight[0]).any():
            return super()._start(members, weight, scale)
        better = np.diff(self.layout.row_runs).astype(np.int32)
        return better, self._entries.counts.sum(axis=0) * to_fixed_point(weight[0], scale)

    def _reach(self, state: Any) -> Ids | None:
        """Rows that are not served yet are looked at as a whole, the others not at all."""
        return np.where(state > 0, self.layout.row_start[1:], self.layout.row_start[:-1])

    def _grow(self, entries: Ids, weight: Array, scale: float, state: Any, sums: Ids) -> None:
        room = np.empty((4, len(entries)), dtype=np.int64)
        cover(self.layout.items, self.layout.row_start, entries, weight, scale, state, sums, *room)


@kernel
def cover(
    items: NDArray[Any],
    row_start: Ids,
    entries: Ids,
    weight: Array,
    scale: float,
    better: NDArray[np.int32],
    sums: Ids,
    served: Ids,
    start: Ids,
    end: Ids,
    term: Ids,
) -> int:
    """Rows that are served for the first time take their term out of the sums of all their items.

    Rows are scattered over the memory. Short simple loops look everything up first, so that the cache misses of
    many rows overlap; a single loop would wait for each in turn and take three times as long.
    """
    count, touched = 0, 0
    for at in range(len(entries)):
        row = entries[at] >> ROW
        served[count] = row
        count += better[row] > 0
    for k in range(count):
        row = served[k]
        better[row] = 0
        start[k], end[k] = row_start[row], row_start[row + 1]
        term[k] = to_fixed_point(weight[row], scale)
    for k in range(count):
        touched += items[start[k]] + items[end[k] - 1]
    for k in range(count):
        for at in range(start[k], end[k]):
            sums[items[at]] -= term[k]
    return touched
