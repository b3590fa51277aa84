"""By how much other sets are better or worse than one, on the same clients: means, and how sure they are."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from folkmoot.foundation.coding import Coding, code_rows
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import FINEST_BITS, Query, dense

SETS_AT_ONCE = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Differences(Query):
    """f_i(S_k) − f_i(S_0) for each set after the first, with a sign, and the squares of these; and how many clients
    an answer stands for. A client who likes both sets alike says nothing of them, so that paired differences vary far
    less than values.
    """

    of_worth = True

    items: Ids  # all that occur in a set
    sets: Mask  # sets × these items; the others are compared with the first
    most: float  # no difference counts for more (by coins: over its chance, however often the client counts)
    standing: float  # nor stands a client for more
    key: int
    who: Participation | None = None

    def __post_init__(self) -> None:
        freeze(self.items)
        freeze(self.sets)

    @property
    def length(self) -> int:
        return 2 * (len(self.sets) - 1) + 1

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
        parts = list(self._parts(clients, ids, times))
        firsts, squares = (np.hstack([part[at] for part in parts]) for at in range(2))
        return dense(np.hstack([firsts, squares, self._count_standing(clients, ids, times)[:, None]]))

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        parts = [(first.sum(axis=0), square.sum(axis=0)) for first, square in self._parts(clients, ids, times)]
        firsts, squares = (np.concatenate([part[at] for part in parts]) for at in range(2))
        return np.concatenate([firsts, squares, [self._count_standing(clients, ids, times).sum()]])

    def _parts(self, clients: Objective, ids: Ids, times: Ids) -> Iterator[tuple[Ids, Ids]]:
        """A few sets at a time: clients × sets, of differences and of squares."""
        factors, often = self._factors(clients, times)
        one = self.values_at(clients, self.sets[:1])
        for first in range(1, len(self.sets), SETS_AT_ONCE):
            some = self.sets[first : first + SETS_AT_ONCE]
            better = (self.values_at(clients, some) - one) * factors[:, None]
            places = clients.n_items + 1 + np.arange(first, first + len(some))
            numbers = self._coded(np.abs(better), self.most, places, ids) * np.sign(better).astype(np.int64)
            squares = self._coded(better**2, self.most**2, places + len(self.sets), ids)
            yield numbers * often[:, None], squares * often[:, None]

    def _factors(self, clients: Objective, times: Ids) -> tuple[Array, Ids]:
        if self.who is None:
            return np.ones(clients.n_clients), times
        return self.who.factors(clients, times), np.ones_like(times)

    def _count_standing(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        factors, often = self._factors(clients, times)
        place = np.array([clients.n_items + 1])
        return self._coded(factors[:, None], self.standing, place, ids)[:, 0] * often

    def values_at(self, clients: Objective, some: Mask) -> Array:
        full = np.zeros((len(some), clients.n_items), dtype=bool)
        full[:, self.items] = some
        return clients.values_at(full)

    def _coded(self, numbers: Array, most: float, places: Ids, ids: Ids) -> Ids:
        """Up or down by a coin: small squares are not lost in the sum."""
        count, width = numbers.shape
        how = Coding(most / self.bound, self.bound, True, self.key).scalars
        start = np.arange(0, count * width + 1, width)
        flat = np.ascontiguousarray(numbers).reshape(-1)
        return code_rows(start, np.tile(places, count), flat, how, ids).reshape(count, width)

    def moments(self, total: Ids, count: int) -> tuple[Array, Array]:
        """The mean differences, and the squares of their standard errors if clients were drawn independently."""
        width = len(self.sets) - 1
        standing = max(float(total[-1] * (self.standing / self.bound)), 1e-300)
        mean: Array = np.asarray(total[:width] * (self.scale / standing), dtype=np.float64)
        squares = total[width:-1] * (self.most**2 / self.bound / standing**2)  # Σ (w_i·x_i)²
        return mean, np.maximum(squares - (mean**2 / count if self.who is None else 0.0), 0.0)
