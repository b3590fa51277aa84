"""What items add to a set, beside what they added to the set before: the question of a running mean.

The server keeps d, its estimate of all gains. When the set grows from S' to S, clients answer g_i(·|S) −
keep·g_i(·|S'), and d ← keep·d + mean. If d was right for S' on average it is right for S, whatever `keep` is; and
where an item's gain has not changed, the old estimate lives on instead of being thrown away.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import Coding, code_column, code_rows
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.gradient import in_slots
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import FINEST_BITS, Query, beside


@dataclass(frozen=True, eq=False, kw_only=True)
class Drift(Query):
    """g_i(e|S) − keep·g_i(e|S') for each of the items, with a sign; f_i(S); and how many clients an answer stands for.

    With `who`, clients take part by coins of their own, and answer over their chance. The last number then adds up to
    about the number of all clients, so that a mean does not depend on how many coins fell well.
    """

    of_worth = True

    members: Mask  # S
    before: Mask  # S'
    keep: float
    items: Ids
    most: float  # no gain counts for more (by coins: over its chance, however often the client counts)
    whole: float  # no f_i(S) does
    standing: float  # nor stands a client for more
    key: int
    who: Participation | None = None

    def __post_init__(self) -> None:
        for array in (self.members, self.before, self.items):
            freeze(array)

    @property
    def length(self) -> int:
        return len(self.items) + 2

    @property
    def bound(self) -> int:
        return int(2**FINEST_BITS - 1)

    @property
    def lowest(self) -> int:
        return -self.bound

    @property
    def scale(self) -> float:
        return self.most / self.bound

    @property
    def voluntary(self) -> bool:
        return self.who is not None

    def takes_part(self, clients: Objective, ids: Ids, times: Ids) -> Mask | None:
        return None if self.who is None else self.who.takes_part(clients, ids, times, self.key)

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        slot = np.full(clients.n_items, -1)
        slot[self.items] = np.arange(len(self.items))
        gains = in_slots(clients.gains_at(self.members), slot, len(self.items))
        if self.keep:
            earlier = in_slots(clients.gains_at(self.before), slot, len(self.items))
            gains = sparse.csr_array(gains - self.keep * earlier)
        gains.sort_indices()
        counts = np.diff(gains.indptr)
        factors = np.ones(clients.n_clients) if self.who is None else self.who.factors(clients, times)
        often = times if self.who is None else np.ones_like(times)  # by coins, factors have it already
        data = gains.data * np.repeat(factors, counts)
        how = Coding(self.scale, self.bound, True, self.key).scalars
        numbers = code_rows(gains.indptr, self.items[gains.indices], np.abs(data), how, ids)
        numbers *= np.sign(data).astype(np.int64) * np.repeat(often, counts)
        rows = sparse.csr_array((numbers, gains.indices, gains.indptr), shape=gains.shape)
        values = clients.values_at(self.members[None, :])[:, 0] * factors
        columns = [
            code_column(numbers, Coding(unit / self.bound, self.bound, True, self.key).scalars, ids, place) * often
            for numbers, unit, place in (
                (values, self.whole, clients.n_items + 1),
                (factors, self.standing, clients.n_items + 2),
            )
        ]
        return beside(rows, np.stack(columns, axis=1))

    def value(self, total: Ids, count: int) -> float:
        return float(total[-2] * (self.whole / self.bound)) / self.standing_for(total)

    def standing_for(self, total: Ids) -> float:
        """How many clients the answers stand for."""
        return max(float(total[-1] * (self.standing / self.bound)), 1e-300)

    def mean(self, total: Ids, n_items: int) -> Array:
        """Over all items; 0 where none was asked about."""
        out = np.zeros(n_items)
        out[self.items] = total[:-2] * (self.scale / self.standing_for(total))
        return out
