"""A run's line to the parties: by way of the relay in FLARE's server, which this end starts, and starts again.

This is the supervisor outside FLARE. It judges by whether parties reply, not by what FLARE says about a job: when the
relay is gone another job is submitted, and when a party came back that the job does not know, the job is begun anew.
"""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Condition, Event, Lock, Thread
from time import monotonic, time

from folkmoot.engines.flare.frames import STOP, UNREACHABLE, Closed, Frame, connect, receive_frame, send_frame
from folkmoot.engines.flare.leader import Leader
from folkmoot.foundation.errors import InputError

LOCK = "run.lock"
GLANCE = 0.3  # seconds between looks at the relay
STARTING = 90.0  # seconds that a job may take to begin before another one is submitted
WAKING = 45.0  # seconds that all parties together may take to begin with a job, from when its relay is there
LATE = 20.0  # seconds that a run waits for parties beyond those it needs
SILENT = 8.0  # seconds without a reply after which a party that FLARE knows is taken for one that came back
FIRST_REST, LONGEST_REST = 10.0, 320.0  # seconds between jobs that are begun anew for the sake of a party
URGENT_REST = 40.0  # at most, where nobody can go on without it; it may be slow to begin
CALM = 120.0  # seconds without that, after which the next one need not wait so long


def ignore(_said: str) -> None:
    """What nobody wants to hear."""


@dataclass
class Contact:
    """When a party was last heard, and last not reached, by the clock `monotonic`; and, by the clock of FLARE, when it
    was first not reached since then (0: it is reached).
    """

    heard: float = 0.0
    missed: float = 0.0
    lost: float = 0.0

    def hear(self) -> None:
        self.heard, self.lost = monotonic(), 0.0

    def miss(self) -> None:
        self.missed, self.lost = monotonic(), self.lost or time()


@dataclass
class SubmittedJob:
    """A job that was submitted."""

    id: str
    since: float = field(default_factory=monotonic)


class FlareLine:
    """Carries bytes to parties by name. Use `open_line`."""

    def __init__(self, kit: Path, names: tuple[str, ...], fewest: int, tell: Callable[[str], None] = ignore) -> None:
        self.kit, self.names, self.fewest, self.tell = kit.absolute(), names, fewest, tell
        self.leader = Leader(self.kit)
        self.contacts = {name: Contact() for name in names}
        self.trouble = ""  # what keeps all messages from being carried, for people
        self._tags, self._waiting = count(1), dict[int, SimpleQueue[Frame | None]]()
        self._link: socket.socket | None = None
        self._changed, self._closing, self._writing = Condition(), Event(), Lock()
        self._job: SubmittedJob | None = None
        self._linked, self._answered = 0.0, 0.0  # when this relay was reached, and the first party by way of it
        self._rest, self._rested = FIRST_REST, 0.0
        self._keeper = Thread(target=self._keep, daemon=True, name="folkmoot-line")

    def start(self) -> None:
        self._keeper.start()

    def send(self, outbox: Mapping[str, bytes], seconds: float) -> Iterator[tuple[str, bytes]]:
        """Replies as they arrive, until all have replied, cannot be reached, or time is over."""
        end, queue = monotonic() + seconds, SimpleQueue[Frame | None]()
        tags = {next(self._tags): name for name in outbox}
        with self._changed:
            self._changed.wait_for(lambda: self._link is not None or self._closing.is_set(), seconds)
            link = self._link
            if link is None:
                return
            self._waiting |= dict.fromkeys(tags, queue)
        try:
            left = max(end - monotonic(), 0.1)
            self._write(link, [Frame(tag, name, left, outbox[name]) for tag, name in tags.items()])
            yield from self._collect(queue, set(outbox), end)
        finally:
            with self._changed:
                for tag in tags:
                    self._waiting.pop(tag, None)

    def _write(self, link: socket.socket, frames: list[Frame]) -> None:
        """Hand frames to the relay; one that takes none any more is let go."""
        try:
            with self._writing:
                for frame in frames:
                    send_frame(link, frame)
        except OSError:
            self._lose(link)

    def _collect(self, queue: SimpleQueue[Frame | None], left: set[str], end: float) -> Iterator[tuple[str, bytes]]:
        while left:
            try:
                frame = queue.get(timeout=max(end - monotonic(), 0.0))
            except Empty:
                break
            if frame is None:  # the relay is gone: nobody was missed by a fault of their own
                return
            left.discard(frame.name)
            if frame.seconds == UNREACHABLE:
                self.contacts[frame.name].miss()
            else:
                self.contacts[frame.name].hear()
                self._answered = self._answered or monotonic()
                yield frame.name, frame.body
        for name in left:
            self.contacts[name].miss()

    def close(self) -> None:
        """End the job, and everything that this line has begun."""
        self._closing.set()
        with self._changed:
            self._hang_up(over=True)
            self._changed.notify_all()
        self._keeper.join(timeout=STARTING)
        self.leader.close()

    def _keep(self) -> None:
        """See to it that there is a relay, until the line is closed."""
        looked = 0.0
        while not self._closing.wait(GLANCE):
            if self._link is None:
                self._begin()
            elif monotonic() - looked > SILENT / 4:
                looked = monotonic()
                self._welcome_back()

    def _begin(self) -> None:
        """Connect to the relay; where there is none, have one started."""
        with suppress(OSError):
            link = connect(self.kit)
            with self._changed:
                self._link, self._linked, self._answered, self.trouble = link, monotonic(), 0.0, ""
                if self._closing.is_set():
                    self._hang_up(over=True)
                self._changed.notify_all()
            Thread(target=self._listen, args=(link,), daemon=True, name="folkmoot-replies").start()
            return
        if self._job is not None and not self._is_over(self._job):
            return
        if self._await_parties():
            job = self.leader.submit(self.fewest, self.names)
            self._job = None if job is None else SubmittedJob(job)

    def _is_over(self, job: SubmittedJob) -> bool:
        """Whether nothing more is to be expected of a job."""
        if monotonic() - job.since > STARTING:
            self.leader.abort(job.id)
            return True
        return self.leader.read_status(job.id).startswith("FINISHED")

    def _await_parties(self) -> bool:
        """Wait for all parties, or for as many as are needed and a while longer; a job leaves out who comes later."""
        since = monotonic()
        while not self._closing.wait(GLANCE):
            known = self.leader.find_parties()
            there = [name for name in self.names if name in (known or ())]
            if len(there) == len(self.names) or (len(there) >= self.fewest and monotonic() - since > LATE):
                if self.trouble:
                    self.trouble = ""
                    self.tell("beginning a job at the parties")
                return True
            since = monotonic() if known is None else since  # parties cannot be late before the server is there
            self._note_trouble(known, [name for name in self.names if name not in there])
        return False

    def _note_trouble(self, known: Mapping[str, float] | None, missing: list[str]) -> None:
        """Remember who is not there, and say so if it is news."""
        if known is None:
            said = "the server at {}:{} does not answer".format(*self.leader.address)
            told = f"{said}: is `folkmoot federation serve` running?"
        else:
            said = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not connected to the server"
            told = f"waiting for {', '.join(missing)}"
        if said != self.trouble:
            self.trouble = said
            self.tell(told)

    def _welcome_back(self) -> None:
        """Begin the job anew if FLARE heard of a party that the job no longer reaches; at longer and longer intervals.

        FLARE knows a party that has just left for a while yet, but hears no more of it. A job begins with its first
        reply: until then its processes may still be starting, on slow machines for long.
        """
        now, began = monotonic(), self._answered or self._linked + WAKING
        silent = {
            name
            for name, one in self.contacts.items()
            if one.missed > one.heard and now - max(one.heard, began) > SILENT
        }
        enough = len(self.names) - len(silent) >= self.fewest
        rest = self._rest if enough else min(self._rest, URGENT_REST)
        if not silent or now - max(self._rested, began) < rest:
            return
        known = self.leader.list_parties()
        back = [name for name in self.names if name in silent and known.get(name, 0.0) > self.contacts[name].lost]
        if not back:
            return
        self.tell(f"beginning the job anew: {', '.join(back)} came back")
        for one in self.contacts.values():
            one.lost = 0.0  # FLARE must hear of it again, after the new job did not reach it
        self._rest = FIRST_REST if now - self._rested > CALM else min(2 * self._rest, LONGEST_REST)
        self._rested = now
        with self._changed:
            self._hang_up(over=True)

    def _listen(self, link: socket.socket) -> None:
        """Hand out replies until the relay is gone."""
        try:
            while True:
                frame = receive_frame(link)
                queue = self._waiting.get(frame.tag)
                if queue is not None:
                    queue.put(frame)
        except (Closed, OSError):
            self._lose(link)

    def _lose(self, link: socket.socket) -> None:
        """The relay is gone, and its job with it, whatever FLARE says about that."""
        with self._changed:
            if self._link is link:
                self._hang_up()
                self._job = None

    def _hang_up(self, *, over: bool = False) -> None:
        """Let go of the relay; `over`: and have it end its job."""
        link, self._link = self._link, None
        if link is not None:
            if over:
                with suppress(OSError), self._writing:
                    send_frame(link, Frame(0, STOP, 0.0))
                self._job = None
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()
        for queue in self._waiting.values():
            queue.put(None)


@contextmanager
def open_line(
    kit: Path, names: tuple[str, ...], fewest: int, tell: Callable[[str], None] = ignore
) -> Iterator[FlareLine]:
    """A line to these parties for the time of a run; `fewest` of them must be there before anything begins."""
    with _claim(kit):
        line = FlareLine(kit, names, fewest, tell)
        line.start()
        try:
            yield line
        finally:
            line.close()


@contextmanager
def _claim(kit: Path) -> Iterator[None]:
    """One run at a time: a party has one desk."""
    with (kit / LOCK).open("w") as file:
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except OSError:
            raise InputError("another run is asking its parties", remedy="wait until it is over", place=kit) from None
        yield
