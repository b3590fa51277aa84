"""The result of a finished run, derived again where that is cheap, before a report tells it: its sums are replayed, and
what only the data says is computed. `verification` computes the sums again, too.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from folkmoot.application.folder import Folder
from folkmoot.application.job import METHODS, Job, Task, carry_out, find_method, list_files, name_chosen
from folkmoot.application.problem import Problem
from folkmoot.application.solve import verify
from folkmoot.conversation.conduct import drop_outside, is_run_of
from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.population import Population
from folkmoot.conversation.result import Result
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.conversation.transcript import Transcript
from folkmoot.data import is_standard_input
from folkmoot.engines.simulate import Simulation
from folkmoot.foundation.errors import InputError, TranscriptError
from folkmoot.objectives.objective import Objective
from folkmoot.secagg import Policy
from folkmoot.version import __version__


@dataclass(frozen=True, eq=False)
class ReplayedSimulation(Engine):
    """All clients in this process, whose sums are taken from a transcript; only the value is computed from them."""

    simulation: Simulation

    @property
    def population(self) -> Population:
        return self.simulation.population

    def add_up(self, ask: Ask, control: Control) -> Sum:
        return self.simulation.add_up(ask, control)

    @property
    def terms(self) -> Policy | None:
        return self.simulation.terms

    def describe(self) -> Any:
        return self.simulation.describe()

    @property
    def everything(self) -> Objective | None:
        return self.simulation.everything


def find_other_version(folder: Folder) -> str:
    """Why sums cannot be replayed, though nothing is wrong with them; nothing where they can."""
    if not folder.transcript.exists():
        return ""
    with Transcript.reopen(folder.transcript, reading=True) as store:
        version = (store.read_entry("version") or b"").decode(errors="replace")
    if version == __version__:
        return ""
    return f"{folder.transcript}: was written by folkmoot {version}, but this is {__version__}"


def check_complete(path: str | Path, *, data: bool) -> None:
    """Refuse a run whose transcript is gone, or whose data is gone or another: before that is read, and perhaps refused
    for what is wrong with it.
    """
    folder = Folder.open(path)
    problem = folder.read_problem()
    if folder.result.exists():
        _require_transcript(folder, problem)
    if not data or problem.privacy.federation is not None or is_standard_input(problem.data.file or ""):
        return
    files = list_files(problem)
    for file in files.values():
        if not Path(file).exists():
            remedy = "--sums-only verifies from the transcript alone" if is_talk(problem) else None
            raise InputError("there is no such file, and the run was made from it", remedy=remedy, place=file)
    if folder.files.exists():
        folder.check_same_data(files)


def is_talk(problem: Problem) -> bool:
    """Whether the method asks for sums, so that a transcript holds them."""
    return issubclass(METHODS[find_method(problem)], Conversation)


def _require_transcript(folder: Folder, problem: Problem) -> None:
    if is_talk(problem) and not folder.transcript.exists():
        raise TranscriptError("is missing", place=folder.transcript)


def check_result(folder: Folder, problem: Problem, written: Result, job: Task | None) -> None:
    """Refuse a result that is not the one of its sums and its data; of its sums alone, where the data is not here."""
    _require_transcript(folder, problem)
    talked = is_talk(problem)
    if job is None:
        if talked and drop_outside(verify(folder.transcript)).to_json() != drop_outside(written).to_json():
            raise TranscriptError("is not the result of its transcript", place=folder.result)
        return
    again = _replay(folder, job) if talked else replace(carry_out(job), seconds=written.seconds)
    if written.attributes is None:  # an older version wrote it
        again = replace(again, attributes=None)
    if again.to_json() != written.to_json():
        whence = "what the data gives" if isinstance(job, Job) else "the result of its transcript"
        raise TranscriptError(f"is not {whence}", place=folder.result)


def _replay(folder: Folder, job: Task) -> Result:
    assert isinstance(job.method, Conversation)
    if not is_run_of(folder.transcript, job.method, job.matroid, job.problem.seed):
        raise TranscriptError("is not the problem that the transcript answers", place=folder.problem)
    engine = ReplayedSimulation(job.engine()) if isinstance(job, Job) else None
    return name_chosen(verify(folder.transcript, engine=engine), job)
