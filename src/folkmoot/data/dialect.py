"""How a text file is written: what separates its columns, whether it has a header, and the names of its columns."""

import csv
import re
from collections import Counter
from dataclasses import dataclass

from folkmoot.data.columns import is_known
from folkmoot.foundation.errors import InputError

SEPARATORS = (",", "\t", ";", "|", " ")
NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
TYPED = re.compile(r"(.+):(token|float|token_seq|float_seq)")  # RecBole writes the type after the name
LINES = 200  # of the file are examined
MOVIELENS = {3: ("movieId", "title", "genres"), 4: ("userId", "movieId", "rating", "timestamp")}


@dataclass(frozen=True)
class Dialect:
    """How to read the rows of a text file."""

    separator: str  # one character, or "::"
    quoted: bool  # whether "…" may contain separators and line ends
    columns: tuple[str, ...]
    before: int  # lines before the first row: comments and the header
    header: bool
    decimal_comma: bool = False


def detect_dialect(text: str, suffix: str, name: str) -> Dialect:
    """The dialect of a file that begins with these (complete) lines."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    comments = 0
    while comments < len(lines) and (not lines[comments].strip() or lines[comments][0] in "#%"):
        comments += 1
    shown = [line for line in lines[comments : comments + LINES] if line.strip()]
    if not shown:
        raise InputError("is empty; it needs a header and at least one row", place=name)
    separator = _separator(shown, suffix)
    rows = _split(shown, separator)
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    header = _is_header(first, rest)
    columns: tuple[str, ...]
    if header:
        typed = [TYPED.fullmatch(cell) for cell in first]
        columns = tuple(match[1] if match else cell for match, cell in zip(typed, first, strict=True))
    elif separator == "::" and len(first) in MOVIELENS:
        columns = MOVIELENS[len(first)]
    else:
        columns = tuple(f"column_{at}" for at in range(1, len(first) + 1))
    cells = [cell for row in rest for cell in row]
    comma = separator != "," and any("," in cell and NUMBER.fullmatch(cell) for cell in cells)
    point = any("." in cell and NUMBER.fullmatch(cell) for cell in cells)
    return Dialect(
        separator,
        separator != "::",
        make_distinct(columns),
        comments + header,
        header,
        decimal_comma=comma and not point,
    )


def make_distinct(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Names for all columns, no two the same."""
    seen: Counter[str] = Counter()
    names = []
    for at, column in enumerate(columns, start=1):
        name = column or f"column_{at}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(names)


def _split(lines: list[str], separator: str) -> list[list[str]]:
    if separator == "::":
        return [line.split("::") for line in lines]
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error:  # a cell of megabytes, or a line end within a cell: not this separator
        return [[line] for line in lines]


def _separator(lines: list[str], suffix: str) -> str:
    """The separator that cuts all lines into equally many columns; the usual one for the suffix is tried first."""
    if suffix == ".dat" and all("::" in line for line in lines):
        return "::"
    usual = {".csv": ",", ".tsv": "\t", ".inter": "\t", ".item": "\t", ".user": "\t"}.get(suffix, ",")
    best, most = usual, 0
    for separator in (usual, *(other for other in SEPARATORS if other != usual)):
        widths = Counter(len(row) for row in _split(lines, separator) if row)
        width, count = max(widths.items(), key=lambda found: (found[1], found[0]))
        if width > 1 and count == sum(widths.values()):
            return separator
        if width > 1 and count > most:
            best, most = separator, count
    return best


def _is_header(first: list[str], rest: list[list[str]]) -> bool:
    """Whether the first row is a header. A header has no numbers; where everything is text, a row with known names
    is a header, and a row whose words are repeated below is not.
    """
    if any(NUMBER.fullmatch(cell) for cell in first):
        return False
    if any(is_known(cell) for cell in first) or any(NUMBER.fullmatch(cell) for row in rest for cell in row):
        return True
    again = any(cell and cell == row[at].strip() for row in rest for at, cell in enumerate(first) if at < len(row))
    return not again
