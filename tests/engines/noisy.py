"""Parties of both sorts that are asked under noise, for tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

import folkmoot as fm
from folkmoot.conversation.engine import Engine
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import MemoryStore, PartyPolicy
from folkmoot.engines.store import StateStore
from folkmoot.foundation.sets import Ids
from folkmoot.privacy.accounting import find_mu
from folkmoot.privacy.noise import NoiseSource, choose_sd
from folkmoot.questions import Query
from folkmoot.questions.hidden import Direction
from tests.engines import crowds
from tests.engines.crowds import ask_everyone, crowd, make_federation, make_party
from tests.engines.pools import CLIENTS, ITEMS, SIZES, TERMS, ask_all, make_engine, make_parties

EVERYONE = np.arange(CLIENTS)
HALVES = [EVERYONE[::2], EVERYONE[1::2]]
KINDS = ("pooled", "each")
MU = 0.5
BUDGET = fm.Privacy(1.0, 1e-3)
LIMIT = find_mu(1.0, 1e-3) ** 2
PRICE = 0.4 * LIMIT  # μ² of a round, of which two can be paid
PAYABLE = sqrt(PRICE)


def ask_noise(mu: float = PAYABLE, honest: int = 2, **given: Any) -> Direction:
    """How much every item is worth, under noise."""
    fixed = {"members": np.zeros(ITEMS, dtype=bool), "items": np.arange(ITEMS), "most": 5.0}
    hiding = {"mu": mu, "sd": given["sd"] if "sd" in given else choose_sd(mu, honest), "honest": honest}
    return Direction(**{**fixed, **hiding, **given})


@dataclass
class Site:
    """Parties of either sort, and the engine that asks them. stores: one per party, which outlives it."""

    kind: str
    policy: PartyPolicy
    stores: list[StateStore]
    noise: NoiseSource | None = None
    clients: fm.FacilityLocation | None = None
    how: Mapping[str, Any] = field(default_factory=dict)  # the parties' clocks

    def __post_init__(self) -> None:
        self.crowd = crowd(CLIENTS, most=5.0) if self.clients is None else self.clients
        self.parties: dict[int, Any]
        if self.kind == "pooled":
            self.parties = make_parties(self.crowd, self.policy, self.stores.__getitem__, **self.how)
        else:
            made = zip(HALVES, self.stores, strict=False)
            self.parties = {
                one: make_party(self.crowd, ids, self.policy, kept, **self.how) for one, (ids, kept) in enumerate(made)
            }
        if self.noise is not None:
            for party in self.parties.values():
                party.bookkeeper.noise = self.noise

    def engine(self, exchange: Any = None, **how: Any) -> Engine:
        if self.kind == "pooled":
            return make_engine(self.parties, exchange, **how)
        return make_federation(self.crowd, list(self.parties.values()), exchange, **how)

    def ask(self, query: Query[Any], number: int = 0) -> Ask:
        return ask_all(query, number) if self.kind == "pooled" else ask_everyone(CLIENTS, query, number)

    @property
    def paid(self) -> list[float]:
        """Σμ² of every client, by party and place."""
        sizes = SIZES if self.kind == "pooled" else [len(ids) for ids in HALVES]
        found = zip(self.stores, sizes, strict=False)
        return [one for store, size in found for one in find_paid(store, np.arange(size)).tolist()]

    @property
    def reasons(self) -> set[str]:
        return {refusal.why for party in self.parties.values() for refusal in party.refusals}


def find_paid(store: StateStore, places: Ids) -> Any:
    return store.read_mileage().find("zero-out", places)


def make_site(kind: str, policy: PartyPolicy | None = None, **more: Any) -> Site:
    return Site(kind, limit(kind) if policy is None else policy, [MemoryStore() for _ in SIZES], **more)


def limit(kind: str, **given: Any) -> PartyPolicy:
    """A policy with a budget, on the terms of the engine."""
    terms = TERMS if kind == "pooled" else crowds.TERMS
    return PartyPolicy(**{"terms": terms, "again": True, "budget": BUDGET, "honest": 2, "largest_share": 1.0, **given})


def close(paid: list[float], what: float) -> bool:
    return bool(np.allclose(paid, what, rtol=1e-12, atol=0))
