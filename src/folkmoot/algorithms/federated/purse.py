"""What a run under differential privacy may spend, what it has spent, and whom it asks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, TypeVar

import numpy as np

from folkmoot.conversation.population import Cohort, Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import PrivacyAccount, Spending
from folkmoot.conversation.rounds import Run, read_reply
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import ATTEMPTS, Talk, counts_as_attempt, describe_excluded
from folkmoot.foundation.errors import InputError, RoundFailed
from folkmoot.foundation.sets import Ids
from folkmoot.privacy.accounting import Privacy, find_reach
from folkmoot.privacy.forecast import find_enough_clients, forecast
from folkmoot.privacy.noise import choose_sd
from folkmoot.questions.hidden import HiddenQuery
from folkmoot.questions.query import Reply
from folkmoot.secagg import Policy
from folkmoot.secagg.faults import Fault

ReplyT = TypeVar("ReplyT", bound=Reply)
SURE = 0.9  # of the honest shares that the smallest roll promises: room for the steps between rolls
FEW_ROLLS = 32  # that are looked at one by one


@dataclass
class Purse:
    """mu: what everyone may spend in this run. honest: the fewest honest shares of noise in any sum, at least.
    expected: the same, if everybody comes. signal: all answers together, in deviations of noise, per item to be chosen.
    """

    talk: Talk
    privacy: Privacy
    mu: float
    honest: int
    expected: int
    signal: float
    is_hopeless: bool  # whether nothing would be heard through the noise: then the map alone decides
    cohort: int | None = None  # clients per round, each of whom answers once; None: everyone, in every round
    spendings: list[Spending] = field(default_factory=list)
    contrast: float | None = None  # how far the best items stood above the noise, in its deviations
    _order: Ids | None = None  # in which clients are asked, where each answers once
    _asked: int = 0
    _shares: float = 0.0  # of the budget, that were used as planned

    @classmethod
    def open(cls, talk: Talk, privacy: Privacy, cohort: int | None, rounds: int, *, mapped: bool = False) -> "Purse":
        """Refused where noise could not hide anybody, or would drown everything, and no map says what to choose."""
        population = talk.population
        if talk.terms is None:
            raise InputError(
                "noise is made of shares that clients add to secure sums; here sums are not secure", argument="epsilon"
            )
        asked = population.n_clients
        check_fresh(population, cohort, rounds)
        if cohort is not None and cohort < asked:
            asked = cohort
        else:
            cohort = None
        speakers = asked if population.sizes is None else len(population.sizes)
        expected = talk.terms.protection(speakers).honest
        mu = privacy.find_mu(population.n_clients)
        inflation = find_inflation(population, privacy, speakers, expected)
        settled = talk.matroid.allows_all  # nothing can be chosen wrongly; only what it is worth has noise
        chosen = 1 if settled else talk.matroid.rank
        outlook = forecast(asked, chosen, mu, inflation)
        if outlook.is_hopeless and not mapped:
            enough = find_enough_clients(privacy, chosen, inflation)
            ways = [] if enough is None else [f"{enough:,} clients would be enough"]
            raise InputError(
                outlook.describe(),
                remedy="; or ".join([*ways, "choose fewer items, or allow a larger epsilon"]),
                argument="epsilon",
            )
        return cls(
            talk,
            privacy,
            mu,
            promise_honest(talk.terms, speakers),
            expected,
            outlook.signal,
            outlook.is_hopeless,
            cohort,
        )

    @property
    def spent(self) -> float:
        """Σμ² of what everyone may have answered."""
        return sum(one.mu**2 for one in self.spendings)

    def ask(
        self, question: Callable[..., HiddenQuery[ReplyT]], share: float, purpose: Purpose, label: str
    ) -> Run[ReplyT]:
        """One round with this share of the budget. A round that is lost after answers were sent has cost as much; what
        is left is divided anew. Nobody pays twice for the same liar: whoever is caught is not asked again, and where
        that is not certain, the run stops. Whoever resumes it has found out who it was.
        """
        talk, attempts, excluded = self.talk, 0, dict[int, Fault]()
        while attempts < ATTEMPTS:
            mu = self._allot(share)
            hiding: dict[str, Any] = {"mu": mu, "sd": choose_sd(mu, self.honest), "honest": self.honest}
            hiding |= {"adjacency": self.privacy.adjacency, "heaviest": talk.population.heaviest}
            query = question(**hiding)
            ask = talk.begin(query, self._draw(), purpose, label)
            said = yield ask
            if not said.lost or said.spent:
                self.spendings.append(Spending(label, mu, said.honest, said.lost))
                self._asked += ask.cohort.size if self.cohort else 0
            if not said.lost:
                self._shares += share
                return read_reply(query, said)
            attempts += counts_as_attempt(said)
            excluded |= said.excluded
            if said.spent and said.excluded and not (said.caught or said.old):
                raise RoundFailed(
                    f"the round was lost after clients had paid for it{describe_excluded(excluded)}",
                    remedy="find out who it was before clients pay again; a stored run can be resumed",
                    place=label,
                    excluded=excluded,
                )
        told = f"too few clients answered, {ATTEMPTS} times in a row{describe_excluded(excluded)}"
        raise RoundFailed(told, place=label, excluded=excluded)

    def _allot(self, share: float) -> float:
        """μ of a round: its share of what is left, among all shares that are still to come."""
        if self.cohort is not None:
            return self.mu
        left = max(self.mu**2 - self.spent, 0.0)
        return sqrt(left * min(share / (1.0 - self._shares), 1.0))

    def _draw(self) -> Cohort:
        if self.cohort is None:
            return self.talk.population.everyone
        if self._order is None:
            self._order = self.talk.coins(Stream.FIXED_SAMPLE).generator().permutation(self.talk.population.n_clients)
        some = self._order[self._asked : self._asked + self.cohort]
        if len(some) < self.cohort:
            raise RoundFailed("all clients have answered, each of them once", remedy="give a smaller cohort")
        return Cohort.of(np.sort(some), None)

    def explain(self) -> str:
        """What was decided, and why."""
        if any(one.label == "census" for one in self.spendings):
            return "Private greedy on a census: one round counted who is nearest to which place; the map says the rest."
        if self.talk.matroid.allows_all:
            return "Private greedy: everything may be chosen, so it was, and only what it is worth was asked."
        if self.is_hopeless:
            return "Noise would have drowned all answers: the map alone decided, and only what it is worth was asked."
        picks = sum(one.label.startswith("picking") for one in self.spendings)
        told = f"Private greedy: items were picked in {picks} {'round' if picks == 1 else 'rounds'}"
        if self.contrast is None:
            return f"{told}."
        return f"{told}; the best items stood {self.contrast:.1f} deviations above the noise."

    def account(self) -> PrivacyAccount:
        """What was promised and spent, for the result."""
        population, privacy = self.talk.population, self.privacy
        return PrivacyAccount(
            epsilon=privacy.epsilon,
            delta=privacy.find_delta(population.n_clients),
            adjacency=privacy.adjacency,
            mu=self.mu,
            spendings=tuple(self.spendings),
            honest=min(one.honest for one in self.spendings if not one.lost),
            fresh=self.cohort is not None,
            signal=self.signal,
            contrast=self.contrast,
        )


def promise_honest(terms: Policy, speakers: int) -> int:
    """Honest shares of noise that any sum holds, on any roll that clients accept."""
    quorum = min(terms.quorum(speakers), speakers)
    if speakers - quorum < FEW_ROLLS:
        return min(terms.protection(roll, speakers).honest for roll in range(quorum, speakers + 1))
    return max(int(SURE * terms.protection(quorum, speakers).honest), 1)


def find_inflation(population: Population, privacy: Privacy, speakers: int, honest: int) -> float:
    """How many times the noise that would hide one honest client, of average weight, that may have nothing to say."""
    heaviest = population.n_clients * (population.heaviest or 1.0) / population.total  # it hides the heaviest
    return sqrt(speakers / honest) * find_reach(privacy.adjacency, signed=False) * heaviest


def check_fresh(population: Population, cohort: int | None, rounds: int) -> None:
    """Refuse cohorts in which some client would have to answer twice."""
    there = population.n_clients
    if cohort is None or cohort >= there:
        return
    if population.weights is not None:
        raise InputError("where weights differ, everyone must be asked", remedy="leave cohort out", argument="cohort")
    if rounds * cohort > there:
        raise InputError(
            f"{rounds} rounds of {cohort:,} need {rounds * cohort:,} clients, each of whom answers once; there are "
            f"{there:,}",
            remedy="leave cohort out, and everyone is asked in every round, or give a smaller one",
            argument="cohort",
        )
