"""A party's desk: bytes in, bytes out. A transport hands it every message, and carries back what it returns.

A message is a byte that says what it is, and a body. A reply is a code, and a body where all is well. Why something is
refused, and what went wrong, stays in the party's own log.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from threading import Lock, Thread
from time import time
from typing import Protocol

from folkmoot.engines.enrolment import Enrolment, Registrar, RosterBook, split_enrolments
from folkmoot.engines.exchange import Bundle
from folkmoot.engines.keys import write_whole
from folkmoot.engines.store import Refusal, SentMessage
from folkmoot.foundation.errors import FolkmootError, InputError

Log = Callable[[str], None]
RENEW = "`folkmoot federation join --renew` begins anew, with new keys"
ACCEPT = (
    "`folkmoot federation join --expect FINGERPRINT` accepts another roster, if its people read the same fingerprint "
    "to you; `--renew` begins anew"
)


class MessageKind(IntEnum):
    """What a message is."""

    PING = 1  # is anybody there? The reply is the fingerprint of the pinned roster, empty if there is none
    ENROL = 2  # the reply is the party's enrolment
    ROSTER = 3  # all parties' enrolments; the reply is the fingerprint of the roster
    BUNDLE = 4  # a bundle of an exchange; so is the reply


class Code(IntEnum):
    """What came of a message."""

    OK = 0
    REFUSED = 1  # the party's policy or its checks say no
    FAILED = 2  # something broke
    LOADING = 3  # the party's data is still being read
    UNKNOWN = 4  # it is no message, or it needs a roster and none is pinned yet


def write_request(kind: MessageKind, body: bytes = b"") -> bytes:
    return bytes([kind]) + body


def read_reply(data: bytes) -> tuple[Code, bytes]:
    """A desk's reply; what is none counts as a failure."""
    try:
        return Code(data[0]), data[1:]
    except (IndexError, ValueError):
        return Code.FAILED, b""


class Answerer(Protocol):
    """What answers bundles once the roster is known: a party. What it refused is taken from it into the log."""

    @property
    def refusals(self) -> "Refusals": ...

    def reply(self, sent: Bundle) -> Bundle: ...


class Refusals(Protocol):
    def popleft(self) -> Refusal: ...

    def __len__(self) -> int: ...


def ignore_refusals(refusals: Sequence[Refusal]) -> None:
    """They are in the log alone."""


@dataclass(frozen=True)
class DeskSetup:
    """All that a desk works with.

    enrolment: the party's own, encoded. pin: the file that keeps the roster once it was accepted. make_party: called
    with an accepted roster. note_sent: writes down what is about to leave. expect: the fingerprint of the only roster
    to accept, in place of any that was pinned; None: the pinned one, or the first. note_refusals: writes down what the
    desk itself refused, such as a roster; what the party refuses it writes down itself.
    """

    enrolment: bytes
    registrar: Registrar
    pin: Path
    make_party: Callable[[RosterBook], Answerer]
    note_sent: Callable[[SentMessage], None]
    expect: str | None = None
    note_refusals: Callable[[Sequence[Refusal]], None] = ignore_refusals


def read_pin(path: Path, registrar: Registrar) -> RosterBook | None:
    """The roster that was accepted before; None: none was."""
    if not path.exists():
        return None
    try:
        return registrar.read_book(split_enrolments(path.read_bytes()), None)
    except InputError as why:
        raise InputError(why.problem, place=path, remedy=RENEW) from None


def check_own(book: RosterBook, enrolment: bytes, place: Path | None = None) -> None:
    """Refuse a roster that says something else of a party than the party does."""
    own = Enrolment.decode(enrolment).statement
    said = book.enrolments[book.find(own.party)].statement
    if said.clients != own.clients:
        problem = f"{own.party} holds {own.clients:,} clients, but {said.clients:,} on the roster"
    elif said != own:
        problem = f"the roster does not say of {own.party} what {own.party} says of itself"
    else:
        return
    raise InputError(problem, place=place, remedy=RENEW)


class Desk:
    """Answers one message at a time, however many threads a transport has. `answer` never raises."""

    def __init__(self, setup: DeskSetup | None, log: Log, *, clock: Callable[[], float] = time) -> None:
        self._log, self._clock = log, clock
        self._lock = Lock()  # all that is stored is stored under it
        self._said = ""
        self._setup: DeskSetup | None = None
        self._book: RosterBook | None = None
        self._party: Answerer | None = None
        self._state = Code.LOADING
        self._loading: Thread | None = None
        if setup is not None:
            self._open(setup)

    @classmethod
    def open_later(cls, load: Callable[[], DeskSetup], log: Log, *, clock: Callable[[], float] = time) -> "Desk":
        """A desk that says LOADING until `load` has returned, in a thread of its own; if it failed, FAILED."""
        desk = cls(None, log, clock=clock)
        desk._loading = Thread(target=desk._load, args=(load,), name="loading", daemon=True)
        desk._loading.start()
        return desk

    def wait(self) -> None:
        """Return when loading has ended, well or not."""
        if self._loading is not None:
            self._loading.join()

    @property
    def fingerprint(self) -> str:
        """Of the roster in use; empty if there is none."""
        return "" if self._book is None else self._book.fingerprint

    def answer(self, data: bytes) -> bytes:
        """The reply to a message, whatever it is."""
        with self._lock:
            if self._setup is None:  # a single byte, which says nothing about data
                return bytes([self._state])
            code, body, noted = self._try_answering(data)
            try:
                if not noted:
                    self._note(data, code, body)
            except Exception as error:
                self._tell(f"What was about to leave could not be written down, so it stayed here: {error!r}")
                code, body = Code.FAILED, b""
            return bytes([code]) + body

    def _load(self, load: Callable[[], DeskSetup]) -> None:
        try:
            self._open(load())
        except Exception as error:
            said = str(error) if isinstance(error, FolkmootError) else repr(error)
            with self._lock:
                self._state = Code.FAILED
                self._tell(f"This party cannot take part: {said}")

    def _open(self, setup: DeskSetup) -> None:
        book = read_pin(setup.pin, setup.registrar)
        if book is not None and setup.expect not in (None, book.fingerprint):
            book = None  # another one will take its place
        if book is not None:
            check_own(book, setup.enrolment, setup.pin)
        party = None if book is None else setup.make_party(book)
        with self._lock:
            self._setup, self._book, self._party, self._state = setup, book, party, Code.OK

    def _try_answering(self, data: bytes) -> tuple[Code, bytes, bool]:
        """The reply, and whether it was written down already."""
        assert self._setup is not None
        try:
            kind, body = MessageKind(data[0]), data[1:]
        except (IndexError, ValueError):
            self._tell("Something that is no message arrived.")
            return Code.UNKNOWN, b"", False
        try:
            if kind == MessageKind.PING:
                return Code.OK, self.fingerprint.encode(), False
            if kind == MessageKind.ENROL:
                return Code.OK, self._setup.enrolment, False
            if kind == MessageKind.ROSTER:
                return Code.OK, self._take_roster(body).encode(), False
            return self._take_bundle(body)
        except InputError as why:
            if self._tell(f"Refused a {kind.name.lower()}: {why}"):
                self._note_refusal(kind.name.lower(), str(why.rename(None)))
            return Code.REFUSED, b"", False
        except Exception as error:  # its text may hold data, so it stays here
            self._tell(f"A {kind.name.lower()} could not be answered: {error!r}")
            return Code.FAILED, b"", False

    def _take_roster(self, body: bytes) -> str:
        """Accept a roster and pin it, or the pinned one again."""
        setup = self._setup
        assert setup is not None
        book = setup.registrar.read_book(split_enrolments(body), self._clock())
        if self._book is not None and book.digest == self._book.digest:
            return book.fingerprint
        check_own(book, setup.enrolment)
        if setup.expect not in (None, book.fingerprint):
            raise InputError(
                f"its fingerprint is {book.fingerprint}, and {setup.expect} is expected",
                remedy=ACCEPT,
                argument="roster",
            )
        if self._book is not None:
            raise InputError(
                f"its fingerprint is {book.fingerprint}, but the roster {self._book.fingerprint} is pinned",
                remedy=ACCEPT,
                argument="roster",
            )
        party = setup.make_party(book)
        write_whole(setup.pin, book.encode())
        self._book, self._party = book, party
        self._tell(f"The roster with the fingerprint {book.fingerprint} was accepted and is pinned.")
        return book.fingerprint

    def _take_bundle(self, body: bytes) -> tuple[Code, bytes, bool]:
        if self._party is None:
            self._tell("A question arrived, but no roster was accepted yet.")
            return Code.UNKNOWN, b"", False
        reply = self._party.reply(Bundle.decode(body))
        self._tell_refusals(self._party)
        if not reply.letters:
            return Code.REFUSED, b"", False
        return Code.OK, reply.encode(), True

    def _note(self, data: bytes, code: Code, body: bytes) -> None:
        assert self._setup is not None
        stage = MessageKind(data[0]).name.lower() if data and data[0] in set(MessageKind) else "unknown"
        sent = bytes([code]) + body
        why = "asked by the server" if code == Code.OK else code.name.lower()
        self._setup.note_sent(SentMessage(self._clock(), stage, why, len(sent), sha256(sent).hexdigest()))

    def _tell_refusals(self, party: Answerer) -> None:
        refusals = Counter[tuple[str, str]]()
        while len(party.refusals):
            one = party.refusals.popleft()
            refusals[one.stage, one.why] += 1
        for (stage, why), count in refusals.items():
            times = "" if count == 1 else f" ({count:,} times)"
            self._tell(f"Refused in the exchange “{stage}”{times}: {why}")

    def _note_refusal(self, stage: str, why: str) -> None:
        assert self._setup is not None
        with suppress(Exception):  # a full disk must not keep a party from saying no
            self._setup.note_refusals([Refusal(self._clock(), stage, why, None)])

    def _tell(self, sentence: str) -> bool:
        """Into the log; what is sent again and again is said once. Whether it is new."""
        if sentence == self._said:
            return False
        self._said = sentence
        with suppress(Exception):  # a full disk must not keep a party from saying no
            self._log(sentence)
        return True
