"""What every family of private functions offers: a batch of clients, each with a monotone submodular f_i.

F(S) = Σ p_i f_i(S) is the weighted mean over the batch. Plural methods answer client by client; methods
called `mean_…` answer for F and never build one row per client.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from folkmoot.foundation.coding import Coding, code_rows, whole_numbers
from folkmoot.foundation.errors import InputError, NotSubmodular
from folkmoot.foundation.inputs import Names, as_names, as_weights
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import (
    Array,
    Ids,
    ItemSet,
    Mask,
    Rows,
    add_each,
    as_array,
    as_items,
    as_members,
    as_point,
    as_sets,
    freeze,
    weigh,
)
from folkmoot.objectives import sampling

CLIENTS_PER_BLOCK = 1024
TOLERANCE = 1e-9  # of a value: a gain is a difference of two
ClientIds = int | slice | Sequence[int] | Ids | Mask


class Walk(Protocol):
    """A set that grows item by item, and the mean gains of the other items."""

    current: bool  # True: all gains are kept up to date; False: each gain is computed when asked for

    def gains(self, items: Ids | None = None) -> Array:
        """The mean gains of these items, or of all; the gain of a member is 0."""
        ...

    def add(self, item: int) -> None: ...


class Objective(ABC):
    """A batch of clients with their private functions over the same public items."""

    by_construction: bool = False  # whether functions are monotone and submodular whatever they are made from
    closed_form: bool = False  # whether the gradient of the multilinear extension is exact
    largest_set: int | None = None  # larger sets may be too large to evaluate; None: no limit
    most: float | None = None  # publicly known: no set is worth more to a client; None: not known

    n_items: int
    n_clients: int
    item_names: Names
    client_names: Names
    client_weights: Array  # as given, up to a power of two; `weights` are the same, normalised
    weight_scale: float | None = None  # times client_weights: the weights as given; None: not known any more
    kept_items: Ids | None = None  # restricted to some items: their numbers among all (`restricted.restrict`)
    before: "Objective | None" = None  # the same clients before they were restricted

    def _describe(
        self, n_items: int, n_clients: int, weights: ArrayLike | None, item_names: Any, client_names: Any
    ) -> None:
        """Set everything that a batch has besides its functions."""
        self.n_items, self.n_clients = n_items, n_clients
        self._weigh(as_weights(weights, n_clients))
        self.item_names = as_names(item_names, n_items, "item_names")
        self.client_names = as_names(client_names, n_clients, "client_names")

    @property
    def weights(self) -> Array:
        """p: not negative, sums to 1."""
        p: Array = self.client_weights / self.client_weights.sum()
        return p

    def reweight(self, weights: ArrayLike) -> Self:
        """The same clients with other weights; data is not copied."""
        other = self._copy()
        other._weigh(as_weights(weights, self.n_clients))
        return other

    def _weigh(self, given: Array) -> None:
        self.client_weights = balance(given)
        self.weight_scale = float(given.max() / self.client_weights.max())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_clients} clients, {self.n_items} items)"

    def __len__(self) -> int:
        return self.n_clients

    def __iter__(self) -> Iterator[Self]:
        """One batch per client."""
        return (self[client] for client in range(self.n_clients))

    def __getitem__(self, clients: ClientIds) -> Self:
        """A smaller batch: one client, a slice, ids (repeats allowed) or a mask. Clients keep their weights;
        if all of these are 0, they count equally.
        """
        ids = self._client_ids(clients)
        batch = self._copy()
        batch.n_clients = len(ids)
        kept = self.client_weights[ids]
        batch._weigh(kept if kept.any() else np.ones(len(ids)))
        if self.weight_scale is None or not kept.any():
            batch.weight_scale = None
        else:
            batch.weight_scale = self.weight_scale * float(kept.max() / batch.client_weights.max())
        if self.client_names is not None:
            batch.client_names = tuple(self.client_names[i] for i in ids)
        if self.before is not None:
            batch.before = self.before[ids]
        batch._keep(ids)
        return batch

    @property
    def unrestricted(self) -> "Objective":
        """The same clients with all their items."""
        return self if self.before is None else self.before

    def _copy(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _client_ids(self, clients: ClientIds) -> Ids:
        everyone = np.arange(self.n_clients)
        if isinstance(clients, int | np.integer) and not isinstance(clients, bool):
            clients = [int(clients)]
        given = everyone[clients] if isinstance(clients, slice) else as_array(clients, "clients")
        if given.size == 0:
            raise InputError("selects nobody", remedy="choose at least one client", argument="clients")
        if given.dtype == bool and given.shape == (self.n_clients,):
            return self._client_ids(np.flatnonzero(given))
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise InputError(
                f"needs client ids, a slice or a mask over the clients, got {given.dtype} of shape {given.shape}",
                argument="clients",
            )
        outside = (given < 0) | (given >= self.n_clients)
        if outside.any():
            raise InputError(
                f"{given[outside][0]} is not one of the clients 0..{self.n_clients - 1}", argument="clients"
            )
        return given.astype(np.int64)

    # What a family must define.

    @abstractmethod
    def _keep(self, clients: Ids) -> None:
        """Reduce this (new) copy to some clients."""

    @abstractmethod
    def values_at(self, sets: Mask) -> Array:
        """f_i(S): clients × sets."""

    @abstractmethod
    def gains_at(self, members: Mask) -> Rows:
        """f_i(S + e) − f_i(S): clients × items, zero on members."""

    # What it may override with something faster.

    def mean_values_at(self, sets: Mask) -> Array:
        return np.asarray(weigh(self.weights, self.values_at(sets)))

    def mean_gains_at(self, members: Mask, items: Ids) -> Array:
        """Mean gains of some items, by definition: from the values of S + e and of S."""
        values = self.mean_values_at(add_each(members, items))
        gains: Array = values[:-1] - values[-1]
        return gains

    def extension_at(self, x: Array) -> Array:
        """f̂_i(x), in families with a closed form."""
        return sampling.extension(self, x, None, 0)

    def gradients_at(self, x: Array) -> Rows:
        """∂f̂_i/∂x_e, in families with a closed form."""
        return sampling.gradients(self, x, None, 0)

    def gradients_and_values_at(self, x: Array) -> tuple[Rows, Array]:
        """∇f̂_i(x) and f̂_i(x) together, in families with a closed form."""
        return self.gradients_at(x), self.extension_at(x)

    def gradients_at_each(self, points: Rows) -> Rows:
        """∇f̂_i at a point of its own for every client, in families with a closed form."""
        return stack([self[i].gradients_at(points[[i]].toarray()[0]) for i in range(self.n_clients)])

    def sample_gradients_each(self, points: Rows, samples: int, own: PrivateCoins, ids: Ids) -> Rows:
        """The same from sampled sets, drawn separately for each client (`ids` are the clients' numbers)."""
        seeds = own.draw_bits(ids).tolist()
        return stack(
            [sampling.gradients(self[i], points[[i]].toarray()[0], samples, seeds[i]) for i in range(self.n_clients)]
        )

    def add_coded_gradient(
        self, x: Array, slot: Ids, how: Coding, ids: Ids | None, times: Ids | None, into: Ids
    ) -> Array:
        """Add every client's gradient in whole numbers, `times` times, to the slots of the items; returns f̂_i(x).

        Items with a slot below 0 are skipped. `ids` are the clients' numbers, for their coins (0, 1, … unless given).
        """
        rows, values = self.gradients_and_values_at(x)
        names = np.arange(self.n_clients) if ids is None else ids
        numbers = code_rows(rows.indptr, rows.indices, rows.data, how.scalars, names)
        if times is not None:
            numbers *= np.repeat(times, np.diff(rows.indptr))
        at = slot[rows.indices]
        np.add.at(into, at[at >= 0], numbers[at >= 0])
        return values

    def add_coded_values(self, sets: Mask, how: Coding, times: Ids) -> Ids:
        """The sum of every client's f_i(S) in whole numbers, `times` times, for each of a few sets."""
        return times @ whole_numbers(self.values_at(sets), how)

    def refuse_falling(self, members: Mask, items: Ids, gains: Array, values: Array) -> None:
        """Raise `NotSubmodular` where an item takes something from the members, or from the others of them; values:
        what these sets are worth. Families that keep the laws by construction are not looked at.
        """
        falls = gains < -TOLERANCE * np.abs(values).max(axis=1, keepdims=True)
        if falls.any() and not self.by_construction:
            client, at = np.argwhere(falls)[0]
            others = np.flatnonzero(members)
            raise NotSubmodular(
                f"the function of client {client} is not monotone: item {items[at]} added to "
                f"{others[others != items[at]].tolist()} changes it by {gains[client, at]:g}",
                remedy="correct the function; nothing is known of the best set otherwise",
                argument="objective",
            )

    def narrow_sets(self, sets: Mask, seed: int) -> Mask:
        """Sampled sets, made small enough to evaluate; the result does not depend on which clients are in the batch."""
        return sets

    def find_ceilings(self) -> Array:
        """For each client, an upper bound on the value of every set."""
        return self.values_at(np.ones((1, self.n_items), dtype=bool))[:, 0]

    def find_largest_shares(self, of: Array) -> Array:
        """max_e f_i(e)·of_e for each client."""
        singletons = self.gains_at(np.zeros(self.n_items, dtype=bool))
        singletons.data *= of[singletons.indices]
        return np.asarray(singletons.max(axis=1).toarray()).reshape(-1)

    def client_blocks(self) -> list[tuple[int, int]]:
        """All clients in blocks that are small enough to handle one block at a time."""
        return [(lo, min(lo + CLIENTS_PER_BLOCK, self.n_clients)) for lo in range(0, self.n_clients, CLIENTS_PER_BLOCK)]

    def mean_gradient_at(self, x: Array) -> Array:
        return np.asarray(self.gradients_at(x).T @ self.weights)

    def make_walk(self, members: Mask) -> Walk:
        return PlainWalk(self, members)

    # What users call.

    def values(self, sets: ItemSet) -> Array:
        """f_i(S) for each client; with a boolean matrix of sets, clients × sets."""
        masks, alone = as_sets(self.n_items, sets)
        values = self.values_at(masks)
        return values[:, 0] if alone else values

    def gains(self, members: ItemSet) -> Rows:
        """f_i(S + e) − f_i(S) for each client, for the items that add something."""
        rows = self.gains_at(as_members(self.n_items, members))
        rows.sort_indices()
        return rows

    def extension(self, x: ArrayLike, *, samples: int | None = None, seed: int = 0) -> Array:
        """f̂_i(x) = E f_i(R) for each client, where R holds each item e independently with probability x_e.

        Exact if there is a closed form; otherwise, or if `samples` is given, the mean over sampled sets.
        """
        point = as_point(self.n_items, x)
        return self.extension_at(point) if self.is_exact(samples) else sampling.extension(self, point, samples, seed)

    def gradients(self, x: ArrayLike, *, samples: int | None = None, seed: int = 0) -> Rows:
        """∂f̂_i/∂x_e for each client: exact if there is a closed form, otherwise sampled."""
        point = as_point(self.n_items, x)
        rows = self.gradients_at(point) if self.is_exact(samples) else sampling.gradients(self, point, samples, seed)
        rows.sort_indices()
        return rows

    def mean_values(self, sets: ItemSet) -> Any:
        """F(S); with a boolean matrix of sets, one value per set."""
        masks, alone = as_sets(self.n_items, sets)
        values = self.mean_values_at(masks)
        return float(values[0]) if alone else values

    def mean_gains(self, members: ItemSet, items: ArrayLike | None = None) -> Array:
        """F(S + e) − F(S) for the given items, in their order, or for all."""
        mask = as_members(self.n_items, members)
        return self.mean_gains_at(mask, as_items(self.n_items, items))

    def mean_gradient(self, x: ArrayLike, *, samples: int | None = None, seed: int = 0) -> Array:
        """∇F̂(x), dense over the items, without building one row per client."""
        point = as_point(self.n_items, x)
        if self.is_exact(samples):
            return self.mean_gradient_at(point)
        return sampling.mean_gradient(self, point, samples, seed)

    def is_exact(self, samples: int | None) -> bool:
        """Whether extension and gradients are computed in closed form."""
        return samples is None and self.closed_form

    @property
    def ceiling(self) -> float:
        """An upper bound on F of every set: F of all items together, or a bound on that where it costs less."""
        return float(weigh(self.weights, self.find_ceilings()))

    def walk(self, members: ItemSet = ()) -> Walk:
        """A set that starts here and grows item by item: what greedy algorithms need."""
        return self.make_walk(as_members(self.n_items, members).copy())


def balance(weights: Array) -> Array:
    """Weights scaled by a power of two, which changes no digit, so that the largest is near 1 and sums are safe."""
    return freeze(np.ldexp(weights, -int(np.frexp(weights.max())[1])))


def stack(rows: list[Rows]) -> Rows:
    return sparse.csr_array(sparse.vstack(rows, format="csr"))


def as_objective(given: Any, name: str = "objective", within: str | None = None) -> Objective:
    """The same objective, or an error if it is none."""
    if not isinstance(given, Objective):
        raise InputError(
            f"needs an objective such as FacilityLocation, got {type(given).__name__}", argument=name, within=within
        )
    return given


class PlainWalk:
    """A walk for any objective: every gain is computed when it is asked for."""

    current = False

    def __init__(self, objective: Objective, members: Mask) -> None:
        self.objective, self.members = objective, members

    def gains(self, items: Ids | None = None) -> Array:
        return self.objective.mean_gains(self.members, items)

    def add(self, item: int) -> None:
        self.members[item] = True
