"""Parties that speak for all their clients with one vector: each party is one client of the secure sum.

A party's own process sees its clients' rows anyway, so hiding them from it one by one would protect nothing more. What
the others see of a party is one masked vector. The whole question is bound by signatures: the query, who is asked, how
often each counts, the session and the round. So every party can compute what must be announced, and refuses anything
else.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from folkmoot.conversation.codec import digest_of, pack, unpack
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines.answering import MOST_ROUNDS, SHAPELESS, SPEAKER
from folkmoot.engines.census import Census, PartyShare
from folkmoot.engines.exchange import Bundle
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.registry import find_kinds, name_kind
from folkmoot.foundation.sets import Ids
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import Query
from folkmoot.secagg import Announcement, Policy, Refused
from folkmoot.secagg.messages import MOST_BITS, SESSION
from folkmoot.secagg.parameters import count_share

MOST_WEIGHT = 1 << 62
MOST_PARTIES = 1_000  # looked at to say how many would be enough


def describe_ask(ask: Ask, session: bytes) -> dict[str, Any]:
    """All of a question, as it is sent; everyone is not listed, since all know who that is."""
    cohort = ask.cohort
    named = {} if cohort.everyone else {"ids": cohort.ids, "times": cohort.times}
    about = {"purpose": str(ask.purpose), "label": ask.label, "round": ask.number, "session": session.hex()}
    return {"query": ask.query, "everyone": cohort.everyone, **named, **about}


def read_ask(data: bytes, census: Census) -> tuple[Ask, bytes]:
    """What was sent: the question and its session. Raises `Refused` for anything that is no question to this census."""
    try:
        asked = unpack(data, find_kinds(Query, Matroid, Participation, PublicCoins))
        query, session, number = asked["query"], bytes.fromhex(asked["session"]), asked["round"]
        if not isinstance(query, Query) or len(session) != SESSION:
            raise ValueError
        if type(number) is not int or not 0 <= number < MOST_ROUNDS or not isinstance(asked["label"], str):
            raise ValueError
        query.check(census.population.n_items, census.population.n_clients)
        cohort = _read_cohort(asked, census)
        return Ask(query, cohort, Purpose(asked["purpose"]), asked["label"], number), session
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


def announce_pool(ask: Ask, session: bytes, roster: bytes, shares: list[PartyShare]) -> Announcement:
    """What is announced of a question: the server sends it, and every party computes it too."""
    encoding, weights = ask.query.encoding, [share.weight for share in shares]
    most = find_span(encoding, sum(weights), len(weights))
    if most.bit_length() > MOST_BITS:
        raise InputError(f"sums of these answers need {most.bit_length()} bits, more than {MOST_BITS}")
    return Announcement(
        session=session,
        round=ask.number,
        question=bytes.fromhex(digest_of(describe_ask(ask, session))),
        roster=roster,
        clients=len(shares),
        length=encoding.length,
        most=most,
        largest=find_span(encoding, max(weights), 1),
    )


def find_span(encoding: Encoding, weight: int, parties: int) -> int:
    """The largest possible number of a sum over these parties minus the smallest; each has room for noise once."""
    return (encoding.limit - encoding.lowest) * weight + 2 * encoding.headroom * parties


def find_lowest(encoding: Encoding, weight: int, parties: int) -> int:
    """The smallest possible number of such a sum; vectors are sent as their distance from it."""
    return encoding.lowest * weight - encoding.headroom * parties


@dataclass(frozen=True, eq=False)
class PooledInquiry:
    """A question to a party that speaks for its clients."""

    ask: Ask
    session: bytes
    share: PartyShare  # of the cohort, that this party holds
    shares: list[PartyShare]  # of all parties that hold anybody of it
    clients: Objective  # of this party, those who are asked
    roster: bytes  # its digest
    first: int  # the number of this party's first client
    size: int  # how many clients it has

    @classmethod
    def read(cls, sent: Bundle, clients: Objective, number: int, census: Census, roster: bytes) -> "PooledInquiry":
        """What party `number` was sent; refused if it is not for it."""
        ask, session = read_ask(sent.question, census)
        if ask.query.group_clients() is not None:
            raise Refused("the question is for groups of clients, and this party is one")
        shares = census.divide(ask.cohort)
        mine = next((share for share in shares if share.party == number), None)
        if mine is None or set(sent.letters) != {number}:
            raise Refused("the question is not for this party")
        first = int(census.ends[number])
        ids, _ = mine.select(ask.cohort)
        asked = clients if len(ids) == clients.n_clients else clients[ids - first]
        return cls(ask, session, mine, shares, asked, roster, first, clients.n_clients)

    @property
    def query(self) -> Query[Any]:
        return self.ask.query

    @property
    def round(self) -> int:
        return self.ask.number

    @property
    def kind(self) -> str:
        return name_kind(type(self.query))

    @cached_property
    def digest(self) -> bytes:
        """Of the query alone: no client answers it twice, whoever else is asked."""
        return bytes.fromhex(digest_of(self.query))

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
        """Whether everyone who is asked, at any party, counts once."""
        return self.ask.cohort.times is None

    @property
    def effective_size(self) -> float:
        """(Σw)²/Σw² over all who are asked: as many clients that count alike hide each other as well."""
        times = self.ask.cohort.times
        if times is None:
            return float(self.ask.cohort.size)
        return float(times.sum(dtype=np.float64) ** 2 / (times.astype(np.float64) ** 2).sum())

    def find_largest_share(self, quorum: int) -> float:
        """The largest share that one party can have of a sum over at least so many parties, whoever drops out."""
        weights = sorted(share.weight for share in self.shares)
        return weights[-1] / (weights[-1] + sum(weights[: max(quorum - 1, 0)]))

    @cached_property
    def announcement(self) -> Announcement:
        return announce_pool(self.ask, self.session, self.roster, self.shares)

    def is_asked(self, client: int) -> bool:
        return client == self.share.party

    def check_announcement(self, client: int, announced: Announcement, uneven: bool) -> None:  # noqa: ARG002
        """Refuse a round that is not about exactly this question, to exactly these clients."""
        if announced != self.announcement:
            raise Refused("what is announced is not what was asked")

    def prepare(self) -> None:
        self.vector  # noqa: B018 - computed once

    def mark_members(self) -> bytes:
        """This party's clients that answer: each answers a query once, whoever else is asked."""
        marks = np.zeros(self.size, dtype=bool)
        marks[self.members[0] - self.first] = True
        return np.packbits(marks, bitorder="little").tobytes()

    def write_consent(self) -> bytes:
        return SPEAKER.pack(self.share.party)

    def write_vector(self, client: int) -> Ids:  # noqa: ARG002 - the party
        return self.vector

    @cached_property
    def vector(self) -> Ids:
        """The sum of this party's answers before masking: how far each number lies above its lowest possible value."""
        total, _ = self.query.total_of_willing(self.clients, *self.members)
        vector: Ids = total - find_lowest(self.query.encoding, self.share.weight, 1)
        return vector


def write_pooled_question(ask: Ask, session: bytes) -> bytes:
    return pack(describe_ask(ask, session))


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
