"""All clients in this process: a researcher's federation, with a million of them if need be.

Answers are worked out for a whole cohort at once by fused kernels. (Only two things go client by client: functions
that are Python's own, and clients' own bases under matroids that are not groups with capacities.) The sums are
those that secure aggregation gives, in the same ring; with secure="real" it is run, every byte of it.
"""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from math import sqrt
from typing import Any, Literal

import numpy as np
from scipy import sparse

from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.conversation.streams import Chance
from folkmoot.engines.secured import Attendance, Lost, SecureRounds
from folkmoot.engines.witness import Witness
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.kernels import threads as on_so_many_threads
from folkmoot.foundation.sets import Ids
from folkmoot.objectives.objective import Objective, as_objective
from folkmoot.secagg import Policy

MARGIN, MOST_GONE = 1.5, 0.9  # terms bear so many times the dropouts that are expected, up to so many
PROBED = 256  # clients looked at, to tell one population from another
DEVIATIONS = 4  # of the number of dropouts from what is expected


class Simulation(Engine):
    """Clients that answer at once, except those who drop out.

    secure: "real" runs the whole protocol on terms that `policy` sets, "ideal" adds up in the ring of the secure sum,
    "plain" in whole numbers; the sums are the same.
    dropout: the chance that a client asked does not answer, by a coin of (seed, round, client); under "real" it is
    gone at some exchange before its vector is in. late: the chance that it falls silent after that; its answer is in
    the sum, and only "real" has to cope. A round in which fewer than a share `least` of the clients answer has no sum.
    policy: None for terms that bear one and a half times these dropouts. threads: None for all cores. witness: under
    "real", remembers what the server saw of one client.
    """

    def __init__(
        self,
        objective: Objective,
        secure: Literal["ideal", "plain", "real"] = "ideal",
        threads: int | None = None,
        dropout: float = 0.0,
        *,
        late: float = 0.0,
        least: float = 0.5,
        seed: int = 0,
        policy: Policy | None = None,
        witness: Witness | None = None,
    ) -> None:
        self.objective = as_objective(objective)
        if secure not in ("ideal", "plain", "real"):
            raise InputError(f'needs "ideal", "plain" or "real", got {secure!r}', argument="secure")
        self.secure = secure
        self.threads = None if threads is None else as_count(threads, "threads")
        self.dropout = as_number(dropout, "dropout")
        if self.dropout >= 1:
            raise InputError(
                f"needs a chance below 1, got {dropout}; with 1 nobody would ever answer", argument="dropout"
            )
        self.late = as_number(late, "late")
        if self.late >= 1:
            raise InputError(f"needs a chance below 1, got {late}", argument="late")
        self.least = as_number(least, "least")
        if self.least > 1:
            raise InputError(f"needs a share of at most 1, got {least}", argument="least")
        self.seed = as_count(seed, "seed", least=0)
        self._population = Population.of(self.objective)
        if policy is None:
            policy = Policy(dropout=bound_dropout(self.dropout + self.late, self.objective.n_clients))
        if not isinstance(policy, Policy):
            raise InputError(f"needs a Policy, got {policy!r}", argument="policy")
        self.rounds = SecureRounds(self.seed, policy, witness)

    @property
    def population(self) -> Population:
        return self._population

    @property
    def terms(self) -> Policy | None:
        """None where sums are plain."""
        return None if self.secure == "plain" else self.rounds.policy

    @property
    def can_recompute(self) -> bool:
        return True

    @property
    def everything(self) -> Objective:
        return self.objective

    def __repr__(self) -> str:
        return f"Simulation({self.objective!r}, secure={self.secure!r}, dropout={self.dropout:g})"

    def describe(self) -> Mapping[str, Any]:
        settings = {"dropout": self.dropout, "least": self.least, "seed": self.seed}
        return {**settings, "data": fingerprint(self.objective)}

    def add_up(self, ask: Ask, control: Control) -> Sum:
        with on_so_many_threads(self.threads):
            return self._sum(ask, control)

    def _sum(self, ask: Ask, control: Control) -> Sum:
        query, cohort = ask.query, ask.cohort
        ring = ask.ring_bits
        ids: Ids = np.arange(self.objective.n_clients) if cohort.ids is None else cohort.ids
        times = np.ones(len(ids), dtype=np.int64) if cohort.times is None else cohort.times
        gone = ids[:0]
        if self.dropout:
            stay = PublicCoins.of(self.seed, ask.number, Chance.DROPOUT).toss(ids) >= self.dropout
            gone, ids, times = ids[~stay], ids[stay], times[stay]
        control.check()
        if control.is_over() or len(ids) < max(self.least * cohort.size, 1):
            return Sum.lose(ask, len(ids))
        clients = self._clients(ids)
        willing = query.takes_part(clients, ids, times)
        if willing is not None:
            ids, times = ids[willing], times[willing]
            if not len(ids):
                nothing = np.zeros(query.length, dtype=np.int64)
                return Sum(nothing, 0, 0, cohort.weight, present=cohort.mark_present(ids))
            clients = self._clients(ids)
        if self.secure == "real":
            return self._by_protocol(ask, clients, ids, times, gone)
        total = query.total(clients, ids, times)
        if self.secure == "ideal":  # in the ring, and back
            least = ask.find_lowest(int(times.sum()), len(ids))
            total = ((total - least) & (2**ring - 1)) + least
        speaking = query.speakers(ids)
        heard = ids if speaking is None else ids[speaking]
        return Sum(total, int(times.sum()), len(heard), cohort.weight, present=cohort.mark_present(heard))

    def _by_protocol(self, ask: Ask, clients: Objective, ids: Ids, times: Ids, gone: Ids) -> Sum:
        """The sum of everybody's row, by secure aggregation. Volunteers, and those who speak for others, are only known
        once they are there: of them nobody is gone before the round begins.
        """
        query, rows, speakers = ask.query, ask.query.answers(clients, ids, times), ids
        speaking = query.speakers(ids)
        if speaking is not None:
            speakers, rows = ids[speaking], rows[speaking]
        if speaking is not None or query.voluntary:
            gone = gone[:0]
        lowest, headroom = query.encoding.lowest, query.encoding.headroom
        if lowest or headroom:  # only numbers from 0 on are masked
            rows = sparse.csr_array(rows.toarray() - lowest * times[:, None] + headroom)
        asked = np.union1d(speakers, gone)
        if not query.voluntary:
            self.rounds.check(len(asked))
        silent = speakers[PublicCoins.of(self.seed, ask.number, Chance.SILENCE).toss(speakers) < self.late]
        result = self.rounds(ask, Attendance(asked, gone, silent), speakers, rows)
        lost = Sum.lose(ask, len(speakers))
        if isinstance(result, Lost):
            return replace(lost, spent=result.answered)
        summed = np.isin(speakers, result.survivors)
        if speaking is not None and not summed.all():  # those spoken for cannot be counted then
            return replace(lost, spent=True)
        counted = times[summed] if speaking is None else times
        least = ask.find_lowest(int(counted.sum()), int(summed.sum()))
        present = ask.cohort.mark_present(speakers[summed])
        return Sum(result.total + least, int(counted.sum()), int(summed.sum()), ask.cohort.weight, present=present)

    def _clients(self, ids: Ids) -> Objective:
        """Nothing is copied when everyone is asked."""
        everyone = len(ids) == self.objective.n_clients and bool((np.diff(ids) == 1).all())
        return self.objective if everyone else self.objective[ids]


def bound_dropout(dropout: float, clients: int) -> float:
    """The dropouts that terms should bear, where so many are expected: where all are asked there are no others to ask
    if a round is lost, so a few clients allow for chance as far as any terms do.
    """
    dropout = min(dropout, MOST_GONE)
    least = min(max(Policy.dropout, MARGIN * dropout), MOST_GONE)
    by_chance = dropout + DEVIATIONS * sqrt(dropout * (1 - dropout) / clients)
    for share in np.linspace(by_chance, least, 6) if by_chance > least else ():
        try:
            Policy(dropout=float(share)).protection(clients)
        except InputError:
            continue
        return float(share)
    return least


def fingerprint(objective: Objective) -> str:
    """A hash of what some clients think of some sets: cheap, and different for different data."""
    clients = np.unique(np.linspace(0, objective.n_clients - 1, PROBED).astype(np.int64))
    sets = np.random.default_rng(0).random((4, objective.n_items)) < 0.1
    return sha256(objective[clients].values_at(sets).tobytes()).hexdigest()
