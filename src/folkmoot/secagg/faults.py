"""What a client did wrong, as far as a server can be certain of it, and rounds that came to nothing."""

from collections.abc import Mapping
from enum import StrEnum

from folkmoot.foundation.errors import FolkmootError


class Fault(StrEnum):
    """Why a client was left out, or its share."""

    UNREADABLE = "sent what cannot be read"
    UNSIGNED = "sent what it did not sign"
    KEYS = "advertised keys that cannot be used"
    CHOICE = "chose neighbours that cannot be"
    DEALING = "dealt shares that do not fit, and did not show right ones"
    SHARE = "gave back a share that it was not dealt"
    SECRET = "dealt shares of another secret than its own"


class AggregationFailed(FolkmootError):
    """Too few clients were left, or too many lied, to bring the sum out. There is none.

    excluded: who was left out for something that it certainly did. answered: whether clients had sent their vectors by
    then; if so, the same question must not be put to them again.
    """

    def __init__(self, why: str, excluded: Mapping[int, Fault] | None = None, answered: bool = False) -> None:
        super().__init__(why)
        self.excluded, self.answered = dict(excluded or {}), answered
