"""Upper bounds on the optimum: how close to the best possible an answer provably is."""

from math import inf

import numpy as np

from folkmoot.foundation.sets import Array, ItemSet, as_members, indicator, weigh
from folkmoot.matroids.matroid import Matroid, as_matroid
from folkmoot.objectives.objective import Objective, Walk, as_objective

LOOKS = 4  # how often the bound is computed while S grows


def upper_bound(objective: Objective, matroid: Matroid, members: ItemSet) -> float:
    """No independent set is worth more than F(S) + the largest total gain at S of a base.

    For any independent O, F(O) ≤ F(S ∪ O) ≤ F(S) + Σ_{e∈O} [F(S + e) − F(S)], by monotonicity and
    submodularity; the last sum is linear in O, and a base maximises it. That holds for any S, allowed or
    not, so S grows greedily past the answer for as long as the bound falls. The value of all items together
    is a bound as well.
    """
    as_matroid(matroid)
    mask = as_members(as_objective(objective).n_items, members)
    return min(objective.ceiling, bound_along(objective.walk(mask), objective.mean_values(mask), matroid))


def bound_from_nothing(objective: Objective, matroid: Matroid) -> float:
    """The bound at the empty set: F(∅) plus the best base of what each item is worth alone."""
    return bound_from_gains(objective.mean_values(()), objective.mean_gains(()), matroid)


def bound_along(walk: Walk, value: float, matroid: Matroid) -> float:
    """The bound at the walk's set, worth `value`; and at larger sets, if the walk keeps its gains up to date."""
    gains = walk.gains()
    bound = bound_from_gains(value, gains, matroid)
    stride = max(1, matroid.rank // LOOKS)
    for _ in range(LOOKS if walk.current else 0):
        for _ in range(stride):
            item = int(gains.argmax())
            value += float(gains[item])
            walk.add(item)
            gains = walk.gains()
        further = bound_from_gains(value, gains, matroid)
        if further >= bound:
            break
        bound = further
    return bound


def bound_from_gains(value: float, gains: Array, matroid: Matroid) -> float:
    """The bound from a value and all gains at the same set."""
    return value + float(gains[matroid.best_base(gains)].sum())


def bound_at_point(objective: Objective, matroid: Matroid, x: Array, gradient: Array) -> float:
    """No independent set is worth more than F̂(x) + the largest Σ_{e∈base} (1 − x_e)·∂F̂/∂x_e.

    For any independent O, F(O) ≤ F̂(x ∨ 1_O) by monotonicity, and F̂ is concave on the way up from x to
    x ∨ 1_O, which moves each e in O by 1 − x_e. At an integral x this is the bound above; in between it is
    often much tighter. The gradient must be exact.
    """
    value = float(weigh(objective.weights, objective.extension(x)))
    return bound_from_gains(value, (1.0 - x) * gradient, matroid)


def bound_beyond(objective: Objective, matroid: Matroid, x: Array, *, step: float = 0.1, most: int = 20) -> float:
    """The bound at x, and at larger points for as long as it falls: x need not lie in the polytope."""
    bound = inf
    for _ in range(most):
        gradient = objective.mean_gradient(x)
        further = bound_at_point(objective, matroid, x, gradient)
        if further >= bound:
            break
        bound = further
        base = matroid.best_base((1.0 - x) * gradient)
        x = np.minimum(x + step * indicator(matroid.n_items, base), 1.0)
    return bound
