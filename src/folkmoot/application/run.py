"""The life of a run in its folder: begin it, continue it after a stop, describe it.

What describes a run is loaded when a description is wanted.
"""

import json
import shlex
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from folkmoot.application.answer_files import render_map, render_table
from folkmoot.application.derivation import check_result, find_other_version
from folkmoot.application.folder import About, Folder
from folkmoot.application.job import (
    Announce,
    Job,
    Task,
    announce_nothing,
    carry_out,
    find_outlook,
    list_files,
    prepare_task,
)
from folkmoot.application.problem import Problem
from folkmoot.conversation.result import Result
from folkmoot.data import is_standard_input
from folkmoot.foundation.errors import FolkmootError, InputError, RoundFailed

if TYPE_CHECKING:
    from folkmoot.report import Story

Work = Callable[[str], AbstractContextManager[None]]  # around a piece of work: shows what is being done


def work_silently(_what: str) -> AbstractContextManager[None]:
    return nullcontext()


class RunStopped(KeyboardInterrupt):
    """Somebody stopped a run; it says how to continue."""


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """A finished run in its folder. Nothing but the result is computed before it is asked for."""

    folder: Folder
    result: Result
    files: tuple[Path, ...] = ()  # of its report
    lacking: str = ""  # why the report does not tell everything; nothing where it does
    job: Task | None = field(default=None, repr=False)  # the problem with what was read for it
    work: Work = field(default=work_silently, repr=False)
    told: "Story | None" = field(default=None, repr=False)  # what its report was made from

    def document(self) -> dict[str, Any]:
        """What `folkmoot run --json` prints."""
        from folkmoot.report import state_verdict

        answer, files = json.loads(self.result.to_json()), [str(one) for one in self.files]
        story = self.story(compare=False)
        about = {"run": str(self.folder.path), "report": files, "verdict": state_verdict(story)}
        rare = [asdict(one) for one in story.rare]  # numbers of sums that rest on few clients
        return {**about, "worth": state_worth(self.result), "rare": rare, "result": answer}

    def story(self, *, compare: bool = True) -> "Story":
        """All that reports are made from, from the data; `compare`: with what takes longer to compute."""
        return self.told if self.told is not None else self._tell(*self._find_job(), compare)[0]

    def write_report(self, *, html: Path | bool = True, png: bool = False, markdown: bool = False) -> "FinishedRun":
        """Write what is wanted for people; the same run, with the names of the files."""
        from folkmoot.application import reporting

        with name_way_back(self.folder):
            job, why = self._find_job()
            story, lacking = self._tell(job, why, compare=True)
            with self.work("writing the report …"):
                if job is not None:
                    _write_answer(self.folder, self.result, job)
                files = reporting.write_report(self.folder, story, html=html, png=png, markdown=markdown)
        return replace(self, files=tuple(files), lacking=lacking, told=story)

    def write_wanted_report(self) -> "FinishedRun":
        """Write what the problem wants; Markdown alone, where what draws charts is not installed."""
        from folkmoot.application import reporting

        if not reporting.has_charts():
            return self.write_report(html=False, markdown=True)
        output = (self.job.problem if self.job is not None else self.folder.read_problem()).output
        return self.write_report(png=output.png, markdown=output.markdown)

    def _tell(self, job: Task | None, why: str, compare: bool) -> tuple["Story", str]:
        """The story, and what it lacks because the data is not at hand, and `why` that is."""
        from folkmoot.application import reporting

        if job is not None:
            comparing = compare and isinstance(job, Job)
            with self.work("comparing with other ways to choose …" if comparing else "describing the result …"):
                return reporting.tell(self.folder, job, self.result, compare=compare), ""
        networked = self.folder.read_participants() is not None
        other = "more of the items than their names" if networked else "what other ways to choose would give"
        lacking = f"{why}: the report does not say {other}, and what it says was not checked."
        return reporting.tell_without_data(self.folder, self.result), lacking

    def _find_job(self) -> tuple[Task | None, str]:
        """The problem with its data; where that is not at hand, why. A result that these do not give is refused."""
        if self.job is not None:
            return self.job, ""
        problem = self.folder.read_problem()
        if old := find_other_version(self.folder):
            return None, old
        job, why = self._read_data(problem)
        with self.work("replaying the sums …"):
            check_result(self.folder, problem, self.result, job)
        return job, why

    def _read_data(self, problem: Problem) -> tuple[Task | None, str]:
        if is_standard_input(problem.data.file or ""):  # nobody who wants a report expects it to wait for data
            return None, "the data came from standard input, and was not kept"
        try:
            self.folder.check_same_data(list_files(problem))
            with self.work(f"reading {problem.source} …"):
                return prepare_task(problem), ""
        except FolkmootError as error:
            return None, str(error)


def state_worth(result: Result) -> dict[str, Any]:
    """How much the answer is worth, in plain words for scripts: whether that is exact, or estimated and how well."""
    estimate = result.estimate
    if result.value is not None or estimate is None:
        return {"value": result.value, "estimated": False}
    high = estimate.high if isfinite(estimate.high) else None
    interval = {"low": estimate.low, "high": high, "confidence": estimate.confidence}
    return {"value": estimate.value, "estimated": True, **interval}


def begin_run(
    problem: Problem,
    work: Work = work_silently,
    announce: Announce = announce_nothing,
    *,
    progress: bool | None = None,
) -> FinishedRun:
    """A whole run in a folder of its own; where the input is wrong, no folder is left. `announce` is told what to
    expect under noise, before anybody is asked. `progress`: whether a bar shows rounds; None: on a terminal.
    """
    folder = Folder.create(problem)
    try:
        with name_way_back(folder):
            with ThreadPoolExecutor(1) as aside:  # files are hashed while they are read
                known = aside.submit(lambda: folder.check_same_data(list_files(folder.read_problem())))
                job = _read(problem, work)
                known.result()
            if announce is not announce_nothing and (outlook := find_outlook(job)) is not None:
                with work("trying noise out, to forecast what it costs …"):
                    _ = outlook.forecast  # kept
                announce(outlook)
            return _finish(folder, job, work, announce, progress=progress)
    except InputError:
        folder.forget()
        raise


def continue_run(
    path: str | Path,
    work: Work = work_silently,
    *,
    cluster: str | None = None,
    federation: str | Path | None = None,
    progress: bool | None = None,
) -> FinishedRun:
    """What is left of a run that was stopped; a finished one is read. `cluster`: the address of another one.
    `federation`: where the server's kit is now.
    """
    folder = Folder.open(path)
    try:
        return FinishedRun(folder, folder.read_result(), work=work)
    except FolkmootError:  # not finished, or damaged: the sums in its transcript are kept
        with name_way_back(folder):
            problem = _move(folder.read_problem(), cluster, federation)
            job = _read(problem, work)
            folder.check_same_data(list_files(problem))
            return _finish(folder, job, work, progress=progress)


def _move(problem: Problem, cluster: str | None, federation: str | Path | None) -> Problem:
    """The same problem on another cluster, or with the kit of its federation in another place."""
    privacy = problem.privacy
    if cluster is not None:
        if privacy.cluster is None:
            raise InputError("the run was not begun on a cluster", argument="cluster")
        privacy = replace(privacy, cluster=cluster)
    if federation is not None:
        if privacy.federation is None:
            raise InputError("the run was not begun with a federation", argument="federation")
        privacy = replace(privacy, federation=str(Path(federation).absolute()))
    return replace(problem, privacy=privacy)


def open_run(path: str | Path, work: Work = work_silently) -> FinishedRun:
    """A finished run."""
    folder = Folder.open(path)
    return FinishedRun(folder, folder.read_result(), work=work)


def is_networked(path: str | Path) -> bool:
    """Whether parties on a network answered a run, so that only its sums are known."""
    return Folder.open(path).read_problem().privacy.federation is not None


def _read(problem: Problem, work: Work) -> Task:
    with work(f"reading {problem.source} …"):
        return prepare_task(problem)


def _finish(
    folder: Folder,
    job: Task,
    work: Work,
    announce: Announce = announce_nothing,
    *,
    progress: bool | None = None,
) -> FinishedRun:
    """Carry out what is left of a run, and keep its result."""
    folder.write_about(describe_subject(job))
    result = carry_out(job, folder.transcript, progress, announce=announce)  # a finished run is only replayed
    _write_answer(folder, result, job)
    folder.write(folder.result, result.to_json())
    folder.drop_journal()
    return FinishedRun(folder, result, job=job, work=work)


def _write_answer(folder: Folder, result: Result, job: Task) -> None:
    """What other programs read, and what the data is about."""
    folder.write_about(describe_subject(job))
    folder.write(folder.table, render_table(result))
    if (places := render_map(result, job.subject.items)) is not None:
        folder.write(folder.map, places)


def describe_subject(job: Task) -> About:
    """What a run is about, in words."""
    subject = job.subject
    called = subject.clients_called, subject.items_called
    clients = job.loaded.objective.n_clients if isinstance(job, Job) else 0  # parties say it when they enrol
    return About(subject.meaning, *called, clients, job.notes)


@contextmanager
def name_way_back(folder: Folder) -> Iterator[None]:
    """Ctrl-C, or too few who answer, leave a run that can be continued; it is said how."""
    try:
        yield
    except KeyboardInterrupt:
        raise RunStopped(_name_command(folder)) from None
    except RoundFailed as failed:
        remedy = "; ".join(part for part in (failed.remedy, _name_command(folder)) if part)
        raise RoundFailed(failed.problem, place=failed.place, remedy=remedy) from None


def _name_command(folder: Folder) -> str:
    return f"go on with: folkmoot resume {shlex.quote(str(folder.path))}"
