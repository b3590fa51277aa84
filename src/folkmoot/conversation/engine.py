"""The interface between a conversation and the clients. `docs/engines.md` shows how to write an engine."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.foundation.errors import FolkmootError, InputError
from folkmoot.objectives.objective import Objective
from folkmoot.secagg import Policy


class Cancelled(FolkmootError):
    """A round was stopped because the caller did not want to wait for it any longer."""


def never() -> bool:
    return False


def ignore(what: str, done: int, of: int) -> None:
    """Progress that is not shown."""


def forget(revealing: bool) -> None:
    """What is about to happen is not written down."""


@dataclass(frozen=True)
class Control:
    """How the caller steers a round while it runs.

    deadline: when the round must be over, by the clock `time.monotonic`; None: no limit. cancelled: called between the
    steps of a round; once it returns True, the engine raises `Cancelled`. progress: called with (what is being done,
    how much of it is done, of how much). warn: called before clients are asked for their answers (with False), and
    before they are asked for what reveals the sum (with True): if the process dies after that, the caller knows how far
    the round had come.
    """

    deadline: float | None = None
    cancelled: Callable[[], bool] = never
    progress: Callable[[str, int, int], None] = ignore
    warn: Callable[[bool], None] = forget

    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and monotonic() >= self.deadline

    def check(self) -> None:
        """Raise `Cancelled` if the caller wants to stop."""
        if self.cancelled():
            raise Cancelled("the round was cancelled")


class Engine(ABC):
    """Turns a question into the sum of the answers.

    A subclass must define `population` and `add_up`. The defaults of the rest suit clients whose answers are not
    hidden, whose sums can only be replayed, and whose bytes are not measured.
    """

    @property
    @abstractmethod
    def population(self) -> Population:
        """What the server knows about the clients beforehand."""

    @abstractmethod
    def add_up(self, ask: Ask, control: Control) -> Sum:
        """The sum over those clients of the cohort who answer.

        A round that gets too few answers, or is not over by the deadline, is lost: the `Sum` returned says so, and
        whether any client had sent an answer by then.
        """

    @property
    def terms(self) -> Policy | None:
        """The terms on which clients take part in secure aggregation; None: their answers are not hidden."""
        return None

    def describe(self) -> Mapping[str, Any]:
        """What distinguishes these clients from others, and all settings that affect the sums: numbers and texts."""
        return {}

    @property
    def can_recompute(self) -> bool:
        """Whether a sum can be recomputed (by a simulator) or only replayed (from real clients).

        Unless this is true, `verify` never asks the clients anything.
        """
        return False

    @property
    def everything(self) -> Objective | None:
        """Every client's function, where one process holds them all (a simulator); results then have the true value."""
        return None

    def can_continue(self, ask: Ask) -> bool:  # noqa: ARG002
        """Whether `add_up` would go on with a round that another process began, as if nothing had happened.

        If not, a stored run gives such a round up once clients may have sent answers.
        """
        return False

    def leave_out(self, caught: frozenset[int]) -> None:  # noqa: B027 - most engines catch nobody
        """Never ask these again: they were caught lying (see `Sum.caught`), in this process or an earlier one."""

    def __call__(self, ask: Ask) -> Sum:
        """A round without a deadline, cancellation or progress."""
        return self.add_up(ask, Control())


def as_engine(given: Any) -> Engine:
    if not isinstance(given, Engine):
        raise InputError(f"needs an engine such as Simulation(objective), got {given!r}", argument="engine")
    return given
