"""What goes between a server and the parties that hold clients.

An exchange is addressed by party: a party may hold thousands of clients, and what they all need, such as the question,
is sent to it once.
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
    """All that one party is sent in an exchange, or replies: a message for or from each of its clients.

    In the exchange that asks the question, that is `question`; a client's message then says how often it counts, and
    its reply who speaks for it.
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
        """For transports. What several clients are sent alike is written once."""
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

    A party or a client that is missing from what it returns has dropped out. deadline: when it returns at the latest,
    by the clock `time.monotonic`, with what there is by then; None: when all parties have replied or are known to be
    gone.
    """

    def __call__(self, outbox: Mapping[int, Bundle], deadline: float | None) -> Mapping[int, Bundle]: ...


class Replier(Protocol):
    """Whoever answers bundles, such as a party."""

    def reply(self, sent: Bundle) -> Bundle: ...


@dataclass(frozen=True)
class InProcess:
    """An exchange with parties in this process, who reply at once."""

    parties: Mapping[int, Replier]

    def __call__(self, outbox: Mapping[int, Bundle], deadline: float | None) -> dict[int, Bundle]:  # noqa: ARG002
        return {party: self.parties[party].reply(sent) for party, sent in outbox.items() if party in self.parties}
