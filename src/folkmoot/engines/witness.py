"""Over the server's shoulder: what it saw of one client in a round of the whole protocol, and what it learned.

What the client said is written beside it, which only a simulator can know.
"""

from dataclasses import dataclass

import numpy as np

from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.foundation.sets import Ids, Rows
from folkmoot.secagg import Announcement
from folkmoot.secagg.masks import as_words
from folkmoot.secagg.messages import masked_vector
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.together import Watch


@dataclass(frozen=True, eq=False)
class Seen:
    """One client in one round."""

    client: int
    clients: int
    label: str
    said: Ids
    seen: Ids  # after masking
    learned: Ids
    ring_bits: int


class Witness:
    """Remembers one client of the first round about items, its vector written out."""

    def __init__(self) -> None:
        self.found: Seen | None = None
        self._half: tuple[int, Ids, Ids] | None = None

    def watch_round(self, ask: Ask, announcement: Announcement, speakers: Ids, rows: Rows) -> Watch | None:
        """What to call with every message of a round; None where there is nothing to see in it."""
        self._half = None  # a round that was lost left nothing to be learned
        if self.found is not None or ask.purpose is not Purpose.SINGLETONS or announcement.room:
            return None
        client = int(speakers[int(np.diff(rows.indptr).argmax())])  # who has most to say
        said = rows[[int(np.flatnonzero(speakers == client)[0])]].toarray()[0].astype(np.int64)

        def watch(stage: str, one: int, _received: bytes, sent: bytes) -> None:
            if stage == "vector" and one == client:
                bits = announcement.ring_bits
                words = as_words(np.zeros(announcement.length), bits)
                add_packed(masked_vector(sent, announcement), bits, words)
                self._half = client, said, words.astype(np.int64)

        return watch

    def learned(self, ask: Ask, announcement: Announcement, total: Ids, survivors: int) -> None:
        """The end of the round."""
        if self._half is not None and self.found is None:
            client, said, seen = self._half
            self.found = Seen(client, survivors, ask.label, said, seen, total, announcement.ring_bits)
