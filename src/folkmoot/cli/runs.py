"""`folkmoot run`, `resume`, `verify`, `report`: one run, from its beginning to what is shown of it."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import AtMost, Per, Seed, Settings, Where, Within, problem_of, with_settings
from folkmoot.cli.show import Json
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Choose, Data, How, Output, Privacy

if TYPE_CHECKING:
    from folkmoot.application.folder import Folder
    from folkmoot.application.job import Job
    from folkmoot.application.problem import Problem
    from folkmoot.report.story import Story

STOPPED = 130
Folder_ = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.", rich_help_panel="output")]


@with_settings(Data, Choose, How, Privacy, Output)
def run(
    path: Where,
    *,
    at_most: AtMost = None,
    per: Per = None,
    within: Within = None,
    seed: Seed = None,
    settings: Settings = None,
    no_report: NoReport = False,
    as_json: Json = False,
    given: dict[str, dict[str, Any]],
) -> None:
    """Choose the best set for everyone, and write a report."""
    problem = problem_of(path, given, at_most, per, within, seed, settings)
    folder, story = begin(problem, shlex.join(["folkmoot", *sys.argv[1:]]), quiet=as_json)
    write_and_show(folder, story, problem.output, report=not no_report, as_json=as_json)


def resume(path: Folder_, *, no_report: NoReport = False, as_json: Json = False) -> None:
    """Go on with a run that was stopped."""
    from folkmoot.application.folder import Folder
    from folkmoot.application.job import prepare
    from folkmoot.cli.show import show_work

    folder = Folder.open(path)
    problem = folder.asked()
    story = whole_story(folder)
    if story is None:
        with stoppable(folder):
            with show_work(f"reading {Path(problem.data.file).name} …", quiet=as_json):
                job = prepare(problem)
            folder.check_same_data(problem)
            command = shlex.join(["folkmoot", "run", str(folder.problem), "--folder", f"{folder.path}-again"])
            story = finish(folder, job, command=command, quiet=as_json)
    write_and_show(folder, story, problem.output, report=not no_report, as_json=as_json)


def verify(
    path: Folder_,
    *,
    sums_only: Annotated[
        bool, typer.Option("--sums-only", help="From the transcript alone, without the data.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute a finished run again, question by question, and say whether everything fits."""
    from folkmoot.application.folder import Folder
    from folkmoot.application.job import verify_folder
    from folkmoot.cli.show import console, print_json, show_work

    folder = Folder.open(path)
    with show_work("computing every sum again …", quiet=as_json):
        result = verify_folder(folder, data=not sums_only)
        check_report(folder)
    rounds = len(result.rounds or ())
    if as_json:
        print_json(
            {"run": str(folder.path), "verified": True, "rounds": rounds, "from": "sums" if sums_only else "data"}
        )
        return
    again = "what follows from the sums in the transcript" if sums_only else "what the data gives"
    console().print(f"{folder.path}: {f'{rounds} rounds, ' if rounds else ''}result and report are {again}.")


def report(
    path: Folder_,
    *,
    html: Annotated[Path | None, typer.Option(help="Where the page goes; in the run's folder unless given.")] = None,
    png: Annotated[bool, typer.Option("--png", help="Write the charts as pictures too.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write Markdown too.")] = False,
    as_json: Json = False,
) -> None:
    """Write the report of a finished run again; it needs no data."""
    from folkmoot.application.folder import Folder
    from folkmoot.cli.show import console, print_json

    folder = Folder.open(path)
    if html is not None and not html.parent.is_dir():
        raise InputError(f"--html: there is no folder {html.parent}")
    story = whole_story(folder)
    if story is None:
        folder.answer()  # says that the run is not finished, or damaged
        raise InputError(f"is missing or damaged; `folkmoot resume {folder.path}` writes it again", place=folder.story)
    files = pages(folder, story, html=html, png=png, markdown=markdown)
    if as_json:
        print_json({"run": str(folder.path), "files": [str(one) for one in files]})
    else:
        for one in files:
            console().print(f"{one}")


def begin(problem: "Problem", command: str, *, quiet: bool) -> tuple["Folder", "Story"]:
    """A whole run in a folder of its own; where the input is wrong, no folder is left."""
    from folkmoot.application.folder import Folder
    from folkmoot.application.job import prepare
    from folkmoot.cli.show import show_work

    folder = Folder.create(problem)
    try:
        with stoppable(folder):
            with show_work(f"reading {Path(problem.data.file).name} …", quiet=quiet):
                job = prepare(problem)
            folder.check_same_data(folder.asked())
            return folder, finish(folder, job, command=command, quiet=quiet)
    except InputError:
        folder.forget()
        raise


def finish(folder: "Folder", job: "Job", *, command: str, quiet: bool) -> "Story":
    """Carry out what is left of a run, and keep its result and its story."""
    from folkmoot.application.account import tell_story
    from folkmoot.application.job import carry_out
    from folkmoot.cli.show import show_work
    from folkmoot.report.kept import to_json

    result = carry_out(job, folder.transcript)  # a finished run is only replayed
    folder.write(folder.result, result.to_json())
    with show_work("comparing with other ways to choose …", quiet=quiet):
        story = tell_story(job, result, command)
    folder.write(folder.story, to_json(story))
    return story


def write_and_show(folder: "Folder", story: "Story", output: Output, *, report: bool, as_json: bool) -> None:
    """Write the report and show the answer."""
    import json

    from folkmoot.cli.show import console, print_json, show_story, show_work

    files: list[Path] = []
    charts = charts_at_hand()
    if report:
        with stoppable(folder), show_work("writing the report …", quiet=as_json):
            wanted = {"png": output.png, "markdown": output.markdown} if charts else {"html": False, "markdown": True}
            files = pages(folder, story, **wanted)
    if as_json:
        answer = json.loads(story.result.to_json())
        print_json({"run": str(folder.path), "report": [str(one) for one in files], "result": answer})
        return
    out = console()
    show_story(out, story)
    if report and not charts:
        out.print("For pages with charts: pip install 'folkmoot[report]', then folkmoot report.")
    for one in files:
        out.print(f"Report: {one}", soft_wrap=True)
    out.print(f"Run:    {folder.path} (folkmoot verify, folkmoot report)", soft_wrap=True)


def pages(
    folder: "Folder", story: "Story", *, html: Path | bool | None = None, png: bool = False, markdown: bool = False
) -> list[Path]:
    """Write what is wanted; the names of the files."""
    from folkmoot.application.folder import write
    from folkmoot.report import markdown as as_markdown
    from folkmoot.report import page, pictures

    files: list[Path] = []
    if html is not False:
        files.append(html if isinstance(html, Path) else folder.report)
        write(files[-1], page(story))
    if png:
        for name, picture in pictures(story).items():
            files.append(folder.path / f"{name}.png")
            write(files[-1], picture)
    if markdown:
        files.append(folder.path / "report.md")
        write(files[-1], as_markdown(story))
    return files


def check_report(folder: "Folder") -> None:
    """Refuse a story or a page that tells something else than the result."""
    from folkmoot.foundation.errors import TranscriptError
    from folkmoot.report import page

    story, result = whole_story(folder), folder.answer()
    names = dict(zip(result.selected, result.names or (), strict=False))
    told = [names.get(item) for item in result.order or result.selected]
    if story is None or (names and [item.name for item in story.chosen] != told):
        raise TranscriptError(
            f"does not tell the result; `folkmoot resume {folder.path}` writes it again", place=folder.story
        )
    if folder.report.exists() and charts_at_hand() and folder.report.read_text() != page(story):
        raise TranscriptError(f"is not what the story makes; `folkmoot report {folder.path}` does", place=folder.report)


def whole_story(folder: "Folder") -> "Story | None":
    """The story of a finished run; None where it or the result is missing or damaged."""
    from folkmoot.foundation.errors import FolkmootError
    from folkmoot.report.kept import from_json

    try:
        story = from_json(folder.story.read_text())
        return story if story.result == folder.answer() else None
    except (OSError, UnicodeDecodeError, FolkmootError):
        return None


def charts_at_hand() -> bool:
    """Whether what draws charts is installed."""
    from importlib.util import find_spec

    return find_spec("vl_convert") is not None


@contextmanager
def stoppable(folder: "Folder") -> Iterator[None]:
    """Ctrl-C leaves a run that can be gone on with, and says how."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"\nfolkmoot: stopped; go on with: folkmoot resume {shlex.quote(str(folder.path))}", file=sys.stderr)
        raise typer.Exit(STOPPED) from None
