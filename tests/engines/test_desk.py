"""What a party's desk answers, whatever it is sent."""

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.engines import Bundle, FolderStore
from folkmoot.engines.desk import Code, Desk, DeskSetup, MessageKind, read_reply, write_request
from folkmoot.engines.enrolment import RosterBook, join_enrolments
from folkmoot.engines.store import Refusal, SentMessage
from folkmoot.foundation.errors import InputError
from tests.engines.certificates import MOMENT, enrol, enrol_all, make_book, make_registrar, state

SECRET = "client 7 rated item 3 with 5"
PING, ENROL = write_request(MessageKind.PING), write_request(MessageKind.ENROL)


@dataclass
class Echo:
    """Answers with what it was sent; "refuse" and "break" do what they say."""

    refusals: deque[Refusal] = field(default_factory=deque)

    def reply(self, sent: Bundle) -> Bundle:
        if sent.question == b"break":
            raise RuntimeError(SECRET)
        if sent.question == b"refuse":
            self.refusals.extend(Refusal(MOMENT, "question", "too few clients", one) for one in (None, 1))
            return Bundle({})
        return sent


@dataclass
class Bench:
    """A desk of north, and all that it wrote."""

    folder: Path
    expect: str | None = None
    log: list[str] = field(default_factory=list)
    sent: list[SentMessage] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    statement = state("north")

    def __post_init__(self) -> None:
        self.desk = Desk(self.make_setup(), self.log.append, clock=lambda: MOMENT)

    def make_setup(self) -> DeskSetup:
        own = enrol(self.folder, self.statement).encode()
        pin = self.folder / "roster.json"
        return DeskSetup(
            own, make_registrar(), pin, self.make_party, self.sent.append, self.expect, self.refused.extend
        )

    def make_party(self, book: RosterBook) -> Echo:
        self.made.append(book.fingerprint)
        return Echo()

    def ask(self, data: bytes) -> tuple[Code, bytes]:
        return read_reply(self.desk.answer(data))


def write_roster(book: RosterBook) -> bytes:
    return write_request(MessageKind.ROSTER, book.encode())


def write_bundle(question: bytes, letters: dict[int, bytes] | None = None) -> bytes:
    return write_request(MessageKind.BUNDLE, Bundle(letters or {0: b"letter"}, question).encode())


def make_other(folder: Path) -> RosterBook:
    """A roster with another south."""
    enrolments = enrol_all(folder)
    enrolments[1] = enrol(folder, state("south", clients=9))
    return make_registrar().read_book([one.encode() for one in enrolments], MOMENT)


def test_a_roster_that_is_refused_is_written_down_once(tmp_path: Path) -> None:
    """People at the party see it where they see all that it refused."""
    bench = Bench(tmp_path)
    bench.ask(write_roster(make_book(tmp_path)))
    for _ in range(3):
        assert bench.ask(write_roster(make_other(tmp_path))) == (Code.REFUSED, b"")
    (told,) = bench.refused
    assert (told.time, told.stage) == (MOMENT, "roster")
    assert told.why.startswith(f"its fingerprint is {make_other(tmp_path).fingerprint}, but the roster ")


def test_a_party_enrols_and_takes_a_roster(tmp_path: Path) -> None:
    bench, book = Bench(tmp_path), make_book(tmp_path)
    assert bench.ask(PING) == (Code.OK, b"")
    code, own = bench.ask(ENROL)
    assert make_registrar().read_enrolment(own, MOMENT).statement == bench.statement
    assert bench.ask(write_bundle(b"what?"))[0] == Code.UNKNOWN
    for _ in range(2):
        assert bench.ask(write_roster(book)) == (Code.OK, book.fingerprint.encode())
    assert bench.made == [book.fingerprint]
    assert bench.ask(PING) == (Code.OK, book.fingerprint.encode())
    code, body = bench.ask(write_bundle(b"what?"))
    assert (code, Bundle.decode(body)) == (Code.OK, Bundle({0: b"letter"}, b"what?"))


def test_a_pinned_roster_is_used_after_a_restart(tmp_path: Path) -> None:
    book = make_book(tmp_path)
    Bench(tmp_path).ask(write_roster(book))
    assert (tmp_path / "roster.json").stat().st_mode & 0o777 == 0o600
    later = Bench(tmp_path)
    assert later.ask(write_bundle(b"what?"))[0] == Code.OK
    assert later.desk.fingerprint == book.fingerprint


def test_another_roster_is_refused_once_one_is_pinned(tmp_path: Path) -> None:
    bench, book, other = Bench(tmp_path), make_book(tmp_path), make_other(tmp_path)
    bench.ask(write_roster(book))
    assert bench.ask(write_roster(other)) == (Code.REFUSED, b"")
    assert bench.ask(PING)[1] == book.fingerprint.encode()
    for word in (book.fingerprint, other.fingerprint, "--renew", "--expect FINGERPRINT"):
        assert word in bench.log[-1]
    assert Bench(tmp_path).desk.fingerprint == book.fingerprint


def test_only_the_expected_roster_is_accepted(tmp_path: Path) -> None:
    book, other = make_book(tmp_path), make_other(tmp_path)
    Bench(tmp_path).ask(write_roster(book))
    bench = Bench(tmp_path, other.fingerprint)
    assert bench.ask(PING) == (Code.OK, b"")  # the pinned one is no longer used
    assert bench.ask(write_roster(book))[0] == Code.REFUSED
    assert f"{other.fingerprint} is expected" in bench.log[-1]
    assert bench.ask(write_roster(other)) == (Code.OK, other.fingerprint.encode())
    assert Bench(tmp_path).desk.fingerprint == other.fingerprint


def test_rosters_that_cannot_be_right(tmp_path: Path) -> None:
    bench, enrolments = Bench(tmp_path), enrol_all(tmp_path)
    foreign = enrol(tmp_path, state("north", clients=5))  # a valid enrolment of north's kit, but not this desk's
    for some in (enrolments[1:], [*enrolments, enrolments[0]], [foreign, *enrolments[1:]], []):
        sent = join_enrolments([one.encode() for one in some])
        assert bench.ask(write_request(MessageKind.ROSTER, sent)) == (Code.REFUSED, b"")
    assert not (tmp_path / "roster.json").exists()
    assert not bench.made
    assert any("north holds 4 clients, but 5 on the roster" in line for line in bench.log)


def test_a_pinned_roster_must_be_about_this_party(tmp_path: Path) -> None:
    Bench(tmp_path).ask(write_roster(make_book(tmp_path)))

    class Grown(Bench):
        statement = replace(Bench.statement, clients=6)

    with pytest.raises(InputError, match=r"roster.json: north holds 6 clients, but 4 on the roster; .*--renew"):
        Grown(tmp_path)
    (tmp_path / "roster.json").write_bytes(b"[]")
    with pytest.raises(InputError, match=r"roster.json: the roster lacks north.*--renew"):
        Bench(tmp_path)


def test_a_roster_that_makes_no_party_is_not_pinned(tmp_path: Path) -> None:
    class Broken(Bench):
        def make_party(self, book: RosterBook) -> Echo:  # noqa: ARG002
            raise InputError("holds what other clients answered", argument="store")

    bench = Broken(tmp_path)
    assert bench.ask(write_roster(make_book(tmp_path)))[0] == Code.REFUSED
    assert not (tmp_path / "roster.json").exists()


def test_reasons_stay_at_home(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.ask(write_roster(make_book(tmp_path)))
    assert bench.desk.answer(write_bundle(b"break")) == bytes([Code.FAILED])
    assert SECRET in bench.log[-1]
    assert bench.desk.answer(write_bundle(b"refuse")) == bytes([Code.REFUSED])
    assert bench.log[-1] == "Refused in the exchange “question” (2 times): too few clients"
    count = len(bench.log)
    for _ in range(100):  # a server that keeps asking does not fill the log
        bench.ask(write_bundle(b"refuse"))
    assert len(bench.log) == count


def test_all_that_leaves_is_written_down(tmp_path: Path) -> None:
    """Bundles are written down by the party itself, which knows what they are for."""
    bench = Bench(tmp_path)
    requests = [PING, ENROL, write_roster(make_book(tmp_path)), b"", b"\xff", write_bundle(b"refuse")]
    replies = [bench.desk.answer(one) for one in requests]
    stages = ["ping", "enrol", "roster", "unknown", "unknown", "bundle"]
    assert [one.stage for one in bench.sent] == stages
    assert [one.bytes for one in bench.sent] == [len(reply) for reply in replies]
    bench.ask(write_bundle(b"what?"))
    assert len(bench.sent) == len(requests)


def test_what_cannot_be_written_down_does_not_leave(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    store = FolderStore(tmp_path / "store")
    store.close()
    bench.desk = Desk(replace(bench.make_setup(), note_sent=store.note_sent), bench.log.append)
    assert bench.desk.answer(ENROL) == bytes([Code.FAILED])
    assert "stayed here" in bench.log[-1]


def test_a_log_that_cannot_be_written_silences_nobody(tmp_path: Path) -> None:
    def fail(_sentence: str) -> None:
        raise OSError("no space left")

    assert Desk(Bench(tmp_path).make_setup(), fail).answer(b"") == bytes([Code.UNKNOWN])


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("bench")
    bench = Bench(folder)
    bench.ask(write_roster(make_book(folder)))
    return bench


@given(data=st.binary(max_size=300), kind=st.sampled_from([b"", *(bytes([kind]) for kind in MessageKind)]))
def test_whatever_arrives_a_code_leaves(bench: Bench, data: bytes, kind: bytes) -> None:
    code, body = bench.ask(kind + data)
    assert code in set(Code)
    known = kind + data and (kind + data)[0] in set(MessageKind)
    assert bool(known) == (code != Code.UNKNOWN)
    assert not body or code == Code.OK


def test_replies_that_are_none() -> None:
    assert read_reply(b"") == read_reply(b"\x63") == (Code.FAILED, b"")
    assert read_reply(b"\x00abc") == (Code.OK, b"abc")


# Loading.


def test_a_desk_says_that_it_is_loading(tmp_path: Path) -> None:
    ready = Event()
    made = Bench(tmp_path)

    def load() -> DeskSetup:
        ready.wait()
        return made.make_setup()

    desk = Desk.open_later(load, made.log.append)
    for request in (PING, ENROL, write_bundle(b"what?"), b""):
        assert desk.answer(request) == bytes([Code.LOADING])
    ready.set()
    desk.wait()
    assert read_reply(desk.answer(PING)) == (Code.OK, b"")


@pytest.mark.parametrize("error", [InputError("there is no such file", place="ratings.csv"), RuntimeError(SECRET)])
def test_a_desk_that_could_not_load_says_nothing_else(error: Exception, tmp_path: Path) -> None:
    def load() -> DeskSetup:
        raise error

    log: list[str] = []
    desk = Desk.open_later(load, log.append)
    desk.wait()
    for request in (PING, ENROL, write_roster(make_book(tmp_path))):
        assert desk.answer(request) == bytes([Code.FAILED])
    said = repr(error) if isinstance(error, RuntimeError) else "ratings.csv: there is no such file"
    assert log == [f"This party cannot take part: {said}"]


def test_one_message_at_a_time(tmp_path: Path) -> None:
    """While one is answered, others wait: they share a store."""
    inside, leave = Event(), Event()

    class Slow(Echo):
        def reply(self, sent: Bundle) -> Bundle:
            inside.set()
            leave.wait()
            return sent

    class Careful(Bench):
        def make_party(self, book: RosterBook) -> Echo:  # noqa: ARG002
            return Slow()

    bench, order = Careful(tmp_path), list[str]()
    bench.ask(write_roster(make_book(tmp_path)))

    def send(name: str, data: bytes) -> None:
        bench.ask(data)
        order.append(name)

    first = Thread(target=send, args=("bundle", write_bundle(b"what?")))
    first.start()
    inside.wait()
    second = Thread(target=send, args=("ping", PING))
    second.start()
    assert order == []
    leave.set()
    first.join()
    second.join()
    assert sorted(order) == ["bundle", "ping"]
    assert [one.stage for one in bench.sent] == ["roster", "ping"]
