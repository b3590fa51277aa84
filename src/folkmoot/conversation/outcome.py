"""What a conversation leads to, and what a method must provide to hold one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from folkmoot.conversation.result import Estimate, PrivacyAccount
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.gradient import PointQuery
from folkmoot.questions.magnitude import Ranges
from folkmoot.theory.guarantee import Promise


class AppraisedSet(NamedTuple):
    """The chosen set, how good it is, and what each of its items adds to those before it."""

    members: Mask
    estimate: Estimate
    order: Ids  # the most useful first
    gains: Array | None  # falling; None: not known
    broken: str | None = None  # what shows that functions are not monotone and submodular; then there is no bound


@dataclass(frozen=True, eq=False)
class Outcome:
    """Everything that a conversation led to."""

    x: Array | None
    appraised: AppraisedSet
    ranges: Ranges
    promise: Promise | None
    covered: bool  # whether the theorems apply to runs like this at all
    why: str | None = None  # what the method decided to do, and why
    privacy: PrivacyAccount | None = None  # what was promised and spent, under differential privacy
    asked: tuple[PointQuery, ...] = ()  # questions about which a simulation measures what theorems bound


class Conversation(Registered, ABC):
    """A method, as the code that conducts a run sees it."""

    adds_noise: ClassVar[bool] = False  # whether all its questions have noise, which terms decide

    @abstractmethod
    def check(self, matroid: Matroid) -> None:
        """Refuse settings that cannot work, before any client is asked."""

    @abstractmethod
    def plan_rounds(self, matroid: Matroid) -> int:
        """About how many rounds there will be."""

    @abstractmethod
    def run(self, talk: Talk) -> Run[Outcome]:
        """The whole conversation."""
