"""What commands print: how far they have come, summaries for people, JSON for scripts."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.output import ReaderGone
from folkmoot.foundation.compiling import LOG

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from folkmoot.application.outlook import Outlook
    from folkmoot.foundation.compiling import Compiling
    from folkmoot.report.story import Comparison, Story

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only where the answer is.")]

COMPILING = "compiling for this machine, once"


def console(*, quiet: bool = False) -> "Console":
    """Where people read; stderr where stdout is for scripts."""
    from rich.console import Console

    return Console(stderr=quiet, highlight=False, markup=False)


def print_json(document: Any) -> None:
    """Strict JSON on one line."""
    json.dump(document, sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


@contextmanager
def show_work(what: str, *, quiet: bool) -> Iterator[None]:
    """A line that says what is being done, while it is done, on a terminal."""
    out = console(quiet=True)
    if quiet or not out.is_terminal:
        yield
        return
    with out.status(what) as status, LOG.watch(lambda now: status.update(draw_compiling(now) if now else what)):
        yield


def draw_compiling(now: "Compiling") -> "RenderableType":
    """A line that says why a first run takes longer than the next: how far the compiler has come."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    if now.of is None:
        return say_compiling(now)
    line = Table.grid(padding=(0, 1))
    line.add_row(f"{COMPILING}:", ProgressBar(now.of, now.number, width=20), f"{now.number} of about {now.of}")
    return line


def say_compiling(now: "Compiling") -> str:
    return f"{COMPILING} …" if now.of is None else f"{COMPILING}: {now.number} of about {now.of}"


@contextmanager
def bar(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """How far work has come: what is being done, how much is done, of how much."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    out = console(quiet=True)
    with Progress(*columns, console=out, transient=True, disable=quiet or not out.is_terminal) as progress:
        task, doing = progress.add_task(""), ""

        def show(what: str, done: int, of: int) -> None:
            nonlocal doing
            doing = what
            progress.update(task, description=what, completed=done, total=of)

        with LOG.watch(lambda now: progress.update(task, description=say_compiling(now) if now else doing)):
            yield show


def show_outlook(outlook: "Outlook", *, quiet: bool) -> None:
    """What to expect under noise, before anybody is asked. quiet: only where it is a warning, and beside the output."""
    found = outlook.forecast
    if quiet and not found.is_poor:
        return
    said = f"Forecast for ε = {outlook.privacy.epsilon:g}, δ = {outlook.delta:.2g}: {found.describe()}."
    with suppress(ReaderGone):  # what was asked for is written, whoever reads this
        console(quiet=quiet).print(said, style="yellow" if found.is_poor else "", soft_wrap=True)


def show_story(out: "Console", story: "Story") -> None:
    """The summary of a run's report."""
    from folkmoot.report.describe import describe
    from folkmoot.report.terminal import print_document

    print_document(out, describe(story))


def show_view(out: "Console", story: "Story") -> None:
    """What the server saw of one client, and what it learned."""
    from folkmoot.report.sections.exposure import describe_view
    from folkmoot.report.terminal import print_parts

    if story.view is not None:
        print_parts(out, [describe_view(story, story.view)])


def show_comparison(out: "Console", comparison: "Comparison") -> None:
    """The summary of a comparison: one line per method, best first."""
    from folkmoot.report.comparison import describe_comparison
    from folkmoot.report.terminal import print_document

    print_document(out, describe_comparison(comparison))
