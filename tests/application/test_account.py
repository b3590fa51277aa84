"""What is told of a run beyond its result: who has something from it, and what each place is worth alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.application.alone import read_alone
from folkmoot.application.problem import Problem
from folkmoot.application.run import FinishedRun, begin_run
from folkmoot.report.story import Story

TOWNS = {"North": (45.0, 9.0), "South": (41.0, 14.0), "Island": (39.0, 9.0), "Abroad": (60.0, 25.0)}


def write_places(folder: Path) -> Path:
    """Thirty people in the north, twenty in the south, one on the island; nobody abroad."""
    lines = ["latitude,longitude"]
    for name, many in (("North", 30), ("South", 20), ("Island", 1)):
        latitude, longitude = TOWNS[name]
        lines += [f"{latitude + 0.01 * at / many},{longitude}" for at in range(many)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    towns = [f"{name},{latitude},{longitude}" for name, (latitude, longitude) in TOWNS.items()]
    (folder / "towns.csv").write_text("\n".join(["name,latitude,longitude", *towns]) + "\n")
    return folder / "people.csv"


def run_places(folder: Path, **changed: Any) -> FinishedRun:
    data = write_places(folder)
    settings = {"items": str(folder / "towns.csv"), "kind": "places", "reach": 50.0, "choose": 2, **changed}
    return begin_run(Problem.from_data(data, folder=str(folder / "run"), **settings))


def tell(finished: FinishedRun) -> Story:
    return finished.story(compare=False)


@pytest.mark.parametrize("method", ["auto", "greedy"])
def test_places_tell_their_reach_and_who_has_none(tmp_path: Path, method: str) -> None:
    story = tell(run_places(tmp_path, method=method))
    assert (story.kind, story.reach) == ("places", 50.0)
    assert sorted(item.name for item in story.chosen) == ["North", "South"]
    assert story.benefit is not None
    assert story.benefit.clients == 50
    assert story.benefit.share == pytest.approx(50 / 51)


@pytest.mark.parametrize("method", ["fedcg", "greedy"])
def test_dots_are_as_dark_as_the_sums_say(tmp_path: Path, method: str) -> None:
    """By the sums that the server has, where it asked for them; by the data, where a central method had it."""
    finished = run_places(tmp_path, method=method)
    story = tell(finished)
    alone = {item.name: item.alone for item in (*story.chosen, *story.others)}
    assert alone["North"] == 1.0
    assert alone["Abroad"] == 0.0
    assert alone["South"] == pytest.approx(20 / 30, abs=0.01)
    assert alone["Island"] == pytest.approx(1 / 30, abs=0.01)
    known = read_alone(finished.folder.transcript, 4)
    assert (known is None) == (method == "greedy")
    assert read_alone(finished.folder.transcript, 5) is None  # a sum about something else


def test_noise_leaves_dots_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    write_places(tmp_path)
    lines = [f"{45 + at:.4f},{9.0:.4f}" for at in rng.uniform(0, 0.2, 3000)]
    (tmp_path / "people.csv").write_text("\n".join(["latitude,longitude", *lines]) + "\n")
    settings = {"items": str(tmp_path / "towns.csv"), "kind": "places", "reach": 50.0, "choose": 1, "epsilon": 5.0}
    story = tell(begin_run(Problem.from_data(tmp_path / "people.csv", folder=str(tmp_path / "run"), **settings)))
    assert all(item.alone is None for item in (*story.chosen, *story.others))


def test_other_kinds_have_no_reach(tmp_path: Path) -> None:
    (tmp_path / "likes.csv").write_text("user,film\n1,a\n2,a\n3,b\n4,c\n")
    problem = Problem.from_data(tmp_path / "likes.csv", choose=1, folder=str(tmp_path / "run"))
    story = tell(begin_run(problem))
    assert story.kind == "memberships"
    assert story.reach is None
    assert story.benefit is not None
    assert (story.benefit.clients, story.n_clients) == (2, 4)
