"""What items add to a set, and what they added to the previous set, by the same clients.

When the set grows from S' to S, the quotient of the two sums says which share of an item's gain is left. It is far less
noisy than either sum, since most clients are not affected by the items between the two sets.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import Coding, code_column, code_rows
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding, Part, Rounding
from folkmoot.questions.participation import Participation, StandingReply
from folkmoot.questions.query import FINEST, Query, append_columns, spread_over
from folkmoot.questions.slots import keep_slots, slots_of


class DriftReply(StandingReply):
    """What items add to both sets, on average."""

    question: "Drift"

    @property
    def now(self) -> Array:
        """To the present set; over all items, 0 for items that were not asked about."""
        return self._read(0)

    @property
    def earlier(self) -> Array:
        """To the set before, or to the present one if there was none."""
        return self._read(len(self.parts) - 3)

    @property
    def value(self) -> float:
        return float(self.parts[-2][0] * self.question.encoding.parts[-2].unit) / self.standing

    def _read(self, at: int) -> Array:
        means = self.question.encoding.parts[at].read(self.parts[at], self.standing)
        return spread_over(len(self.question.members), self.question.items, means)


@dataclass(frozen=True, eq=False, kw_only=True)
class Drift(Query[DriftReply]):
    """g_i(e|S) and g_i(e|S') for each of the items; f_i(S); and how many clients an answer stands for.

    With `who`, each client decides by a coin whether to take part, and divides its answer by its chance. The last
    number then adds up to about the number of all clients, so that a mean does not depend on how many took part.
    """

    of_worth = True
    reply_kind = DriftReply

    members: Mask  # S
    before: Mask | None  # S'; None: only S is asked about
    items: Ids
    most: float  # gains are clipped at this (with `who`: after multiplying by times_i/κ_i)
    whole: float  # f_i(S) is clipped at this, in the same way
    standing: float  # an answer stands for at most this many clients
    draw: int  # names what clients decide by chance: another number, other coins
    who: Participation | None = None

    def __post_init__(self) -> None:
        for array in (self.members, self.before, self.items):
            if array is not None:
                freeze(array)

    @cached_property
    def encoding(self) -> Encoding:
        gains = Part(len(self.items), self.most / FINEST, FINEST, Rounding.COIN)
        rest = (Part(1, most / FINEST, FINEST, Rounding.COIN) for most in (self.whole, self.standing))
        return Encoding((gains, *([] if self.before is None else [gains]), *rest))

    @property
    def voluntary(self) -> bool:
        return self.who is not None

    def takes_part(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Mask | None:
        return None if self.who is None else self.who.takes_part(clients, ids, times, own)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        factors = np.ones(clients.n_clients) if self.who is None else self.who.factors(clients, times)
        *gains, value, standing = (part.coding(own) for part in self.encoding.parts)
        sets = [one for one in (self.members, self.before) if one is not None]
        rows = [self._code(clients, one, factors, how, ids) for one, how in zip(sets, gains, strict=True)]
        values = clients.values_at(self.members[None, :])[:, 0] * factors
        last = [
            code_column(one, how.scalars, ids, clients.n_items + at)
            for at, (one, how) in enumerate(((values, value), (factors, standing)), start=1)
        ]
        joined: Rows = rows[0] if len(rows) == 1 else sparse.csr_array(sparse.hstack(rows, format="csr"))
        return append_columns(joined, np.stack(last, axis=1))

    def _code(self, clients: Objective, members: Mask, factors: Array, how: Coding, ids: Ids) -> Rows:
        """What items add to these members, in whole numbers."""
        gains = keep_slots(clients.gains_at(members), slots_of(clients.n_items, self.items), len(self.items))
        gains.sort_indices()
        data = gains.data * np.repeat(factors, np.diff(gains.indptr))
        numbers = code_rows(gains.indptr, self.items[gains.indices], data, how.scalars, ids)
        return sparse.csr_array((numbers, gains.indices, gains.indptr), shape=gains.shape)
