"""What is told of a run: its story, and the pages that are made from it. All calls to account and report are here.

A story is made from the problem, the result and the data, every time. One that was stored is never read to be told
again: anybody could have changed it.
"""

from importlib.util import find_spec
from pathlib import Path

from folkmoot.application import account
from folkmoot.application.command import spell_command
from folkmoot.application.folder import About, Folder, Participants, write
from folkmoot.application.job import Task
from folkmoot.application.problem import Problem
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.result import Result
from folkmoot.report import Comparison, Item, Story, compare_page, markdown_of, page, pictures, pictures_of
from folkmoot.report import markdown as as_markdown
from folkmoot.report.stored_story import to_json
from folkmoot.report.text import count_many


def has_charts() -> bool:
    """Whether what draws charts is installed."""
    return find_spec("vl_convert") is not None


def tell(folder: Folder, job: Task, result: Result, *, compare: bool) -> Story:
    """Everything about a finished run; `compare`: with what takes longer, where all the data is here: what a central
    solver finds, and a round that is run to be looked at.
    """
    problem = folder.read_problem()
    command, members = spell_command(problem), _find_members(folder, problem, isinstance(job.method, Conversation))
    return account.tell_story(job, result, command, members, compare=compare, transcript=folder.transcript)


def _find_members(folder: Folder, problem: Problem, federated: bool) -> Participants | None:
    """Who takes part, where the problem asks a federation: anybody can write a file that says so."""
    networked = problem.privacy.federation is not None
    folder.refuse_strays(networked=networked, federated=federated)
    return folder.read_participants() if networked else None


def tell_without_data(folder: Folder, result: Result) -> Story:
    """What a result and its problem tell by themselves, and what nobody could check of it."""
    problem, federated = folder.read_problem(), result.estimate is not None
    members = _find_members(folder, problem, federated)
    about = folder.read_about() or About("", "clients", "items", 0, ())
    n_clients = about.n_clients if members is None else members.n_clients
    names = result.names or tuple(f"item {item}" for item in result.chosen)
    gains = result.gains or (None,) * len(names)
    count = f"{len(names):,} of {result.n_items:,} {about.items_called}"
    whom = count_many(n_clients, about.clients_called) if n_clients else about.clients_called
    return Story(
        title=problem.output.title or f"{count}, chosen for {whom}",
        question=f"Which {count} are best for all {whom} together" + (", from sums alone?" if federated else "?"),
        meaning=about.meaning,
        clients_called=about.clients_called,
        items_called=about.items_called,
        n_clients=n_clients,
        result=result,
        chosen=tuple(Item(name, gain=gain) for name, gain in zip(names, gains, strict=True)),
        secure=problem.privacy.summing if federated else "none",
        protection=account.describe_protection(None, result, members),
        notes=about.notes,
        command=spell_command(problem),
        versions=account.versions(),
        credits=(problem.data.credit,) if problem.data.credit else (),
        parties=account.list_parties(members, result),
        corrupt=account.find_corrupt(problem, result, members),
        limits=account.list_limits(problem, result, None),
        unchecked=explain_unchecked(networked=members is not None, federated=federated),
    )


def explain_unchecked(*, networked: bool, federated: bool) -> str:
    """What to believe of a report that was written without the data."""
    if networked:
        return (
            "The server's kit was not at hand when this was written, so it says no more of the items than their names. "
            "These names, the parties, and what the value means are as the run wrote them down: nobody checked them."
        )
    exact = "the exact value and " if federated else "the value and all "
    return (
        "The data was not at hand when this was written, so it does not say what other ways to choose would give. "
        f"Names, notes, what the value means, {exact}numbers are as the run wrote them down: nobody checked them."
    )


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
        content[folder.markdown] = as_markdown(story)
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
