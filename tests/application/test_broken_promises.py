"""Functions and constraints that visibly are not what bounds and theorems need: refused, or no bound is claimed."""

from collections.abc import Callable

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.report.sections.quality import explain_no_bound

ITEMS = 8
EDGES = np.add(*(2 * [np.random.default_rng(0).random((ITEMS, ITEMS))]))


def cut(chosen: frozenset[int]) -> float:
    return float(sum(EDGES[i, j] for i in chosen for j in range(ITEMS) if j not in chosen))


def square(chosen: frozenset[int]) -> float:
    return len(chosen) ** 2 / 10


@pytest.mark.parametrize("method", [fm.Greedy(), fm.ContinuousGreedy(10)], ids=repr)
@pytest.mark.parametrize("function", [cut, square])
def test_a_value_above_the_bound_means_that_there_is_no_bound(
    function: Callable[[frozenset[int]], float], method: fm.Method
) -> None:
    """Before, the bound was raised to the value, and the ratio was 1.0."""
    result = fm.solve(fm.Functions(function, ITEMS), 3, method)
    assert result.upper_bound == np.inf
    assert result.ratio == 0.0
    assert result.broken is not None
    assert result.broken.startswith(f"the chosen set is worth {result.value:.4g}, and no set could be worth more than")
    assert explain_no_bound(result) == f"no bound holds: {result.broken}"
    assert fm.Result.from_json(result.to_json()) == result


def test_what_a_server_sees_of_functions_that_are_not_submodular() -> None:
    """It sees sums: nothing, unless a set is worth more than its bound."""
    worth = [0.0, 1.0, 1.0, 1.0, 9.0]  # of so many items
    result = fm.solve(fm.Functions(lambda chosen: worth[min(len(chosen), 4)], ITEMS), 4, fm.DiscreteGreedy(0.1))
    assert result.estimate is not None
    assert (result.estimate.bound_high == np.inf) == (result.broken is not None)
    assert result.broken is not None or result.upper_bound >= 9.0
    assert result.guarantee is not None


@pytest.mark.parametrize("method", [fm.Auto(), fm.FedCG(4), fm.DiscreteGreedy(0.1)], ids=repr)
def test_a_function_that_is_seen_to_fall_is_refused(method: fm.Federated) -> None:
    with pytest.raises(fm.NotSubmodular, match=r"the function of client 0 is not monotone: item \d added to \[.*\] ch"):
        fm.solve(fm.Functions(cut, ITEMS), 3, method)


def test_a_function_below_0_is_refused() -> None:
    with pytest.raises(fm.NotSubmodular, match="the function of client 1 is -1 on the empty set"):
        fm.solve(fm.Functions([len, lambda chosen: len(chosen) - 1.0], ITEMS), 3, fm.Auto())


@pytest.mark.parametrize("method", [fm.Greedy(), fm.Exhaustive(), fm.Auto()], ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_a_budget_is_no_matroid(seed: int, method: fm.Method) -> None:
    """Before, `Exhaustive` said of {A} that no allowed set is worth more, where {B, C} is."""
    costs = np.random.default_rng(seed).random(40)
    budget = fm.Oracle(40, lambda chosen: sum(costs[one] for one in chosen) <= 3)
    with pytest.raises(fm.InputError, match=r"Oracle\(40 items\) is no matroid: no item of .* can join the smaller"):
        fm.solve(fm.FacilityLocation(np.eye(40)), budget, method)


def test_an_oracle_that_is_a_matroid_is_used() -> None:
    oracle = fm.Oracle(40, lambda chosen: len(chosen) <= 3)
    assert fm.solve(fm.FacilityLocation(np.eye(40)), oracle, fm.Greedy()).ratio == 1.0
