"""Numbers that rest on few clients, counted in runs: against every client's own answer, one after the other."""

import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm
from folkmoot.application.contributors import MOST_ROUNDS, choose_rounds, count_contributors
from folkmoot.application.rarity import FEW, SUMS, find_rare_numbers
from folkmoot.conversation.engine import Control
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.foundation.errors import TranscriptError
from folkmoot.questions import GainsAlong
from tests.coins import toss_for

CLIENTS, ITEMS, COHORT = 300, 150, 40
MATROID = fm.Uniform(ITEMS, 5)


def draw_ratings(weights: Any = None) -> fm.Objective:
    rng = np.random.default_rng(0)
    chance = (np.arange(ITEMS) + 2.0) ** -0.9
    rows, columns = np.repeat(np.arange(CLIENTS), 8), rng.choice(ITEMS, 8 * CLIENTS, p=chance / chance.sum())
    table = np.zeros((CLIENTS, ITEMS))
    table[rows, columns] = rng.integers(1, 6, len(rows))
    return fm.FacilityLocation(sparse.csr_array(table), most=5.0, weights=weights)


def draw_places() -> fm.Objective:
    rng = np.random.default_rng(1)
    homes, places = rng.random((CLIENTS, 1, 2)), rng.random((1, ITEMS, 2))
    far = np.sqrt(((homes - places) ** 2).sum(axis=2))
    return fm.FacilityLocation(sparse.csr_array(np.maximum(0.0, 1 - far / 0.1)), keep_empty=True)


def draw_baskets() -> fm.Objective:
    return fm.Coverage(draw_ratings().gains(()) > 0)


DATA: dict[str, Callable[[], fm.Objective]] = {
    "ratings": draw_ratings,
    "baskets": draw_baskets,
    "places": draw_places,
    "weighted": lambda: draw_ratings(np.random.default_rng(2).pareto(1.2, CLIENTS) + 0.1),
}
METHODS: dict[str, fm.Federated] = {
    "auto": fm.Auto(cohort=COHORT),
    "auto by scale": fm.Auto(cohort=COHORT, by_scale=True),
    "shortlist": fm.Auto(cohort=COHORT, shortlist=30),
    "fedcg": fm.FedCG(rounds=6, cohort=COHORT),
    "discrete": fm.DiscreteGreedy(expected_answers=COHORT),
    "few rounds": fm.AdaptiveSequencing(rounds=4, cohort=COHORT),
}


class Listening(fm.Simulation):
    """Counts, client by client, who adds something to each number of every sum."""

    def __init__(self, objective: fm.Objective, **settings: Any) -> None:
        super().__init__(objective, **settings)
        self.heard: dict[str, list[tuple[int, ...]]] = {}

    def add_up(self, ask: Ask, control: Control) -> Sum:
        said = super().add_up(ask, control)
        if ask.purpose in SUMS and said.clients and not said.lost:
            held = np.zeros(ask.query.length, dtype=int)
            ids, times = ask.cohort.list_members()
            present = np.ones(len(ids), dtype=bool) if said.present is None else said.present
            for client, count in zip(ids[present], times[present], strict=True):
                one = np.array([client])
                held += (
                    ask.query.answers(
                        self.objective[one],
                        one,
                        np.array([count]),
                        toss_for(ask.query),
                    ).toarray()[0]
                    != 0
                )
            parts = held > 0, held == 1, held == 2, (held > 0) & (held <= FEW)
            self.heard.setdefault(SUMS[ask.purpose], []).append((said.clients, *(int(part.sum()) for part in parts)))
        return said


def check_against_every_client(objective: fm.Objective, method: Any, path: Path, **settings: Any) -> dict[str, Any]:
    """The worst round of each kind is the one that is told; what was found."""
    engine = Listening(objective, **settings)
    result = fm.solve(objective, MATROID, method, engine=engine, transcript=path, seed=3)
    found = {one.what: one for one in find_rare_numbers(objective, MATROID, method, result, path)}
    assert found.keys() == engine.heard.keys()
    for what, one in found.items():
        worst = max(engine.heard[what], key=lambda heard: (heard[2], heard[4]))
        assert (one.clients, one.numbers, one.one, one.two, one.few) == worst
    return found


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("data", list(DATA))
def test_counts_are_those_of_every_client(data: str, method: str, tmp_path: Path) -> None:
    found = check_against_every_client(DATA[data](), METHODS[method], tmp_path / "run")
    assert found["the search"].one > 0


def test_whoever_dropped_out_does_not_count(tmp_path: Path) -> None:
    found = check_against_every_client(draw_ratings(), METHODS["auto"], tmp_path / "run", dropout=0.3, seed=1)
    assert found["each item alone"].clients < CLIENTS


def test_buckets_and_candidates_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("folkmoot.algorithms.federated.wide.MOST_ITEMS", 100)
    monkeypatch.setattr("folkmoot.algorithms.federated.wide.CANDIDATES", 20)
    found = check_against_every_client(draw_ratings(), fm.Auto(cohort=COHORT, jury=200), tmp_path / "run")
    assert len(found) == 3


def test_long_answers_are_counted_in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    objective, everyone = draw_ratings(), np.arange(CLIENTS)
    order = np.arange(10)
    query = GainsAlong(
        order=order, marks=order, items=np.arange(20, ITEMS), others=np.arange(10, 20), wide=3, single=5.0, whole=5.0
    )
    once = np.ones(CLIENTS, dtype=np.int64)
    whole = count_contributors(query, objective, everyone, once, toss_for(query))
    monkeypatch.setattr("folkmoot.application.contributors.CLIENTS_PER_BLOCK", 64)
    np.testing.assert_array_equal(count_contributors(query, objective, everyone, once, toss_for(query)), whole)


def test_where_one_speaks_for_others_it_is_estimated(tmp_path: Path) -> None:
    objective, method, path = draw_ratings(), fm.RandGreeDi(shards=5), tmp_path / "run"
    result = fm.solve(objective, MATROID, method, engine=fm.Simulation(objective), transcript=path)
    found = [one.what for one in find_rare_numbers(objective, MATROID, method, result, path)]
    assert found == ["each item alone", "the search, estimated"]


def test_some_rounds_stand_for_very_many() -> None:
    assert choose_rounds([], 100) == []
    assert choose_rounds([(3, 40), (7, 50)], 100) == [3, 7]
    assert choose_rounds([(3, 40), (7, 51)], 100) == [3]
    some = choose_rounds([(number, 1) for number in range(1_000)], 10**6)
    assert (len(some), some[0], some[-1]) == (MOST_ROUNDS, 0, 999)


@pytest.mark.parametrize("text", [b"{}", b"[]", b"no question"])
def test_a_question_that_cannot_be_read_is_refused(text: bytes, tmp_path: Path) -> None:
    objective, path = draw_ratings(), tmp_path / "run"
    result = fm.solve(objective, MATROID, METHODS["auto"], engine=fm.Simulation(objective), transcript=path)
    database = sqlite3.connect(path)
    with database:
        database.execute("update rounds set ask = ?", (zlib.compress(text),))
    database.close()
    with pytest.raises(TranscriptError, match="does not fit the data"):
        find_rare_numbers(objective, MATROID, METHODS["auto"], result, path)
