"""Any Python set function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_list
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, add_each, weigh
from folkmoot.objectives.objective import Objective

SetFunction = Callable[[frozenset[int]], float]


class Functions(Objective):
    """One callable per client, from a frozenset of item ids to a number.

    They must be monotone, submodular and not negative. One that is seen to fall is refused, wherever that is; `solve`
    also looks at what each item adds to nothing, to the answer and to all other items. `check_submodular` looks longer.
    """

    def __init__(
        self,
        callables: SetFunction | Sequence[SetFunction],
        n_items: int,
        *,
        weights: ArrayLike | None = None,
        item_names: Any = None,
        client_names: Any = None,
    ) -> None:
        self.callables = (callables,) if callable(callables) else tuple(as_list(callables, "callables"))
        if not self.callables:
            raise InputError("there are no clients (no function was given)", argument="callables")
        for client, function in enumerate(self.callables):
            if not callable(function):
                raise InputError(f"client {client} has {function!r}, which cannot be called", argument="callables")
        self._describe(as_count(n_items, "n_items"), len(self.callables), weights, item_names, client_names)

    def _keep(self, clients: Ids) -> None:
        self.callables = tuple(self.callables[client] for client in clients)

    def values_at(self, sets: Mask) -> Array:
        asked = [frozenset(np.flatnonzero(members).tolist()) for members in sets]
        return np.array([[self._value(client, items) for items in asked] for client in range(self.n_clients)])

    def _value(self, client: int, items: frozenset[int]) -> float:
        answer = self.callables[client](items)
        try:
            value = float(answer)
        except (TypeError, ValueError, OverflowError):
            value = np.nan
        if not np.isfinite(value):
            raise InputError(
                f"client {client} returned {answer!r} for the set {sorted(items)}; "
                "a set function must return a finite number for every set",
                argument="callables",
            )
        return value

    def gains_at(self, members: Mask) -> Rows:
        outside = np.flatnonzero(~members)
        values = self._look_around(members, outside)
        out = np.zeros((self.n_clients, self.n_items))
        out[:, outside] = values[:, :-1] - values[:, -1:]
        return csr_array(out)

    def mean_gains_at(self, members: Mask, items: Ids) -> Array:
        values = np.asarray(weigh(self.weights, self._look_around(members, items)))
        gains: Array = values[:-1] - values[-1]
        return gains

    def _look_around(self, members: Mask, items: Ids) -> Array:
        """What the members are worth with each of the items, and by themselves; refused where that is less."""
        values = self.values_at(add_each(members, items))
        self.refuse_falling(members, items, values[:, :-1] - values[:, -1:], values)
        return values
