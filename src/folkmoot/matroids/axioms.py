"""Looking for sets that break the axioms of a matroid: everywhere if there are few items, otherwise in random places.

A sentence names the sets that were found; an empty one means that none were.
"""

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from folkmoot.foundation.sets import Ids, Mask, indicator

if TYPE_CHECKING:
    from folkmoot.matroids.matroid import Matroid

SMALL = 10  # up to this many items the axioms are checked on all sets
FEW = 6  # items, in every second random set
BESIDE, PAIRED = 40, 12  # items that are looked at beside an independent set, and pair by pair
REUSED = 5  # places around one base
DRAWN = 3  # pairs of random sets at every place
CIRCUITS, COMMON = 12, 2  # smallest dependent sets at a place, and items in two of them


def find_broken(matroid: "Matroid", places: int, seed: int = 0) -> str:
    """A sentence about sets that break an axiom, or an empty one: about all sets, or from so many random places."""
    if matroid.n_items <= SMALL:
        return find_broken_anywhere(matroid)
    return find_broken_at_random(matroid, places, seed)


def find_broken_anywhere(matroid: "Matroid") -> str:
    """A sentence about sets that break an axiom, or an empty one: from the ranks of all sets, numbered by bits."""
    n = matroid.n_items
    numbers, bits = np.arange(2**n), 2 ** np.arange(n)
    sets = numbers[:, None] & bits > 0
    allowed = np.array([matroid.is_independent(members) for members in sets])
    if not allowed[0]:
        return "the empty set is not independent"
    for item, bit in enumerate(bits):
        with_it = numbers[sets[:, item]]
        if (missing := with_it[allowed[with_it] & ~allowed[with_it - bit]]).size:
            return f"{show(sets[missing[0]])} is independent, its subset {show(sets[missing[0] - bit])} is not"
    best = np.where(allowed, numbers, 0)  # for every set, its largest independent subset
    sizes = sets.sum(axis=1)
    for item, bit in enumerate(bits):  # over subsets without one more item at a time
        with_it = numbers[sets[:, item]]
        other = best[with_it - bit]
        best[with_it] = np.where(sizes[other] > sizes[best[with_it]], other, best[with_it])
    rank = sizes[best]
    for one, two in combinations(range(n), 2):
        below = numbers[~sets[:, one] & ~sets[:, two]]
        both = below + bits[one] + bits[two]
        # An item adds to a rank no more than it adds to the rank of a smaller set: that is a matroid.
        wrong = rank[below + bits[one]] + rank[below + bits[two]] < rank[both] + rank[below]
        if wrong.any():
            at = int(wrong.argmax())
            return tell_exchange(sets[best[below[at]]], sets[best[both[at]]])
    return ""


def find_broken_at_random(matroid: "Matroid", places: int, seed: int) -> str:
    """The same for many items. Every place is an independent set, nearly a base or little of one, and some items
    beside it; families that break an axiom only for some sets break it in places like these.
    """
    rng, n = np.random.default_rng(seed), matroid.n_items
    nothing = np.zeros(n, dtype=bool)
    if not matroid.is_independent(nothing):
        return "the empty set is not independent"
    base = nothing
    for place in range(places):
        if place % REUSED == 0:
            base = grow(matroid, nothing, rng.permutation(n))
        size = int(base.sum())
        left_out = (size, 2, size - 1, 3, size // 2)[place % REUSED]
        fixed = indicator(n, rng.permutation(np.flatnonzero(base))[: max(size - left_out, 0)])
        beside = rng.permutation(np.flatnonzero(~fixed))[: BESIDE if place % 3 == 0 else BESIDE // 2]
        first = grow(matroid, fixed, beside)
        second = grow(matroid, fixed, np.concatenate((beside[~first[beside]], beside[first[beside]])))
        broken = find_broken_exchange(matroid, first, second) or find_broken_chain(matroid, first, rng)
        for most in (n, max(size, FEW)) * DRAWN:
            drawn = indicator(n, rng.permutation(n)[: rng.integers(1, most + 1)])
            broken = broken or (find_broken_chain(matroid, drawn, rng) if matroid.is_independent(drawn) else "")
        if fixed.sum() <= BESIDE:
            broken = broken or find_broken_circuits(matroid, fixed, beside, rng)
        broken = broken or find_broken_pairs(matroid, fixed, beside[: PAIRED if place else BESIDE])
        if broken:
            return broken
    return ""


def grow(matroid: "Matroid", members: Mask, order: Ids) -> Mask:
    """An independent set and the items, in this order, that can join it."""
    members = members.copy()
    for item in order:
        members[item] = True
        members[item] = matroid.is_independent(members)
    return members


def find_broken_base(matroid: "Matroid", seed: int) -> str:
    """A sentence if the faster methods disagree with `is_independent`, else an empty one."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        order = rng.permutation(matroid.n_items)
        base, some = indicator(matroid.n_items, matroid.first_base(order)), order[: matroid.n_items // 2]
        if not matroid.is_independent(base):
            return f"best_base finds {show(base)}, which is not independent"
        if base.sum() != matroid.rank or matroid.find_addable(base).any():
            return f"best_base finds {show(base)}, which is not a base"
        if sorted(matroid.first_base(some).tolist()) != np.sort(some[base[some]]).tolist():
            return f"first_base chooses otherwise when it meets only {show(indicator(matroid.n_items, some))}"
    return ""


def find_broken_chain(matroid: "Matroid", members: Mask, rng: np.random.Generator) -> str:
    """Whether an independent set stays so while its items are taken out, in a random order."""
    for item in rng.permutation(np.flatnonzero(members))[:BESIDE]:
        fewer = members.copy()
        fewer[item] = False
        if not matroid.is_independent(fewer):
            return f"{show(members)} is independent, its subset {show(fewer)} is not"
        members = fewer
    return ""


def find_broken_exchange(matroid: "Matroid", one: Mask, other: Mask) -> str:
    small, large = sorted((one, other), key=np.count_nonzero)
    if small.sum() == large.sum() or can_join(matroid, small, np.flatnonzero(large & ~small)):
        return ""
    return tell_exchange(small, large)


def can_join(matroid: "Matroid", members: Mask, items: Iterable[int]) -> bool:
    return any(matroid.is_independent(members | indicator(matroid.n_items, [item])) for item in items)


def find_broken_circuits(matroid: "Matroid", members: Mask, order: Ids, rng: np.random.Generator) -> str:
    """Whether two smallest dependent sets have an item in common without which both together are independent."""
    circuits, members = list[Mask](), members.copy()
    for item in order:
        members[item] = True
        if matroid.is_independent(members):
            continue
        circuit = members.copy()
        for other in rng.permutation(np.flatnonzero(circuit)):
            circuit[other] = False
            circuit[other] = matroid.is_independent(circuit)
        circuits.append(circuit)
        members[item] = False
        if len(circuits) == CIRCUITS:
            break
    for one, two in combinations(circuits, 2):
        for item in np.flatnonzero(one & two)[: COMMON * (one != two).any()]:
            large = one | two
            large[item] = False
            if matroid.is_independent(large):
                small = grow(matroid, one & two, np.flatnonzero(one ^ two))
                if broken := find_broken_exchange(matroid, small, large):
                    return broken
    return ""


def find_broken_pairs(matroid: "Matroid", members: Mask, items: Ids) -> str:
    """Next to an independent set: whether a excludes b and c, which do not exclude each other."""
    free = [item for item in items if can_join(matroid, members, [item])]
    exclude = np.zeros((len(free), len(free)), dtype=bool)
    for one, two in combinations(range(len(free)), 2):
        both = members.copy()
        both[[free[one], free[two]]] = True
        exclude[one, two] = exclude[two, one] = not matroid.is_independent(both)
    for at, others in enumerate(exclude):
        beside = np.flatnonzero(others)
        apart = np.argwhere(~exclude[np.ix_(beside, beside)] & ~np.eye(len(beside), dtype=bool))
        if len(apart):
            pair = [free[beside[place]] for place in apart[0]]
            return tell_exchange(
                members | indicator(matroid.n_items, [free[at]]), members | indicator(matroid.n_items, pair)
            )
    return ""


def tell_exchange(small: Mask, large: Mask) -> str:
    return f"no item of {show(large)} can join the smaller {show(small)}"


def show(members: Mask) -> str:
    return "{" + ", ".join(str(item) for item in np.flatnonzero(members)) + "}"
