"""What an engine is: the one thing between a conversation and the clients. `docs/engines.md` shows how to write one."""

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
    """A round was given up because whoever asked did not want to wait for it any longer."""


def never() -> bool:
    return False


def ignore(what: str, done: int, of: int) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True)
class Control:
    """How the caller steers a round while it runs.

    deadline: when it must be over, by the clock `monotonic`; None: whenever it is. cancelled: looked at between the
    steps of a round; once it is true the engine raises `Cancelled`. progress: told (what is being done, how much of it
    is done, of how much).
    """

    deadline: float | None = None
    cancelled: Callable[[], bool] = never
    progress: Callable[[str, int, int], None] = ignore

    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and monotonic() >= self.deadline

    def check(self) -> None:
        """Raise `Cancelled` if the caller gave up."""
        if self.cancelled():
            raise Cancelled("the round was cancelled")


class Engine(ABC):
    """Turns a question into the sum of the answers.

    A subclass has `population` and `add_up`; the rest has defaults for clients that are asked in the clear, whose sums
    can only be replayed, and whose bytes nobody counted.
    """

    @property
    @abstractmethod
    def population(self) -> Population:
        """What the server knows of the clients beforehand."""

    @abstractmethod
    def add_up(self, ask: Ask, control: Control) -> Sum:
        """The sum of the answers of those of the cohort who answer.

        A round that has too few answers, or is not over at the deadline, is lost: it returns a `Sum` that says so, and
        whether anyone had sent an answer by then.
        """

    @property
    def terms(self) -> Policy | None:
        """The terms on which clients take part in secure aggregation; None: their answers are not hidden."""
        return None

    def describe(self) -> Mapping[str, Any]:
        """What tells these clients from others, and decides the sums besides them: numbers and texts."""
        return {}

    @property
    def can_recompute(self) -> bool:
        """Whether a sum can be computed again (a simulator) or was said once and can only be replayed (real clients).

        `verify` asks nobody anything unless this is true.
        """
        return False

    @property
    def everything(self) -> Objective | None:
        """Every client's function, where one process holds them all: a simulator says how good an answer really is."""
        return None

    def __call__(self, ask: Ask) -> Sum:
        """A round that nobody steers."""
        return self.add_up(ask, Control())


def as_engine(given: Any) -> Engine:
    if not isinstance(given, Engine):
        raise InputError(f"needs an engine such as Simulation(objective), got {given!r}", argument="engine")
    return given
