"""Transversal matroids: sets of items that can be matched to different sets."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from folkmoot.foundation.inputs import as_count, as_list
from folkmoot.foundation.sets import Ids, Mask, as_members
from folkmoot.matroids.matroid import Matroid


class Transversal(Matroid):
    """A set of items is allowed if its items can be matched to different sets of `sets`, each holding its item.

    For example one expert per duty, where `sets` lists for each duty who can take it.
    """

    by_construction = True

    def __init__(self, n_items: int, sets: Sequence[Iterable[int]]) -> None:
        self.n_items = as_count(n_items, "n_items")
        given = as_list(sets, "sets")
        self.n_sets = len(given)
        members = [np.flatnonzero(as_members(self.n_items, s, "sets", f"set {at}")) for at, s in enumerate(given)]
        self.sets_of: list[list[int]] = [[] for _ in range(self.n_items)]
        for at, items in enumerate(members):
            for item in items:
                self.sets_of[item].append(at)

    def _match(self, order: Ids) -> tuple[Ids, list[int]]:
        """Match as many items as possible in this order: the matched items, and the item of each set.

        Sets that a failed search reached can never become free again, so later searches skip them.
        """
        item_of, closed = [-1] * self.n_sets, [False] * self.n_sets
        matched = []
        for item in order.tolist():
            came_from: dict[int, int] = {}  # set -> the item that asked for it
            asking, free = [item], -1
            while asking and free < 0:
                asker = asking.pop()
                for s in self.sets_of[asker]:
                    if s in came_from or closed[s]:
                        continue
                    came_from[s] = asker
                    if item_of[s] < 0:
                        free = s
                        break
                    asking.append(item_of[s])
            if free < 0:
                for s in came_from:
                    closed[s] = True
                continue
            matched.append(item)
            while True:  # shift the matching along the path
                asker = came_from[free]
                held = next((s for s in self.sets_of[asker] if item_of[s] == asker), -1)
                item_of[free] = asker
                if asker == item:
                    break
                free = held
        return np.array(sorted(matched), dtype=np.int64), item_of

    def is_independent(self, members: Mask) -> bool:
        items = np.flatnonzero(members)
        return len(items) <= self.n_sets and len(self._match(items)[0]) == len(items)

    def find_addable(self, members: Mask) -> Mask:
        """Items with an alternating path from one of their sets to a free set; searched from the free sets."""
        item_of = self._match(np.flatnonzero(members))[1]
        leads = [held < 0 for held in item_of]
        grew = True
        while grew:  # a set leads to a free one if the item matched to it also fits another set that does
            grew = False
            for s, held in enumerate(item_of):
                if not leads[s] and any(leads[other] for other in self.sets_of[held]):
                    leads[s] = grew = True
        can = [any(leads[s] for s in sets) for sets in self.sets_of]
        return np.array(can, dtype=bool) & ~members

    def first_base(self, order: Ids) -> Ids:
        return self._match(order)[0]

    def parameters(self) -> dict[str, Any]:
        sets: list[list[int]] = [[] for _ in range(self.n_sets)]
        for item, of in enumerate(self.sets_of):
            for s in of:
                sets[s].append(item)
        return {"n_items": self.n_items, "sets": sets}

    def __repr__(self) -> str:
        return f"Transversal({self.n_items} items, {self.n_sets} sets, rank {self.rank})"
