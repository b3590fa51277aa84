"""Central methods, which see every client's function. Federated methods are compared with them.

A method is a frozen description; `choose` runs it and returns a `Selection`.
"""

from dataclasses import dataclass
from itertools import chain, combinations, islice
from math import ceil, comb, inf, log
from typing import Literal, Protocol

import numpy as np

import folkmoot.theory.rounding as rounding
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Array, Ids, Mask, add_in_order, indicator
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective, Walk
from folkmoot.theory.certificate import LOOKS, bound_at_point, bound_beyond, bound_from_gains


@dataclass(frozen=True)
class Selection:
    """What a method found: a set, how it got there, and, for some methods, a walk that stands at the set.

    `bound` is an upper bound on what any allowed set is worth, if the method found one on its way.
    """

    members: Mask
    order: tuple[int, ...] | None = None
    gains: tuple[float, ...] | None = None
    fractional: Array | None = None
    walk: Walk | None = None
    bound: float = inf


class Method(Protocol):
    """A way to choose a set, described by its settings."""

    def choose(self, objective: Objective, matroid: Matroid, seed: int) -> Selection: ...


@dataclass(frozen=True)
class Greedy:
    """Take the item with the largest gain until the set is a base. At least 1 − 1/e of the optimum under a
    cardinality constraint, at least 1/2 under any matroid (Nemhauser, Wolsey and Fisher 1978).

    Where the objective does not keep gains up to date, they are evaluated lazily (Minoux 1978): a stale gain is an
    upper bound, so an item is evaluated again only when its bound is the largest. Ties go to the lowest id, to the
    highest, or ("both") as in whichever of these two runs ends with the larger value.
    """

    ties: Literal["lowest", "highest", "both"] = "lowest"

    def choose(self, objective: Objective, matroid: Matroid, seed: int) -> Selection:
        if self.ties not in ("lowest", "highest", "both"):
            raise InputError(f'needs "lowest", "highest" or "both", got {self.ties!r}', argument="ties")
        rules = [False, True] if self.ties == "both" else [self.ties == "highest"]
        runs = [grow(objective.walk(), matroid, highest=highest) for highest in rules]
        return max(runs, key=lambda run: add_in_order(run.gains or ()))


def grow(walk: Walk, matroid: Matroid, *, highest: bool) -> Selection:
    """Greedy from the empty set to a base."""
    bounds = walk.gains()  # upper bounds on each item's gain; exact where fresh
    fresh = np.ones(matroid.n_items, dtype=bool)
    members = np.zeros(matroid.n_items, dtype=bool)
    order: list[int] = []
    gains: list[float] = []
    bound, stride = inf, max(1, matroid.rank // LOOKS)
    while (addable := matroid.find_addable(members)).any():
        if walk.current and len(order) % stride == 0:
            bound = min(bound, bound_from_gains(add_in_order(gains), bounds, matroid))
        # A lazy gain is a difference of two values, so it is only as precise as they are.
        noise = 0.0 if walk.current else add_in_order(gains) * 2.0**-48
        item = _next(walk, bounds, fresh, addable, highest, noise)
        order.append(item)
        gains.append(float(bounds[item]))
        members[item] = True
        walk.add(item)
        if walk.current:
            bounds = walk.gains()
        else:
            fresh[:] = False
    return Selection(members, tuple(order), tuple(gains), walk=walk, bound=bound)


def _next(walk: Walk, bounds: Array, fresh: Mask, addable: Mask, highest: bool, noise: float) -> int:
    """The addable item with the largest gain; stale bounds are evaluated again only where they matter.

    Gains that agree to twelve digits, or differ by no more than `noise`, count as equal: rounding errors decide no tie.
    """
    while True:
        possible = np.where(addable, bounds, -inf)
        largest = possible.max()
        equal = possible >= largest - max(abs(largest) * 2.0**-40, noise)
        item = len(equal) - 1 - int(equal[::-1].argmax()) if highest else int(equal.argmax())
        if fresh[item]:
            return item
        bounds[item] = walk.gains(np.array([item]))[0]
        fresh[item] = True


def order_by_gains(objective: Objective, members: Mask) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The items of a set in the order in which greedy takes them, and what each adds to those before it."""
    walk, left = objective.walk(), np.flatnonzero(members)
    order, gains = list[int](), list[float]()
    while left.size:
        found = walk.gains(left)
        best = int(found.argmax())
        order.append(int(left[best]))
        gains.append(float(found[best]))
        walk.add(order[-1])
        left = np.delete(left, best)
    return tuple(order), tuple(gains)


@dataclass(frozen=True)
class StochasticGreedy:
    """Greedy that looks at a few random items per step: (n/k)·ln(1/ε) of them give 1 − 1/e − ε of the optimum in
    expectation under a cardinality constraint (Mirzasoleiman et al. 2015). Under other matroids it is a heuristic.
    """

    epsilon: float = 0.1

    def choose(self, objective: Objective, matroid: Matroid, seed: int) -> Selection:
        epsilon = as_number(self.epsilon, "epsilon", above=True)
        if epsilon >= 1:
            raise InputError(f"needs a number below 1, got {self.epsilon}", argument="epsilon")
        rng = np.random.default_rng(seed)
        size = ceil(matroid.n_items / matroid.rank * log(1 / epsilon))
        walk, members = objective.walk(), np.zeros(matroid.n_items, dtype=bool)
        order: list[int] = []
        gains: list[float] = []
        while (addable := np.flatnonzero(matroid.find_addable(members))).size:
            looked_at = np.sort(rng.choice(addable, min(size, addable.size), replace=False))
            found = walk.gains(looked_at)
            order.append(int(looked_at[found.argmax()]))
            gains.append(float(found.max()))
            members[order[-1]] = True
            walk.add(order[-1])
        return Selection(members, tuple(order), tuple(gains), walk=walk)


@dataclass(frozen=True)
class ContinuousGreedy:
    """Follow the gradient of the multilinear extension in `steps` steps to a mixture of bases, then round.

    At least 1 − 1/e of the optimum under any matroid, in the limit of many steps (Calinescu et al. 2011). The set is
    the best of the top of x and `roundings` draws of randomised pipage rounding. `samples`: sets per gradient, where
    the objective has no closed form; where it has one, the path of x also yields a tight upper bound.
    """

    steps: int = 50
    samples: int | None = None
    roundings: int = 31

    def choose(self, objective: Objective, matroid: Matroid, seed: int) -> Selection:
        steps = as_count(self.steps, "steps")
        draws = as_count(self.roundings, "roundings", least=0)
        exact = objective.closed_form and self.samples is None
        x = gradient = np.zeros(objective.n_items)
        bound = inf
        for step in range(steps):
            gradient = objective.mean_gradient(x, samples=self.samples, seed=seed + step)
            if exact:
                bound = min(bound, bound_at_point(objective, matroid, x, gradient))
            x = x + indicator(matroid.n_items, matroid.best_base(gradient)) / steps
            x = np.minimum(x, 1.0)  # sums of 1/steps may exceed 1 in the last digit
        if exact:
            bound = min(bound, bound_beyond(objective, matroid, x))
        sets = rounding.top_of_base(matroid, x, fill=gradient)[None, :]
        if draws:
            sets = np.vstack((sets, rounding.pipage(matroid, x, draws=draws, seed=seed, fill=gradient)))
        values = objective.mean_values(sets)
        return Selection(sets[int(values.argmax())], fractional=x, bound=bound)


@dataclass(frozen=True)
class Popularity:
    """The best base by what each item is worth alone. Common practice, but it ignores overlap."""

    def choose(self, objective: Objective, matroid: Matroid, seed: int) -> Selection:
        singletons = objective.mean_gains(())
        return Selection(indicator(matroid.n_items, matroid.best_base(singletons)))


@dataclass(frozen=True)
class RandomSet:
    """The base that greedy builds from a random order (uniform among all sets of size k under `Uniform`)."""

    def choose(self, objective: Objective, matroid: Matroid, seed: int) -> Selection:
        order: Ids = np.random.default_rng(seed).permutation(matroid.n_items)
        return Selection(indicator(matroid.n_items, matroid.first_base(order)))


@dataclass(frozen=True)
class Exhaustive:
    """The optimum, by trying every base. For tiny problems. Where a constraint is not a matroid by construction, sets
    with fewer items, and with one more, are tried as well.
    """

    most: int = 1_000_000

    def choose(self, objective: Objective, matroid: Matroid, seed: int) -> Selection:
        n, k = matroid.n_items, matroid.rank
        sizes = [k] if matroid.by_construction else range(min(k + 1, n) + 1)
        if (count := sum(comb(n, size) for size in sizes)) > as_count(self.most, "most"):
            raise InputError(f"there are {count} sets of {k} out of {n} items, more than {self.most}", argument="most")
        best, found = -np.inf, np.zeros(n, dtype=bool)
        every = chain.from_iterable(combinations(range(n), size) for size in sizes)
        while chunk := list(islice(every, 4096)):
            sets = np.zeros((len(chunk), n), dtype=bool)
            for members, items in zip(sets, chunk, strict=True):
                members[list(items)] = True
            sets = sets[[matroid.is_independent(members) for members in sets]]
            if len(sets):
                values = objective.mean_values(sets)
                if values.max() > best:
                    best, found = float(values.max()), sets[int(values.argmax())]
        return Selection(found, bound=best)
