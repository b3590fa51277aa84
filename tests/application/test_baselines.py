"""What other ways to choose are worth: one number each, wherever it is shown."""

from pathlib import Path
from typing import Any

import pytest

import folkmoot as fm
from folkmoot.application.baselines import find_baselines
from folkmoot.report import Story
from folkmoot.report.facts import rank_entries
from tests.cli.calling import films, folkmoot, ratings


def run(folder: Path, *, report: bool = True, **changes: Any) -> Story:
    given: dict[str, Any] = {"choose": 3, "seed": 2, "folder": folder / f"run-{len(list(folder.iterdir()))}"}
    return fm.Problem.from_data(folder / "ratings.csv", **{**given, **changes}).run(report=report).story(compare=report)


def find(story: Story, name: str) -> float:
    return next(one.value for one in story.baselines if one.name == name)


@pytest.mark.parametrize("limits", [[], [{"at_most": 1, "per": "genres"}]])
def test_runs_comparisons_and_sums_agree(tmp_path: Path, limits: list[dict[str, Any]]) -> None:
    ratings(tmp_path)
    films(tmp_path)
    about: dict[str, Any] = {"items": tmp_path / "movies.csv", "limits": limits}
    told = run(tmp_path, **about)
    estimate = told.result.estimate
    assert estimate is not None
    assert estimate.everyone
    assert find(told, "random") == pytest.approx(estimate.random, rel=1e-5)  # the same sets, to a step of the grid
    assert find(told, "most popular") == pytest.approx(estimate.popularity, rel=1e-5)
    for other in (run(tmp_path, report=False, **about), run(tmp_path, method="greedy", **about)):
        for name in ("random", "most popular"):
            assert find(other, name) == find(told, name)
    given = {"choose": 3, "seed": 2, **about}
    found = fm.Problem.from_data(tmp_path / "ratings.csv", **given).compare(["auto", "random", "popularity"], seeds=2)
    means = {one.entry.name: one.mean for one in rank_entries(found)}
    assert means["random"] == pytest.approx(find(told, "random"), rel=1e-12)
    assert means["popularity"] == pytest.approx(find(told, "most popular"), rel=1e-12)


def test_popularity_is_a_way_that_sees_only_sums(tmp_path: Path) -> None:
    ratings(tmp_path)
    problem = fm.Problem.from_data(tmp_path / "ratings.csv", choose=3)
    seen = {one.name: one.federated for one in problem.compare(["auto", "greedy", "popularity", "random"], 1).entries}
    assert seen == {"auto": True, "greedy": False, "popularity": True, "random": True}
    assert all(one.sees_everything == (one.name == "central greedy") for one in run(tmp_path).baselines)


def test_a_page_shows_one_number_for_each(tmp_path: Path) -> None:
    """Also where a jury estimates them: its estimates are not shown beside what the data says."""
    ratings(tmp_path)
    words = ("--choose", "3", "--cohort", "12", "--jury", "20", "--seed", "3", "--markdown")
    said = folkmoot(tmp_path, "run", "ratings.csv", *words)
    assert said.code == 0, said.err
    page = (tmp_path / "ratings-run" / "report.md").read_text()
    assert page.count("| Random") == 1
    assert page.count("| Most popular") == 1
    assert "| a random choice" not in page


def test_a_choice_that_is_the_most_popular_is_known_as_such(tmp_path: Path) -> None:
    ratings(tmp_path)
    job = fm.Problem.from_data(tmp_path / "ratings.csv", choose=3).prepare()
    popular = fm.solve(job.loaded.objective, job.matroid, fm.Popularity()).selected
    for chosen, same in ((popular, True), (popular[1:], False)):
        found = {one.name: one.same for one in find_baselines(job, chosen, central=False)}
        assert found == {"most popular": same, "random": False}
