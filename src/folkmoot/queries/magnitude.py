"""How large numbers are: the public range that fixed point needs, from a secure histogram."""

from dataclasses import dataclass

import numpy as np

from folkmoot.errors import InputError
from folkmoot.objectives.objective import Objective
from folkmoot.queries.query import Query, dense
from folkmoot.sets import Array, Ids, Mask, Rows

LEAST, MOST = -64, 63  # exponents; what lies beyond counts as the last
BINS = MOST - LEAST + 2  # the first is for nothing at all


@dataclass(frozen=True)
class Ranges:
    """Powers of two that (nearly) nobody's numbers are above."""

    single: float  # what one item is worth to a client
    whole: float  # what a set is worth to a client
    sum: float  # what all items are worth to a client, one by one
    clipped: float = 0.0  # the share of the clients asked whose largest number lies above
    complete: bool = False  # whether everybody was asked, and answered


@dataclass(frozen=True)
class Magnitude(Query):
    """Each client marks the powers of two that cover its best item, all items together, and their sum."""

    @property
    def length(self) -> int:
        return 3 * BINS

    @property
    def bound(self) -> int:
        return 1

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        nothing: Mask = np.zeros(clients.n_items, dtype=bool)
        singletons = clients._gains(nothing)
        out = np.zeros((clients.n_clients, 3, BINS), dtype=np.int64)
        largest = clients._largest_shares(np.ones(clients.n_items))
        together = np.asarray(singletons.sum(axis=1), dtype=np.float64).reshape(-1)
        for at, values in enumerate((largest, clients._ceilings(), together)):
            out[np.arange(clients.n_clients), at, bins_of(values)] = np.minimum(times, 1)
        return dense(out.reshape(clients.n_clients, -1))

    @staticmethod
    def ranges(total: Ids, *, clip: float = 1.0) -> Ranges:
        """The ranges that hold at least a share `clip` of the clients whole."""
        tops, beyond = [], 0.0
        for what, counts in enumerate(total.reshape(3, BINS)):
            reached = np.cumsum(counts[1:])  # of those who have anything at all
            if not reached[-1]:
                tops.append(1.0)
                continue
            top = int(np.searchsorted(reached, clip * reached[-1] - 1e-9))
            if top in (0, BINS - 2):
                raise InputError(
                    f"values: lie {'above' if top else 'below'} 2^{top + LEAST}; rescale them nearer to one, "
                    "so that sums keep their digits"
                )
            if what < 2:  # the sum is for votes alone
                beyond = max(beyond, float((reached[-1] - reached[top]) / counts.sum()))
            tops.append(2.0 ** (top + LEAST))
        return Ranges(tops[0], tops[1], tops[2], beyond)


def bins_of(values: Array) -> Ids:
    """0 for nothing; else one more than the exponent's place, where 2^exponent is the first not below."""
    mantissas, exponents = np.frexp(np.maximum(values, 0.0))
    exponents = exponents - (mantissas == 0.5)  # a power of two covers itself
    return np.where(values > 0, np.clip(exponents, LEAST, MOST) - LEAST + 1, 0)
