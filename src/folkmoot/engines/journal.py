"""What a server has received in the round that it is in, in a file: another process can continue the round.

All that a server sends follows from the question, and from what it has received before. So only that is written down,
before it is acted on. Whatever was sent last is sent again: parties reply the same bytes to the same message.
"""

import sqlite3
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from struct import Struct
from typing import Any

from folkmoot.conversation.codec import text_of
from folkmoot.conversation.rounds import Ask
from folkmoot.engines.exchange import Bundle
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_path

HEAD = Struct("<qQ")  # of a party's reply: its name, and the size of the reply
TABLE = "create table if not exists records (place integer primary key, data blob not null)"


class RoundJournal:
    """A file that holds one round, the last one that was begun. It belongs to one run."""

    def __init__(self, path: str | Path) -> None:
        where = as_path(path, "journal")
        if not where.parent.is_dir():
            raise InputError(f"there is no folder {where.parent}", argument="journal")
        self._file = sqlite3.connect(where, isolation_level=None, check_same_thread=False)
        self._next = 0  # the place of the next record
        try:
            self._file.executescript(
                f"pragma page_size = 16384; pragma synchronous = full; pragma journal_mode = truncate; {TABLE};"
            )
        except sqlite3.DatabaseError as error:
            self._file.close()
            raise InputError(f"{where} is not the journal of a round ({error})", argument="journal") from None

    def holds(self, ask: Ask, asker: Mapping[str, Any]) -> bool:
        """Whether the round that was begun last is that of this question. asker: what distinguishes the engine, its run
        and its parties from others, which may have asked the same.
        """
        return self._read(0) == digest_round(ask, asker)

    def begin(self, ask: Ask, asker: Mapping[str, Any]) -> None:
        """Continue the round of this question if the file holds it; otherwise begin it, and forget the one before."""
        if not self.holds(ask, asker):
            with self._file:
                self._file.execute("begin")
                self._file.execute("delete from records")
                self._file.execute("insert into records values (0, ?)", (digest_round(ask, asker),))
        self._next = 1

    @property
    def is_ahead(self) -> bool:
        """Whether what comes next has been written down, by this process or by another."""
        return self._read(self._next) is not None

    def write_once(self, make: Callable[[], bytes]) -> bytes:
        """What was written down here before; otherwise something new, which is written down before it is returned."""
        data = self._read(self._next)
        if data is None:
            data = make()
            self._file.execute("insert into records values (?, ?)", (self._next, data))
        self._next += 1
        return data

    def forget(self) -> None:
        """The round is over, and nobody need know how it went."""
        self._file.execute("delete from records")

    def close(self) -> None:
        self._file.close()

    def _read(self, place: int) -> bytes | None:
        row = self._file.execute("select data from records where place = ?", (place,)).fetchone()
        if row is None:
            return None
        if not isinstance(row[0], bytes):
            raise InputError("the journal is damaged", remedy="delete it; its round is then lost", argument="journal")
        return row[0]


def digest_round(ask: Ask, asker: Mapping[str, Any]) -> bytes:
    return sha256(text_of({"ask": ask, "asker": dict(asker)}).encode()).digest()


def write_inbox(inbox: Mapping[int, Bundle]) -> bytes:
    """Replies in the order in which they came, on which messages may depend."""
    parts = [(name, reply.encode()) for name, reply in inbox.items()]
    return b"".join(part for name, data in parts for part in (HEAD.pack(name, len(data)), data))


def read_inbox(data: bytes) -> dict[int, Bundle]:
    inbox, at = dict[int, Bundle](), 0
    while at < len(data):
        name, size = HEAD.unpack_from(data, at)
        at += HEAD.size + size
        inbox[name] = Bundle.decode(data[at - size : at])
    return inbox
