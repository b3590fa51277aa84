"""A store in a folder, which outlives its process."""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import ClassVar

from folkmoot.engines.odometer import Mileage
from folkmoot.engines.odometer_mark import MARK, check_mark, read_mark, write_mark
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
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_path
from folkmoot.secagg.state import State

FILE = "party.sqlite"
LOCK = "party.lock"  # held by the process that uses the folder, for as long as it lives; others may read the file
PATIENCE = 60.0  # seconds that a write waits for somebody who reads
TABLES = """
create table if not exists states (client integer primary key, state blob not null);
create table if not exists credits (client integer primary key, uptime real not null);
create table if not exists ledger (
    stage text not null, kind text not null, question text not null, session text not null, round integer not null,
    time real not null, clients integer not null, run text not null default '', mu real not null default 0
);
create table if not exists answered (
    question text not null, run text not null, members blob not null, primary key (question, run)
);
create table if not exists pinned (name text primary key, value text not null);
create table if not exists secrets (name text primary key, value blob not null);
create table if not exists cohorts (
    census text not null, size integer not null, even integer not null, members blob not null,
    primary key (census, size, members)
);
create table if not exists outbox (
    time real not null, stage text not null, why text not null, bytes integer not null, digest text not null
);
create table if not exists refusals (time real not null, stage text not null, why text not null, client integer);
create table if not exists round (question blob not null, announced blob not null, answered integer not null);
create table if not exists replies (message blob primary key, reply blob not null);
create table if not exists odometer (
    one integer primary key check (one = 1), charges integer not null, before text not null, squares blob not null
);
"""
LATER = {"run": "text not null default ''", "mu": "real not null default 0"}  # columns that older ledgers lack
NOTE = "insert into outbox values (?, ?, ?, ?, ?)"


class PartyFile:
    """The logs in a party's file, and its clients' states."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def read_outbox(self, since: float = 0.0) -> list[SentMessage]:
        rows = self._file.execute("select * from outbox where time >= ? order by rowid", (since,))
        return [SentMessage(*row) for row in rows]

    def read_refusals(self, since: float = 0.0) -> list[Refusal]:
        rows = self._file.execute("select * from refusals where time >= ? order by rowid", (since,))
        return [Refusal(*row) for row in rows]

    def read_ledger(self, since: float = 0.0) -> list[LedgerEntry]:
        rows = self._file.execute("select * from ledger where time >= ? order by rowid", (since,))
        return [LedgerEntry(*row) for row in rows]

    def list_states(self) -> Iterator[tuple[int, State]]:
        for client, state in self._file.execute("select client, state from states order by client"):
            yield client, State.decode(state)

    def read_mileage(self) -> Mileage:
        try:
            row = self._file.execute("select charges, squares, before from odometer").fetchone()
        except sqlite3.OperationalError:  # of a version before there was noise
            row = None
        return Mileage() if row is None else Mileage.decode(row[0], row[1], tuple(json.loads(row[2])))


class FolderStore(PartyFile):
    """Keeps everything in a folder, in one file that only its owner can read: it holds secrets.

    A state is in the file entirely or not at all, so after a crash a process finds the states of its last reply. Only
    one process can use a folder at a time; others can read its logs meanwhile (`open_logs`).

    How far the odometer is, is also kept in a file of its own, which is written when the first has it, before the
    answer leaves. So if the first is behind, somebody put an older copy in its place, and it is refused: keys could be
    used twice, and clients would pay too little. restored: accept it nevertheless.
    """

    keeps_outbox: ClassVar[bool] = True

    def __init__(self, folder: str | Path, *, restored: bool = False) -> None:
        path = as_path(folder, "folder") / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        os.chmod(path, 0o600)  # it may have existed
        self._lock = sqlite3.connect(path.with_name(LOCK), timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._lock.execute("begin exclusive")  # until the process ends, however it ends
        except sqlite3.DatabaseError:
            self._lock.close()
            raise InputError(
                f"{path.parent} is in use by another process", remedy="stop that first", argument="folder"
            ) from None
        super().__init__(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False))
        try:
            self._file.executescript(
                "pragma synchronous = full; pragma secure_delete = on;"
                "pragma journal_mode = truncate;"  # otherwise the journal keeps secrets that the file has forgotten
            )
            self._file.executescript(f"begin exclusive; {TABLES} commit;")
            known = {name for name, *_ in self._file.execute("select * from ledger limit 0").description}
            for name, kind in LATER.items():
                if name not in known:
                    self._file.execute(f"alter table ledger add column {name} {kind}")
        except sqlite3.DatabaseError:
            self.close()
            raise InputError(f"{path} is not a party's file", argument="folder") from None
        self._mark = path.with_name(MARK)
        if not restored:
            try:
                check_mark(self._mark, read_mark(self._mark), path, self.read_mileage())
            except InputError:
                self.close()
                raise

    def read_most_paid(self) -> tuple[float, ...]:
        """Σμ² of the client who paid most, in each of ADJACENCIES, even if an older copy was restored."""
        return tuple(map(max, self.read_mileage().largest, (read_mark(self._mark) or Mileage()).before))

    def begin_mileage(self, before: tuple[float, ...]) -> None:
        """In a new store: take everybody to have paid this much."""
        now = Mileage(before=before)
        with self._file:
            self._keep_mileage(now)
        write_mark(self._mark, now)

    def _keep_mileage(self, now: Mileage) -> None:
        row = (now.charges, json.dumps(now.before), now.encode())
        self._file.execute("insert or replace into odometer values (1, ?, ?, ?)", row)

    def keep_secret(self, drawn: bytes) -> bytes:
        with self._file:
            self._file.execute("insert or ignore into secrets values ('coins', ?)", (drawn,))
        return bytes(self._file.execute("select value from secrets where name = 'coins'").fetchone()[0])

    def load(self, client: int) -> State:
        row = self._file.execute("select state from states where client = ?", (client,)).fetchone()
        return State() if row is None else State.decode(row[0])

    def read_credit(self, client: int) -> float | None:
        row = self._file.execute("select uptime from credits where client = ?", (client,)).fetchone()
        return None if row is None else float(row[0])

    def save(self, update: StoreUpdate) -> None:
        entry, charge = update.entry, update.charge
        now = None if charge is None else self.read_mileage().add(charge)
        rows = [(client, state.encode()) for client, state in update.states.items()]
        with self._file:
            self._file.execute("begin")
            self._file.executemany("insert or replace into states values (?, ?)", rows)
            self._file.executemany("insert or replace into credits values (?, ?)", update.credits.items())
            if entry is not None:
                self._file.execute("insert into ledger values (?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(entry))
            if entry is not None and update.members:
                both = join_bits(update.members, self.read_members(entry.question, entry.run))
                self._file.execute(
                    "insert or replace into answered values (?, ?, ?)", (entry.question, entry.run, both)
                )
            if update.round is not None:
                self._keep_round(update.round)
            if update.given is not None:
                self._file.execute("insert or replace into replies values (?, ?)", astuple(update.given))
            if update.sent is not None:
                self._file.execute(NOTE, astuple(update.sent))
            if update.cohort is not None:
                self._file.execute("insert or ignore into cohorts values (?, ?, ?, ?)", astuple(update.cohort))
            if now is not None:
                self._keep_mileage(now)
        if now is not None:
            write_mark(self._mark, now)  # after that is safe, and before anything leaves

    def list_cohorts(self, like: PastCohort, within: int) -> Iterator[PastCohort]:
        about = like.census, like.size - within, like.size + within
        for row in self._file.execute("select * from cohorts where census = ? and size between ? and ?", about):
            yield PastCohort(*row)

    def _keep_round(self, round: OpenRound) -> None:
        before = self.read_round()
        if round.question != before.question:
            self._file.execute("delete from replies")
        if round != before:
            self._file.execute("delete from round")
            self._file.execute("insert into round values (?, ?, ?)", astuple(round))

    def read_round(self) -> OpenRound:
        row = self._file.execute("select question, announced, answered from round").fetchone()
        return OpenRound() if row is None else OpenRound(row[0], row[1], bool(row[2]))

    def make_sure(self) -> None:
        now = self.read_mileage()
        if now.charges > (read_mark(self._mark) or Mileage()).charges:
            write_mark(self._mark, now)

    def find_reply(self, message: bytes) -> bytes | None:
        row = self._file.execute("select reply from replies where message = ?", (message,)).fetchone()
        return None if row is None else bytes(row[0])

    def read_members(self, question: str, run: str | None = None) -> bytes:
        rows = self._file.execute("select run, members from answered where question = ?", (question,))
        return join_bits(*(bytes(marks) for where, marks in rows if run in (None, where)))

    def note_sent(self, message: SentMessage) -> None:
        with self._file:
            self._file.execute(NOTE, astuple(message))

    def note_refusals(self, refusals: Sequence[Refusal]) -> None:
        with self._file:
            self._file.execute("begin")
            self._file.executemany("insert into refusals values (?, ?, ?, ?)", map(astuple, refusals))
            oldest = "select max(rowid) - ? from refusals"
            self._file.execute(f"delete from refusals where rowid <= ({oldest})", (REMEMBERED,))

    def pin(self, name: str, value: str) -> None:
        with self._file:
            self._file.execute("insert or ignore into pinned values (?, ?)", (name, value))
        if self._file.execute("select value from pinned where name = ?", (name,)).fetchone()[0] != value:
            refuse_change(name)

    def close(self) -> None:
        self._file.close()
        self._lock.close()


def check_copy(folder: Path) -> None:
    """Refuse a folder in which an older copy of the store was put; its party may be running."""
    mark, now = read_mark(folder / MARK), Mileage()  # in this order: both may grow meanwhile
    if (folder / FILE).exists():
        with open_logs(folder) as logs:
            now = logs.read_mileage()
    check_mark(folder / MARK, mark, folder / FILE, now)


@contextmanager
def open_logs(folder: str | Path) -> Iterator[PartyFile]:
    """The ledger, the outbox and the refusals in a party's folder, to be read, even while the party uses it."""
    path = as_path(folder, "folder") / FILE
    if not path.is_file():
        raise InputError(f"there is no party's file in {path.parent}", argument="folder")
    where = f"{path.absolute().as_uri()}?mode=rw"  # a write that a crash broke off must be undone before it can be read
    with closing(sqlite3.connect(where, uri=True, timeout=PATIENCE, isolation_level=None)) as file:
        try:
            file.execute("pragma query_only = on")
            file.execute("select 1 from ledger, outbox, refusals limit 1").fetchone()
        except sqlite3.DatabaseError:
            raise InputError(f"{path} is not a party's file", argument="folder") from None
        yield PartyFile(file)
