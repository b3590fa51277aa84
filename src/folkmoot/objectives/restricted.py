"""The same clients with some of the items only."""

from typing import Any

import numpy as np

from folkmoot.foundation.sets import Array, Ids, Mask, Rows
from folkmoot.objectives.objective import Objective
from folkmoot.objectives.sparse import SparseRows


def restrict(objective: Objective, items: Ids) -> Objective:
    """The clients over these items alone, renumbered: sets of the others are out of reach. They still know what all
    items together are worth (`Objective.unrestricted`). Sparse families keep the entries of these items; others
    are evaluated on sets of all items.
    """
    part = objective._restrict(items) if isinstance(objective, SparseRows) else RestrictedObjective(objective, items)
    part.before, part.kept_items = objective, items
    return part


class RestrictedObjective(Objective):
    """Any objective over some of its items."""

    def __init__(self, objective: Objective, items: Ids) -> None:
        self.before, self.items = objective, items
        self.by_construction, self.closed_form = objective.by_construction, objective.closed_form
        self.largest_set, self.most = objective.largest_set, objective.most
        names = objective.item_names
        chosen = None if names is None else tuple(names[item] for item in items.tolist())
        self._describe(len(items), objective.n_clients, objective.client_weights, chosen, objective.client_names)

    def _keep(self, clients: Ids) -> None:
        """Nothing is left to do: all is in the clients with all their items, of whom these are some by now."""

    def _widen(self, part: Any) -> Any:
        """Sets or points over all items, with nothing outside."""
        out = np.zeros((*part.shape[:-1], self.unrestricted.n_items), dtype=part.dtype)
        out[..., self.items] = part
        return out

    def values_at(self, sets: Mask) -> Array:
        return self.unrestricted.values_at(self._widen(sets))

    def gains_at(self, members: Mask) -> Rows:
        return self.unrestricted.gains_at(self._widen(members))[:, self.items]

    def extension_at(self, x: Array) -> Array:
        return self.unrestricted.extension_at(self._widen(x))

    def gradients_at(self, x: Array) -> Rows:
        return self.unrestricted.gradients_at(self._widen(x))[:, self.items]

    def narrow_sets(self, sets: Mask, seed: int) -> Mask:
        return self.unrestricted.narrow_sets(self._widen(sets), seed)[:, self.items]

    def find_ceilings(self) -> Array:
        """Of all items: these alone may be more than can be evaluated together."""
        return self.unrestricted.find_ceilings()

    def client_blocks(self) -> list[tuple[int, int]]:
        return self.unrestricted.client_blocks()
