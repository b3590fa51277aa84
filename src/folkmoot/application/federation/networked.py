"""A run whose clients are at parties on a network: nothing but the list of items and sums are in this process."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from folkmoot.algorithms import PrivateGreedy
from folkmoot.application.federation.agreement import ROOT, Agreement
from folkmoot.application.federation.left_out import list_caught, name_parties, note_findings
from folkmoot.application.federation.notices import Notices, ShownEngine, show_waiting
from folkmoot.application.folder import Folder, Participants, write
from folkmoot.application.job import (
    METHODS,
    Announce,
    Task,
    add_map,
    announce_nothing,
    constrain,
    make_method,
    own_settings,
)
from folkmoot.application.outlook import Outlook
from folkmoot.application.problem import Problem
from folkmoot.conversation.engine import Engine
from folkmoot.conversation.outcome import Conversation
from folkmoot.data import load_subject
from folkmoot.engines.desk import read_pin
from folkmoot.engines.enrolment import Registrar, RosterBook, load_root, split_enrolments
from folkmoot.engines.gathering import Line, PartyLine, gather
from folkmoot.engines.journal import RoundJournal
from folkmoot.engines.pooled_federation import PooledFederation
from folkmoot.foundation.errors import InputError, RoundFailed, TranscriptError
from folkmoot.foundation.settings import Data, PrivacySettings

ROSTER = "roster.json"  # of the last run, in the server's kit
OTHERS = 5.0  # seconds for parties beyond those that are needed to say which roster they have
RUN = 16  # bytes by which parties tell one run from another
OWN = ("credit",)  # what a problem may say about data that parties have
SIMULATED = ("secure", "dropout", "cluster")  # settings of simulations
AGREED = ("corrupt", "security")  # settings that the terms of a federation decide

Tell = Callable[[str], None]


def connect(kit: Path, names: tuple[str, ...], fewest: int, tell: Tell) -> AbstractContextManager[Line]:
    """A line to the parties of a kit; only here does a run need FLARE."""
    try:
        from folkmoot.engines.flare.line import open_line
    except ImportError:
        raise InputError(
            "NVIDIA FLARE is not installed", remedy="pip install 'folkmoot[federation]'", argument="federation"
        ) from None
    return open_line(kit, names, fewest, tell)


@dataclass(frozen=True, eq=False)
class NetworkedTask(Task):
    """A problem for the parties of a kit's agreement."""

    kit: Path
    agreement: Agreement

    @property
    def reach(self) -> float | None:
        return self.agreement.data.reach

    @property
    def registrar(self) -> Registrar:
        """What checks the enrolments of parties."""
        return Registrar(self.agreement.make_charter(self.subject.items), load_root(self.kit / ROOT))


def prepare_networked(problem: Problem) -> NetworkedTask:
    """Read the agreement and the list of items, and check everything that can be wrong before anyone is asked."""
    kit = _find_kit(problem)
    with problem.locate_errors():
        _check_settings(problem)
        agreement = Agreement.load(kit)
        subject = load_subject(agreement.data, kit)
    method = add_map(make_method(problem), subject, agreement.data.reach)
    assert isinstance(method, Conversation)
    matroid = constrain(problem, subject.items, problem.choose.count)
    with problem.locate_errors(own_settings(problem)):
        method.check(matroid)
    return NetworkedTask(problem, subject, matroid, method, kit, agreement)


def list_public_files(problem: Problem) -> dict[str, str]:
    """The list of items, wherever the kit is now."""
    kit = _find_kit(problem)
    return {"items": str(Agreement.load(kit).find_items(kit))}


def _find_kit(problem: Problem) -> Path:
    return Path(problem.privacy.federation or "")


def _check_settings(problem: Problem) -> None:
    """Refuse what the agreement decides, and what only a simulator can do."""
    if not issubclass(METHODS[problem.method.name], Conversation):
        raise InputError(
            f"{problem.method.name} needs all the data in one place, but it stays at its parties",
            argument="federation",
        )
    given = [one.name for one in fields(Data) if one.name not in OWN and _differs(problem.data, one)]
    if given:
        raise InputError(
            "is not for a problem of a federation, whose agreement says how data is read", argument=given[0]
        )
    said = {one.name for one in fields(PrivacySettings) if _differs(problem.privacy, one)}
    for name in SIMULATED:
        if name in said:
            raise InputError("is for simulations; parties of a federation mask their answers themselves", argument=name)
    for name in AGREED:
        if name in said:
            raise InputError("is not for a problem of a federation, whose agreement has the terms", argument=name)
    if problem.output.show_client:
        raise InputError("is for simulations; no client of a federation can be shown", argument="show_client")
    for name in ("patience", "wait"):
        if not getattr(problem.privacy, name) > 0:
            raise InputError(f"needs a number above 0, got {getattr(problem.privacy, name)}", argument=name)


def _differs(settings: Any, one: Any) -> bool:
    return bool(getattr(settings, one.name) != one.default)


@contextmanager
def open_federation(
    task: NetworkedTask, folder: Path | None, announce: Announce = announce_nothing
) -> Iterator[Engine]:
    """An engine for the time of a run. `folder`: where it is kept who takes part, and how far a round has come.
    `announce` is told what to expect under noise, once parties have said how many clients they have.
    """
    home = None if folder is None else Folder(folder)
    notices = Notices()
    with connect(task.kit, task.agreement.parties, task.agreement.quorum, notices.say) as line:
        book = _find_roster(task, home, line, notices)
        members = _keep_participants(task, home, book)
        with _open_journal(home) as journal:
            exchange, terms = _make_exchange(task, line, book, notices), task.agreement.terms
            engine = PooledFederation(book.census, book.roster, exchange, terms, run=members.run, journal=journal)
            if isinstance(task.method, PrivateGreedy):
                known = task.method.cohort, task.matroid.rank, terms
                mapped = task.method.positions is not None
                announce(Outlook.of(task.method.privacy, engine.population, *known, mapped=mapped))
            engine.leave_out(list_caught(task.kit, book))
            try:
                yield ShownEngine(engine, notices, partial(note_findings, task.kit, book))
            except RoundFailed as why:
                told = name_parties(why.problem, why.excluded, book.names)
                raise RoundFailed(told, place=why.place, remedy=why.remedy, excluded=why.excluded) from None


def _find_roster(task: NetworkedTask, home: Folder | None, line: Line, notices: Notices) -> RosterBook:
    """The keys of all parties. A run is continued with those that it was begun with, so that not all parties need be
    there.
    """
    registrar = task.registrar
    if home is not None and home.roster.exists():
        try:
            return registrar.read_book(split_enrolments(home.roster.read_bytes()), None)
        except InputError as why:
            raise TranscriptError(f"does not fit the agreement ({why.problem})", place=home.roster) from None
    with show_waiting(notices):
        book = _recall_roster(task, line, notices) or gather(line, registrar, task.problem.privacy.wait, notices)
    write(task.kit / ROSTER, book.encode())
    if home is not None:
        write(home.roster, book.encode())
    return book


def _recall_roster(task: NetworkedTask, line: Line, notices: Notices) -> RosterBook | None:
    """The roster of the last run, if enough parties are there and no party has another one; then not all need be."""
    try:
        book = read_pin(task.kit / ROSTER, task.registrar)
    except InputError:  # of an agreement before this one
        return None
    if book is None:
        return None
    exchange = _make_line(task, line, book, notices)
    exchange.await_quorum(None, or_stranger=True)
    if not exchange.strangers:
        exchange.await_others(OTHERS)
    return None if exchange.strangers else book


def _keep_participants(task: NetworkedTask, home: Folder | None, book: RosterBook) -> Participants:
    """Who takes part; at the beginning of a run its name is drawn, and both are written down."""
    members = None if home is None else home.read_participants()
    if members is None:
        agreed = task.agreement
        known = agreed.name, book.names, book.sizes, book.fingerprint, agreed.terms
        members = Participants(secrets.token_bytes(RUN), *known)
        if home is not None:
            write(home.federation, members.to_json())
    elif members.fingerprint != book.fingerprint and home is not None:
        raise TranscriptError("is not about the parties of the roster", place=home.federation)
    return members


def check_participants(task: NetworkedTask, home: Folder, clients: int) -> None:
    """Refuse a list of participants that is not what the parties signed, or not that of a transcript of so many
    clients.
    """
    members = home.read_participants()
    if members is None:
        raise TranscriptError("is missing", place=home.federation)
    try:
        book = task.registrar.read_book(split_enrolments(home.roster.read_bytes()), None)
    except (OSError, InputError) as why:
        said = why.problem if isinstance(why, InputError) else "it cannot be read"
        raise TranscriptError(f"does not fit the agreement ({said})", place=home.roster) from None
    agreed = task.agreement
    terms = agreed.name, book.names, book.sizes, book.fingerprint, agreed.terms
    if members != Participants(members.run, *terms) or members.n_clients != clients:
        raise TranscriptError("is not what the parties signed", place=home.federation)


@contextmanager
def _open_journal(home: Folder | None) -> Iterator[RoundJournal | None]:
    if home is None:
        yield None
        return
    with closing(RoundJournal(home.journal)) as journal:
        yield journal


def _make_exchange(task: NetworkedTask, line: Line, book: RosterBook, notices: Notices) -> PartyLine:
    """Enough parties are there when it returns: a round that another process began goes on in its middle."""
    exchange = _make_line(task, line, book, notices)
    with show_waiting(notices):
        exchange.await_quorum(None)
    return exchange


def _make_line(task: NetworkedTask, line: Line, book: RosterBook, notices: Notices) -> PartyLine:
    numbers, privacy, quorum = dict(enumerate(book.names)), task.problem.privacy, task.agreement.quorum
    return PartyLine(line, numbers, quorum, privacy.patience, privacy.wait, notices, book.fingerprint)
