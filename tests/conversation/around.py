"""An engine around another, for tests that look at rounds or disturb them."""

from collections.abc import Mapping
from typing import Any

from folkmoot import Objective
from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.secagg import Policy


class Around(Engine):
    """Says whatever the engine inside says. Subclasses override `add_up`."""

    def __init__(self, inside: Engine) -> None:
        self.inside = inside

    @property
    def population(self) -> Population:
        return self.inside.population

    def add_up(self, ask: Ask, control: Control) -> Sum:
        return self.inside.add_up(ask, control)

    @property
    def terms(self) -> Policy | None:
        return self.inside.terms

    def describe(self) -> Mapping[str, Any]:
        return self.inside.describe()

    @property
    def can_recompute(self) -> bool:
        return self.inside.can_recompute

    @property
    def everything(self) -> Objective | None:
        return self.inside.everything
