"""What is told of a run: its story, and the pages that are made from it. All calls to account and report are here."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from folkmoot.application import account
from folkmoot.application.folder import About, Folder, Participants, write
from folkmoot.application.job import Job, Task
from folkmoot.application.problem import Problem
from folkmoot.conversation.result import Result
from folkmoot.engines.witness import Witness
from folkmoot.foundation.errors import FolkmootError, TranscriptError
from folkmoot.report import Comparison, Item, Story, compare_page, markdown_of, page, pictures, pictures_of
from folkmoot.report import markdown as as_markdown
from folkmoot.report.stored_story import from_json, to_json


def has_charts() -> bool:
    """Whether what draws charts is installed."""
    return find_spec("vl_convert") is not None


def tell(job: Task, result: Result, command: str, members: Participants | None = None, *, compare: bool) -> Story:
    """Everything about a finished run; `compare`: with other ways to choose and a round that is run to be looked at,
    where all the data is here.
    """
    return account.tell_story(job, result, command, members, compare=compare)


def tell_without_data(
    problem: Problem, about: About | None, result: Result, members: Participants | None = None
) -> Story:
    """What a result and its problem tell by themselves."""
    about = about or About("", "", "clients", "items", 0, ())
    n_clients = about.n_clients if members is None else members.n_clients
    federated = result.estimate is not None
    names = dict(zip(result.selected, result.names or (), strict=False))
    chosen = result.order or result.selected
    gains = result.gains or (None,) * len(chosen)
    count = f"{len(chosen):,} of {result.n_items:,} {about.items_called}"
    whom = f"{n_clients:,} {about.clients_called}" if n_clients else about.clients_called
    return Story(
        title=problem.output.title or f"{count}, chosen for {whom}",
        question=f"Which {count} are best for all {whom} together"
        + (", if nobody shows what they hold?" if federated else "?"),
        meaning=about.meaning,
        clients_called=about.clients_called,
        items_called=about.items_called,
        n_clients=n_clients,
        result=result,
        chosen=tuple(
            Item(names.get(item, f"item {item}"), gain=gain) for item, gain in zip(chosen, gains, strict=True)
        ),
        secure=problem.privacy.summing if federated else "none",
        protection=account.describe_protection(None, result, members),
        notes=about.notes,
        command=about.command,
        versions=account.versions(),
        credits=(problem.data.credit,) if problem.data.credit else (),
        per_client=members is not None and members.per_client,
        parties=account.list_parties(members, result),
        corrupt=account.find_corrupt(problem, result, members),
    )


def read_story(folder: Folder, result: Result) -> Story | None:
    """The story that a folder holds; None where it is missing, damaged, or of another result."""
    try:
        story = from_json(folder.story.read_text())
    except (OSError, UnicodeDecodeError, FolkmootError):
        return None
    return story if story.result == result else None


def write_report(
    folder: Folder, story: Story, *, html: Path | bool = True, png: bool = False, markdown: bool = False
) -> list[Path]:
    """The story, and what is wanted of it for people; the names of the latter."""
    content: dict[Path, str | bytes] = {}
    if html is not False:
        content[html if isinstance(html, Path) else folder.report] = page(story)
    if png:
        content |= {folder.path / f"{name}.png": picture for name, picture in pictures(story).items()}
    if markdown:
        content[folder.path / "report.md"] = as_markdown(story)
    folder.write(folder.story, to_json(story))
    for path, text in content.items():
        write(path, text)
    return list(content)


def render_comparison(found: Comparison, *, png: bool, markdown: bool) -> dict[str, str | bytes]:
    """The files of a comparison, by name."""
    charts = has_charts()
    content: dict[str, str | bytes] = {}
    if charts:
        content["comparison.html"] = compare_page(found)
    if charts and png:
        content |= {f"{name}.png": picture for name, picture in pictures_of(found).items()}
    if markdown or not charts:
        content["comparison.md"] = markdown_of(found)
    return content


def check_report(folder: Folder, result: Result, job: Task | None) -> None:
    """Refuse a story or a page that tells something else than the result; with the data, the story is told anew."""
    if not folder.story.exists() and not folder.report.exists():
        return  # nobody wanted one yet
    kept = read_story(folder, result)
    again = f"`folkmoot report {folder.path}` writes it again"
    if kept is None or (not _names_fit(kept, result) if job is None else not _follows(folder, kept, result, job)):
        raise TranscriptError("does not tell the result", remedy=again, place=folder.story)
    if folder.report.exists() and has_charts() and folder.report.read_text() != page(kept):
        raise TranscriptError("is not what the story makes", remedy=again, place=folder.report)


def _names_fit(story: Story, result: Result) -> bool:
    names = dict(zip(result.selected, result.names or (), strict=False))
    return not names or [item.name for item in story.chosen] == [
        names[item] for item in result.order or result.selected
    ]


def _follows(folder: Folder, kept: Story, result: Result, job: Task) -> bool:
    """Whether a story is one of those that can be told of a result: what was drawn by chance, and when and by which
    command it was told, may differ.
    """
    return any(_pin(kept, kept) == _pin(told, kept) for told in _tellings(folder, kept, result, job))


def _tellings(folder: Folder, kept: Story, result: Result, job: Task) -> Iterator[Story]:
    members = folder.read_participants()
    if isinstance(job, Job) and kept.view is not None and kept.view.rehearsed:
        job = replace(job, witness=Witness())  # rehearsed again, whatever was seen since
    if not kept.baselines:
        bare = tell_without_data(job.problem, folder.read_about(), result, members)
        yield replace(bare, notes=kept.notes)  # which say what was not at hand
        yield tell(job, result, "", members, compare=False)
    yield tell(job, result, "", members, compare=True)


def _pin(story: Story, kept: Story) -> Story:
    """With the parts of another that may differ; masks are drawn anew in every round."""
    view = None if story.view is None else replace(story.view, seen=())
    return replace(story, command=kept.command, versions=kept.versions, view=view)
