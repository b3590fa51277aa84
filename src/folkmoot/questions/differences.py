"""How much better or worse other sets are than a first one, on the same clients: means and standard errors."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from folkmoot.foundation.coding import code_rows
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
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
    coins: PublicCoins
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

    def takes_part(self, clients: Objective, ids: Ids, times: Ids) -> Mask | None:
        return None if self.who is None else self.who.takes_part(clients, ids, times, self.coins)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        parts = list(self._compare(clients, ids, times))
        firsts, squares = (np.hstack([part[at] for part in parts]) for at in range(2))
        return write_dense(np.hstack([firsts, squares, self._count_standing(clients, ids, times)[:, None]]))

    def total_of_block(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        """A few sets at a time, so that not all of them are in memory together."""
        often = None if self.counts_times or (times == 1).all() else times[:, None]

        def add_up(numbers: Ids) -> Ids:
            total: Ids = (numbers if often is None else numbers * often).sum(axis=0)
            return total

        parts = [(add_up(first), add_up(square)) for first, square in self._compare(clients, ids, times)]
        firsts, squares = (np.concatenate([part[at] for part in parts]) for at in range(2))
        return np.concatenate([firsts, squares, add_up(self._count_standing(clients, ids, times)[:, None])])

    def _compare(self, clients: Objective, ids: Ids, times: Ids) -> Iterator[tuple[Ids, Ids]]:
        """A few sets at a time: differences and their squares, each clients × sets."""
        factors = self._factors(clients, times)
        one = self._values(clients, self.sets[:1])
        for first in range(1, len(self.sets), SETS_AT_ONCE):
            some = self.sets[first : first + SETS_AT_ONCE]
            better = (self._values(clients, some) - one) * factors[:, None]
            places = clients.n_items + 1 + np.arange(first, first + len(some))
            numbers = self._encode(np.abs(better), FIRSTS, places, ids) * np.sign(better).astype(np.int64)
            yield numbers, self._encode(better**2, SQUARES, places + len(self.sets), ids)

    def _factors(self, clients: Objective, times: Ids) -> Array:
        return np.ones(clients.n_clients) if self.who is None else self.who.factors(clients, times)

    def _count_standing(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        place = np.array([clients.n_items + 1])
        return self._encode(self._factors(clients, times)[:, None], STANDING, place, ids)[:, 0]

    def _values(self, clients: Objective, some: Mask) -> Array:
        full = np.zeros((len(some), clients.n_items), dtype=bool)
        full[:, self.items] = some
        return clients.values_at(full)

    def _encode(self, numbers: Array, part: int, places: Ids, ids: Ids) -> Ids:
        """Rounded up or down by a coin, so that small squares are not lost in the sum."""
        count, width = numbers.shape
        how = self.encoding.parts[part].coding(self.coins).scalars
        start = np.arange(0, count * width + 1, width)
        flat = np.ascontiguousarray(numbers).reshape(-1)
        return code_rows(start, np.tile(places, count), flat, how, ids).reshape(count, width)
