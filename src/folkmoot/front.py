"""The front door: an objective, a constraint and a method in; a result out."""

from time import perf_counter
from typing import Any

import numpy as np

from folkmoot.algorithms.central import Greedy, Method
from folkmoot.certificate import bound_along, bound_from_nothing
from folkmoot.errors import InputError
from folkmoot.inputs import as_count
from folkmoot.matroids.matroid import Matroid, as_matroid
from folkmoot.matroids.simple import Uniform
from folkmoot.objectives.objective import Objective, as_objective
from folkmoot.result import Result

ROUNDING = 1e-12


def solve(
    objective: Objective, matroid: Matroid | int | np.integer[Any], method: Method | None = None, *, seed: int = 0
) -> Result:
    """Choose a set that the matroid allows and that is worth much to everyone together.

    `matroid` may be a number k, for at most k items. The method is `Greedy()` unless given. The same seed
    gives the same result, on any number of threads.
    """
    as_objective(objective)
    if isinstance(matroid, int | np.integer):
        matroid = Uniform(objective.n_items, matroid)
    as_matroid(matroid, kinds="a matroid or a whole number of items")
    if matroid.n_items != objective.n_items:
        raise InputError(
            f"matroid: is over {matroid.n_items} items, the objective is over {objective.n_items}; "
            "they must be the same items (check the length of groups, edges or columns)"
        )
    chosen_method = Greedy() if method is None else method
    if isinstance(chosen_method, type) or not hasattr(chosen_method, "choose"):
        raise InputError(
            f"method: needs a method with its brackets, such as Greedy() or ContinuousGreedy(50), got {method!r}"
        )
    seed = as_count(seed, "seed", least=0)
    start = perf_counter()
    if matroid.rank == 0:
        raise InputError("matroid: allows nothing but the empty set; there is nothing to choose")
    choice = chosen_method.choose(objective, matroid, seed)
    exact = choice.gains is not None and choice.walk is not None and choice.walk.current
    value = sum(choice.gains or ()) if exact else float(objective.mean_values(choice.members))
    bound = choice.bound
    if bound <= value * (1 + ROUNDING):
        bound = value  # the same sum in another order may end a last digit apart
    else:
        if not exact:  # a walk that knows its gains has looked on its way
            bound = min(bound, bound_from_nothing(objective, matroid))
        walk = choice.walk or objective.walk(choice.members)
        bound = min(bound, objective.ceiling, bound_along(walk, value, matroid))
    selected = tuple(np.flatnonzero(choice.members).tolist())
    return Result(
        method=repr(chosen_method),
        n_items=objective.n_items,
        selected=selected,
        value=value,
        upper_bound=max(bound, value),
        seconds=perf_counter() - start,
        seed=seed,
        order=choice.order,
        gains=choice.gains,
        fractional=choice.fractional,
        names=tuple(objective.item_names[item] for item in selected) if objective.item_names else None,
    )
