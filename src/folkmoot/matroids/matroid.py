"""What a constraint is: the sets it allows, and everything that follows from that.

A matroid says which sets are independent. Rank, addable items, the best base and the check of the axioms
follow from that one question; each kind overrides them where it has a faster way.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, ItemSet, Mask, as_array, as_members
from folkmoot.matroids.axioms import SMALL, find_broken, find_broken_base

QUICKLY = 15  # random places that are looked at before a constraint is used


@dataclass(frozen=True)
class Validity:
    """Whether the axioms hold; if not, `certificate` names sets that break one. Usable as a bool."""

    holds: bool
    certificate: str
    exhaustive: bool

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True)
class Blocks:
    """A direct sum of uniform matroids: every item is in one group, and a set has at most capacity[g] of group g."""

    group: Ids
    capacity: Ids


@dataclass(frozen=True)
class Limits:
    """Sets of items, any two of which are nested or disjoint, and how many items of each can be chosen.

    Item e is in sets[start[e] : start[e + 1]].
    """

    start: Ids
    sets: Ids
    capacity: Ids

    def around(self, item: int) -> Ids:
        """The sets that an item is in."""
        return self.sets[self.start[item] : self.start[item + 1]]

    def members(self, one: int) -> Ids:
        """The items of a set."""
        return np.searchsorted(self.start, np.flatnonzero(self.sets == one), side="right") - 1

    def cap(self, most: int) -> "Limits":
        """These, and at most so many items in all."""
        sets = np.insert(self.sets, self.start[1:], len(self.capacity))
        return Limits(self.start + np.arange(len(self.start)), sets, np.append(self.capacity, most))


class Matroid(Registered, ABC):
    """A family of independent sets over the items 0..n−1."""

    n_items: int

    @abstractmethod
    def is_independent(self, members: Mask) -> bool:
        """Whether the set is allowed: the one question that every kind must answer."""

    def find_addable(self, members: Mask) -> Mask:
        """Items e outside an independent S with S + e independent."""
        grown, addable = members.copy(), np.zeros(self.n_items, dtype=bool)
        for item in np.flatnonzero(~members):
            grown[item] = True
            addable[item] = self.is_independent(grown)
            grown[item] = False
        return addable

    def first_base(self, order: Ids) -> Ids:
        """The base that greedy builds when it meets the items in this order; of these alone, if it has not all."""
        members = np.zeros(self.n_items, dtype=bool)
        for item in order:
            members[item] = True
            members[item] = self.is_independent(members)
        return np.flatnonzero(members)

    @cached_property
    def rank(self) -> int:
        """The size of every base."""
        return len(self.first_base(np.arange(self.n_items)))

    @property
    def allows_all(self) -> bool:
        """Whether the only base is everything: then there is nothing to choose."""
        return self.rank == self.n_items

    @property
    def blocks(self) -> Blocks | None:
        """This matroid as groups with capacities, if it is of that kind; None otherwise."""
        return None

    @cached_property
    def limits(self) -> Limits | None:
        """This matroid as sets with capacities, if it is of that kind; None otherwise."""
        blocks = self.blocks
        return None if blocks is None else Limits(np.arange(self.n_items + 1), blocks.group, blocks.capacity)

    @property
    def by_construction(self) -> bool:
        """Whether the axioms hold whatever it is made from. Other constraints are looked at before they are used."""
        return False

    @property
    def is_cardinality(self) -> bool:
        """Whether the size of a set alone decides if it is allowed, as far as is known."""
        return self.blocks is not None and len(self.blocks.capacity) == 1

    @property
    def may_block(self) -> bool:
        """Whether an item that is taken may leave no room for one item and yet room for another."""
        return not self.is_cardinality and not self.allows_all and self.rank > 1

    def refuse_broken(self) -> None:
        """Raise `InputError` if a quick look finds sets that break the axioms."""
        if self.by_construction:
            return
        if broken := find_broken(self, QUICKLY):
            raise InputError(
                f"{self!r} is no matroid: {broken}",
                remedy="bounds and theorems hold for matroids alone; budgets and lower limits are none",
                argument="matroid",
            )

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this matroid again, as numbers, lists and arrays: how it is sent and stored."""
        raise InputError(
            f"{self!r} cannot be stored", remedy="use one of the built-in matroids for this", argument="matroid"
        )

    def independent(self, members: ItemSet) -> bool:
        """Whether the set is allowed."""
        return self.is_independent(as_members(self.n_items, members))

    def addable(self, members: ItemSet) -> Mask:
        """The items that can be added to an allowed set."""
        mask = as_members(self.n_items, members)
        if not self.is_independent(mask):
            raise InputError(f"{np.flatnonzero(mask).tolist()} is not an independent set", argument="members")
        return self.find_addable(mask)

    def best_base(self, weights: ArrayLike) -> Ids:
        """The base of the largest total weight, as sorted ids; of equal weights, lower ids are preferred."""
        return self.first_base(np.argsort(-self.check_weights(weights), kind="stable"))

    def check_weights(self, weights: ArrayLike) -> Array:
        given = as_array(weights, "weights")
        if given.dtype.kind not in "biuf" or given.shape != (self.n_items,):
            raise InputError(f"needs one number per item ({self.n_items}), got shape {given.shape}", argument="weights")
        if not np.isfinite(given).all():
            item = int(np.flatnonzero(~np.isfinite(given))[0])
            raise InputError(f"item {item} has {given[item]}; weights must be finite", argument="weights")
        return given.astype(np.float64, copy=False)

    def is_valid(self, *, trials: int = 2000, seed: int = 0) -> Validity:
        """Check the axioms: on all sets if there are few items, otherwise on random ones.

        The empty set is independent; subsets of independent sets are independent; and a smaller independent set
        can always take an item from a larger one. `certificate` names the sets that break one of these.
        """
        broken = find_broken(self, as_count(trials, "trials"), seed) or find_broken_base(self, seed)
        if self.n_items <= SMALL:
            return Validity(not broken, broken or f"all {2**self.n_items} sets keep the axioms", True)
        return Validity(not broken, broken or f"sets in {trials} random places keep the axioms", False)


def as_matroid(given: Any, kinds: str = "a matroid such as Uniform(n, k)") -> Matroid:
    if not isinstance(given, Matroid):
        raise InputError(f"needs {kinds}, got {given!r}", argument="matroid")
    return given
