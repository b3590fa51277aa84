"""What a party needs to know of a question that it has agreed to answer."""

from collections.abc import Sequence
from typing import Any, Protocol

from folkmoot.engines.past_cohorts import PastCohort
from folkmoot.foundation.sets import Ids
from folkmoot.questions.query import Query
from folkmoot.secagg import Announcement


class RoundInquiry(Protocol):
    """A question that a party has agreed to answer, as a round of secure aggregation needs it."""

    @property
    def query(self) -> Query[Any]: ...

    @property
    def session(self) -> bytes: ...

    @property
    def round(self) -> int: ...

    @property
    def run(self) -> bytes: ...

    @property
    def kind(self) -> str: ...

    @property
    def why(self) -> str:
        """The kind of the question, and what it is for as far as the server says so."""
        ...

    @property
    def digest(self) -> bytes:
        """Of the query alone, in whatever run it is asked."""
        ...

    def is_asked(self, client: int) -> bool: ...

    def check_announcement(self, client: int, announced: Announcement, uneven: bool) -> None: ...

    def prepare(self) -> None:
        """Compute what all clients need, before threads ask for it."""
        ...

    def write_vector(self, client: int) -> Ids: ...

    def mark_members(self) -> bytes:
        """Which of the party's clients answer, as bits."""
        ...

    @property
    def cohort(self) -> PastCohort | None:
        """Who is asked, if that must be remembered."""
        ...

    def find_places(self, speakers: Sequence[int]) -> Ids:
        """Who is heard in the vectors of these speakers: places among all clients of the party."""
        ...
