"""A store that lives as long as its process."""

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from folkmoot.engines.odometer import Mileage
from folkmoot.engines.past_cohorts import PastCohort
from folkmoot.engines.store import (
    REMEMBERED,
    LedgerEntry,
    OpenRound,
    Refusal,
    SentMessage,
    StoreUpdate,
    join_bits,
    refuse_change,
)
from folkmoot.secagg.state import State


class MemoryStore:
    """Keeps everything in memory, for as long as the process lives: for simulations and tests. Nothing that is sent is
    written down: where it matters, a process must not forget it when it ends.
    """

    keeps_outbox: ClassVar[bool] = False

    def __init__(self) -> None:
        self._states: dict[int, State] = {}
        self._credits: dict[int, float] = {}
        self._ledger: list[LedgerEntry] = []
        self._answered: dict[str, dict[str, bytes]] = {}  # by question and run
        self._pinned: dict[str, str] = {}
        self._refusals: deque[Refusal] = deque(maxlen=REMEMBERED)
        self._round, self._replies = OpenRound(), dict[bytes, bytes]()
        self._mileage, self._secret = Mileage(), b""
        self._cohorts: set[PastCohort] = set()

    def keep_secret(self, drawn: bytes) -> bytes:
        self._secret = self._secret or drawn
        return self._secret

    def load(self, client: int) -> State:
        return self._states.get(client, State())

    def list_states(self) -> list[tuple[int, State]]:
        return sorted(self._states.items())

    def read_credit(self, client: int) -> float | None:
        return self._credits.get(client)

    def save(self, update: StoreUpdate) -> None:
        entry, given = update.entry, update.given
        self._states.update(update.states)
        self._credits.update(update.credits)
        if update.charge is not None:
            self._mileage = self._mileage.add(update.charge)
        if entry is not None:
            self._ledger.append(entry)
            if update.members:
                before = self.read_members(entry.question, entry.run)
                self._answered.setdefault(entry.question, {})[entry.run] = join_bits(update.members, before)
        if update.round is not None:
            if update.round.question != self._round.question:
                self._replies.clear()
            self._round = update.round
        if update.cohort is not None:
            self._cohorts.add(update.cohort)
        if given is not None:
            self._replies[given.message] = given.reply

    def read_mileage(self) -> Mileage:
        return self._mileage

    def list_cohorts(self, like: PastCohort, within: int) -> list[PastCohort]:
        alike = (one for one in self._cohorts if one.census == like.census)
        return [one for one in alike if abs(one.size - like.size) <= within]

    def read_round(self) -> OpenRound:
        return self._round

    def find_reply(self, message: bytes) -> bytes | None:
        return self._replies.get(message)

    def make_sure(self) -> None:
        """Nothing survives the process."""

    def read_members(self, question: str, run: str | None = None) -> bytes:
        marks = self._answered.get(question, {})
        return join_bits(*marks.values()) if run is None else marks.get(run, b"")

    def note_sent(self, message: SentMessage) -> None:
        """It is not kept."""

    def read_outbox(self, since: float = 0.0) -> list[SentMessage]:  # noqa: ARG002 - nothing is kept
        return []

    def note_refusals(self, refusals: Sequence[Refusal]) -> None:
        self._refusals.extend(refusals)

    def read_refusals(self, since: float = 0.0) -> list[Refusal]:
        return [refusal for refusal in self._refusals if refusal.time >= since]

    def pin(self, name: str, value: str) -> None:
        if self._pinned.setdefault(name, value) != value:
            refuse_change(name)

    def read_ledger(self, since: float = 0.0) -> list[LedgerEntry]:
        return [entry for entry in self._ledger if entry.time >= since]
