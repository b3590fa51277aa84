"""Questions whose sums hide every single client: no answer is longer than a known norm, and everyone adds noise.

The norm, in units, and the noise are two sides of one number: σ = sd units, norm = μ·σ/reach, where reach is how far
apart the answers of two neighbours can lie (`privacy.accounting.find_reach`). So one round costs a client μ, whatever
it holds. How often a client counts changes nothing: answers are never multiplied.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import sparse

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.privacy.accounting import find_reach
from folkmoot.privacy.gaussian import MOST_SD
from folkmoot.privacy.noise import Noise
from folkmoot.questions.encoding import Encoding, Part
from folkmoot.questions.query import Query, Reply, ReplyT, write_dense
from folkmoot.questions.slots import keep_slots, slots_of

SURELY = 1 - 2e-9  # of the norm: computed in floating-point numbers, it might be a last digit more


@dataclass(frozen=True, eq=False, kw_only=True)
class HiddenQuery(Query[ReplyT]):
    """mu: what the round costs everyone who answers. sd: σ of the honest shares of noise together, in units. honest:
    the fewest honest shares that any sum will hold, at least; whoever finds fewer refuses. adjacency: what neighbours
    are.
    heaviest: the largest weight of a client, where weights differ: a client that weighs half as much says half as
    much. None: all weigh the same.
    """

    counts_times = True  # by ignoring it: whoever counted twice would be hidden half as well

    mu: float
    sd: int
    honest: int
    adjacency: Literal["zero-out", "replace-one"] = "zero-out"
    heaviest: float | None = None

    @property
    def added_noise(self) -> Noise:
        return Noise(self.mu, self.sd)

    @property
    def signed(self) -> bool:
        """Whether answers may be negative."""
        return False

    @cached_property
    def norm(self) -> int:
        """The largest L2 norm of an answer, in units."""
        return int(self.sd * self.mu / find_reach(self.adjacency, signed=self.signed))

    def make_encoding(self, length: int) -> Encoding:
        part = Part(length, 1 / max(self.norm, 1), self.norm, signed=self.signed, norm=float(self.norm))
        return Encoding((part,), noise=self.added_noise.find_share_sd(self.honest))

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        super().check(n_items, n_clients)
        share = self.added_noise.find_share_sd(self.honest)
        if not share <= MOST_SD:  # the honest on a roll are at least these, and at most so many that none is too fine
            raise InputError(
                f"shares of noise would be {share:,.0f} units wide; {MOST_SD:,} are possible", argument="sd"
            )

    def answers(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        """Nothing is longer than the norm: there is nothing to shorten."""
        return self.write_rows(clients, ids, times, own)

    def total_surely(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        """The sum of answers that are always given. Whether somebody answers must not depend on what they hold, so
        whoever cannot answer (a set that is too large for its table, a function that fails) says nothing at all.
        """
        try:
            return self.total(clients, ids, times, own)
        except Exception:  # whatever it is: an error that leaves would tell of the data
            return np.asarray(self.answer_surely(clients, ids, times, own).sum(axis=0), dtype=np.int64).reshape(-1)

    def answer_surely(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        """The same, one row per client."""
        try:
            return self.answers(clients, ids, times, own)
        except Exception:  # whatever it is: an error that leaves would tell of the data
            if len(ids) == 1:
                return sparse.csr_array((1, self.length), dtype=np.int64)
        halves = np.array_split(np.arange(len(ids)), 2)
        parts = [self.answer_surely(clients[half], ids[half], times[half], own) for half in halves]
        joined: Rows = sparse.csr_array(sparse.vstack(parts, format="csr"))
        return joined

    def find_scales(self, clients: Objective) -> Array:
        """The norm that each client's answer may have, in units: less for those who weigh less."""
        most = self.norm * SURELY
        if self.heaviest is None:
            return np.full(clients.n_clients, most)
        return np.minimum(clients.client_weights / self.heaviest, 1.0) * most


class DirectionReply(Reply):
    """Sums of unit vectors."""

    question: "Direction"

    @property
    def found(self) -> Array:
        """For each item asked about, the sum over clients of how much of their norm they give it."""
        return np.asarray(self.total / self.question.norm)

    @property
    def sd(self) -> float:
        """Of the noise in each of these sums."""
        return self.noise / self.question.norm


@dataclass(frozen=True, eq=False, kw_only=True)
class Direction(HiddenQuery[DirectionReply]):
    """What the items add to a set, f_i(S + e) − f_i(S), scaled to norm 1: v = (g/m)·min(cap, 1/‖g/m‖).

    Nobody speaks louder than anybody else, however much is at stake, so there is no clip to be found first. `cap` keeps
    those who have nearly nothing to gain from speaking as loudly as the others. `centred`: the mean over the items is
    subtracted first, which is most of the vector where everybody gains from everything (places).
    """

    reply_kind = DirectionReply

    members: Mask
    items: Ids
    most: float
    cap: float = 4.0
    centred: bool = False

    def __post_init__(self) -> None:
        freeze(self.members)
        freeze(self.items)

    @property
    def signed(self) -> bool:
        return self.centred

    @cached_property
    def encoding(self) -> Encoding:
        return self.make_encoding(len(self.items))

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        gains = keep_slots(clients.gains_at(self.members), slots_of(clients.n_items, self.items), len(self.items))
        scales = self.find_scales(clients)
        if self.centred:
            dense = gains.toarray()
            dense -= dense.mean(axis=1, keepdims=True)
            ends = np.arange(0, dense.size + 1, dense.shape[1])
            return write_dense(scale_rows(ends, dense.reshape(-1), self.most, self.cap, scales).reshape(dense.shape))
        grown = np.maximum(gains.data, 0.0)  # a rounding error below 0, scaled up, would lie beyond the reach
        numbers = scale_rows(gains.indptr.astype(np.int64), grown, self.most, self.cap, scales)
        return sparse.csr_array((numbers, gains.indices, gains.indptr), shape=gains.shape)


@kernel
def scale_rows(ends: Ids, data: Array, most: float, cap: float, scales: Array) -> Ids:
    """Each row as whole numbers: scaled to norm 1, by at most `cap`, then to its scale, and rounded towards 0. A row
    whose norm is no number says nothing.
    """
    out = np.empty(len(data), np.int64)
    for row in range(len(ends) - 1):
        squares = 0.0
        for at in range(ends[row], ends[row + 1]):
            squares += (data[at] / most) ** 2
        factor = 0.0
        if 0.0 < squares < np.inf:
            factor = min(cap, 1 / np.sqrt(squares)) * scales[row]
        for at in range(ends[row], ends[row + 1]):
            out[at] = np.int64(data[at] / most * factor) if factor > 0.0 else 0
    return out


class FavouriteReply(Reply):
    """How many clients like each item best."""

    question: "Favourite"

    @property
    def counts(self) -> Array:
        return np.asarray(self.total / self.question.norm)

    @property
    def sd(self) -> float:
        return self.noise / self.question.norm


@dataclass(frozen=True, eq=False, kw_only=True)
class Favourite(HiddenQuery[FavouriteReply]):
    """Which of the items is worth most alone, and nothing about the others: a vector with one number, of norm 1. Among
    equals it is the first; to whom nothing is worth anything says nothing.
    """

    reply_kind = FavouriteReply

    items: Ids

    def __post_init__(self) -> None:
        freeze(self.items)

    @property
    def shows_singletons(self) -> bool:
        return True

    @cached_property
    def encoding(self) -> Encoding:
        return self.make_encoding(len(self.items))

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        nothing = np.zeros(clients.n_items, dtype=bool)
        gains = keep_slots(clients.gains_at(nothing), slots_of(clients.n_items, self.items), len(self.items))
        scales = self.find_scales(clients)
        columns = find_largest(gains.indptr.astype(np.int64), gains.indices.astype(np.int64), gains.data)
        some = np.flatnonzero((columns >= 0) & (scales >= 1))
        starts = np.concatenate(([0], np.cumsum(np.isin(np.arange(len(columns)), some, assume_unique=True))))
        return sparse.csr_array((scales[some].astype(np.int64), columns[some], starts), shape=gains.shape)


@kernel
def find_largest(ends: Ids, columns: Ids, data: Array) -> Ids:
    """The column of the largest number of each row, the first among equals; -1 if none is above 0."""
    out = np.empty(len(ends) - 1, np.int64)
    for row in range(len(ends) - 1):
        best, found = 0.0, -1
        for at in range(ends[row], ends[row + 1]):
            if data[at] > best or (data[at] == best and 0 <= columns[at] < found):
                best, found = data[at], columns[at]
        out[row] = found
    return out


class WorthReply(Reply):
    """What a set is worth, and what all items together are worth beyond it."""

    question: "Worth"

    @property
    def shares(self) -> Array:
        """Sums over clients of what both are worth, as shares of `whole`."""
        return np.asarray(self.total / self.question.norm)

    @property
    def sd(self) -> float:
        return self.noise / self.question.norm


@dataclass(frozen=True, eq=False, kw_only=True)
class Worth(HiddenQuery[WorthReply]):
    """f_i(S), and f_i(everything) − f_i(S): together at most `whole`, so one vector of norm 1 holds both.

    everything: whether the second is asked for; some clients cannot look at large sets.
    """

    reply_kind = WorthReply

    members: Mask
    whole: float
    everything: bool = True

    def __post_init__(self) -> None:
        freeze(self.members)

    @cached_property
    def encoding(self) -> Encoding:
        return self.make_encoding(1 + self.everything)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        sets = np.array([self.members, np.ones(clients.n_items, dtype=bool)])[: 1 + self.everything]
        values = np.maximum(np.diff(clients.values_at(sets), axis=1, prepend=0.0), 0.0)
        ends = np.arange(0, values.size + 1, values.shape[1])
        numbers = scale_rows(ends, values.reshape(-1), self.whole, 1.0, self.find_scales(clients))
        return write_dense(numbers.reshape(values.shape))
