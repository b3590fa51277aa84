"""The server's whole view of a run, in one file: every question and every sum, stored as they come.

A round is in the file entirely or not at all, so a run that was killed can go on from where it was. Rounds are
chained by hashes; a changed file is noticed.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.codec import digest_of, packed
from folkmoot.errors import InputError, TranscriptError
from folkmoot.rounds import Ask, Sum

FORMAT = "folkmoot-transcript-1"
TABLES = """
create table about (name text primary key, value blob not null);
create table rounds (
    number integer primary key, label text not null, ask blob not null, digest text not null, total blob not null,
    count integer not null, clients integer not null, asked integer not null, chain text not null
);
"""


class Transcript:
    """A file of rounds. Use `create` or `reopen`; close it when done."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path, self.database = path, database

    @classmethod
    @contextmanager
    def create(cls, path: str | Path, about: dict[str, bytes]) -> Iterator["Transcript"]:
        """A new file; one that is there already is not touched."""
        where = Path(path)
        if where.exists():
            raise InputError(f"transcript: {where} is there already; resume() goes on with it, or give another name")
        if not where.parent.is_dir():
            raise InputError(f"transcript: there is no folder {where.parent}")
        with _opened(where) as database:
            database.executescript(f"begin; {TABLES} commit;")
            with database:
                rows = [("format", FORMAT.encode()), *about.items()]
                database.executemany("insert into about values (?, ?)", rows)
            yield cls(where, database)

    @classmethod
    @contextmanager
    def reopen(cls, path: str | Path) -> Iterator["Transcript"]:
        where = Path(path)
        if not where.is_file():
            raise InputError(f"transcript: there is no file {where}")
        with _opened(where) as database:
            transcript = cls(where, database)
            if transcript.about("format") != FORMAT.encode():
                raise TranscriptError(f"{where}: is not a transcript in the form {FORMAT!r}")
            yield transcript

    def about(self, name: str) -> bytes | None:
        row = self.database.execute("select value from about where name = ?", (name,)).fetchone()
        if row is None:
            return None
        return row[0].encode() if isinstance(row[0], str) else bytes(row[0])

    def __len__(self) -> int:
        return int(self.database.execute("select count(*) from rounds").fetchone()[0])

    def recall(self, ask: Ask) -> Sum | None:
        """The sum of this round, if it was asked before; a different question in its place is refused."""
        row = self.database.execute(
            "select digest, total, count, clients, asked, chain from rounds where number = ?", (ask.number,)
        ).fetchone()
        if row is None:
            return None
        digest, total, count, clients, asked, chain = row
        if digest != digest_of(ask):
            raise TranscriptError(
                f"{self.path}: round {ask.number} ({ask.label}) is not what this run would ask; "
                "it was made with other settings, or changed"
            )
        if chain != self._chain(ask.number, digest, total, count, clients, asked):
            raise TranscriptError(f"{self.path}: the sum of round {ask.number} ({ask.label}) was changed")
        numbers = np.frombuffer(zlib.decompress(total), dtype=np.int64).copy()
        if len(numbers) != ask.query.length:
            raise TranscriptError(f"{self.path}: the sum of round {ask.number} ({ask.label}) has a wrong length")
        return Sum(numbers, count, clients, asked)

    def note(self, ask: Ask, answer: Sum) -> None:
        """Store a round, all of it or nothing."""
        digest, total = digest_of(ask), zlib.compress(answer.total.tobytes())
        numbers = (answer.count, answer.clients, answer.asked)
        chain = self._chain(ask.number, digest, total, *numbers)
        with self.database:
            self.database.execute(
                "insert into rounds values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (ask.number, ask.label, packed(ask), digest, total, *numbers, chain),
            )

    def finish(self, result: str) -> None:
        with self.database:
            self.database.execute("insert or replace into about values ('result', ?)", (result.encode(),))

    def _chain(self, number: int, digest: str, total: bytes, *numbers: int) -> str:
        """A hash of this round and, through the one before, of all before."""
        before = self.database.execute("select chain from rounds where number = ?", (number - 1,)).fetchone()
        start = sha256(b"".join(self.about(name) or b"" for name in ("run", "population"))).hexdigest()
        parts: list[Any] = [start if before is None else before[0], number, digest, sha256(total).hexdigest(), *numbers]
        return sha256(json.dumps(parts).encode()).hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """One process at a time; the write-ahead log is folded into the file at the end."""
    try:
        database = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
        try:
            database.execute("pragma locking_mode = exclusive")
            database.execute("pragma journal_mode = wal")
            database.execute("pragma synchronous = full")
            yield database
        finally:
            try:
                if not database.in_transaction:
                    database.execute("pragma journal_mode = delete")
            finally:
                database.close()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise TranscriptError(f"{path}: another process is working on this run") from None
        raise TranscriptError(f"{path}: cannot be read or written ({error})") from None
    except (sqlite3.DatabaseError, zlib.error) as error:
        raise TranscriptError(f"{path}: is not a transcript, or is damaged ({error})") from None
