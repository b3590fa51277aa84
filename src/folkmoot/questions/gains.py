"""Questions about what items add to a set, and who has the most to say about it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from folkmoot.foundation.coding import code_column, code_rows
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze, weigh
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding, Part, Rounding
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import FINE, FINE_BITS, FINEST, Query, Reply, append_columns, spread_over, write_dense
from folkmoot.questions.slots import keep_slots, slots_of

IMPORTANCE_BINS = 64


class GainsReply(Reply):
    """What items add to a set, on average."""

    question: "Gains"

    @property
    def mean(self) -> Array:
        """Gains of F, over all items; 0 for items that were not asked about."""
        return spread_over(len(self.question.members), self.question.items, self.read(0))

    @property
    def value(self) -> float | None:
        return None if self.question.whole is None else float(self.read(1)[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Gains(Query[GainsReply]):
    """f_i(S + e) − f_i(S) for each of the items.

    Clients may take part by coins (Algorithm 3, lines 6 to 12): client i answers with probability κ_i, divides its
    answer by κ_i, and otherwise stays silent. With `whole`, the last number is f_i(S), which shows people how far the
    method has come.
    """

    of_worth = True
    reply_kind = GainsReply

    members: Mask
    items: Ids
    most: float  # gains are clipped at this (with `who`: after multiplying by times_i/κ_i)
    who: Participation | None = None  # None: everyone answers
    draw: int = 0  # names what clients decide by chance: another number, other coins
    sample: int | None = None  # who answers one question with this number and `who` answers them all; None: by `draw`
    whole: float | None = None  # f_i(S) is clipped at this, as gains are; None: it is not asked for

    def __post_init__(self) -> None:
        freeze(self.members)
        freeze(self.items)

    @cached_property
    def encoding(self) -> Encoding:
        limit, rounding = (FINE, Rounding.NEAREST) if self.who is None else (FINEST, Rounding.COIN)
        parts = [Part(len(self.items), self.most / limit, limit, rounding)]
        if self.whole is not None:
            parts.append(Part(1, self.whole / limit, limit, rounding))
        return Encoding(tuple(parts))

    @property
    def voluntary(self) -> bool:
        return self.who is not None

    def takes_part(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Mask | None:
        if self.who is None:
            return None
        if self.sample is None:
            return self.who.takes_part(clients, ids, times, own)
        some = clients.kept_items  # chances follow from these items alone
        about = () if some is None else (some.tobytes(),)
        return self.who.takes_part(clients, ids, times, own.keep(self.sample, self.who.digest, *about))

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        gains = keep_slots(clients.gains_at(self.members), slots_of(clients.n_items, self.items), len(self.items))
        factors = None if self.who is None else self.who.factors(clients, times)
        if factors is not None:  # who counts often has a larger chance: only times_i/κ_i has a bound
            gains.data *= np.repeat(factors, np.diff(gains.indptr))
        how = self.encoding.parts[0].coding(own).scalars
        numbers = code_rows(gains.indptr, self.items[gains.indices], gains.data, how, ids)
        rows = sparse.csr_array((numbers, gains.indices, gains.indptr), shape=gains.shape)
        if self.whole is None:
            return rows
        values = clients.values_at(self.members[None, :])[:, 0]
        how = self.encoding.parts[1].coding(own).scalars
        values = values if factors is None else values * factors
        return append_columns(rows, code_column(values, how, ids, clients.n_items + 1)[:, None])


@dataclass(frozen=True, eq=False, kw_only=True)
class Singletons(Gains):
    """What each item is worth alone: Algorithms 4 and 5, the sum O."""


def ask_singletons(n_items: int, single: float) -> Singletons:
    """The question of what each item is worth alone."""
    return Singletons(members=np.zeros(n_items, dtype=bool), items=np.arange(n_items), most=single)


class ImportanceReply(Reply):
    """How many clients there are at each level of importance."""

    def find_kappa(self, answers: float) -> float:
        """κ with Σ min(1, κ·w_i) = answers; clients within one power of two count as equal.

        Infinite if all must answer.
        """
        counts, sums = self.parts
        some = (counts > 0) & (sums > 0)
        means = sums[some] / counts[some] * 2.0 ** -(FINE_BITS + np.flatnonzero(some))
        if answers >= counts[some].sum():
            return float(np.inf)
        low, high = 0.0, 2.0 / means.min()
        for _ in range(200):
            kappa = (low + high) / 2
            enough = float(weigh(counts[some], np.minimum(1.0, kappa * means))) >= answers
            low, high = (low, kappa) if enough else (kappa, high)
        return float(high)


@dataclass(frozen=True, eq=False, kw_only=True)
class Importance(Query[ImportanceReply]):
    """How important clients are, as a histogram: counts and sums of w_i by powers of two.

    From it follows the κ at which an expected number of clients answers.
    """

    reply_kind = ImportanceReply
    counts_times = True  # w_i includes how often the client counts

    inverse: Array

    def __post_init__(self) -> None:
        freeze(self.inverse)

    @cached_property
    def encoding(self) -> Encoding:
        counts = Part(IMPORTANCE_BINS, 1.0, 1, most_nonzero=1)
        return Encoding((counts, Part(IMPORTANCE_BINS, 2.0**-FINE_BITS, 2**FINE_BITS, most_nonzero=1)))

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        w = np.minimum(find_importance(clients, times, self.inverse), 1.0)
        _, exponents = np.frexp(w)
        place = np.clip(-exponents, 0, IMPORTANCE_BINS - 1)
        out = np.zeros((clients.n_clients, 2, IMPORTANCE_BINS), dtype=np.int64)
        everyone = np.arange(clients.n_clients)
        out[everyone, 0, place] = w > 0
        out[everyone, 1, place] = np.rint(np.ldexp(w, place) * 2**FINE_BITS).astype(np.int64)
        return write_dense(out.reshape(clients.n_clients, -1))


def find_importance(clients: Objective, times: Ids | Array, inverse: Array) -> Array:
    """w_i = max_e f_i(e)/O_e (Algorithms 4 and 5, last line), with O in the same counts as `times`."""
    return clients.find_largest_shares(inverse) * times
