"""Greedy in few rounds: the algorithm in plain Python, what it promises, and where it could break."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from folkmoot import (
    AdaptiveSequencing,
    Exhaustive,
    FacilityLocation,
    Functions,
    Greedy,
    InputError,
    Matroid,
    Objective,
    Partition,
    Popularity,
    Result,
    Simulation,
    Uniform,
    resume,
    solve,
    verify,
)
from folkmoot.algorithms.federated.adaptive import DEPTH, DOUBT, SequencePromise
from folkmoot.algorithms.federated.draft import DraftLook, discounts, draft_order
from folkmoot.conversation.engine import Control
from folkmoot.conversation.rounds import Ask, Sum, read_reply
from tests.conversation.around import Around
from tests.matroids.kinds import KINDS
from tests.objectives.families import FAMILIES

MOST_ROUNDS = 12


class Stopped(Exception):
    pass


def benefits(seed: int, clients: int = 40, items: int = 14) -> Any:
    """No two gains are alike."""
    rng = np.random.default_rng(seed)
    return rng.random((clients, items)) * (rng.random((clients, items)) < 0.4) + 1e-3


def rounds_of(result: Result) -> int:
    return len(result.rounds or ())


# The algorithm, line by line: everybody asked, plain floating point, no arrays of discounts.


def value(matrix: Any, chosen: tuple[int, ...]) -> float:
    return float(np.mean([max((row[e] for e in chosen), default=0.0) for row in matrix]))


def gain(matrix: Any, chosen: tuple[int, ...], item: int) -> float:
    return value(matrix, (*chosen, item)) - value(matrix, chosen)


def plain_discount(matrix: Any, looked: list[list[int]], a: int, e: int, doubt: float) -> float:
    """Σ after / Σ before of e where a joined and of a where e joined, drawn to the mean discount of a."""
    n = matrix.shape[1]

    def evidence(a: int, e: int) -> tuple[float, float]:
        before = after = 0.0
        for order in looked:
            for at, joined in enumerate(order):
                first = tuple(order[:at])
                if joined == a:
                    had, left = gain(matrix, first, e), gain(matrix, (*first, a), e)
                    before, after = before + had, after + min(left, had)
                if joined == e:
                    mine, others = gain(matrix, first, e), gain(matrix, first, a)
                    taken = others - min(gain(matrix, (*first, e), a), others)
                    before, after = before + mine, after + max(mine - taken, 0.0)
        return before, after

    own, left = evidence(a, e)
    all_own = [evidence(a, other) for other in range(n) if other != a]
    there = sum(before for before, _ in all_own)
    usual = sum(after for _, after in all_own) / there if there > 0 else 1.0
    weight = doubt * max(value(matrix, (item,)) for item in range(n))
    return (left + weight * usual) / (own + weight)


def plain_draft(matrix: Any, looked: list[list[int]], length: int, doubt: float) -> list[int]:
    n = matrix.shape[1]
    order: list[int] = []
    while len(order) < length:
        guesses = {}
        follows = bool(looked) and order == looked[-1][: len(order)]
        for e in set(range(n)) - set(order):
            if follows:  # everybody was asked: these are known
                guesses[e] = gain(matrix, tuple(order), e)
                continue
            known = 0
            while looked and known < len(order) and order[: known + 1] == looked[-1][: known + 1]:
                known += 1
            guess = gain(matrix, tuple(order[:known]), e)
            for a in order[known:]:
                guess *= plain_discount(matrix, looked, a, e, doubt)
            guesses[e] = guess
        order.append(max(guesses, key=lambda e: guesses[e]))
    return order


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_is_the_algorithm_line_by_line(seed: int) -> None:
    matrix, k, rounds = benefits(seed, clients=15, items=10), 4, 3
    doubt = DOUBT / len(matrix)
    looked: list[list[int]] = []
    for _ in range(rounds):
        order = plain_draft(matrix, looked, min(DEPTH * k, 10), doubt)
        if looked and order[:k] == looked[-1][:k]:
            break
        looked.append(order)
    asked: list[list[int]] = []
    engine = Simulation(FacilityLocation(matrix))

    class Listening(Around):
        def add_up(self, ask: Ask, control: Control) -> Sum:
            if ask.label.startswith("look"):
                query: Any = ask.query
                asked.append(query.order.tolist())
                answer = super().add_up(ask, control)
                along = read_reply(query, answer).along
                for at, mark in enumerate(query.marks):
                    first = tuple(query.order[:mark].tolist())
                    truth = [0.0 if e in first else gain(matrix, first, e) for e in query.items.tolist()]
                    np.testing.assert_allclose(along[at], truth, atol=2e-6)
                return answer
            return super().add_up(ask, control)

    solve(None, Uniform(10, k), AdaptiveSequencing(rounds, polish=0), engine=Listening(engine), seed=1)
    assert asked == looked
    assert len(asked) >= 2, "one look would test no discount"


@pytest.mark.parametrize("seed", range(4))
def test_discounts_are_exact_on_the_way_that_was_looked_along(seed: int) -> None:
    """Without doubt and from one look, the product of discounts along it is the gain, for items that come later."""
    objective = FacilityLocation(benefits(seed))
    order = np.random.default_rng(seed).permutation(14)[:6]
    walk = objective.walk()
    gains = [walk.gains()]
    for item in order:
        walk.add(int(item))
        gains.append(walk.gains())
    everything, nothing = np.arange(14), np.array([], dtype=np.int64)
    look = DraftLook(order, np.arange(7), everything, np.array(gains), nothing, 3, np.array([]))
    left = discounts([look], everything, gains[0], 0.0)
    later = np.setdiff1d(everything, order)
    product = gains[0] * np.prod(left[order], axis=0)
    np.testing.assert_allclose(product[later], gains[-1][later], rtol=1e-9, atol=1e-15)
    assert ((left >= 0) & (left <= 1 + 1e-12)).all()


@pytest.mark.parametrize("seed", range(3))
def test_with_everybody_asked_and_looks_enough_it_is_greedy(seed: int) -> None:
    objective = FacilityLocation(benefits(seed))
    greedy = solve(objective, 5, Greedy("lowest"))
    result = solve(objective, 5, AdaptiveSequencing(8, polish=0), seed=seed)
    assert result.value is not None
    assert result.value >= greedy.value * (1 - 1e-5)
    assert result.guarantee is not None
    assert not result.guarantee.vacuous
    assert result.guarantee.factor == pytest.approx(1 - (1 - 1 / 5) ** 5, rel=1e-3), "every share is 1"


# Rounds, matroids, families.


@pytest.mark.parametrize("cohort", [None, 10])
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_matroid_in_twelve_rounds(kind: str, cohort: int | None) -> None:
    matroid = KINDS[kind].matroid
    objective = FacilityLocation(benefits(5, clients=400, items=matroid.n_items))
    method = AdaptiveSequencing(cohort=cohort)
    result = solve(objective, matroid, method, seed=2)
    assert matroid.independent(result.selected)
    assert len(result.selected) == matroid.rank
    assert rounds_of(result) <= MOST_ROUNDS
    assert rounds_of(result) <= method.plan_rounds(matroid)
    if cohort is None:
        best = solve(objective, matroid, Exhaustive()).value
        assert result.value is not None
        assert result.guarantee is not None
        assert result.value >= result.guarantee.factor * best - result.guarantee.additive
    else:
        assert result.guarantee is None, "no theorem covers a sample"


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_family(family: str) -> None:
    objective = FAMILIES[family](np.random.default_rng(7)).objective
    best = solve(objective, 2, Exhaustive()).value
    result = solve(objective, 2, AdaptiveSequencing())
    assert result.value is not None
    assert best * (1 - 1 / np.e) - 1e-6 <= result.value <= best * (1 + 1e-9)
    assert result.value >= solve(objective, 2, Popularity()).value * (1 - 1e-5)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("matroid", [Uniform(9, 4), Partition([0, 1, 2] * 3, 1)], ids=repr)
def test_what_is_promised_is_kept(matroid: Matroid, seed: int) -> None:
    """One look only, so that shares are far from 1."""
    objective = FacilityLocation(benefits(100 + seed, clients=12, items=9))
    result = solve(objective, matroid, AdaptiveSequencing(1, polish=0), seed=seed)
    best = max(
        float(objective.mean_values(some)) for some in combinations(range(9), matroid.rank) if matroid.independent(some)
    )
    assert result.value is not None
    assert result.guarantee is not None
    assert result.value >= result.guarantee.factor * best - result.guarantee.additive


def test_no_promise_rests_on_a_jury() -> None:
    """Everybody looks, but what items are worth alone is known from a few clients."""
    objective = FacilityLocation(benefits(100, clients=120, items=9))
    assert solve(objective, 4, AdaptiveSequencing(1, polish=0)).guarantee is not None
    assert solve(objective, 4, AdaptiveSequencing(1, polish=0, jury=12)).guarantee is None


def test_a_promise_from_shares() -> None:
    assert SequencePromise(True, 2, (1.0, 1.0), 0.0).factor == pytest.approx(0.75)
    assert SequencePromise(True, 4, (1.0, 0.5), 0.0).factor == pytest.approx(1 - 0.75 * 0.875)
    assert SequencePromise(False, 2, (1.0, 0.5), 0.0).factor == pytest.approx(1 / 3)
    assert SequencePromise(False, 3, (1.0, 0.5), 0.0).factor == 0.0, "a base that is not known to its end"
    assert SequencePromise(True, 3, (), 0.0).guarantee(1.0, 1.0, 1.0).vacuous


# Where it could break.


def test_near_substitutes_and_decoys() -> None:
    """60 copies that the same half of the clients like, and 12 small groups: popularity sees the copies alone."""
    rng = np.random.default_rng(0)
    rows, columns = [], []
    for client in range(600):
        liked = range(60) if client % 2 else 60 + 3 * rng.integers(12) + np.arange(3)
        rows += [client] * len(liked)
        columns += list(liked)
    matrix = sparse.csr_array((0.9 + 0.1 * rng.random(len(rows)), (rows, columns)), shape=(600, 96))
    objective = FacilityLocation(matrix)
    greedy = solve(objective, 13, Greedy()).value
    assert solve(objective, 13, Popularity()).value < 0.6 * greedy
    result = solve(objective, 13, AdaptiveSequencing(cohort=300), seed=3)
    assert result.value is not None
    assert result.value > 0.99 * greedy
    assert rounds_of(result) <= MOST_ROUNDS


def test_items_that_did_not_fit_into_the_first_question_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only 12 of 40 items are asked about at every prefix, and the first 12 are copies of each other."""
    monkeypatch.setattr("folkmoot.algorithms.federated.adaptive.MOST_NUMBERS", 120)
    matrix = np.zeros((300, 40))
    matrix[:100, :30] = 1.0 - 1e-3 * np.arange(30)
    matrix[np.arange(100, 300), 30 + np.arange(200) % 10] = 0.9
    objective = FacilityLocation(matrix)
    result = solve(objective, 3, AdaptiveSequencing(polish=0), seed=1)
    assert result.value is not None
    assert result.value > 0.99 * solve(objective, 3, Greedy()).value


@pytest.mark.parametrize(
    ("matrix", "k"),
    [
        (np.ones((1, 1)), 1),
        (np.array([[1.0, 2.0, 0.5]]), 2),
        (benefits(1, clients=1), 5),
        (benefits(2, clients=40), 8),
        (benefits(2, clients=40), 14),
        (np.ones((50, 6)), 3),
        (np.zeros((50, 6)), 2),
        (np.tile([[0.0, 0.0, 1.0]], (50, 1)), 2),
    ],
    ids=["one item", "one client", "one client, more", "k > n/2", "all", "alike", "nothing", "one of worth"],
)
@pytest.mark.parametrize("cohort", [None, 10])
def test_small_and_odd_inputs(matrix: Any, k: int, cohort: int | None) -> None:
    objective = FacilityLocation(matrix, keep_empty=True)
    result = solve(objective, k, AdaptiveSequencing(cohort=cohort), seed=4)
    greedy = solve(objective, k, Greedy()).value
    assert len(result.selected) == k
    assert result.value is not None
    assert result.value >= 0.95 * greedy - 1e-9
    assert rounds_of(result) <= MOST_ROUNDS


def test_sequences_longer_than_one_question_can_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several items join between two marks: they have equal parts in what is lost, and no share is known there."""
    monkeypatch.setattr("folkmoot.algorithms.federated.adaptive.MOST_MARKS", 4)
    objective = FacilityLocation(benefits(6))
    result = solve(objective, 6, AdaptiveSequencing(), seed=1)
    assert result.value is not None
    assert result.value > 0.97 * solve(objective, 6, Greedy()).value
    assert result.guarantee is not None
    assert result.guarantee["known"] < 6


def test_callables_and_weights() -> None:
    variety = Functions([lambda s: len({e % 3 for e in s}), lambda s: min(len(s & {0, 4, 7}), 2)], 9, weights=[1, 3])
    result = solve(variety, 3, AdaptiveSequencing(2))
    assert result.value == pytest.approx(solve(variety, 3, Exhaustive()).value)


def test_dropouts_and_real_sums() -> None:
    objective = FacilityLocation(benefits(8, clients=40, items=9))
    method = AdaptiveSequencing(2, polish=0)
    options: dict[str, Any] = {"dropout": 0.1, "seed": 1}
    ideal = solve(objective, 3, method, engine=Simulation(objective, **options), seed=1)
    real = solve(objective, 3, method, engine=Simulation(objective, secure="real", **options), seed=1)
    assert ideal == real
    assert ideal.guarantee is None, "some did not answer"


@pytest.mark.parametrize("after", [1, 3, 5, 8])
def test_a_run_that_was_stopped_goes_on(after: int, tmp_path: Path) -> None:
    objective = FacilityLocation(benefits(9, clients=120))
    method, path = AdaptiveSequencing(cohort=30), tmp_path / "stopped.run"
    engine = Simulation(objective)

    class Failing(Simulation):
        calls = 0

        def add_up(self, ask: Ask, control: Control) -> Sum:
            self.calls += 1
            if self.calls > after:
                raise Stopped
            return super().add_up(ask, control)

    with pytest.raises(Stopped):
        solve(None, Uniform(14, 4), method, engine=Failing(objective), seed=6, transcript=path)
    whole = solve(None, Uniform(14, 4), method, engine=engine, seed=6)
    assert resume(path, objective) == whole
    assert verify(path, objective) == whole
    assert verify(path).estimate == whole.estimate


def test_settings_are_checked() -> None:
    objective: Objective = FacilityLocation(benefits(1))
    for wrong in (AdaptiveSequencing(0), AdaptiveSequencing(cohort=0), AdaptiveSequencing(polish=-1)):
        with pytest.raises(InputError):
            solve(objective, 2, wrong)
    assert repr(AdaptiveSequencing(3, cohort=9)) == "AdaptiveSequencing(rounds=3, cohort=9)"
    assert AdaptiveSequencing().plan_rounds(Uniform(9, 2)) >= MOST_ROUNDS


def test_drafts_are_layers_of_bases() -> None:
    """Two groups of three, one place each: every two items in a row are a base; loops never come."""
    matroid = Partition([0, 0, 0, 1, 1, 1, 2], [1, 1, 0])
    alone = np.array([9.0, 8.0, 7.0, 3.0, 2.0, 1.0, 50.0])
    order = draft_order(matroid, np.arange(7), alone, np.ones((7, 7)), 7)
    assert order.tolist() == [0, 3, 1, 4, 2, 5]


def test_the_cohort_is_what_is_asked() -> None:
    result = solve(FacilityLocation(benefits(1, clients=90)), 3, AdaptiveSequencing(3, cohort=20), seed=5)
    assert [one.asked for one in result.rounds or () if one.label.startswith("look")] == [20, 20, 20]
