"""A finished run, computed again: whether everything in its folder is what its problem, its sums and its data give.

Nothing in the folder is believed. What a run says of itself and nothing can show (how long it took, which versions made
it) is named, so that nobody takes it for checked.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from folkmoot.application import reporting
from folkmoot.application.answer_files import render_map, render_table
from folkmoot.application.derivation import check_complete
from folkmoot.application.folder import About, Folder
from folkmoot.application.job import (
    METHODS,
    Job,
    Task,
    carry_out,
    find_method,
    list_files,
    name_chosen,
    prepare,
    prepare_task,
)
from folkmoot.application.problem import Problem
from folkmoot.application.run import describe_subject
from folkmoot.application.solve import verify
from folkmoot.conversation.conduct import drop_outside, is_run_of, read_population, read_terms
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.result import FORMAT, Result
from folkmoot.conversation.transcript import Transcript
from folkmoot.engines.witness import Witness
from folkmoot.foundation.documents import read_json
from folkmoot.foundation.errors import InputError, TranscriptError
from folkmoot.foundation.settings import FEDERATION
from folkmoot.report import Story, markdown, page
from folkmoot.report.stored_story import from_json, to_json
from folkmoot.secagg import Policy
from folkmoot.theory.guarantee import Guarantee

VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]{0,40}")


@dataclass(frozen=True, eq=False)
class Verification:
    """The result of a run, the files of its folder that are what they must be, and what these say beyond that: nothing
    here can show it.
    """

    result: Result
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]
    missing: tuple[str, ...] = ()  # files that every such run leaves


def verify_run(path: str | Path, *, data: bool = True) -> Result:
    """The result of a finished run, computed again; refused where anything in its folder is something else."""
    return check_run(path, data=data).result


def check_run(path: str | Path, *, data: bool = True) -> Verification:
    """Compute a finished run again, and all that its folder tells of it; from the sums alone where the data is not to
    be used, or stays at parties: nobody is asked anything.
    """
    check_complete(path, data=data)
    folder = Folder.open(path)
    problem, written = folder.read_problem(), folder.read_result()
    missing = () if folder.files.exists() or not data else (folder.files.name,)
    folder.refuse_strays(
        networked=problem.privacy.federation is not None,
        federated=issubclass(METHODS[find_method(problem)], Conversation),
    )
    job = _find_job(folder, problem, data)
    result = _compute_again(folder, problem, written, job)
    if result.to_json() != written.to_json() or not _is_written_so(folder, result):
        whence = "what the data gives" if isinstance(job, Job) else "the result of its transcript"
        raise TranscriptError(f"is not {whence}", place=folder.result)
    _check_answer(folder, result, job)
    if job is not None:
        _check_about(folder, job)
        _check_report(folder, result, job)
    unchecked = tuple(_list_unchecked(folder, problem, result, job))
    here = [one for one in (folder.result, *folder.told) if one.exists()]
    checked = tuple(one.name for one in here if one.name not in unchecked)
    return Verification(result, checked, unchecked, (*missing, *_list_missing(folder, problem, result, job)))


def _find_job(folder: Folder, problem: Problem, data: bool) -> Task | None:
    """The problem with its data, or with a federation's list of items; None where that is not wanted, or elsewhere."""
    if problem.privacy.federation is not None:
        try:
            job: Task = prepare_task(problem)
        except InputError:  # the kit may be on another machine
            return None
    elif data:
        job = prepare(problem)
    else:
        return None
    if folder.files.exists():  # to verify is to write nothing
        folder.check_same_data(list_files(problem))
    return job


def _compute_again(folder: Folder, problem: Problem, written: Result, job: Task | None) -> Result:
    """The result, as far as it can be computed here; the rest is as it was written, and not checked."""
    networked = problem.privacy.federation is not None
    if isinstance(job, Job) and not isinstance(job.method, Conversation):
        return _forget_unknown(replace(carry_out(job), seconds=written.seconds), written)
    if not folder.transcript.exists():
        raise InputError("a central method leaves no sums to verify; it needs the data", place=folder.path)
    if job is not None:
        _check_same_run(folder, job)
    again = verify(folder.transcript, engine=job.engine() if isinstance(job, Job) else None)
    _check_stored(folder, again, job)
    _check_summing(folder, problem, again, job)
    if job is not None and not isinstance(job, Job):
        _check_members(folder, job)
    if job is not None:
        return _forget_unknown(name_chosen(again, job), written)
    if again.seed != problem.seed:
        raise TranscriptError("is not the problem that the transcript answers", place=folder.problem)
    again = replace(again, names=written.names, attributes=written.attributes)
    return again if networked else _believe_simulator(again, written)


def _believe_simulator(again: Result, written: Result) -> Result:
    """With what only a simulator can know, where it is about the same theorem: its factor follows from the sums."""
    ours, theirs = (one.guarantee and _outline(one.guarantee) for one in (again, written))
    again = replace(again, value=written.value)
    return replace(again, guarantee=written.guarantee) if ours == theirs else again


def _outline(promise: Guarantee) -> tuple[object, ...]:
    """What a theorem says, but for the numbers that follow from the largest values in the data."""
    return promise.theorem, promise.factor, [(term.symbol, term.meaning) for term in promise.terms]


def _forget_unknown(again: Result, written: Result) -> Result:
    """Without attributes, where a result has none because an older version wrote it."""
    return again if written.attributes is not None else replace(again, attributes=None)


def _is_written_so(folder: Folder, result: Result) -> bool:
    """Whether the file of a result is, byte for byte, what would be written now; of a former format, whether it says
    nothing that is thrown away when it is read.
    """
    text = folder.result.read_text()
    said = read_json(text)
    return text == result.to_json() if said["format"] == FORMAT else said["ratio"] == result.ratio


def _check_stored(folder: Folder, again: Result, job: Task | None) -> None:
    """Refuse a transcript whose own result says anything else, or hides that the simulator saw all data."""
    with Transcript.reopen(folder.transcript, reading=True) as store:
        text, seen = (store.read_entry("result") or b"").decode(), store.read_entry("seen")
    stored = Result.from_json(text)
    alike = stored.attributes is None and drop_outside(stored).to_json() == drop_outside(again).to_json()
    former = read_json(text)["format"] != FORMAT
    if not alike or not (former or text == stored.to_json()) or (isinstance(job, Job) and seen == b"sums"):
        raise TranscriptError("its rounds lead to a different result from the one stored", place=folder.transcript)


def _check_same_run(folder: Folder, job: Task) -> None:
    assert isinstance(job.method, Conversation)
    if not is_run_of(folder.transcript, job.method, job.matroid, job.problem.seed):
        raise TranscriptError("is not the problem that the transcript answers", place=folder.problem)


def _check_summing(folder: Folder, problem: Problem, result: Result, job: Task | None) -> None:
    """Refuse a problem that says its sums were made in another way than the transcript does."""
    secure = problem.privacy.summing in ("real", FEDERATION)
    made = [one.made is not None for one in result.rounds or () if one.answered]
    terms = read_terms(folder.transcript)
    counted = any(one.measured for one in result.rounds or ()) and not secure  # bytes, though none were sent
    if counted or any(one != secure for one in made) or terms != _find_terms(job, terms):
        raise TranscriptError("is not how the sums in the transcript were made", place=folder.problem)


def _find_terms(job: Task | None, written: Policy | None) -> Policy | None:
    """The terms on which sums must have been made; those that are written, where nothing here says it."""
    if job is None:
        return written
    if isinstance(job, Job):
        return job.engine().terms
    from folkmoot.application.federation.networked import NetworkedTask

    assert isinstance(job, NetworkedTask)
    return job.agreement.terms


def _check_members(folder: Folder, job: Task) -> None:
    from folkmoot.application.federation.networked import NetworkedTask, check_participants

    assert isinstance(job, NetworkedTask)
    check_participants(job, folder, read_population(folder.transcript).n_clients)


def _check_about(folder: Folder, job: Task) -> None:
    if not folder.about.exists():
        return
    subject = describe_subject(job)
    told = folder.read_about()
    if told != subject or not _is_told_so(folder, subject):
        raise TranscriptError("is not what the data is about", remedy=_repair(folder), place=folder.about)


def _is_told_so(folder: Folder, subject: About) -> bool:
    """Byte for byte, but for the command that older versions kept with it."""
    text = folder.about.read_text()
    command = read_json(text).get("command")
    if not isinstance(command, str):
        return text == subject.to_json()
    return text == json.dumps({"command": command, **asdict(subject)}, ensure_ascii=False)


def _check_answer(folder: Folder, result: Result, job: Task | None) -> None:
    expected = {folder.table: render_table(result)}
    if job is not None:
        expected[folder.map] = render_map(result, job.subject.items) or ""
    for path, text in expected.items():
        _compare(folder, path, text, "is not the answer")


def _check_report(folder: Folder, result: Result, job: Task) -> None:
    """Refuse a story that differs from the one that is told now, and pages that are not made from that one."""
    if not any(path.exists() for path in (folder.story, folder.report, folder.markdown)):
        return  # nobody wanted one yet
    try:
        kept = from_json(folder.story.read_text())
    except (OSError, UnicodeDecodeError, InputError):
        raise TranscriptError("is missing, damaged or old", remedy=_repair(folder), place=folder.story) from None
    told = _adopt(_tell_again(folder, result, job, kept), kept)
    _compare(folder, folder.story, to_json(told), "does not tell what the data gives")
    if reporting.has_charts():
        _compare(folder, folder.report, page(told), "is not what the story makes")
    _compare(folder, folder.markdown, markdown(told), "is not what the story makes")


def _tell_again(folder: Folder, result: Result, job: Task, kept: Story) -> Story:
    """The story of the same kind: told without the data, or with it; one client as seen in the run, or in a round that
    was run to be looked at.
    """
    if kept.unchecked:
        return reporting.tell_without_data(folder, result)
    if isinstance(job, Job) and (kept.view is None or kept.view.rehearsed):
        job = replace(job, witness=Witness())  # whatever was seen since
    return reporting.tell(folder, job, result, compare=True)


def _adopt(told: Story, kept: Story) -> Story:
    """With what is drawn anew every time (masks) and may be others by now (versions), where it looks as it must."""
    if _is_list_of_versions(told, kept):
        told = replace(told, versions=kept.versions)
    if told.view is not None and kept.view is not None and len(told.view.seen) == len(kept.view.seen):
        ring = range(2**told.view.ring_bits)
        if all(type(one) is int and one in ring for one in kept.view.seen):
            told = replace(told, view=replace(told.view, seen=kept.view.seen))
    return told


def _is_list_of_versions(told: Story, kept: Story) -> bool:
    alike = [name for name, _ in told.versions] == [name for name, _ in kept.versions]
    return alike and all(isinstance(one, str) and VERSION.fullmatch(one) for _, one in kept.versions)


def _compare(folder: Folder, path: Path, text: str, problem: str) -> None:
    if path.exists() and path.read_bytes() != text.encode():
        raise TranscriptError(problem, remedy=_repair(folder), place=path)


def _list_missing(folder: Folder, problem: Problem, result: Result, job: Task | None) -> Iterator[str]:
    """What every such run leaves, and is not there: whoever deletes a file must not be taken for one who had none."""
    expected = [folder.table, folder.about]
    if job is not None and render_map(result, job.subject.items) is not None:
        expected.append(folder.map)
    if folder.story.exists():
        expected.append(folder.report)
    if problem.output.markdown:
        expected.append(folder.markdown)
    yield from (one.name for one in expected if not one.exists())
    if problem.output.png and not any(folder.path.glob("*.png")):
        yield "pictures"


def _repair(folder: Folder) -> str:
    return f"`folkmoot report {folder.path}` writes it again"


def _list_unchecked(folder: Folder, problem: Problem, result: Result, job: Task | None) -> Iterator[str]:
    """Files, and what files say, that nothing here can show."""
    yield "how long it took"
    if any(one.measured for one in result.rounds or ()):
        yield "the bytes that were counted"
    if any(one.made is not None for one in result.rounds or ()):
        yield "that sums were made by secure aggregation"
    if any(folder.path.glob("*.png")):
        yield "pictures"
    known = {one.name for one in folder.known}
    yield from sorted(one.name for one in folder.path.iterdir() if one.name not in known and one.suffix != ".png")
    if job is None:
        yield "what run.toml asks"
        if problem.privacy.federation is None:
            yield "the exact value"
            yield from () if result.guarantee is None else ("the numbers in what theory promises",)
        else:
            yield "who took part"
        yield "the names of items"
        yield from () if result.attributes is None else ("what else is said of items",)
        yield from (one.name for one in folder.told if one.exists() and one != folder.table)
        return
    if folder.report.exists() and not reporting.has_charts():
        yield folder.report.name
    if folder.story.exists():
        yield "the versions that the report names"
        kept = from_json(folder.story.read_text())
        if kept.view is not None:
            yield "the masks in the server's view of one client"
    if folder.about.exists() and "command" in read_json(folder.about.read_text()):
        yield "the command in about.json"
