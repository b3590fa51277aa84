"""Ctrl-C at every stage leaves a run that can be gone on with, and that ends as it would have."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from folkmoot import Result, Simulation
from tests.cli.calling import folkmoot, ratings

WORDS = ("run", "ratings.csv", "--method", "fedcg", "--choose", "3", "--cohort", "15", "--rounds", "4", "--seed", "2")


def interrupted_at(call: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Somebody presses Ctrl-C when this is called for the `call`th time."""

    def around(work: Callable[..., Any]) -> Callable[..., Any]:
        calls = iter(range(1, 1_000))

        def working(*args: Any, **named: Any) -> Any:
            if next(calls) == call:
                raise KeyboardInterrupt
            return work(*args, **named)

        return working

    return around


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "call"),
    [
        ("folkmoot.application.job.load", 1),  # while the file is read
        ("folkmoot.application.job.bind_groups", 1),
        *(("folkmoot.engines.simulate.Simulation.add_up", call) for call in (1, 2, 3, 5, 6)),  # in a round
        ("folkmoot.conversation.transcript.Transcript.finish", 1),
        ("folkmoot.application.folder.Folder.write", 2),  # before the hashes of the data are (the first is the problem)
        ("folkmoot.application.folder.Folder.write", 3),  # before what the run is about is written
        ("folkmoot.application.folder.Folder.write", 4),  # before the result is written
        ("folkmoot.application.baselines.solve", 1),  # while other ways are tried
        ("folkmoot.application.folder.Folder.write", 5),  # before the story is written
    ],
)
def test_whatever_is_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, call: int) -> None:
    ratings(tmp_path)
    with monkeypatch.context() as patch:
        module, _, name = stage.rpartition(".")
        target: Any = part_named(module)
        patch.setattr(target, name, interrupted_at(call)(getattr(target, name)))
        said = folkmoot(tmp_path, *WORDS)
    assert said.code == 130
    assert said.err.endswith("folkmoot: stopped; go on with: folkmoot resume ratings-run\n")
    assert not list((tmp_path / "ratings-run").glob(".*"))
    gone_on = folkmoot(tmp_path, "resume", "ratings-run", "--json")
    assert gone_on.code == 0, gone_on.err
    whole = folkmoot(tmp_path, *WORDS, "--json")
    first, second = (Result.from_json(json.dumps(one.json["result"])) for one in (gone_on, whole))
    assert first == second
    assert folkmoot(tmp_path, "verify", "ratings-run").code == 0


def part_named(name: str) -> Any:
    """A module, or a class in one."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, inner = name.rpartition(".")
        return getattr(import_module(module), inner)


def test_a_run_that_is_not_finished_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ratings(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Simulation, "add_up", interrupted_at(3)(Simulation.add_up))
        assert folkmoot(tmp_path, *WORDS).code == 130
    for command in ("report", "verify"):
        said = folkmoot(tmp_path, command, "ratings-run")
        assert said.code == 2
        assert "not finished; go on with `folkmoot resume ratings-run`" in said.err


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        (("compare", "ratings.csv", "--choose", "2"), "folkmoot.application.job.load"),
        (("compare", "ratings.csv", "--choose", "2"), "folkmoot.application.comparison.carry_out"),
        (WORDS, "folkmoot.cli.runs.load_problem"),  # before there is a folder
    ],
)
def test_what_leaves_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], stage: str
) -> None:
    ratings(tmp_path)
    monkeypatch.setattr(stage, interrupted_at(1)(lambda: None))
    said = folkmoot(tmp_path, *words)
    assert (said.code, said.err) == (130, "\nfolkmoot: stopped; nothing was kept\n")
    assert [one.name for one in tmp_path.iterdir()] == ["ratings.csv"]


def test_no_command_stops_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ratings(tmp_path)
    monkeypatch.setattr("folkmoot.application.verification.check_run", interrupted_at(1)(lambda: None))
    assert folkmoot(tmp_path, *WORDS, "--quiet", "--no-report").code == 0
    said = folkmoot(tmp_path, "verify", "ratings-run")
    assert (said.code, said.err) == (130, "\nfolkmoot: stopped\n")
