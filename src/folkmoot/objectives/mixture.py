"""A weighted sum of objectives over the same clients and items."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_list, as_weights
from folkmoot.foundation.sets import Array, Ids, Mask, Rows
from folkmoot.objectives.objective import Objective, Walk, as_objective


class Mixture(Objective):
    """f_i(S) = Σ_m a_m f_i^m(S), a_m ≥ 0: monotone and submodular if its parts are.

    `coefficients` are the a_m; they are not normalised. Weights and names come from the first part unless given.
    """

    def __init__(
        self,
        parts: Sequence[Objective],
        coefficients: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        item_names: Any = None,
        client_names: Any = None,
    ) -> None:
        self.parts = tuple(as_list(parts, "parts"))
        if not self.parts:
            raise InputError("needs at least one objective, got none", argument="parts")
        first = self.parts[0]
        for position, part in enumerate(self.parts):
            as_objective(part, "parts", f"part {position}")
            if (part.n_clients, part.n_items) != (first.n_clients, first.n_items):
                raise InputError(
                    f"part {position} has {part.n_clients} clients and {part.n_items} items, "
                    f"part 0 has {first.n_clients} and {first.n_items}",
                    argument="parts",
                )
        self.coefficients = as_weights(coefficients, len(self.parts), "coefficients", of="part")
        self._describe(
            first.n_items,
            first.n_clients,
            first.client_weights if weights is None else weights,
            first.item_names if item_names is None else item_names,
            first.client_names if client_names is None else client_names,
        )
        self.parts = tuple(part.reweight(self.client_weights) for part in self.parts)
        self.by_construction = all(part.by_construction for part in self.parts)
        self.closed_form = all(part.closed_form for part in self.parts)
        limits = [part.largest_set for part in self.parts if part.largest_set is not None]
        self.largest_set = min(limits, default=None)

    def reweight(self, weights: ArrayLike) -> "Mixture":
        other = super().reweight(weights)
        other.parts = tuple(part.reweight(weights) for part in self.parts)
        return other

    def _keep(self, clients: Ids) -> None:
        self.parts = tuple(part[clients] for part in self.parts)

    def values_at(self, sets: Mask) -> Array:
        return cast(Array, sum(a * part.values_at(sets) for a, part in self._terms()))

    def gains_at(self, members: Mask) -> Rows:
        return cast(Rows, sum(a * part.gains_at(members) for a, part in self._terms()))

    def mean_values_at(self, sets: Mask) -> Array:
        return cast(Array, sum(a * part.mean_values_at(sets) for a, part in self._terms()))

    def mean_gains_at(self, members: Mask, items: Ids) -> Array:
        return cast(Array, sum(a * part.mean_gains_at(members, items) for a, part in self._terms()))

    def extension_at(self, x: Array) -> Array:
        return cast(Array, sum(a * part.extension_at(x) for a, part in self._terms()))

    def gradients_at(self, x: Array) -> Rows:
        return cast(Rows, sum(a * part.gradients_at(x) for a, part in self._terms()))

    def mean_gradient_at(self, x: Array) -> Array:
        return cast(Array, sum(a * part.mean_gradient_at(x) for a, part in self._terms()))

    def narrow_sets(self, sets: Mask, seed: int) -> Mask:
        for part in self.parts:
            sets = part.narrow_sets(sets, seed)
        return sets

    def find_ceilings(self) -> Array:
        return cast(Array, sum(a * part.find_ceilings() for a, part in self._terms()))

    def make_walk(self, members: Mask) -> "MixedWalk":
        return MixedWalk(self.coefficients, [part.make_walk(members.copy()) for part in self.parts])

    def _terms(self) -> list[tuple[np.float64, Objective]]:
        return list(zip(self.coefficients, self.parts, strict=True))


class MixedWalk:
    """The walks of the parts, side by side."""

    def __init__(self, coefficients: Array, walks: list[Walk]) -> None:
        self.coefficients, self.walks = coefficients, walks
        self.current = all(walk.current for walk in walks)

    def gains(self, items: Ids | None = None) -> Array:
        return cast(Array, sum(a * walk.gains(items) for a, walk in zip(self.coefficients, self.walks, strict=True)))

    def add(self, item: int) -> None:
        for walk in self.walks:
            walk.add(item)
