"""Laminar matroids: limits on groups that are nested or disjoint."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_list
from folkmoot.foundation.sets import Ids, ItemSet, Mask, as_members
from folkmoot.matroids.matroid import Limits, Matroid


class Laminar(Matroid):
    """At most `capacity` items of each of several sets, any two of which are nested or disjoint.

    For example at most two clinics per city and five per region. Items in no set are not limited.
    """

    by_construction = True

    def __init__(self, n_items: int, limits: Sequence[tuple[ItemSet | Iterable[int], int]]) -> None:
        self.n_items = as_count(n_items, "n_items")
        pairs = [as_list(limit, "limits", f"set {at}") for at, limit in enumerate(as_list(limits, "limits"))]
        for at, pair in enumerate(pairs):
            if len(pair) != 2:
                raise InputError(
                    f"set {at} has {len(pair)} parts", remedy="give its items and its capacity", argument="limits"
                )
        sets = [as_members(self.n_items, items, "limits", f"set {at}") for at, (items, _) in enumerate(pairs)]
        capacities = [as_count(c, "limits", least=0, within=f"capacity of set {at}") for at, (_, c) in enumerate(pairs)]
        order = sorted(range(len(sets)), key=lambda at: int(sets[at].sum()))  # inner sets before outer ones
        inner = np.full(self.n_items, -1)  # the outermost set so far around each item
        for at in order:
            for other in np.unique(inner[sets[at]]):
                if other >= 0 and (sets[other] & ~sets[at]).any():
                    raise InputError(
                        f"sets {other} and {at} overlap, but neither contains the other", argument="limits"
                    )
            inner[sets[at]] = at
        self.capacity = np.array([capacities[at] for at in order], dtype=np.int64)
        inside = [np.flatnonzero(sets[at]) for at in order]
        starts = np.cumsum([0, *map(len, inside)])
        ones = np.ones(starts[-1], dtype=np.int64)
        held = np.concatenate([np.empty(0, dtype=np.int64), *inside])
        self.holds = csr_array((ones, held, starts), shape=(len(sets), self.n_items))

    @cached_property
    def limits(self) -> Limits:
        around = self.holds.T.tocsr()  # the sets around each item
        return Limits(around.indptr.astype(np.int64), around.indices.astype(np.int64), self.capacity)

    def is_independent(self, members: Mask) -> bool:
        return bool((self.holds @ members <= self.capacity).all())

    def find_addable(self, members: Mask) -> Mask:
        full = self.holds @ members >= self.capacity
        return np.asarray(self.holds.T @ full == 0) & ~members

    def first_base(self, order: Ids) -> Ids:
        """Inner sets first: each set keeps the earliest of the items that its inner sets kept."""
        place = np.empty(self.n_items, dtype=np.int64)
        place[order] = np.arange(len(order))
        kept = np.zeros(self.n_items, dtype=bool)
        kept[order] = True
        for at, capacity in enumerate(self.capacity):
            left = self.holds.indices[self.holds.indptr[at] : self.holds.indptr[at + 1]]
            left = left[kept[left]]
            if len(left) > capacity:
                kept[left[np.argsort(place[left])[capacity:]]] = False
        return np.flatnonzero(kept)

    def parameters(self) -> dict[str, Any]:
        sets = np.split(self.holds.indices, self.holds.indptr[1:-1])
        return {"n_items": self.n_items, "limits": [[s, int(c)] for s, c in zip(sets, self.capacity, strict=False)]}

    def __repr__(self) -> str:
        return f"Laminar({self.n_items} items, {len(self.capacity)} limits, rank {self.rank})"
