"""How a server reaches parties that come and go: it learns who they are, and asks again until they answer.

A message that was not answered is sent again as it was: a party replies to it in the same way, or has not seen it yet.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic, sleep, time
from typing import NoReturn, Protocol

from folkmoot.engines.desk import Code, MessageKind, read_reply, write_request
from folkmoot.engines.enrolment import Registrar, RosterBook
from folkmoot.engines.exchange import QUESTION, Bundle
from folkmoot.foundation.errors import InputError, RoundFailed

GREETING = 2.0  # seconds for the reply to a ping
ASKING = 20.0  # seconds for a reply when parties gather, before all who are silent are asked again
PAUSE = 0.5  # seconds before something is sent again
ENROLLING, PINNING, CALLING = "enrolment", "roster", "quorum"  # what is waited for, besides exchanges


class Line(Protocol):
    """Carries bytes to parties, and their replies back."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parties, in the order of their numbers."""
        ...

    @property
    def trouble(self) -> str:
        """What keeps all messages from being carried, for people; empty: nothing that is known."""
        ...

    def send(self, outbox: Mapping[str, bytes], seconds: float) -> Iterator[tuple[str, bytes]]:
        """Replies as they arrive. It ends when all have replied, or cannot be reached, or time is over; it never raises
        because a party is lost.
        """
        ...


@dataclass(frozen=True)
class Waiting:
    """Who answered, and who is awaited, for people who watch."""

    stage: str  # the exchange; or "enrolment", "roster", "quorum"
    answered: tuple[str, ...]
    awaited: tuple[str, ...]
    refused: tuple[str, ...]  # those who said no, or failed
    seconds_left: float  # to wait for the awaited, at most
    absent: tuple[str, ...] = ()  # not asked: they missed an exchange and have not answered a ping since
    trouble: str = ""  # what keeps the line from reaching anybody


Notify = Callable[[Waiting], None]


def ignore_waiting(waiting: Waiting) -> None:
    """For those who do not watch."""


@dataclass(frozen=True)
class Timing:
    """A clock, and how to let time pass; tests have their own."""

    clock: Callable[[], float] = monotonic
    pause: Callable[[float], None] = sleep


SYSTEM_TIMING = Timing()


def gather(
    line: Line,
    registrar: Registrar,
    seconds: float,
    notify: Notify = ignore_waiting,
    *,
    timing: Timing = SYSTEM_TIMING,
    now: Callable[[], float] = time,
) -> RosterBook:
    """Ask all parties for their enrolments, check them, and give all parties the roster; it returns when all of them
    use it. Those who are loading, silent or out of order are asked again until time is over.
    """
    survey = Survey(line, timing.clock() + seconds, notify, timing)
    found = survey.ask(ENROLLING, dict.fromkeys(line.names, write_request(MessageKind.ENROL)), patient=True)
    encoded = []
    for name, data in found.items():
        try:
            enrolment = registrar.read_enrolment(data, now())
        except InputError as why:
            raise InputError(why.problem, argument=name) from None
        if enrolment.party != name:
            raise InputError(f"{name} sent the enrolment of another party")
        encoded.append(data)
    book = registrar.read_book(encoded, now())
    sent = write_request(MessageKind.ROSTER, book.encode())
    said = survey.ask(PINNING, dict.fromkeys(line.names, sent), patient=False)
    for name, body in said.items():
        if body != book.fingerprint.encode():
            raise RoundFailed(f"{name} says that the roster is another one than it was sent")
    return book


@dataclass
class Survey:
    """Asks all parties for something that all must answer."""

    line: Line
    until: float
    notify: Notify
    timing: Timing

    def ask(self, stage: str, outbox: Mapping[str, bytes], *, patient: bool) -> dict[str, bytes]:
        """All parties' replies. patient: those who say no are asked again too, since somebody may repair them."""
        answered, refused = dict[str, bytes](), dict[str, Code]()

        def show() -> None:
            awaited = tuple(name for name in outbox if name not in answered and name not in refused)
            left = max(self.until - self.timing.clock(), 0.0)
            self.notify(Waiting(stage, tuple(answered), awaited, tuple(refused), left, trouble=self.line.trouble))

        show()
        while True:
            waiting = {one: sent for one, sent in outbox.items() if one not in answered}
            waiting = {one: sent for one, sent in waiting.items() if patient or one not in refused}
            left = self.until - self.timing.clock()
            if not waiting or left <= 0:
                break
            for name, data in self.line.send(waiting, min(left, ASKING)):
                code, body = read_reply(data)
                if name not in waiting or code == Code.LOADING:
                    continue
                refused.pop(name, None)
                if code == Code.OK:
                    answered[name] = body
                else:
                    refused[name] = code
                show()
            if len(answered) < len(outbox):
                self.timing.pause(PAUSE)
        if len(answered) < len(outbox):
            self._complain(stage, outbox, answered, refused)
        return {name: answered[name] for name in outbox}

    def _complain(
        self, stage: str, outbox: Mapping[str, bytes], answered: Mapping[str, bytes], refused: Mapping[str, Code]
    ) -> NoReturn:
        missing = [name for name in outbox if name not in answered and name not in refused]
        said = [self.line.trouble or f"{', '.join(missing)} did not answer"] if missing else []
        pinned = self._find_pinned([name for name, code in refused.items() if code == Code.REFUSED])
        for own in dict.fromkeys(pinned.values()):
            those = [name for name in pinned if pinned[name] == own]
            said.append(f"{', '.join(those)} {'has' if len(those) == 1 else 'have'} another roster, fingerprint {own}")
        for code, problem in ((Code.REFUSED, "refused"), (Code.FAILED, "failed"), (Code.UNKNOWN, "did not understand")):
            those = [name for name, own in refused.items() if own == code and name not in pinned]
            if those:
                said.append(f"{', '.join(those)} {problem}")
        hint = "; the reason is in the log of that party (`folkmoot federation outbox --refusals`)" if refused else ""
        what = {ENROLLING: "Not all parties enrolled", PINNING: "Not all parties accepted the roster"}[stage]
        raise RoundFailed(f"{what}: {'; '.join(said)}{hint}")

    def _find_pinned(self, names: list[str]) -> dict[str, str]:
        """The fingerprints of the rosters that these parties have pinned."""
        found = dict[str, str]()
        if not names:
            return found
        for name, data in self.line.send(dict.fromkeys(names, write_request(MessageKind.PING)), GREETING):
            code, body = read_reply(data)
            if code == Code.OK and body:
                found[name] = body.decode("ascii", "replace")
        return {name: found[name] for name in names if name in found}


@dataclass
class PartyLine:
    """An exchange with parties over a line. Messages are sent again until they are answered, or patience is over.

    A party that missed an exchange is absent. It is left alone until the next question: before one, absent parties are
    pinged, and a quorum is awaited. Where nobody can be reached at all, our own line is broken; that costs no patience,
    since nobody else can go on either. Nor does it where too few would be left for a sum: a party whose process is
    started again goes on with the round that it was in.

    numbers: the names of the parties, by number. quorum: how many must be there before anything is asked. patience: for
    a reply, in seconds. wait: for a quorum, or for a broken line. fingerprint: of the roster that parties must have
    pinned to count as there; None: any.
    """

    line: Line
    numbers: Mapping[int, str]
    quorum: int
    patience: float = 20.0
    wait: float = 600.0
    notify: Notify = ignore_waiting
    fingerprint: str | None = None
    timing: Timing = SYSTEM_TIMING
    absent: set[int] = field(default_factory=set, init=False)  # their numbers
    strangers: set[int] = field(default_factory=set, init=False)  # absent, though they answer: another roster is pinned

    def __post_init__(self) -> None:
        self.absent = set(self.numbers)  # nobody has been heard of yet

    def __call__(self, outbox: Mapping[int, Bundle], deadline: float | None) -> dict[int, Bundle]:
        stage = next((sent.stage for sent in outbox.values()), "")
        if stage == QUESTION:
            self.await_quorum(deadline)
        there = {number: sent for number, sent in outbox.items() if number not in self.absent}
        talk = ExchangeTalk(self, stage, {number: _write_bundle(sent) for number, sent in there.items()}, deadline)
        replies = talk.hold()
        self.absent |= set(talk.waiting)
        return replies

    def name_all(self, numbers: Mapping[int, object] | set[int]) -> tuple[str, ...]:
        return tuple(self.numbers[number] for number in sorted(numbers))

    def greet(self, numbers: set[int]) -> set[int]:
        """Those who answer a ping, are not loading, and have our roster."""
        found = set[int]()
        by_name = {self.numbers[number]: number for number in numbers}
        ping = write_request(MessageKind.PING)
        for name, data in self.line.send(dict.fromkeys(by_name, ping), min(GREETING, self.patience)):
            code, body = read_reply(data)
            if name not in by_name or code != Code.OK:
                continue
            if self.fingerprint is None or body == self.fingerprint.encode():
                found.add(by_name[name])
                self.strangers.discard(by_name[name])
            else:
                self.strangers.add(by_name[name])
        return found

    def reaches_any(self, numbers: set[int]) -> bool:
        """Whether any of these parties answers anything."""
        pings = dict.fromkeys(self.name_all(numbers), write_request(MessageKind.PING))
        return any(True for _ in self.line.send(pings, min(GREETING, self.patience))) if pings else False

    def await_quorum(self, deadline: float | None, *, or_stranger: bool = False) -> None:
        """Ping absent parties, until enough are there; `RoundFailed` if they do not come. or_stranger: or until one has
        another roster, for those who would then gather anew.
        """
        clock = self.timing.clock
        until = clock() + self.wait if deadline is None else min(clock() + self.wait, deadline)
        if self.absent:
            self.absent -= self.greet(set(self.absent))
        while len(self.numbers) - len(self.absent) < self.quorum and not (or_stranger and self.strangers):
            there = self.name_all(set(self.numbers) - self.absent)
            left = until - clock()
            absent, trouble = self.name_all(self.absent), self.line.trouble
            self.notify(Waiting(CALLING, there, absent, (), max(left, 0.0), trouble=trouble))
            if left <= 0:
                self._give_up(there)
            self.timing.pause(min(PAUSE, left))
            self.absent -= self.greet(set(self.absent))

    def await_others(self, seconds: float) -> None:
        """Ping the others too, for a while."""
        until = self.timing.clock() + seconds
        while self.absent - self.strangers and self.timing.clock() < until:
            self.timing.pause(PAUSE)
            self.absent -= self.greet(set(self.absent))

    def _give_up(self, there: tuple[str, ...]) -> NoReturn:
        here = f"only {', '.join(there)} answered" if there else "nobody answered"
        here = self.line.trouble or f"{here}; awaited in vain: {', '.join(self.name_all(self.absent))}"
        said = f"{self.quorum} of {len(self.numbers)} parties are needed, and {here}"
        if self.strangers & self.absent:
            said += f" (another roster is pinned at {', '.join(self.name_all(self.strangers & self.absent))})"
        raise RoundFailed(said, remedy="a stored run can be resumed when they are back")


class ExchangeTalk:
    """One exchange: all that was sent, and who has not replied yet."""

    def __init__(self, owner: PartyLine, stage: str, outbox: dict[int, bytes], deadline: float | None) -> None:
        self.owner, self.stage, self.deadline = owner, stage, deadline
        self.waiting = outbox
        self.replies: dict[int, Bundle] = {}
        self.refused: set[int] = set()
        self.spent, self.broken = 0.0, 0.0  # seconds in which the line worked, and in which it did not

    def hold(self) -> dict[int, Bundle]:
        """Send until all have replied or said no, or time is over; those who are left are in `waiting`."""
        owner, clock = self.owner, self.owner.timing.clock
        self._show()
        while self.waiting and self._count_left() > 0:
            began = clock()
            heard = self._send(min(self._count_left(), owner.patience / 2))
            if self.waiting and self._count_left() > 0:
                owner.timing.pause(min(PAUSE, self._count_left()))
            if heard or not self.waiting or owner.reaches_any(self.refused.union(self.replies)):
                self.spent += clock() - began
                self.broken = 0.0
            else:
                self.broken += clock() - began
        if self.waiting:
            self._show()
        return self.replies

    def _send(self, seconds: float) -> bool:
        """Send what was not answered; whether anybody was heard."""
        owner, heard = self.owner, False
        by_name = {owner.numbers[number]: number for number in self.waiting}
        for name, data in owner.line.send({name: self.waiting[number] for name, number in by_name.items()}, seconds):
            number = by_name.get(name)
            if number not in self.waiting:
                continue
            heard = True
            code, body = read_reply(data)
            if code == Code.LOADING:
                continue
            self._take(number, code, body)
            self._show()
        return heard

    def _take(self, number: int, code: Code, body: bytes) -> None:
        """A reply, or a refusal: then the party is there, and has said no."""
        del self.waiting[number]
        try:
            if code == Code.OK:
                self.replies[number] = Bundle.decode(body)
                return
        except InputError:
            pass
        self.refused.add(number)

    def _count_left(self) -> float:
        """Seconds that the awaited have."""
        owner, replied = self.owner, len(self.replies)
        needed = replied < owner.quorum <= replied + len(self.waiting)  # without them the round would be lost
        left = min((owner.wait if needed else owner.patience) - self.spent, owner.wait - self.broken)
        return left if self.deadline is None else min(left, self.deadline - owner.timing.clock())

    def _show(self) -> None:
        owner = self.owner
        there, awaited, refused = (owner.name_all(set(one)) for one in (self.replies, self.waiting, self.refused))
        left = max(self._count_left(), 0.0)
        absent, trouble = owner.name_all(owner.absent), owner.line.trouble
        owner.notify(Waiting(self.stage, there, awaited, refused, left, absent, trouble))


def _write_bundle(sent: Bundle) -> bytes:
    return write_request(MessageKind.BUNDLE, sent.encode())
