"""What sets are worth: many in one question, and the last one that the result rests on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from folkmoot.coding import Coding, whole_numbers
from folkmoot.objectives.objective import Objective
from folkmoot.queries.query import FINE_BITS, Query, beside, dense
from folkmoot.sets import Array, Ids, Mask, Rows, frozen

LIMIT: int = 2**FINE_BITS - 1
SETS_AT_ONCE = 64


class Moments(NamedTuple):
    mean: Array
    deviation: Array  # the standard deviation of one client's number

    @classmethod
    def of(cls, mean: NDArray[Any], square: NDArray[Any]) -> "Moments":
        return cls(np.asarray(mean, dtype=np.float64), np.sqrt(np.maximum(square - mean**2, 0.0)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Values(Query):
    """f_i(S) for each of many sets, in one vector."""

    items: Ids  # all that occur in a set
    sets: Mask  # sets × these items
    whole: float  # no set is worth more to a client

    def __post_init__(self) -> None:
        frozen(self.items)
        frozen(self.sets)

    @property
    def length(self) -> int:
        return len(self.sets)

    @property
    def bound(self) -> int:
        return LIMIT

    @property
    def scale(self) -> float:
        return self.whole / LIMIT

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        return dense(self._numbers(clients) * times[:, None])

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        return np.concatenate([clients._add_coded_values(full, self._coding, times) for full in self._some(clients)])

    def _numbers(self, clients: Objective) -> Ids:
        """Every client's numbers, for a client that counts once."""
        return whole_numbers(self._values(clients), self._coding)

    def _values(self, clients: Objective) -> Array:
        """clients × sets, a few sets at a time: many sets of many items are never written out together."""
        return np.concatenate([clients._values(full) for full in self._some(clients)], axis=1)

    def _some(self, clients: Objective) -> Iterator[Mask]:
        for first in range(0, len(self.sets), SETS_AT_ONCE):
            some = self.sets[first : first + SETS_AT_ONCE]
            full = np.zeros((len(some), clients.n_items), dtype=bool)
            full[:, self.items] = some
            yield full

    @property
    def _coding(self) -> Coding:
        return Coding(self.scale, LIMIT, False, 0)

    def mean(self, total: Ids, count: int) -> Array:
        return np.asarray(total[: len(self.sets)] * (self.scale / count), dtype=np.float64)

    def value(self, total: Ids, count: int) -> float:
        return float(self.mean(total, count).max())


@dataclass(frozen=True, eq=False, kw_only=True)
class Appraisal(Values):
    """Values, and for the first of them and for everything together (what no set is worth more than) the square: all
    means, and the spreads that matter. The last number marks clients whose values do not fit the range.
    """

    single: float

    @property
    def length(self) -> int:
        return len(self.sets) + 4

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        return np.concatenate([super()._total(clients, ids, times), times @ self._beside(clients)])

    def _numbers(self, clients: Objective) -> Ids:
        return np.hstack([super()._numbers(clients), self._beside(clients)])

    def _beside(self, clients: Objective) -> Ids:
        """The first set's square, everything, its square, and the mark."""
        first, most = clients._values(next(self._some(clients))[:1])[:, 0], clients._ceilings()
        squares = [fixed_point(numbers**2, self.scale * self.whole) for numbers in (first, most)]
        cut = cut_off(clients, self.single, self.whole)
        return np.stack([squares[0], fixed_point(most, self.scale), squares[1], cut], axis=1)

    def moments(self, total: Ids, count: int) -> tuple[Moments, Moments, float]:
        """Of the first set's value, and of everything together; and the share of clients that were cut."""
        unit = self.scale / count
        first = Moments.of(self.mean(total, count)[:1], total[-4:-3] * (unit * self.whole))
        most = Moments.of(total[-3:-2] * unit, total[-2:-1] * (unit * self.whole))
        return first, most, float(total[-1] / count)


@dataclass(frozen=True, eq=False, kw_only=True)
class Spread(Query):
    """∇f̂_i(x), f̂_i(x) and the squares of each, and who does not fit the range: means and spreads of a gradient."""

    x: Array
    single: float
    whole: float

    def __post_init__(self) -> None:
        frozen(self.x)

    @property
    def length(self) -> int:
        return 2 * len(self.x) + 3

    @property
    def bound(self) -> int:
        return LIMIT

    @property
    def scale(self) -> float:
        return self.single / LIMIT

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        if clients.closed_form:
            gradients, values = clients._gradients_and_values(self.x)
        else:
            gradients, values = clients.gradients(self.x), clients.extension(self.x)
        parts = [
            sparse.csr_array((fixed_point(data, unit), gradients.indices, gradients.indptr), shape=gradients.shape)
            for data, unit in ((gradients.data, self.scale), (gradients.data**2, self.scale * self.single))
        ]
        unit = self.whole / LIMIT
        columns = (
            fixed_point(values, unit),
            fixed_point(values**2, unit * self.whole),
            cut_off(clients, self.single, self.whole),
        )
        rows = beside(sparse.csr_array(sparse.hstack(parts, format="csr")), np.stack(columns, axis=1))
        rows.data *= np.repeat(times, np.diff(rows.indptr))
        return rows

    def moments(self, total: Ids, count: int) -> tuple[Moments, Moments, float]:
        """Of the gradient, of the value; and the share of clients that were cut."""
        n, unit = len(self.x), self.whole / LIMIT
        gradient = Moments.of(total[:n] * (self.scale / count), total[n : 2 * n] * (self.scale * self.single / count))
        value = Moments.of(total[-3:-2] * (unit / count), total[-2:-1] * (unit * self.whole / count))
        return gradient, value, float(total[-1] / count)

    def value(self, total: Ids, count: int) -> float:
        return float(total[-3] * (self.whole / LIMIT) / count)


def cut_off(clients: Objective, single: float, whole: float) -> Ids:
    """1 for clients whose numbers do not all fit the range."""
    above = (clients._largest_shares(np.ones(clients.n_items)) > single) | (clients._ceilings() > whole)
    return above.astype(np.int64)


def asked_about(members: Mask) -> tuple[Ids, Mask]:
    """Sets over all items, as the items that occur and the sets over those."""
    items = np.flatnonzero(members.any(axis=0))
    return items, np.ascontiguousarray(members[:, items])


def fixed_point(values: Array, unit: float) -> Ids:
    return whole_numbers(values, Coding(unit, LIMIT, False, 0))
