"""How close to the best possible an answer provably is."""

from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective, Walk
from folkmoot.sets import Array, ItemSet, as_members

LOOKS = 4  # how often the bound is looked at while S is grown


def upper_bound(objective: Objective, matroid: Matroid, members: ItemSet) -> float:
    """No independent set is worth more than F(S) + the largest total gain at S of a base.

    For any independent O, F(O) ≤ F(S ∪ O) ≤ F(S) + Σ_{e∈O} [F(S + e) − F(S)], by monotonicity and
    submodularity; the last sum is linear in O, and a base maximises it. That holds for any S, allowed or
    not, so S is grown greedily past the answer for as long as the bound falls. Nor is any set worth more
    than all items together.
    """
    mask = as_members(objective.n_items, members)
    return min(objective.ceiling, bound_along(objective.walk(mask), objective.mean_values(mask), matroid))


def bound_along(walk: Walk, value: float, matroid: Matroid) -> float:
    """The bound at the walk's set, worth `value`; and further on, if the walk knows its gains for free."""
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
