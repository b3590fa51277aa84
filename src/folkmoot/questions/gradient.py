"""Questions about the gradient at a point: in fixed point, rounded to a few bits, or as a handful of votes."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from folkmoot.foundation.coding import Coding, code_column, code_rows, coin
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.sets import Array, Ids, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.query import FINE_BITS, Query, beside


@dataclass(frozen=True, eq=False, kw_only=True)
class AtPoint(Query):
    """A question about x. Each answer ends with f̂_i(x), in digits that fit under the answer's own bound."""

    x: Array
    whole: float  # no f̂_i(x) counts for more
    key: int
    items: Ids | None = None  # the items asked about; None: all
    samples: int | None = None  # sets a gradient, where there is no closed form or none is wanted

    def __post_init__(self) -> None:
        for array in (self.x, self.items):
            if array is not None:
                freeze(array)

    @property
    def width(self) -> int:
        """How many items are asked about."""
        return len(self.x) if self.items is None else len(self.items)

    @property
    def digit_bits(self) -> int:
        return min((self.bound + 1).bit_length() - 1, FINE_BITS)

    @property
    def digits(self) -> int:
        return -(-FINE_BITS // self.digit_bits)

    @property
    def length(self) -> int:
        return self.width + self.digits

    @cached_property
    def slot(self) -> Ids:
        """Where each item stands in the answer; -1 for those not asked about."""
        if self.items is None:
            return np.arange(len(self.x))
        slot = np.full(len(self.x), -1)
        slot[self.items] = np.arange(len(self.items))
        return slot

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        gradients, values = self._at_x(clients, ids)
        numbers = self._numbers(clients, in_slots(gradients, self.slot, self.width), ids)
        numbers.data *= np.repeat(times, np.diff(numbers.indptr))
        return beside(numbers, self._digits(values, ids) * times[:, None])

    def _at_x(self, clients: Objective, ids: Ids) -> tuple[Rows, Array]:
        """∇f̂_i(x) and f̂_i(x); where they are sampled, everybody looks at the same sets."""
        if clients.is_exact(self.samples):
            return clients.gradients_and_values_at(self.x)
        return (
            clients.gradients(self.x, samples=self.samples, seed=self.key),
            clients.extension(self.x, samples=self.samples, seed=self.key),
        )

    @abstractmethod
    def _numbers(self, clients: Objective, gradients: Rows, ids: Ids) -> Rows:
        """What is answered from the gradients (columns are slots; `_item` tells the items)."""

    def _item(self, slots: NDArray[Any]) -> Ids:
        return np.asarray(slots if self.items is None else self.items[slots], dtype=np.int64)

    def _digits(self, values: Array, ids: Ids) -> Ids:
        limit = 2**FINE_BITS - 1
        whole = code_column(values, Coding(self.whole / limit, limit, False, self.key).scalars, ids, len(self.x))
        digits: Ids = whole[:, None] >> np.arange(self.digits) * self.digit_bits & 2**self.digit_bits - 1
        return digits

    def value(self, total: Ids, count: int) -> float:
        parts = (int(part) << k * self.digit_bits for k, part in enumerate(total[self.width :]))
        return float(sum(parts) * (self.whole / (2**FINE_BITS - 1)) / count)

    def mean(self, total: Ids, count: int) -> Array:
        """∇F̂(x) as the sum tells it, over all items (0 where none was asked about)."""
        out = np.zeros(len(self.x))
        out[slice(None) if self.items is None else self.items] = total[: self.width] * (self.scale / count)
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Gradient(AtPoint):
    """∇f̂_i(x) in numbers of `bits` bits: to the nearest, or up or down by a coin that keeps the mean."""

    of_worth = True

    single: float  # no entry of a gradient is larger
    bits: int
    stochastic: bool

    @property
    def bound(self) -> int:
        return int(2**self.bits - 1)

    @property
    def scale(self) -> float:
        return self.single / self.bound

    @property
    def coding(self) -> Coding:
        return Coding(self.scale, self.bound, self.stochastic, self.key)

    def _numbers(self, clients: Objective, gradients: Rows, ids: Ids) -> Rows:
        items = self._item(gradients.indices)
        numbers = code_rows(gradients.indptr, items, gradients.data, self.coding.scalars, ids)
        return sparse.csr_array((numbers, gradients.indices, gradients.indptr), shape=gradients.shape)

    def total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        """The fused way: no row is ever written down."""
        if not clients.is_exact(self.samples):
            return super().total(clients, ids, times)
        total = np.zeros(self.length, dtype=np.int64)
        values = clients.add_coded_gradient(self.x, self.slot, self.coding, ids, times, total[: self.width])
        total[self.width :] = times @ self._digits(values, ids)
        return total


@dataclass(frozen=True, eq=False, kw_only=True)
class Votes(AtPoint):
    """`votes` items drawn in proportion to the gradient, each worth its share of the gradient's sum.

    Unbiased, and at most `votes` numbers are not 0. Votes are drawn evenly spaced from one coin: an item gets
    its expected number of votes to within one.
    """

    votes: int
    sum: float  # no gradient sums to more
    bits: int

    @property
    def bound(self) -> int:
        return int(self.votes * (2**self.bits - 1))

    @property
    def scale(self) -> float:
        return self.sum / self.bound

    def hit(self, answers: int) -> int:
        return min(self.width, self.votes * answers) + self.digits

    def _numbers(self, clients: Objective, gradients: Rows, ids: Ids) -> Rows:
        gradients.sort_indices()  # votes are dealt along the row
        gradients.data = np.maximum(gradients.data, 0.0)
        sums = np.asarray(gradients.sum(axis=1), dtype=np.float64).reshape(-1)
        limit = 2**self.bits - 1
        worth = code_column(sums, Coding(self.sum / limit, limit, True, self.key).scalars, ids, len(self.x))
        counts = draw_votes(
            gradients.indptr, gradients.data, sums, self.votes, np.uint64(self.key), ids, len(self.x) + 1
        )
        counts *= np.repeat(worth, np.diff(gradients.indptr))
        return sparse.csr_array((counts, gradients.indices, gradients.indptr), shape=gradients.shape)


@kernel
def draw_votes(
    start: NDArray[Any], weights: Array, sums: Array, votes: int, key: np.uint64, ids: Ids, item: int
) -> Ids:
    """How many of the votes each entry of a row gets."""
    out = np.zeros(len(weights), np.int64)
    for row in range(len(start) - 1):
        if sums[row] <= 0.0:
            continue
        mark, done, step = coin(key, ids[row], item), 0.0, votes / sums[row]
        for at in range(start[row], start[row + 1]):
            done += weights[at] * step
            while mark < done and mark < votes:
                out[at] += 1
                mark += 1.0
    return out


def in_slots(rows: Rows, slot: Ids, width: int) -> Rows:
    """Only the columns that have a slot, in their slots."""
    at = slot[rows.indices]
    kept = at >= 0
    start = np.concatenate(([0], np.cumsum(kept)))[rows.indptr]
    return sparse.csr_array((rows.data[kept], at[kept], start), shape=(rows.shape[0], width))
