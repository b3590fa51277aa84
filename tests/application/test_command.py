"""The command that a report shows is made from the problem, and asks the same."""

import shlex
from pathlib import Path
from typing import Any

import pytest

import folkmoot as fm
from folkmoot.application.command import spell_command
from folkmoot.application.folder import Folder
from tests.cli.calling import films, folkmoot, ratings

LIMIT = {"at_most": 2, "per": "genres"}
ASKED: list[tuple[dict[str, Any], str]] = [
    ({"choose": 2}, "folkmoot run ratings.csv --choose 2"),
    (
        {"choose": 3, "items": "movies.csv", "limits": [LIMIT], "seed": 5, "rounds": 4, "settings": {"polish": 3}},
        "folkmoot run ratings.csv --items movies.csv --choose 3 --at-most 2 --per genres --rounds 4 --set polish=3 "
        "--seed 5",
    ),
    (
        {"choose": 2, "method": "fedcg", "settings": {"answer": "base"}, "title": "It's for all", "show_client": True},
        "folkmoot run ratings.csv --choose 2 --method fedcg --title 'It'\"'\"'s for all' --show-client --set "
        "'answer=\"base\"'",
    ),
    ({"choose": 2, "most": 5.0, "png": True, "markdown": True}, "folkmoot run ratings.csv --most 5.0 --choose 2"),
    (
        {
            "items": "movies.csv",
            "limits": [{"at_most": 1, "per": "region", "within": "country"}, {"at_most": 2, "per": "country"}],
        },
        "folkmoot run run/run.toml --folder run-again",  # options cannot say it
    ),
]


@pytest.mark.parametrize(("asked", "command"), ASKED, ids=[command for _, command in ASKED])
def test_a_command_asks_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ratings(tmp_path)
    films(tmp_path)
    run = fm.Problem.from_data("ratings.csv", **asked, folder="run").run(report=False)
    spelled = spell_command(run.folder.read_problem())
    assert spelled == command
    words = [*shlex.split(spelled)[1:], "--no-report", "--json"]
    again = folkmoot(tmp_path, *words, *(() if "--folder" in words else ("--folder", "run-again")))
    assert again.code == 0, again.err
    assert Folder(tmp_path / "run-again").read_result() == run.result


def test_lists_are_repeated_options(tmp_path: Path) -> None:
    rows = [f"{row % 3},{row % 5},{row % 2},{row % 7},{row % 2}" for row in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["site,a,b,c,target", *rows]) + "\n")
    data = {"kind": "tables", "client": "site", "target": "target", "drop": ["a", "c"], "method": "greedy", "choose": 1}
    run = fm.Problem.from_data(tmp_path / "t.csv", **data, folder=tmp_path / "run").run(report=False)
    command = spell_command(run.folder.read_problem())
    assert command == (
        "folkmoot run t.csv --kind tables --client site --target target --drop a --drop c --choose 1 --method greedy"
    )
    again = folkmoot(tmp_path, *shlex.split(command)[1:], "--folder", "again", "--no-report")
    assert again.code == 0, again.err
    assert Folder(tmp_path / "again").read_result() == run.result


def test_files_that_are_far_away_are_named_in_full(tmp_path: Path) -> None:
    ratings(tmp_path)
    deep = tmp_path / "a" / "b" / "c" / "d" / "e" / "f" / "g" / "h" / "i" / "j" / "k" / "l" / "m" / "n" / "run"
    run = fm.Problem.from_data(tmp_path / "ratings.csv", choose=2, folder=deep, method="greedy").run(report=False)
    near = spell_command(run.folder.read_problem()).split()[2]
    assert len(near) <= len(str(tmp_path / "ratings.csv"))
