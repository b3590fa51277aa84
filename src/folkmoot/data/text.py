"""Text files, a few million bytes at a time: a kernel checks the lines in one pass, and polars parses them."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import numpy as np
import polars
from numpy.typing import NDArray

from folkmoot.data.columns import list_words
from folkmoot.data.dialect import Dialect, detect_dialect
from folkmoot.data.findings import SHOWN, say_count
from folkmoot.data.letters import MARK, Letters, find_letters
from folkmoot.data.lines import LONGEST, LineFile
from folkmoot.data.opening import explain_errors, open_bytes, suffixes
from folkmoot.data.source import CellType, cast_cells
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import kernel

SAMPLE = 1 << 18
UNIT = b"\x1f"  # one byte in place of "::"
FINE, RAGGED, OPEN = range(3)
# A quote after a backslash that cannot end its cell; and any quote after an odd number of backslashes.
ESCAPED = re.compile(rb"""[^\\]\\"[^,;|\t\r\n"]""")
BACKSLASHED = re.compile(rb'''(?<!\\)((?:\\\\)*)\\"''')
MOST_RAGGED = 1000  # lines; nobody mends more by hand


class TextFile(LineFile):
    """A file of lines with columns."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._letters: Letters | None = None  # None: all that was read so far is ASCII
        with explain_errors(path), open_bytes(path) as stream:
            start = stream.read(SAMPLE)
        if len(start) == SAMPLE:
            start = start[: start.rfind(b"\n") + 1] or start
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError("is UTF-16", remedy="save it as UTF-8", place=self.file)
        if b"\r" in start and b"\n" not in start:
            raise InputError(
                "its lines end with CR alone, as on old Macintoshes",
                remedy="save it with LF or CRLF line ends",
                place=self.file,
            )
        if b"\0" in start:
            raise InputError("is not a text file", remedy="check that its suffix matches its format", place=self.file)
        text = self._convert_to_utf8(start).decode(errors="ignore").replace("\r\n", "\n")  # may end within a letter
        self._escaped = ESCAPED.search(text.encode()) is not None  # whether a quote within quotes is written as \\"
        text = self._double_quotes(text.encode()).decode()
        self.dialect: Dialect = detect_dialect(text, suffixes(path)[0], self.file)
        self.columns, self.first, self.header = self.dialect.columns, self.dialect.before + 1, self.dialect.header
        self.start = self._read_sample(text)
        if not self.start.height:
            next(self.chunks(self.cut), None)  # no line has these columns: whatever they are, that is what is wrong

    def notes(self) -> list[str]:
        said = []
        if not self.header:
            said.append(f"{self.file} has no header; its columns were named {', '.join(self.columns)}.")
        if self._letters is not None and self._letters.note:
            said.append(self._letters.note)
        if self.dialect.decimal_comma:
            said.append(f"{self.file} writes numbers with a decimal comma.")
        return said

    def _read_sample(self, text: str) -> polars.DataFrame:
        lines = text.split("\n", self.dialect.before)[-1]
        try:
            rows = [row for row in self._split(lines) if len(row) == len(self.columns)][:1000]
        except csv.Error as error:
            raise InputError(f"is not text in columns ({error})", place=self.file) from None
        schema = dict.fromkeys(self.columns, polars.String)
        return polars.DataFrame([[cell or None for cell in row] for row in rows], schema=schema, orient="row")

    def _split(self, text: str) -> Iterator[list[str]]:
        if self.dialect.separator == "::":
            return (line.split("::") for line in text.split("\n"))
        return csv.reader(io.StringIO(text), delimiter=self.dialect.separator)

    def cut(self, text: bytes, line: int, last: bool) -> tuple[bytes, bytes, int]:
        text = self._mark_ends(text, last)
        state, end, lines, _ = self._scan(text)
        if state != FINE and not self._escaped and ESCAPED.search(text):
            self._escaped = True
            text = self._double_quotes(text)
            state, end, lines, _ = self._scan(text)
        if state == RAGGED:
            self._refuse_ragged()
        if state == OPEN and (last or len(text) - end > LONGEST):
            raise InputError(f'line {line + lines} opens a quote " that is never closed', place=self.file)
        if len(text) - end > LONGEST:
            raise InputError(f"line {line + lines} does not end; is this a text file?", place=self.file)
        return text[:end], text[end:], lines

    def _mark_ends(self, text: bytes, last: bool) -> bytes:
        """The text with one byte between columns, and an end to its last line."""
        if self.dialect.separator == "::":
            text = text.replace(b"::", UNIT)
        text = self._double_quotes(text)
        return text + b"\n" if text and last and not text.endswith(b"\n") else text

    def _double_quotes(self, text: bytes) -> bytes:
        """The text with quotes doubled, where they are written as \\" within a cell. To do it again changes nothing, so
        that lines may be read in parts.
        """
        return BACKSLASHED.sub(rb'\1""', text) if self._escaped and b'\\"' in text else text

    def _scan(self, text: bytes | memoryview) -> tuple[int, int, int, int]:
        separator = UNIT if self.dialect.separator == "::" else self.dialect.separator.encode()
        quote = ord('"') if self.dialect.quoted else -1
        return scan(np.frombuffer(text, dtype=np.uint8), separator[0], quote, len(self.columns))

    def _refuse_ragged(self) -> NoReturn:
        """Name the lines with too many or too few columns: the file is read again, past the first of them."""
        ragged: list[tuple[int, int]] = []
        total = 0

        def cut(text: bytes, line: int, last: bool) -> tuple[bytes, bytes, int]:
            text = self._mark_ends(text, last)
            at, lines, state = 0, 0, RAGGED
            while state == RAGGED and len(ragged) < MOST_RAGGED:
                state, end, more, width = self._scan(memoryview(text)[at:])
                at, lines = at + end, lines + more
                if state == RAGGED:
                    ragged.append((line + lines - 1, width))
            return text[:at], b"" if last else text[at:], lines

        for _, _, rows in self.chunks(cut):
            total += rows
            if len(ragged) == MOST_RAGGED:
                break
        where = "header" if self.header else "first line"
        problem, them = describe_ragged(ragged, len(self.columns), where, alone=total == len(ragged))
        raise InputError(problem, remedy=f"correct {them}, or check what separates the columns", place=self.file)

    def _convert_to_utf8(self, text: bytes) -> bytes:
        """The same text in UTF-8. The first letter beyond ASCII has the whole file looked at, since only all of its
        letters together show what they are.
        """
        text = text.removeprefix(MARK)
        if text.isascii():
            return text
        if self._letters is None:
            with explain_errors(self.path), open_bytes(self.path) as stream:
                self._letters = find_letters(stream, self.file)
        return self._letters.convert(text)

    def parse(self, text: bytes, wanted: Mapping[str, CellType], line: int, rows: int) -> polars.DataFrame:
        short = {column: f"c{at}" for at, column in enumerate(self.columns)}
        separator = UNIT.decode() if self.dialect.separator == "::" else self.dialect.separator
        body = (separator.join(short.values()) + "\n").encode() + self._convert_to_utf8(text)
        types = {"whole": polars.Int64, "number": polars.Float64, "text": polars.String}

        def read(strict: bool) -> polars.DataFrame:
            return polars.read_csv(
                body,
                separator=separator,
                quote_char='"' if self.dialect.quoted else None,
                schema_overrides={
                    short[c]: types[wanted[c]] if strict and c in wanted else polars.String for c in short
                },
                columns=[short[column] for column in wanted],
                decimal_comma=self.dialect.decimal_comma,
            )

        back = {short[column]: column for column in wanted}
        padded = is_padded(text, separator.encode())
        try:
            frame = read(True).rename(back)
            if frame.height == rows:
                return strip_cells(frame) if padded else frame
        except polars.exceptions.PolarsError:
            pass  # a cell is not a number, or a quote is out of place: the slower way below finds out which
        try:
            cells = read(False).rename(back)
        except polars.exceptions.PolarsError:
            cells = self._parse_with_csv(text, wanted, line)
        if cells.height != rows:  # a quote within a cell has swallowed the lines up to the next quote
            cells = self._parse_with_csv(text, wanted, line)
        if cells.height != rows:
            raise InputError(
                f"its quotes do not close from line {line} on", remedy="save it with quotes doubled", place=self.file
            )
        cells = strip_cells(cells)
        comma = self.dialect.decimal_comma
        return cells.with_columns(
            *(cast_cells(cells[column], how, decimal_comma=comma) for column, how in wanted.items())
        )

    def _parse_with_csv(self, text: bytes, wanted: Mapping[str, CellType], line: int) -> polars.DataFrame:
        """Python's parser accepts quotes within a cell, which polars refuses."""
        try:
            rows = list(csv.reader(io.StringIO(self._convert_to_utf8(text).decode()), delimiter=self.dialect.separator))
        except csv.Error as error:
            raise InputError(f"cannot be read from line {line} on ({error})", place=self.file) from None
        at = [self.columns.index(column) for column in wanted]
        picked = [[row[k] or None for k in at] if row else [None] * len(at) for row in rows]
        return polars.DataFrame(picked, schema=dict.fromkeys(wanted, polars.String), orient="row")


def describe_ragged(ragged: list[tuple[int, int]], columns: int, where: str, *, alone: bool) -> tuple[str, str]:
    """What is wrong with lines, of which each has another number of columns than the header, and what to correct.
    `alone`: there are no other lines.
    """
    cut_short = len(ragged) == MOST_RAGGED
    line, width = ragged[0]
    has = f"{say_count(width, 'column')}, not {columns} like the {where}"
    if len(ragged) == 1:
        return f"line {line:,} has {has}", "it"
    if alone and len({width for _, width in ragged}) == 1:
        return f"{f'the first {MOST_RAGGED:,}' if cut_short else 'all'} lines from line {line:,} on have {has}", "it"
    count = (
        f"{'at least ' * cut_short}{len(ragged):,} lines do not have {say_count(columns, 'column')} like the {where}"
    )
    shown = list_words([f"line {line:,} has {width}" for line, width in ragged[:SHOWN]])
    return f"{count}: {'first, ' * (len(ragged) > SHOWN)}{shown}", "them"


def is_padded(text: bytes, separator: bytes) -> bool:
    """Whether a cell may begin or end with a blank: a quick test, since in most files none does."""
    if b'"' in text or text.startswith((b" ", b"\t")):
        return True
    blanks = [blank for blank in (b" ", b"\t") if blank != separator and blank in text]
    ends = [end for blank in blanks for end in (blank + separator, separator + blank)]
    ends += [end for blank in blanks for end in (blank + b"\n", b"\n" + blank, blank + b"\r")]
    return any(end in text for end in ends)


def strip_cells(cells: polars.DataFrame) -> polars.DataFrame:
    """The same cells without spaces around text."""
    return cells.with_columns(polars.col(polars.String).str.strip_chars())


@kernel
def scan(text: NDArray[np.uint8], separator: int, quote: int, columns: int) -> tuple[int, int, int, int]:
    """Whether every line has all columns: (state, end of the last complete line, lines up to there, columns found).
    RAGGED: the last complete line is the first that has more or fewer.

    A cell that begins with a quote ends with a quote and can contain anything; other quotes have no meaning.
    """
    end, lines, found, closed = 0, 0, 1, -1
    begins, inside, blank = True, False, True
    for at in range(len(text)):
        letter = text[at]
        if inside:
            if letter == quote:
                inside, closed = False, at
        elif letter == 10:
            if not blank and found != columns:
                return RAGGED, at + 1, lines + 1, found
            end, found, begins, blank = at + 1, 1, True, True
            lines += 1
        elif letter == separator:
            found += 1
            begins, blank = True, False
        else:
            inside = letter == quote and (begins or closed == at - 1)  # a doubled quote closes and opens again
            begins, blank = False, blank and letter == 13
    return (OPEN if inside else FINE), end, lines, found
