"""The line of a run, with a relay that is played by the test."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import pytest

from folkmoot import InputError
from folkmoot.engines.flare.frames import STOP, UNREACHABLE, Closed, Frame, connect, listen, receive_frame, send_frame
from folkmoot.engines.flare.leader import Leader
from folkmoot.engines.flare.line import FlareLine, open_line

NAMES = ("north", "south", "east")
LONG = 30.0  # seconds: only a fault takes so long


class PlayedLeader:
    """FLARE's server, where everybody is there, and a job is a relay that the test plays."""

    def __init__(self, begin: "list[str]") -> None:
        self.submitted = begin
        self.heard = dict.fromkeys(NAMES, float("inf"))  # when FLARE last heard from each party

    address = ("moot", 8002)

    def list_parties(self) -> dict[str, float]:
        return self.find_parties() or {}

    def find_parties(self) -> dict[str, float] | None:
        return self.heard

    def submit(self, fewest: int, names: tuple[str, ...]) -> str:  # noqa: ARG002
        self.submitted.append(f"job {fewest}")
        return self.submitted[-1]

    def read_status(self, job: str) -> str:  # noqa: ARG002
        return "RUNNING"

    def abort(self, job: str) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[socket.socket]:
    with listen(tmp_path) as server:
        server.settimeout(LONG)
        yield server


@pytest.fixture
def line(tmp_path: Path, relay: socket.socket) -> Iterator[tuple[FlareLine, socket.socket]]:
    made = FlareLine(tmp_path, NAMES, 2)
    made.leader = PlayedLeader([])  # type: ignore[assignment]
    made.start()
    link, _ = relay.accept()
    link.settimeout(LONG)
    yield made, link
    made.close()
    link.close()


def take(link: socket.socket, count: int) -> dict[str, Frame]:
    return {frame.name: frame for frame in (receive_frame(link) for _ in range(count))}


def test_replies_are_handed_out_as_they_arrive(line: tuple[FlareLine, socket.socket]) -> None:
    here, link = line
    replies = here.send(dict.fromkeys(NAMES, b"question"), LONG)
    sent: dict[str, Frame] = {}

    def answer() -> None:
        sent.update(take(link, 3))
        send_frame(link, Frame(sent["south"].tag, "south", 0.0, b"second"))
        send_frame(link, Frame(sent["north"].tag, "north", UNREACHABLE))
        send_frame(link, Frame(sent["east"].tag, "east", 0.0, b""))

    there = Thread(target=answer)
    there.start()
    assert list(replies) == [("south", b"second"), ("east", b"")]
    there.join()
    assert all(frame.body == b"question" and 0 < frame.seconds <= LONG for frame in sent.values())
    assert here.contacts["north"].missed > here.contacts["north"].heard
    assert here.contacts["south"].heard > here.contacts["south"].missed


def test_a_late_reply_is_dropped(line: tuple[FlareLine, socket.socket]) -> None:
    here, link = line
    assert list(here.send({"north": b"one"}, 0.01)) == []
    late = take(link, 1)["north"]
    send_frame(link, Frame(late.tag, "north", 0.0, b"too late"))

    def answer() -> None:
        send_frame(link, Frame(take(link, 1)["north"].tag, "north", 0.0, b"in time"))

    there = Thread(target=answer)
    there.start()
    assert list(here.send({"north": b"two"}, LONG)) == [("north", b"in time")]
    there.join()


def test_another_job_is_submitted_when_the_relay_is_gone(
    line: tuple[FlareLine, socket.socket], relay: socket.socket, tmp_path: Path
) -> None:
    here, link = line
    relay.close()
    (tmp_path / "relay.sock").unlink()
    link.shutdown(socket.SHUT_RDWR)
    assert list(here.send({"north": b"x"}, 1.0)) == []  # nobody was missed by a fault of its own
    assert here.contacts["north"].missed == 0.0
    while not here.leader.submitted:  # type: ignore[attr-defined]
        list(here.send({"north": b"x"}, 0.1))
    assert here.leader.submitted == ["job 2"]  # type: ignore[attr-defined]
    with listen(tmp_path) as again:
        again.settimeout(LONG)
        fresh, _ = again.accept()
        with fresh:
            fresh.settimeout(LONG)

            def answer() -> None:
                send_frame(fresh, Frame(take(fresh, 1)["north"].tag, "north", 0.0, b"back"))

            there = Thread(target=answer)
            there.start()
            assert list(here.send({"north": b"x"}, LONG)) == [("north", b"back")]
            there.join()


def test_a_relay_that_takes_nothing_is_let_go(
    tmp_path: Path, relay: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("folkmoot.engines.flare.frames.STALLED", 1)
    here = FlareLine(tmp_path, NAMES, 2)
    here.leader = PlayedLeader([])  # type: ignore[assignment]
    here.start()
    link, _ = relay.accept()
    with link:
        assert list(here.send(dict.fromkeys(NAMES, bytes(1 << 24)), LONG)) == []  # more than a socket holds
        again, _ = relay.accept()  # it tries anew
        again.close()
    here.close()


class StalledLine:
    """A line that nobody keeps, with a clock that the test moves: what it does about parties that are silent."""

    def __init__(self, folder: Path, relay: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.relay, self.ends = 1_000.0, relay, list[socket.socket]()
        self.leader, self.said = PlayedLeader([]), list[str]()
        monkeypatch.setattr("folkmoot.engines.flare.line.monotonic", lambda: self.clock)
        monkeypatch.setattr("folkmoot.engines.flare.line.time", lambda: self.clock)
        self.line = FlareLine(folder, NAMES, 2, self.said.append)
        self.line.leader = self.leader  # type: ignore[assignment]

    def link(self) -> None:
        self.line._begin()
        self.ends.append(self.relay.accept()[0])

    def hear(self, *names: str) -> None:
        """These parties reply now, and the others cannot be reached."""
        queue = SimpleQueue[Frame | None]()
        for name in NAMES:
            queue.put(Frame(1, name, 0.0 if name in names else UNREACHABLE))
        list(self.line._collect(queue, set(NAMES), self.clock + 1.0))

    def begins_anew(self, seconds: float) -> bool:
        """Whether the job is ended once so many seconds have passed."""
        self.clock += seconds
        self.line._welcome_back()
        return self.line._link is None

    def close(self) -> None:
        self.line._hang_up()
        for end in self.ends:
            end.close()


@pytest.fixture
def stalled(tmp_path: Path, relay: socket.socket, monkeypatch: pytest.MonkeyPatch) -> Iterator[StalledLine]:
    made = StalledLine(tmp_path, relay, monkeypatch)
    made.link()
    yield made
    made.close()


def test_parties_that_are_slow_to_begin_are_waited_for(stalled: StalledLine) -> None:
    stalled.hear()
    assert not stalled.begins_anew(40.0)
    stalled.hear("north")
    assert not stalled.begins_anew(9.0)  # the others may need a little longer


def test_a_job_that_nobody_answers_is_begun_anew(stalled: StalledLine) -> None:
    stalled.hear()
    assert stalled.begins_anew(60.0)


def test_a_job_is_begun_anew_for_a_party_that_came_back_and_then_less_often(stalled: StalledLine) -> None:
    stalled.hear(*NAMES)
    stalled.clock += 60.0
    stalled.hear("north", "south")
    assert stalled.begins_anew(1.0)
    for rest in (10.0, 20.0, 40.0, 80.0):
        stalled.link()
        stalled.hear("north", "south")
        assert not stalled.begins_anew(rest - 1.0)
        assert stalled.begins_anew(2.0)


def test_a_party_that_just_left_did_not_come_back(stalled: StalledLine) -> None:
    """FLARE lists it for half a minute, by when it last heard from it."""
    stalled.hear(*NAMES)
    stalled.clock += 60.0
    stalled.leader.heard["east"] = stalled.clock - 1.0
    stalled.hear("north", "south")
    for _ in range(3):
        assert not stalled.begins_anew(20.0)
    assert not stalled.said
    stalled.leader.heard["east"] = stalled.clock
    stalled.leader.heard["north"] = stalled.clock - 10.0
    assert stalled.begins_anew(1.0)
    assert stalled.said == ["beginning the job anew: east came back"]
    stalled.link()
    stalled.hear("north", "south")  # it left again before it said anything
    assert not stalled.begins_anew(60.0)


def test_where_nobody_can_go_on_without_them_parties_are_not_left_out_for_long(stalled: StalledLine) -> None:
    stalled.hear("north")
    for rest in (10.0, 10.0, 20.0, 40.0, 40.0, 40.0):
        assert not stalled.begins_anew(rest - 1.0)
        assert stalled.begins_anew(2.0)
        stalled.link()
        stalled.hear("north")


def test_a_server_that_does_not_answer_is_told_from_parties_that_are_away(tmp_path: Path) -> None:
    """What is known about parties changes with every look; then the line is closed."""
    looks: list[dict[str, float] | None] = [None, None, {"north": 1.0}, {"north": 1.0, "east": 1.0}, None]
    said, troubles = list[str](), list[str]()
    here = FlareLine(tmp_path, NAMES, 3, said.append)
    leader = PlayedLeader([])
    here.leader = leader  # type: ignore[assignment]

    def look() -> dict[str, float] | None:
        troubles.append(here.trouble)
        if len(looks) == 1:
            here._closing.set()
        return looks.pop(0)

    leader.find_parties = look  # type: ignore[method-assign]
    assert not here._await_parties()
    assert said == [
        "the server at moot:8002 does not answer: is `folkmoot federation serve` running?",
        "waiting for south, east",
        "waiting for south",
        "the server at moot:8002 does not answer: is `folkmoot federation serve` running?",
    ]
    assert troubles[3:] == ["south, east are not connected to the server", "south is not connected to the server"]


def test_parties_have_time_to_come_after_the_server(stalled: StalledLine) -> None:
    """As many as are needed are there as soon as the server is, but one more is on its way."""
    looks: list[dict[str, float] | None] = [None, {"north": 1.0, "south": 1.0}, dict.fromkeys(NAMES, 1.0)]

    def look() -> dict[str, float] | None:
        stalled.clock += 15.0
        return looks.pop(0)

    stalled.leader.find_parties = look  # type: ignore[method-assign]
    assert stalled.line._await_parties()
    assert not looks
    assert stalled.said[1:] == ["waiting for east", "beginning a job at the parties"]


def test_nothing_is_started_while_nobody_listens_at_the_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    startup = tmp_path / "lead" / "startup"
    startup.mkdir(parents=True)
    (startup / "fed_admin.json").write_text(json.dumps({"admin": {"host": "127.0.0.1", "port": port}}))
    leader = Leader(tmp_path)
    assert leader.find_parties() is None
    assert leader.submit(4, NAMES) is None
    assert leader._child is None
    assert not (tmp_path / "leader.log").exists()


def test_closing_ends_the_job(line: tuple[FlareLine, socket.socket]) -> None:
    here, link = line
    here.close()
    assert receive_frame(link).name == STOP
    with pytest.raises(Closed):
        receive_frame(link)


def test_a_kit_has_one_run_at_a_time(tmp_path: Path) -> None:
    with open_line(tmp_path, (), 0):
        second = open_line(tmp_path, (), 0)
        with pytest.raises(InputError, match="another run is asking its parties"):
            second.__enter__()


def test_sockets_work_in_folders_with_long_names(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*(["a" * 60] * 3))
    deep.mkdir(parents=True)
    with listen(deep) as server, connect(deep) as link:
        other, _ = server.accept()
        with other:
            send_frame(link, Frame(7, "north", 1.5, b"x" * 100_000))
            assert receive_frame(other) == Frame(7, "north", 1.5, b"x" * 100_000)
