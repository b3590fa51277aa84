"""The class that FLARE starts in a party's job process."""

from collections.abc import Callable
from pathlib import Path

from folkmoot.application.federation.membership import open_desk
from folkmoot.engines.desk import Desk
from folkmoot.engines.flare.desk_executor import DeskExecutor


class Answering(DeskExecutor):
    """Answers from the data, the keys and the policy in the party's kit."""

    def open_desk(self, kit: Path, log: Callable[[str], None]) -> Desk:
        return open_desk(kit, log)
