"""Clients, their identities and questions for engines to be tried on."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from scipy import sparse

from folkmoot import FacilityLocation, Uniform
from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Cohort, Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.engines import Exchange, Federation, InProcess, Party, PartyPolicy
from folkmoot.engines.store import StateStore
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Ids
from folkmoot.questions import Gains, Gradient, Participation, Query, ShardBase, Votes
from folkmoot.secagg import Policy, Roster
from tests.coins import SIMULATED

TERMS = Policy(fewest=3, dropout=0.3)


def crowd(clients: int, items: int = 12, weights: Ids | None = None, most: float | None = None) -> FacilityLocation:
    rng = np.random.default_rng(clients)
    worth = sparse.csr_array(rng.integers(1, 6, (clients, items)) * (rng.random((clients, items)) < 0.4))
    return FacilityLocation(worth, weights=weights, keep_empty=True, most=most)


def gradient(items: int, key: int = 1) -> Gradient:
    return Gradient(x=np.full(items, 0.1), whole=5.0, coins=PublicCoins(key), single=5.0, bits=4, stochastic=True)


def votes(items: int, key: int = 1) -> Votes:
    return Votes(x=np.zeros(items), whole=5.0, coins=PublicCoins(key), votes=2, sum=5.0 * items, bits=8)


def voluntary(items: int, share: float = 0.7, key: int = 1) -> Gains:
    """Gains that a client answers by a coin which favours large values."""
    who = Participation(even=share / 2, slope=share / 10, own="single")
    return Gains(
        members=np.zeros(items, dtype=bool),
        items=np.arange(items),
        most=who.bound_own(1, 5.0),
        draw=key,
        who=who,
    )


def shards(clients: int, count: int, items: int = 12) -> ShardBase:
    return ShardBase(
        matroid=Uniform(items, 2), clients=clients, shards=count, deal=False, items=None, coins=PublicCoins(1)
    )


def ask_everyone(clients: int, query: Query[Any], number: int = 0, purpose: Purpose = Purpose.SEARCH) -> Ask:
    """A question to all, who could be asked again if it were lost."""
    return Ask(query, Cohort.of(np.arange(clients), None), purpose, "test", number)


def make_identities(clients: int) -> dict[int, Ed25519PrivateKey]:
    return {
        one: Ed25519PrivateKey.from_private_bytes(sha256(f"client {one}".encode()).digest()) for one in range(clients)
    }


def make_roster(clients: int) -> Roster:
    return Roster({one: key.public_key().public_bytes_raw() for one, key in make_identities(clients).items()})


def make_party(
    clients: FacilityLocation, ids: Ids, policy: PartyPolicy | None = None, store: StateStore | None = None, **how: Any
) -> Party:
    """A party that holds some of the clients."""
    identities = make_identities(clients.n_clients)
    own = {one: identities[one] for one in ids.tolist()}
    policy = PartyPolicy(TERMS, volunteers=True) if policy is None else policy
    return Party(clients[ids], ids, own, make_roster(clients.n_clients), policy, store, **({"coins": SIMULATED} | how))


def make_federation(
    clients: FacilityLocation, parties: list[Party], exchange: Exchange | None = None, **how: Any
) -> Federation:
    """An engine over parties in this process."""
    held = {name: party.ids for name, party in enumerate(parties)}
    exchange = InProcess(dict(enumerate(parties))) if exchange is None else exchange
    return Federation(Population.of(clients), make_roster(clients.n_clients), held, exchange, TERMS, **how)


class Listener(Engine):
    """An engine that remembers what another was asked, and what it said."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.asks, self.sums = engine, list[Ask](), list[Sum]()

    @property
    def population(self) -> Population:
        return self.engine.population

    @property
    def terms(self) -> Policy | None:
        return self.engine.terms

    @property
    def can_recompute(self) -> bool:
        return self.engine.can_recompute

    def describe(self) -> Mapping[str, Any]:
        return self.engine.describe()

    def add_up(self, ask: Ask, control: Control) -> Sum:
        self.asks.append(ask)
        self.sums.append(self.engine.add_up(ask, control))
        return self.sums[-1]
