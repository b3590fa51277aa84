"""Federated methods: the paper line by line, and one result on every path."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from folkmoot import (
    AdaptiveSequencing,
    Auto,
    DiscreteGreedy,
    Exhaustive,
    FacilityLocation,
    FedCG,
    FedCGPlus,
    FederatedFrankWolfe,
    Matroid,
    Objective,
    Partition,
    RandGreeDi,
    Result,
    Simulation,
    solve,
)
from folkmoot.algorithms.federated.fedcg import take_mean, walk
from folkmoot.algorithms.federated.method import Federated
from folkmoot.algorithms.federated.search import SearchProblem
from folkmoot.conversation.engine import Control
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, indicator
from folkmoot.questions import LocalBase, Ranges
from tests.coins import toss_for
from tests.conversation.around import Around
from tests.matroids.kinds import KINDS
from tests.objectives.families import FAMILIES

METHODS: list[Federated] = [
    Auto(cohort=8, jury=30),
    Auto(cohort=8, jury=30, by_scale=True),
    Auto(cohort=8, jury=10, juries=3, polish=0),
    Auto(cohort=8, jury=10, juries=3),
    Auto(juries=2),
    Auto(cohort=8, rounds=2),
    Auto(cohort=8, rounds=1),
    Auto(),
    FedCG(4, cohort=8),
    FedCG(4),
    FedCG(4, cohort=8, jury=10, juries=3),
    FedCG(4, cohort=8, answer="gradient"),
    FedCG(4, cohort=8, answer="votes"),
    FedCG(4, cohort=8, answer="base"),
    FedCGPlus(6, 3, cohort=8),
    FedCGPlus(4, 2, cohort=8, samples=5),
    DiscreteGreedy(expected_answers=10),
    DiscreteGreedy(expected_answers=10, importance="uniform"),
    DiscreteGreedy(expected_answers=10, importance="shortlist"),
    DiscreteGreedy(expected_answers=10, importance="paper", sample="fixed"),
    DiscreteGreedy(epsilon=0.5, batch=2),
    AdaptiveSequencing(2, cohort=8),
    AdaptiveSequencing(2, cohort=8, jury=10, juries=3, polish=0),
    AdaptiveSequencing(),
    AdaptiveSequencing(2, cohort=8, shortlist=6),
    FederatedFrankWolfe(4, cohort=8),
    RandGreeDi(3),
    FedCG(4, cohort=8, shortlist=6),
]


def ratings(seed: int, clients: int = 60, items: int = 12, **options: Any) -> FacilityLocation:
    rng = np.random.default_rng(seed)
    stars = rng.integers(1, 6, (clients, items)) * (rng.random((clients, items)) < 0.3)
    stars[:, 0] = np.maximum(stars[:, 0], 1)
    return FacilityLocation(stars, **options)


def talk_of(objective: Objective, matroid: Matroid) -> Talk:
    return Talk(Population.of(objective), matroid, 7)


# Algorithm 1, line by line.


def best_base(matroid: Matroid, gradient: Array) -> Array:
    """Line 6 by brute force; there are no ties in the instance."""
    sets = (indicator(len(gradient), list(c)) for c in combinations(range(len(gradient)), matroid.rank))
    return max((s for s in sets if matroid.independent(s)), key=lambda s: float(gradient[s].sum())).astype(float)


@pytest.mark.parametrize("cohort", [None, 3], ids=["full participation", "K draws"])
def test_fedcg_is_algorithm_1_line_by_line(cohort: int | None) -> None:
    """No engine: the test is the clients and the aggregator."""
    rng = np.random.default_rng(3)
    benefits = rng.random((5, 6)) + 0.01
    clients = FacilityLocation(benefits)
    matroid = Partition([0, 0, 0, 1, 1, 1], 1)
    T = 4
    x = np.zeros(6)  # line 2
    problem = SearchProblem(talk_of(clients, matroid), Ranges(2.0, 2.0, 8.0), None, np.zeros(6))

    def question(at: Array, coins: PublicCoins) -> LocalBase:
        return LocalBase(x=at, whole=2.0, coins=coins, matroid=matroid, single=2.0)

    run = walk(problem, question, cohort, T, take_mean)
    ask = next(run)
    for t in range(T):  # line 3
        np.testing.assert_allclose(ask.query.parameters()["x"], x, rtol=1e-12)  # line 4: x goes to the cohort
        ids = np.arange(5) if ask.cohort.ids is None else ask.cohort.ids
        assert len(ids) == (cohort or 5)
        v = [best_base(matroid, clients[int(i)].gradients(x).toarray()[0]) for i in ids]  # lines 5 and 6
        total = np.zeros(ask.query.length, dtype=np.int64)
        total[:6] = np.sum(v, axis=0)  # lines 7 and 9
        answered = clients[ids] if cohort else clients
        assert (
            ask.query.total(answered, ids, np.ones(len(ids), dtype=np.int64), toss_for(ask.query))[:6] == total[:6]
        ).all()
        x = x + np.mean(v, axis=0) / T  # line 10
        answer = Sum(total, len(ids), len(ids), len(ids))
        if t < T - 1:
            ask = run.send(answer)
    with pytest.raises(StopIteration) as end:
        run.send(answer)
    np.testing.assert_allclose(end.value.value.x, x, rtol=1e-12)


def test_fedcg_plus_makes_t_over_tau_rounds() -> None:
    result = solve(ratings(0), 3, FedCGPlus(12, 4, cohort=10))
    assert [one.label for one in result.rounds or ()].count("step 3") == 1
    assert not any(one.label == "step 4" for one in result.rounds or ())
    assert result.fractional is not None
    assert result.fractional.max() <= 1


# Every method, on every path.


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_the_same_on_every_path(method: Federated) -> None:
    objective = ratings(1, weights=np.random.default_rng(0).integers(1, 4, 60))
    matroid = Partition([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], 1)
    heard: list[list[tuple[int, ...]]] = []

    def run(**options: Any) -> Result:
        engine = Simulation(objective, **options)
        sums: list[tuple[int, ...]] = []
        heard.append(sums)

        class Listening(Around):
            def add_up(self, ask: Ask, control: Control) -> Sum:
                answer = super().add_up(ask, control)
                sums.append(tuple(answer.total.tolist()))
                return answer

        return solve(None, matroid, method, engine=Listening(engine), seed=5)

    ideal, plain = run(), run(secure="plain")
    one, two = run(threads=1), run(threads=2)
    assert ideal == plain == one == two
    assert heard[0] == heard[1] == heard[2] == heard[3]
    assert matroid.independent(ideal.selected)
    assert len(ideal.selected) == matroid.rank
    assert Result.from_json(ideal.to_json()) == ideal
    assert solve(objective, matroid, method, seed=5).selected == ideal.selected


@pytest.mark.parametrize("kind", [k for k in KINDS if "oracle" not in k.lower()])
def test_every_matroid(kind: str) -> None:
    matroid = KINDS[kind].matroid
    assert matroid.rank > 0
    objective = ratings(2, items=matroid.n_items)
    for method in (FedCG(3, cohort=10, polish=1), FedCGPlus(4, 2, cohort=10), DiscreteGreedy(expected_answers=20)):
        result = solve(objective, matroid, method)
        assert matroid.independent(result.selected)
        assert len(result.selected) == matroid.rank


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_family(family: str) -> None:
    objective = FAMILIES[family](np.random.default_rng(7)).objective
    best = solve(objective, 2, Exhaustive()).value
    for method in (FedCG(3), FedCG(3, answer="base"), FedCGPlus(2, 2), DiscreteGreedy(epsilon=0.5)):
        result = solve(objective, 2, method)
        assert result.estimate is not None
        assert result.value <= best * (1 + 1e-9)
        assert result.estimate.bound >= best * (1 - 1e-6), "no set may be worth more than the bound"
        assert result.estimate.value == pytest.approx(result.value, rel=1e-3)
