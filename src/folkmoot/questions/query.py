"""What every question has: a length, a bound, and the one function that answers it at the client's.

An answer is a vector of whole numbers from `lowest` (0, mostly) to `bound` (times how often the client counts).
Everything a client does is here and in the files beside; a server only sees sums of what these functions return.
"""

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from folkmoot.foundation.kernels import kernel, on_threads
from folkmoot.foundation.sets import Ids, Mask, Rows
from folkmoot.objectives.objective import Objective

FINE_BITS = 20  # of a number that is to be exact for all purposes
FINEST_BITS = 24  # of one that is divided by a small probability first


class Query(ABC):
    """A question. Subclasses are frozen dataclasses whose fields are the question's whole text."""

    kinds: ClassVar[dict[str, type["Query"]]] = {}
    # Whether an answer has what items or sets are worth to its client: then it can be compared with any other such.
    of_worth: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        Query.kinds[cls.__name__] = cls

    def parameters(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}

    @property
    @abstractmethod
    def length(self) -> int:
        """How many numbers an answer has."""

    @property
    @abstractmethod
    def bound(self) -> int:
        """No number of an answer is larger, for a client that counts once."""

    @property
    def lowest(self) -> int:
        """No number of an answer is smaller; below 0 where answers have a sign."""
        return 0

    @property
    def scale(self) -> float:
        """What one unit of an answer is worth."""
        return 1.0

    @abstractmethod
    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        """A row of whole numbers a client, already as often as the client counts."""

    def total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        """The sum of the answers, block by block: no more than a block of rows a thread is ever there."""
        cuts = clients.client_blocks()

        def some(first: int, last: int) -> Ids:
            total = np.zeros(self.length, dtype=np.int64)
            for lo, hi in cuts[first:last]:
                part = clients if hi - lo == clients.n_clients else clients[lo:hi]
                total += self._total(part, ids[lo:hi], times[lo:hi])
            return total

        stretches = [(int(part[0]), int(part[-1]) + 1) for part in np.array_split(np.arange(len(cuts)), 8) if len(part)]
        total: Ids = np.sum(on_threads(some, stretches), axis=0)
        return total

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        """The same for a block."""
        rows = self.answers(clients, ids, times)
        return add_up(rows.indices, rows.data, self.length)

    def takes_part(self, clients: Objective, ids: Ids, times: Ids) -> Mask | None:
        """Who answers, where clients decide that themselves; None: everybody who is asked."""
        return None

    @property
    def voluntary(self) -> bool:
        """Whether clients decide themselves if they answer."""
        return False

    def speakers(self, ids: Ids) -> Mask | None:
        """Whose answers are hidden in the sum, where some clients speak for others; None: everybody's."""
        return None

    @property
    def all_speak(self) -> bool:
        """Whether everybody who is asked gives an answer of its own."""
        return not self.voluntary

    def hit(self, answers: int) -> int:
        """At most so many numbers of a sum of so many answers are not 0."""
        return self.length

    def value(self, total: Ids, count: int) -> float | None:
        """What this sum says the present solution is worth, if it says so."""
        return None


@kernel
def add_up(columns: Any, numbers: Ids, length: int) -> Ids:
    out = np.zeros(length, np.int64)
    for at in range(len(numbers)):
        out[columns[at]] += numbers[at]
    return out


def dense(numbers: Ids) -> Rows:
    """Rows in which every number is written down."""
    count, length = numbers.shape
    start = np.arange(0, count * length + 1, length)
    return sparse.csr_array((numbers.reshape(-1), np.tile(np.arange(length), count), start), shape=numbers.shape)


def beside(left: Rows, right: Ids) -> Rows:
    """Sparse rows with a few dense columns after them."""
    joined: Rows = sparse.hstack((left, dense(right)), format="csr")
    return joined
