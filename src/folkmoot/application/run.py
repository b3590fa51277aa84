"""The life of a run in its folder: begin it, continue it after a stop, describe it, verify it.

What describes a run is loaded when a description is wanted.
"""

import json
import shlex
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from folkmoot.application.folder import About, Folder
from folkmoot.application.job import (
    Job,
    Task,
    carry_out,
    find_outlook,
    list_files,
    name_chosen,
    prepare,
    prepare_task,
)
from folkmoot.application.outlook import Outlook
from folkmoot.application.problem import Problem
from folkmoot.application.solve import verify
from folkmoot.conversation.conduct import drop_outside, is_run_of
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.result import Result
from folkmoot.foundation.errors import FolkmootError, InputError, RoundFailed, TranscriptError

if TYPE_CHECKING:
    from folkmoot.report import Story

Work = Callable[[str], AbstractContextManager[None]]  # around a piece of work: shows what is being done
Announce = Callable[[Outlook], None]  # what to expect of a run, before anybody is asked


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

    def document(self) -> dict[str, Any]:
        """What `folkmoot run --json` prints."""
        answer = json.loads(self.result.to_json())
        files = [str(one) for one in self.files]
        return {"run": str(self.folder.path), "report": files, "worth": state_worth(self.result), "result": answer}

    def story(self, *, compare: bool = True) -> "Story":
        """All that reports are made from; `compare`: with what other ways to choose would give, which is computed now,
        from the data, unless it was before.
        """
        return self._tell(compare)[0]

    def write_report(self, *, html: Path | bool = True, png: bool = False, markdown: bool = False) -> "FinishedRun":
        """Write what is wanted for people; the same run, with the names of the files."""
        from folkmoot.application import reporting

        with name_way_back(self.folder):
            story, lacking = self._tell(compare=True)
            with self.work("writing the report …"):
                files = reporting.write_report(self.folder, story, html=html, png=png, markdown=markdown)
        return replace(self, files=tuple(files), lacking=lacking)

    def write_wanted_report(self) -> "FinishedRun":
        """Write what the problem wants; Markdown alone, where what draws charts is not installed."""
        from folkmoot.application import reporting

        if not reporting.has_charts():
            return self.write_report(html=False, markdown=True)
        output = (self.job.problem if self.job is not None else self.folder.read_problem()).output
        return self.write_report(png=output.png, markdown=output.markdown)

    def _tell(self, compare: bool) -> tuple["Story", str]:
        from folkmoot.application import reporting

        kept, members = reporting.read_story(self.folder, self.result), self.folder.read_participants()
        if kept is not None and (kept.baselines or not compare or members is not None):
            return kept, ""
        about = self.folder.read_about()
        job, why = (self.job, "") if self.job is not None else self._read_again()
        if job is not None:
            command = about.command if about is not None else _repeat(self.folder)
            comparing = compare and members is None
            with self.work("comparing with other ways to choose …" if comparing else "describing the result …"):
                return reporting.tell(job, self.result, command, members, compare=compare), ""
        other = "what other ways to choose would give" if members is None else "more of the items than their names"
        lacking = f"{why}: the report does not say {other}."
        told = kept or reporting.tell_without_data(self.folder.read_problem(), about, self.result, members)
        return replace(told, notes=tuple(dict.fromkeys([*told.notes, lacking]))), lacking

    def _read_again(self) -> tuple[Task | None, str]:
        """The problem with its data; where that is not at hand, why."""
        problem = self.folder.read_problem()
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


def announce_nothing(_outlook: Outlook) -> None:
    pass


def begin_run(
    problem: Problem,
    command: str | None = None,
    work: Work = work_silently,
    announce: Announce = announce_nothing,
) -> FinishedRun:
    """A whole run in a folder of its own; where the input is wrong, no folder is left. `announce` is told what to
    expect under noise, before anybody is asked.
    """
    folder = Folder.create(problem)
    try:
        with name_way_back(folder):
            with ThreadPoolExecutor(1) as aside:  # files are hashed while they are read
                known = aside.submit(lambda: folder.check_same_data(list_files(folder.read_problem())))
                job = _read(problem, work)
                known.result()
            if (outlook := find_outlook(job)) is not None:
                announce(outlook)
            return _finish(folder, job, command or _repeat(folder), work)
    except InputError:
        folder.forget()
        raise


def continue_run(
    path: str | Path, work: Work = work_silently, *, cluster: str | None = None, federation: str | Path | None = None
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
            about = folder.read_about()
            return _finish(folder, job, about.command if about is not None else _repeat(folder), work)


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


def verify_run(path: str | Path, *, data: bool = True) -> Result:
    """The result of a finished run, computed again, and everything that the folder tells of it, told anew; from the
    sums alone where the data is not to be used, or stays at parties: nobody is asked anything.
    """
    from folkmoot.application import reporting

    folder = Folder.open(path)
    problem, written = folder.read_problem(), folder.read_result()
    if problem.privacy.federation is not None:
        return _verify_networked(folder, written, problem)
    job = prepare(problem) if data else None
    again = _verify_sums(folder, written) if job is None else _verify_data(folder, written, job)
    reporting.check_report(folder, again, job)
    return again


def is_networked(path: str | Path) -> bool:
    """Whether parties on a network answered a run, so that only its sums are known."""
    return Folder.open(path).read_problem().privacy.federation is not None


def _verify_networked(folder: Folder, written: Result, problem: Problem) -> Result:
    """From the sums, which hold all that anybody knows; and from the list of items, where it is at hand."""
    from folkmoot.application import reporting

    again = verify(folder.transcript)
    try:
        job = prepare_task(problem)
    except InputError:  # the kit may be on another machine
        job = None
    if job is not None:
        folder.check_same_data(list_files(problem))
        _check_same_run(folder, job)
        again = name_chosen(again, job)
    else:
        again = replace(again, names=written.names)
    if again != written:
        raise TranscriptError("is not the result of its transcript", place=folder.result)
    reporting.check_report(folder, again, job)
    return again


def _verify_sums(folder: Folder, written: Result) -> Result:
    if not folder.transcript.exists():
        raise InputError("a central method leaves no sums to verify; it needs the data", place=folder.path)
    again = verify(folder.transcript)
    if drop_outside(again) != drop_outside(written):
        raise TranscriptError("is not the result of its transcript", place=folder.result)
    return written


def _verify_data(folder: Folder, written: Result, job: Job) -> Result:
    folder.check_same_data(list_files(job.problem))
    if isinstance(job.method, Conversation):
        _check_same_run(folder, job)
        again = verify(folder.transcript, engine=job.engine())
    else:
        again = carry_out(job)
    if again != written:
        raise TranscriptError("is not what comes out when it is computed again", place=folder.result)
    return again


def _check_same_run(folder: Folder, job: Task) -> None:
    assert isinstance(job.method, Conversation)
    if not is_run_of(folder.transcript, job.method, job.matroid, job.problem.seed):
        raise TranscriptError("is not the problem that the transcript answers", place=folder.problem)


def _read(problem: Problem, work: Work) -> Task:
    with work(f"reading {problem.source} …"):
        return prepare_task(problem)


def _finish(folder: Folder, job: Task, command: str, work: Work) -> FinishedRun:
    """Carry out what is left of a run, and keep its result."""
    subject = job.subject
    called = subject.clients_called, subject.items_called
    clients = job.loaded.objective.n_clients if isinstance(job, Job) else 0  # parties say it when they enrol
    folder.write_about(About(command, subject.meaning, *called, clients, job.notes))
    result = carry_out(job, folder.transcript)  # a finished run is only replayed
    folder.write(folder.result, result.to_json())
    folder.drop_journal()
    return FinishedRun(folder, result, job=job, work=work)


def _repeat(folder: Folder) -> str:
    """A command that does the same again."""
    return shlex.join(["folkmoot", "run", str(folder.problem), "--folder", f"{folder.path}-again"])


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
