"""What sums of gradients and votes mean, on any number of threads.

Tests that toss coins fail by chance with probability below 1e-9 (Hoeffding, with a union over all that is compared);
seeds are fixed, so they do not fail by chance twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot.foundation.kernels
from folkmoot import (
    FacilityLocation,
    Functions,
    Objective,
    ProbabilisticCoverage,
)
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, Ids
from folkmoot.questions import (
    Gradient,
    Query,
    Votes,
)
from tests.coins import toss_for
from tests.objectives.families import sparse_matrix
from tests.questions.kinds import (
    EVERY,
    GENERAL,
    ITEMS,
    KINDS,
    SHARDS,
    point,
)
from tests.questions.measures import (
    LIMIT,
    case_of,
    crowd,
    dense,
    once,
    ranges_of,
    reply_of,
    within,
)

# Threads.


def large(rows: int = 17_000, n: int = 60) -> Array:
    """More than half a million entries."""
    rng = np.random.default_rng(1)
    return np.where(rng.random((rows, n)) < 0.55, rng.integers(1, 6, (rows, n)) / 5, 0.0)


def populations() -> Iterator[tuple[Objective, dict[str, Callable[[Objective], Query[Any]]]]]:
    matrix = large()
    every = {name: make for name, make in KINDS.items() if name not in GENERAL} | SHARDS
    some = {name: KINDS[name] for name in ("gradient, 4 bits", "votes", "walk, partition", "gains, by importance")}
    yield FacilityLocation(matrix, keep_empty=True), every
    yield FacilityLocation(matrix, keep_empty=True, owners=np.arange(len(matrix)) // 2), some
    yield ProbabilisticCoverage(matrix, keep_empty=True), {name: some[name] for name in ("gradient, 4 bits", "votes")}


@pytest.mark.slow
def test_sums_do_not_depend_on_threads_or_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for objective, kinds in populations():
        ids, times = 3 * np.arange(objective.n_clients), 1 + np.arange(objective.n_clients) % 4
        queries = {name: make(objective) for name, make in kinds.items()}
        sums: dict[str, list[Ids]] = {name: [] for name in queries}
        for entries, count, least in ((250_000, 1, 2), (250_000, 2, 2), (20_000, 2, 20), (10_000_000, 2, 1)):
            monkeypatch.setattr(folkmoot.foundation.kernels, "ENTRIES_PER_BLOCK", entries)
            assert len(objective.client_blocks()) >= least
            with folkmoot.foundation.kernels.threads(count):
                for name, query in queries.items():
                    sums[name].append(query.total(objective, ids, times, toss_for(query)))
        for name, same in sums.items():
            for other in same[1:]:
                np.testing.assert_array_equal(same[0], other, err_msg=name)


@pytest.mark.parametrize("samples", [60, 64])
def test_a_client_alone_rounds_as_in_a_crowd(samples: int) -> None:
    """f̂(x) lies half-way between two units: the last bit of the float decides, so it must be the same bit."""
    objective = Functions([lambda s: float(bool(s))] * 5, 8)
    x = np.full(8, 0.3)
    x[0] = 1.0
    query = Gradient(x=x, whole=2.0, coins=PublicCoins(3), samples=samples, single=1.0, bits=20, stochastic=False)
    ids, times = once(objective)
    alone = [query.total(objective[[i]], ids[[i]], times[[i]], toss_for(query)) for i in range(5)]
    np.testing.assert_array_equal(query.total(objective, ids, times, toss_for(query)), np.sum(alone, axis=0))


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
    query = Gradient(
        x=x, whole=most.whole, coins=PublicCoins(0), items=items, single=most.single, bits=bits, stochastic=True
    )
    asked = np.arange(len(x)) if items is None else items
    expected = objective.gradients(x).toarray()[:, asked] / query.main.unit
    sums = np.zeros_like(expected)
    for key in range(keys):
        rows = dense(replace(query, coins=PublicCoins.of(9, key)), *crowd(objective, copies))[:, : len(asked)]
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
    query = Votes(x=x, whole=most.whole, coins=PublicCoins(0), items=items, votes=count, sum=most.sum, bits=bits)
    asked = np.arange(len(x)) if items is None else items
    expected = objective.gradients(x).toarray()[:, asked]
    shares = expected / expected.sum(axis=1, keepdims=True)
    sums, squares = np.zeros_like(expected), np.zeros_like(expected)
    for key in range(keys):
        rows = dense(replace(query, coins=PublicCoins.of(9, key)), *crowd(objective, copies))[:, : len(asked)]
        by_client = rows.reshape(-1, copies, len(asked))
        assert (np.count_nonzero(by_client, axis=2) <= count).all()
        worth, left = np.divmod(by_client.sum(axis=2), count)  # all votes are cast, and weigh the same
        assert not left.any()
        cast = by_client / np.maximum(worth, 1)[:, :, None]
        assert (np.abs(cast - count * shares[:, None])[worth > 0] < 1 + 1e-9).all()
        sums += by_client.sum(axis=1) * query.main.unit
        squares += (by_client**2).sum(axis=1) * query.main.unit**2
    mean = sums / (copies * keys)
    error = np.sqrt((squares / (copies * keys) - mean**2) / (copies * keys))
    assert (np.abs(mean - expected) <= 6 * error + 1e-12).all()


@pytest.mark.parametrize("items", [None, ITEMS], ids=["all", "shortlist"])
@pytest.mark.parametrize("family", list(EVERY))
def test_sums_of_gradients_are_the_gradient_of_the_mean(family: str, items: Ids | None) -> None:
    objective = case_of(family).objective
    times = 1 + np.arange(objective.n_clients) ** 2
    most, x = ranges_of(objective), point(objective.n_items)
    query = Gradient(
        x=x, whole=most.whole, coins=PublicCoins(5), items=items, single=most.single, bits=20, stochastic=False
    )
    reply = reply_of(query, objective, once(objective)[0], times)
    weighted = objective.reweight(times)
    exact = weighted.mean_gradient(x, seed=5)
    asked = np.arange(len(x)) if items is None else items
    mean = reply.mean
    assert np.abs(mean - exact)[asked].max() <= query.main.unit / 2 + 1e-12
    assert not np.delete(mean, asked).any()
    value = float(weighted.weights @ objective.extension(x, seed=5))
    assert abs(reply.value - value) <= most.whole / LIMIT / 2 + 1e-12


@pytest.mark.parametrize("kind", ["gradient, 1 bit", "votes", "base, graphic", "walk, sampled"])
def test_every_question_at_a_point_says_what_the_point_is_worth(kind: str) -> None:
    """Digits as small as the answer's own bound, and the same value."""
    objective = case_of("facility").objective
    query: Any = replace(KINDS[kind](objective), whole=ranges_of(objective).whole)  # type: ignore[type-var]
    value = float(objective.extension(query.x).mean())
    assert abs(reply_of(query, objective, *once(objective)).value - value) <= query.whole / LIMIT / 2 + 1e-12
