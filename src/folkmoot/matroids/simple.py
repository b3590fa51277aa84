"""Matroids that only count: free, uniform, partition."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_list
from folkmoot.foundation.sets import Ids, Mask
from folkmoot.matroids.matroid import Blocks, Matroid


class CountingMatroid(Matroid):
    """At most a given number of items of each group: every answer comes from counting."""

    by_construction = True
    _blocks: Blocks

    @property
    def blocks(self) -> Blocks:
        return self._blocks

    @cached_property
    def rank(self) -> int:
        sizes = np.bincount(self._blocks.group, minlength=len(self._blocks.capacity))
        return int(np.minimum(sizes, self._blocks.capacity).sum())

    def _counts(self, members: Mask) -> Ids:
        return np.bincount(self._blocks.group[members], minlength=len(self._blocks.capacity))

    def is_independent(self, members: Mask) -> bool:
        return bool((self._counts(members) <= self._blocks.capacity).all())

    def find_addable(self, members: Mask) -> Mask:
        room = self._counts(members) < self._blocks.capacity
        return room[self._blocks.group] & ~members

    def first_base(self, order: Ids) -> Ids:
        group = self._blocks.group[order]
        by_group = np.argsort(group, kind="stable")  # keeps the order within a group
        group = group[by_group]
        place = np.arange(len(order)) - np.searchsorted(group, group)
        return np.sort(order[by_group[place < self._blocks.capacity[group]]])


class Free(CountingMatroid):
    """Every set is allowed."""

    def __init__(self, n_items: int) -> None:
        self.n_items = as_count(n_items, "n_items")
        self._blocks = Blocks(np.zeros(self.n_items, dtype=np.int64), np.array([self.n_items]))

    def parameters(self) -> dict[str, Any]:
        return {"n_items": self.n_items}

    def __repr__(self) -> str:
        return f"Free({self.n_items})"


class Uniform(CountingMatroid):
    """At most k items."""

    def __init__(self, n_items: int, k: int | np.integer[Any]) -> None:
        self.n_items = as_count(n_items, "n_items")
        self.k = as_count(k, "k")
        if self.k > self.n_items:
            raise InputError(
                f"{k} items cannot be chosen from {n_items}", remedy=f"give k between 1 and {n_items}", argument="k"
            )
        self._blocks = Blocks(np.zeros(self.n_items, dtype=np.int64), np.array([self.k]))

    def find_addable(self, members: Mask) -> Mask:
        return ~members if np.count_nonzero(members) < self.k else np.zeros(self.n_items, dtype=bool)

    def first_base(self, order: Ids) -> Ids:
        return np.sort(order[: self.k])

    def best_base(self, weights: ArrayLike) -> Ids:
        given = self.check_weights(weights)
        if self.k == self.n_items:
            return np.arange(self.n_items)
        least = np.partition(given, self.n_items - self.k)[self.n_items - self.k]  # the k-th largest
        above, equal = np.flatnonzero(given > least), np.flatnonzero(given == least)
        return np.sort(np.concatenate((above, equal[: self.k - len(above)])))

    def parameters(self) -> dict[str, Any]:
        return {"n_items": self.n_items, "k": self.k}

    def __repr__(self) -> str:
        return f"Uniform({self.n_items}, {self.k})"


class Partition(CountingMatroid):
    """At most `capacities` items of each group.

    `groups`: the group of each item (numbers or names). `capacities`: one number for all groups, a mapping
    from group to number, or a list for groups numbered 0, 1, ….
    """

    def __init__(
        self, groups: Sequence[Hashable] | Ids, capacities: int | Mapping[Any, int] | Sequence[int] | Ids
    ) -> None:
        if isinstance(groups, Mapping | str):
            raise InputError(
                f"needs a list with the group of each item, got a {type(groups).__name__}", argument="groups"
            )
        labels = groups.tolist() if isinstance(groups, np.ndarray) else as_list(groups, "groups")
        if not labels:
            raise InputError("there are no items", remedy="give the group of each item", argument="groups")
        for item, label in enumerate(labels):
            if not isinstance(label, Hashable) or label != label:
                raise InputError(f"item {item} has {label!r}, which cannot name a group", argument="groups")
        self.n_items = len(labels)
        if isinstance(capacities, Mapping):
            names, numbers = list(capacities), list(capacities.values())
        elif isinstance(capacities, Sequence | np.ndarray) and not isinstance(capacities, str):
            names, numbers = list(range(len(capacities))), list(capacities)
        else:
            names = list(dict.fromkeys(labels))
            numbers = [as_count(capacities, "capacities", least=0)] * len(names)
        index = {name: position for position, name in enumerate(names)}
        for item, label in enumerate(labels):
            if label not in index:
                raise InputError(f"group {label!r} (of item {item}) has none", argument="capacities")
        capacity = [
            as_count(number, "capacities", least=0, within=f"group {name!r}")
            for name, number in zip(names, numbers, strict=True)
        ]
        self.names = tuple(names)
        self._blocks = Blocks(np.array([index[label] for label in labels]), np.array(capacity, dtype=np.int64))

    def parameters(self) -> dict[str, Any]:
        return {"groups": self._blocks.group, "capacities": self._blocks.capacity}

    def __repr__(self) -> str:
        return f"Partition({self.n_items} items, {len(self._blocks.capacity)} groups, rank {self.rank})"
