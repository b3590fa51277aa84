"""Parties that speak for all their clients with one vector: each party is one client of the secure sum.

A party's own process sees its clients' rows anyway, so hiding them from it one by one would protect nothing more. What
the others see of a party is one masked vector. The whole question is bound by signatures: the query, who is asked, how
often each counts, the session and the round. So every party can compute what must be announced, and refuses anything
else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from folkmoot.conversation.codec import digest_of, pack
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, find_coins
from folkmoot.engines.answering import MOST_ROUNDS, SHAPELESS, SPEAKER, describe_run, read_run, unpack_question
from folkmoot.engines.census import Census, PartyShare
from folkmoot.engines.exchange import Bundle
from folkmoot.engines.past_cohorts import PastCohort
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.registry import name_kind
from folkmoot.foundation.sets import Ids
from folkmoot.objectives.objective import Objective
from folkmoot.questions.hidden import HiddenQuery
from folkmoot.questions.query import Query
from folkmoot.secagg import Announcement, Policy, Refused
from folkmoot.secagg.messages import SESSION
from folkmoot.secagg.parameters import count_share

MOST_WEIGHT = 1 << 62
MOST_LABEL = 200  # characters of what a server says a question is for
MOST_PARTIES = 1_000  # looked at to say how many would be enough


def describe_ask(ask: Ask, session: bytes, census: Census, run: bytes = b"") -> dict[str, Any]:
    """All of a question, as it is sent; everyone is not listed, since all know who that is."""
    cohort = ask.cohort
    named = {} if cohort.everyone else {"ids": cohort.ids, "times": cohort.times}
    about = {"purpose": str(ask.purpose), "label": ask.label, "round": ask.number, "session": session.hex()}
    about |= describe_run(run)
    return {"query": ask.query, "everyone": cohort.everyone, "census": census.digest, **named, **about}


def read_ask(data: bytes, census: Census) -> tuple[Ask, bytes, bytes]:
    """What was sent: the question, its session and its run. Raises `Refused` for anything that is no question to this
    census.
    """
    try:
        asked = unpack_question(data, census.population.n_items, census.population.n_clients)
        query, session, number = asked["query"], bytes.fromhex(asked["session"]), asked["round"]
        if not isinstance(query, Query) or len(session) != SESSION:
            raise ValueError
        if type(number) is not int or not 0 <= number < MOST_ROUNDS or not isinstance(asked["label"], str):
            raise ValueError
        if asked["census"] != census.digest:
            raise Refused("the server counts other clients at the parties than this party does")
        query.check(census.population.n_items, census.population.n_clients)
        cohort = _read_cohort(asked, census)
        return Ask(query, cohort, Purpose(asked["purpose"]), asked["label"], number), session, read_run(asked)
    except InputError as why:
        raise Refused(f"the question cannot be answered: {why}") from None
    except SHAPELESS:
        raise Refused("what was sent is no question") from None


def _read_cohort(asked: dict[str, Any], census: Census) -> Cohort:
    if asked["everyone"] is True:
        return census.population.everyone
    ids, times = asked["ids"], asked["times"]
    if ids.dtype != np.int64 or ids.ndim != 1 or not len(ids) or ids[0] < 0 or (np.diff(ids) <= 0).any():
        raise ValueError
    if ids[-1] >= census.population.n_clients:
        raise ValueError
    if times is not None:
        if times.dtype != np.int64 or times.shape != ids.shape or times.min() < 1:
            raise ValueError
        if float(times.sum(dtype=np.float64)) >= MOST_WEIGHT:
            raise ValueError
    return Cohort.of(ids.copy(), None if times is None else times.copy())


def announce_pool(ask: Ask, session: bytes, roster: bytes, census: Census, run: bytes = b"") -> Announcement:
    """What is announced of a question: the server sends it, and every party computes it too."""
    ask.ring_bits  # noqa: B018 - refuses sums that no ring can hold
    sizes = [(share.weight, share.size, 1) for share in census.divide(ask.cohort)]
    return Announcement(
        session=session,
        round=ask.number,
        question=bytes.fromhex(digest_of(describe_ask(ask, session, census, run))),
        roster=roster,
        clients=len(sizes),
        length=ask.query.length,
        most=ask.span,
        largest=max(ask.find_highest(*size) - ask.find_lowest(*size) for size in sizes),
    )


@dataclass(frozen=True, eq=False)
class PooledInquiry:
    """A question to a party that speaks for its clients."""

    ask: Ask
    session: bytes
    share: PartyShare  # of the cohort, that this party holds
    clients: Objective | None  # of this party, those who are asked; None: nobody
    census: Census
    roster: bytes  # its digest
    own: PrivateCoins
    run: bytes = b""

    @classmethod
    def read(
        cls, sent: Bundle, clients: Objective, number: int, census: Census, roster: bytes, secret: PrivateCoins
    ) -> "PooledInquiry":
        """What party `number` was sent; refused if it is not for it. secret: what its coins follow from."""
        ask, session, run = read_ask(sent.question, census)
        groups = ask.query.group_clients()
        if groups is not None and not census.is_division(groups):
            raise Refused("the question is for other groups of clients than the parties")
        if set(sent.letters) != {number}:
            raise Refused("the question is not for this party")
        share = census.divide(ask.cohort)[number]
        asked: Objective | None = clients
        if share.size < clients.n_clients:
            ids, _ = share.select(ask.cohort)
            asked = clients[ids - int(census.ends[number])] if share.size else None
        own = find_coins(secret, ask.query)
        return cls(ask, session, share, asked, census, roster, own, run)

    @property
    def query(self) -> Query[Any]:
        return self.ask.query

    @property
    def round(self) -> int:
        return self.ask.number

    @property
    def kind(self) -> str:
        return name_kind(type(self.query))

    @property
    def why(self) -> str:
        return f"{self.kind}: {self.ask.label[:MOST_LABEL]}"

    @cached_property
    def digest(self) -> bytes:
        """Of the query alone: no client answers it twice in a run, whoever else is asked."""
        return bytes.fromhex(digest_of(self.query))

    @cached_property
    def cohort(self) -> PastCohort:
        """Who is asked."""
        return PastCohort.of(self.census.digest, self.ask.cohort, self.census.population.n_clients)

    @cached_property
    def members(self) -> tuple[Ids, Ids]:
        """The numbers of this party's clients that are asked, and how often each counts."""
        return self.share.select(self.ask.cohort)

    def has_answered(self, before: bytes) -> bool:
        """Whether any of the clients that are asked is marked."""
        mine = int.from_bytes(self.mark_members(), "little")
        return bool(mine & int.from_bytes(before, "little"))

    @property
    def is_even(self) -> bool:
        """Whether everyone who is asked, at any party, counts once, or as the census says: no server chose that."""
        return self.ask.cohort.times is None or self.ask.cohort.everyone

    @property
    def effective_size(self) -> float:
        """(Σw)²/Σw² over all who are asked: as many clients that count alike hide each other as well."""
        times = self.ask.cohort.times
        if times is None:
            return float(self.ask.cohort.size)
        return float(times.sum(dtype=np.float64) ** 2 / (times.astype(np.float64) ** 2).sum())

    def find_largest_share(self, terms: Policy) -> float:
        """The largest share that one party can have of the honest part of a sum, whoever drops out and whoever lies.

        A sum may hold no more than the fewest honest parties that the terms promise, and what corrupt parties sent can
        be subtracted from it.
        """
        weights = sorted(share.weight for share in self.census.divide(self.ask.cohort))
        asked = len(weights)
        honest = min(terms.protection(count, asked).honest for count in range(terms.quorum(asked), asked + 1))
        return weights[-1] / max(weights[-1] + sum(weights[: max(honest - 1, 0)]), 1)

    @cached_property
    def announcement(self) -> Announcement:
        return announce_pool(self.ask, self.session, self.roster, self.census, self.run)

    def is_asked(self, client: int) -> bool:
        return client == self.share.party

    def check_announcement(self, client: int, announced: Announcement, uneven: bool) -> None:  # noqa: ARG002
        """Refuse a round that is not about exactly this question, to exactly these clients."""
        if announced != self.announcement:
            raise Refused("what is announced is not what was asked")

    def prepare(self) -> None:
        self.vector  # noqa: B018 - computed once

    def mark_members(self) -> bytes:
        """This party's clients that answer: each answers a query once in a run, whoever else is asked."""
        marks = np.zeros(self.census.sizes[self.share.party], dtype=bool)
        marks[self.find_places([self.share.party])] = True
        return np.packbits(marks, bitorder="little").tobytes()

    def find_places(self, speakers: Sequence[int]) -> Ids:  # noqa: ARG002 - the party
        """All of its clients that are asked."""
        return self.members[0] - int(self.census.ends[self.share.party])

    def write_consent(self) -> bytes:
        return SPEAKER.pack(self.share.party)

    def write_vector(self, client: int) -> Ids:  # noqa: ARG002 - the party
        return self.vector

    @cached_property
    def vector(self) -> Ids:
        """The sum of this party's answers before masking: how far each number lies above its lowest possible value."""
        query = self.query
        total = np.zeros(query.length, dtype=np.int64)
        if self.clients is not None:
            if isinstance(query, HiddenQuery):
                total = query.total_surely(self.clients, *self.members, self.own)
            else:
                total, _ = query.total_of_willing(self.clients, *self.members, self.own)
        vector: Ids = total - self.ask.find_lowest(self.share.weight, self.share.size, speakers=1)
        return vector


def write_pooled_question(ask: Ask, session: bytes, census: Census, run: bytes = b"") -> bytes:
    return pack(describe_ask(ask, session, census, run))


def check_parties(terms: Policy, parties: int) -> None:
    """Refuse fewer parties than the terms need, and say how many they need.

    Shares are rounded down, and a tenth of five parties is nobody. So a share of parties that may be corrupt, or gone,
    means at least one.
    """
    if not _protects(terms, parties):
        enough = next((count for count in range(parties, MOST_PARTIES) if _protects(terms, count)), None)
        raise InputError(
            f"{parties} parties are too few if {terms.corrupt:.0%} of them may be corrupt and {terms.dropout:.0%} may "
            "drop out, at least one each" + ("" if enough is None else f"; {enough} are enough"),
            argument="parties",
        )


def _protects(terms: Policy, parties: int) -> bool:
    tolerated = [count_share(share, parties) for share in (terms.corrupt, terms.dropout) if share > 0]
    if parties < terms.quorum(0) or not all(tolerated):
        return False
    try:
        terms.protection(parties)
    except InputError:
        return False
    return True
