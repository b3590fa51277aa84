"""What items add along one sequence: a question that looks at many sets at the price of one round."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import Coding, code_rows, whole_numbers
from folkmoot.foundation.sets import Array, Ids, Rows, freeze, indicator
from folkmoot.objectives.objective import Objective
from folkmoot.questions.query import FINE_BITS, Query, add_up, beside

LIMIT: int = 2**FINE_BITS - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class GainsAlong(Query):
    """f_i(A + e) − f_i(A) for the prefixes A of a sequence: for each of the `items` at every prefix whose length is
    in `marks`, and for each of the `others` at the prefix of length `wide` alone. The last number is f_i there.
    """

    of_worth = True

    order: Ids  # the sequence
    marks: Ids  # lengths of prefixes, increasing
    items: Ids
    others: Ids
    wide: int  # one of the marks
    single: float  # no gain counts for more
    whole: float  # no value counts for more

    def __post_init__(self) -> None:
        for array in (self.order, self.marks, self.items, self.others):
            freeze(array)

    @property
    def length(self) -> int:
        return len(self.marks) * len(self.items) + len(self.others) + 1

    @property
    def bound(self) -> int:
        return LIMIT

    @property
    def scale(self) -> float:
        return self.single / self.bound

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        """One row per client: all gains, then the value."""
        shape = clients.n_clients, self.length - 1
        who, place, numbers = (np.concatenate(part) for part in zip(*self._coded(clients, ids, times), strict=True))
        gains = sparse.csr_array((numbers, (who, place)), shape=shape)
        return beside(gains, (self._worth(clients) * times)[:, None])

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        total = np.zeros(self.length, dtype=np.int64)
        for _, place, numbers in self._coded(clients, ids, times):
            total += add_up(place, numbers, self.length)
        total[-1] = times @ self._worth(clients)
        return total

    def _coded(self, clients: Objective, ids: Ids, times: Ids) -> Iterator[tuple[Ids, Ids, Ids]]:
        """Prefix by prefix: whose numbers, where they stand in the answer, and what they are."""
        how = Coding(self.scale, self.bound, False, 0).scalars
        for at, mark in enumerate(self.marks):
            slot = np.full(clients.n_items, -1)
            slot[self.items] = np.arange(len(self.items)) + at * len(self.items)
            if mark == self.wide:
                slot[self.others] = np.arange(len(self.others)) + len(self.marks) * len(self.items)
            rows = clients.gains_at(indicator(clients.n_items, self.order[:mark]))
            numbers = code_rows(rows.indptr, rows.indices, rows.data, how, ids)
            place, who = slot[rows.indices], np.repeat(np.arange(clients.n_clients), np.diff(rows.indptr))
            kept = place >= 0
            yield who[kept], place[kept], (numbers * times[who])[kept]

    def _worth(self, clients: Objective) -> Ids:
        values = clients.values_at(indicator(clients.n_items, self.order[: self.wide])[None, :])[:, 0]
        return whole_numbers(values, Coding(self.whole / self.bound, self.bound, False, 0))

    def along(self, total: Ids, count: int) -> Array:
        """Gains of F: marks × items."""
        gains = total[: len(self.marks) * len(self.items)] * (self.scale / count)
        return np.asarray(gains, dtype=np.float64).reshape(len(self.marks), len(self.items))

    def aside(self, total: Ids, count: int) -> Array:
        """Gains of F for the others."""
        first = len(self.marks) * len(self.items)
        return np.asarray(total[first:-1] * (self.scale / count), dtype=np.float64)

    def value(self, total: Ids, count: int) -> float:
        return float(total[-1] * (self.whole / self.bound / count))
