"""Two questions in one, so that one round answers both."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from folkmoot.foundation.sets import Ids, Rows
from folkmoot.objectives.objective import Objective
from folkmoot.questions.query import Query


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair(Query):
    """The answer to the first, then the answer to the second. Both are put to everybody, and have no sign."""

    of_worth = True

    first: Query
    second: Query

    @property
    def length(self) -> int:
        return self.first.length + self.second.length

    @property
    def bound(self) -> int:
        return max(self.first.bound, self.second.bound)

    def answers(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        parts = [one.answers(clients, ids, times) for one in (self.first, self.second)]
        joined: Rows = sparse.csr_array(sparse.hstack(parts, format="csr"))
        return joined

    def _total(self, clients: Objective, ids: Ids, times: Ids) -> Ids:
        return np.concatenate([one._total(clients, ids, times) for one in (self.first, self.second)])

    def hit(self, answers: int) -> int:
        return self.first.hit(answers) + self.second.hit(answers)

    def split(self, total: Ids) -> tuple[Ids, Ids]:
        """The sums of the answers to each."""
        return total[: self.first.length], total[self.first.length :]

    def value(self, total: Ids, count: int) -> float | None:
        return self.second.value(self.split(total)[1], count)
