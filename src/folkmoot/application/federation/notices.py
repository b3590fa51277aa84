"""Who is awaited, shown while a run goes on: on its bar, or on a line of its own before there are rounds."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from time import monotonic
from typing import Any

from folkmoot.conversation.engine import Control, Engine, ignore
from folkmoot.conversation.population import Population
from folkmoot.conversation.progress import Steps
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.engines.gathering import Waiting
from folkmoot.secagg import Policy
from folkmoot.secagg.faults import Fault

SECOND = 1.0  # between updates of how long is waited still


class Notices:
    """Passes on who is awaited, to whatever shows it at the moment, and again as time passes."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.show: Steps = ignore
        self.clock = clock
        self._last: Waiting | None = None  # that is shown
        self._since = 0.0

    def __call__(self, waiting: Waiting) -> None:
        self._last, self._since = waiting, self.clock()
        self._tell(waiting)

    def say(self, what: str) -> None:
        self._last = None
        self.show(what, 0, 0)

    def tick(self) -> None:
        """Show how many seconds are left by now."""
        if (last := self._last) is not None and last.awaited:
            self._tell(replace(last, seconds_left=max(last.seconds_left - (self.clock() - self._since), 0.0)))

    @contextmanager
    def show_by(self, show: Steps) -> Iterator[None]:
        """Show it by this, counting down, for a while."""
        over = Event()

        def count_down() -> None:
            while not over.wait(SECOND):
                self.tick()

        self.show, self._last = show, None
        thread = Thread(target=count_down, daemon=True, name="folkmoot-countdown")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.show = ignore

    def _tell(self, waiting: Waiting) -> None:
        there = len(waiting.answered)
        self.show(describe_waiting(waiting), there, there + len(waiting.awaited) + len(waiting.refused))


def describe_waiting(waiting: Waiting) -> str:
    """Who is awaited and how long still, and who answered; what matters most first, where a line is cut."""
    known = [(waiting.refused, "refused"), (waiting.absent, "absent"), (waiting.answered, "answered")]
    parts = [f"{', '.join(names)} {what}" for names, what in known if names]
    if waiting.awaited:
        why = f", {waiting.trouble}" if waiting.trouble else f" for {', '.join(waiting.awaited)}"
        parts.insert(0, f"{waiting.seconds_left:.0f} s{why}")
    return f"{waiting.stage}: {'; '.join(parts)}"


@contextmanager
def show_waiting(notices: Notices) -> Iterator[None]:
    """A line on a terminal that says who is awaited, before there are rounds with a bar of their own."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status("reaching the parties …")
    with status, notices.show_by(lambda what, _done, _of: status.update(Text(what))):
        yield


class ShownEngine(Engine):
    """An engine whose rounds show who is awaited. `note` is told who was left out of a sum for a fault."""

    def __init__(self, engine: Engine, notices: Notices, note: Callable[[Mapping[int, Fault]], None]) -> None:
        self.engine, self.notices, self.note = engine, notices, note

    @property
    def population(self) -> Population:
        return self.engine.population

    @property
    def terms(self) -> Policy | None:
        return self.engine.terms

    def describe(self) -> Mapping[str, Any]:
        return self.engine.describe()

    def can_continue(self, ask: Ask) -> bool:
        return self.engine.can_continue(ask)

    def leave_out(self, caught: frozenset[int]) -> None:
        self.engine.leave_out(caught)

    def add_up(self, ask: Ask, control: Control) -> Sum:
        with self.notices.show_by(control.progress):
            said = self.engine.add_up(ask, control)
        if said.excluded:
            self.note(said.excluded)
        return said
