"""How much better or worse other sets are than a first one, on the same clients: means and standard errors."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from folkmoot.foundation.coding import CodingScalars, code_column, encode_number
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze, share
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding, Part, Rounding
from folkmoot.questions.participation import Participation, StandingReply
from folkmoot.questions.query import FINEST, Query, write_dense

SETS_AT_ONCE = 64
FIRSTS, SQUARES, STANDING = range(3)  # parts of an answer


class DifferencesReply(StandingReply):
    """How much better other sets are than the first."""

    question: "Differences"

    @property
    def mean(self) -> Array:
        """The mean differences."""
        return self.question.encoding.parts[FIRSTS].read(self.parts[FIRSTS], self.standing)

    @property
    def variance(self) -> Array:
        """The squares of their standard errors, if clients were drawn independently."""
        squares = self.parts[SQUARES] * (self.question.encoding.parts[SQUARES].unit / self.standing**2)  # Σ (w_i·x_i)²
        known = self.mean**2 / max(self.count, 1) if self.question.who is None else 0.0
        return np.asarray(np.maximum(squares - known, 0.0), dtype=np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Differences(Query[DifferencesReply]):
    """f_i(S_k) − f_i(S_0), signed, for each set after the first; the squares of these; and how many clients an answer
    stands for. A client that values both sets equally answers 0, so paired differences vary far less than values.
    """

    of_worth = True
    reply_kind = DifferencesReply

    items: Ids  # all items that occur in a set
    sets: Mask  # sets × these items; all others are compared with the first
    most: float  # differences are clipped at this (with `who`: after multiplying by times_i/κ_i)
    standing: float  # an answer stands for at most this many clients
    draw: int  # names what clients decide by chance: another number, other coins
    who: Participation | None = None

    def __post_init__(self) -> None:
        freeze(self.items)
        freeze(self.sets)

    @cached_property
    def encoding(self) -> Encoding:
        width = len(self.sets) - 1
        return Encoding(
            (
                Part(width, self.most / FINEST, FINEST, Rounding.COIN, signed=True),
                Part(width, self.most**2 / FINEST, FINEST, Rounding.COIN),
                Part(1, self.standing / FINEST, FINEST, Rounding.COIN),
            )
        )

    @property
    def voluntary(self) -> bool:
        return self.who is not None

    def takes_part(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Mask | None:
        return None if self.who is None else self.who.takes_part(clients, ids, times, own)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        parts = list(self._compare(clients, ids, times, own))
        firsts, squares = (np.hstack([part[at] for part in parts]) for at in range(2))
        return write_dense(np.hstack([firsts, squares, self._count_standing(clients, ids, times, own)[:, None]]))

    def total_of_block(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        """A few sets at a time, so that not all of them are in memory together."""
        often = None if self.counts_times or (times == 1).all() else times[:, None]

        def add_up(numbers: Ids) -> Ids:
            total: Ids = (numbers if often is None else numbers * often).sum(axis=0)
            return total

        parts = [(add_up(first), add_up(square)) for first, square in self._compare(clients, ids, times, own)]
        firsts, squares = (np.concatenate([part[at] for part in parts]) for at in range(2))
        return np.concatenate([firsts, squares, add_up(self._count_standing(clients, ids, times, own)[:, None])])

    def _compare(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Iterator[tuple[Ids, Ids]]:
        """A few sets at a time: differences and their squares, each clients × sets."""
        factors = self._factors(clients, times)
        one = share(np.ascontiguousarray(self._values(clients, self.sets[:1])[:, 0]))
        parts = self.encoding.parts
        hows = parts[FIRSTS].coding(own).scalars, parts[SQUARES].coding(own).scalars
        for first in range(1, len(self.sets), SETS_AT_ONCE):
            some = self.sets[first : first + SETS_AT_ONCE]
            values = np.ascontiguousarray(self._values(clients, some))
            firsts, squares = (np.empty(values.shape, dtype=np.int64) for _ in range(2))
            places = clients.n_items + 1 + first, clients.n_items + 1 + first + len(self.sets)
            code_differences(share(values), one, share(factors), *hows, *places, share(ids), firsts, squares)
            yield firsts, squares

    def _factors(self, clients: Objective, times: Ids) -> Array:
        return np.ones(clients.n_clients) if self.who is None else self.who.factors(clients, times)

    def _count_standing(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        how = self.encoding.parts[STANDING].coding(own).scalars
        return code_column(self._factors(clients, times), how, ids, clients.n_items + 1)

    def _values(self, clients: Objective, some: Mask) -> Array:
        full = np.zeros((len(some), clients.n_items), dtype=bool)
        full[:, self.items] = some
        return clients.values_at(full)


@kernel
def code_differences(
    values: Array,
    one: Array,
    factors: Array,
    how: CodingScalars,
    how_squares: CodingScalars,
    place: int,
    place_squares: int,
    ids: Ids,
    firsts: Ids,
    squares: Ids,
) -> None:
    """Rounded up or down by a coin, so that small squares are not lost in the sum."""
    for row in range(len(values)):
        for at in range(values.shape[1]):
            better = (values[row, at] - one[row]) * factors[row]
            number = encode_number(abs(better), how, ids[row], place + at)
            firsts[row, at] = -number if better < 0.0 else number
            squares[row, at] = encode_number(better * better, how_squares, ids[row], place_squares + at)
