"""The server's whole view of a run, in one file: every question and every sum, stored round by round.

A round is in the file entirely or not at all, so a run that was killed can be resumed. Rounds are chained by hashes, so
a changed file is detected.
"""

import glob
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.conversation.codec import text_of
from folkmoot.conversation.rounds import Ask, Cost, Making, Sum
from folkmoot.foundation.documents import read_json
from folkmoot.foundation.errors import InputError, TranscriptError
from folkmoot.foundation.inputs import as_path
from folkmoot.foundation.sets import Ids, Mask
from folkmoot.secagg.faults import Fault

FORMAT = "folkmoot-transcript-4"
FORMER = tuple(f"folkmoot-transcript-{number}".encode() for number in (1, 2, 3))
MAGIC = b"SQLite format 3\0"
QUICKLY = 1  # zlib's level: a run waits for every round to be stored
# The column `cost` says what a round cost and, where secure aggregation made its sum, how.
TABLES = """
create table about (name text primary key, value blob not null);
create table rounds (
    number integer primary key, purpose text not null, label text not null, ask blob not null,
    digest text not null, total blob not null,
    count integer not null, clients integer not null, asked integer not null, lost integer not null,
    spent integer not null, present blob not null, cost text not null, chain text not null
);
"""
# A round that was begun: whether clients were asked for their answers (1), and for what reveals the sum (2).
INTENTS = (
    "create table if not exists intents (number integer primary key, digest text not null, stage integer not null)"
)
ENTRIES = ("format", "version", "run", "population", "terms", "seen", "result")  # of the table `about`
HEADER = ("page_count", "page_size", "user_version", "application_id")
OPEN, SEALED = 1, 2  # in the column `spent`
ANSWERING, REVEALING = 1, 2  # in the column `stage`


class Transcript:
    """A file of rounds. Use `create` or `reopen`; close it when done."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path, self.database = path, database

    @classmethod
    @contextmanager
    def create(cls, path: str | Path, about: dict[str, bytes]) -> Iterator["Transcript"]:
        """A new file; one that already exists is not touched."""
        where = as_path(path, "transcript")
        if where.is_dir():
            raise InputError(f"{where} is a folder", remedy="give the name of a file", argument="transcript")
        if where.exists():
            raise InputError(
                f"{where} already exists",
                remedy="call resume() to continue it, or give another name",
                argument="transcript",
            )
        if not where.parent.is_dir():
            raise InputError(f"there is no folder {where.parent}", argument="transcript")
        fresh = where.with_name(f".{where.name}.{os.getpid()}")  # it gets its final name once it can be resumed
        try:
            with _open(fresh) as database:
                database.executescript(f"begin; {TABLES} commit;")
                with database:
                    rows = [("format", FORMAT.encode()), *about.items()]
                    database.executemany("insert into about values (?, ?)", rows)
            os.replace(fresh, where)
        finally:
            for left in where.parent.glob(f".{glob.escape(where.name)}.{os.getpid()}*"):
                left.unlink()
        with _open(where) as database:
            yield cls(where, database)

    @classmethod
    @contextmanager
    def reopen(cls, path: str | Path, *, reading: bool = False) -> Iterator["Transcript"]:
        """An existing file; with `reading`, nothing is ever written to it."""
        where = as_path(path, "transcript")
        if not where.is_file():
            raise InputError(f"there is no file {where}", argument="transcript")
        with open(where, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise TranscriptError("is not a transcript", place=where)
        if reading and where.with_name(f"{where.name}-wal").exists():
            raise TranscriptError("the run is not finished", remedy="call resume() to continue it", place=where)
        with _open(where, reading=reading) as database:
            transcript = cls(where, database)
            if transcript.read_entry("format") in FORMER:
                raise TranscriptError(
                    "was written by an older version of folkmoot, in a format that can no longer be read",
                    remedy="run it again",
                    place=where,
                )
            if transcript.read_entry("format") != FORMAT.encode():
                raise TranscriptError(f"is not a transcript in the format {FORMAT!r}", place=where)
            transcript.check_words()
            if reading:
                transcript.refuse_additions()
            yield transcript

    def check_words(self) -> None:
        """Refuse entries that cannot be read as what they are."""
        for name in ("version", "result"):
            try:
                (self.read_entry(name) or b"").decode()
            except UnicodeDecodeError:
                raise TranscriptError(f"is damaged (entry {name})", place=self.path) from None
        if self.read_entry("seen") not in (None, b"everything", b"sums"):  # early ones have none
            raise TranscriptError("is damaged (entry seen)", place=self.path)

    def refuse_additions(self) -> None:
        """Refuse what no run writes: no hash covers it, and whoever opens the file would read it."""
        parts = "select type, name, sql from sqlite_master"
        with closing(sqlite3.connect(":memory:")) as model:
            model.executescript(f"{TABLES} {INTENTS}")
            known = {*model.execute(parts)}
        names = ", ".join("?" for _ in ENTRIES)
        strange = [
            f"{kind} {name}" for kind, name, sql in self.database.execute(parts) if (kind, name, sql) not in known
        ]
        rows = self.database.execute(f"select name from about where name not in ({names})", ENTRIES)
        strange += [f"entry {name}" for (name,) in rows]
        strange += [] if strange else [f"begun round {number}" for number in self._list_strange_intents()]
        if strange:
            raise TranscriptError(f"holds what no run writes ({strange[0]})", place=self.path)
        pages, size, *marks = (self.database.execute(f"pragma {name}").fetchone()[0] for name in HEADER)
        if any(marks):
            raise TranscriptError("holds what no run writes (numbers in its head)", place=self.path)
        if self.path.stat().st_size != pages * size:
            raise TranscriptError("holds what no run writes (bytes after its end)", place=self.path)

    def _list_strange_intents(self) -> list[int]:
        """Rounds of a finished run that are said to be begun, and are not there, or ask something else."""
        begun = self.database.execute("select 1 from sqlite_master where name = 'intents'").fetchone()
        if begun is None or self.read_entry("result") is None:
            return []
        rows = self.database.execute(
            "select number from intents left join rounds using (number) "
            "where rounds.digest is not intents.digest or stage not in (?, ?)",
            (ANSWERING, REVEALING),
        )
        return [number for (number,) in rows]

    def read_entry(self, name: str) -> bytes | None:
        row = self.database.execute("select value from about where name = ?", (name,)).fetchone()
        if row is None:
            return None
        return row[0].encode() if isinstance(row[0], str) else bytes(row[0])

    def __len__(self) -> int:
        return int(self.database.execute("select count(*) from rounds").fetchone()[0])

    def recall(self, ask: Ask) -> Sum | None:
        """The stored sum of this round, if there is one; refused if a different question was asked in it."""
        row = self.database.execute(
            "select digest, total, count, clients, asked, lost, spent, present, cost, chain, ask, label, purpose "
            "from rounds where number = ?",
            (ask.number,),
        ).fetchone()
        if row is None:
            return None
        digest, total, *numbers, present, cost, chain, stored, label, purpose = row
        text = text_of(ask)
        called = label == ask.label and purpose == ask.purpose
        if not called or _text(stored) != text or digest != _digest(text):
            raise TranscriptError(
                f"round {ask.number} ({ask.label}) is not what this run would ask; "
                "it was made with other settings, or was changed",
                place=self.path,
            )
        whole = isinstance(total, bytes) and isinstance(present, bytes)
        if not whole or chain != self._chain(ask.number, digest, total, present, cost, *numbers):
            raise TranscriptError(f"the sum of round {ask.number} ({ask.label}) was changed", place=self.path)
        try:
            values = np.frombuffer(_unzip(total), dtype=np.int64).copy()
            marks, (price, about) = _marks(present, ask.cohort.size), _read_cost(cost)
        except (ValueError, TypeError, AttributeError):
            raise TranscriptError(f"round {ask.number} ({ask.label}) cannot be read", place=self.path) from None
        if len(values) != ask.query.length:
            raise TranscriptError(f"the sum of round {ask.number} ({ask.label}) has the wrong length", place=self.path)
        count, clients, asked, lost, spent = numbers
        odd = asked != ask.cohort.weight or lost not in (0, 1) or spent not in ((0, OPEN, SEALED) if lost else (0,))
        if odd or (about.get("noise") and ask.query.added_noise is None):
            raise TranscriptError(f"round {ask.number} ({ask.label}) cannot have been like this", place=self.path)
        sealed = spent == SEALED
        return Sum(values, count, clients, asked, bool(lost), marks, bool(spent), price, sealed, old=True, **about)

    def read_totals(self, purpose: str) -> list[Ids]:
        """The sums of all rounds that were for this."""
        asked = "select total from rounds where purpose = ? and lost = 0 order by number"
        rows = self.database.execute(asked, (purpose,))
        return [np.frombuffer(zlib.decompress(total), dtype=np.int64) for (total,) in rows]

    def list_sums(self, purpose: str) -> list[tuple[int, int]]:
        """The rounds that were for this and have a sum: their numbers, and how many clients are in it."""
        asked = "select number, clients from rounds where purpose = ? and lost = 0 and clients > 0 order by number"
        return self.database.execute(asked, (purpose,)).fetchall()

    def read_asked(self, number: int) -> tuple[bytes, bytes]:
        """What was asked in a round, and which of those asked are in its sum, as both are stored; nothing: all are."""
        ask, present = self.database.execute("select ask, present from rounds where number = ?", (number,)).fetchone()
        return ask, present

    def intend(self, ask: Ask, stage: int) -> None:
        """Write down how far a round is about to go, before anybody is asked."""
        with self.database:
            self.database.execute(INTENTS)
            row = ask.number, _digest(text_of(ask)), stage
            self.database.execute("insert or replace into intents values (?, ?, ?)", row)

    def recall_broken(self, ask: Ask) -> Sum | None:
        """A round that was begun, and of which nothing else is known: it is lost, and never asked again.

        If clients were not asked for what reveals the sum, nobody can learn it any more: they forget the round when the
        next one begins.
        """
        self.database.execute(INTENTS)
        row = self.database.execute("select digest, stage from intents where number = ?", (ask.number,)).fetchone()
        if row is None or row[0] != _digest(text_of(ask)):
            return None
        return Sum.lose(ask, 0, spent=True, sealed=row[1] < REVEALING)

    def note(self, ask: Ask, answer: Sum) -> None:
        """Store a round, entirely or not at all."""
        text = text_of(ask)
        digest, total = _digest(text), zlib.compress(answer.total.tobytes(), QUICKLY)
        present = b"" if answer.present is None else zlib.compress(np.packbits(answer.present).tobytes(), QUICKLY)
        spent = 0 if not answer.spent else SEALED if answer.sealed else OPEN
        numbers = (answer.count, answer.clients, answer.asked, int(answer.lost), spent)
        cost = _write_cost(answer)
        chain = self._chain(ask.number, digest, total, present, cost, *numbers)
        packed = zlib.compress(text.encode(), QUICKLY)
        with self.database:
            self.database.execute(
                "insert into rounds values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (ask.number, ask.purpose, ask.label, packed, digest, total, *numbers, present, cost, chain),
            )

    def forget_lost(self) -> None:
        """Delete the rounds that were lost at the end of a failed run, so that they are asked again. Rounds in which
        clients had sent answers stay: then others are asked, if any are left. So do those before a round that was
        begun: whatever is asked next must know of it.
        """
        kept = "select number from rounds where lost = 0 or spent > 0 union all select number from intents"
        with self.database:
            self.database.execute(INTENTS)
            self.database.execute(f"delete from rounds where number > (select coalesce(max(number), -1) from ({kept}))")

    def finish(self, result: str) -> None:
        with self.database:
            self.database.execute("insert or replace into about values ('result', ?)", (result.encode(),))

    def _chain(self, number: int, digest: str, total: bytes, present: bytes, cost: str, *numbers: int) -> str:
        """A hash of this round and, through the previous one, of all earlier rounds."""
        before = self.database.execute("select chain from rounds where number = ?", (number - 1,)).fetchone()
        start = sha256(b"".join(self.read_entry(name) or b"" for name in ("run", "population"))).hexdigest()
        hashes = (sha256(part).hexdigest() for part in (total, present))
        parts: list[Any] = [start if before is None else before[0], number, digest, *hashes, cost, *numbers]
        return sha256(json.dumps(parts).encode()).hexdigest()


def _write_cost(answer: Sum) -> str:
    """What a round cost, how its sum was made, its noise, and who was left out of it."""
    about: dict[str, Any] = {} if answer.made is None else {"made": asdict(answer.made)}
    if answer.noise:
        about |= {"noise": answer.noise, "honest": answer.honest}
    if answer.excluded:
        about["excluded"] = {str(one): str(fault) for one, fault in sorted(answer.excluded.items())}
    if not about:
        return json.dumps(None if answer.cost is None else asdict(answer.cost))
    cost = Cost(0.0, 0.0, measured=False) if answer.cost is None else answer.cost
    return json.dumps({**asdict(cost), **about})


def _read_cost(stored: str) -> tuple[Cost | None, dict[str, Any]]:
    """What a round cost, and what else was written with it."""
    known = read_json(stored)
    if json.dumps(known) != stored:
        raise ValueError("is not as it is written")
    if known is None:
        return None, {}
    about = {name: known.pop(name) for name in ("made", "noise", "honest", "excluded") if name in known}
    if "made" in about:
        about["made"] = Making(**about["made"])
    if "excluded" in about:
        about["excluded"] = {int(one): Fault(fault) for one, fault in about["excluded"].items()}
    cost = Cost(**known)
    if not all(isfinite(one) for one in (cost.down, cost.up, cost.seconds)):
        raise ValueError("is not a number")
    return cost, about


def _marks(stored: bytes, size: int) -> Mask | None:
    """Who is in a sum, as a mask of a cohort of this size."""
    if not stored:
        return None
    packed = np.frombuffer(_unzip(stored), dtype=np.uint8)
    marks = np.unpackbits(packed, count=size).astype(bool)
    if not np.array_equal(np.packbits(marks), packed):
        raise ValueError("says something of others than were asked")
    return marks


def _unzip(stored: bytes) -> bytes:
    """All that is stored, and nothing after it: that would be in no sum."""
    reader = zlib.decompressobj()
    data = reader.decompress(stored)
    if not reader.eof or reader.unused_data:
        raise zlib.error("bytes are missing, or follow the end")
    return data


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _text(stored: Any) -> str:
    """The text of a stored question; empty if it cannot be read."""
    try:
        return _unzip(stored).decode()
    except (TypeError, ValueError, zlib.error):
        return ""


@contextmanager
def _open(path: Path, *, reading: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file for one process at a time; the write-ahead log is merged into it at the end."""
    try:
        where = f"{path.absolute().as_uri()}?mode={'ro' if reading else 'rwc'}"
        database = sqlite3.connect(where, uri=True, timeout=1.0, check_same_thread=False)
        try:
            if not reading:
                database.execute("pragma locking_mode = exclusive")
                database.execute("pragma journal_mode = wal")
                database.execute("pragma synchronous = full")
            yield database
        finally:
            try:
                if not reading and not database.in_transaction:
                    database.execute("pragma journal_mode = delete")
            finally:
                database.close()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise TranscriptError("another process is working on this run", place=path) from None
        raise TranscriptError(f"cannot be read or written ({error})", place=path) from None
    except (sqlite3.DatabaseError, zlib.error) as error:
        raise TranscriptError(f"is not a transcript, or is damaged ({error})", place=path) from None
