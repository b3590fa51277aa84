"""Transcripts: a run that is killed goes on as if nothing had been, and a changed file is noticed."""

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import (
    DiscreteGreedy,
    FacilityLocation,
    FedCG,
    FedCGPlus,
    InputError,
    Oracle,
    Partition,
    Result,
    RoundFailed,
    Simulation,
    TranscriptError,
    resume,
    solve,
    verify,
)
from folkmoot.algorithms.federated.method import Federated
from folkmoot.conversation.engine import Control
from folkmoot.conversation.result import Round
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.conversation.transcript import INTENTS, Transcript
from tests.conversation.around import Around

GROUPS = [0, 0, 0, 1, 1, 1, 2, 2, 2]
METHODS = [
    FedCG(3, cohort=12),
    FedCGPlus(4, 2, cohort=12),
    DiscreteGreedy(expected_answers=15),
    FedCG(2, answer="votes"),
]


def people(seed: int = 0, clients: int = 50) -> FacilityLocation:
    rng = np.random.default_rng(seed)
    return FacilityLocation(rng.integers(1, 6, (clients, 9)), weights=rng.integers(1, 4, clients))


class Killed(Exception):
    """In place of a power cut."""


def killed_after(rounds: int) -> Any:
    def watch(done: int, _: int, __: Round) -> None:
        if done == rounds:
            raise Killed

    return watch


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_killed_after_any_round_and_resumed(method: Federated, tmp_path: Path) -> None:
    objective, matroid = people(), Partition(GROUPS, 1)
    whole = solve(objective, matroid, method, seed=4, transcript=tmp_path / "whole")
    assert whole == solve(objective, matroid, method, seed=4)
    assert whole == verify(tmp_path / "whole", objective)
    told = verify(tmp_path / "whole")  # by the sums alone
    assert (told.selected, told.estimate, told.rounds) == (whole.selected, whole.estimate, whole.rounds)
    for rounds in range(1, len(whole.rounds or ()) + 1):
        path = tmp_path / f"killed {rounds}"
        with pytest.raises(Killed):
            solve(objective, matroid, method, seed=4, transcript=path, progress=killed_after(rounds))
        with pytest.raises(TranscriptError, match=rf"the run is not finished \({rounds} rounds\)"):
            verify(path)
        assert resume(path, objective) == whole
        assert verify(path, objective) == whole
        assert not list(tmp_path.glob(f"killed {rounds}-*")), "one file a run"


SCRIPT = """
import sys, os, signal
sys.path.insert(0, {root!r})
from tests.conversation.test_transcript import people, GROUPS
from folkmoot import FedCG, Partition, solve
def watch(done, planned, last):
    if done == {rounds}:
        os.kill(os.getpid(), signal.SIGKILL)
solve(people(), Partition(GROUPS, 1), FedCG(3, cohort=12), seed=4, transcript={path!r}, progress=watch)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 4])
def test_a_real_kill(rounds: int, tmp_path: Path) -> None:
    path = tmp_path / "run"
    root = str(Path(__file__).parents[2])
    script = SCRIPT.format(root=root, rounds=rounds, path=str(path))
    process = subprocess.run([sys.executable, "-c", script], check=False, cwd=root, env={**os.environ})
    assert process.returncode == -signal.SIGKILL
    assert resume(path, people()) == solve(people(), Partition(GROUPS, 1), FedCG(3, cohort=12), seed=4)


def test_a_finished_run_resumes_to_itself(tmp_path: Path) -> None:
    result = solve(people(), 3, FedCG(3, cohort=12), transcript=tmp_path / "run")
    assert resume(tmp_path / "run", people()) == result
    assert verify(tmp_path / "run", people()) == result


def test_reading_writes_nothing(finished: Path) -> None:
    before = finished.read_bytes()
    finished.chmod(0o400)
    verify(finished)
    assert finished.read_bytes() == before
    assert list(finished.parent.iterdir()) == [finished]


def test_a_failed_run_keeps_its_transcript(tmp_path: Path) -> None:
    objective = people()
    steady, broken = Simulation(objective, dropout=0.4), Simulation(objective, dropout=0.4)
    broken.dropout = 0.999  # they describe themselves alike: the same run, on a bad day
    broken.describe = steady.describe  # type: ignore[method-assign]
    with pytest.raises(RoundFailed, match="a stored run can be resumed"):
        solve(objective, 3, FedCG(3, cohort=12), engine=broken, transcript=tmp_path / "run")
    with Transcript.reopen(tmp_path / "run") as store:
        assert len(store) == 3
    result = resume(tmp_path / "run", engine=steady)  # those who are there now are asked again
    assert result == solve(objective, 3, FedCG(3, cohort=12), engine=steady)


class Losing(Around):
    """Rounds of these numbers are lost: as they are told, or after clients had sent their answers."""

    def __init__(self, objective: FacilityLocation, lost: tuple[int, ...] = (), spent: tuple[int, ...] = ()) -> None:
        super().__init__(Simulation(objective))
        self.lost, self.spent, self.heard = lost, spent, list[Ask]()

    def add_up(self, ask: Ask, control: Control) -> Sum:
        self.heard.append(ask)
        if ask.number not in (*self.lost, *self.spent):
            return super().add_up(ask, control)
        nothing = np.zeros(ask.query.length, dtype=np.int64)
        return Sum(nothing, 0, ask.cohort.size, ask.cohort.weight, lost=True, spent=ask.number in self.spent)


def alike(clients: int = 90) -> FacilityLocation:
    return FacilityLocation(np.random.default_rng(1).integers(1, 6, (clients, 9)))


SMALL = FedCG(3, cohort=12, jury=20, range_from="jury")


def test_a_spent_round_is_gone_on_with_by_others(tmp_path: Path) -> None:
    """Round 4 is spent, 5 and 6 are lost: when more are there, 5 is asked again, of none who sent an answer to 4."""
    bad = Losing(alike(), lost=(5, 6), spent=(4,))
    with pytest.raises(RoundFailed, match="a stored run can be resumed"):
        solve(None, 3, SMALL, engine=bad, transcript=tmp_path / "run")
    good = Losing(alike())
    result = resume(tmp_path / "run", engine=good)
    assert good.heard[0].number == 5
    assert good.heard[0].label == bad.heard[4].label
    first, second = bad.heard[4].cohort.ids, good.heard[0].cohort.ids
    assert first is not None
    assert second is not None
    assert not np.isin(first, second).any()
    assert result == solve(None, 3, SMALL, engine=Losing(alike(), spent=(4,)))
    assert verify(tmp_path / "run").rounds == result.rounds


@pytest.mark.parametrize(
    ("method", "lost", "spent", "sentence"),
    [
        (FedCG(3), (), (4,), "everyone was asked"),
        (SMALL, (4, 5), (6,), "3 times in a row"),  # by then clients had answered: no more attempts
    ],
)
def test_a_spent_round_is_not_forgotten(
    method: Federated, lost: tuple[int, ...], spent: tuple[int, ...], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(RoundFailed, match=sentence) as failed:
        solve(None, 3, method, engine=Losing(alike(), lost, spent), transcript=tmp_path / "run")
    again = Losing(alike())
    with pytest.raises(RoundFailed) as once_more:
        resume(tmp_path / "run", engine=again)
    assert not again.heard  # nobody is asked the same once more
    assert str(once_more.value) == str(failed.value)


def change(path: Path, statement: str, *values: Any) -> None:
    database = sqlite3.connect(path)
    with database:
        assert database.execute(statement, values).rowcount == 1
    database.close()


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    solve(people(), 3, FedCG(3, cohort=12), transcript=path)
    return path


def test_changes_are_noticed(finished: Path) -> None:
    database = sqlite3.connect(finished)
    other = database.execute("select total from rounds where number = 2").fetchone()[0]
    database.close()
    change(finished, "update rounds set total = ? where number = 1", other)
    with pytest.raises(TranscriptError, match=r"the sum of round 1 \(each item alone\) was changed"):
        verify(finished)
    with pytest.raises(TranscriptError, match="was changed"):
        resume(finished, people())


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("update rounds set count = count - 1 where number = 2", "round 2 .* was changed"),
        ("update rounds set spent = 1 where number = 2", "round 2 .* was changed"),
        ("update rounds set present = x'00' where number = 2", "round 2 .* was changed"),
        ("update rounds set digest = 'x' where number = 0", "round 0 .* is not what this run would ask"),
        ("update rounds set purpose = 'none' where number = 1", "round 1 .* is not what this run would ask"),
        ("insert into about values ('verdict', 'the best')", r"holds what no run writes \(entry verdict\)"),
        ("update about set value = x'ff' where name = 'version'", r"is damaged \(entry version\)"),
        ("update about set value = x'ff' where name = 'result'", r"is damaged \(entry result\)"),
        ("update about set value = 'nothing' where name = 'seen'", r"is damaged \(entry seen\)"),
        ("delete from rounds where number = 3", "is missing"),
        ("update about set value = '0.0.1' where name = 'version'", "was written by folkmoot 0.0.1, but this is"),
        ("update about set value = 'other' where name = 'format'", "is not a transcript in the format"),
        (
            "update about set value = 'folkmoot-transcript-1' where name = 'format'",
            "was written by an older version of folkmoot, in a format that can no longer be read; run it again$",
        ),
        (
            "update about set value = 'folkmoot-transcript-3' where name = 'format'",
            "was written by an older version of folkmoot, in a format that can no longer be read; run it again$",
        ),
        ("update about set value = 'other' where name = 'run'", "run: data: is not a packed question$"),
    ],
)
def test_what_does_not_fit_is_one_sentence(finished: Path, statement: str, sentence: str) -> None:
    change(finished, statement)
    with pytest.raises((TranscriptError, InputError), match=sentence) as refused:
        verify(finished)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("create table notes (words text)", "table notes"),
        ("create view best as select 1", "view best"),
        ("create index quick on rounds (label)", "index quick"),
        ("alter table rounds add column verdict text", "table rounds"),
        ("pragma user_version = 99", "numbers in its head"),
    ],
)
def test_nothing_can_be_added(finished: Path, statement: str, what: str) -> None:
    database = sqlite3.connect(finished)
    database.execute(statement)
    database.commit()
    database.close()
    with pytest.raises(TranscriptError, match=rf"run: holds what no run writes \({what}\)$"):
        verify(finished)


def test_nothing_can_be_appended(finished: Path) -> None:
    finished.write_bytes(finished.read_bytes() + b"forged")
    with pytest.raises(TranscriptError, match="bytes after its end"):
        verify(finished)


def test_only_rounds_that_are_there_were_begun(finished: Path) -> None:
    database = sqlite3.connect(finished)
    with database:
        database.execute(INTENTS)
    verify(finished)  # whoever resumes a run makes this table
    with database:
        database.execute("insert into intents select number, digest, 2 from rounds")
    verify(finished)
    with database:
        database.execute("insert into intents values (99, 'x', 2)")
    database.close()
    with pytest.raises(TranscriptError, match="begun round 99"):
        verify(finished)


def chain_again(path: Path, statement: str) -> None:
    """As a forger would: hashes are no secret."""
    database = sqlite3.connect(path)
    store = Transcript(path, database)
    columns = "number, digest, total, present, cost, count, clients, asked, lost, spent"
    with database:
        database.execute(statement)
        for number, *parts in database.execute(f"select {columns} from rounds order by number").fetchall():
            database.execute("update rounds set chain = ? where number = ?", (store._chain(number, *parts), number))
    database.close()


COST = '"down": 0.0, "up": 0.0, "seconds": 0.1, "measured": false'


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("asked = asked + 7", r"round 0 \(.*\) cannot have been like this"),
        ("spent = 1", "cannot have been like this"),
        ("lost = 2", "cannot have been like this"),
        (f'cost = \'{{{COST}, "noise": 3.5, "honest": 5}}\'', "cannot have been like this"),
        (f"cost = '{{{COST}, \"verdict\": 1}}'", "cannot be read"),
        (f"cost = '{{\"up\": 7.0, {COST}}}'", "cannot be read"),
        (f"cost = '{{{COST.replace('0.1', 'Infinity')}}}'", "cannot be read"),
        (f"cost = '{{{COST.replace('0.1', 'true')}, \"made\": 1}}'", "cannot be read"),
        ("cost = '['", "cannot be read"),
        ("total = cast(total || x'00' as blob)", "bytes are missing, or follow the end"),
        ("ask = cast(ask || x'00' as blob)", "is not what this run would ask"),
    ],
)
def test_a_chain_that_was_made_again_helps_nobody(finished: Path, assignment: str, sentence: str) -> None:
    chain_again(finished, "update rounds set label = label")
    verify(finished, people())
    chain_again(finished, f"update rounds set {assignment}")
    with pytest.raises(TranscriptError, match=sentence):
        verify(finished)


def test_a_changed_result_is_noticed(finished: Path) -> None:
    result = verify(finished, people())
    other = Result.from_json(result.to_json().replace(f'"selected": {list(result.selected)}', '"selected": [0, 1, 2]'))
    assert other != result
    change(finished, "update about set value = ? where name = 'result'", other.to_json().encode())
    with pytest.raises(TranscriptError, match="lead to a different result"):
        verify(finished)


def test_a_forged_value_is_not_passed_on(finished: Path) -> None:
    forged = replace(verify(finished, people()), value=99.0)
    change(finished, "update about set value = ? where name = 'result'", forged.to_json().encode())
    assert verify(finished).value is None or verify(finished).value < 99
    with pytest.raises(TranscriptError, match="lead to a different result"):
        verify(finished, people())


def test_other_clients_are_refused(finished: Path) -> None:
    with pytest.raises(TranscriptError, match="was made with 50 clients and 9 items, but 40 and 9 were given"):
        resume(finished, people(clients=40))
    with pytest.raises(TranscriptError, match="or the weights differ"):
        resume(finished, people().reweight(np.ones(50)))
    benefits = np.random.default_rng(9).integers(1, 6, (50, 9))
    with pytest.raises(TranscriptError, match="different data of the same size"):
        resume(finished, FacilityLocation(benefits, weights=people().client_weights))
    with pytest.raises(TranscriptError, match="the engine was"):
        resume(finished, engine=Simulation(people(), dropout=0.1))
    with pytest.raises(TranscriptError, match="not under the matroid given"):
        resume(finished, people(), matroid=Partition(GROUPS, 1))
    with pytest.raises(InputError, match="the transcript holds sums, and not the clients"):
        resume(finished)


def test_an_oracle_is_passed_again(tmp_path: Path) -> None:
    oracle = Oracle(9, lambda chosen: len(chosen) <= 3)
    result = solve(people(), oracle, FedCG(2), transcript=tmp_path / "run")
    with pytest.raises(InputError, match="is a function, which is not stored; pass it again"):
        verify(tmp_path / "run")
    assert verify(tmp_path / "run", people(), matroid=oracle) == result


def test_wrong_files_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database at all, but long enough to be taken for one" * 100)
    (tmp_path / "empty").touch()
    sqlite3.connect(tmp_path / "other").execute("create table t (x)").connection.close()
    for name, sentence in {
        "text": "is not a transcript",
        "empty": "is not a transcript",
        "other": "cannot be read or written",
        "missing": "there is no file",
    }.items():
        with pytest.raises((TranscriptError, InputError), match=sentence):
            verify(tmp_path / name)
    with pytest.raises(InputError, match=r"text already exists; call resume\(\) to continue it, or give another name$"):
        solve(people(), 3, FedCG(2), transcript=tmp_path / "text")
    with pytest.raises(InputError, match="there is no folder"):
        solve(people(), 3, FedCG(2), transcript=tmp_path / "no" / "run")


def test_one_process_at_a_time(finished: Path) -> None:
    with Transcript.reopen(finished), pytest.raises(TranscriptError, match="another process is working on this run"):
        resume(finished, people())
