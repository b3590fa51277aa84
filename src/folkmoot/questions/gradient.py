"""Questions about the gradient at a point: in fixed point, rounded to a few bits, or as a handful of votes."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from folkmoot.foundation.coding import Coding, code_column, code_rows
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.private_coins import CoinKey, PrivateCoins, toss_coin
from folkmoot.foundation.sets import Array, Ids, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding, Part, Rounding
from folkmoot.questions.query import FINE, FINE_BITS, Query, Reply, append_columns, spread_over
from folkmoot.questions.slots import keep_slots, slots_of


class PointReply(Reply):
    """What the sum tells about F̂ at a point."""

    question: "PointQuery"

    @property
    def mean(self) -> Array:
        """∇F̂(x), or what takes its place, over all items; 0 for items that were not asked about."""
        return spread_over(len(self.question.x), self.question.items, self.read(0))

    @property
    def value(self) -> float:
        """F̂(x)."""
        digits = zip(self.question._shifts, self.parts[1], strict=True)
        whole = sum(int(digit) << int(shift) for shift, digit in digits)
        return float(whole * self.question.encoding.parts[1].unit / self.count)


@dataclass(frozen=True, eq=False, kw_only=True)
class PointQuery(Query[PointReply]):
    """A question about x. Each answer ends with f̂_i(x), in digits that fit under the answer's own limit."""

    reply_kind = PointReply

    x: Array
    whole: float  # f̂_i(x) is clipped at this
    coins: PublicCoins  # draw the sets that everyone looks at, where there is no closed form
    items: Ids | None = None  # the items asked about; None: all
    samples: int | None = None  # sets per gradient, where there is no closed form or it is not wanted

    def __post_init__(self) -> None:
        for array in (self.x, self.items):
            if array is not None:
                freeze(array)

    @property
    def width(self) -> int:
        """How many items are asked about."""
        return len(self.x) if self.items is None else len(self.items)

    @property
    @abstractmethod
    def main(self) -> Part:
        """How the numbers about the items are written."""

    @cached_property
    def encoding(self) -> Encoding:
        bits = min((self.main.limit + 1).bit_length() - 1, FINE_BITS)
        return Encoding((self.main, Part(-(-FINE_BITS // bits), self.whole / FINE, 2**bits - 1)))

    @cached_property
    def slots(self) -> Ids:
        """Where each item stands in the answer; -1 for those not asked about."""
        return slots_of(len(self.x), self.items)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        gradients, values = self.look_at_x(clients, ids, own)
        numbers = self._numbers(clients, keep_slots(gradients, self.slots, self.width), ids, own)
        return append_columns(numbers, self._digits(values, ids))

    def look_at_x(self, clients: Objective, ids: Ids, own: PrivateCoins) -> tuple[Rows, Array]:
        """∇f̂_i(x) and f̂_i(x); where they are sampled, everyone looks at the same sets."""
        if clients.is_exact(self.samples):
            return clients.gradients_and_values_at(self.x)
        return (
            clients.gradients(self.x, samples=self.samples, seed=self.coins.key),
            clients.extension(self.x, samples=self.samples, seed=self.coins.key),
        )

    @abstractmethod
    def _numbers(self, clients: Objective, gradients: Rows, ids: Ids, own: PrivateCoins) -> Rows:
        """What clients answer, given their gradients (columns are slots; `_items_in` gives the items)."""

    def _items_in(self, slots: NDArray[Any]) -> Ids:
        return np.asarray(slots if self.items is None else self.items[slots], dtype=np.int64)

    @property
    def _shifts(self) -> Ids:
        """How many bits each digit of the value is shifted by."""
        digit = self.encoding.parts[1]
        return np.arange(digit.length) * digit.limit.bit_length()

    def _digits(self, values: Array, ids: Ids) -> Ids:
        """f̂_i(x), in digits that are added up like everything else."""
        how = Coding(self.whole / FINE, FINE).scalars
        whole = code_column(values, how, ids, len(self.x))
        digits: Ids = whole[:, None] >> self._shifts & self.encoding.parts[1].limit
        return digits


@dataclass(frozen=True, eq=False, kw_only=True)
class Gradient(PointQuery):
    """∇f̂_i(x) in numbers of `bits` bits: rounded to the nearest, or up or down by a coin that keeps the mean."""

    of_worth = True

    single: float  # entries of gradients are clipped at this
    bits: int
    stochastic: bool
    norm: float | None = None  # gradients with a larger L2 norm are scaled down to it

    @property
    def main(self) -> Part:
        limit = 2**self.bits - 1
        unit, rounding = self.single / limit, Rounding.COIN if self.stochastic else Rounding.NEAREST
        return Part(self.width, unit, limit, rounding, norm=inf if self.norm is None else self.norm / unit)

    def _numbers(self, clients: Objective, gradients: Rows, ids: Ids, own: PrivateCoins) -> Rows:
        items = self._items_in(gradients.indices)
        numbers = code_rows(gradients.indptr, items, gradients.data, self.main.coding(own).scalars, ids)
        return sparse.csr_array((numbers, gradients.indices, gradients.indptr), shape=gradients.shape)

    def total(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        """Fused: rows are never written out."""
        if self.norm is not None or not clients.is_exact(self.samples):
            return super().total(clients, ids, times, own)
        total = np.zeros(self.length, dtype=np.int64)
        how = self.main.coding(own)
        values = clients.add_coded_gradient(self.x, self.slots, how, ids, times, total[: self.width])
        total[self.width :] = times @ self._digits(values, ids)
        return total


@dataclass(frozen=True, eq=False, kw_only=True)
class Votes(PointQuery):
    """`votes` items drawn in proportion to the gradient, each worth its share of the gradient's sum.

    Unbiased, and at most `votes` numbers are not 0. Votes are drawn evenly spaced from one coin: an item gets
    its expected number of votes to within one.
    """

    votes: int
    sum: float  # sums of gradients are clipped at this
    bits: int

    @property
    def main(self) -> Part:
        limit = self.votes * (2**self.bits - 1)
        return Part(self.width, self.sum / limit, limit, Rounding.COIN, most_nonzero=self.votes, most_together=limit)

    def _numbers(self, clients: Objective, gradients: Rows, ids: Ids, own: PrivateCoins) -> Rows:
        gradients.sort_indices()  # votes are dealt along the row
        gradients.data = np.maximum(gradients.data, 0.0)
        sums = np.asarray(gradients.sum(axis=1), dtype=np.float64).reshape(-1)
        limit = 2**self.bits - 1
        worth = code_column(sums, Coding(self.sum / limit, limit, True, own.key).scalars, ids, len(self.x))
        counts = draw_votes(gradients.indptr, gradients.data, sums, self.votes, own.key, ids, len(self.x) + 1)
        counts *= np.repeat(worth, np.diff(gradients.indptr))
        return sparse.csr_array((counts, gradients.indices, gradients.indptr), shape=gradients.shape)


@kernel
def draw_votes(start: NDArray[Any], weights: Array, sums: Array, votes: int, key: CoinKey, ids: Ids, item: int) -> Ids:
    """How many of the votes each entry of a row gets."""
    out = np.zeros(len(weights), np.int64)
    for row in range(len(start) - 1):
        if sums[row] <= 0.0:
            continue
        mark, done, step = toss_coin(key, ids[row], item), 0.0, votes / sums[row]
        for at in range(start[row], start[row + 1]):
            done += weights[at] * step
            while mark < done and mark < votes:
                out[at] += 1
                mark += 1.0
    return out
