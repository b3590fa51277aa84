"""Parties that come and go, on a line that follows a script; time passes only when somebody waits."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest

from folkmoot.engines import Bundle
from folkmoot.engines.desk import Code, Desk, DeskSetup, MessageKind, read_reply, write_request
from folkmoot.engines.enrolment import RosterBook
from folkmoot.engines.exchange import QUESTION
from folkmoot.engines.gathering import PartyLine, Timing, Waiting, gather
from folkmoot.foundation.errors import InputError, RoundFailed
from folkmoot.secagg.messages import NAME, VERSION
from tests.engines.certificates import MOMENT, PARTIES, enrol, enrol_all, make_book, make_registrar, state
from tests.engines.test_desk import Echo

Answer = Callable[[bytes], bytes]
LETTER = NAME + bytes([VERSION, 1]) + b"and more"  # of the exchange of keys
REFUSE, FAIL, LOAD = (bytes([code]) for code in (Code.REFUSED, Code.FAILED, Code.LOADING))


@dataclass
class Site:
    """A party on the line: when it cannot be reached, when it hangs, and what it answers."""

    answer: Answer
    gone: tuple[float, float] = (inf, inf)  # from when to when nobody can reach it
    frozen: tuple[float, float] = (inf, inf)  # from when to when it takes messages and does not answer
    loading: tuple[float, float] = (inf, inf)
    seconds: float = 0.0  # for an answer


@dataclass
class ScriptedLine:
    sites: dict[str, Site]
    now: float = 0.0
    down: tuple[float, float] = (inf, inf)  # from when to when the line itself is broken
    log: list[tuple[float, str, bytes]] = field(default_factory=list)  # all that was sent
    trouble: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.sites)

    @property
    def timing(self) -> Timing:
        return Timing(lambda: self.now, self.pass_time)

    def pass_time(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += max(seconds, 1e-3)

    def send(self, outbox: Mapping[str, bytes], seconds: float) -> Iterator[tuple[str, bytes]]:
        start, end, last = self.now, self.now + seconds, self.now
        self.log += [(start, name, data) for name, data in outbox.items()]
        assert outbox, "nothing is sent to nobody"
        if within(start, self.down):
            return
        for name, data in sorted(outbox.items(), key=lambda pair: self.sites[pair[0]].seconds):
            site = self.sites[name]
            if within(start, site.gone):
                continue
            if within(start, site.frozen) or site.seconds > seconds:
                last = end
                continue
            self.now = max(self.now, start + site.seconds)
            yield name, LOAD if within(start, site.loading) else site.answer(data)
        self.now = max(self.now, last)

    def list_sent(self, name: str, kind: MessageKind) -> list[float]:
        return [time for time, who, data in self.log if who == name and data[0] == kind]


def within(now: float, span: tuple[float, float]) -> bool:
    return span[0] <= now < span[1]


def echo(data: bytes) -> bytes:
    """A party that answers bundles with themselves, and pings."""
    return bytes([Code.OK]) + (b"" if data[0] == MessageKind.PING else data[1:])


def make_line(**sites: Site) -> ScriptedLine:
    return ScriptedLine({name: sites.get(name, Site(echo)) for name in PARTIES})


def make_exchange(line: ScriptedLine, seen: list[Waiting] | None = None, fingerprint: str | None = None) -> PartyLine:
    notify = (lambda _: None) if seen is None else seen.append
    numbers = dict(enumerate(PARTIES))
    return PartyLine(line, numbers, 4, notify=notify, fingerprint=fingerprint, timing=line.timing)


def ask(exchange: PartyLine, question: bytes = b"what?", deadline: float | None = None) -> list[str]:
    """Send everybody something; the names of those who replied."""
    outbox = {number: Bundle({number: LETTER}, question) for number in exchange.numbers}
    inbox = exchange(outbox, deadline)
    assert all(reply == outbox[number] for number, reply in inbox.items())
    return [exchange.numbers[number] for number in sorted(inbox)]


def go_on(exchange: PartyLine, deadline: float | None = None) -> list[str]:
    """An exchange in the middle of a round."""
    return ask(exchange, b"", deadline)


def leave_out(*names: str) -> list[str]:
    return [name for name in PARTIES if name not in names]


# Exchanges.


def test_everybody_is_there() -> None:
    line = make_line()
    exchange = make_exchange(line)
    assert ask(exchange) == go_on(exchange) == list(PARTIES)
    assert line.now == 0.0
    assert [len(line.list_sent(name, MessageKind.PING)) for name in PARTIES] == [1] * 5  # before the first question
    assert exchange({}, None) == {}


def test_a_party_that_is_killed_and_restarted_goes_on_in_the_same_round() -> None:
    line = make_line(east=Site(echo, gone=(1.0, 9.0), loading=(9.0, 12.0)))
    exchange = make_exchange(line)
    ask(exchange)
    line.now = 1.0
    assert go_on(exchange) == list(PARTIES)
    assert 12.0 <= line.now < 14.0
    sent = {data for _, name, data in line.log if name == "east" and data[0] == MessageKind.BUNDLE}
    assert len(sent) == 2  # the question, and the same message again and again
    assert len(line.list_sent("north", MessageKind.BUNDLE)) == 2


def test_a_party_that_stays_away_costs_one_patience_and_is_asked_again_after_a_ping() -> None:
    line = make_line(east=Site(echo, gone=(1.0, 100.0)))
    exchange = make_exchange(line)
    ask(exchange)
    line.now = 1.0
    assert go_on(exchange) == leave_out("east")
    assert 21.0 <= line.now < 24.0
    assert exchange.absent == {2}
    before = line.now, len(line.log)
    assert go_on(exchange) == ask(exchange) == leave_out("east")
    assert line.now == before[0]  # nobody waited for it again
    assert [data[0] for _, name, data in line.log[before[1] :] if name == "east"] == [MessageKind.PING]
    line.now = 100.0
    assert ask(exchange) == list(PARTIES)
    assert not exchange.absent


def test_a_frozen_party_costs_one_patience() -> None:
    line = make_line(east=Site(echo, frozen=(1.0, inf)), west=Site(echo, gone=(1.0, 3.0)))
    exchange = make_exchange(line)
    ask(exchange)
    line.now = 1.0
    assert go_on(exchange) == leave_out("east")  # west is asked again meanwhile
    assert 21.0 <= line.now < 24.0
    assert ask(exchange) == leave_out("east")
    assert line.now < 27.0  # a ping's time


def test_a_slow_party_is_waited_for() -> None:
    line = make_line(east=Site(echo, seconds=7.0))
    exchange = make_exchange(line)
    exchange.absent.clear()
    assert ask(exchange) == list(PARTIES)
    assert line.now == 7.0
    assert len(line.list_sent("east", MessageKind.BUNDLE)) == 1


@pytest.mark.parametrize("code", [Code.REFUSED, Code.FAILED, Code.UNKNOWN])
def test_a_party_that_says_no_is_not_asked_again_but_is_there(code: Code) -> None:
    def answer(data: bytes) -> bytes:
        return echo(data) if data[0] == MessageKind.PING else bytes([code]) + b"ignored"

    line, seen = make_line(east=Site(answer)), list[Waiting]()
    exchange = make_exchange(line, seen)
    assert ask(exchange) == leave_out("east")
    assert line.now == 0.0
    assert not exchange.absent
    assert seen[-1].refused == ("east",)
    ask(exchange)
    assert len(line.list_sent("east", MessageKind.BUNDLE)) == 2


@pytest.mark.parametrize("reply", [b"", b"\x77", b"\x00nonsense"])
def test_a_reply_that_is_none_is_a_refusal(reply: bytes) -> None:
    line = make_line(east=Site(lambda data: echo(data) if data[0] == MessageKind.PING else reply))
    exchange = make_exchange(line)
    assert ask(exchange) == leave_out("east")
    assert line.now == 0.0


def test_the_missing_are_not_waited_for_longer_because_all_others_refuse() -> None:
    sites = {name: Site(lambda data: echo(data) if data[0] == MessageKind.PING else REFUSE) for name in PARTIES}
    line = make_line(**{**sites, "east": Site(echo, gone=(1.0, inf))})
    exchange = make_exchange(line)
    ask(exchange)
    line.now = 1.0
    assert go_on(exchange) == []
    assert line.now < 24.0


def test_a_broken_line_costs_no_patience() -> None:
    line = make_line()
    line.down = (1.0, 150.0)
    exchange = make_exchange(line)
    ask(exchange)
    line.now = 1.0
    assert go_on(exchange) == list(PARTIES)
    assert 150.0 <= line.now < 152.0
    assert not exchange.absent


def test_a_line_that_breaks_when_some_have_answered_costs_no_patience() -> None:
    """Those who answered cannot be reached either, so it is not the fault of those who did not."""
    line = make_line(east=Site(echo, gone=(1.0, 3.0)))
    line.down = (2.0, 90.0)
    exchange = make_exchange(line)
    ask(exchange)
    line.now = 1.0
    assert go_on(exchange) == list(PARTIES)
    assert 90.0 <= line.now < 92.0


def test_a_line_that_stays_broken_ends_the_wait() -> None:
    line = make_line()
    line.down = (1.0, inf)
    exchange = make_exchange(line)
    ask(exchange)
    line.now = 1.0
    assert go_on(exchange) == []
    assert 601.0 <= line.now < 603.0
    assert exchange.absent == set(range(5))


@pytest.mark.parametrize("down", [(1.0, inf), (inf, inf)])
def test_no_exchange_takes_longer_than_its_deadline(down: tuple[float, float]) -> None:
    line = make_line(east=Site(echo, frozen=(1.0, inf)), west=Site(echo, gone=(1.0, inf)))
    line.down = down
    exchange = make_exchange(line)
    ask(exchange)
    line.now = 1.0
    heard = go_on(exchange, deadline=6.0)
    assert heard == ([] if down[0] == 1.0 else leave_out("east", "west"))
    assert line.now <= 8.5  # and a ping's time, to learn whether the line works


# Quorum.


def test_a_quorum_is_awaited_before_a_question() -> None:
    line, seen = make_line(east=Site(echo, gone=(0.0, 30.0)), west=Site(echo, loading=(0.0, 50.0))), list[Waiting]()
    exchange = make_exchange(line, seen)
    assert ask(exchange) == leave_out("west")
    assert 30.0 <= line.now < 33.0
    first = seen[0]
    assert (first.stage, first.answered, first.awaited) == ("quorum", ("north", "south", "middle"), ("east", "west"))
    assert first.seconds_left > seen[1].seconds_left
    asked = [name for _, name, data in line.log if data[0] == MessageKind.BUNDLE]
    assert asked == leave_out("west")


def test_no_quorum_ends_the_round_with_a_sentence() -> None:
    line = make_line(east=Site(echo, gone=(0.0, inf)), west=Site(echo, gone=(0.0, inf)))
    exchange = make_exchange(line)
    said = r"4 of 5 parties are needed, and only north, south, middle answered; awaited in vain: east, west; .*resumed"
    with pytest.raises(RoundFailed, match=said):
        ask(exchange)
    assert 600.0 <= line.now < 603.0
    with pytest.raises(RoundFailed, match="needed"):
        ask(exchange, deadline=line.now + 5.0)
    assert line.now < 611.0
    assert not any(data[0] == MessageKind.BUNDLE for _, _, data in line.log)
    line.down = (0.0, inf)
    with pytest.raises(RoundFailed, match="nobody answered"):
        ask(make_exchange(line))


def test_parties_are_not_blamed_for_a_server_that_is_not_there() -> None:
    line, seen = make_line(), list[Waiting]()
    line.down, line.trouble = (0.0, inf), "the server at moot:8002 does not answer"
    with pytest.raises(
        RoundFailed, match=r"^4 of 5 parties are needed, and the server at moot:8002 does not answer; a"
    ):
        ask(make_exchange(line, seen))
    assert {one.trouble for one in seen} == {line.trouble}
    line.now = 0.0
    with pytest.raises(RoundFailed, match=r"^Not all parties enrolled: the server at moot:8002 does not answer$"):
        call(line)


def test_a_party_with_another_roster_is_not_there() -> None:
    def answer(data: bytes) -> bytes:
        return bytes([Code.OK]) + (b"22222" if data[0] == MessageKind.PING else data[1:])

    sites = {name: Site(answer) for name in PARTIES}
    with pytest.raises(RoundFailed, match=r"\(another roster is pinned at north, south, east, west, middle\)"):
        ask(make_exchange(make_line(**sites), fingerprint="11111"))
    assert ask(make_exchange(make_line(**sites), fingerprint="22222")) == list(PARTIES)


def test_people_see_who_is_awaited() -> None:
    slow = {name: Site(echo, seconds=float(at)) for at, name in enumerate(PARTIES)}
    line, seen = make_line(**slow), list[Waiting]()
    exchange = make_exchange(line, seen)
    exchange.absent = {4}
    exchange.patience = 30.0
    ask(exchange, b"")
    assert [one.answered for one in seen] == [PARTIES[:count] for count in range(5)]
    assert [one.awaited for one in seen] == [PARTIES[count:4] for count in range(5)]
    assert {one.absent for one in seen} == {("middle",)}
    assert {one.stage for one in seen} == {Bundle({0: LETTER}).stage}
    assert QUESTION not in {one.stage for one in seen}


# Gathering.


def make_desks(folder: Path) -> dict[str, Desk]:
    desks = {}
    for enrolment in enrol_all(folder):
        pin = folder / enrolment.party / "roster.json"
        setup = DeskSetup(enrolment.encode(), make_registrar(), pin, lambda _: Echo(), lambda _: None)
        desks[enrolment.party] = Desk(setup, lambda _: None, clock=lambda: MOMENT)
    return desks


def call(line: ScriptedLine, seconds: float = 60.0, seen: list[Waiting] | None = None) -> RosterBook:
    notify = (lambda _: None) if seen is None else seen.append
    return gather(line, make_registrar(), seconds, notify, timing=line.timing, now=lambda: MOMENT)


def test_parties_gather(tmp_path: Path) -> None:
    desks, seen = make_desks(tmp_path), list[Waiting]()
    line = ScriptedLine({name: Site(desk.answer) for name, desk in desks.items()})
    line.sites["east"].gone, line.sites["west"].loading = (0.0, 10.0), (0.0, 20.0)
    book = call(line, seen=seen)
    assert {desk.fingerprint for desk in desks.values()} == {book.fingerprint}
    assert 20.0 <= line.now < 22.0
    assert [one.stage for one in seen][:1] + [one.stage for one in seen][-1:] == ["enrolment", "roster"]
    assert seen[3].awaited == ("east", "west")
    assert call(line).fingerprint == book.fingerprint  # once more, as after a restart


def test_a_frozen_party_does_not_keep_others_from_being_asked_again(tmp_path: Path) -> None:
    line = ScriptedLine({name: Site(desk.answer) for name, desk in make_desks(tmp_path).items()})
    line.sites["east"].frozen, line.sites["west"].loading = (0.0, 30.0), (0.0, 10.0)
    call(line)
    assert line.now < 45.0


def test_who_is_missing(tmp_path: Path) -> None:
    line = ScriptedLine({name: Site(desk.answer) for name, desk in make_desks(tmp_path).items()})
    line.sites["east"].gone, line.sites["west"].loading = (0.0, inf), (0.0, inf)
    line.sites["north"].answer = lambda _: FAIL
    said = "Not all parties enrolled: east, west did not answer; north failed; the reason is in the log of that party"
    with pytest.raises(RoundFailed, match=said):
        call(line)
    assert 60.0 <= line.now < 62.0


def test_who_fails_at_first_is_asked_again(tmp_path: Path) -> None:
    line = ScriptedLine({name: Site(desk.answer) for name, desk in make_desks(tmp_path).items()})
    desk = line.sites["north"].answer
    line.sites["north"].answer = lambda data: FAIL if line.now < 5.0 else desk(data)
    assert call(line).names == PARTIES


def test_who_has_another_roster(tmp_path: Path) -> None:
    desks = make_desks(tmp_path)
    other = [enrol(tmp_path, state("south", clients=7)), *(one for one in enrol_all(tmp_path) if one.party != "south")]
    pinned = make_registrar().read_book([one.encode() for one in other], MOMENT)
    for name in ("north", "west"):
        desks[name].answer(write_request(MessageKind.ROSTER, pinned.encode()))
    line = ScriptedLine({name: Site(desk.answer) for name, desk in desks.items()})
    east = desks["east"].answer
    line.sites["east"].answer = lambda data: REFUSE if data[0] == MessageKind.ROSTER else east(data)
    said = (
        f"Not all parties accepted the roster: north, west have another roster, fingerprint {pinned.fingerprint}; "
        "east refused; the reason is in the log"
    )
    with pytest.raises(RoundFailed, match=said):
        call(line)


def test_enrolments_that_cannot_be_right(tmp_path: Path) -> None:
    desks = make_desks(tmp_path)
    line = ScriptedLine({name: Site(desk.answer) for name, desk in desks.items()})
    line.sites["east"].answer = desks["west"].answer
    with pytest.raises(InputError, match="east sent the enrolment of another party"):
        call(line)
    line.sites["east"].answer = lambda _: bytes([Code.OK]) + b"nonsense"
    with pytest.raises(InputError, match="east: is not an enrolment"):
        call(line)
    east = desks["east"].answer
    line.sites["east"].answer = lambda data: b"\x00other" if data[0] == MessageKind.ROSTER else east(data)
    with pytest.raises(RoundFailed, match="east says that the roster is another one than it was sent"):
        call(line)


def test_the_book_that_was_gathered_is_the_one_that_was_made(tmp_path: Path) -> None:
    line = ScriptedLine({name: Site(desk.answer) for name, desk in make_desks(tmp_path).items()})
    assert call(line).fingerprint == make_book(tmp_path).fingerprint
    assert read_reply(line.sites["north"].answer(write_request(MessageKind.PING)))[1]
