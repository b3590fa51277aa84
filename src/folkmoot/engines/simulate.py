"""All clients in this process: a researcher's federation, with a million of them if need be.

Answers are worked out for a whole cohort at once by fused kernels. (Only two things go client by client: functions
that are Python's own, and clients' own bases under matroids that are not groups with capacities.) The sums are
those that secure aggregation would give, in the same ring.
"""

from typing import Any, Literal

import numpy as np

from folkmoot.coding import coins, key_of
from folkmoot.errors import InputError
from folkmoot.inputs import as_count, as_number
from folkmoot.kernels import threads as on_so_many_threads
from folkmoot.objectives.objective import Objective, as_objective
from folkmoot.rounds import Ask, Population, Sum
from folkmoot.sets import Ids


class Simulation:
    """Clients that answer at once, except those who drop out.

    secure: "ideal" adds up in the ring of the secure sum, "plain" in whole numbers; the sums are the same.
    dropout: the chance that a client asked does not answer, by a coin of (seed, round, client). A round in which
    fewer than a share `least` of the clients answer has no sum. threads: None for all cores.
    """

    def __init__(
        self,
        objective: Objective,
        secure: Literal["ideal", "plain"] = "ideal",
        threads: int | None = None,
        dropout: float = 0.0,
        *,
        least: float = 0.5,
        seed: int = 0,
    ) -> None:
        self.objective = as_objective(objective)
        if secure not in ("ideal", "plain"):
            raise InputError(f'secure: needs "ideal" or "plain", got {secure!r}')
        self.secure = secure
        self.threads = None if threads is None else as_count(threads, "threads")
        self.dropout = as_number(dropout, "dropout")
        if self.dropout >= 1:
            raise InputError(f"dropout: needs a chance below 1, got {dropout}; with 1 nobody would ever answer")
        self.least = as_number(least, "least")
        if self.least > 1:
            raise InputError(f"least: needs a share of at most 1, got {least}")
        self.seed = as_count(seed, "seed", least=0)
        self.population = Population.of(self.objective)

    def __repr__(self) -> str:
        return f"Simulation({self.objective!r}, secure={self.secure!r}, dropout={self.dropout:g})"

    def settings(self) -> dict[str, Any]:
        """What decides the sums, besides the data."""
        return {"dropout": self.dropout, "least": self.least, "seed": self.seed}

    def __call__(self, ask: Ask) -> Sum:
        with on_so_many_threads(self.threads):
            return self._sum(ask)

    def _sum(self, ask: Ask) -> Sum:
        query, cohort = ask.query, ask.cohort
        ring = ask.ring_bits
        ids: Ids = np.arange(self.objective.n_clients) if cohort.ids is None else cohort.ids
        times = np.ones(len(ids), dtype=np.int64) if cohort.times is None else cohort.times
        if self.dropout:
            stay = coins(np.uint64(key_of(self.seed, ask.number, 2)), ids, 0) >= self.dropout
            ids, times = ids[stay], times[stay]
        nothing = np.zeros(query.length, dtype=np.int64)
        if len(ids) < max(self.least * cohort.size, 1):
            return Sum(nothing, 0, len(ids), cohort.weight, lost=True)
        clients = self._clients(ids)
        willing = query.takes_part(clients, ids, times)
        if willing is not None:
            ids, times = ids[willing], times[willing]
            if not len(ids):
                return Sum(nothing, 0, 0, cohort.weight)
            clients = self._clients(ids)
        total = query.total(clients, ids, times)
        if self.secure == "ideal":
            total = total & (2**ring - 1)
        return Sum(total, int(times.sum()), min(query.parties or len(ids), len(ids)), cohort.weight)

    def _clients(self, ids: Ids) -> Objective:
        """Nothing is copied when everyone is asked."""
        everyone = len(ids) == self.objective.n_clients and bool((np.diff(ids) == 1).all())
        return self.objective if everyone else self.objective[ids]
