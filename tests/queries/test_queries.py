"""What sums of answers mean: means, bases, walks, shares and ranges, against brute force and within stated bounds.

Tests that toss coins fail by chance with probability below 1e-9 (Hoeffding, with a union over all that is compared);
seeds are fixed, so they do not fail by chance twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot.kernels
from folkmoot import (
    Coverage,
    FacilityLocation,
    Functions,
    Graphic,
    Laminar,
    Matroid,
    Objective,
    ProbabilisticCoverage,
    Uniform,
)
from folkmoot.coding import _mixed, key_of
from folkmoot.queries import (
    Appraisal,
    Gains,
    Gradient,
    Importance,
    LocalBase,
    LocalWalk,
    Magnitude,
    Query,
    Ranges,
    ShardBase,
    Spread,
    Values,
    Votes,
)
from folkmoot.queries.magnitude import BINS, LEAST, MOST, bins_of
from folkmoot.queries.query import FINE_BITS
from folkmoot.sets import Array, Ids, Mask
from tests.matroids.kinds import KINDS as MATROIDS
from tests.matroids.kinds import Kind, N
from tests.objectives.families import FAMILIES, Case, SetFunction, sparse_matrix
from tests.queries.kinds import (
    EVERY,
    GENERAL,
    ITEMS,
    KEY,
    KINDS,
    SHARDS,
    graphic,
    partition,
    point,
    some_members,
    some_sets,
    uniform,
)

LIMIT = 2**FINE_BITS - 1
CHANCE = 1e-9
CLOSED = [name for name, make in FAMILIES.items() if make(np.random.default_rng(7)).objective.closed_form]


def within(trials: int, compared: int, spread: Any = 1.0) -> Any:
    """How far means of so many numbers, each within `spread`, may lie from what is expected."""
    return spread * np.sqrt(np.log(2 * compared / CHANCE) / (2 * trials))


def case_of(family: str) -> Case:
    return EVERY[family](np.random.default_rng(7))


def once(objective: Objective) -> tuple[Ids, Ids]:
    return np.arange(objective.n_clients), np.ones(objective.n_clients, dtype=np.int64)


def dense(query: Query, objective: Objective, ids: Ids, times: Ids) -> Ids:
    return np.asarray(query.answers(objective, ids, times).toarray())


def ranges_of(objective: Objective) -> Ranges:
    return Magnitude.ranges(Magnitude().total(objective, *once(objective)))


def crowd(objective: Objective, copies: int) -> tuple[Objective, Ids, Ids]:
    """Every client many times over, each copy with a number of its own."""
    batch = objective[np.repeat(np.arange(objective.n_clients), copies)]
    return batch, *once(batch)


def fixed_point(values: Any, unit: float) -> Ids:
    return np.clip(np.floor(np.asarray(values) / unit + 0.5), 0, LIMIT).astype(np.int64)


def coin(key: int, client: int, item: int) -> float:
    return (_mixed(_mixed(key ^ client) ^ item) >> 11) * 2.0**-53


# Threads.


def large(rows: int = 17_000, n: int = 60) -> Array:
    """More than half a million entries."""
    rng = np.random.default_rng(1)
    return np.where(rng.random((rows, n)) < 0.55, rng.integers(1, 6, (rows, n)) / 5, 0.0)


def populations() -> Iterator[tuple[Objective, dict[str, Callable[[Objective], Query]]]]:
    matrix = large()
    every = {name: make for name, make in KINDS.items() if name not in GENERAL} | SHARDS
    some = {name: KINDS[name] for name in ("gradient, 4 bits", "votes", "walk, partition", "gains, by importance")}
    yield FacilityLocation(matrix, keep_empty=True), every
    yield FacilityLocation(matrix, keep_empty=True, owners=np.arange(len(matrix)) // 2), some
    yield ProbabilisticCoverage(matrix, keep_empty=True), {name: some[name] for name in ("gradient, 4 bits", "votes")}


def test_sums_do_not_depend_on_threads_or_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for objective, kinds in populations():
        ids, times = 3 * np.arange(objective.n_clients), 1 + np.arange(objective.n_clients) % 4
        queries = {name: make(objective) for name, make in kinds.items()}
        sums: dict[str, list[Ids]] = {name: [] for name in queries}
        for entries, count, least in ((250_000, 1, 2), (250_000, 2, 2), (20_000, 2, 20), (10_000_000, 2, 1)):
            monkeypatch.setattr(folkmoot.kernels, "ENTRIES_PER_BLOCK", entries)
            assert len(objective.client_blocks()) >= least
            with folkmoot.kernels.threads(count):
                for name, query in queries.items():
                    sums[name].append(query.total(objective, ids, times))
        for name, same in sums.items():
            for other in same[1:]:
                np.testing.assert_array_equal(same[0], other, err_msg=name)


@pytest.mark.parametrize("samples", [60, 64])
def test_a_client_alone_rounds_as_in_a_crowd(samples: int) -> None:
    """f̂(x) lies half-way between two units: the last bit of the float decides, so it must be the same bit."""
    objective = Functions([lambda s: float(bool(s))] * 5, 8)
    x = np.full(8, 0.3)
    x[0] = 1.0
    query = Gradient(x=x, whole=2.0, key=3, samples=samples, single=1.0, bits=20, stochastic=False)
    ids, times = once(objective)
    alone = [query.total(objective[[i]], ids[[i]], times[[i]]) for i in range(5)]
    np.testing.assert_array_equal(query.total(objective, ids, times), np.sum(alone, axis=0))


@pytest.mark.parametrize("kind", list(KINDS))
def test_answers_do_not_depend_on_how_a_matrix_lies_in_memory(kind: str) -> None:
    """A client who lists its items in another order has the same function, and says the same."""
    matrix = sparse.csr_array(sparse_matrix(np.random.default_rng(3), 40, 8))
    backwards = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in pairwise(matrix.indptr)])
    turned = sparse.csr_array((matrix.data[backwards], matrix.indices[backwards], matrix.indptr), shape=matrix.shape)
    owners = np.arange(40) // 2
    for options in ({}, {"owners": owners}):
        tidy, messy = FacilityLocation(matrix, **options), FacilityLocation(turned, **options)  # type: ignore[arg-type]
        query = KINDS[kind](tidy)
        np.testing.assert_array_equal(dense(query, messy, *once(messy)), dense(query, tidy, *once(tidy)))


# Gradients and votes.


@pytest.mark.parametrize("bits", [1, 4])
@pytest.mark.parametrize("items", [None, ITEMS], ids=["all", "shortlist"])
def test_coins_keep_the_mean_of_a_gradient(bits: int, items: Ids | None) -> None:
    copies, keys = 40, 100
    objective = case_of("facility").objective
    most, x = ranges_of(objective), point(objective.n_items)
    query = Gradient(x=x, whole=most.whole, key=0, items=items, single=most.single, bits=bits, stochastic=True)
    asked = np.arange(len(x)) if items is None else items
    expected = objective.gradients(x).toarray()[:, asked] / query.scale
    sums = np.zeros_like(expected)
    for key in range(keys):
        rows = dense(replace(query, key=key_of(9, key)), *crowd(objective, copies))[:, : len(asked)]
        by_client = rows.reshape(-1, copies, len(asked))
        assert (np.abs(by_client - expected[:, None]) < 1).all()  # up or down, nothing else
        sums += by_client.sum(axis=1)
    assert np.abs(sums / (copies * keys) - expected).max() <= within(copies * keys, expected.size)


@pytest.mark.parametrize(("bits", "items"), [(2, None), (12, None), (12, ITEMS)], ids=["coarse", "fine", "shortlist"])
def test_votes_keep_the_mean_of_a_gradient(bits: int, items: Ids | None) -> None:
    """Within six standard errors: each of 30 means fails by chance with probability 2e-9."""
    copies, keys, count = 60, 150, 3
    objective = case_of("facility").objective
    most, x = ranges_of(objective), point(objective.n_items)
    query = Votes(x=x, whole=most.whole, key=0, items=items, votes=count, sum=most.sum, bits=bits)
    asked = np.arange(len(x)) if items is None else items
    expected = objective.gradients(x).toarray()[:, asked]
    shares = expected / expected.sum(axis=1, keepdims=True)
    sums, squares = np.zeros_like(expected), np.zeros_like(expected)
    for key in range(keys):
        rows = dense(replace(query, key=key_of(9, key)), *crowd(objective, copies))[:, : len(asked)]
        by_client = rows.reshape(-1, copies, len(asked))
        assert (np.count_nonzero(by_client, axis=2) <= count).all()
        worth, left = np.divmod(by_client.sum(axis=2), count)  # all votes are cast, and weigh the same
        assert not left.any()
        cast = by_client / np.maximum(worth, 1)[:, :, None]
        assert (np.abs(cast - count * shares[:, None])[worth > 0] < 1 + 1e-9).all()
        sums += by_client.sum(axis=1) * query.scale
        squares += (by_client**2).sum(axis=1) * query.scale**2
    mean = sums / (copies * keys)
    error = np.sqrt((squares / (copies * keys) - mean**2) / (copies * keys))
    assert (np.abs(mean - expected) <= 6 * error + 1e-12).all()


@pytest.mark.parametrize("items", [None, ITEMS], ids=["all", "shortlist"])
@pytest.mark.parametrize("family", list(EVERY))
def test_sums_of_gradients_are_the_gradient_of_the_mean(family: str, items: Ids | None) -> None:
    objective = case_of(family).objective
    times = 1 + np.arange(objective.n_clients) ** 2
    most, x = ranges_of(objective), point(objective.n_items)
    query = Gradient(x=x, whole=most.whole, key=5, items=items, single=most.single, bits=20, stochastic=False)
    total, count = query.total(objective, once(objective)[0], times), int(times.sum())
    weighted = objective.reweighted(times)
    exact = weighted.mean_gradient(x, seed=5)
    asked = np.arange(len(x)) if items is None else items
    mean = query.mean(total, count)
    assert np.abs(mean - exact)[asked].max() <= query.scale / 2 + 1e-12
    assert not np.delete(mean, asked).any()
    value = float(weighted.weights @ objective.extension(x, seed=5))
    assert abs(query.value(total, count) - value) <= most.whole / LIMIT / 2 + 1e-12


@pytest.mark.parametrize("kind", ["gradient, 1 bit", "votes", "base, graphic", "walk, sampled"])
def test_every_question_at_a_point_says_what_the_point_is_worth(kind: str) -> None:
    """Digits as small as the answer's own bound, and the same value."""
    objective = case_of("facility").objective
    query: Any = replace(KINDS[kind](objective), whole=ranges_of(objective).whole)  # type: ignore[type-var]
    ids, times = once(objective)
    value = float(objective.extension(query.x).mean())
    assert abs(query.value(query.total(objective, ids, times), len(ids)) - value) <= query.whole / LIMIT / 2 + 1e-12


# Bases at home.


def eight_items(clients: int = 12) -> FacilityLocation:
    return FacilityLocation(sparse_matrix(np.random.default_rng(3), clients, N))


def bases(matroid: Matroid, objective: Objective, key: int = KEY, x: Array | None = None) -> Ids:
    """What clients answer, without the digits."""
    most = ranges_of(objective)
    at = np.zeros(objective.n_items) if x is None else x
    query = LocalBase(x=at, whole=most.whole, key=key, matroid=matroid, single=most.single)
    return dense(query, objective, *once(objective))[:, : objective.n_items]


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


def test_who_gains_nothing_names_nothing() -> None:
    objective = FacilityLocation(np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.3, 1e-9]]), keep_empty=True)
    for matroid in (Uniform(3, 2), Graphic([(0, 1), (1, 2), (2, 0)])):
        assert bases(matroid, objective).tolist() == [[0, 0, 0], [1, 1, 0], [0, 1, 0]]
        content = bases(matroid, objective, x=np.array([1.0, 1.0, 0.0]))
        assert content.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]  # the others of client 1 make up for each


@pytest.mark.parametrize("name", [name for name, kind in MATROIDS.items() if kind.matroid.blocks is not None])
def test_groups_are_filled_as_any_matroid_is(name: str) -> None:
    """The same sets written as nested limits go the general way, and end the same, ties and all."""
    blocks = MATROIDS[name].matroid.blocks
    assert blocks is not None
    nested = Laminar(N, [(blocks.group == group, int(room)) for group, room in enumerate(blocks.capacity)])
    assert nested.blocks is None
    objective = eight_items(40)
    for key in range(5):
        ours, theirs = (bases(matroid, objective, key, point(N)) for matroid in (MATROIDS[name].matroid, nested))
        np.testing.assert_array_equal(ours, theirs)


# Walks at home.


def walk_of(matroid: Matroid, objective: Objective, steps: int, samples: int | None = None) -> LocalWalk:
    most = ranges_of(objective)
    x = point(objective.n_items)
    return LocalWalk(x=x, whole=most.whole, key=KEY, samples=samples, matroid=matroid, single=most.single, steps=steps)


@pytest.mark.parametrize("matroid", [uniform, partition, graphic])
def test_a_walk_of_one_step_is_a_base(matroid: Callable[[int], Matroid]) -> None:
    for family in CLOSED:
        objective = case_of(family).objective
        n, everyone = objective.n_items, once(objective)
        walk = walk_of(matroid(n), objective, 1)
        # Each step of a walk tosses coins of its own.
        same = LocalBase(x=walk.x, whole=walk.whole, key=key_of(KEY, 0), matroid=walk.matroid, single=walk.single)
        np.testing.assert_array_equal(dense(walk, objective, *everyone), dense(same, objective, *everyone))
        assert (walk.length, walk.bound) == (same.length, same.bound)
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
        key = key_of(walk.key, step)
        order = sorted(range(n), key=lambda e: (-gains[e], _mixed(_mixed(key ^ client) ^ e)))
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
    found = dense(walk, case.objective, *once(case.objective))[:, : len(walk.x)]
    for client, f in enumerate(case.truth):
        assert found[client].tolist() == walked(lambda at, _: slopes_of(f, at), walk, client)  # noqa: B023
    assert (walk.x + found / walk.steps).max() > 1  # walks do leave the cube


def own_points(objective: Objective) -> Array:
    points = np.random.default_rng(6).random((objective.n_clients, objective.n_items))
    points[:, 0], points[1:, 2], points[0, 4] = 1.0, 0.0, 0.0
    return points


def drawn(point: Array, key: int, client: int, sample: int) -> frozenset[int]:
    """R ~ x by the coins."""
    n = len(point)
    return frozenset(e for e in range(n) if coin(key, client, sample * n + e) < point[e])


def slopes_by_coins(f: SetFunction, at: Array, samples: int, key: int, client: int) -> Array:
    sets = [drawn(at, key, client, sample) for sample in range(samples)]
    return np.array([np.mean([f(r | {e}) - f(r - {e}) for r in sets]) for e in range(len(at))])


@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("family", ["facility", "facility, many levels", "facility, owned rows", "coverage"])
def test_sampled_gradients_look_at_the_sets_of_their_coins(family: str, samples: int) -> None:
    case = case_of(family)
    points, ids = own_points(case.objective), np.array([8, 2, 77, 5, 1])[: case.objective.n_clients]
    for key in (1, KEY):
        rows = case.objective._sampled_each(sparse.csr_array(points), samples, key, ids).toarray()
        for row, f, at, client in zip(rows, case.truth, points, ids.tolist(), strict=True):
            np.testing.assert_allclose(row, slopes_by_coins(f, at, samples, key, client), atol=1e-12)


@pytest.mark.parametrize(
    ("family", "copies"),
    [("facility", 200), ("facility, owned rows", 200), ("probabilistic", 10), ("mixture, closed form", 10)],
)
def test_sampled_gradients_converge(family: str, copies: int) -> None:
    """Fewer sets a client than there could be, so that all draw; the copies of a client draw on their own."""
    objective, samples = case_of(family).objective, 15
    points = own_points(objective)
    exact = objective._gradients_each(sparse.csr_array(points)).toarray()
    batch, ids, _ = crowd(objective, copies)
    rows = batch._sampled_each(sparse.csr_array(np.repeat(points, copies, axis=0)), samples, KEY, ids).toarray()
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
    found = dense(walk, objective, *once(objective))[:, :6]
    for client, row in enumerate(matrix):

        def f(chosen: frozenset[int], row: Array = row) -> float:
            return float(row[sorted(chosen)].any())

        def slopes(at: Array, step: int, f: SetFunction = f, client: int = client) -> Array:
            if samples is None:
                return slopes_of(f, at)
            return slopes_by_coins(f, at, samples, key_of(key_of(KEY, step), 1), client)

        assert found[client].tolist() == walked(slopes, walk, client)


@pytest.mark.parametrize("deal", [False, True])
def test_shards_are_greedy(deal: bool) -> None:
    case = case_of("facility")
    ids, times = np.array([0, 3, 4, 8, 9]), np.array([1, 2, 1, 5, 1])
    query = ShardBase(matroid=partition(6), clients=10, shards=2, deal=deal, items=None, key=KEY)
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
    assert query.total(case.objective, ids, times).tolist() == expected.tolist()


# Gains, and who answers.


def gains_question(objective: Objective, times: Ids, kappa: float | None, *, important: bool) -> tuple[Gains, Array]:
    """A question that cuts nothing off, and every client's κ_i as the paper has it."""
    alone = objective.gains(()).toarray()
    sums = times @ alone
    inverse = np.divide(1.0, sums, out=np.zeros(len(sums)), where=sums > 0)
    chances = np.full(len(times), kappa or 1.0)
    if kappa and important:
        chances = np.array(
            [min(1.0, kappa * max(times[i] * alone[i, sums > 0] / sums[sums > 0])) for i in range(len(times))]
        )
    most = float((alone.max(axis=1) * (times if kappa else 1) / chances).max())
    members = some_members(objective.n_items)
    query = Gains(members=members, items=ITEMS, most=most, key=0, kappa=kappa, inverse=inverse if important else None)
    return query, chances


@pytest.mark.parametrize("family", list(EVERY))
def test_sums_of_gains_are_gains_of_the_mean(family: str) -> None:
    objective = case_of(family).objective
    times = 1 + np.arange(objective.n_clients) ** 2
    query, _ = gains_question(objective, times, None, important=False)
    assert query.takes_part(objective, once(objective)[0], times) is None
    mean = query.mean(query.total(objective, once(objective)[0], times), int(times.sum()), objective.n_items)
    exact = objective.reweighted(times).mean_gains(query.members)
    assert np.abs(mean - exact)[ITEMS].max() <= query.scale / 2 + 1e-12
    assert not np.delete(mean, ITEMS).any()


@pytest.mark.parametrize("family", ["facility", "facility, owned rows", "concave sqrt", "logdet, few dimensions"])
@pytest.mark.parametrize("important", [False, True], ids=["uniform", "important"])
def test_answers_over_their_chance_keep_the_sum(family: str, important: bool) -> None:
    """Algorithm 3: client i answers with probability κ_i, over κ_i."""
    copies, keys = 20, 60
    objective = case_of(family).objective
    times = 1 + np.arange(objective.n_clients)
    query, chances = gains_question(objective, times, 0.7, important=important)
    assert (chances < 1).any()
    batch, ids, _ = crowd(objective, copies)
    often = np.repeat(times, copies)
    exact = objective.gains(query.members).toarray()[:, ITEMS]
    answered, sums = np.zeros(len(times)), np.zeros(exact.shape)
    for key in range(keys):
        question = replace(query, key=key_of(8, key))
        willing = question.takes_part(batch, ids, often)
        assert willing is not None
        rows = dense(question, batch, ids, often) * willing[:, None]
        answered += willing.reshape(-1, copies).sum(axis=1)
        sums += rows.reshape(-1, copies, len(ITEMS)).sum(axis=1)
    trials = copies * keys
    assert np.abs(answered / trials - chances).max() <= within(trials, len(times))
    largest = times[:, None] * exact / chances[:, None] + query.scale
    off = np.abs(sums * query.scale / trials - times[:, None] * exact)
    assert (off <= within(trials, exact.size, largest)).all()


def alone_with(worth: Array) -> tuple[Objective, Array]:
    """A client an item, each worth this share of a sum of one: w_i = worth_i."""
    return FacilityLocation(np.diag(worth), keep_empty=True), np.ones(len(worth))


def expected_answers(objective: Objective, inverse: Array, wanted: float) -> float:
    ids, times = once(objective)
    kappa = Importance.kappa(Importance(inverse=inverse).total(objective, ids, times), wanted)
    query = Gains(members=np.zeros(objective.n_items, dtype=bool), items=np.arange(1), most=1.0, key=0, kappa=kappa)
    return float(replace(query, inverse=inverse)._chances(objective, times).sum())


@pytest.mark.parametrize("wanted", [5, 50, 500, 1500, 1900])
def test_kappa_makes_so_many_answer(wanted: int) -> None:
    """Clients of one power of two are taken alike, so a few percent are missing: never more than a sixth."""
    worth = np.exp(np.random.default_rng(2).normal(size=2000) * 1.5 - 8).clip(max=1.0)
    assert 0.95 * wanted <= expected_answers(*alone_with(worth), wanted) <= 1.001 * wanted


def test_kappa_counts_only_those_who_could_answer() -> None:
    """Ten clients of great importance, a hundred of little, a thousand of none: 10 + κ · 100 · 0.01 = 50."""
    objective, inverse = alone_with(np.repeat([0.9, 0.01, 0.0], [10, 100, 1000]))
    assert expected_answers(objective, inverse, 50) == pytest.approx(50, rel=0.05)


def test_kappa_is_infinite_where_all_must_answer() -> None:
    objective, inverse = alone_with(np.array([0.5, 0.2, 1e-3]))
    total = Importance(inverse=inverse).total(objective, *once(objective))
    assert Importance.kappa(total, 3) == np.inf
    assert Importance.kappa(total, 2.9) < np.inf


def test_importance_is_the_largest_share() -> None:
    """Counts and sums, each in the bin of its power of two; who counts twice has twice the share."""
    objective = FacilityLocation(np.array([[0.5, 0.1], [0.0, 0.2], [0.3, 0.0]]))
    inverse = np.array([0.5, 2.0])  # w = 0.25 (half of 0.5 is more than twice 0.1), 0.4, 0.15
    total = Importance(inverse=inverse).total(objective, np.arange(3), np.array([1, 2, 1]))
    counts, sums = total.reshape(2, -1)
    assert {place: int(counts[place]) for place in np.flatnonzero(counts)} == {0: 1, 1: 1, 2: 1}
    expected = [0.8, 0.25 * 2, 0.15 * 4]
    np.testing.assert_allclose(sums[:3] / 2**FINE_BITS, expected, atol=2.0**-FINE_BITS)


# Ranges.


@pytest.mark.parametrize("family", list(EVERY))
def test_ranges_cover_everybody(family: str) -> None:
    objective = case_of(family).objective
    alone = objective.gains(()).toarray()
    found = ranges_of(objective)
    largest = (alone.max(), objective.values(np.ones(objective.n_items, dtype=bool)).max(), alone.sum(axis=1).max())
    for power, top in zip((found.single, found.whole, found.sum), largest, strict=True):
        assert np.frexp(power)[0] == 0.5
        assert power / 2 < top * (1 + 1e-12)
        assert top <= power * (1 + 1e-12)
    assert found.clipped == 0
    # And so do gradients and their values anywhere.
    x = point(objective.n_items)
    slopes = objective.gradients(x).toarray()
    assert slopes.max() <= found.single * (1 + 1e-12)
    assert slopes.sum(axis=1).max() <= found.sum * (1 + 1e-12)
    assert objective.extension(x).max() <= found.whole * (1 + 1e-12)


@pytest.mark.parametrize("exponent", [-63, -20, -1, 0, 1, 30, 61])
def test_a_power_of_two_covers_itself(exponent: int) -> None:
    power = 2.0**exponent
    assert ranges_of(FacilityLocation(np.array([[power, power / 2]]))) == Ranges(power, power, 2 * power)
    above = np.nextafter(power, np.inf)
    assert bins_of(np.array([power]))[0] + (exponent < MOST) == bins_of(np.array([above]))[0]
    assert bins_of(np.array([np.nextafter(power, 0)]))[0] == bins_of(np.array([power]))[0]


def test_bins_end_somewhere() -> None:
    values = np.array([0.0, -1e-17, 5e-324, 2.0**LEAST, 2.0**MOST, 1e300])
    assert bins_of(values).tolist() == [0, 0, 1, 1, BINS - 1, BINS - 1]


def test_functions_worth_nothing_have_a_range() -> None:
    nothing = Coverage(np.zeros((3, 4)), keep_empty=True)
    assert ranges_of(nothing) == Ranges(1.0, 1.0, 1.0)
    one = FacilityLocation(np.array([[0.0, 0.0], [3.0, 0.0]]), keep_empty=True)
    assert ranges_of(one) == Ranges(4.0, 4.0, 4.0)


def test_ranges_may_leave_out_a_few() -> None:
    values = np.concatenate((np.full(97, 0.7), [5.0, 6.0, 900.0]))
    objective = FacilityLocation(values[:, None])
    total = Magnitude().total(objective, *once(objective))
    for clip, power, left_out in ((1.0, 1024.0, 0.0), (0.99, 8.0, 0.01), (0.98, 8.0, 0.01), (0.97, 1.0, 0.03)):
        found = Magnitude.ranges(total, clip=clip)
        assert (found.single, found.whole, found.sum) == (power, power, power)
        assert found.clipped == pytest.approx(left_out, abs=1e-12)


def test_in_ranges_clients_count_once() -> None:
    objective = case_of("facility").objective
    ids, times = once(objective)
    np.testing.assert_array_equal(
        Magnitude().total(objective, ids, 7 * times), Magnitude().total(objective, ids, times)
    )


# Values.


@pytest.mark.parametrize("family", list(EVERY))
def test_values_are_values(family: str) -> None:
    objective = case_of(family).objective
    masks = some_sets(len(ITEMS), 70)
    sets: Mask = np.zeros((70, objective.n_items), dtype=bool)
    sets[:, ITEMS] = masks
    whole = ranges_of(objective).whole
    query = Values(items=ITEMS, sets=masks, whole=whole)
    ids, times = once(objective)
    np.testing.assert_array_equal(
        dense(query, objective, ids, times), fixed_point(objective.values(sets), whole / LIMIT)
    )
    times = 1 + np.arange(objective.n_clients)
    total = query.total(objective, ids, times)
    exact = objective.reweighted(times).mean_values(sets)
    assert np.abs(query.mean(total, int(times.sum())) - exact).max() <= query.scale / 2 + 1e-12
    assert query.value(total, int(times.sum())) == pytest.approx(exact.max(), abs=query.scale)


@pytest.mark.parametrize("family", list(EVERY))
def test_means_and_spreads(family: str) -> None:
    objective = case_of(family).objective
    masks, n = some_sets(len(ITEMS), 5), objective.n_items
    sets: Mask = np.zeros((5, n), dtype=bool)
    sets[:, ITEMS] = masks
    most, y = ranges_of(objective), (np.arange(n) % 2).astype(float)
    times = 1 + np.arange(objective.n_clients)
    p, ids, count = times / times.sum(), once(objective)[0], int(times.sum())
    query = Appraisal(items=ITEMS, sets=masks, whole=most.whole, single=most.single)
    worth, cut = query.moments(query.total(objective, ids, times), count)
    spread = Spread(x=y, whole=most.whole, single=most.single)
    gradient, value, also_cut = spread.moments(spread.total(objective, ids, times), count)
    assert cut == also_cut == 0
    for found, exact, largest in (
        (worth, objective.values(sets).T, most.whole),
        (gradient, objective.gradients(y).toarray().T, most.single),
        (value, objective.extension(y)[None], most.whole),
    ):
        mean = exact @ p
        variance = (exact - mean[:, None]) ** 2 @ p
        assert np.abs(found.mean - mean).max() <= largest / LIMIT / 2 + 1e-12
        assert np.abs(found.deviation**2 - variance).max() <= 2 * largest**2 / LIMIT
    assert spread.value(spread.total(objective, ids, times), count) == pytest.approx(float(value.mean[0]))


def test_who_does_not_fit_the_range_is_counted() -> None:
    objective = FacilityLocation(np.array([[1.0, 0.5], [3.0, 0.1], [0.5, 0.5]]))
    query = Appraisal(items=np.arange(2), sets=np.eye(2, dtype=bool), whole=2.0, single=2.0)
    ids, times = once(objective)
    assert query.moments(query.total(objective, ids, times), 3)[1] == pytest.approx(1 / 3)
    spread = Spread(x=np.zeros(2), whole=2.0, single=4.0)
    assert spread.moments(spread.total(objective, ids, times), 3)[2] == pytest.approx(1 / 3)
