"""What commands print: help on two screens, everything in a pipe, and nothing that was not asked for."""

import json
from pathlib import Path

import pytest

from folkmoot.cli.help import USUAL
from folkmoot.foundation.settings import Choose, Data, How, Output, PrivacySettings
from tests.cli.calling import folkmoot, ratings

SCREEN = 24  # lines of a terminal


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


@pytest.mark.parametrize("command", ["run", "compare", "inspect", "init"])
def test_help_fits_on_two_screens(tmp_path: Path, command: str) -> None:
    said = folkmoot(tmp_path, command, "--help")
    assert said.code == 0
    assert len(said.out.splitlines()) <= 2 * SCREEN
    assert "--help-all" in said.out


def test_help_begins_with_what_is_needed(tmp_path: Path) -> None:
    said = folkmoot(tmp_path, "run", "--help").out
    first, second = said.index("[required]"), said.index("─ needed ─")
    assert first < second < said.index("--choose") < said.index("--at-most") < said.index("--items")
    kit = folkmoot(tmp_path, "federation", "run", "--help").out
    assert kit.index("─ needed ─") < kit.index("--kit") < kit.index("─ choose ─")


def test_all_help_shows_every_setting_in_full(tmp_path: Path) -> None:
    brief, full = (folkmoot(tmp_path, "run", flag).out for flag in ("--help", "--help-all"))
    renamed = {("choose", "count"): "choose", ("method", "name"): "method"}
    for kind in (Data, Choose, How, PrivacySettings, Output):
        for name in kind.__dataclass_fields__:
            flag = f"--{renamed.get((kind.__name__.lower(), name), name).replace('_', '-')}"
            if name not in ("file", "name", "count"):
                assert f"{flag} " in full or f"{flag}\n" in full
                assert (f"{flag} " in brief) == (name in USUAL)
    assert "--within" in full
    assert "--within" not in brief
    assert "e^epsilon" in " ".join(full.split())
    # Help that was shown in full once is brief again the next time.
    assert len(folkmoot(tmp_path, "run", "--help").out.splitlines()) <= 2 * SCREEN


def test_quiet_prints_where_the_answer_is(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--folder", "films", "--quiet", "--no-report")
    assert (said.code, said.out, said.err) == (0, "films\n", "")
    assert json.loads((tmp_path / "films" / "result.json").read_text())["selected"]
    assert folkmoot(tmp_path, "resume", "films", "-q", "--no-report").out == "films\n"
    words = ("--methods", "greedy,random", "--seeds", "1", "--folder", "both", "-q")
    assert folkmoot(tmp_path, "compare", "ratings.csv", "--choose", "2", *words).out == "both\n"
    wrong = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "0", "--quiet")
    assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, "", 1)


def test_a_pipe_gets_all_that_was_chosen(tmp_path: Path) -> None:
    rows = [f"{user},{film},{1 + (user * film) % 5}" for user in range(40) for film in range(60)]
    (tmp_path / "many.csv").write_text("\n".join(["userId,movieId,rating", *rows]) + "\n")
    said = folkmoot(tmp_path, "run", "many.csv", "--choose", "45", "--method", "greedy", "--no-report")
    assert said.code == 0, said.err
    listed = said.out.split("The answer")[1].split("How good it is")[0]
    rows = listed.split("Total\n")[1].splitlines()[:45]
    assert [row.split()[0] for row in rows] == [str(at) for at in range(1, 46)]
    assert "more" not in listed


def test_one_is_not_many(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("userId,movieId,rating\n1,1,5\n1,2,3\n")
    for method in ("greedy", "auto"):
        said = folkmoot(
            tmp_path, "run", "one.csv", "--choose", "1", "--method", method, "--markdown", "--folder", method
        )
        assert said.code == 0, said.err
        told = said.out + (tmp_path / method / "report.md").read_text()
        for wrong in ("for 1 users", "1 rounds", "1 clients", "1 movies,", "1 rows", "1 items "):
            assert f" {wrong}" not in told
