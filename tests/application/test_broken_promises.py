"""Functions and constraints that visibly are not what bounds and theorems need: refused, or no bound is claimed."""

from collections.abc import Callable
from re import search
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.objectives.objective import Objective
from folkmoot.questions import Gains
from folkmoot.questions.hidden import Direction
from folkmoot.report.sections.quality import explain_no_bound
from tests.algorithms.test_federated import METHODS
from tests.engines.pools import CLIENTS, SIZES, ask_all, make_engine, make_parties, reasons

ITEMS = 8
EDGES = np.add(*(2 * [np.random.default_rng(0).random((ITEMS, ITEMS))]))
SetFunction = Callable[[frozenset[int]], float]


def cut(chosen: frozenset[int]) -> float:
    return float(sum(EDGES[i, j] for i in chosen for j in range(ITEMS) if j not in chosen))


def square(chosen: frozenset[int]) -> float:
    return len(chosen) ** 2 / 10


def both_needed(chosen: frozenset[int]) -> float:
    """Two items are worth something together: greedy takes neither, and what it sees by the way is modular."""
    return 0.1 * len(chosen) + ({6, 7} <= chosen)


def below(chosen: frozenset[int]) -> float:
    return len(chosen) - 1.0


def bump(chosen: frozenset[int]) -> float:
    """Worth more than its items, but gains fall from nothing to three items and to all."""
    return [0.0, 1.0, 1.0, 5.0][min(len(chosen), 3)]


def above_nothing(chosen: frozenset[int]) -> float:
    """Monotone and submodular, and worth something with nothing chosen."""
    return 3.0 + len({one % 3 for one in chosen})


CENTRAL: list[fm.Method] = [fm.Greedy(), fm.Exhaustive(), fm.ContinuousGreedy(10), fm.StochasticGreedy()]
FEDERATED = [fm.Auto(), fm.FedCG(4), fm.DiscreteGreedy(0.1), fm.AdaptiveSequencing(2), fm.Auto(cohort=2)]
REFUSED: dict[SetFunction, str] = {
    cut: "is not monotone: ",
    square: "is not submodular: to .*, more than to nothing, item",
    both_needed: "is not submodular: to all others, more than to nothing, item 6 adds 1.1",
    below: "is negative on the empty set",
}


@pytest.mark.parametrize("method", [*CENTRAL, *FEDERATED], ids=repr)
@pytest.mark.parametrize("function", REFUSED)
def test_what_a_simulation_sees_to_be_wrong_is_refused(function: SetFunction, method: fm.Method | fm.Federated) -> None:
    """One of four clients breaks a law. Before, a ratio of 1.0 was claimed."""
    with pytest.raises(fm.NotSubmodular, match=f"the function of client 1 {REFUSED[function]}"):
        fm.solve(fm.Functions([above_nothing, function, above_nothing, above_nothing], ITEMS), 3, method)


@pytest.mark.parametrize("make", [lambda part: fm.Mixture([part, part]), lambda part: fm.welfare(part)[0]])
def test_what_is_made_of_a_function_is_looked_at(make: Callable[[Objective], Objective]) -> None:
    with pytest.raises(fm.NotSubmodular, match="the function of client"):
        fm.solve(make(fm.Functions([both_needed, below], ITEMS)), 3)


def test_real_secure_aggregation_refuses_what_a_simulation_does() -> None:
    functions = fm.Functions([above_nothing] * 11 + [cut], ITEMS)
    with pytest.raises(fm.NotSubmodular, match="the function of client 11 is not monotone"):
        fm.solve(functions, 3, fm.FedCG(2), engine=fm.Simulation(functions, secure="real"))


@pytest.mark.parametrize("function", REFUSED)
def test_a_party_whose_own_function_breaks_answers_nothing(function: SetFunction) -> None:
    """Why is in its log alone; the server learns that it does not take part. Under noise, not even that."""
    functions = fm.Functions([above_nothing] * 9 + [function] + [above_nothing] * (CLIENTS - 10), ITEMS)
    functions.most = 5.0
    parties = make_parties(functions)
    at: dict[str, Any] = {"members": np.zeros(ITEMS, dtype=bool), "items": np.arange(ITEMS), "most": 5.0}
    assert make_engine(parties)(ask_all(Gains(**at))).clients == CLIENTS - SIZES[0]
    assert len(reasons(parties)) == 1
    assert search(f"the function of client 9 {REFUSED[function]}", reasons(parties).pop())
    hidden = Direction(**at, mu=0.5, sd=1 << 16, honest=2)
    parties = make_parties(functions)
    assert make_engine(parties)(ask_all(hidden)).clients == CLIENTS
    assert not reasons(parties)


def test_rounding_breaks_no_law() -> None:
    functions = [lambda chosen: np.log1p(len(chosen)) - 1e-17] * 2
    assert len(fm.solve(fm.Functions(functions, 4), 2).selected) == 2


def test_clients_are_looked_at_in_parts_and_keep_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.objectives.objective.CLIENTS_PER_BLOCK", 4)
    functions = fm.Functions([above_nothing] * 9 + [cut] + [above_nothing] * 2, ITEMS)
    with pytest.raises(fm.NotSubmodular, match="the function of client 9 is not monotone"):
        fm.solve(functions, 3)


@pytest.mark.parametrize("method", [fm.Greedy(), fm.ContinuousGreedy(10)], ids=repr)
def test_a_value_above_the_bound_means_that_there_is_no_bound(method: fm.Method) -> None:
    """Before, the bound was raised to the value, and the ratio was 1.0."""
    result = fm.solve(fm.Functions(bump, ITEMS), 3, method)
    assert (result.value, result.upper_bound, result.ratio) == (5.0, np.inf, 0.0)
    assert result.broken is not None
    assert result.broken.startswith("the chosen set is worth 5, and no set could be worth more than 3")
    assert explain_no_bound(result) == f"no bound holds: {result.broken}"
    assert fm.Result.from_json(result.to_json()) == result


def test_a_server_that_sees_a_value_above_a_bound_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where clients are elsewhere, sums are all it has; here, all looks at the bound say that 2 is the most."""
    monkeypatch.setattr("folkmoot.algorithms.federated.appraisal.bound_highest", lambda *_: 2.0)
    result = fm.solve(fm.FacilityLocation(np.diag(np.arange(1.0, 9))), 7, fm.Auto())
    assert result.estimate is not None
    assert (result.upper_bound, result.estimate.bound_high, result.ratio) == (np.inf, np.inf, 0.0)
    assert result.broken is not None
    assert result.guarantee is not None
    assert result.guarantee.vacuous
    assert "does not cover" in result.guarantee.theorem


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_bounds_and_theorems_hold_where_nothing_is_worth_something(method: fm.Federated) -> None:
    """No certificate needs f(∅) = 0."""
    result = fm.solve(fm.Functions([above_nothing] * 12, ITEMS), 2, method)
    assert result.broken is None
    assert result.upper_bound >= 5.0 - 1e-9
    assert result.guarantee is None or result.guarantee.factor * 5.0 - result.guarantee.additive <= result.value + 1e-9


@pytest.mark.parametrize("method", CENTRAL, ids=repr)
def test_central_bounds_hold_where_nothing_is_worth_something(method: fm.Method) -> None:
    result = fm.solve(fm.Functions([above_nothing, len], ITEMS), 2, method)
    assert result.value == 3.5
    assert result.upper_bound >= 3.5


def test_what_falls_only_between_sets_is_refused_where_gradients_are_sampled() -> None:
    """Two items lose by being together, and others gain; at nothing, at the answer and at all, gains look right."""
    clash = fm.Functions(lambda chosen: 2.0 * len(chosen) - 5.0 * ({0, 1} <= chosen < set(range(ITEMS))), ITEMS)
    with pytest.raises(fm.NotSubmodular):
        clash.gradients(np.full(ITEMS, 0.5), samples=64, seed=0)
    with pytest.raises(fm.NotSubmodular, match=r"item 0 added to \[1\] changes it by -3"):
        clash.gradients(np.array([1.0, 1.0, *[0.0] * (ITEMS - 2)]))


def test_what_cannot_be_noticed() -> None:
    """Five items are worth much together, eight no more, and greedy takes three others: a bound is claimed, and false.
    `check_submodular` looks at more sets; docs/mathematics.md says what `solve` looks at.
    """

    def hidden(chosen: frozenset[int]) -> float:
        return min(0.2 * len(chosen & {0, 1, 2}) + 0.1 * len(chosen) + 9.0 * (len(chosen - {0, 1, 2}) >= 3), 9.0)

    result = fm.solve(fm.Functions(hidden, ITEMS), 3, fm.Greedy())
    assert (result.selected, result.ratio) == ((0, 1, 2), 1.0)
    assert hidden(frozenset({3, 4, 5})) > result.upper_bound
    with pytest.raises(fm.NotSubmodular):
        fm.check_submodular(fm.Functions(hidden, ITEMS))


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
