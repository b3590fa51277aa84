"""Gains along one sequence: a question that covers many sets in one round."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import code_rows, whole_numbers
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Rows, freeze, indicator
from folkmoot.objectives.objective import Objective
from folkmoot.questions.checking import check_items
from folkmoot.questions.encoding import Encoding, Part
from folkmoot.questions.query import FINE, Query, Reply, add_up, append_columns


class AlongReply(Reply):
    """Gains of F along a sequence."""

    question: "GainsAlong"

    @property
    def along(self) -> Array:
        """Gains of the items at every mark: marks × items."""
        return self.read(0).reshape(len(self.question.marks), len(self.question.items))

    @property
    def aside(self) -> Array:
        """Gains of the others, at the wide mark."""
        return self.read(1)

    @property
    def value(self) -> float:
        return float(self.read(2)[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class GainsAlong(Query[AlongReply]):
    """f_i(A + e) − f_i(A) for the prefixes A of a sequence: for each of the `items` at every prefix whose length is
    in `marks`, and for each of the `others` only at the prefix of length `wide`. The last number is f_i of that prefix.
    """

    of_worth = True
    reply_kind = AlongReply

    order: Ids  # the sequence
    marks: Ids  # lengths of prefixes, increasing
    items: Ids
    others: Ids
    wide: int  # one of the marks
    single: float  # gains are clipped at this
    whole: float  # values are clipped at this

    def __post_init__(self) -> None:
        for array in (self.order, self.marks, self.items, self.others):
            freeze(array)

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        check_items("marks", self.marks, len(self.order) + 1)
        if not (np.diff(self.marks) > 0).all() or self.wide not in self.marks:
            raise InputError("need to increase, and to include the wide one", argument="marks")
        super().check(n_items, n_clients)

    @cached_property
    def encoding(self) -> Encoding:
        lengths = len(self.marks) * len(self.items), len(self.others)
        gains = (Part(length, self.single / FINE, FINE) for length in lengths)
        return Encoding((*gains, Part(1, self.whole / FINE, FINE)))

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        """All gains, then the value."""
        shape = clients.n_clients, self.length - 1
        who, place, numbers = (np.concatenate(part) for part in zip(*self._encode(clients, ids), strict=True))
        gains = sparse.csr_array((numbers, (who, place)), shape=shape)
        return append_columns(gains, self._worth(clients)[:, None])

    def total_of_block(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        """Prefix by prefix, so that the rows of all prefixes are never in memory together."""
        total = np.zeros(self.length, dtype=np.int64)
        for who, place, numbers in self._encode(clients, ids):
            total += add_up(place, numbers * times[who], self.length)
        total[-1] = times @ self._worth(clients)
        return total

    def _encode(self, clients: Objective, ids: Ids) -> Iterator[tuple[Ids, Ids, Ids]]:
        """Per prefix: whose numbers they are, their positions in the answer, and the numbers themselves."""
        how = self.encoding.parts[0].coding().scalars
        for at, mark in enumerate(self.marks):
            slots = np.full(clients.n_items, -1)
            slots[self.items] = np.arange(len(self.items)) + at * len(self.items)
            if mark == self.wide:
                slots[self.others] = np.arange(len(self.others)) + len(self.marks) * len(self.items)
            rows = clients.gains_at(indicator(clients.n_items, self.order[:mark]))
            numbers = code_rows(rows.indptr, rows.indices, rows.data, how, ids)
            place, who = slots[rows.indices], np.repeat(np.arange(clients.n_clients), np.diff(rows.indptr))
            kept = place >= 0
            yield who[kept], place[kept], numbers[kept]

    def _worth(self, clients: Objective) -> Ids:
        values = clients.values_at(indicator(clients.n_items, self.order[: self.wide])[None, :])[:, 0]
        return whole_numbers(values, self.encoding.parts[2].coding())
