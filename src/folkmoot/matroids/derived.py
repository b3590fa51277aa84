"""Matroids made from other matroids, or from a function of the user's."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import Ids, Mask, as_items
from folkmoot.matroids.laminar import Laminar
from folkmoot.matroids.matroid import Blocks, Limits, Matroid, as_matroid
from folkmoot.matroids.simple import CountingMatroid, Free, Partition, Uniform


class Truncation(Matroid):
    """The sets of another matroid with at most k items."""

    def __init__(self, matroid: Matroid, k: int) -> None:
        self.matroid, self.k = as_matroid(matroid), as_count(k, "k")
        self.n_items = matroid.n_items
        if self.k > self.n_items:
            raise InputError(
                f"{k} items cannot be chosen from {self.n_items}",
                remedy=f"give k between 1 and {self.n_items}",
                argument="k",
            )

    @cached_property
    def rank(self) -> int:
        return min(self.k, self.matroid.rank)

    @property
    def by_construction(self) -> bool:
        return self.matroid.by_construction

    @property
    def blocks(self) -> Blocks | None:
        return self.matroid.blocks if self.k >= self.matroid.rank else None

    @cached_property
    def limits(self) -> Limits | None:
        inner = self.matroid.limits
        return None if inner is None else inner.cap(self.k)

    def is_independent(self, members: Mask) -> bool:
        return int(members.sum()) <= self.k and self.matroid.is_independent(members)

    def find_addable(self, members: Mask) -> Mask:
        if int(members.sum()) >= self.k:
            return np.zeros(self.n_items, dtype=bool)
        return self.matroid.find_addable(members)

    def first_base(self, order: Ids) -> Ids:
        """The first k items that greedy takes in the other matroid."""
        place = np.empty(self.n_items, dtype=np.int64)
        place[order] = np.arange(len(order))
        base = self.matroid.first_base(order)
        return np.sort(base[np.argsort(place[base])[: self.k]])

    def parameters(self) -> dict[str, Any]:
        return {"matroid": self.matroid, "k": self.k}

    def __repr__(self) -> str:
        return f"Truncation({self.matroid!r}, {self.k})"


class Restriction(Matroid):
    """The sets of another matroid that hold none but these items, which are renumbered."""

    def __init__(self, matroid: Matroid, items: Ids) -> None:
        self.matroid, self.items = as_matroid(matroid), as_items(matroid.n_items, items)
        self.n_items = len(self.items)

    @property
    def by_construction(self) -> bool:
        return self.matroid.by_construction

    def is_independent(self, members: Mask) -> bool:
        return self.matroid.is_independent(self._widen(members))

    def find_addable(self, members: Mask) -> Mask:
        return self.matroid.find_addable(self._widen(members))[self.items]

    def first_base(self, order: Ids) -> Ids:
        return np.flatnonzero(np.isin(self.items, self.matroid.first_base(self.items[order])))

    def _widen(self, members: Mask) -> Mask:
        out = np.zeros(self.matroid.n_items, dtype=bool)
        out[self.items] = members
        return out

    def parameters(self) -> dict[str, Any]:
        return {"matroid": self.matroid, "items": self.items}

    def __repr__(self) -> str:
        return f"Restriction({self.matroid!r}, {self.n_items} items)"


def restrict(matroid: Matroid, items: Ids) -> Matroid:
    """The sets that hold none but these items, which are renumbered, as simple a matroid as possible."""
    if isinstance(matroid, Free):
        return Free(len(items))
    if isinstance(matroid, Uniform):
        return Uniform(len(items), min(matroid.k, len(items)))
    if isinstance(matroid, CountingMatroid):
        return Partition(matroid.blocks.group[items], matroid.blocks.capacity)
    if isinstance(matroid, Truncation):
        return Truncation(restrict(matroid.matroid, items), min(matroid.k, len(items)))
    if isinstance(matroid, Laminar):
        held = [np.isin(items, part) for part in np.split(matroid.holds.indices, matroid.holds.indptr[1:-1])]
        some = [(mask, int(most)) for mask, most in zip(held, matroid.capacity, strict=False) if mask.any()]
        return Laminar(len(items), some)
    return Restriction(matroid, items)


class Oracle(Matroid):
    """The sets for which the function `independent` (from a frozenset of item ids to a bool) returns true.

    `solve` looks at a few thousand sets for some that break the axioms, and refuses what is no matroid; `is_valid()`
    looks longer. Passing is evidence, not proof.
    """

    def __init__(self, n_items: int, independent: Callable[[frozenset[int]], bool]) -> None:
        self.n_items = as_count(n_items, "n_items")
        if not callable(independent):
            raise InputError(f"{independent!r} cannot be called", argument="independent")
        self.function = independent

    def is_independent(self, members: Mask) -> bool:
        answer = self.function(frozenset(np.flatnonzero(members).tolist()))
        if not isinstance(answer, bool | np.bool_):
            raise InputError(f"returned {answer!r}; it must say True or False for every set", argument="independent")
        return bool(answer)

    def __repr__(self) -> str:
        return f"Oracle({self.n_items} items)"
