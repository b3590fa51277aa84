"""What every question has: an encoding, the function with which clients answer it, and a reply that reads the sum.

All that clients compute is in this package; a server only sees sums of what these functions return.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import hypot
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from folkmoot.foundation.kernels import kernel, run_on_threads
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import AnyArray, Array, Ids, Mask, Rows, freeze, share
from folkmoot.objectives.objective import Objective
from folkmoot.privacy.noise import Noise
from folkmoot.questions.checking import check_encoding, check_question, find_largest_set, is_about_singletons
from folkmoot.questions.encoding import Encoding

FINE_BITS = 20  # of a number that must be exact for all practical purposes
FINEST_BITS = 24  # of a number that is first divided by a small probability
FINE, FINEST = 2**FINE_BITS - 1, 2**FINEST_BITS - 1


@dataclass(frozen=True, eq=False)
class Reply:
    """The sum of the answers to a question. It knows the question, and so what its numbers mean.

    Replies to the same question from different clients add up.
    """

    question: "Query[Any]"
    total: Ids
    count: int  # how often its clients count, in total
    clients: int
    asked: int  # what the count would be if everyone asked had answered
    noise: float = 0.0  # standard deviation of the noise in each number, in units

    def __post_init__(self) -> None:
        freeze(self.total)

    def __add__(self, other: Self) -> Self:
        both = {name: getattr(self, name) + getattr(other, name) for name in ("total", "count", "clients", "asked")}
        return replace(self, **both, noise=hypot(self.noise, other.noise))

    @property
    def weight(self) -> int:
        """How often the clients count that the sum stands for: volunteers stand for everyone who was asked."""
        return self.asked if self.question.voluntary else self.count

    @property
    def parts(self) -> list[Ids]:
        """The sums of each part of the answers."""
        return self.question.encoding.split(self.total)

    def read(self, part: int) -> Array:
        """The means of one part, in its own unit."""
        return self.question.encoding.parts[part].read(self.parts[part], self.weight)

    @property
    def mean(self) -> Array:
        """The means of the first part: what the question is about."""
        return self.read(0)

    @property
    def value(self) -> float | None:
        """What the present solution is worth, if the question asks for that."""
        return None


ReplyT = TypeVar("ReplyT", bound=Reply)


class Query(Registered, ABC, Generic[ReplyT]):
    """A question. Subclasses are frozen dataclasses whose fields define the question completely."""

    # Whether answers say what items or sets are worth to a client: sums of all such questions are comparable.
    of_worth: ClassVar[bool] = False
    reply_kind: ClassVar[type[Reply]] = Reply

    def parameters(self) -> Mapping[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}

    @property
    @abstractmethod
    def encoding(self) -> Encoding:
        """How an answer is encoded."""

    @property
    def length(self) -> int:
        """How many numbers an answer has."""
        return self.encoding.length

    @property
    def added_noise(self) -> Noise | None:
        """The noise that everyone who speaks adds a share of; None: answers are added up as they are."""
        return None

    def make_reply(self, total: Ids, count: int, clients: int, asked: int, noise: float = 0.0) -> ReplyT:
        """The sum of the answers, as a reply that can be read."""
        return cast(ReplyT, self.reply_kind(self, total, count, clients, asked, noise))

    @property
    def contained(self) -> "tuple[Query[Any], ...]":
        """The questions that this one consists of; none if it is one question."""
        return ()

    @abstractmethod
    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        """One row of whole numbers per client, for a client that counts once (see `counts_times`).

        own: the coins by which clients decide what chance decides in their answers; the server does not know them.
        """

    @property
    def counts_times(self) -> bool:
        """Whether `write_rows` takes into account how often a client counts; if not, `answers` does."""
        return self.voluntary

    def answers(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        """What clients answer: one row per client, times how often it counts."""
        rows = self.encoding.shorten(self.write_rows(clients, ids, times, own))
        return rows if self.counts_times else repeat_rows(rows, times)

    def total(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        """The sum of the answers, block by block: at most one block of rows per thread is in memory."""
        cuts = clients.client_blocks()

        def some(first: int, last: int) -> Ids:
            total = np.zeros(self.length, dtype=np.int64)
            for lo, hi in cuts[first:last]:
                part = clients if hi - lo == clients.n_clients else clients[lo:hi]
                total += self.total_of_block(part, ids[lo:hi], times[lo:hi], own)
            return total

        stretches = [(int(part[0]), int(part[-1]) + 1) for part in np.array_split(np.arange(len(cuts)), 8) if len(part)]
        total: Ids = np.sum(run_on_threads(some, stretches), axis=0)
        return total

    def total_of_block(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        """The sum of the answers of one block of clients."""
        rows = self.answers(clients, ids, times, own)
        return add_up(rows.indices, rows.data, self.length)

    def takes_part(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Mask | None:
        """Who answers, where clients decide that themselves; None: everyone who is asked."""
        return None

    def total_of_willing(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> tuple[Ids, Mask | None]:
        """The sum over those of these clients who take part, and who they are (None: all)."""
        willing = self.takes_part(clients, ids, times, own)
        if willing is None:
            return self.total(clients, ids, times, own), None
        if not willing.any():
            return np.zeros(self.length, dtype=np.int64), willing
        return self.total(clients[np.flatnonzero(willing)], ids[willing], times[willing], own), willing

    @property
    def voluntary(self) -> bool:
        """Whether clients decide themselves if they answer."""
        return False

    def speakers(self, ids: Ids) -> Mask | None:
        """Who sends an answer, where some clients speak for others; None: everyone."""
        return None

    def group_clients(self) -> Ids | None:
        """The group of every client, where one client speaks for each group; None: each client speaks for itself."""
        return None

    @property
    def shows_groups(self) -> bool:
        """Whether the sum shows the answer of every group apart from the others'."""
        return False

    @property
    def shows_singletons(self) -> bool:
        """Whether the sum says what single items are worth by themselves, or nearly so."""
        return is_about_singletons(self) or any(part.shows_singletons for part in self.contained)

    @property
    def largest_set(self) -> int:
        """The size of the largest set that clients must look at; sets that are drawn at random do not count."""
        return max([find_largest_set(self), *(part.largest_set for part in self.contained)])

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        """Raise `InputError` unless the question can be put to clients with this many items; parties do so before
        anything is computed. `n_clients`: in the whole population, where that is known.

        Fields are checked by name and type (`checking.py`). Questions with other fields override this.
        """
        check_question(self, n_items, n_clients)
        check_encoding(self.encoding, n_items)

    @property
    def all_speak(self) -> bool:
        """Whether everyone who is asked gives an answer of its own."""
        return not self.voluntary

    def count_nonzero(self, answers: int) -> int:
        """How many numbers of a sum of this many answers can be other than 0, as they are sent."""
        if self.encoding.fills_up:
            return self.length
        return sum(min(part.length, part.nonzero * answers) for part in self.encoding.parts)


def repeat_rows(rows: Rows, times: Ids) -> Rows:
    """Each row times how often its client counts. This is the only place where that is applied to answers."""
    if (times == 1).all():
        return rows
    return sparse.csr_array((rows.data * np.repeat(times, np.diff(rows.indptr)), rows.indices, rows.indptr), rows.shape)


def add_up(columns: NDArray[Any], numbers: Ids, length: int) -> Ids:
    """The sum of the numbers of each column."""
    out = np.zeros(length, dtype=np.int64)
    add_numbers(share(columns), share(numbers), out)
    return out


@kernel
def add_numbers(columns: NDArray[Any], numbers: Ids, out: Ids) -> None:
    for at in range(len(numbers)):
        out[columns[at]] += numbers[at]


def write_dense(numbers: Ids) -> Rows:
    """Sparse rows in which every number is stored, zeros too."""
    count, length = numbers.shape
    start = np.arange(0, count * length + 1, length)
    return sparse.csr_array((numbers.reshape(-1), np.tile(np.arange(length), count), start), shape=numbers.shape)


def append_columns(left: Rows, right: Ids) -> Rows:
    """Sparse rows with a few dense columns after them."""
    joined: Rows = sparse.hstack((left, write_dense(right)), format="csr")
    return joined


def spread_over(n_items: int, items: Ids | None, part: AnyArray) -> AnyArray:
    """What is known of some items, as an array over all items: 0 (or False) for the others."""
    out = np.zeros(n_items, dtype=part.dtype)
    out[slice(None) if items is None else items] = part
    return cast(AnyArray, out)
