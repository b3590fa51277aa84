"""What items add to a set, relative to what they added to the previous set: the question behind a running mean.

The server keeps d, its estimate of all gains. When the set grows from S' to S, clients answer g_i(·|S) −
keep·g_i(·|S'), and d ← keep·d + mean. If d was unbiased for S', it is unbiased for S, whatever `keep` is; and where an
item's gain has not changed, the old estimate is reused instead of thrown away.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import code_column, code_rows
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding, Part, Rounding
from folkmoot.questions.participation import Participation, StandingReply
from folkmoot.questions.query import FINEST, Query, append_columns, spread_over
from folkmoot.questions.slots import keep_slots, slots_of

GAINS, VALUE, STANDING = range(3)  # parts of an answer


class DriftReply(StandingReply):
    """How gains have changed, on average."""

    question: "Drift"

    @property
    def mean(self) -> Array:
        """Over all items; 0 for items that were not asked about."""
        means = self.question.encoding.parts[GAINS].read(self.parts[GAINS], self.standing)
        return spread_over(len(self.question.members), self.question.items, means)

    @property
    def value(self) -> float:
        return float(self.parts[VALUE][0] * self.question.encoding.parts[VALUE].unit) / self.standing


@dataclass(frozen=True, eq=False, kw_only=True)
class Drift(Query[DriftReply]):
    """g_i(e|S) − keep·g_i(e|S') for each of the items, signed; f_i(S); and how many clients an answer stands for.

    With `who`, each client decides by a coin whether to take part, and divides its answer by its chance. The last
    number then adds up to about the number of all clients, so that a mean does not depend on how many took part.
    """

    of_worth = True
    reply_kind = DriftReply

    members: Mask  # S
    before: Mask  # S'
    keep: float
    items: Ids
    most: float  # gains are clipped at this (with `who`: after multiplying by times_i/κ_i)
    whole: float  # f_i(S) is clipped at this, in the same way
    standing: float  # an answer stands for at most this many clients
    draw: int  # names what clients decide by chance: another number, other coins
    who: Participation | None = None

    def __post_init__(self) -> None:
        for array in (self.members, self.before, self.items):
            freeze(array)

    @cached_property
    def encoding(self) -> Encoding:
        return Encoding(
            (
                Part(len(self.items), self.most / FINEST, FINEST, Rounding.COIN, signed=True),
                Part(1, self.whole / FINEST, FINEST, Rounding.COIN),
                Part(1, self.standing / FINEST, FINEST, Rounding.COIN),
            )
        )

    @property
    def voluntary(self) -> bool:
        return self.who is not None

    def takes_part(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Mask | None:
        return None if self.who is None else self.who.takes_part(clients, ids, times, own)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        slots = slots_of(clients.n_items, self.items)
        gains = keep_slots(clients.gains_at(self.members), slots, len(self.items))
        if self.keep:
            earlier = keep_slots(clients.gains_at(self.before), slots, len(self.items))
            gains = sparse.csr_array(gains - self.keep * earlier)
        gains.sort_indices()
        factors = np.ones(clients.n_clients) if self.who is None else self.who.factors(clients, times)
        data = gains.data * np.repeat(factors, np.diff(gains.indptr))
        codings = [part.coding(own).scalars for part in self.encoding.parts]
        numbers = code_rows(gains.indptr, self.items[gains.indices], np.abs(data), codings[GAINS], ids)
        numbers *= np.sign(data).astype(np.int64)
        rows = sparse.csr_array((numbers, gains.indices, gains.indptr), shape=gains.shape)
        values = clients.values_at(self.members[None, :])[:, 0] * factors
        value = code_column(values, codings[VALUE], ids, clients.n_items + 1)
        standing = code_column(factors, codings[STANDING], ids, clients.n_items + 2)
        return append_columns(rows, np.stack([value, standing], axis=1))
