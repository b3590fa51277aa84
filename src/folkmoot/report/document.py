"""A report as a small tree of headings, facts, paragraphs, tables and figures.

Whoever describes a run builds this tree and knows nothing of how it will be shown. A renderer (`html`, `markdown`,
`terminal`, `notebook`, `plain`) knows these nodes and nothing of runs. So a new fact is written once.
Text is plain: names from outside may be in it, and every renderer makes them harmless.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from math import isfinite
from typing import TypeAlias

from folkmoot.report.numbers import (
    DIGITS,
    NOTHING,
    column,
    count,
    number,
    percent,
    round_down,
    round_up,
    size,
)
from folkmoot.report.vega import Spec


class Level(IntEnum):
    """How much is shown: pages and Markdown show everything, terminals and notebooks the summary."""

    SUMMARY = 1
    DETAIL = 2


class Form(StrEnum):
    """How a number is written."""

    NUMBER = "number"
    LOW = "low"  # rounded down: what is promised
    HIGH = "high"  # rounded up: what is not exceeded
    SHARE = "share"  # 97.3 %, rounded down
    COUNT = "count"
    SIZE = "size"  # in bytes
    SECONDS = "seconds"
    KILOMETRES = "kilometres"


class Tone(StrEnum):
    """How loud a paragraph is."""

    LEAD = "lead"
    PLAIN = "plain"
    FINE = "fine"  # small print
    WARNING = "warning"


DIGITS_MATTER: dict[Form, Callable[[float, int], str]] = {
    Form.NUMBER: number,
    Form.LOW: round_down,
    Form.HIGH: round_up,
}
DIGITS_FIXED: dict[Form, Callable[[float], str]] = {
    Form.SHARE: percent,
    Form.COUNT: lambda value: count(int(value)),
    Form.SIZE: size,
    Form.SECONDS: lambda value: f"{number(value, 3)} s",
    Form.KILOMETRES: lambda value: f"{number(value, 3)} km" if value >= 1 else f"{number(1000 * value, 3)} m",
}


@dataclass(frozen=True)
class Quantity:
    """A number: exact for machines, and written for people in its form."""

    value: float | None
    form: Form = Form.NUMBER
    field: str = ""  # where the number stands in the result, or a name of its own
    digits: int = 0  # 0: as many as the renderer likes
    missing: str = NOTHING  # what is written where there is no (finite) number

    @property
    def exact(self) -> float | None:
        return self.value if self.value is not None and isfinite(self.value) else None

    def text(self, digits: int = DIGITS) -> str:
        if self.exact is None:
            return self.missing
        fixed = DIGITS_FIXED.get(self.form)
        return fixed(self.exact) if fixed else DIGITS_MATTER[self.form](self.exact, self.digits or digits)


@dataclass(frozen=True)
class Name:
    """A name from outside, which may be long and may be written in any direction."""

    text: str
    note: str = ""
    key: float | None = None  # the number in it, where it is one: tables sort by it
    stressed: bool = False  # what counts, beside a note of what does not


Cell: TypeAlias = "str | Name | Quantity"


@dataclass(frozen=True)
class Fact:
    """One thing to know: "Smallest sum", 98, "users"."""

    name: str
    value: Quantity | str
    note: str = ""
    level: Level = Level.SUMMARY


@dataclass(frozen=True)
class Paragraph:
    text: str
    tone: Tone = Tone.PLAIN
    level: Level = Level.DETAIL
    spare: bool = False  # about columns that are left out where there is little room, and left out with them


@dataclass(frozen=True)
class Bullets:
    lines: tuple[str | Name, ...]
    ordered: bool = False
    level: Level = Level.DETAIL


@dataclass(frozen=True)
class Command:
    """What to type at a shell."""

    text: str
    level: Level = Level.DETAIL


@dataclass(frozen=True)
class Header:
    """The head of a table's column."""

    name: str
    aligned: bool = False  # numbers with as many decimals as each other
    striking: bool = False  # in another colour
    bar: bool = False  # pages draw its numbers as bars too
    spare: bool = False  # left out where there is little room; words go under the name then


@dataclass(frozen=True)
class Table:
    """Rows of cells; `title` is for those who do not see where the table stands."""

    title: str
    headers: tuple[Header, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sortable: bool = True
    level: Level = Level.DETAIL

    def is_numeric(self, at: int) -> bool:
        """Whether a column holds numbers only, apart from gaps."""
        return bool(self.rows) and all(_is_number(row[at]) for row in self.rows)

    def texts(self, digits: int = DIGITS) -> list[list[str]]:
        """Every cell as text, row by row; numbers of an aligned column have the same number of decimals."""
        columns: list[list[str]] = []
        for at, header in enumerate(self.headers):
            cells = [row[at] for row in self.rows]
            texts = [cell if isinstance(cell, str) else _text(cell, digits) for cell in cells]
            if header.aligned:
                numbers = [cell.exact for cell in cells if isinstance(cell, Quantity)]
                wanted = max((cell.digits for cell in cells if isinstance(cell, Quantity)), default=0) or digits
                written = iter(column((value for value in numbers if value is not None), wanted))
                has = [isinstance(cell, Quantity) and cell.exact is not None for cell in cells]
                texts = [next(written) if known else text for known, text in zip(has, texts, strict=True)]
            columns.append(texts)
        return [list(row) for row in zip(*columns, strict=True)]

    def shorten(self, rows: int) -> tuple["Table", int]:
        """The first rows, and how many are left out."""
        return replace(self, rows=self.rows[:rows]), max(len(self.rows) - rows, 0)

    def drop_columns(self, dropped: Collection[int]) -> "Table":
        """Without the columns at these places."""
        kept = [at for at in range(len(self.headers)) if at not in dropped]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return replace(self, headers=tuple(self.headers[at] for at in kept), rows=rows)


def _text(cell: "Name | Quantity", digits: int) -> str:
    return cell.text(digits) if isinstance(cell, Quantity) else cell.text


def _is_number(cell: Cell) -> bool:
    if isinstance(cell, Name):
        return cell.key is not None or not cell.text
    return isinstance(cell, Quantity) or cell in ("", NOTHING)


@dataclass(frozen=True)
class Figure:
    """A chart; its numbers are in tables too, so whoever draws none leaves nothing out."""

    name: str  # of its picture's file
    title: str
    caption: str
    wide: Spec
    narrow: Spec | None = None  # for phones, where a chart has another layout there
    datasets: dict[str, list[Spec]] | None = None
    level: Level = Level.DETAIL
    on_page: bool = True  # False: a picture for those who want one; on pages a table shows the same


@dataclass(frozen=True)
class Fold:
    """Parts that are out of sight until somebody wants them."""

    title: str
    parts: "tuple[Part, ...]"


@dataclass(frozen=True)
class Halves:
    """Two groups of parts, next to each other where there is room."""

    left: "tuple[Part, ...]"
    right: "tuple[Part, ...]"


@dataclass(frozen=True)
class Section:
    """A part with a title. Of a folded one, pages show the gist and the warnings, and the rest when it is wanted; a
    short one stands among these, and is shown whole.
    """

    title: str
    parts: "tuple[Part, ...]"
    gist: str = ""  # in one sentence
    folded: bool = False
    short: bool = False


@dataclass(frozen=True)
class Document:
    """A whole report: what it is about, the most important facts, and its sections."""

    title: str
    question: str
    head: "tuple[Part, ...]"
    sections: tuple[Section, ...]


Leaf: TypeAlias = "Fact | Paragraph | Bullets | Command | Table | Figure"
Part: TypeAlias = "Leaf | Fold | Halves | Section"


def walk(parts: Iterable[Part]) -> Iterator[Leaf]:
    """Every leaf of the tree, in reading order."""
    for part in parts:
        if isinstance(part, Halves):
            yield from walk((*part.left, *part.right))
        elif isinstance(part, Fold | Section):
            yield from walk(part.parts)
        else:
            yield part


def walk_document(document: Document) -> Iterator[Leaf]:
    return walk((*document.head, *document.sections))


def select(parts: Iterable[Part], level: Level) -> tuple[Part, ...]:
    """The tree with only what is shown at this level; branches that are left empty go."""
    return prune(parts, lambda leaf: leaf.level <= level)


def prune(parts: Iterable[Part], keep: Callable[[Leaf], bool]) -> tuple[Part, ...]:
    """The tree with only these leaves; branches that are left empty go."""
    kept: list[Part] = []
    for part in parts:
        if isinstance(part, Halves):
            left, right = prune(part.left, keep), prune(part.right, keep)
            kept += [Halves(left, right)] if left and right else [*left, *right]
        elif isinstance(part, Fold | Section):
            inside = prune(part.parts, keep)
            kept += [replace(part, parts=inside)] if inside else []
        elif keep(part):
            kept.append(part)
    return tuple(kept)


def split_warnings(parts: Iterable[Part]) -> tuple[tuple[Leaf, ...], tuple[Part, ...]]:
    """The warnings in a tree, and the tree without them: no warning is folded away."""
    tree = tuple(parts)
    return tuple(filter(_is_warning, walk(tree))), prune(tree, lambda leaf: not _is_warning(leaf))


def _is_warning(leaf: Leaf) -> bool:
    return isinstance(leaf, Paragraph) and leaf.tone is Tone.WARNING


def select_document(document: Document, level: Level) -> Document:
    sections = tuple(part for part in select(document.sections, level) if isinstance(part, Section))
    return replace(document, head=select(document.head, level), sections=sections)


def group_facts(parts: Iterable[Part]) -> "Iterator[Part | tuple[Fact, ...]]":
    """Facts in a row are shown together: those with numbers, and those with words."""
    row: list[Fact] = []
    for part in parts:
        if row and not (isinstance(part, Fact) and isinstance(part.value, str) == isinstance(row[-1].value, str)):
            yield tuple(row)
            row = []
        if isinstance(part, Fact):
            row.append(part)
        else:
            yield part
    if row:
        yield tuple(row)
