"""The laws every objective keeps, by brute force on all subsets of a small ground set."""

from itertools import product

import numpy as np
import pytest

from folkmoot import Information, Objective, check_submodular, multilinear, welfare
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.objectives.restricted import restrict
from tests.objectives.families import FAMILIES, LIFTED, Case

EVERY = FAMILIES | LIFTED


@pytest.fixture(params=list(EVERY))
def case(request: pytest.FixtureRequest) -> Case:
    return EVERY[request.param](np.random.default_rng(7))


def subsets(objective: Objective) -> Mask:
    """All subsets, or a few thousand where there are too many."""
    n = objective.n_items
    if n <= 8:
        return np.array(list(product([False, True], repeat=n)))
    return np.random.default_rng(0).random((200, n)) < 0.4


def truth_of(case: Case, sets: Mask) -> Array:
    return np.array([[f(frozenset(np.flatnonzero(s).tolist())) for s in sets] for f in case.truth])


def points(n: int) -> list[Array]:
    rng = np.random.default_rng(1)
    inner, edge = rng.random(n), rng.random(n)
    edge[:2], edge[2] = 1.0, 0.0
    return [np.zeros(n), np.ones(n), inner, edge]


def expectation(values: Array, sets: Mask, x: Array) -> Array:
    return np.asarray(values @ np.where(sets, x, 1 - x).prod(axis=1))


def test_values_are_the_textbooks(case: Case) -> None:
    sets = subsets(case.objective)
    np.testing.assert_allclose(case.objective.values(sets), truth_of(case, sets), rtol=1e-12, atol=1e-12)
    one = np.flatnonzero(sets[-2]).tolist()
    np.testing.assert_array_equal(case.objective.values(one), case.objective.values(sets)[:, -2])


def test_monotone_and_submodular(case: Case) -> None:
    check_submodular(case.objective, trials=300)
    assert not case.objective.values(()).any()


def test_gains_are_differences_of_values(case: Case) -> None:
    objective = case.objective
    for members in subsets(objective)[::5]:
        grown = np.repeat(members[None], objective.n_items, axis=0)
        np.fill_diagonal(grown, True)
        expected = objective.values(grown) - objective.values(members)[:, None]
        rows = objective.gains(members)
        assert rows.shape == (objective.n_clients, objective.n_items)
        np.testing.assert_allclose(rows.toarray(), expected, atol=1e-12)
        assert not rows.toarray()[:, members].any()
        np.testing.assert_allclose(objective.mean_gains(members), objective.weights @ expected, atol=1e-12)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_extension_and_gradient_are_expectations(family: str) -> None:
    objective = FAMILIES[family](np.random.default_rng(7)).objective
    sets = subsets(objective)
    values = objective.values(sets)
    for x in points(objective.n_items):
        # 64 samples are enough to list all sets, so families without a closed form are exact here too.
        np.testing.assert_allclose(objective.extension(x), expectation(values, sets, x), atol=1e-12)
        high, low = (
            np.stack([expectation(values, sets, at(x, e, v)) for e in range(len(x))], axis=1) for v in (1.0, 0.0)
        )
        np.testing.assert_allclose(objective.gradients(x).toarray(), high - low, atol=1e-12)
        mean = objective.weights @ (high - low)
        np.testing.assert_allclose(objective.mean_gradient(x), mean, atol=1e-12)
        np.testing.assert_allclose(multilinear.gradient(objective, x), mean, atol=1e-12)
        assert multilinear.value(objective, x) == pytest.approx(objective.weights @ objective.extension(x))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["facility", "logdet, few dimensions"])
def test_pairs_have_the_gradients_of_their_clients(family: str) -> None:
    """Over (item, client) pairs a client's derivatives are its own, whatever the others hold."""
    base = FAMILIES[family](np.random.default_rng(7)).objective[:2]
    pairs, _ = welfare(base)
    x = np.random.default_rng(2).random(pairs.n_items)
    rows = pairs.gradients(x, samples=1 << 12).toarray()  # enough to list all sets
    for client in range(2):
        own = base[client].gradients(x[client::2], samples=64).toarray()[0]
        np.testing.assert_allclose(rows[client, client::2], own, atol=1e-12)
        assert not rows[client, 1 - client :: 2].any()


def at(x: Array, item: int, value: float) -> Array:
    moved = x.copy()
    moved[item] = value
    return moved


@pytest.mark.parametrize("family", list(FAMILIES))
def test_sampled_gradients_stay_within_their_bound(family: str) -> None:
    """Hoeffding with a union over clients and items; fails by chance with probability below 1e-9."""
    objective = FAMILIES[family](np.random.default_rng(7)).objective
    x = points(objective.n_items)[2]
    samples = 60  # fewer than 2^6, so sets are drawn
    exact = objective.gradients(x, samples=1 << objective.n_items).toarray()
    drawn = objective.gradients(x, samples=samples, seed=3).toarray()
    largest = objective.gains(()).toarray().max()
    error = largest * np.sqrt(np.log(2 * exact.size / 1e-9) / (2 * samples))
    assert np.abs(drawn - exact).max() <= error
    assert np.abs(drawn - exact).max() > 0
    mean = objective.mean_gradient(x, samples=samples, seed=3)
    np.testing.assert_allclose(mean, objective.weights @ drawn, atol=1e-12)


def test_mean_is_the_weighted_mean(case: Case) -> None:
    objective, sets = case.objective, subsets(case.objective)
    assert objective.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(objective.mean_values(sets), objective.weights @ objective.values(sets), atol=1e-12)
    together = float(objective.weights @ objective.values(sets[-1] | True))
    assert objective.ceiling >= together - 1e-12
    assert objective.ceiling == pytest.approx(together) or isinstance(objective, Information)


def test_a_batch_is_its_clients_one_by_one(case: Case) -> None:
    objective, sets = case.objective, subsets(case.objective)
    x = points(objective.n_items)[2]
    values, gains = objective.values(sets), objective.gains(sets[3]).toarray()
    gradients = objective.gradients(x).toarray()
    for client in range(objective.n_clients):
        one = objective[client]
        assert one.n_clients == len(one) == 1
        np.testing.assert_array_equal(one.values(sets), values[[client]])
        np.testing.assert_array_equal(one.gains(sets[3]).toarray(), gains[[client]])
        np.testing.assert_allclose(one.gradients(x).toarray(), gradients[[client]], rtol=1e-12)
    some = np.array([1, 0, 1])
    batch = objective[some]
    np.testing.assert_array_equal(batch.values(sets), values[some])
    np.testing.assert_allclose(batch.weights, objective.weights[some] / objective.weights[some].sum())
    assert batch.mean_values(sets[5]) == pytest.approx(float(batch.weights @ values[some, 5]))
    np.testing.assert_array_equal(objective[:2].values(sets), values[:2])
    np.testing.assert_array_equal(objective[np.arange(objective.n_clients) < 1].values(sets), values[:1])
    np.testing.assert_allclose(batch.walk().gains(), batch.mean_gains(()), atol=1e-12)


def test_other_weights_change_the_mean_only(case: Case) -> None:
    objective, sets = case.objective, subsets(case.objective)
    shares = np.arange(1.0, objective.n_clients + 1)
    other = objective.reweight(shares)
    np.testing.assert_array_equal(other.values(sets), objective.values(sets))
    np.testing.assert_allclose(other.mean_values(sets), shares / shares.sum() @ objective.values(sets), atol=1e-12)
    np.testing.assert_allclose(other.mean_gains(()), shares / shares.sum() @ objective.gains(()), atol=1e-12)


def test_a_walk_knows_its_gains(case: Case) -> None:
    objective = case.objective
    order = np.random.default_rng(4).permutation(objective.n_items)
    for begin in (0, 2):
        walk = objective.walk(order[:begin])
        for step in range(begin, objective.n_items):
            fresh = objective.mean_values(np.vstack([indicators(objective, order[:step], e) for e in order]))
            fresh = fresh - objective.mean_values(order[:step])
            np.testing.assert_allclose(walk.gains(order), fresh, atol=1e-12)
            np.testing.assert_allclose(walk.gains()[order], fresh, atol=1e-12)
            walk.add(int(order[step]))
            walk.add(int(order[0]))  # a member already: nothing happens
        assert not walk.gains().any()


def indicators(objective: Objective, members: Ids, item: int) -> Mask:
    mask = np.zeros(objective.n_items, dtype=bool)
    mask[members] = mask[item] = True
    return mask


def test_some_items_only(case: Case) -> None:
    """Restricted clients know no other items, but still what all of them together are worth."""
    objective = case.objective
    items = np.array([0, 2, objective.n_items - 1])
    part = restrict(objective, items)
    sets = np.array(list(product([False, True], repeat=3)))
    wide = np.zeros((len(sets), objective.n_items), dtype=bool)
    wide[:, items] = sets
    np.testing.assert_allclose(part.values(sets), objective.values(wide), rtol=1e-12, atol=1e-12)
    for own, of_all in zip(sets[::3], wide[::3], strict=True):
        np.testing.assert_allclose(
            part.gains(own).toarray(), objective.gains(of_all).toarray()[:, items], rtol=1e-12, atol=1e-12
        )
    x, point = np.array([0.3, 1.0, 0.0]), np.zeros(objective.n_items)
    point[items] = x
    if objective.closed_form:
        np.testing.assert_allclose(part.extension(x), objective.extension(point), rtol=1e-9, atol=1e-12)
        expected = objective.gradients(point).toarray()[:, items]
        np.testing.assert_allclose(part.gradients(x).toarray(), expected, rtol=1e-9, atol=1e-12)
    for clients in ([1], [1, 0], slice(0, 2)):
        some = part[clients]
        np.testing.assert_allclose(some.values(sets), objective[clients].values(wide), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(some.unrestricted.find_ceilings(), objective[clients].find_ceilings())
    assert (part.n_items, part.unrestricted.n_items) == (3, objective.n_items)
