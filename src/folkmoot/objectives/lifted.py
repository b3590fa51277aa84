"""Functions over (item, client) pairs: the private side of welfare maximisation."""

from typing import cast

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import AnyArray, Array, Ids, Mask, Rows
from folkmoot.objectives.objective import Objective
from folkmoot.objectives.sparse import SparseRows


def lift(objective: Objective) -> Objective:
    """The same clients, each of which values only the pairs that give an item to it.

    Pair e·N + i gives item e to client i, so f_i'(pairs) = f_i({e : (e, i) in pairs}). Sparse families
    are only relabelled; others are evaluated client by client.
    """
    if objective.n_items * objective.n_clients >= 2**31:
        raise InputError(
            f"has too many pairs: {objective.n_items} items × {objective.n_clients} clients are 2^31 or more",
            argument="objective",
        )
    over_pairs = objective._lift() if isinstance(objective, SparseRows) else LiftedObjective(objective)
    items = objective.item_names or tuple(f"item {e}" for e in range(objective.n_items))
    clients = objective.client_names or tuple(f"client {i}" for i in range(objective.n_clients))
    over_pairs.item_names = tuple(f"{item} → {client}" for item in items for client in clients)
    return over_pairs


class LiftedObjective(Objective):
    """Any objective over pairs."""

    def __init__(self, objective: Objective) -> None:
        self.agents = [objective[i] for i in range(objective.n_clients)]
        self.numbers = np.arange(objective.n_clients)  # the client to which an agent's pairs give items
        self.n_agents = objective.n_clients
        self.by_construction, self.closed_form = objective.by_construction, objective.closed_form
        n_pairs = objective.n_items * objective.n_clients
        self._describe(n_pairs, objective.n_clients, objective.client_weights, None, objective.client_names)

    def _keep(self, clients: Ids) -> None:
        self.agents = [self.agents[i] for i in clients]
        self.numbers = self.numbers[clients]

    def _select_own(self, over_pairs: AnyArray, number: int) -> AnyArray:
        return cast(AnyArray, np.ascontiguousarray(over_pairs[..., number :: self.n_agents]))

    def values_at(self, sets: Mask) -> Array:
        return np.concatenate([agent.values_at(self._select_own(sets, i)) for agent, i in self._agents()])

    def find_ceilings(self) -> Array:
        return np.array([agent.ceiling for agent in self.agents])

    def gains_at(self, members: Mask) -> Rows:
        return self._rows([agent.gains(self._select_own(members, i)) for agent, i in self._agents()])

    def extension_at(self, x: Array) -> Array:
        return np.concatenate([agent.extension(self._select_own(x, i)) for agent, i in self._agents()])

    def gradients_at(self, x: Array) -> Rows:
        return self._rows([agent.gradients(self._select_own(x, i)) for agent, i in self._agents()])

    def _agents(self) -> list[tuple[Objective, int]]:
        return list(zip(self.agents, self.numbers.tolist(), strict=True))

    def _rows(self, rows: list[Rows]) -> Rows:
        stacked = sparse.vstack(rows, format="csr")
        own = np.repeat(self.numbers, np.diff(stacked.indptr))
        return csr_array(
            (stacked.data, stacked.indices * self.n_agents + own, stacked.indptr), shape=(len(rows), self.n_items)
        )
