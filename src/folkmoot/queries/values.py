"""What sets are worth: many in one question, and the last one that the result rests on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from folkmoot.coding import Coding, whole_numbers
from folkmoot.objectives.objective import Objective
from folkmoot.queries.query import FINE_BITS, Query, dense
from folkmoot.sets import Array, Ids, Mask, Rows, frozen

LIMIT: int = 2**FINE_BITS - 1
SETS_AT_ONCE = 64


class Moments(NamedTuple):
    mean: Array
    variance: Array  # of one client's number


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
    """Values and their squares, and the same of the tangent f̂_i(y) + Σ slope_e · ∂f̂_i/∂y_e: means and spreads."""

    y: Array
    slope: Array
    steepest: float  # no tangent is worth more to a client

    @property
    def length(self) -> int:
        return 2 * len(self.sets) + 2

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        return times @ self._numbers(clients)

    def _numbers(self, clients: Objective) -> Ids:
        values = self._values(clients)
        if clients.closed_form:
            gradients, at_y = clients._gradients_and_values(self.y)
        else:
            gradients, at_y = clients.gradients(self.y), clients.extension(self.y)
        tangent = (at_y + gradients @ self.slope)[:, None]
        return np.hstack(
            [
                fixed_point(values, self.scale),
                fixed_point(values**2, self.scale * self.whole),
                fixed_point(tangent, self.steepest / LIMIT),
                fixed_point(tangent**2, self.steepest**2 / LIMIT),
            ]
        )

    def moments(self, total: Ids, count: int) -> tuple[Moments, Moments]:
        """Of the sets' values, and of the tangent."""
        k = len(self.sets)
        mean = self.mean(total, count)
        square = total[k : 2 * k] * (self.scale * self.whole / count)
        tangent = np.asarray(total[2 * k : 2 * k + 1] * (self.steepest / LIMIT / count), dtype=np.float64)
        its_square = total[2 * k + 1 :] * (self.steepest**2 / LIMIT / count)
        return (
            Moments(mean, np.maximum(square - mean**2, 0.0)),
            Moments(tangent, np.maximum(its_square - tangent**2, 0.0)),
        )


def asked_about(members: Mask) -> tuple[Ids, Mask]:
    """Sets over all items, as the items that occur and the sets over those."""
    items = np.flatnonzero(members.any(axis=0))
    return items, np.ascontiguousarray(members[:, items])


def fixed_point(values: Array, unit: float) -> Ids:
    return whole_numbers(values, Coding(unit, LIMIT, False, 0))
