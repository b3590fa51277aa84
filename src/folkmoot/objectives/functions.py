"""Any Python set function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from folkmoot.foundation.errors import InputError, NotSubmodular
from folkmoot.foundation.inputs import as_count, as_list
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, add_each
from folkmoot.objectives.objective import Objective

SetFunction = Callable[[frozenset[int]], float]
ROUNDING = 1e-9  # of a value: a gain is a difference of two


class Functions(Objective):
    """One callable per client, from a frozenset of item ids to a number.

    The callables are trusted to be monotone and submodular; `check_submodular` looks for a counterexample. One that is
    seen to fall, or to be negative on the empty set, is refused.
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
        values = self.values_at(add_each(members, outside))
        out = np.zeros((self.n_clients, self.n_items))
        out[:, outside] = values[:, :-1] - values[:, -1:]
        self._refuse_falling(members, out, ROUNDING * np.abs(values).max(axis=1, keepdims=True, initial=0.0))
        if not members.any() and (values[:, -1] < 0).any():
            client = int(np.flatnonzero(values[:, -1] < 0)[0])
            raise NotSubmodular(
                f"the function of client {client} is {values[client, -1]:g} on the empty set; it must not be negative",
                argument="callables",
            )
        return csr_array(out)

    def _refuse_falling(self, members: Mask, gains: Array, room: Array) -> None:
        falls = gains < -room
        if falls.any():
            client, item = (int(at[0]) for at in np.nonzero(falls))
            raise NotSubmodular(
                f"the function of client {client} is not monotone: item {item} added to "
                f"{np.flatnonzero(members).tolist()} changes it by {gains[client, item]:g}",
                remedy="correct the function; nothing is known of the best set otherwise",
                argument="callables",
            )
