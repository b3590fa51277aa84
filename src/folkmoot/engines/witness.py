"""What the server saw of one client in a round of the whole protocol, and what it learned.

The client's answer is shown for comparison; only a simulator can know it.
"""

from dataclasses import dataclass

import numpy as np

from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.foundation.sets import Ids, Rows
from folkmoot.questions.within import Within
from folkmoot.secagg import Announcement
from folkmoot.secagg.masks import as_words
from folkmoot.secagg.messages import masked_vector
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.together import Watch


@dataclass(frozen=True, eq=False)
class Sighting:
    """One client in one round."""

    client: int
    clients: int
    label: str
    said: Ids
    seen: Ids  # after masking
    learned: Ids
    ring_bits: int


class Witness:
    """Remembers one client of the first round about single items, if vectors are sent in full."""

    def __init__(self) -> None:
        self.found: Sighting | None = None
        self._half: tuple[int, Ids, Ids, int] | None = None

    def wants(self, ask: Ask) -> bool:
        """Whether this round should be watched: the numbers of an answer must be those of all items, in their order."""
        return self.found is None and ask.purpose is Purpose.SINGLETONS and not isinstance(ask.query, Within)

    def watch_round(self, speakers: Ids, rows: Rows) -> Watch:
        """The function to call with every message of a round; `rows` are the speakers' answers."""
        self._half = None  # forget what was seen of a round that was lost
        place = int(np.diff(rows.indptr).argmax())  # the client with the most numbers other than 0
        client, said = int(speakers[place]), rows[[place]].toarray()[0].astype(np.int64)
        announced: list[Announcement] = []

        def watch(stage: str, one: int, received: bytes, sent: bytes) -> None:
            if one != client:
                return
            if stage == "keys":
                announced.append(Announcement.decode(received))
            elif stage == "vector" and announced and not announced[0].room:
                bits = announced[0].ring_bits
                words = as_words(np.zeros(announced[0].length), bits)
                add_packed(masked_vector(sent, announced[0]), bits, words)
                self._half = client, said, words.astype(np.int64), bits

        return watch

    def learn(self, ask: Ask, total: Ids, survivors: int) -> None:
        """Complete what was seen with the sum, at the end of the round."""
        if self._half is not None and self.found is None:
            client, said, seen, bits = self._half
            self.found = Sighting(client, survivors, ask.label, said, seen, total, bits)
