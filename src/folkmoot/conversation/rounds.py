"""One round: the server asks a cohort a question and learns only the sum of the answers.

A method is a generator that yields an `Ask` and is sent a `Sum`; an engine turns an `Ask` into a `Sum`. `drive`
connects the two.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from folkmoot.conversation.codec import digest_of
from folkmoot.conversation.population import Cohort, ids_of
from folkmoot.conversation.purpose import Purpose
from folkmoot.foundation.errors import InputError, RoundFailed
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Ids, Mask, freeze
from folkmoot.questions.query import Query, Reply
from folkmoot.secagg.faults import Fault

T = TypeVar("T")

RING_BITS = 63  # sums are kept in signed 64-bit integers


@dataclass(frozen=True, eq=False)
class Ask(Registered):
    """A question to a cohort."""

    query: Query[Any]
    cohort: Cohort
    purpose: Purpose
    label: str  # the purpose, for people, with the number of the step
    number: int  # of the round, from 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "purpose", Purpose(self.purpose))  # it travels as text

    def parameters(self) -> Mapping[str, Any]:
        names = ("query", "cohort", "purpose", "label", "number")
        return {name: getattr(self, name) for name in names}

    @property
    def can_be_repeated(self) -> bool:
        """Whether other clients can be asked if the round is lost: not if all are asked, or if weights differ."""
        return not self.cohort.everyone and self.cohort.times is None

    def find_lowest(self, count: int, clients: int, speakers: int | None = None) -> int:
        """The smallest possible number in a sum over this many clients, if they count `count` times in total; speakers:
        how many vectors it is the sum of (None: one of each client).
        """
        return self.query.encoding.lowest * count - self._find_room(clients, speakers)

    def find_highest(self, count: int, clients: int, speakers: int | None = None) -> int:
        """The largest possible number in such a sum."""
        return self.query.encoding.limit * count + self._find_room(clients, speakers)

    def _find_room(self, clients: int, speakers: int | None) -> int:
        return self.query.encoding.find_room(clients, clients if speakers is None else speakers)

    def unwrap(self, total: Ids, count: int, clients: int, speakers: int) -> Ids:
        """The sum, from that of vectors as they were sent: each as its distance from its own lowest number, in the
        ring. Noise makes the lowest number of a sum higher than the sum of the lowest numbers.
        """
        encoding, lowest = self.query.encoding, self.find_lowest(count, clients, speakers)
        sent_from = encoding.lowest * count - encoding.headroom * clients - speakers * encoding.find_room(0, 1)
        wrapped = (total + np.int64(sent_from - lowest)) & np.int64(2**self.ring_bits - 1)
        return np.asarray(wrapped + lowest, dtype=np.int64)

    @property
    def span(self) -> int:
        """The largest possible number in a sum of these answers, minus the smallest."""
        everyone = self.cohort.weight, self.cohort.size
        return self.find_highest(*everyone) - self.find_lowest(*everyone)

    @property
    def largest_answer(self) -> int:
        """The largest possible number in one client's answer, minus the smallest."""
        times = 1 if self.cohort.times is None else int(self.cohort.times.max())
        return self.find_highest(times, 1) - self.find_lowest(times, 1)

    @property
    def ring_bits(self) -> int:
        """Bits of the smallest ring that holds any sum of these answers; refused if that is too large.

        Numbers below 0 are sent as their distance from the lowest, which is later subtracted from the sum.
        """
        bits = self.span.bit_length()
        if bits > RING_BITS:
            raise InputError(
                f"{self.cohort.weight:,} answers of up to {self.query.encoding.limit:,} need {bits} bits, "
                f"but the ring has {RING_BITS}",
                remedy="ask fewer clients, or for fewer bits",
                place=self.label,
            )
        return bits


@dataclass(frozen=True)
class Cost:
    """What a round cost: mean bytes to and from each client, and seconds."""

    down: float
    up: float
    seconds: float = 0.0
    measured: bool = True  # whether bytes were measured; if not, they are computed from the protocol's sizes


@dataclass(frozen=True)
class Making:
    """How a sum was made by secure aggregation."""

    members: int  # clients of the secure sum that gave keys; parties, where parties speak for their clients
    survivors: int  # those of them whose vectors are in the sum
    degree: int  # neighbours of each
    threshold: int  # of them, that can reconstruct a secret
    session: str
    parties: tuple[int, ...] | None = None  # the survivors, where they are parties that speak for their clients

    def __post_init__(self) -> None:
        if self.parties is not None:
            object.__setattr__(self, "parties", tuple(self.parties))  # it is stored as a list


@dataclass(frozen=True, eq=False)
class Sum:
    """What the server learns: the sum, how often clients count in it, how many they are, and who they are.

    A lost round has no sum: zeros, and a count of 0. It is spent if any client had sent an answer by then; otherwise
    too few clients were present to begin with, and nobody had answered. A spent round is sealed if nobody can ever
    learn the sum of these answers; the same clients can then be asked again, with other coins.
    """

    total: Ids
    count: int
    clients: int
    asked: int  # what the count would be if everyone asked had answered
    lost: bool = False
    present: Mask | None = None  # mask of the cohort, in its order: who is in the sum; None: all
    spent: bool = False
    cost: Cost | None = None  # None: not measured
    sealed: bool = False
    old: bool = False  # whether it was read from a transcript
    made: Making | None = None  # None: not by secure aggregation, or there is no sum
    noise: float = 0.0  # standard deviation of the noise in each number, in units
    honest: int = 0  # the fewest honest shares of noise that it can hold; 0: it has no noise
    # Who was left out of the secure sum for a fault: clients, or parties where these speak for their clients.
    excluded: Mapping[int, Fault] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze(self.total)
        if self.present is not None:
            freeze(self.present)

    @classmethod
    def lose(
        cls,
        ask: Ask,
        clients: int,
        *,
        spent: bool = False,
        sealed: bool = False,
        present: Mask | None = None,
        cost: Cost | None = None,
        excluded: Mapping[int, Fault] | None = None,
    ) -> "Sum":
        """A round without a sum, in which this many clients were left."""
        nothing = np.zeros(ask.query.encoding.length, dtype=np.int64)
        left_out = dict(excluded or {})
        return cls(nothing, 0, clients, ask.cohort.weight, True, present, spent, cost, sealed, excluded=left_out)

    @property
    def caught(self) -> frozenset[int]:
        """Those who were left out for what certainly was their own doing."""
        return frozenset(one for one, fault in self.excluded.items() if fault.is_certain)

    def equals(self, other: "Sum") -> bool:
        """Whether both are the same sum, over the same clients."""
        alike = (self.present is None) == (other.present is None)
        if alike and self.present is not None and other.present is not None:
            alike = np.array_equal(self.present, other.present)
        return alike and self.count == other.count and np.array_equal(self.total, other.total)


def find_coins(secret: PrivateCoins, query: Query[Any]) -> PrivateCoins:
    """The coins with which clients answer a question: others if anything about it is another, and the same if it is
    asked again. secret: what they follow from; the server of real clients never learns it.
    """
    return secret.branch(bytes.fromhex(digest_of(query)))


Run = Generator[Ask, Sum, T]


def drive(run: Run[T], answer: Callable[[Ask], Sum]) -> T:
    """Pass the method's questions to `answer`, and the sums back, until the method returns its result."""
    said: Sum | None = None
    while True:
        try:
            ask = next(run) if said is None else run.send(said)
        except StopIteration as end:
            result: T = end.value
            return result
        ask.ring_bits  # noqa: B018 - refuses before any client is asked
        said = check_sum(ask, answer(ask))


def check_sum(ask: Ask, said: Sum) -> Sum:
    """The engine's sum, if it can be a sum of answers to this question; otherwise an error is raised."""
    length = ask.query.encoding.length
    fits = isinstance(said, Sum) and said.total.shape == (length,) and said.total.dtype == np.int64
    if fits and not said.lost:
        fits = 0 <= said.count <= ask.cohort.weight and said.clients <= ask.cohort.size
        fits = fits and int(said.total.min()) >= ask.find_lowest(said.count, said.clients)
        fits = fits and int(said.total.max()) <= ask.find_highest(said.count, said.clients)
    noise = ask.query.added_noise
    if noise is not None and not said.lost and not (said.noise > 0 and said.honest >= getattr(ask.query, "honest", 1)):
        raise RoundFailed("the engine did not add the noise that the question says", place=ask.label)
    if not fits:
        raise RoundFailed(
            "the engine returned something that is not a sum of answers to this question (a client that runs modified "
            "software can bring that about)",
            place=ask.label,
        )
    if not said.lost and not _names_clients(ask.cohort, said):
        raise RoundFailed(f"the engine does not say which {said.clients:,} clients are in its sum", place=ask.label)
    return said


def _names_clients(cohort: Cohort, said: Sum) -> bool:
    """Whether a sum says consistently who is in it."""
    if said.present is None:
        return said.clients == cohort.size
    fits = said.present.shape == (cohort.size,) and said.present.dtype == bool
    return fits and int(said.present.sum()) == said.clients


def join_cohorts(cohorts: list[Cohort]) -> Cohort:
    """One cohort of several that have no client in common."""
    ids = np.concatenate([ids_of(one) for one in cohorts])
    order = np.argsort(ids)
    times = [one.times for one in cohorts if one.times is not None]
    return Cohort.of(ids[order], np.concatenate(times)[order] if times else None)


ReplyT = TypeVar("ReplyT", bound=Reply)


def read_reply(query: Query[ReplyT], said: Sum) -> ReplyT:
    """A sum as a reply to its question, which knows what the numbers mean."""
    return query.make_reply(said.total, said.count, said.clients, said.asked, said.noise)
