"""What a constraint is: the sets it allows, and everything that follows from that.

A matroid says which sets are independent. Rank, addable items, the best base and the check of the axioms
follow from that one question; each kind overrides them where it has a faster way.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, ItemSet, Mask, as_array, as_members, indicator

SMALL = 10  # up to this many items the axioms are checked on all sets


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

    def refuse_broken(self) -> None:
        """Raise `InputError` if a quick look finds sets that break the axioms."""

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
        if not self.is_independent(np.zeros(self.n_items, dtype=bool)):
            return Validity(False, "the empty set is not independent", True)
        if self.n_items <= SMALL:
            sizes = range(self.n_items + 1)
            sets = [indicator(self.n_items, list(c)) for k in sizes for c in combinations(range(self.n_items), k)]
            allowed = [members for members in sets if self.is_independent(members)]
            pairs = ((small, large) for small in allowed for large in allowed)
            broken = (
                self._find_broken_subset(allowed) or self._find_broken_exchange(pairs) or self._find_broken_base(seed)
            )
            return Validity(not broken, broken or f"all {len(sets)} sets keep the axioms", True)
        rng = np.random.default_rng(seed)
        for _ in range(as_count(trials, "trials")):
            small, large = self._draw_independent(rng), self._draw_independent(rng)
            broken = self._find_broken_subset([large]) or self._find_broken_exchange([(small, large), (large, small)])
            if broken:
                return Validity(False, broken, False)
        if broken := self._find_broken_base(seed):
            return Validity(False, broken, False)
        return Validity(True, f"{trials} random pairs of sets keep the axioms", False)

    def _draw_independent(self, rng: np.random.Generator) -> Mask:
        """A random set if it is independent; otherwise what greedy keeps of it."""
        drawn = rng.permutation(self.n_items)[: rng.integers(1, self.n_items + 1)]
        members = indicator(self.n_items, drawn)
        if self.is_independent(members):
            return members
        members[:] = False
        for item in drawn:
            members[item] = True
            members[item] = self.is_independent(members)
        return members

    def _find_broken_base(self, seed: int) -> str:
        """A sentence if the faster methods disagree with `is_independent`, else an empty one."""
        rng = np.random.default_rng(seed)
        for _ in range(20):
            order = rng.permutation(self.n_items)
            base, some = indicator(self.n_items, self.first_base(order)), order[: self.n_items // 2]
            if not self.is_independent(base):
                return f"best_base finds {_show(base)}, which is not independent"
            if base.sum() != self.rank or self.find_addable(base).any():
                return f"best_base finds {_show(base)}, which is not a base"
            if sorted(self.first_base(some).tolist()) != np.sort(some[base[some]]).tolist():
                return f"first_base chooses otherwise when it meets only {_show(indicator(self.n_items, some))}"
        return ""

    def _find_broken_subset(self, allowed: list[Mask]) -> str:
        for members in allowed:
            for item in np.flatnonzero(members):
                fewer = members.copy()
                fewer[item] = False
                if not self.is_independent(fewer):
                    return f"{_show(members)} is independent, its subset {_show(fewer)} is not"
        return ""

    def _find_broken_exchange(self, pairs: Iterable[tuple[Mask, Mask]]) -> str:
        for small, large in pairs:
            if small.sum() < large.sum():
                for item in np.flatnonzero(large & ~small):
                    grown = small.copy()
                    grown[item] = True
                    if self.is_independent(grown):
                        break
                else:
                    return f"no item of {_show(large)} can join the smaller {_show(small)}"
        return ""


def as_matroid(given: Any, kinds: str = "a matroid such as Uniform(n, k)") -> Matroid:
    if not isinstance(given, Matroid):
        raise InputError(f"needs {kinds}, got {given!r}", argument="matroid")
    return given


def _show(members: Mask) -> str:
    return "{" + ", ".join(str(item) for item in np.flatnonzero(members)) + "}"
