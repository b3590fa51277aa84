"""Central solvers against exhaustive and naive ones."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from folkmoot import (
    ContinuousGreedy,
    Coverage,
    Exhaustive,
    FacilityLocation,
    Functions,
    Greedy,
    InputError,
    Laminar,
    LogDet,
    Matroid,
    Method,
    Objective,
    Partition,
    Popularity,
    RandomSet,
    StochasticGreedy,
    Uniform,
    solve,
)
from folkmoot.foundation.sets import Array
from tests.matroids.kinds import KINDS, N
from tests.objectives.families import FAMILIES, by_row

METHODS: list[Method] = [
    Greedy(),
    Greedy("highest"),
    Greedy("both"),
    StochasticGreedy(0.2),
    ContinuousGreedy(20),
    Popularity(),
    RandomSet(),
    Exhaustive(),
]


def naive(benefits: Array, weights: Array, matroid: Matroid, highest: bool) -> tuple[list[int], list[Fraction]]:
    """Greedy on f_i(S) = max benefit, in exact arithmetic, looking at every item at every step."""
    table = [[Fraction(int(v)) for v in row] for row in benefits]
    shares = [Fraction(int(w)) for w in weights]
    best = [Fraction(0)] * len(table)
    order: list[int] = []
    gains: list[Fraction] = []
    while (addable := np.flatnonzero(matroid.addable(order))).size:
        gain = {
            int(e): sum(
                (w * max(row[e] - b, Fraction(0)) for w, row, b in zip(shares, table, best, strict=True)), Fraction(0)
            )
            for e in addable
        }
        item = max(gain, key=lambda e: (gain[e], e if highest else -e))
        order.append(item)
        gains.append(gain[item] / sum(shares))
        best = [max(b, row[item]) for b, row in zip(best, table, strict=True)]
    return order, gains


def instance(rng: np.random.Generator) -> tuple[Array, Array, Matroid]:
    """Small whole benefits: many ties, many zeros, sometimes nothing at all."""
    clients, items = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    benefits = rng.integers(0, int(rng.integers(2, 5)), (clients, items)).astype(float)
    benefits *= rng.random((clients, items)) < rng.choice([0.3, 0.7, 1.0])
    weights = rng.integers(0, 3, clients).astype(float) if rng.random() < 0.5 else np.ones(clients)
    weights[0] = max(weights[0], 1.0)
    matroid: Matroid = Uniform(items, int(rng.integers(1, items + 1)))
    if rng.random() < 0.3:
        matroid = Partition(rng.integers(0, 3, items), 1)
    elif rng.random() < 0.2 and items > 2:
        matroid = Laminar(items, [(range(2), 1), (range(items), items - 1)])
    return benefits, weights, matroid


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_greedy_is_naive_greedy(block: int) -> None:
    """Three thousand instances, ties broken alike: the same items in the same order, the same gains."""
    rng = np.random.default_rng(block)
    for trial in range(750):
        benefits, weights, matroid = instance(rng)
        highest = trial % 2 == 1
        order, gains = naive(benefits, weights, matroid, highest)
        method = Greedy("highest" if highest else "lowest")
        kept: Objective = FacilityLocation(benefits, weights=weights, keep_empty=True)
        if trial % 3 == 0 and benefits.max() <= 1:
            kept = Coverage(benefits, weights=weights, keep_empty=True)
        result = solve(kept, matroid, method)
        assert result.order == tuple(order)
        np.testing.assert_allclose(np.array(result.gains), [float(g) for g in gains], atol=1e-12)
        assert result.value == pytest.approx(float(sum(gains)))
        if trial % 10 == 0:  # and lazily, for any callable
            lazy = Functions(by_row(benefits, lambda c: max(c, default=0.0)), benefits.shape[1], weights=weights)
            assert solve(lazy, matroid, method).order == tuple(order)


def test_lazy_looks_less_often() -> None:
    calls = 0

    def count(chosen: frozenset[int]) -> float:
        nonlocal calls
        calls += 1
        return float(np.sqrt(sum(e + 1.0 for e in chosen)))

    found = Greedy().choose(Functions(count, 60), Uniform(60, 10), 0)
    assert np.flatnonzero(found.members).tolist() == list(range(50, 60))
    assert calls < 10 * 60  # naive looks at each of 60 items ten times


@pytest.mark.parametrize("family", list(FAMILIES))
def test_greedy_takes_the_largest_gain_at_every_step(family: str) -> None:
    objective = FAMILIES[family](np.random.default_rng(3)).objective
    result = solve(objective, 4)
    assert result.order is not None
    assert result.gains is not None
    for step, item in enumerate(result.order):
        gains = objective.mean_gains(result.order[:step])
        assert gains[item] == pytest.approx(gains.max(), abs=1e-12)
        assert result.gains[step] == pytest.approx(gains[item], abs=1e-12)
    assert result.value == pytest.approx(objective.mean_values(result.selected))


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_method_finds_a_base_under_every_matroid(method: Method, kind: str) -> None:
    rng = np.random.default_rng(4)
    objective = FacilityLocation(rng.random((30, N)))
    matroid = KINDS[kind].matroid
    result = solve(objective, matroid, method, seed=9)
    optimum = solve(objective, matroid, Exhaustive())
    assert matroid.independent(result.selected)
    assert len(result.selected) == matroid.rank
    assert result.value == pytest.approx(objective.mean_values(result.selected))
    assert result.value <= optimum.value + 1e-12 <= result.upper_bound + 2e-12
    assert optimum.ratio == 1.0
    assert solve(objective, matroid, method, seed=9).selected == result.selected


@pytest.mark.parametrize("family", list(FAMILIES))
def test_the_bound_is_above_the_optimum(family: str) -> None:
    for seed in range(5):
        objective = FAMILIES[family](np.random.default_rng(seed)).objective
        optimum = solve(objective, 3, Exhaustive()).value
        for method in (Greedy(), RandomSet(), ContinuousGreedy(5)):
            result = solve(objective, 3, method, seed=seed)
            assert result.value - 1e-12 <= optimum <= result.upper_bound + 1e-12
            assert 0 <= result.ratio <= 1
        assert solve(objective, 3).value >= (1 - 1 / np.e) * optimum


def test_continuous_greedy_reaches_its_guarantee() -> None:
    """(1 − 1/e) of the optimum for F̂(x), here with room to spare for 50 steps."""
    from folkmoot.theory import multilinear

    for seed in range(5):
        rng = np.random.default_rng(seed)
        objective = FacilityLocation(rng.random((40, N)) ** 3)
        for kind in ("uniform", "partition", "graphic", "transversal"):
            matroid = KINDS[kind].matroid
            result = solve(objective, matroid, ContinuousGreedy(50), seed=seed)
            optimum = solve(objective, matroid, Exhaustive()).value
            assert result.fractional is not None
            assert multilinear.value(objective, result.fractional) >= (1 - 1 / np.e) * optimum
            assert result.fractional.sum() == pytest.approx(matroid.rank)


def test_stochastic_greedy_with_all_items_is_greedy() -> None:
    rng = np.random.default_rng(0)
    objective = FacilityLocation(rng.random((30, 12)))
    assert solve(objective, 4, StochasticGreedy(1e-9)).order == solve(objective, 4).order


def test_random_sets_are_uniform() -> None:
    """Each item with probability 1/2; Hoeffding with a union over the items, failure probability 1e-9."""
    objective = FacilityLocation(np.ones((1, 6)))
    counts = np.zeros(6)
    for seed in range(2000):
        counts[list(solve(objective, 3, RandomSet(), seed=seed).selected)] += 1
    assert np.abs(counts / 2000 - 0.5).max() <= np.sqrt(np.log(2 * 6 / 1e-9) / 4000)


def test_popularity_is_blind_to_overlap() -> None:
    objective = Coverage(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))
    assert solve(objective, 2, Popularity()).selected == (0, 1)
    assert solve(objective, 2).selected == (0, 2)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (Greedy("some"), "ties"),  # type: ignore[arg-type]
        (StochasticGreedy(0), "epsilon"),
        (StochasticGreedy(1.0), "epsilon"),
        (ContinuousGreedy(0), "steps"),
        (ContinuousGreedy(5, samples=0), "samples"),
        (ContinuousGreedy(5, roundings=-1), "roundings"),
        (Exhaustive(most=2), "most"),
    ],
)
def test_wrong_settings_are_named(method: Method, says: str) -> None:
    objective = Functions(lambda s: float(len(s)), 5)
    with pytest.raises(InputError, match=f"^{says}:"):
        solve(objective, 2, method)


def test_continuous_greedy_without_roundings_or_closed_form() -> None:
    objective = Functions(lambda s: float(np.sqrt(len(s))), 5)
    assert len(solve(objective, 2, ContinuousGreedy(4, samples=20, roundings=0)).selected) == 2


def test_one_heavy_client_hides_nobody() -> None:
    """Gains are compared with each other, not with the largest value there ever was."""
    assert solve(FacilityLocation([[1e13, 0, 0], [0, 1, 2]]), 2).order == (0, 2)
    assert solve(FacilityLocation([[1.0, 0, 0], [0, 1, 2]], weights=[1e13, 1]), 2).order == (0, 2)


def test_the_bound_of_additive_functions_is_tight() -> None:
    """Nothing overlaps: what the items are worth alone adds up, and greedy is proved optimal."""
    assert solve(FacilityLocation(np.eye(6) * [6, 5, 4, 3, 2, 1]), 3).ratio == pytest.approx(1.0)
    assert solve(Functions(lambda s: 7.0 + sum(s), 6), 3).ratio == pytest.approx(1.0)


def test_logdet_keeps_its_digits() -> None:
    """Nearly parallel features: the exact values by determinants of fractions."""
    for c in (1.0, 1e6, 3e7, 1e8):
        features = np.ones((5, 3)) * c
        features[:, 0] += np.arange(5)
        table = [[Fraction(float(v)) for v in row] for row in features]

        def exact(chosen: frozenset[int], table: list[list[Fraction]] = table) -> float:
            grid = [[dot(table[i], table[j]) + (i == j) for j in chosen] for i in chosen]
            return float(np.log(float(determinant(grid)))) / 2

        objective = LogDet(features, 1.0)
        best = max(exact(frozenset(c)) for c in combinations(range(5), 3))
        result = solve(objective, 3)
        assert result.value == pytest.approx(exact(frozenset(result.selected)), rel=1e-9)
        assert result.upper_bound >= best * (1 - 1e-9)


def dot(one: list[Fraction], two: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, two, strict=True)), Fraction(0))


def determinant(rows: list[list[Fraction]]) -> Fraction:
    if not rows:
        return Fraction(1)
    total = Fraction(0)
    for k, head in enumerate(rows[0]):
        total += (-1) ** k * head * determinant([row[:k] + row[k + 1 :] for row in rows[1:]])
    return total
