"""What a party's terminal says while it runs: when the server is reached, which roster it is, what was answered."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from time import monotonic, time
from typing import Any, Protocol

from folkmoot.foundation.errors import InputError

ROSTER = "roster.json"
GLANCE = 5.0  # seconds between looks at what was answered
SILENT = 30.0  # seconds without a connection after which that is said


class Reached(Protocol):
    def look(self) -> bool: ...


class PartyWatch:
    """Says what is new whenever it is called."""

    def __init__(
        self, kit: Path, connection: Reached, say: Callable[[str], Any], clock: Callable[[], float] = monotonic
    ) -> None:
        self.kit, self.connection, self.say, self.clock = kit, connection, say, clock
        self.start, self.began, self.looked = time(), clock(), 0.0
        self.connected = self.complained = False
        self.answered = self.refused = 0
        self.stamp = read_stamp(kit)

    def __call__(self) -> None:
        now = self.clock()
        if not self.connected:
            self._watch_connection(now)
        if now - self.looked >= GLANCE:
            self.looked = now
            self._watch_roster()
            self._watch_rounds()

    def _watch_connection(self, now: float) -> None:
        if self.connection.look():
            self.connected = True
            self.say("Connected. Waiting for questions.")
        elif not self.complained and now - self.began > SILENT:
            self.complained = True
            self.say(f"Not connected yet; what FLARE says about it is in {self.kit / 'flare.log'}. Trying again …")

    def _watch_roster(self) -> None:
        stamp = read_stamp(self.kit)
        if stamp > self.stamp:
            self.stamp = stamp
            self.say(f"Roster:\n{read_roster(self.kit)}\nAsk another party, by telephone, whether it has the same.")

    def _watch_rounds(self) -> None:
        from folkmoot.application.federation.hosting import read_activity

        try:
            done = read_activity(self.kit, self.start)
        except InputError:  # the store is just being made
            return
        if (answered := len(done.ledger)) > self.answered:
            rounds = "round" if answered == 1 else "rounds"
            self.say(f"{format_time(done.ledger[-1].time)}  {answered:,} {rounds} answered")
        new = done.refusals[self.refused :]
        for (stage, why), count in Counter((one.stage, one.why) for one in new).items():
            times = "" if count == 1 else f" {count:,} times"
            self.say(f"{format_time(new[-1].time)}  refused{times} ({stage}): {why}")
        self.answered, self.refused = len(done.ledger), len(done.refusals)


def read_stamp(kit: Path) -> float:
    """When the roster was pinned; 0: none is."""
    try:
        return (kit / ROSTER).stat().st_mtime
    except OSError:
        return 0.0


def read_roster(kit: Path) -> str:
    """The fingerprint of the roster that is pinned, in rows; empty: none is."""
    from folkmoot.application.federation.agreement import open_registrar
    from folkmoot.engines.desk import read_pin
    from folkmoot.engines.enrolment import arrange_fingerprint

    book = read_pin(kit / ROSTER, open_registrar(kit))
    return "" if book is None else arrange_fingerprint(book.fingerprint)


def format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
