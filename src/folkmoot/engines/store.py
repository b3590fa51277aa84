"""Where a party keeps what it must not lose: its clients' states, the ledger of what they answered, what that cost
them, and its logs. Here is what every store keeps and offers; `memory_store` and `folder_store` are two.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn, Protocol

from folkmoot.engines.odometer import Charge, Mileage
from folkmoot.engines.past_cohorts import PastCohort
from folkmoot.foundation.errors import InputError
from folkmoot.secagg.state import State

REMEMBERED = 10_000  # refusals: a server that keeps sending nonsense must not fill the disk


@dataclass(frozen=True)
class LedgerEntry:
    """A question that clients of a party answered."""

    stage: str  # "vector": they sent masked answers; "question": they said which of them take part
    kind: str
    question: str  # its digest
    session: str
    round: int
    time: float  # by the party's clock
    clients: int
    run: str = ""  # in which it was asked, if the server says so
    mu: float = 0.0  # what it cost each of them; 0: it had no noise


@dataclass(frozen=True)
class SentMessage:
    """Something that left a party."""

    time: float  # by the party's clock
    stage: str  # the exchange
    why: str  # the kind of the question, and what it is for as far as the server says so
    bytes: int
    digest: str  # SHA-256 of the bytes


@dataclass(frozen=True)
class Refusal:
    """Something that was not answered, and why. The server is not told why."""

    time: float
    stage: str  # the exchange
    why: str
    client: int | None  # None: all clients of the party


@dataclass(frozen=True)
class OpenRound:
    """The round that a party is in: what a process needs to continue it that another one began."""

    question: bytes = b""  # the bundle that asked it; empty: the party is in no round
    announced: bytes = b""  # the only announcement that is accepted for it
    answered: bool = False  # whether any vector has left


@dataclass(frozen=True)
class GivenReply:
    """What was replied to a message, in bytes, so that the same can be said again."""

    message: bytes  # SHA-256 of the message
    reply: bytes


@dataclass(frozen=True)
class StoreUpdate:
    """What changes in a store at once."""

    states: Mapping[int, State] = field(default_factory=dict)  # of these clients
    entry: LedgerEntry | None = None
    members: bytes = b""  # which of a party's clients answered the entry's question, as bits, besides those before
    round: OpenRound | None = None  # the party is now in; replies of a round with another question are forgotten
    given: GivenReply | None = None
    sent: SentMessage | None = None  # what is about to leave, if the store keeps that
    charge: Charge | None = None  # what clients pay for it
    cohort: PastCohort | None = None  # who was asked, if that must be remembered
    credits: Mapping[int, float] = field(default_factory=dict)  # readings of these clients (`credit`)


class StateStore(Protocol):
    """States of clients, and the ledger. When `save` returns, its data is safe: replies are sent only after that.

    keeps_outbox: whether all that is sent is written down; if not, `note_sent` is never called.
    """

    keeps_outbox: ClassVar[bool]

    def note_sent(self, message: SentMessage) -> None:
        """Write down what is about to be sent."""
        ...

    def read_outbox(self, since: float = 0.0) -> list[SentMessage]:
        """What was sent at that time or later, in order."""
        ...

    def keep_secret(self, drawn: bytes) -> bytes:
        """The secret that the party's coins follow from: this one, unless there is one already."""
        ...

    def load(self, client: int) -> State: ...

    def list_states(self) -> Iterable[tuple[int, State]]:
        """Of all clients that have one."""
        ...

    def read_credit(self, client: int) -> float | None:
        """When this client was last forgiven a round, or began to wait for that (`credit`); None: it never did."""
        ...

    def save(self, update: StoreUpdate) -> None:
        """Keep all of this, or nothing of it."""
        ...

    def read_mileage(self) -> Mileage:
        """What every client has paid so far."""
        ...

    def list_cohorts(self, like: PastCohort, within: int) -> Iterable[PastCohort]:
        """Earlier cohorts of the same census that are about as large: `within` more or fewer clients at most."""
        ...

    def read_round(self) -> OpenRound: ...

    def find_reply(self, message: bytes) -> bytes | None:
        """What was replied in this round to the message with this SHA-256."""
        ...

    def make_sure(self) -> None:
        """Write again what must be written before a reply leaves, if that failed the first time."""
        ...

    def note_refusals(self, refusals: Sequence[Refusal]) -> None:
        """Write down what was not answered; the oldest may be forgotten."""
        ...

    def read_refusals(self, since: float = 0.0) -> list[Refusal]: ...

    def read_members(self, question: str, run: str | None = None) -> bytes:
        """Which of a party's clients answered this question in this run (None: in any), as bits; empty if none did."""
        ...

    def pin(self, name: str, value: str) -> None:
        """Keep something that must not change; refused if it was something else before."""
        ...

    def read_ledger(self, since: float = 0.0) -> list[LedgerEntry]:
        """What was answered at that time or later, in order."""
        ...


def refuse_change(name: str) -> NoReturn:
    raise InputError(
        f"holds what other {name} answered, or the same in another order",
        remedy="use a store of its own for each population",
        argument="store",
    )


def join_bits(*marks: bytes) -> bytes:
    """All that are marked in any of them; some may be empty."""
    joined = 0
    for some in marks:
        joined |= int.from_bytes(some, "little")
    return joined.to_bytes(max(map(len, marks), default=0), "little")
