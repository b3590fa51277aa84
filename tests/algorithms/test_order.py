"""The answer is in the order of worth: its first items are worth about what the first items of greedy are."""

from itertools import accumulate

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.algorithms.central import Method
from folkmoot.algorithms.federated.appraisal import fit_falling, sort_by_gains
from folkmoot.algorithms.federated.method import Federated
from folkmoot.foundation.sets import Array

EVERYONE: list[Federated] = [
    fm.Auto(),
    fm.Auto(rounds=3),
    fm.Auto(rounds=3, juries=2),
    fm.FedCG(4),
    fm.FedCG(4, polish=0),
    fm.AdaptiveSequencing(2),
    fm.DiscreteGreedy(epsilon=0.3),
    fm.RandGreeDi(3),
]
CENTRAL: list[Method] = [fm.Greedy(), fm.ContinuousGreedy(5), fm.StochasticGreedy(), fm.Popularity(), fm.RandomSet()]


def make_niches(clients: int = 1_500, seed: int = 0) -> fm.FacilityLocation:
    """Items of 12 kinds, each of which a share of the clients wants, more of some kinds; items of a kind overlap."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(12, clients, p=np.arange(1, 13) / 78)
    close = rng.random((clients, 48)) ** 2 * (0.9 * (np.arange(48) % 12 == kind[:, None]) + 0.1)
    return fm.FacilityLocation(close * (rng.random((clients, 48)) < 0.5), keep_empty=True, most=1.0)


def find_values(objective: fm.Objective, order: tuple[int, ...]) -> Array:
    """Of the first item, the first two, and so on."""
    members = np.zeros((len(order), objective.n_items), dtype=bool)
    for at, item in enumerate(order):
        members[at:, item] = True
    values: Array = objective.mean_values(members)
    return values


def find_greedy_values(objective: fm.Objective, items: tuple[int, ...]) -> Array:
    """The same of the order in which greedy takes these items."""
    order, left = list[int](), list(items)
    while left:
        worth = [float(objective.mean_values([*order, item])) for item in left]
        order.append(left.pop(int(np.argmax(worth))))
    return find_values(objective, tuple(order))


def get_parts(result: fm.Result) -> tuple[tuple[int, ...], tuple[float, ...]]:
    assert result.order is not None
    assert result.gains is not None
    assert sorted(result.order) == list(result.selected)
    assert list(result.gains) == sorted(result.gains, reverse=True)
    return result.order, result.gains


@pytest.mark.parametrize("per_kind", [None, 1], ids=["free", "one per kind"])
@pytest.mark.parametrize("method", EVERYONE, ids=repr)
def test_everyone_gives_the_order_of_greedy(method: Federated, per_kind: int | None) -> None:
    objective = make_niches()
    matroid = fm.Uniform(48, 9) if per_kind is None else fm.Partition([at % 12 for at in range(48)], per_kind)
    result = fm.solve(objective, matroid, method, engine=fm.Simulation(objective), seed=1)
    order, gains = get_parts(result)
    assert result.estimate is not None
    assert sum(gains) == pytest.approx(result.estimate.value, rel=1e-9)
    greedy = find_greedy_values(objective, result.selected)
    if len(order) <= 11:
        np.testing.assert_allclose(find_values(objective, order), greedy, atol=1e-5)
        np.testing.assert_allclose(list(accumulate(gains)), greedy, atol=1e-4)
    assert (find_values(objective, order) >= 0.98 * greedy).all()
    assert (find_values(objective, order) >= np.array(list(accumulate(gains))) - 1e-4).all()


@pytest.mark.parametrize("method", CENTRAL, ids=repr)
def test_central_methods_too(method: Method) -> None:
    objective = make_niches(300)
    result = fm.solve(objective, 12, method, seed=1)
    order, gains = get_parts(result)
    np.testing.assert_allclose(find_values(objective, order), find_greedy_values(objective, result.selected), rtol=1e-9)
    assert sum(gains) == pytest.approx(result.value, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "method",
    [fm.FedCG(8, cohort=50), fm.Auto(cohort=50), fm.Auto(cohort=50, juries=2), fm.AdaptiveSequencing(2, cohort=50)],
    ids=repr,
)
def test_a_sample_orders_nearly_as_greedy(method: Federated, seed: int) -> None:
    """2,000 of 6,000 judge: the first three used to be worth as little as half of what they could be."""
    objective = make_niches(6_000, seed)
    result = fm.solve(objective, 10, method, engine=fm.Simulation(objective), seed=seed)
    order, gains = get_parts(result)
    assert result.estimate is not None
    assert not result.estimate.everyone
    assert sum(gains) == pytest.approx(result.estimate.value, rel=1e-9)
    assert (find_values(objective, order) >= 0.9 * find_greedy_values(objective, result.selected)).all()


@pytest.mark.parametrize("seed", range(3))
def test_noisy_sums_order_too(seed: int) -> None:
    objective = make_niches(6_000, seed)
    result = fm.solve(objective, 10, fm.PrivateGreedy(epsilon=8.0), engine=fm.Simulation(objective), seed=seed)
    assert sorted(result.order or ()) == list(result.selected)
    assert result.gains is None
    assert (find_values(objective, result.chosen) >= 0.85 * find_greedy_values(objective, result.selected)).all()


def test_a_small_jury_leaves_the_order_where_it_says_little() -> None:
    """Gains that differ by no more than noise does: they are drawn towards each other, and their sum stays."""
    order, gains = np.arange(4), np.array([0.30, 0.20, 0.205, 0.1])
    _, sure = sort_by_gains(order, gains, 0.0)
    np.testing.assert_allclose(sure, [0.30, 0.205, 0.20, 0.1])
    _, unsure = sort_by_gains(order, gains, 0.01)
    np.testing.assert_allclose(unsure, [0.30, 0.2025, 0.2025, 0.1], atol=1e-4)
    late = np.array([0.1, 0.1, 0.1, 0.4])
    assert sort_by_gains(order, late, 1e-4)[0].tolist() == [3, 0, 1, 2]


def test_the_nearest_falling_sequence() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        numbers = rng.normal(size=8)
        fit = fit_falling(numbers)
        assert (np.diff(fit) <= 1e-12).all()
        assert fit.sum() == pytest.approx(numbers.sum())
        for other in -np.sort(-rng.normal(size=(20, 8)), axis=1):  # no falling sequence is nearer
            assert ((numbers - fit) ** 2).sum() <= ((numbers - other) ** 2).sum() + 1e-12
    assert fit_falling(np.array([3.0, 2.0, 2.0])).tolist() == [3.0, 2.0, 2.0]


@pytest.mark.slow
def test_wide_data_is_ordered_too() -> None:
    rng = np.random.default_rng(3)
    wide = fm.Coverage((rng.random((400, 10_400)) < 0.2 * rng.random(10_400) ** 6).astype(float), keep_empty=True)
    result = fm.solve(wide, 8, engine=fm.Simulation(wide), seed=1)
    order, _ = get_parts(result)
    np.testing.assert_allclose(find_values(wide, order), find_greedy_values(wide, result.selected), atol=0.01)
