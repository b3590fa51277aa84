"""What is sent between a server and the parties that hold clients.

Messages are addressed by party: a party may hold thousands of clients, and what they all need, such as the question, is
sent to it only once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from struct import Struct, error
from typing import Protocol

from folkmoot.foundation.errors import InputError
from folkmoot.secagg.together import stage_of

HEAD, SIZE, LETTER = Struct("<QII"), Struct("<Q"), Struct("<II")
QUESTION = "question"  # the exchange before the secure sum


@dataclass(frozen=True)
class Bundle:
    """All that one party is sent, or replies, in an exchange: one message to or from each of its clients.

    In the exchange that asks the question, `question` holds it; the message to a client then says how often the client
    counts, and its reply says who speaks for it.
    """

    letters: Mapping[int, bytes]  # by client
    question: bytes = field(default=b"", repr=False)

    @property
    def stage(self) -> str:
        """The exchange that it belongs to."""
        return QUESTION if self.question else stage_of(self.letters)

    def select(self, keep: Callable[[int], bool]) -> "Bundle":
        """The same for some of the clients."""
        return Bundle({client: letter for client, letter in self.letters.items() if keep(client)}, self.question)

    def encode(self) -> bytes:
        """As bytes, for transports. A message that goes to several clients is written once."""
        places: dict[bytes, int] = {}
        pairs = [(client, places.setdefault(letter, len(places))) for client, letter in self.letters.items()]
        parts = [HEAD.pack(len(self.question), len(places), len(pairs)), self.question]
        parts += [part for letter in places for part in (SIZE.pack(len(letter)), letter)]
        return b"".join([*parts, *(LETTER.pack(*pair) for pair in pairs)])

    @classmethod
    def decode(cls, data: bytes) -> "Bundle":
        """What was encoded; anything else is refused."""
        try:
            size, distinct, count = HEAD.unpack_from(data)
            at = HEAD.size + size
            question, letters = data[HEAD.size : at], list[bytes]()
            for _ in range(distinct):
                (size,) = SIZE.unpack_from(data, at)
                letters.append(data[at + SIZE.size : at + SIZE.size + size])
                at += SIZE.size + size
            pairs = list(LETTER.iter_unpack(data[at:]))
            bundle = cls({client: letters[place] for client, place in pairs}, question)
        except (error, IndexError, OverflowError):
            raise InputError("is not a bundle of messages", argument="data") from None
        if at > len(data) or len(pairs) != count or len(bundle.letters) != count:
            raise InputError("is not a bundle of messages", argument="data")
        return bundle


class Exchange(Protocol):
    """Carries bundles to parties, and their replies back.

    A party or a client that is missing from the result has dropped out. deadline: the latest time to return, by the
    clock `time.monotonic`, with the replies there are by then; None: when all parties have replied or are known to be
    unreachable.
    """

    def __call__(self, outbox: Mapping[int, Bundle], deadline: float | None) -> Mapping[int, Bundle]: ...


class Replier(Protocol):
    """Anything that answers bundles, such as a party."""

    def reply(self, sent: Bundle) -> Bundle: ...


@dataclass(frozen=True)
class InProcess:
    """An exchange with parties in this process, which reply at once."""

    parties: Mapping[int, Replier]

    def __call__(self, outbox: Mapping[int, Bundle], deadline: float | None) -> dict[int, Bundle]:  # noqa: ARG002
        return {party: self.parties[party].reply(sent) for party, sent in outbox.items() if party in self.parties}
