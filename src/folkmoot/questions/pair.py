"""Two questions in one, so that one round answers both."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Ids, Rows
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding
from folkmoot.questions.query import Query, Reply

FirstT = TypeVar("FirstT", bound=Reply)
SecondT = TypeVar("SecondT", bound=Reply)


class PairReply(Reply, Generic[FirstT, SecondT]):
    """The replies to both questions, from the same clients."""

    question: "Pair[FirstT, SecondT]"

    @property
    def first(self) -> FirstT:
        total = self.total[: self.question.first.length]
        return self.question.first.make_reply(total, self.count, self.clients, self.asked)

    @property
    def second(self) -> SecondT:
        total = self.total[self.question.first.length :]
        return self.question.second.make_reply(total, self.count, self.clients, self.asked)

    @property
    def value(self) -> float | None:
        return self.second.value


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair(Query[PairReply[FirstT, SecondT]], Generic[FirstT, SecondT]):
    """The answer to the first question, then the answer to the second. Everyone asked answers both."""

    of_worth = True
    reply_kind = PairReply
    counts_times = True  # each of the two questions does

    first: Query[FirstT]
    second: Query[SecondT]

    @property
    def contained(self) -> tuple[Query[Any], ...]:
        return self.first, self.second

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        super().check(n_items, n_clients)
        for part in self.contained:
            deep = any(inner.contained for inner in part.contained)
            if part.voluntary or deep or part.group_clients() is not None:
                raise InputError(f"cannot contain this {type(part).__name__}: everyone answers both", argument="pair")

    @cached_property
    def encoding(self) -> Encoding:
        first, second = self.first.encoding, self.second.encoding
        return Encoding(
            first.parts + second.parts, max(first.headroom, second.headroom), max(first.noise, second.noise)
        )

    def count_nonzero(self, answers: int) -> int:
        fewer = self.first.count_nonzero(answers) + self.second.count_nonzero(answers)
        return self.length if self.encoding.fills_up else fewer

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        parts = [one.answers(clients, ids, times, own.branch(at)) for at, one in enumerate(self.contained)]
        joined: Rows = sparse.csr_array(sparse.hstack(parts, format="csr"))
        return joined

    def answers(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        """Each of the two has already been shortened and repeated: neither is done again here."""
        return self.write_rows(clients, ids, times, own)

    def total_of_block(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        return np.concatenate(
            [one.total_of_block(clients, ids, times, own.branch(at)) for at, one in enumerate(self.contained)]
        )
