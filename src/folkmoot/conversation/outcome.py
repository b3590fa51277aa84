"""What a conversation leads to, and what a method must have to hold one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from folkmoot.conversation.result import Estimate
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.magnitude import Ranges
from folkmoot.theory.guarantee import Promise


class Appraised(NamedTuple):
    """The answer, how good it is, and what each of its items adds to those before it."""

    members: Mask
    estimate: Estimate
    order: Ids  # as the search would take them
    gains: Array


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that the conversation led to."""

    x: Array | None
    appraised: Appraised
    ranges: Ranges
    promise: Promise | None
    covered: bool  # whether the theorems speak of runs like this at all
    why: str | None = None  # what the method decided, and the reason


class Conversation(Registered, ABC):
    """A method as the one who conducts a run sees it."""

    @abstractmethod
    def check(self, matroid: Matroid) -> None:
        """Refuse settings that cannot work, before anyone is asked."""

    @abstractmethod
    def plan_rounds(self, matroid: Matroid) -> int:
        """About how many rounds there will be."""

    @abstractmethod
    def run(self, talk: Talk) -> Run[Outcome]:
        """The whole conversation."""
