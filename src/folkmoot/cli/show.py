"""Results as tables on a terminal, and as JSON for scripts."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from folkmoot.report.story import Comparison, Story

MOST_SHOWN = 30
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


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
    with out.status(what):
        yield


@contextmanager
def bar(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """How far work has come: what is being done, how much is done, of how much."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    out = console(quiet=True)
    with Progress(*columns, console=out, transient=True, disable=quiet or not out.is_terminal) as progress:
        task = progress.add_task("")
        yield lambda what, done, of: progress.update(task, description=what, completed=done, total=of)


def show_story(out: "Console", story: "Story") -> None:
    """The answer first, then how good it is, what it cost and what was revealed."""
    from rich.text import Text

    from folkmoot.report.text import clean

    for note in story.notes:
        out.print(Text(clean(note), style="dim"))
    out.print(_answer(story))
    if len(story.chosen) > MOST_SHOWN:
        out.print(f"… and {len(story.chosen) - MOST_SHOWN:,} more")
    for line in summarise(story):
        out.print(Text(clean(line)))


def _answer(story: "Story") -> Any:
    from rich.table import Table
    from rich.text import Text

    from folkmoot.report.text import clean

    gains = any(item.gain is not None for item in story.chosen)
    details = list(dict.fromkeys(name for item in story.chosen for name, _ in item.details))
    table = Table(title=Text(clean(story.title)), title_justify="left", title_style="bold")
    table.add_column("", justify="right")
    for name in ("item", *details):
        table.add_column(Text(clean(name)))
    if gains:
        table.add_column("gain", justify="right")
        table.add_column("total", justify="right")
    total = 0.0
    for place, item in enumerate(story.chosen[:MOST_SHOWN], start=1):
        said = dict(item.details)
        total += item.gain or 0.0
        cells = [item.name, *(said.get(name, "") for name in details)]
        numbers = [f"{item.gain or 0.0:.4g}", f"{total:.4g}"] if gains else []
        table.add_row(f"{place}", *(Text(clean(cell)) for cell in cells), *numbers)
    return table


def summarise(story: "Story") -> list[str]:
    """What people need to know besides the answer, in a few lines."""
    from folkmoot.report.facts import beside_central, cost_of, find_known
    from folkmoot.report.numbers import down, fraction, number, percent, size, up
    from folkmoot.report.sentences import confidence_of, difference, smallest

    result, estimate, known = story.result, story.result.estimate, find_known(story.result)
    lines = [] if known.value is None else [f"Value {number(known.value)}: {story.meaning}."]
    if estimate is not None and not estimate.everyone:
        high = "" if known.high is None else f" to {up(known.high)}"
        lines.append(
            f"From sums over {estimate.clients:,} {story.clients_called} alone: {number(estimate.value)} "
            f"({down(known.low)}{high}, {confidence_of(result)}), to which the gains add up."
        )
    if known.ratio is not None:
        lines.append(f"At least {fraction(known.ratio)} of the best possible ({confidence_of(result)}).")
    else:
        jury = estimate is not None and estimate.range_from == "jury"
        why = " (only the jury was asked how large values are: --most says what everybody knows)" if jury else ""
        lines.append(f"How far it is from the best is not known: no bound holds{why}.")
    if result.why is not None:
        lines.append(f"Found by {result.why}.")
    share = beside_central(story)
    if share is not None:
        lines.append(f"{percent(share)} of what central greedy reaches, which sees everything.")
    if story.baselines:
        others = ", ".join(f"{one.name} {number(one.value)}" for one in story.baselines)
        lines.append(f"Other ways to choose would give: {others}.")
    cost = cost_of(result)
    if cost is not None:
        lines.append(f"{cost.rounds} rounds, {cost.answers:,} answers of {size(cost.mean_up)} on average.")
        lines += [smallest(story)[0], difference(story)[0]]
    return [line for line in lines if line]


def show_view(out: "Console", story: "Story") -> None:
    """What the server saw of one client, beside what it learned."""
    from rich.table import Table
    from rich.text import Text

    from folkmoot.report.text import clean

    view = story.view
    if view is None:
        return
    table = Table(
        title=f"One of {view.clients:,} in the round “{view.label}”", title_justify="left", title_style="bold"
    )
    table.add_column("")
    for column, _ in view.columns:
        table.add_column(column, justify="right")
    for name, *numbers in zip(view.items, *(column for _, column in view.columns), strict=True):
        table.add_row(Text(clean(name)), *(f"{number:,}" for number in numbers))
    out.print(table)
    out.print(
        f"What it saw is noise: every number below 2^{view.ring_bits} is as likely as any other. What it learned is "
        f"the sum over {view.clients:,} {story.clients_called}."
    )


def show_comparison(out: "Console", comparison: "Comparison") -> None:
    """One line a method, best first."""
    from rich.table import Table
    from rich.text import Text

    from folkmoot.report.facts import rank_entries
    from folkmoot.report.numbers import fraction, number, size

    table = Table(title=Text(comparison.title), title_justify="left", title_style="bold")
    table.add_column("method")
    for name in ("value", "±", "of central", "rounds", "bytes up", "answers", "fewest", "seconds"):
        table.add_column(name, justify="right")
    for scored in rank_entries(comparison):
        one = scored.entry
        asked = [f"{one.rounds}", size(one.bytes_up), f"{one.answers:,}", f"{one.smallest:,}"] if one.smallest else []
        table.add_row(
            Text(one.name),
            number(scored.mean),
            number(scored.spread) if scored.spread is not None else "",
            fraction(scored.ratio) if scored.ratio is not None else "",
            *(asked or [""] * 4),
            f"{one.seconds:.2g}",
        )
    out.print(table)
