"""Numbers that rest on few clients: estimates against counts of sums that were really drawn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm
from folkmoot.application.problem import Problem
from folkmoot.application.rarity import (
    ALONE,
    BUCKETED,
    FEW,
    count_holders,
    draw_by_scale,
    draw_chance,
    estimate_rare,
    find_rare_numbers,
    list_rare_numbers,
    spread_chances,
)
from folkmoot.conversation.engine import Control
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.questions import Gains
from folkmoot.report import markdown
from folkmoot.report.sections.rarity import explain_rare, find_worst, list_rare_items, name_remedies
from folkmoot.report.story import RareNumbers
from tests.cli.calling import folkmoot
from tests.report.stories import make_federated, make_story

CLIENTS, ITEMS, COHORT = 3_000, 2_000, 200


@pytest.fixture(scope="module")
def crowd() -> fm.Coverage:
    rng = np.random.default_rng(0)
    chance = (np.arange(ITEMS) + 3.0) ** -1.1
    rows, columns = np.repeat(np.arange(CLIENTS), 6), rng.choice(ITEMS, 6 * CLIENTS, p=chance / chance.sum())
    return fm.Coverage(sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(CLIENTS, ITEMS)) > 0)


def test_chances_are_those_of_draws_without_repeats() -> None:
    degrees = np.arange(1, 8)
    chances = np.array([draw_chance(k, degrees, 4, 9) for k in range(8)])
    np.testing.assert_allclose(chances.sum(axis=0), 1.0, rtol=1e-9)
    assert chances[1, 0] == pytest.approx(4 / 9)
    assert chances[0, 6] == 0.0  # only two of nine do not hold it


def test_estimates_are_what_cohorts_show(crowd: fm.Coverage) -> None:
    """The mean over 200 cohorts; six standard errors, so it fails by chance once in 10^8 seeds."""
    rng, counted = np.random.default_rng(1), []
    for _ in range(200):
        cohort = crowd[np.sort(rng.choice(CLIENTS, COHORT, replace=False))]
        held = count_holders(cohort)
        counted.append([(held > 0).sum(), (held == 1).sum(), (held == 2).sum(), ((held > 0) & (held <= FEW)).sum()])
    found = estimate_rare("a round", count_holders(crowd), COHORT, CLIENTS)
    off = 6 * np.std(counted, axis=0) / np.sqrt(len(counted)) + 0.5
    assert (np.abs(np.mean(counted, axis=0) - [found.numbers, found.one, found.two, found.few]) <= off).all()
    assert found.one > found.numbers / 3


def test_of_a_run_without_a_transcript_the_smallest_sums_are_estimated_and_noise_hides_them(crowd: fm.Coverage) -> None:
    matroid, method = fm.Uniform(ITEMS, 5), fm.Auto(cohort=COHORT)
    result = fm.solve(crowd, matroid, method, engine=fm.Simulation(crowd))
    rare = {one.what: one for one in find_rare_numbers(crowd, matroid, method, result)}
    assert rare["the search, estimated"].clients == COHORT
    assert rare["each item alone, estimated"].clients == CLIENTS  # the jury is everyone
    assert find_worst(tuple(rare.values())) == rare["the search, estimated"]
    private = fm.solve(crowd, matroid, privacy=fm.Privacy(5.0))
    assert find_rare_numbers(crowd, matroid, fm.PrivateGreedy(epsilon=5.0), private) == ()


def test_a_shortlist_leaves_fewer_numbers_that_rest_on_one(crowd: fm.Coverage, tmp_path: Path) -> None:
    matroid, alone = fm.Uniform(ITEMS, 5), []
    for shortlist in (None, 40):
        method, path = fm.Auto(cohort=COHORT, shortlist=shortlist), tmp_path / f"{shortlist}"
        result = fm.solve(crowd, matroid, method, engine=fm.Simulation(crowd), transcript=path)
        one = {rare.what: rare for rare in find_rare_numbers(crowd, matroid, method, result, path)}["the search"]
        alone.append(one.one)
    assert 0 < alone[1] < alone[0] / 4


def test_whoever_weighs_more_is_asked_more_often(crowd: fm.Coverage) -> None:
    """Fifty clients hold a hundred items each that few others do, and are most of the weight."""
    heavy, rng = 50, np.random.default_rng(2)
    gains = crowd.gains(()).tolil()
    gains[:heavy] = 0
    for client in range(heavy):
        gains[client, ITEMS - 1 - rng.choice(1_500, 100, replace=False)] = 1
    uneven = fm.Coverage(gains.tocsr() > 0, weights=np.where(np.arange(CLIENTS) < heavy, 1_000.0, 1.0))
    method = fm.Auto(cohort=COHORT)
    (found,) = list_rare_numbers(uneven, fm.Uniform(ITEMS, 5), method, {"the search": heavy})
    counted = []
    for seed in range(20):
        drawn = np.random.default_rng(seed + 9).choice(CLIENTS, heavy, replace=False, p=uneven.weights)
        counted.append((count_holders(uneven[np.sort(drawn)]) > 0).sum())
    assert abs(found.numbers - np.mean(counted)) < 6 * np.std(counted)


@pytest.fixture(scope="module")
def uneven() -> fm.FacilityLocation:
    """One client in fifty rates everything a hundred times as high as others, and rates forty rare items."""
    rng, rows = np.random.default_rng(4), np.zeros((CLIENTS, ITEMS))
    for client in range(CLIENTS):
        heavy = client % 50 == 0
        items = 500 + rng.choice(1_500, 40, replace=False) if heavy else rng.choice(500, 6, replace=False)
        rows[client, items] = rng.integers(1, 6, len(items)) * (100.0 if heavy else 1.0)
    return fm.FacilityLocation(sparse.csr_array(rows))


def count_rare(objective: fm.Objective) -> list[int]:
    held = count_holders(objective)
    return [int(part.sum()) for part in (held > 0, held == 1, held == 2, (held > 0) & (held <= FEW))]


WEIGH = {"alike": np.ones(CLIENTS), "weighted": np.linspace(1.0, 3.0, CLIENTS)}


@pytest.mark.parametrize("weights", list(WEIGH))
@pytest.mark.parametrize(("kind", "answers"), [("scale", 200), ("paper", 200), ("shortlist", 30), ("uniform", 200)])
def test_whoever_is_likely_to_answer_counts_by_its_chance(
    kind: Any, answers: int, weights: str, uneven: fm.FacilityLocation
) -> None:
    """Against cohorts of real coins. The estimate is one draw, so six of their standard deviations are allowed, and
    it fails by chance once in 10^7 seeds; as if drawn evenly, less than half of the numbers would be seen.
    """
    objective, matroid = uneven.reweight(WEIGH[weights]), fm.Uniform(ITEMS, 5)
    method = fm.DiscreteGreedy(expected_answers=answers, importance=kind)
    asked: list[Ask] = []

    class Listening(fm.Simulation):
        def add_up(self, ask: Ask, control: Control) -> Sum:
            asked.append(ask)
            return super().add_up(ask, control)

    fm.solve(objective, matroid, method, engine=Listening(objective))
    question = next(ask for ask in asked if ask.purpose is Purpose.SEARCH)
    ids, times = question.cohort.list_members()
    assert isinstance(question.query, Gains)
    assert question.query.who is not None
    willing = [question.query.who.takes_part(objective, ids, times, PrivateCoins.derive(key)) for key in range(60)]
    counted = np.array([count_rare(objective[np.flatnonzero(some)]) for some in willing])
    many = {"the search": round(np.mean([some.sum() for some in willing]))}
    (found,) = list_rare_numbers(objective, matroid, method, many, many)
    shown = [found.numbers, found.one, found.two, found.few]
    assert abs(found.clients - many["the search"]) <= 1
    assert (np.abs(counted.mean(axis=0) - shown) <= 6 * counted.std(axis=0)).all()
    (even,) = list_rare_numbers(objective, matroid, method, many)
    assert (even.numbers < 0.5 * counted[:, 0].mean()) == (kind != "uniform")


def test_what_the_default_method_asks_by_coins_is_estimated_so(uneven: fm.FacilityLocation) -> None:
    """About sixty heavy clients are nearly always among those who answer, with their forty rare items each."""
    matroid, numbers = fm.Uniform(ITEMS, 5), []
    for by_scale in (False, True):
        method = fm.Auto(cohort=COHORT, jury=2_000, by_scale=by_scale)
        result = fm.solve(uneven, matroid, method, engine=fm.Simulation(uneven))
        rare = {one.what: one for one in find_rare_numbers(uneven, matroid, method, result)}
        numbers.append(rare["the search, estimated"].numbers)
        assert rare[f"{ALONE}, estimated"].clients == 2_000
    assert 2 * numbers[0] < numbers[1]


def test_chances_add_up_and_none_is_above_one() -> None:
    odds = np.array([0.0, 1.0, 1.0, 2.0, 100.0, 1000.0])
    np.testing.assert_allclose(spread_chances(odds, 3), [0.0, 0.25, 0.25, 0.5, 1.0, 1.0])
    np.testing.assert_array_equal(spread_chances(odds, 6), odds > 0)  # who counts nothing is never asked
    drawn = np.zeros(len(odds))
    for scales in (odds, np.zeros(len(odds))):
        drawn[draw_by_scale(np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]), scales, 5)] += 1
    np.testing.assert_array_equal(drawn, [0, 2, 2, 2, 2, 2])


def test_all_items_are_asked_about_alone_before_a_shortlist(crowd: fm.Coverage) -> None:
    matroid, method = fm.Uniform(ITEMS, 5), fm.Auto(cohort=COHORT, shortlist=40)
    result = fm.solve(crowd, matroid, method, engine=fm.Simulation(crowd))
    alone = next(one for one in find_rare_numbers(crowd, matroid, method, result) if one.what == f"{ALONE}, estimated")
    held = count_holders(crowd)
    assert (alone.clients, alone.numbers, alone.one) == (CLIENTS, (held > 0).sum(), (held == 1).sum())


def test_buckets_are_not_items(monkeypatch: pytest.MonkeyPatch, crowd: fm.Coverage) -> None:
    """What candidates are worth alone is asked of two juries at once; so are buckets, up to 800 clients."""
    monkeypatch.setattr("folkmoot.algorithms.federated.wide.MOST_ITEMS", 1_000)
    monkeypatch.setattr("folkmoot.algorithms.federated.wide.CANDIDATES", 300)
    matroid, method = fm.Uniform(ITEMS, 5), fm.Auto(cohort=20, jury=400)
    result = fm.solve(crowd, matroid, method, engine=fm.Simulation(crowd))
    found = find_rare_numbers(crowd, matroid, method, result)
    rare = {one.what.removesuffix(", estimated"): one for one in found}
    assert list(rare) == [ALONE, "the search", BUCKETED]
    assert (rare[ALONE].clients, rare["the search"].clients, rare[BUCKETED].clients) == (800, 20, 800)
    assert rare[ALONE].numbers <= 300 < rare[BUCKETED].numbers


@pytest.mark.parametrize(
    ("items", "chosen", "clients", "everyone", "helps"),
    [
        (2_000, 5, 200, 3_000, "fewer items (--shortlist 50), larger cohorts (--cohort) or noise (--epsilon 1)"),
        (105, 10, 610, 610, "noise (--epsilon 1)"),
        (105, 3, 8, 8, "fewer items (--shortlist 30)"),
        (3, 1, 1, 1, "more clients"),
    ],
)
def test_only_what_is_possible_is_recommended(items: int, chosen: int, clients: int, everyone: int, helps: str) -> None:
    assert name_remedies(items, chosen, clients, everyone).startswith(helps)


@pytest.fixture(scope="module")
def file(crowd: fm.Coverage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rare") / "likes.csv"
    rows = crowd.gains(())
    owner = np.repeat(np.arange(CLIENTS), np.diff(rows.indptr))
    path.write_text("user,book\n" + "\n".join(f"{u},b{i}" for u, i in zip(owner, rows.indices, strict=True)) + "\n")
    return path


def test_it_is_said_before_and_after(file: Path, tmp_path: Path) -> None:
    settings = ["--choose", "5", "--cohort", str(COHORT)]
    before = folkmoot(tmp_path, "inspect", str(file), "--choose", "5", "--json")
    assert before.json["rare"]["one"] > 0
    assert "rest on one user alone" in " ".join(folkmoot(tmp_path, "inspect", str(file), "--choose", "5").out.split())
    after = folkmoot(tmp_path, "run", str(file), *settings, "--folder", str(tmp_path / "run"))
    said = " ".join(after.out.split())
    assert "rest on one user alone" in said
    assert "--epsilon 1" in said
    assert "estimated" not in said
    printed = folkmoot(tmp_path, "run", str(file), *settings, "--folder", "json", "--json", "--no-report").json
    assert [one["what"] for one in printed["rare"]] == ["each item alone", "the search"]
    story = Problem.from_data(str(file), choose=5, cohort=COHORT, folder=str(tmp_path / "again")).run().story()
    worst = find_worst(story.rare)
    assert worst is not None
    assert worst.clients == COHORT
    told = markdown(story)
    assert f"Rare items: {worst.one:,} of {worst.numbers:,} numbers" in told
    assert "| the search | 200 |" in told


@pytest.mark.parametrize(("one", "verb"), [(1, "1 rests on one user alone"), (2, "2 rest on one user alone")])
def test_one_number_rests_and_two_rest(one: int, verb: str) -> None:
    rare = RareNumbers("the search", 1000, 70, one, 0, 3)
    assert verb in explain_rare(rare, "users")
    story = make_story(make_federated(("Alien",), (0.4,)), rare=(rare,))
    assert ("and is what that one holds" in list_rare_items(story)[0]) == (one == 1)
