"""An engine for clients at parties, which it reaches by any exchange."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Cohort, Population, ids_of
from folkmoot.conversation.rounds import Ask, Cost, Sum
from folkmoot.engines.answering import digest_question, read_speakers, write_question, write_times
from folkmoot.engines.exchange import QUESTION, Bundle, Exchange
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_number
from folkmoot.foundation.sets import Ids
from folkmoot.secagg import Aggregate, AggregationFailed, Announcement, Policy, Roster, SketchFailed, serve
from folkmoot.secagg.messages import SESSION
from folkmoot.secagg.together import STAGES, Meter, Watch, lead
from folkmoot.secagg.traffic import room_for

EXCHANGES = 1 + len(STAGES)


def check_protection(terms: Policy, clients: int) -> None:
    """Refuse what could never work, before any client is asked."""
    needed = terms.quorum(0)
    if clients < needed:
        raise InputError(
            f"{clients} clients are asked per round, but real secure aggregation needs at least {needed}, among whom "
            "each client hides",
            remedy="ask more clients per round",
            argument="clients",
        )
    terms.protection(clients)


@dataclass(frozen=True)
class Poll:
    """What parties replied to a question."""

    speaker_of: dict[int, int]  # who speaks for each client that takes part
    by_group: bool  # whether some speak for others
    reached: int  # clients that the question reached
    refused: bool  # whether a party refused to say who volunteers: a sum without its clients would be biased
    cost: Cost  # per client asked

    @cached_property
    def speakers(self) -> list[int]:
        return sorted(client for client, speaker in self.speaker_of.items() if client == speaker)

    def add_cost(self, meter: Meter) -> Cost:
        """Mean bytes of a client that is in all exchanges."""
        count = len(self.speakers)
        return Cost(self.cost.down + meter.down / count, self.cost.up + meter.up / count)


def count_times(cohort: Cohort, clients: Ids) -> int:
    """How often these clients of a cohort count, in total."""
    return len(clients) if cohort.times is None else int(cohort.times[np.searchsorted(ids_of(cohort), clients)].sum())


class Federation(Engine):
    """Sums by secure aggregation over clients that live elsewhere.

    roster: the public keys of the whole population, the same that all parties use. parties: the numbers of the clients
    that each party holds, by the name of the party in the exchange. terms: on which clients take part. least: a round
    that reaches less than this share of the clients asked has no sum. devices: whether bytes are counted as if each
    client were a device of its own, which is sent the question separately (in simulations); if not, each party is sent
    it once.
    """

    def __init__(
        self,
        population: Population,
        roster: Roster,
        parties: Mapping[int, ArrayLike],
        exchange: Exchange,
        terms: Policy | None = None,
        *,
        least: float = 0.5,
        devices: bool = False,
    ) -> None:
        self._population, self.roster, self.exchange = population, roster, exchange
        self._terms = Policy() if terms is None else terms
        self.least, self.devices = as_number(least, "least"), devices
        self._holder = np.full(population.n_clients, -1, dtype=np.int64)
        self._names = list(parties)
        for place, ids in enumerate(parties.values()):
            held = np.asarray(ids, dtype=np.int64)
            if held.size and not 0 <= held.min() <= held.max() < population.n_clients:
                raise InputError(f"needs client numbers below {population.n_clients:,}", argument="parties")
            if (self._holder[held] >= 0).any():
                raise InputError("two parties hold the same client", argument="parties")
            self._holder[held] = place
        self._session, self._last = b"", -1  # round numbers increase within a session
        self._written_out = False  # whether the next vector is sent in full: after a sketch that could not be decoded

    @property
    def population(self) -> Population:
        return self._population

    @property
    def terms(self) -> Policy:
        return self._terms

    def describe(self) -> Mapping[str, Any]:
        return {"roster": self.roster.digest.hex(), "least": self.least}

    def add_up(self, ask: Ask, control: Control) -> Sum:
        return self.lead_round(ask, control)

    def lead_round(self, ask: Ask, control: Control, watch: Watch | None = None) -> Sum:
        """One round; `watch` is called with every message of the secure sum."""
        self._check(ask)
        self._begin_session(ask.number)
        control.check()
        control.progress(QUESTION, 0, EXCHANGES)
        if control.is_over():
            return Sum.lose(ask, 0)
        query, cohort = ask.query, ask.cohort
        poll = self._poll(ask, control)
        if poll.refused or poll.reached < max(self.least * cohort.size, 1):
            return Sum.lose(ask, poll.reached, cost=poll.cost)
        if not poll.speaker_of:
            nothing, nobody = np.zeros(query.length, dtype=np.int64), cohort.mark_present(np.zeros(0, dtype=np.int64))
            return Sum(nothing, 0, 0, cohort.weight, present=nobody, cost=poll.cost)
        meter = Meter()
        try:
            result = self._lead(ask, poll.speakers, control, watch, meter)
        except AggregationFailed as failed:
            return Sum.lose(ask, meter.present, spent=failed.answered, cost=poll.add_cost(meter))
        except SketchFailed:
            self._written_out = True
            return Sum.lose(ask, meter.present, spent=True, cost=poll.add_cost(meter))
        survivors = np.array(result.survivors, dtype=np.int64)
        if poll.by_group and len(survivors) < len(poll.speakers):  # then those they speak for cannot be counted
            return Sum.lose(ask, len(survivors), spent=True, cost=poll.add_cost(meter))
        count = count_times(cohort, np.array(sorted(poll.speaker_of)) if poll.by_group else survivors)
        control.progress("sum", EXCHANGES, EXCHANGES)
        total = result.total + ask.find_lowest(count, len(survivors))
        present = cohort.mark_present(survivors)
        return Sum(total, count, len(survivors), cohort.weight, present=present, cost=poll.add_cost(meter))

    def _check(self, ask: Ask) -> None:
        """Refuse what could never work, before any client is asked."""
        query, population = ask.query, self.population
        ask.ring_bits  # noqa: B018 - refuses what does not fit
        if not query.suits(population.n_items, population.n_clients):
            raise InputError(
                f"{type(query).__name__} does not fit {population.n_items:,} items, so clients would refuse it",
                remedy="if the question is your own, override suits()",
                argument="query",
            )
        groups = query.group_clients()
        if groups is not None and (query.encoding.lowest or query.encoding.headroom):
            raise InputError(
                "where one client speaks for a group, answers can be neither negative nor noisy", argument="query"
            )
        if not query.voluntary:
            speakers = ask.cohort.size if groups is None else len(np.unique(groups[ids_of(ask.cohort)]))
            check_protection(self.terms, speakers)

    def _poll(self, ask: Ask, control: Control) -> "Poll":
        """The first exchange: the question, and what parties reply to it."""
        query, cohort = ask.query, ask.cohort
        times = np.ones(cohort.size, dtype=np.int64) if cohort.times is None else cohort.times
        outbox = self._deal(write_times(ids_of(cohort), times), write_question(ask, self._session))
        inbox = self._exchange(outbox, control)
        groups, speaker_of = query.group_clients() is not None, dict[int, int]()
        for reply in inbox.values():
            speaker_of |= read_speakers(reply, groups)
        reached = sum(len(reply.letters) for reply in inbox.values()) if query.voluntary else len(speaker_of)
        refused = query.voluntary and not all(reply.letters for reply in inbox.values())
        return Poll(speaker_of, groups, reached, refused, self._measure_question(outbox, inbox, cohort.size))

    def _begin_session(self, number: int) -> None:
        """Start a new session if round numbers do not increase: then another run has begun."""
        if not self._session or number <= self._last:
            self._session = os.urandom(SESSION)
        self._last = number

    def _lead(self, ask: Ask, speakers: list[int], control: Control, watch: Watch | None, meter: Meter) -> Aggregate:
        """The secure sum over those who speak."""

        def begin(stage: str, place: int) -> bool:
            control.check()
            control.progress(stage, 1 + place, EXCHANGES)
            return not control.is_over()

        def exchange(outbox: dict[int, bytes]) -> dict[int, bytes]:
            inbox = self._exchange(self._deal(outbox), control)
            return {client: letter for reply in inbox.values() for client, letter in reply.letters.items()}

        announcement = self._announce(ask, len(speakers))
        return lead(serve(announcement, self.roster, speakers, self.terms), exchange, begin, watch, meter)

    def _announce(self, ask: Ask, speakers: int) -> Announcement:
        """What clients are told about the round; sketched if that is smaller and others can be asked if it fails."""
        query, room = ask.query, 0
        if ask.can_be_repeated and not self._written_out:
            room = room_for(query.length, ask.span, query.count_nonzero(speakers))
        self._written_out = False
        return Announcement(
            session=self._session,
            round=ask.number,
            question=digest_question(query),
            roster=self.roster.digest,
            clients=speakers,
            length=query.length,
            most=ask.span,
            room=room,
            largest=ask.largest_answer,
        )

    def _deal(self, letters: Mapping[int, bytes], question: bytes = b"") -> dict[int, Bundle]:
        """Messages to clients, grouped by party."""
        clients = np.fromiter(letters, dtype=np.int64, count=len(letters))
        dealt: dict[int, dict[int, bytes]] = {}
        for client, place in zip(clients.tolist(), self._holder[clients].tolist(), strict=True):
            if place >= 0:
                dealt.setdefault(self._names[place], {})[client] = letters[client]
        return {name: Bundle(some, question) for name, some in dealt.items()}

    def _exchange(self, outbox: dict[int, Bundle], control: Control) -> dict[int, Bundle]:
        """The replies of the parties that were asked, limited to the clients they were asked about."""
        inbox = self.exchange(outbox, control.deadline)
        return {
            name: reply.select(outbox[name].letters.__contains__) for name, reply in inbox.items() if name in outbox
        }

    def _measure_question(self, outbox: dict[int, Bundle], inbox: dict[int, Bundle], clients: int) -> Cost:
        """Bytes of the first exchange, per client asked."""
        down = sum(len(sent.question) * (len(sent.letters) if self.devices else 1) for sent in outbox.values())
        down += sum(len(letter) for sent in outbox.values() for letter in sent.letters.values())
        up = sum(len(letter) for reply in inbox.values() for letter in reply.letters.values())
        return Cost(down / clients, up / clients)
