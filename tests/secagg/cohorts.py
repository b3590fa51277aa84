"""Small federations for tests: members with fixed identities, vectors that follow from the client's number."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from folkmoot.foundation.kernels import threads
from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.secagg.client import Answer, Crowd, step
from folkmoot.secagg.keys import CHECK, EDGE, edge_purpose
from folkmoot.secagg.member import Member, Policy, Roster
from folkmoot.secagg.messages import Announcement, Parcel, kind_of
from folkmoot.secagg.primitives import KEY, keyed_hash
from folkmoot.secagg.server import Aggregate, serve
from folkmoot.secagg.together import Drops, aggregate, members_of
from folkmoot.secagg.wire import U64

Vector = NDArray[np.int64]
TERMS = Policy(fewest=5)
SESSION = bytes(range(16))
Outbox = dict[int, bytes]
Meddle = Callable[[int, Outbox], Outbox]  # of (exchange, messages): what becomes of them on the way


@dataclass(frozen=True)
class Federation:
    """Clients 3, 10, 17, …: numbers and places are not the same."""

    clients: int = 16
    length: int = 40
    largest: int = 100
    room: int = 0
    policy: Policy = TERMS

    @cached_property
    def identities(self) -> dict[int, Ed25519PrivateKey]:
        return {
            7 * one + 3: Ed25519PrivateKey.from_private_bytes(one.to_bytes(32, "big")) for one in range(self.clients)
        }

    @cached_property
    def roster(self) -> Roster:
        return self.members[self.ids[0]].roster

    @cached_property
    def members(self) -> dict[int, Member]:
        return members_of(self.identities, self.policy)

    @cached_property
    def ids(self) -> list[int]:
        return sorted(self.identities)

    @cached_property
    def announcement(self) -> Announcement:
        most = self.clients * self.largest
        return Announcement(SESSION, 1, bytes(32), self.roster.digest, self.clients, self.length, most, self.room)

    def announce_later(self, rounds: int = 1) -> Announcement:
        return replace(self.announcement, round=self.announcement.round + rounds)

    def vector(self, client: int) -> Vector:
        rng = np.random.default_rng(client)
        vector = np.zeros(self.length, dtype=np.int64)
        filled = min(self.length, 4) if self.room else self.length
        vector[rng.permutation(self.length)[:filled]] = rng.integers(0, self.largest + 1, filled)
        return vector

    def answer(self, client: int) -> Answer:
        def asked(crowd: Crowd) -> Vector:
            assert crowd.announcement.length == self.length
            return self.vector(client)

        return asked

    def plain_sum(self, clients: tuple[int, ...]) -> Vector:
        return np.asarray(np.sum([self.vector(client) for client in clients], axis=0))

    def aggregate(self, drops: Drops | None = None) -> Aggregate:
        """With coins that follow from a seed, drawn by one client after the other: the same every time."""
        with threads(1):
            coins = PrivateRandomness.for_tests(np.random.default_rng(0).bytes)
            return aggregate(self.announcement, self.members, self.answer, drops, random=coins)

    def check(self, result: Aggregate) -> None:
        """The sum is that of exactly those who are said to be in it."""
        np.testing.assert_array_equal(result.total, self.plain_sum(result.survivors))


KEYS, CHOICE, SHARES, RECEIPT, ANSWERS, VECTOR, CONSENT, UNMASKING = EXCHANGES = range(1, 9)
REGULAR = tuple(exchange for exchange in EXCHANGES if exchange != ANSWERS)  # which takes place only if some complain


def exchange_of(outbox: Outbox) -> int:
    """Which exchange begins with these messages; 0 where nobody is left to ask."""
    return (kind_of(next(iter(outbox.values()), b"")) + 1) // 2


def conversation(
    federation: Federation,
    to_clients: Meddle | None = None,
    to_server: Meddle | None = None,
) -> tuple[Aggregate, dict[int, bytes]]:
    """A round with somebody in the middle, who may change any message of any exchange (1 to 8). Exceptions of clients
    are not hidden: what a client refuses ends the test's call. Returns the sum and the clients' last states.
    """
    server = serve(federation.announcement, federation.roster, federation.ids, federation.policy)
    states = dict.fromkeys(federation.ids, b"")
    outbox = next(server)
    while True:
        exchange, replies = exchange_of(outbox), {}
        for client, message in (to_clients(exchange, dict(outbox)) if to_clients else outbox).items():
            states[client], replies[client] = step(
                federation.members[client], states[client], message, federation.answer(client)
            )
        try:
            outbox = server.send(to_server(exchange, replies) if to_server else replies)
        except StopIteration as end:
            return end.value, states


def advance_to(federation: Federation, exchange: int) -> tuple[dict[int, bytes], Outbox]:
    """Honest until an exchange: the clients' states, and what the server would send them now."""
    server = serve(federation.announcement, federation.roster, federation.ids, federation.policy)
    states = dict.fromkeys(federation.ids, b"")
    outbox = next(server)
    while exchange_of(outbox) < exchange:
        replies = {}
        for client, message in outbox.items():
            states[client], replies[client] = step(
                federation.members[client], states[client], message, federation.answer(client)
            )
        outbox = server.send(replies)
    return states, outbox


class Edge(NamedTuple):
    """The keys of a dealer and a holder."""

    box: bytes
    word: bytes
    consent: bytes

    @classmethod
    def derive(cls, secret: bytes, roll_hash: bytes, dealer: int, holder: int) -> "Edge":
        keys = keyed_hash(secret, edge_purpose(roll_hash, dealer, holder), EDGE)
        return cls(keys[:KEY], keys[KEY:-CHECK], keys[-CHECK:])


def body_of(parcel: Parcel) -> bytes:
    """What `Parcel.read` reads."""
    return parcel.keys + parcel.box + parcel.marks + parcel.values + U64.pack(parcel.challenge)
