"""From Python: what commands do, and the same results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import folkmoot as fm
from folkmoot.application.run import RunStopped, continue_run, open_run
from folkmoot.application.verification import verify_run
from tests.cli.calling import films, folkmoot, ratings

PROBLEM = """seed = 3
[data]
file = "ratings.csv"
items = "movies.csv"
[choose]
count = 4
[[limit]]
at_most = 2
per = "genres"
[method]
rounds = 5
cohort = 12
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ratings(tmp_path)
    films(tmp_path)
    (tmp_path / "problem.toml").write_text(PROBLEM)
    return tmp_path / "problem.toml"


def without_time(result: dict[str, Any]) -> dict[str, Any]:
    rounds = [{name: value for name, value in one.items() if name != "seconds"} for one in result["rounds"]]
    return {**{name: value for name, value in result.items() if name != "seconds"}, "rounds": rounds}


def test_run_does_what_the_command_does(path: Path) -> None:
    said = folkmoot(path.parent, "run", "problem.toml", "--folder", "shell", "--json").json
    run = fm.Problem.load(path, folder=path.parent / "python").run()
    assert run.document()["run"] == str(path.parent / "python")
    assert [Path(one).name for one in said["report"]] == [one.name for one in run.files]
    assert fm.Result.from_json(json.dumps(said["result"])) == run.result
    assert without_time(run.document()["result"]) == without_time(said["result"])
    kept = [{one.name for one in (path.parent / name).iterdir()} for name in ("shell", "python")]
    assert kept[0] == kept[1]
    assert run.story().baselines
    assert verify_run(run.folder.path) == run.result
    assert folkmoot(path.parent, "verify", "python").code == 0


def test_without_a_report_there_is_none(path: Path) -> None:
    run = fm.Problem.load(path, folder=path.parent / "run").run(report=False)
    assert run.document()["report"] == []
    assert not run.folder.story.exists()
    assert [one.name for one in run.story(compare=False).baselines] == ["most popular", "random"]  # the cheap ones
    again = open_run(run.folder.path)
    assert again.result == run.result
    told = again.write_report(html=False, markdown=True)
    assert [one.name for one in told.files] == ["report.md"]
    assert replace(told.story(), view=None) == replace(again.story(), view=None)  # masks are drawn anew


def test_keywords_go_before_the_file(path: Path) -> None:
    problem = fm.Problem.load(path, choose=3, seed=8, method="greedy", rounds=None, cohort=None)
    assert (problem.choose.count, problem.seed, problem.method.name, problem.method.rounds) == (3, 8, "greedy", None)
    job = problem.prepare()
    assert job.matroid.rank == 3
    assert isinstance(job.method, fm.Greedy)


def test_data_and_keywords_are_a_problem(path: Path) -> None:
    folder = path.parent
    given = {"items": folder / "movies.csv", "choose": 4, "limits": [{"at_most": 2, "per": "genres"}]}
    problem = fm.Problem.from_data(folder / "ratings.csv", **given, rounds=5, cohort=12, seed=3)
    run = problem.prepare()
    expected = fm.solve(run.loaded.objective, run.matroid, fm.Auto(cohort=12, rounds=5), seed=3)
    assert fm.Problem.load(path, folder=folder / "run").run(report=False).result == expected


def test_compare_and_inspect_are_the_commands(path: Path) -> None:
    found = fm.Problem.load(path).compare(["auto", "greedy"], seeds=2)
    said = folkmoot(path.parent, "compare", "problem.toml", "--methods", "auto,greedy", "--seeds", "2", "--json")
    printed = {one["name"]: tuple(one["values"]) for one in said.json["comparison"]["entries"]}
    assert {one.name: one.values for one in found.entries} == printed
    inspection = fm.Problem.from_data(path.parent / "ratings.csv", choose=3).inspect()
    shown = folkmoot(path.parent, "inspect", "ratings.csv", "--choose", "3", "--json").json
    assert json.loads(json.dumps(inspection.document())) == shown
    assert inspection.expected is not None
    assert inspection.expected.matroid.rank == 3


@pytest.mark.parametrize(
    ("methods", "seeds", "sentence"),
    [
        (["best"], 1, "^methods: 'best' is not one of auto"),
        ([], 1, "^methods: needs the name"),
        (["auto"], 0, "^seeds: needs a whole number of at least 1"),
    ],
)
def test_a_wrong_comparison_is_refused(path: Path, methods: list[str], seeds: int, sentence: str) -> None:
    with pytest.raises(fm.InputError, match=sentence):
        fm.Problem.load(path).compare(methods, seeds)


def test_errors_do_not_speak_of_flags(path: Path) -> None:
    folder = path.parent
    ratings(folder, ["3,4,"], "holes.csv")
    for changes, sentence in (
        (
            {"choose": 2},
            r"^holes.csv: 1 cell of rating is missing .* in line \d+; say what to do: missing='drop'$",
        ),
        ({"choose": 2, "value": "stars"}, "^value: holes.csv has no column stars"),
        ({"choose": 99, "missing": "drop"}, "^choose: 99 items cannot be chosen from 10"),
        ({"choose": 2, "missing": "drop", "settings": {"bitz": 3}}, r"^settings\['bitz'\]: the method auto has"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            fm.Problem.from_data(folder / "holes.csv", folder=folder / "run", **changes).run()
        assert not (folder / "run").exists()


def test_a_stopped_run_says_how_to_continue(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    problem = fm.Problem.load(path, folder=path.parent / "run")
    with monkeypatch.context() as patch:
        patch.setattr(fm.Simulation, "__call__", stop)
        with pytest.raises(RunStopped, match=r"^go on with: folkmoot resume \S+run$"):
            problem.run()
    whole = fm.Problem.load(path, folder=path.parent / "whole").run(report=False)
    assert continue_run(path.parent / "run").result == whole.result
