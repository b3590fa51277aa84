"""A document on a terminal, by rich. Knows nodes, and nothing of runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from folkmoot.report.document import (
    Bullets,
    Command,
    Document,
    Fact,
    Figure,
    Fold,
    Halves,
    Level,
    Name,
    Paragraph,
    Part,
    Quantity,
    Section,
    Table,
    Tone,
    group_facts,
    select,
    select_document,
)
from folkmoot.report.numbers import NOTHING
from folkmoot.report.text import clean, shorten

MOST_ROWS = 30
MANY_COLUMNS = 7  # more stand closer to each other
LONGEST_WORD = 12  # letters that a narrow column has room for
NO_EDGE = 10_000
STYLES = {Tone.WARNING: "yellow", Tone.FINE: "dim"}


def print_document(out: Console, document: Document, level: Level = Level.SUMMARY) -> None:
    shown = select_document(document, level)
    out.print(Text(clean(shown.title), style="bold"))
    _print(out, (*shown.head, *shown.sections))


def print_parts(out: Console, parts: Iterable[Part], level: Level = Level.DETAIL) -> None:
    _print(out, select(parts, level))


def _print(out: Console, parts: Iterable[Part]) -> None:
    for part in group_facts(parts):
        match part:
            case tuple():
                _print_facts(out, part)
            case Paragraph(text, tone):
                out.print(Text(clean(text), style=STYLES.get(tone, "")))
            case Bullets(lines, ordered):
                for place, line in enumerate(lines, start=1):
                    text = clean(line.text if isinstance(line, Name) else line) or NOTHING
                    out.print(Padding(Text(f"{f'{place}.' if ordered else '•'} {text}"), (0, 0, 0, 2)))
            case Command(text):
                out.print(Text(clean(text)), soft_wrap=True)
            case Table():
                _print_table(out, part)
            case Fold(title, inside) | Section(title, inside):
                out.print()
                out.print(Text(clean(title), style="bold"))
                _print(out, inside)
            case Halves(left, right):
                _print(out, (*left, *right))
            case Figure() | Fact():  # figures: their numbers are in tables; facts come in groups
                pass


def _print_facts(out: Console, facts: Sequence[Fact]) -> None:
    if isinstance(facts[0].value, str):
        for fact in facts:
            note = f" ({fact.note})" if fact.note else ""
            out.print(Text(clean(f"{fact.name}: {fact.value}{note}")))
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(justify="right", style="bold")
    grid.add_column(overflow="fold")
    for fact in facts:
        if isinstance(fact.value, Quantity):
            grid.add_row(Text(clean(fact.name)), Text(fact.value.text()), Text(clean(fact.note)))
    out.print(grid)


def _print_table(out: Console, table: Table) -> None:
    """On a terminal, what fits: the first rows, no column that can be spared, and of a very long name, which would pad
    all rows, the start. In a pipe, everything.
    """
    more = 0
    if out.is_terminal:
        table, more = table.shorten(MOST_ROWS)
        table = _fit_columns(table, out.width)
    grid = _make_grid(table, shorten if out.is_terminal else clean)
    with _widen(out, grid):
        out.print(grid)
    if more:
        out.print(f"… and {more:,} more (a pipe gets all: | cat)")


def _find_gap(table: Table) -> int:
    return 2 if len(table.headers) <= MANY_COLUMNS else 1


def _fit_columns(table: Table, width: int) -> Table:
    """Without as many of the spare columns as it takes to fit, from the right."""
    texts = table.texts()
    least = [
        max(len(word) for row in texts for word in [*header.name.split(), *_list_words(row[at], table.is_numeric(at))])
        if texts
        else 0
        for at, header in enumerate(table.headers)
    ]
    dropped: set[int] = set()
    for at in reversed(range(len(table.headers))):
        kept = [size for place, size in enumerate(least) if place not in dropped]
        if sum(kept) + _find_gap(table) * (len(kept) - 1) <= width:
            break
        if table.headers[at].spare:
            dropped.add(at)
    return table.drop_columns(dropped)


def _list_words(text: str, numeric: bool) -> list[str]:
    """What is not broken; very long words are."""
    return [text] if numeric else [word[:LONGEST_WORD] for word in text.split()] or [""]


@contextmanager
def _widen(out: Console, grid: Grid) -> Iterator[None]:
    """A pipe has no edge: every row is one line."""
    before = out.width
    if not out.is_terminal:
        wanted = Measurement.get(out, out.options.update(max_width=NO_EDGE), grid).maximum
        out.width = max(before, wanted)
    try:
        yield
    finally:
        out.width = before


def _make_grid(table: Table, show_name: Callable[[str], str] = clean) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, _find_gap(table), 0, 0), header_style="underline")
    for at, header in enumerate(table.headers):
        style = "yellow" if header.striking else None
        right = table.is_numeric(at)
        side: Literal["left", "right"] = "right" if right else "left"
        grid.add_column(Text(clean(header.name)), justify=side, style=style, overflow="fold")
    for row, texts in zip(table.rows, table.texts(), strict=True):
        cells = []
        for cell, text in zip(row, texts, strict=True):
            # A number is kept whole: names give way where the terminal is narrow.
            strong = isinstance(cell, Name) and cell.stressed
            shown = show_name(text) if isinstance(cell, Name) else clean(text)
            written = Text(shown, no_wrap=isinstance(cell, Quantity), style="bold" if strong else "")
            if isinstance(cell, Name) and cell.note:
                written.append(f" ({clean(cell.note)})", style="not bold dim")
            cells.append(written)
        grid.add_row(*cells)
    return grid
