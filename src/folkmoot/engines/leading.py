"""What engines over parties share: a round is a question, and then a secure sum over those who agreed to answer it."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Cost, Making, Sum
from folkmoot.engines.answering import LONGEST_RUN, describe_run
from folkmoot.engines.exchange import QUESTION, Bundle, Exchange
from folkmoot.engines.journal import RoundJournal, read_inbox, write_inbox
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_number
from folkmoot.secagg import Aggregate, AggregationFailed, Announcement, Policy, Roster, SketchFailed, serve
from folkmoot.secagg.messages import SESSION
from folkmoot.secagg.primitives import digest
from folkmoot.secagg.together import STAGES, Meter, Watch, lead
from folkmoot.secagg.wire import U32

EXCHANGES = 1 + len(STAGES)
ANSWERING, REVEALING = "vector", "unmasking"  # the exchanges in which answers, and shares of their masks, are sent


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


class SecureEngine(Engine):
    """Sums by secure aggregation over an exchange of messages with parties.

    roster: the public keys of all who can be in a sum, the same that all parties use. terms: on which they take part.
    least: a round that reaches less than this share of those asked has no sum. journal: keeps the round that is being
    led; another process can then continue it, if parties repeat their replies. None: nobody can. run: its name, which
    is public; parties sign it with every question.
    """

    # Whether those who sent answers to a round that was broken off before anyone was asked for what reveals the sum may
    # be asked again, with other coins.
    seals: ClassVar[bool] = False

    def __init__(
        self,
        population: Population,
        roster: Roster,
        exchange: Exchange,
        terms: Policy | None,
        least: float,
        journal: RoundJournal | None,
        run: bytes,
    ) -> None:
        self.journal = journal
        if not isinstance(run, bytes) or len(run) > LONGEST_RUN:
            raise InputError(f"needs at most {LONGEST_RUN} bytes, got {run!r}", argument="run")
        self.run = run
        self._population, self.roster, self.exchange = population, roster, exchange
        self._terms = Policy() if terms is None else terms
        self.least = as_number(least, "least")
        self._session, self._last = b"", -1  # round numbers increase within a session
        self._left_out = frozenset[int]()  # who was caught

    @property
    def population(self) -> Population:
        return self._population

    def leave_out(self, caught: frozenset[int]) -> None:
        self._left_out |= caught

    @property
    def named_run(self) -> bytes:
        """The run, as those who are asked know it. Without those who were caught it is another one: the others may have
        answered the question in the round that was lost through them, and answer it once in a run.
        """
        if not self._left_out:
            return self.run
        return digest(b"without", self.run, *map(U32.pack, sorted(self._left_out)))

    @property
    def terms(self) -> Policy:
        return self._terms

    def describe(self) -> Mapping[str, Any]:
        return {"roster": self.roster.digest.hex(), "least": self.least, **describe_run(self.run)}

    def add_up(self, ask: Ask, control: Control) -> Sum:
        return self.lead_round(ask, control)

    def can_continue(self, ask: Ask) -> bool:
        return self.journal is not None and self.journal.holds(ask, self.describe())

    def lead_round(self, ask: Ask, control: Control, watch: Watch | None = None) -> Sum:
        """One round; `watch` is called with every message of the secure sum."""
        said = self._lead_round(ask, control, watch)
        if self.journal is not None and said.lost and not said.spent:  # if it is asked again, then from the start
            self.journal.forget()
        return said

    def _lead_round(self, ask: Ask, control: Control, watch: Watch | None) -> Sum:
        self._check(ask)
        if self.journal is not None:
            self.journal.begin(ask, self.describe())
        self._begin_session(ask.number)
        control.check()
        control.progress(QUESTION, 0, EXCHANGES)
        if control.is_over():
            return Sum.lose(ask, 0)
        poll = self._poll(ask, control)
        if poll.refused or poll.reached < max(self.least * ask.cohort.size, 1):
            return Sum.lose(ask, poll.reached, cost=poll.cost)
        if not poll.speaker_of:
            return self._add_up_nobody(ask, poll)
        meter, stages = Meter(), list[str]()
        try:
            result = self._lead(ask, poll.speakers, control, watch, meter, stages)
        except AggregationFailed as failed:
            # Noise is paid for when an answer leaves, also if it never arrives.
            spent = failed.answered or (ask.query.added_noise is not None and ANSWERING in stages)
            sealed = self.seals and spent and REVEALING not in stages
            cost, excluded = poll.add_cost(meter), failed.excluded
            return Sum.lose(ask, meter.present, spent=spent, sealed=sealed, cost=cost, excluded=excluded)
        except SketchFailed:
            self._note_failed_sketch()
            return Sum.lose(ask, meter.present, spent=True, cost=poll.add_cost(meter))
        control.progress("sum", EXCHANGES, EXCHANGES)
        said = self._read_sum(ask, poll, result, poll.add_cost(meter))
        return replace(said, excluded=result.excluded)

    @abstractmethod
    def _check(self, ask: Ask) -> None:
        """Refuse what could never work, before anybody is asked."""

    @abstractmethod
    def _poll(self, ask: Ask, control: Control) -> Poll:
        """The first exchange: the question, and what parties reply to it."""

    @abstractmethod
    def _announce(self, ask: Ask, speakers: list[int]) -> Announcement:
        """What those who speak are told about the round."""

    @abstractmethod
    def _read_sum(self, ask: Ask, poll: Poll, result: Aggregate, cost: Cost) -> Sum:
        """What came out, and who is in it."""

    @abstractmethod
    def _deal(self, letters: Mapping[int, bytes]) -> dict[int, Bundle]:
        """Messages to those who speak, grouped by party."""

    def _add_up_nobody(self, ask: Ask, poll: Poll) -> Sum:
        """Where nobody takes part there is no sum, unless a question is voluntary."""
        return Sum.lose(ask, 0, cost=poll.cost)

    def _note_failed_sketch(self) -> None:
        """A sketch could not be decoded."""

    def _begin_session(self, number: int) -> None:
        """Start a new session if round numbers do not increase: then another run has begun."""
        fresh = not self._session or number <= self._last
        self._session = self._write_once(lambda: os.urandom(SESSION) if fresh else self._session)
        self._last = number

    def _write_once(self, make: Callable[[], bytes]) -> bytes:
        """Something that must be the same if another process continues this round."""
        return make() if self.journal is None else self.journal.write_once(make)

    def _lead(
        self,
        ask: Ask,
        speakers: list[int],
        control: Control,
        watch: Watch | None,
        meter: Meter,
        stages: list[str],
    ) -> Aggregate:
        """The secure sum over those who speak; `stages` are the exchanges that were begun."""

        def begin(stage: str, place: int) -> bool:
            control.check()
            control.progress(stage, 1 + place, EXCHANGES)
            if self.journal is None or not self.journal.is_ahead:  # otherwise nobody is asked anything
                if control.is_over():
                    return False
                if stage in (ANSWERING, REVEALING):
                    control.warn(stage == REVEALING or not self.seals)
            stages.append(stage)
            return True

        def exchange(outbox: dict[int, bytes]) -> dict[int, bytes]:
            inbox = self._exchange(self._deal(outbox), control)
            return {client: letter for reply in inbox.values() for client, letter in reply.letters.items()}

        announced = Announcement.decode(self._write_once(lambda: self._announce(ask, speakers).encode()))
        server = serve(announced, self.roster, speakers, self.terms)
        return lead(server, exchange, begin, watch, meter)

    def _exchange(self, outbox: dict[int, Bundle], control: Control) -> dict[int, Bundle]:
        """The replies of the parties that were asked, limited to the clients they were asked about."""

        def ask_parties() -> dict[int, Bundle]:
            inbox = self.exchange(outbox, control.deadline)
            return {
                name: reply.select(outbox[name].letters.__contains__) for name, reply in inbox.items() if name in outbox
            }

        if self.journal is None:
            return ask_parties()
        return read_inbox(self.journal.write_once(lambda: write_inbox(ask_parties())))

    def _describe_making(self, result: Aggregate) -> Making:
        roll = result.parameters
        return Making(roll.clients, len(result.survivors), roll.degree, roll.threshold, self._session.hex())

    def _describe_noise(self, ask: Ask, result: Aggregate) -> dict[str, Any]:
        """The noise in a sum, as everyone knows it: how many shares it has, and of what size they are."""
        noise = ask.query.added_noise
        if noise is None:
            return {}
        honest = result.parameters.honest
        return {"noise": noise.find_total_sd(len(result.survivors), honest), "honest": honest}

    def _measure_question(
        self, outbox: dict[int, Bundle], inbox: dict[int, Bundle], clients: int, *, each: bool = False
    ) -> Cost:
        """Bytes of the first exchange, per client asked; `each`: as if every client were sent the question."""
        down = sum(len(sent.question) * (len(sent.letters) if each else 1) for sent in outbox.values())
        down += sum(len(letter) for sent in outbox.values() for letter in sent.letters.values())
        up = sum(len(letter) for reply in inbox.values() for letter in reply.letters.values())
        return Cost(down / clients, up / clients)
