"""All clients in this process: a simulation for research, of up to millions of clients.

Answers are computed for a whole cohort at once by fused kernels. (Only two things are computed client by client:
functions written in Python, and clients' own bases under matroids that are not groups with capacities.) The sums are
those of secure aggregation, in the same ring; with secure="real", the whole protocol is run.
"""

from collections.abc import Mapping
from hashlib import sha256
from math import sqrt
from typing import Any, Literal

import numpy as np

from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum, find_coins
from folkmoot.conversation.streams import Chance
from folkmoot.engines.attendance import Attendance
from folkmoot.engines.leading import check_protection
from folkmoot.engines.simulated_party import SimulatedFederation
from folkmoot.engines.witness import Witness
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.kernels import threads as on_so_many_threads
from folkmoot.foundation.private_coins import SIMULATED
from folkmoot.foundation.sets import Ids, Mask
from folkmoot.objectives.objective import Objective, as_objective
from folkmoot.privacy.noise import SYSTEM_NOISE, Noise, NoiseSource
from folkmoot.secagg import Policy
from folkmoot.secagg.parameters import count_share, is_hopeless

MARGIN, MOST_GONE = 1.5, 0.9  # terms allow for margin × expected dropout, capped
PROBED = 256  # clients whose values identify the data
DEVIATIONS = 4  # standard deviations of the number of dropouts that terms allow for, where clients are few
FEW = 1_000  # clients


class Simulation(Engine):
    """Clients that answer at once, except those who drop out.

    secure: "real" runs the whole protocol on the terms of `policy`, "ideal" adds up in the ring of the secure sum,
    "plain" in whole numbers; the sums are the same.
    dropout: the chance that a client does not answer, by a coin of (seed, round, client); under "real" it leaves in
    some exchange before it has sent its vector. late: the chance that it falls silent after that; its answer is in
    the sum, and only "real" has to handle this. least: a round in which fewer than this share of the clients answer has
    no sum. seed: decides who drops out.
    policy: None for terms that allow for one and a half times these dropouts, as far as any terms can. threads: None
    for all cores. witness: under "real", remembers what the server saw of one client. noise: where questions with noise
    get theirs from; None: the operating system. A simulation draws the sum of all shares at once, unless the source
    says otherwise.
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
        noise: NoiseSource | None = None,
    ) -> None:
        self.objective = as_objective(objective)
        if secure not in ("ideal", "plain", "real"):
            raise InputError(f'needs "ideal", "plain" or "real", got {secure!r}', argument="secure")
        self.secure = secure
        self.threads = None if threads is None else as_count(threads, "threads")
        self.dropout = as_number(dropout, "dropout")
        if self.dropout >= 1:
            raise InputError(
                f"needs a chance below 1, got {dropout}; otherwise nobody would ever answer", argument="dropout"
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
        self.policy, self.witness = policy, witness
        self.noise = SYSTEM_NOISE if noise is None else noise
        if not isinstance(self.noise, NoiseSource):
            raise InputError(f"needs a NoiseSource, got {type(noise).__name__}", argument="noise")
        self._secure: SimulatedFederation | None = None
        self._last = -1  # the number of the last round

    @property
    def population(self) -> Population:
        return self._population

    @property
    def terms(self) -> Policy | None:
        """None if sums are plain."""
        return None if self.secure == "plain" else self.policy

    @property
    def can_recompute(self) -> bool:
        return True

    @property
    def everything(self) -> Objective:
        return self.objective

    def check_protection(self, clients: int) -> None:
        """Refuse rounds of this many clients if the protocol could never protect them."""
        check_protection(self.policy, clients)

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
        if self.secure == "real":
            return self._by_protocol(ask, control, Attendance(ids, gone), times)
        clients = self._clients(ids)
        control.progress("finding out who answers", 0, 2)
        own = find_coins(SIMULATED, query)
        willing = query.takes_part(clients, ids, times, own)
        if willing is not None:
            ids, times = ids[willing], times[willing]
            if not len(ids):
                nothing = np.zeros(query.length, dtype=np.int64)
                control.progress("adding up", 2, 2)
                return Sum(nothing, 0, 0, cohort.weight, present=cohort.mark_present(ids))
            clients = self._clients(ids)
        control.check()
        control.progress("adding up", 1, 2)
        total = query.total(clients, ids, times, own)
        about: dict[str, Any] = {}
        if query.added_noise is not None:
            honest = self._count_honest(ask, Attendance(ids, gone))
            total = total + self._draw_noise(ask, query.added_noise, ids, honest)
            about = {"noise": query.added_noise.find_total_sd(len(ids), honest), "honest": honest}
        control.progress("adding up", 2, 2)
        if self.secure == "ideal":  # into the ring and back
            least = ask.find_lowest(int(times.sum()), len(ids))
            total = ((total - least) & (2**ring - 1)) + least
        speaking = query.speakers(ids)
        heard = ids if speaking is None else ids[speaking]
        return Sum(total, int(times.sum()), len(heard), cohort.weight, present=cohort.mark_present(heard), **about)

    def _count_honest(self, ask: Ask, there: Attendance) -> int:
        """The fewest honest clients in the sum, for the roll that secure aggregation would have had."""
        if self.secure == "plain":
            raise InputError(
                "noise hides people in secure sums, of which a server sees nothing else; plain sums are not",
                remedy='use "ideal" or "real"',
                argument="secure",
            )
        roll = ask.cohort.size - there.count_gone_before_roll(ask, self.seed)
        check_protection(self.policy, roll)
        return self.policy.protection(roll, ask.cohort.size).honest

    def _draw_noise(self, ask: Ask, noise: Noise, ids: Ids, honest: int) -> Ids:
        """The sum of the shares of these clients."""
        length = ask.query.length
        if not self.noise.by_share:
            drawn = self.noise.find_generator(ask.number).standard_normal(length)
            return np.rint(drawn * noise.find_total_sd(len(ids), honest)).astype(np.int64)
        total = np.zeros(length, dtype=np.int64)
        for client in ids.tolist():
            total += noise.draw_share(length, honest, self.noise.find_private(ask.number, client))
        return total

    def _by_protocol(self, ask: Ask, control: Control, there: Attendance, times: Ids) -> Sum:
        """The same sum, by secure aggregation."""
        if self._secure is None or ask.number <= self._last:  # in a new run, clients have not answered anything yet
            self._secure = SimulatedFederation(self.objective, self._population, self.seed, self.policy, self.noise)
        self._last = ask.number
        witness, watch = self.witness, None
        if witness is not None and witness.wants(ask):
            own = find_coins(SIMULATED, ask.query)
            watch = witness.watch_round(there.ids, ask.query.answers(self._clients(there.ids), there.ids, times, own))
        said = self._secure.add_up(ask, control, there.decide_leaving(ask, self.seed, self.late), watch)
        if watch is not None and witness is not None and not said.lost:
            witness.learn(ask, said.total, said.clients)
        return said

    def _clients(self, ids: Ids) -> Objective:
        """The functions of these clients; nothing is copied if it is everyone."""
        everyone = len(ids) == self.objective.n_clients and bool((np.diff(ids) == 1).all())
        return self.objective if everyone else self.objective[ids]


class SampledSimulation(Simulation):
    """Some clients stand for all of a larger population, who weigh the same: their sums are scaled up, and have the
    noise of all.
    """

    def __init__(self, objective: Objective, everyone: Population, **options: Any) -> None:
        super().__init__(objective, **options)
        self._population = everyone

    def _sum(self, ask: Ask, control: Control) -> Sum:  # noqa: ARG002
        query, some, many = ask.query, self.objective.n_clients, self.population.n_clients
        assert query.added_noise is not None
        sample = np.arange(some), np.ones(some, dtype=np.int64)
        total = query.total(self.objective, *sample, find_coins(SIMULATED, query))
        times = many / some * (1 - self.dropout)
        honest, ids = self._count_honest(ask, Attendance(np.arange(many), sample[0][:0])), np.arange(many)
        total = np.rint(total * times).astype(np.int64) + self._draw_noise(ask, query.added_noise, ids, honest)
        deviation = query.added_noise.find_total_sd(many, honest)
        return Sum(total, many, many, ask.cohort.weight, noise=deviation, honest=honest)


def bound_dropout(dropout: float, clients: int, corrupt: float = Policy.corrupt) -> float:
    """The share of dropouts that terms should allow for, if this share is expected: with a margin, but never more than
    any terms can bear beside so many corrupt clients.

    If everyone is asked, nobody else can be asked when a round is lost. So with few clients, terms allow for random
    variation, as far as any terms can.
    """
    expected = min(dropout, MOST_GONE)
    with_margin = min(MARGIN * expected, (expected + find_most_bearable(corrupt)) / 2)
    least = max(with_margin, expected, Policy.dropout)
    by_chance = expected + DEVIATIONS * sqrt(expected * (1 - expected) / clients)
    if by_chance <= least or clients > FEW:
        return least
    shares = np.linspace(by_chance, least, 6).tolist()
    bearable = (one for one in shares if can_bear(Policy(corrupt=corrupt, dropout=min(one, MOST_GONE)), clients))
    return next(bearable, max(expected, Policy.dropout))  # if none is, what was asked for is refused, in its own words


def find_most_bearable(corrupt: float) -> float:
    """The share of dropouts d from which on no number of clients is enough. Those who are corrupt are a share
    c/(1 − d) of the smallest roll, and terms bear only what keeps c/(1 − d) + 2d below 1.
    """
    return (3 - sqrt(1 + 8 * corrupt)) / 4


def can_bear(terms: Policy, clients: int) -> bool:
    """Whether these clients are protected on the rolls that they accept: the largest and the smallest are tried, and
    between them, shares must not be rounded to too many.
    """
    fewest, bad = min(terms.quorum(clients), clients), count_share(terms.corrupt, clients)
    if any(is_hopeless(roll, bad, terms.dropout) for roll in range(fewest, clients + 1)):
        return False
    try:
        terms.protection(clients)
        terms.protection(fewest, clients)
    except InputError:
        return False
    return True


def fingerprint(objective: Objective) -> str:
    """A hash of the values of some sets to some clients: cheap, and different for different data."""
    clients, sets = draw_probes(Population.of(objective))
    return sha256(objective[clients].values_at(sets).tobytes()).hexdigest()


def draw_probes(population: Population) -> tuple[Ids, Mask]:
    """The clients and the sets that tell this data from other data."""
    clients = np.unique(np.linspace(0, population.n_clients - 1, PROBED).astype(np.int64))
    return clients, np.random.default_rng(0).random((4, population.n_items)) < 0.1
