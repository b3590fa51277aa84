"""What a client did wrong, or somebody who carries its messages; and rounds that failed."""

from collections.abc import Mapping
from enum import StrEnum

from folkmoot.foundation.errors import FolkmootError


class Fault(StrEnum):
    """Why a client, or its share, was left out. It is certain that the client did it where nobody else could have: what
    was wrong was signed, or sealed for its neighbours.
    """

    UNREADABLE = "sent a message that cannot be read"
    UNSIGNED = "sent a message with a wrong signature"
    KEYS = "advertised keys that cannot be used"
    CHOICE = "chose neighbours other than those its seed draws"
    DEALING = "dealt inconsistent shares, and did not show correct ones when asked"
    SHARE = "returned a share other than the one it was dealt"
    SECRET = "dealt shares of a secret that is not its own"

    @property
    def is_certain(self) -> bool:
        """Whether the client did it; if not, somebody who carries its messages may have changed or dropped them."""
        return self in (Fault.KEYS, Fault.SECRET)


class AggregationFailed(FolkmootError):
    """There is no sum: too few clients were left, or too many lied.

    excluded: clients that were left out, and why. answered: whether clients had sent their
    vectors by then; if so, do not ask them the same question again.
    """

    def __init__(self, why: str, excluded: Mapping[int, Fault] | None = None, answered: bool = False) -> None:
        super().__init__(why)
        self.excluded, self.answered = dict(excluded or {}), answered
