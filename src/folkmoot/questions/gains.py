"""Questions about what items add to a set, and who has the most to say about it."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import Coding, code_column, code_rows
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.gradient import in_slots
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import FINE_BITS, FINEST_BITS, Query, beside, dense

IMPORTANCE_BINS = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Gains(Query):
    """f_i(S + e) − f_i(S) for each of the items.

    Clients may take part by coins (Algorithm 3, lines 6 to 12): client i answers with probability κ_i, over κ_i, and
    else stays silent. With `whole` the last number is f_i(S), for people to see how far the method has come.
    """

    of_worth = True

    members: Mask
    items: Ids
    most: float  # no answer is worth more (by coins: however often the client counts)
    key: int
    who: Participation | None = None  # None: everybody answers
    coin: int | None = None  # key of the coins that decide who answers, if it is another one
    whole: float | None = None  # no f_i(S) is worth more, as `most` has it; None: it is not asked for

    def __post_init__(self) -> None:
        freeze(self.members)
        freeze(self.items)

    @property
    def length(self) -> int:
        return len(self.items) + (self.whole is not None)

    @property
    def bound(self) -> int:
        return int(2 ** (FINE_BITS if self.who is None else FINEST_BITS) - 1)

    @property
    def scale(self) -> float:
        return self.most / self.bound

    @property
    def voluntary(self) -> bool:
        return self.who is not None

    def takes_part(self, clients: Objective, ids: Ids, times: Ids) -> Mask | None:
        if self.who is None:
            return None
        return self.who.takes_part(clients, ids, times, self.key if self.coin is None else self.coin)

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        slot = np.full(clients.n_items, -1)
        slot[self.items] = np.arange(len(self.items))
        gains = in_slots(clients.gains_at(self.members), slot, len(self.items))
        how = Coding(self.scale, self.bound, self.voluntary, self.key).scalars
        counts = np.diff(gains.indptr)
        if self.who is not None:  # who counts often has a larger chance: only both together have a bound
            gains.data *= np.repeat(self.who.factors(clients, times), counts)
        numbers = code_rows(gains.indptr, self.items[gains.indices], gains.data, how, ids)
        if self.who is None:
            numbers *= np.repeat(times, counts)
        rows = sparse.csr_array((numbers, gains.indices, gains.indptr), shape=gains.shape)
        return rows if self.whole is None else beside(rows, self._worth(clients, ids, times)[:, None])

    def _worth(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        """f_i(S), coded as the gains are."""
        assert self.whole is not None
        values = clients.values_at(self.members[None, :])[:, 0]
        if self.who is not None:
            values = values * self.who.factors(clients, times)
        how = Coding(self.whole / self.bound, self.bound, self.voluntary, self.key).scalars
        numbers = code_column(values, how, ids, clients.n_items + 1)
        return numbers if self.who is not None else numbers * times

    def value(self, total: Ids, count: int) -> float | None:
        return None if self.whole is None else float(total[-1] * (self.whole / self.bound / count))

    def mean(self, total: Ids, weight: int, n_items: int) -> Array:
        """Gains of F, over all items (0 where none was asked about), if clients count `weight` times together."""
        out = np.zeros(n_items)
        out[self.items] = total[: len(self.items)] * (self.scale / weight)
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Singletons(Gains):
    """What each item is worth alone: Algorithms 4 and 5, the sum O."""


def singletons(n_items: int, single: float, key: int) -> Singletons:
    nothing = np.zeros(n_items, dtype=bool)
    return Singletons(members=nothing, items=np.arange(n_items), most=single, key=key)


@dataclass(frozen=True, eq=False, kw_only=True)
class Importance(Query):
    """How important clients are, as a histogram: counts and sums of w_i by powers of two.

    From it follows the κ at which an expected number of clients answers.
    """

    inverse: Array

    def __post_init__(self) -> None:
        freeze(self.inverse)

    @property
    def length(self) -> int:
        return 2 * IMPORTANCE_BINS

    @property
    def bound(self) -> int:
        return int(2**FINE_BITS)

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        w = np.minimum(importance(clients, times, self.inverse), 1.0)
        _, exponents = np.frexp(w)
        place = np.clip(-exponents, 0, IMPORTANCE_BINS - 1)
        out = np.zeros((clients.n_clients, 2, IMPORTANCE_BINS), dtype=np.int64)
        everybody = np.arange(clients.n_clients)
        out[everybody, 0, place] = w > 0
        out[everybody, 1, place] = np.rint(np.ldexp(w, place) * 2**FINE_BITS).astype(np.int64)
        return dense(out.reshape(clients.n_clients, -1))

    @staticmethod
    def kappa(total: Ids, answers: float) -> float:
        """κ with Σ min(1, κ·w_i) = answers, clients of one power of two taken alike; infinite if all must answer."""
        counts, sums = total.reshape(2, IMPORTANCE_BINS)
        some = (counts > 0) & (sums > 0)
        means = sums[some] / counts[some] * 2.0 ** -(FINE_BITS + np.flatnonzero(some))
        if answers >= counts[some].sum():
            return float(np.inf)
        low, high = 0.0, 2.0 / means.min()
        for _ in range(200):
            kappa = (low + high) / 2
            enough = float(counts[some] @ np.minimum(1.0, kappa * means)) >= answers
            low, high = (low, kappa) if enough else (kappa, high)
        return float(high)


def importance(clients: Objective, times: Ids | Array, inverse: Array) -> Array:
    """w_i = max_e f_i(e)/O_e (Algorithms 4 and 5, last line), with O in the same counts as `times`."""
    return clients.find_largest_shares(inverse) * times
