"""Clients' own bases and walks, against brute force and the paper line by line.

Tests that toss coins fail by chance with probability below 1e-9 (Hoeffding, with a union over all that is compared);
seeds are fixed, so they do not fail by chance twice.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from folkmoot import (
    Coverage,
    FacilityLocation,
    Graphic,
    Matroid,
    Objective,
    Oracle,
    Uniform,
)
from folkmoot.foundation.coins import key_of
from folkmoot.foundation.private_coins import PrivateCoins, toss_coin
from folkmoot.foundation.sets import Array, Ids
from folkmoot.questions import (
    LocalBase,
    LocalWalk,
    ShardBase,
    WholeBase,
)
from folkmoot.questions.local import SETS
from tests.coins import toss_bits, toss_for
from tests.matroids.kinds import KINDS as MATROIDS
from tests.matroids.kinds import Kind, N
from tests.objectives.families import SetFunction, sparse_matrix
from tests.questions.kinds import (
    COINS,
    KEY,
    graphic,
    partition,
    point,
    uniform,
)
from tests.questions.measures import CLOSED, LIMIT, case_of, crowd, dense, fixed_point, once, ranges_of, within

OWN = PrivateCoins.derive(KEY)

# Bases at home.


def eight_items(clients: int = 12) -> FacilityLocation:
    return FacilityLocation(sparse_matrix(np.random.default_rng(3), clients, N))


def bases(
    matroid: Matroid, objective: Objective, key: int = KEY, x: Array | None = None, kind: type[LocalBase] = LocalBase
) -> Ids:
    """What clients answer, without the digits."""
    most = ranges_of(objective)
    at = np.zeros(objective.n_items) if x is None else x
    query = kind(x=at, whole=most.whole, coins=COINS, matroid=matroid, single=most.single)
    return dense(query, objective, *once(objective), PrivateCoins.derive(key))[:, : objective.n_items]


def allowed(kind: Kind) -> Ids:
    sets = [s for s in product([0, 1], repeat=N) if kind.truth(frozenset(np.flatnonzero(s).tolist()))]
    return np.array(sets)


@pytest.mark.parametrize("name", list(MATROIDS))
def test_a_client_names_its_best_base(name: str) -> None:
    objective, every = eight_items(), allowed(MATROIDS[name])
    unit = ranges_of(objective).single / LIMIT
    for x in (np.zeros(N), point(N)):
        slopes = objective.gradients(x).toarray()
        gains = fixed_point(slopes, unit)
        found = bases(MATROIDS[name].matroid, objective, x=x)
        for row, gain, slope in zip(found, gains, slopes, strict=True):
            assert (every == row).all(axis=1).any()
            assert not row[gain == 0].any()  # only what gains is named
            assert gain @ row == (every @ gain).max()
            assert slope @ row >= (every @ slope).max() - N * unit


@pytest.mark.parametrize(
    ("matroid", "share"), [(Uniform(N, 3), 3 / N), (Graphic([(0, 1)] * N), 1 / N)], ids=["groups", "general"]
)
def test_ties_favour_nobody(matroid: Matroid, share: float) -> None:
    """All items alike: over keys, and over clients, each is named as often as any other."""
    copies, keys = 25, 60
    batch, _, _ = crowd(FacilityLocation(np.ones((1, N))), copies)
    rows = np.array([bases(matroid, batch, key_of(4, key)) for key in range(keys)])
    assert (rows.sum(axis=2) == share * N).all()
    assert np.abs(rows.mean(axis=(0, 1)) - share).max() <= within(copies * keys, N)
    assert (rows != rows[0]).any(axis=(0, 2)).all()  # keys matter to every client,
    assert (rows != rows[:, :1]).any(axis=(1, 2)).all()  # and clients under every key


@pytest.mark.parametrize("name", list(MATROIDS))
def test_a_whole_base_is_filled_up_with_what_adds_nothing(name: str) -> None:
    """As in the paper: always r items, the best ones first; which others is left to coins, and favours nobody."""
    matroid = MATROIDS[name].matroid
    objective = FacilityLocation(sparse_matrix(np.random.default_rng(4), 12, N), keep_empty=True)
    best, whole = bases(matroid, objective), bases(matroid, objective, kind=WholeBase)
    assert (whole.sum(axis=1) == matroid.rank).all()
    assert (whole >= best).all()
    assert all(matroid.independent(row.astype(bool)) for row in whole)
    none = FacilityLocation(np.zeros((400, N)), keep_empty=True)
    if (
        name == "uniform"
    ):  # 400 clients: each share is right to .25, except with probability 2·8·exp(−2·400·.25²) < 1e-20
        filled = bases(matroid, none, kind=WholeBase)
        assert np.abs(filled.mean(axis=0) - matroid.rank / N).max() < 0.25


def test_who_gains_nothing_names_nothing() -> None:
    objective = FacilityLocation(np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.3, 1e-9]]), keep_empty=True)
    for matroid in (Uniform(3, 2), Graphic([(0, 1), (1, 2), (2, 0)])):
        assert bases(matroid, objective).tolist() == [[0, 0, 0], [1, 1, 0], [0, 1, 0]]
        content = bases(matroid, objective, x=np.array([1.0, 1.0, 0.0]))
        assert content.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]  # the others of client 1 make up for each


@pytest.mark.parametrize("name", MATROIDS)
def test_limits_are_kept_as_any_matroid_is(name: str) -> None:
    """The same sets told by a function go the general way, and end the same, ties and all."""
    kind = MATROIDS[name]
    general = Oracle(N, kind.truth)
    assert general.limits is None
    objective = eight_items(40)
    for key in range(5):
        ours, theirs = (bases(matroid, objective, key, point(N)) for matroid in (kind.matroid, general))
        np.testing.assert_array_equal(ours, theirs)


# Walks at home.


def walk_of(matroid: Matroid, objective: Objective, steps: int, samples: int | None = None) -> LocalWalk:
    most = ranges_of(objective)
    x = point(objective.n_items)
    return LocalWalk(
        x=x, whole=most.whole, coins=COINS, samples=samples, matroid=matroid, single=most.single, steps=steps
    )


@pytest.mark.parametrize("matroid", [uniform, partition, graphic])
def test_a_walk_of_one_step_is_a_base(matroid: Callable[[int], Matroid]) -> None:
    for family in CLOSED:
        objective = case_of(family).objective
        n, everyone = objective.n_items, once(objective)
        walk = walk_of(matroid(n), objective, 1)
        # Each step of a walk tosses coins of its own.
        same = LocalBase(x=walk.x, whole=walk.whole, coins=COINS, matroid=walk.matroid, single=walk.single)
        np.testing.assert_array_equal(
            dense(walk, objective, *everyone, OWN), dense(same, objective, *everyone, OWN.branch(0))
        )
        assert (walk.length, walk.encoding.limit) == (same.length, same.encoding.limit)
    untied = case_of("facility, many levels").objective
    here = bases(matroid(6), untied, KEY, point(6))
    np.testing.assert_array_equal(dense(walk_of(matroid(6), untied, 1), untied, *once(untied))[:, :6], here)


def slopes_of(f: SetFunction, x: Array) -> Array:
    """∂f̂/∂x_e, set by set."""
    n = len(x)
    sets = np.array(list(product([False, True], repeat=n)))
    values = np.array([f(frozenset(np.flatnonzero(s).tolist())) for s in sets])
    slopes = []
    for e in range(n):
        ends = []
        for end in (1.0, 0.0):
            at = x.copy()
            at[e] = end
            ends.append(float(values @ np.where(sets, at, 1 - at).prod(axis=1)))
        slopes.append(ends[0] - ends[1])
    return np.array(slopes)


def walked(slopes: Callable[[Array, int], Array], walk: LocalWalk, client: int) -> list[int]:
    """Algorithm 2, lines 6 to 13, as it is written; equal gains in the order of their coins."""
    n, counts = len(walk.x), np.zeros(len(walk.x), dtype=np.int64)
    for step in range(walk.steps):
        at = np.minimum(walk.x + counts / walk.steps, 1.0)
        gains = fixed_point(slopes(at, step), walk.single / LIMIT)
        key = OWN.branch(step).key
        order = sorted(range(n), key=lambda e: (-gains[e], toss_bits(key, client, e)))
        base: list[int] = []
        for item in order:
            if gains[item] > 0 and walk.matroid.independent([*base, item]):
                base.append(item)
        counts[base] += 1
    return [int(count) for count in counts]


@pytest.mark.parametrize("matroid", [uniform, partition, graphic])
@pytest.mark.parametrize("family", CLOSED)
def test_walks_are_algorithm_2(family: str, matroid: Callable[[int], Matroid]) -> None:
    case = case_of(family)
    walk = walk_of(matroid(case.objective.n_items), case.objective, 4)
    found = dense(walk, case.objective, *once(case.objective), OWN)[:, : len(walk.x)]
    for client, f in enumerate(case.truth):
        assert found[client].tolist() == walked(lambda at, _: slopes_of(f, at), walk, client)  # noqa: B023
    assert (walk.x + found / walk.steps).max() > 1  # walks do leave the cube


def own_points(objective: Objective) -> Array:
    points = np.random.default_rng(6).random((objective.n_clients, objective.n_items))
    points[:, 0], points[1:, 2], points[0, 4] = 1.0, 0.0, 0.0
    return points


def drawn(point: Array, own: PrivateCoins, client: int, sample: int) -> frozenset[int]:
    """R ~ x by the coins."""
    n = len(point)
    return frozenset(e for e in range(n) if toss_coin(own.key, client, sample * n + e) < point[e])


def slopes_by_coins(f: SetFunction, at: Array, samples: int, own: PrivateCoins, client: int) -> Array:
    sets = [drawn(at, own, client, sample) for sample in range(samples)]
    return np.array([np.mean([f(r | {e}) - f(r - {e}) for r in sets]) for e in range(len(at))])


@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("family", ["facility", "facility, many levels", "facility, owned rows", "coverage"])
def test_sampled_gradients_look_at_the_sets_of_their_coins(family: str, samples: int) -> None:
    case = case_of(family)
    points, ids = own_points(case.objective), np.array([8, 2, 77, 5, 1])[: case.objective.n_clients]
    for own in (PrivateCoins.derive(1), OWN):
        rows = case.objective.sample_gradients_each(sparse.csr_array(points), samples, own, ids).toarray()
        for row, f, at, client in zip(rows, case.truth, points, ids.tolist(), strict=True):
            np.testing.assert_allclose(row, slopes_by_coins(f, at, samples, own, client), atol=1e-12)


@pytest.mark.parametrize(
    ("family", "copies"),
    [("facility", 200), ("facility, owned rows", 200), ("probabilistic", 10), ("mixture, closed form", 10)],
)
def test_sampled_gradients_converge(family: str, copies: int) -> None:
    """Fewer sets a client than there could be, so that all draw; the copies of a client draw on their own."""
    objective, samples = case_of(family).objective, 15
    points = own_points(objective)
    exact = objective.gradients_at_each(sparse.csr_array(points)).toarray()
    batch, ids, _ = crowd(objective, copies)
    rows = batch.sample_gradients_each(sparse.csr_array(np.repeat(points, copies, axis=0)), samples, OWN, ids).toarray()
    by_client = rows.reshape(-1, copies, objective.n_items)
    assert (by_client != by_client[:, :1]).any(axis=(1, 2)).all()
    largest = objective.gains(()).toarray().max(axis=1, keepdims=True)
    assert (np.abs(by_client.mean(axis=1) - exact) <= within(samples * copies, exact.size, largest)).all()


@pytest.mark.parametrize("samples", [None, 2])
def test_walks_of_many_ties_are_algorithm_2(samples: int | None) -> None:
    """Ties fall by coins of the step, and sets are drawn by them too."""
    matrix = (np.random.default_rng(8).random((30, 6)) < 0.8).astype(float)
    matrix[:, 0] = 1.0
    objective = Coverage(matrix)
    walk = replace(walk_of(uniform(6), objective, 4, samples), x=np.full(6, 0.2))
    found = dense(walk, objective, *once(objective), OWN)[:, :6]
    for client, row in enumerate(matrix):

        def f(chosen: frozenset[int], row: Array = row) -> float:
            return float(row[sorted(chosen)].any())

        def slopes(at: Array, step: int, f: SetFunction = f, client: int = client) -> Array:
            if samples is None:
                return slopes_of(f, at)
            return slopes_by_coins(f, at, samples, OWN.branch(step, SETS), client)

        assert found[client].tolist() == walked(slopes, walk, client)


@pytest.mark.parametrize("deal", [False, True])
def test_shards_are_greedy(deal: bool) -> None:
    case = case_of("facility")
    ids, times = np.array([0, 3, 4, 8, 9]), np.array([1, 2, 1, 5, 1])
    query = ShardBase(matroid=partition(6), clients=10, shards=2, deal=deal, items=None, coins=COINS)
    hand = np.random.default_rng(key_of(KEY, 1)).permutation(10)[ids] % 2
    of_item = np.random.default_rng(KEY).integers(0, 2, 6)
    expected = np.zeros(6, dtype=np.int64)
    for shard in range(2):
        mine = np.flatnonzero(hand == shard)
        assert mine.size

        def worth(chosen: list[int], mine: Ids = mine) -> float:
            return float(sum(times[i] * case.truth[i](frozenset(chosen)) for i in mine))

        base: list[int] = []
        while True:
            open_to = [e for e in range(6) if not deal or of_item[e] == shard]
            grown = [[*base, e] for e in open_to if e not in base and query.matroid.independent([*base, e])]
            best = max(grown, key=worth, default=base)
            if worth(best) <= worth(base):
                break
            base = best
        expected[base] += 1
    assert query.total(case.objective, ids, times, toss_for(query)).tolist() == expected.tolist()
