"""Parties that speak for their clients, for tests."""

from collections.abc import Callable, Mapping
from typing import Any

from folkmoot.conversation.population import Cohort, Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Census, Exchange, InProcess, PartyPolicy, PooledFederation, PooledParty
from folkmoot.engines.store import StateStore
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Ids
from folkmoot.objectives import Objective
from folkmoot.questions import Query
from folkmoot.secagg import Policy, Roster
from tests.coins import SIMULATED
from tests.engines.crowds import make_identities

SIZES = (12, 7, 15, 9, 17)
CLIENTS, ITEMS = sum(SIZES), 12
TERMS = Policy(fewest=4, corrupt=0.2, dropout=0.2)
POLICY = PartyPolicy(TERMS)
OPEN = PartyPolicy(TERMS, uneven=True, volunteers=True)
VICTIM = 2


def make_parties(
    clients: Objective,
    policy: PartyPolicy = POLICY,
    store: Callable[[int], StateStore] | None = None,
    sizes: tuple[int, ...] = SIZES,
    coins: Callable[[int], PrivateCoins | None] = lambda _: SIMULATED,
    **how: Any,
) -> dict[int, PooledParty]:
    census, identities = Census(Population.of(clients), sizes), make_identities(len(sizes))
    roster = Roster({one: key.public_key().public_bytes_raw() for one, key in identities.items()})
    parties = {}
    for number, (lo, hi) in enumerate(zip(census.ends, census.ends[1:], strict=False)):
        kept = None if store is None else store(number)
        own = clients[int(lo) : int(hi)]
        parties[number] = PooledParty(
            own, number, identities[number], roster, census, policy, kept, coins=coins(number), **how
        )
    return parties


def make_engine(parties: dict[int, PooledParty], exchange: Exchange | None = None, **how: Any) -> PooledFederation:
    first = parties[0]
    return PooledFederation(first.census, first.roster, exchange or InProcess(parties), TERMS, **how)


def ask_all(query: Query[Any], number: int = 0) -> Ask:
    return Ask(query, Cohort(None, None, CLIENTS, CLIENTS, everyone=True), Purpose.SEARCH, "test", number)


def ask_some(query: Query[Any], ids: Ids, times: Ids | None = None, number: int = 0) -> Ask:
    return Ask(query, Cohort.of(ids, times), Purpose.SEARCH, "test", number)


def reasons(parties: Mapping[int, PooledParty]) -> set[str]:
    return {refusal.why for party in parties.values() for refusal in party.refusals}
