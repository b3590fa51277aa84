"""Computing is apart from describing: what is not wanted is not computed."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import folkmoot as fm
from folkmoot.application import baselines, job
from folkmoot.engines.federation import Federation
from folkmoot.engines.simulate import Simulation
from tests.cli.calling import Said, folkmoot, ratings

RUN = ("run", "ratings.csv", "--choose", "3", "--cohort", "12", "--rounds", "4")
BASELINES = 1  # greedy; the others need no solving


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often something was solved, a question was asked, and a round of the whole protocol was run."""
    found: Counter[str] = Counter()

    def count(target: Any, name: str, what: str) -> None:
        work: Callable[..., Any] = getattr(target, name)

        def counted(*args: Any, **named: Any) -> Any:
            found[what] += 1
            return work(*args, **named)

        monkeypatch.setattr(target, name, counted)

    count(job, "load", "reads")
    count(job, "solve", "solves")
    count(baselines, "solve", "solves")
    count(Simulation, "add_up", "questions")
    count(Federation, "lead_round", "secure rounds")
    return found


def run(folder: Path, *words: str) -> Said:
    said = folkmoot(folder, *RUN, *words)
    assert said.code == 0, said.err
    return said


@pytest.mark.parametrize("method", ["auto", "greedy"])
def test_a_run_without_report_is_one_read_and_one_solve(tmp_path: Path, counts: Counter[str], method: str) -> None:
    ratings(tmp_path)
    words = ("--method", method) if method == "auto" else ()
    central = ("run", "ratings.csv", "--choose", "3", "--method", "greedy")
    said = folkmoot(tmp_path, *(central if method == "greedy" else (*RUN, *words)), "--json", "--no-report")
    assert said.code == 0, said.err
    assert (counts["reads"], counts["solves"], counts["secure rounds"]) == (1, 1, 0)
    assert counts["questions"] == len(said.json["result"]["rounds"] or ())


def test_nothing_more_is_asked_than_by_the_library(tmp_path: Path, counts: Counter[str]) -> None:
    ratings(tmp_path)
    said = run(tmp_path, "--json", "--no-report")
    asked = counts["questions"]
    prepared = fm.Problem.from_data(tmp_path / "ratings.csv", choose=3, cohort=12, rounds=4).prepare()
    result = fm.solve(prepared.loaded.objective, 3, fm.Auto(cohort=12, rounds=4))
    assert counts["questions"] == 2 * asked
    assert said.json["result"]["value"] == result.value


def test_the_terminal_without_a_report_computes_nothing_more(tmp_path: Path, counts: Counter[str]) -> None:
    ratings(tmp_path)
    said = run(tmp_path, "--no-report")
    assert (counts["solves"], counts["secure rounds"]) == (1, 0)
    assert "Most popular" in said.out
    assert "entral greedy" not in said.out


def test_a_report_wants_other_ways_and_one_rehearsal(tmp_path: Path, counts: Counter[str]) -> None:
    ratings(tmp_path)
    said = run(tmp_path)
    assert (counts["reads"], counts["solves"], counts["secure rounds"]) == (1, 1 + BASELINES, 1)
    assert "Central greedy" in said.out or "central greedy" in said.out


@pytest.mark.parametrize("command", ["report", "resume"])
def test_a_report_is_made_from_the_data_every_time(tmp_path: Path, counts: Counter[str], command: str) -> None:
    """What a folder holds is not believed; but nobody is asked anything again."""
    ratings(tmp_path)
    run(tmp_path)
    counts.clear()
    assert folkmoot(tmp_path, command, "ratings-run").code == 0
    assert counts == {"reads": 1, "solves": BASELINES, "questions": 1, "secure rounds": 1}  # the round that is shown
