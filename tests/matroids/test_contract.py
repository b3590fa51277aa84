"""The laws every matroid keeps, against its textbook definition on all subsets."""

from itertools import combinations

import numpy as np
import pytest

from folkmoot import Free, Laminar, Matroid, Oracle, Partition, Truncation, Uniform
from folkmoot.conversation.codec import pack, unpack
from folkmoot.foundation.registry import find_kinds
from folkmoot.matroids.derived import Restriction, restrict
from tests.matroids.kinds import KINDS, Kind, N

SUBSETS = [frozenset(c) for size in range(N + 1) for c in combinations(range(N), size)]


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def bases(kind: Kind) -> list[frozenset[int]]:
    allowed = [s for s in SUBSETS if kind.truth(s)]
    most = max(len(s) for s in allowed)
    return [s for s in allowed if len(s) == most]


def test_independent_sets_are_the_textbooks(kind: Kind) -> None:
    for chosen in SUBSETS:
        assert kind.matroid.independent(sorted(chosen)) == kind.truth(chosen), sorted(chosen)


def test_rank_is_the_size_of_a_base(kind: Kind) -> None:
    assert kind.matroid.rank == len(bases(kind)[0])


def test_addable_items(kind: Kind) -> None:
    for chosen in SUBSETS:
        if kind.truth(chosen):
            expected = [e not in chosen and kind.truth(chosen | {e}) for e in range(N)]
            assert kind.matroid.addable(sorted(chosen)).tolist() == expected, sorted(chosen)


def test_best_base_is_the_best(kind: Kind) -> None:
    rng = np.random.default_rng(0)
    every = bases(kind)
    for trial in range(60):
        weights = rng.random(N) if trial % 2 else rng.integers(-1, 3, N).astype(float)  # with ties, and below 0
        found = kind.matroid.best_base(weights)
        assert frozenset(found.tolist()) in every
        assert list(found) == sorted(found)
        assert weights[found].sum() == pytest.approx(max(weights[sorted(base)].sum() for base in every))


def test_ties_go_to_the_lower_id(kind: Kind) -> None:
    """Greedy by (weight, id), spelt out."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        weights = rng.integers(0, 3, N).astype(float)
        chosen: frozenset[int] = frozenset()
        for item in sorted(range(N), key=lambda e: (-weights[e], e)):
            if kind.truth(chosen | {item}):
                chosen |= {item}
        assert kind.matroid.best_base(weights).tolist() == sorted(chosen)


def test_axioms_hold(kind: Kind) -> None:
    verdict = kind.matroid.is_valid()
    assert verdict, verdict.certificate
    assert verdict.exhaustive


def test_groups_and_capacities_say_the_same(kind: Kind) -> None:
    blocks = kind.matroid.blocks
    if blocks is None:
        return
    for chosen in SUBSETS[::3]:
        counts = np.bincount(blocks.group[sorted(chosen)], minlength=len(blocks.capacity))
        assert bool((counts <= blocks.capacity).all()) == kind.truth(chosen)


def test_limits_say_the_same(kind: Kind) -> None:
    inner = kind.matroid.matroid if isinstance(kind.matroid, Truncation) else kind.matroid
    if not isinstance(inner, Free | Uniform | Partition | Laminar):
        assert kind.matroid.limits is None
        return
    for matroid, most in ((kind.matroid, N), (Truncation(kind.matroid, 2), 2)):
        limits = matroid.limits
        assert limits is not None
        for chosen in SUBSETS[::3]:
            inside = [limits.sets[limits.start[e] : limits.start[e + 1]] for e in sorted(chosen)]
            counts = sum((np.bincount(of, minlength=len(limits.capacity)) for of in inside), np.zeros(1, dtype=int))
            assert bool((counts <= limits.capacity).all()) == (kind.truth(chosen) and len(chosen) <= most)


def test_an_order_can_leave_items_out(kind: Kind) -> None:
    """Greedy chooses the same of the first items whether the others follow or not."""
    rng = np.random.default_rng(2)
    for size in range(N + 1):
        for matroid in (kind.matroid, restrict(kind.matroid, np.arange(N)), Restriction(kind.matroid, np.arange(N))):
            order = rng.permutation(N)
            whole = matroid.first_base(order)
            assert matroid.first_base(order[:size]).tolist() == np.intersect1d(whole, order[:size]).tolist()


def test_it_says_what_it_is(kind: Kind) -> None:
    assert type(kind.matroid).__name__ in repr(kind.matroid)


def test_some_items_only(kind: Kind) -> None:
    """A restricted matroid allows what the whole one does of these items, and is stored as any other."""
    items = np.array([1, 3, 4, 7])
    part = restrict(kind.matroid, items)
    for size in range(len(items) + 1):
        for own in combinations(range(len(items)), size):
            truth = kind.truth(frozenset(items[list(own)].tolist()))
            assert part.independent(list(own)) == truth, own
            if truth:
                expected = [
                    e not in own and kind.truth(frozenset(items[[*own, e]].tolist())) for e in range(len(items))
                ]
                assert part.addable(list(own)).tolist() == expected, own
    assert part.is_valid()
    order = np.array([2, 0, 3, 1])
    base = part.first_base(order)
    assert len(base) == part.rank
    assert part.is_independent(np.isin(np.arange(len(items)), base))
    if not isinstance(kind.matroid, Oracle):
        again = unpack(pack(part), find_kinds(Matroid))
        assert (again.first_base(order) == base).all()
