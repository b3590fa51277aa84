"""What a quick look finds of constraints that are no matroids, before a method is started; and that matroids pass."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.matroids.axioms import find_broken
from folkmoot.matroids.derived import Restriction
from folkmoot.matroids.matroid import QUICKLY
from tests.matroids.kinds import KINDS, Independent, N, at_most, matched, spanned

ITEMS = 40
PRICES = [(1, 2), (1, 3), (2, 3), (2, 5)]


def count(chosen: frozenset[int], of: set[int]) -> int:
    return len(chosen & of)


def budget(rng: np.random.Generator) -> Independent:
    costs = rng.random(ITEMS)
    return lambda s: sum(costs[one] for one in s) <= 3


def two_prices(rng: np.random.Generator) -> Independent:
    low, high = PRICES[rng.integers(len(PRICES))]
    dear, limit = set(rng.permutation(ITEMS)[:20].tolist()), 4 * high
    return lambda s: sum(high if one in dear else low for one in s) <= limit


def one_dearer(rng: np.random.Generator) -> Independent:
    dear = int(rng.integers(ITEMS))
    return lambda s: len(s) + (dear in s) <= 6


def lower_limit(rng: np.random.Generator) -> Independent:
    group = set(rng.permutation(ITEMS)[:12].tolist())
    return lambda s: len(s) <= 10 and (not s or count(s, group) >= 2)


def two_or_none(rng: np.random.Generator) -> Independent:
    group = set(rng.permutation(ITEMS)[:12].tolist())
    return lambda s: len(s) <= 10 and count(s, group) != 1


def crossing(rng: np.random.Generator) -> Independent:
    """At most 3 in each of two groups that have 3 items in common."""
    order = rng.permutation(ITEMS)
    return at_most([(set(order[:14].tolist()), 3), (set(order[11:25].tolist()), 3)])


def several_genres(rng: np.random.Generator) -> Independent:
    """At most 2 per genre and 8 in all, where items have two genres each."""
    first, second = rng.integers(0, 8, ITEMS), rng.integers(0, 8, ITEMS)
    return at_most([({*np.flatnonzero((first == g) | (second == g)).tolist()}, 2) for g in range(8)])


def apart(rng: np.random.Generator) -> Independent:
    """No two of a pair, for 20 random pairs."""
    pairs = [set(pair.tolist()) for pair in rng.integers(0, ITEMS, (20, 2))]
    return lambda s: len(s) <= 10 and not any(len(pair) == 2 and pair <= s for pair in pairs)


def connected(_: np.random.Generator) -> Independent:
    """Connected items of a path."""
    return lambda s: len(s) <= 6 and (not s or max(s) - min(s) == len(s) - 1)


def few_kinds(rng: np.random.Generator) -> Independent:
    kind = rng.integers(0, 5, ITEMS)
    return lambda s: len(s) <= 8 and len({kind[one] for one in s}) <= 2


BREAKERS: list[Callable[[np.random.Generator], Independent]] = [
    *(budget, two_prices, one_dearer, lower_limit, two_or_none),
    *(crossing, several_genres, apart, connected, few_kinds),
]


@pytest.mark.parametrize("breaker", BREAKERS)
def test_what_is_no_matroid_is_refused_at_once(breaker: Callable[[np.random.Generator], Independent]) -> None:
    """In 19 of 20 instances of each; a few sets of thousands are looked at, so some can pass."""
    refused = 0
    for seed in range(20):
        refused += bool(find_broken(fm.Oracle(ITEMS, breaker(np.random.default_rng(seed))), QUICKLY))
    assert refused >= 19


def matroids() -> Iterator[tuple[str, int, Independent]]:
    for name, kind in KINDS.items():
        yield name, N, kind.truth
    rng = np.random.default_rng(0)
    groups, order = rng.integers(0, 6, ITEMS), rng.permutation(ITEMS)
    by_group = [(set(np.flatnonzero(groups == group).tolist()), int(group) % 4) for group in range(6)]
    nested = [(set(order[:size].tolist()), most) for size, most in ((30, 9), (20, 5), (10, 2), (4, 1))]
    graph = fm.Graphic(rng.integers(0, 15, (ITEMS, 2)).tolist())
    yield "uniform, 40 items", ITEMS, lambda s: len(s) <= 7
    yield "partition, 40 items", ITEMS, at_most(by_group)
    yield "truncated partition, 40 items", ITEMS, at_most([*by_group, (set(range(ITEMS)), 5)])
    yield "laminar, 40 items", ITEMS, at_most(nested)
    yield "graphic, 40 items", ITEMS, lambda s: graph.independent(sorted(s))
    yield "transversal, 12 items", 12, matched([set(rng.permutation(12)[:4].tolist()) for _ in range(4)])
    yield "linear, 40 items", ITEMS, spanned(rng.integers(0, 2, (4, ITEMS)), 2)


MATROIDS = {name: (items, truth) for name, items, truth in matroids()}


@pytest.mark.parametrize("name", MATROIDS)
def test_no_matroid_is_refused(name: str) -> None:
    items, truth = MATROIDS[name]
    oracle = fm.Oracle(items, truth)
    for matroid in (oracle, fm.Truncation(oracle, 2), Restriction(oracle, np.arange(0, items, 2))):
        assert not matroid.by_construction
        matroid.refuse_broken()


def test_a_kind_of_the_package_is_not_looked_at() -> None:
    for name, kind in KINDS.items():
        assert kind.matroid.by_construction == (name != "oracle")


def test_what_is_made_of_a_budget_is_looked_at_itself() -> None:
    """Three of these items always fit into the budget: at most three of them are a matroid, at most twelve are not."""
    costs = np.random.default_rng(0).uniform(0.5, 1, ITEMS)
    spent = fm.Oracle(ITEMS, lambda s: sum(costs[one] for one in s) <= 3)
    films = fm.FacilityLocation(np.eye(ITEMS))
    assert fm.solve(films, fm.Truncation(spent, 3), fm.Greedy()).ratio == 1.0
    with pytest.raises(
        fm.InputError, match=r"^matroid: Truncation\(Oracle\(40 items\), 12\) is no matroid: no item of"
    ):
        fm.solve(films, fm.Truncation(spent, 12), fm.Greedy())


def test_a_kind_of_ones_own_is_looked_at() -> None:
    class Budget(fm.Matroid):
        n_items = 12

        def is_independent(self, members: np.ndarray) -> bool:
            return float(np.arange(12) @ members) <= 20

        def __repr__(self) -> str:
            return "Budget()"

    with pytest.raises(fm.InputError, match=r"^matroid: Budget\(\) is no matroid: "):
        fm.solve(fm.FacilityLocation(np.eye(12)), Budget(), fm.Auto())


def test_the_best_set_of_a_budget_is_found_where_it_was_not_noticed() -> None:
    """`Exhaustive` by itself: A excludes B and C. Before, its bound was the worth of A."""
    worth = fm.ConcaveOverModular([[1.0, 0.9, 0.9]], 10.0)
    oracle = fm.Oracle(3, lambda s: s <= {0} or s <= {1, 2})
    found = fm.Exhaustive().choose(worth, oracle, 0)
    assert found.members.tolist() == [False, True, True]
    assert found.bound == pytest.approx(1.8)
