"""A question about some of the items, which are renumbered: its cost follows their number, not that of all items."""

from dataclasses import dataclass
from typing import Any

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.objectives.restricted import restrict
from folkmoot.questions.checking import Scale
from folkmoot.questions.encoding import Encoding
from folkmoot.questions.query import Query, ReplyT


@dataclass(frozen=True, eq=False, kw_only=True)
class Within(Query[ReplyT]):
    """Another question, put to clients who know no other items than these. Its reply is that of the other question."""

    items: Ids
    question: Query[ReplyT]

    def __post_init__(self) -> None:
        freeze(self.items)

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        Scale(n_items, n_clients, None).check_array("items", Ids, self.items)
        question = self.question
        if not isinstance(question, Query) or isinstance(question, Within) or not len(self.items):
            raise InputError("needs items, and a question about them", argument="question")
        if question.added_noise is not None:  # its price is known to those whom it is put to as it is
            raise InputError(f"cannot be a {type(question).__name__}, which has noise", argument="question")
        question.check(len(self.items), n_clients)

    @property
    def who(self) -> Any:
        """How clients decide whether they answer."""
        return getattr(self.question, "who", None)

    @property
    def contained(self) -> tuple[Query[Any], ...]:
        return (self.question,)

    @property
    def of_worth(self) -> bool:  # type: ignore[override]
        return self.question.of_worth

    @property
    def encoding(self) -> Encoding:
        return self.question.encoding

    @property
    def counts_times(self) -> bool:
        return self.question.counts_times

    @property
    def voluntary(self) -> bool:
        return self.question.voluntary

    @property
    def all_speak(self) -> bool:
        return self.question.all_speak

    @property
    def shows_groups(self) -> bool:
        return self.question.shows_groups

    def speakers(self, ids: Ids) -> Mask | None:
        return self.question.speakers(ids)

    def group_clients(self) -> Ids | None:
        return self.question.group_clients()

    def count_nonzero(self, answers: int) -> int:
        return self.question.count_nonzero(answers)

    def make_reply(self, total: Ids, count: int, clients: int, asked: int, noise: float = 0.0) -> ReplyT:
        return self.question.make_reply(total, count, clients, asked, noise)

    def takes_part(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Mask | None:
        return self.question.takes_part(restrict(clients, self.items), ids, times, own)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        return self.question.write_rows(restrict(clients, self.items), ids, times, own)

    def answers(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        return self.question.answers(restrict(clients, self.items), ids, times, own)

    def total(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        return self.question.total(restrict(clients, self.items), ids, times, own)

    def total_of_block(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        return self.question.total_of_block(restrict(clients, self.items), ids, times, own)
