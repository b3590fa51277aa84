"""What a client remembers about its rounds: which questions it answered, and how many rounds were broken off.

A question is answered once: the difference of two sums over different clients would reveal those who are in only one.
The count stops a server that breaks off rounds until a client's neighbours suit it. It is the only thing here that may
be forgiven: a client that finished r rounds, and was forgiven f, has drawn neighbours at most `unfinished` + 2r + f
times. What was answered is never forgotten.
"""

from dataclasses import dataclass, replace

from folkmoot.secagg.messages import SESSION, Announcement
from folkmoot.secagg.primitives import DIGEST
from folkmoot.secagg.wire import U32, Malformed, Reader

MOST_ROUNDS = 1 << 31
ENTRY = SESSION + U32.size + DIGEST  # session, round, question


@dataclass(frozen=True)
class Ledger:
    """The rounds of one client, over all sessions."""

    begun: int = 0  # rounds in which it drew neighbours, without those that were forgiven
    finished: int = 0  # rounds in which it took every step
    entries: bytes = b""  # session, round and question of each answer

    def encode(self) -> bytes:
        return U32.pack(self.begun) + U32.pack(self.finished) + self.entries if self.begun or self.entries else b""

    @classmethod
    def decode(cls, data: bytes) -> "Ledger":
        if not data:
            return cls()
        reader = Reader(data)
        begun, finished = reader.number(U32), reader.number(U32)
        entries = data[2 * U32.size :]
        if not finished <= begun < MOST_ROUNDS or not (begun or entries) or len(entries) % ENTRY:
            raise Malformed("a ledger is not one that a client stores")
        return cls(begun, finished, entries)

    def has_answered(self, announcement: Announcement) -> bool:
        questions = (self.entries[at - DIGEST : at] for at in range(ENTRY, len(self.entries) + 1, ENTRY))
        return announcement.question in questions

    @property
    def excess(self) -> int:
        """Rounds broken off minus rounds finished: over many rounds, some are broken off by accident."""
        return self.begun - 2 * self.finished

    def begin(self) -> "Ledger":
        return replace(self, begun=self.begun + 1)

    def answer(self, announcement: Announcement) -> "Ledger":
        entry = announcement.session + U32.pack(announcement.round) + announcement.question
        return replace(self, entries=self.entries + entry)

    def finish(self) -> "Ledger":
        return replace(self, finished=self.finished + 1)

    def forgive(self, rounds: int) -> "Ledger":
        """As if so many fewer rounds had been broken off, but no fewer than were finished."""
        return replace(self, begun=self.begun - min(rounds, max(self.excess, 0)))
