"""The life of a run in its folder: begin it, continue it after a stop, describe it, verify it.

What describes a run is loaded when a description is wanted.
"""

import json
import shlex
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from folkmoot.algorithms.federated.method import Federated
from folkmoot.application.folder import About, Folder
from folkmoot.application.job import Job, carry_out, prepare
from folkmoot.application.problem import Problem
from folkmoot.application.solve import verify
from folkmoot.conversation.conduct import drop_outside, is_run_of
from folkmoot.conversation.result import Result
from folkmoot.foundation.errors import FolkmootError, InputError, TranscriptError

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
    job: Job | None = field(default=None, repr=False)  # the problem with its data, where it was read
    work: Work = field(default=work_silently, repr=False)

    def document(self) -> dict[str, Any]:
        """What `folkmoot run --json` prints."""
        answer = json.loads(self.result.to_json())
        return {"run": str(self.folder.path), "report": [str(one) for one in self.files], "result": answer}

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

        kept = reporting.read_story(self.folder, self.result)
        if kept is not None and (kept.baselines or not compare):
            return kept, ""
        about = self.folder.read_about()
        job, why = (self.job, "") if self.job is not None else self._read_again()
        if job is not None:
            command = about.command if about is not None else _repeat(self.folder)
            with self.work("comparing with other ways to choose …" if compare else "describing the result …"):
                return reporting.tell(job, self.result, command, compare=compare), ""
        lacking = f"{why}: the report does not say what other ways to choose would give."
        told = kept or reporting.tell_without_data(self.folder.read_problem(), about, self.result)
        return replace(told, notes=tuple(dict.fromkeys([*told.notes, lacking]))), lacking

    def _read_again(self) -> tuple[Job | None, str]:
        """The problem with its data; where that is not at hand, why."""
        problem = self.folder.read_problem()
        try:
            self.folder.check_same_data(problem)
            with self.work(f"reading {Path(problem.data.file).name} …"):
                return prepare(problem), ""
        except FolkmootError as error:
            return None, str(error)


def begin_run(problem: Problem, command: str | None = None, work: Work = work_silently) -> FinishedRun:
    """A whole run in a folder of its own; where the input is wrong, no folder is left."""
    folder = Folder.create(problem)
    try:
        with name_way_back(folder):
            with ThreadPoolExecutor(1) as aside:  # files are hashed while they are read
                known = aside.submit(folder.check_same_data, folder.read_problem())
                job = _read(problem, work)
                known.result()
            return _finish(folder, job, command or _repeat(folder), work)
    except InputError:
        folder.forget()
        raise


def continue_run(path: str | Path, work: Work = work_silently, *, cluster: str | None = None) -> FinishedRun:
    """What is left of a run that was stopped; a finished one is read. `cluster`: the address of another one."""
    folder = Folder.open(path)
    try:
        return FinishedRun(folder, folder.read_result(), work=work)
    except FolkmootError:  # not finished, or damaged: the sums in its transcript are kept
        with name_way_back(folder):
            problem = _move(folder.read_problem(), cluster)
            job = _read(problem, work)
            folder.check_same_data(problem)
            about = folder.read_about()
            return _finish(folder, job, about.command if about is not None else _repeat(folder), work)


def _move(problem: Problem, cluster: str | None) -> Problem:
    """The same problem on another cluster."""
    if cluster is None:
        return problem
    if problem.privacy.cluster is None:
        raise InputError("the run was not begun on a cluster", argument="cluster")
    return replace(problem, privacy=replace(problem.privacy, cluster=cluster))


def open_run(path: str | Path, work: Work = work_silently) -> FinishedRun:
    """A finished run."""
    folder = Folder.open(path)
    return FinishedRun(folder, folder.read_result(), work=work)


def verify_run(path: str | Path, *, data: bool = True) -> Result:
    """The result of a finished run, computed again, and everything that the folder tells of it, told anew; from the
    sums alone where the data is not to be used.
    """
    from folkmoot.application import reporting

    folder = Folder.open(path)
    problem, written = folder.read_problem(), folder.read_result()
    job = prepare(problem) if data else None
    again = _verify_sums(folder, written) if job is None else _verify_data(folder, written, job)
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
    problem = job.problem
    folder.check_same_data(problem)
    if isinstance(job.method, Federated):
        if not is_run_of(folder.transcript, job.method, job.matroid, problem.seed):
            raise TranscriptError("is not the problem that the transcript answers", place=folder.problem)
        again = verify(folder.transcript, engine=job.engine())
    else:
        again = carry_out(job)
    if again != written:
        raise TranscriptError("is not what comes out when it is computed again", place=folder.result)
    return again


def _read(problem: Problem, work: Work) -> Job:
    with work(f"reading {Path(problem.data.file).name} …"):
        return prepare(problem)


def _finish(folder: Folder, job: Job, command: str, work: Work) -> FinishedRun:
    """Carry out what is left of a run, and keep its result."""
    loaded = job.loaded
    called = loaded.clients_called, loaded.items_called
    folder.write_about(About(command, loaded.meaning, *called, loaded.objective.n_clients, job.notes))
    result = carry_out(job, folder.transcript)  # a finished run is only replayed
    folder.write(folder.result, result.to_json())
    return FinishedRun(folder, result, job=job, work=work)


def _repeat(folder: Folder) -> str:
    """A command that does the same again."""
    return shlex.join(["folkmoot", "run", str(folder.problem), "--folder", f"{folder.path}-again"])


@contextmanager
def name_way_back(folder: Folder) -> Iterator[None]:
    """Ctrl-C leaves a run that can be continued, and says how."""
    try:
        yield
    except KeyboardInterrupt:
        raise RunStopped(f"go on with: folkmoot resume {shlex.quote(str(folder.path))}") from None
