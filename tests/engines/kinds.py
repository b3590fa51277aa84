"""Every kind of engine, listed once, as it would be made for any clients."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from folkmoot import Control, Engine, Objective, Simulation
from folkmoot.conversation import Ask, Population, Sum
from folkmoot.engines import PartyPolicy
from folkmoot.secagg import Policy
from tests.coins import toss_for
from tests.engines.pools import TERMS, make_engine, make_parties


class Toy(Engine):
    """The engine of docs/engines.md: every client answers at once, and nothing is hidden."""

    def __init__(self, clients: Objective) -> None:
        self.clients = clients

    @property
    def population(self) -> Population:
        return Population.of(self.clients)

    def add_up(self, ask: Ask, control: Control) -> Sum:
        query, cohort = ask.query, ask.cohort
        ids, times = cohort.list_members()
        willing = query.takes_part(self.clients[ids], ids, times, toss_for(query))
        if willing is not None:
            ids, times = ids[willing], times[willing]
        control.check()
        if control.is_over():
            return Sum.lose(ask, len(ids))
        total = (
            query.total(self.clients[ids], ids, times, toss_for(query))
            if len(ids)
            else np.zeros(query.length, np.int64)
        )
        control.progress("adding up", len(ids), cohort.size)
        speaking = query.speakers(ids)
        heard = ids if speaking is None else ids[speaking]
        return Sum(total, int(times.sum()), len(heard), cohort.weight, present=cohort.mark_present(heard))


class Wrapper(Engine):
    """Passes everything on to another engine, and remembers what it was asked."""

    def __init__(self, inner: Engine) -> None:
        self.inner, self.asked, self.said = inner, list[Ask](), list[Sum]()

    @property
    def population(self) -> Population:
        return self.inner.population

    @property
    def terms(self) -> Policy | None:
        return self.inner.terms

    @property
    def can_recompute(self) -> bool:
        return self.inner.can_recompute

    @property
    def everything(self) -> Objective | None:
        return self.inner.everything

    def describe(self) -> Mapping[str, Any]:
        return self.inner.describe()

    def add_up(self, ask: Ask, control: Control) -> Sum:
        self.asked.append(ask)
        self.said.append(self.inner.add_up(ask, control))
        return self.said[-1]


def make_pool(clients: Objective) -> Engine:
    """Parties that speak for their clients, and trust the server with counts and coins."""
    trusting = PartyPolicy(TERMS, uneven=True, volunteers=True, clients=1, largest_share=1.0)
    size, rest = divmod(clients.n_clients, 5)
    return make_engine(make_parties(clients, trusting, sizes=(size, size, size, size, size + rest)), apart=1)


FEW = Policy(fewest=3)
ENGINES: dict[str, Callable[[Objective], Engine]] = {
    "plain": lambda clients: Simulation(clients, "plain"),
    "ideal": lambda clients: Simulation(clients),
    "one thread": lambda clients: Simulation(clients, threads=1),
    "real": lambda clients: Simulation(clients, "real", policy=FEW),
    "toy": Toy,
    "wrapped": lambda clients: Wrapper(Simulation(clients)),
    "pooled": make_pool,
}
