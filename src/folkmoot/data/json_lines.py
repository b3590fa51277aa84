"""JSON lines: a table with one object per line, whose keys are the columns."""

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray

from folkmoot.data.lines import LONGEST, LineFile
from folkmoot.data.opening import explain_errors, open_bytes
from folkmoot.data.source import CellType, cast_cells
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import kernel

LINES = 1000  # that are looked at
LATE = 100  # lines that are looked at where another key appears
MOST_KEYS = 1000  # after so many no others are looked for: these are no columns
CONSTANTS = (b"NaN", b"Infinity")
NEWLINE, QUOTE, COMMA, BACKSLASH = b'\n",\\'
OPENING, CLOSING = (ord("{"), ord("[")), (ord("}"), ord("]"))
BASIS, PRIME = 14695981039346656037, 1099511628211  # of hashes


class JsonLines(LineFile):
    """A file with one JSON object per line. Its columns are all keys, wherever they appear first."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with explain_errors(path), open_bytes(path) as stream:
            lines = [stream.readline(LONGEST) for _ in range(LINES)]
        rows = self._read_lines(lines, 1)
        self.overlooked_from: int | None = None  # a line; None: all keys are known
        columns = dict.fromkeys(key for row in rows for key in row)
        if lines[-1]:
            rows += self._find_late_keys(columns)
        self.columns = tuple(columns)
        if not self.columns:
            raise InputError("is empty; it needs a JSON object in each line", place=self.file)
        cells = {column: [_write_cell(row.get(column)) for row in rows] for column in self.columns}
        self.start = polars.DataFrame(cells, schema=dict.fromkeys(self.columns, polars.String))

    def notes(self) -> list[str]:
        if self.overlooked_from is None:
            return []
        most = f"{len(self.columns):,} keys"
        return [f"{self.file} has more than {most}; others, from line {self.overlooked_from:,} on, were not read."]

    def _read_lines(self, lines: list[bytes], first: int) -> list[dict[str, Any]]:
        return [self._read_line(line, number) for number, line in enumerate(lines, start=first) if line.strip()]

    def _find_late_keys(self, columns: dict[str, None]) -> list[dict[str, Any]]:
        """Add the keys of all other lines to the columns. Returns some rows that have them."""
        rows: list[dict[str, Any]] = []
        known = hash_keys(columns)
        for text, line, _ in self.chunks(self.cut, LINES + 1):
            stream, letters, at = io.BytesIO(text), np.frombuffer(text, dtype=np.uint8), 0
            while (found := find_unknown_key(letters[at:], known)) >= 0:
                line += text.count(b"\n", at, at + found)
                if len(columns) >= MOST_KEYS:
                    self.overlooked_from = line
                    return rows
                stream.seek(at + found)
                lines = [stream.readline() for _ in range(LATE)]
                for row in self._read_lines(lines, line):
                    if len(rows) < LINES or not row.keys() <= columns.keys():
                        rows.append(row)
                    columns.update(dict.fromkeys(row))
                known = hash_keys(columns)
                line, at = line + sum(map(bool, lines)), stream.tell()
        return rows

    def cut(self, text: bytes, line: int, last: bool) -> tuple[bytes, bytes, int]:
        if len(text) > LONGEST and b"\n" not in text:
            raise InputError(f"line {line} does not end; are these JSON lines?", place=self.file)
        if text and last and not text.endswith(b"\n"):
            text += b"\n"
        end = text.rfind(b"\n") + 1
        return text[:end], text[end:], text.count(b"\n", 0, end)

    def parse(self, text: bytes, wanted: Mapping[str, CellType], line: int, rows: int) -> polars.DataFrame:
        lines = text.removesuffix(b"\n").split(b"\n")
        if not all(one and not one.isspace() for one in lines):  # blank lines count as lines
            lines = [one if one.strip() else b"{}" for one in lines]
            text = b"\n".join(lines)
        schema = dict.fromkeys(wanted, polars.String)
        try:
            cells = polars.read_ndjson(io.BytesIO(text), schema=schema)
        except polars.exceptions.PolarsError:
            plain = [self._drop_constants(one, line + at) for at, one in enumerate(lines)]
            try:
                cells = polars.read_ndjson(io.BytesIO(b"\n".join(plain)), schema=schema)
            except polars.exceptions.PolarsError:
                last = line + rows - 1
                raise InputError(f"cannot be read between the lines {line:,} and {last:,}", place=self.file) from None
        if cells.height != rows:
            raise InputError(f"has a line with several objects after line {line}", place=self.file)
        cells = cells.with_columns(polars.all().str.strip_chars())
        return cells.with_columns(*(cast_cells(cells[column], how) for column, how in wanted.items()))

    def _drop_constants(self, line: bytes, number: int) -> bytes:
        """The line with null for NaN and Infinity, which Python writes and JSON does not know."""
        row = self._read_line(line, number)
        return json.dumps(row).encode() if any(word in line for word in CONSTANTS) else line

    def _read_line(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = json.loads(line.decode(), parse_constant=lambda _: None)
        except UnicodeDecodeError:
            raise InputError(f"line {number} is not UTF-8", remedy="save it as UTF-8", place=self.file) from None
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            return row
        one_array = number == 1 and line.lstrip().startswith(b"[")
        raise InputError(
            "is one array, not lines" if one_array else f"line {number} is not a JSON object",
            remedy="write one object per line, as `jq -c '.[]'` does" if one_array else "write one object per line",
            place=self.file,
        )


def _write_cell(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value.strip() if isinstance(value, str) else json.dumps(value)


def hash_keys(keys: Iterable[str]) -> NDArray[np.uint64]:
    """The hash of each key as JSON writes it, sorted; also as it is written without letters beyond ASCII."""
    spelled = {json.dumps(key, ensure_ascii=plain)[1:-1].encode() for key in keys for plain in (True, False)}
    marks = [hash_key(np.frombuffer(one, dtype=np.uint8)) for one in spelled]
    return np.sort(np.array(marks, dtype=np.uint64))


@kernel
def hash_key(key: NDArray[np.uint8]) -> np.uint64:
    """64 bits by Fowler, Noll and Vo's method."""
    mark = np.uint64(BASIS)
    for letter in key:
        mark = (mark ^ np.uint64(letter)) * np.uint64(PRIME)
    return mark


@kernel
def find_unknown_key(text: NDArray[np.uint8], known: NDArray[np.uint64]) -> int:
    """Where the first line begins that has a key whose hash is not known; −1: none has. Keys within inner objects do
    not count.
    """
    begin, depth, opened = 0, 0, 0
    inside, named = False, False  # within a string; whether a string, here, is a key
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == NEWLINE:
            begin, depth, inside, named = at + 1, 0, False, False
        elif inside:
            if letter == BACKSLASH:
                at += 1
            elif letter == QUOTE:
                inside = False
                if named:
                    mark = hash_key(text[opened:at])
                    place = np.searchsorted(known, mark)
                    if place == len(known) or known[place] != mark:
                        return begin
                    named = False
        elif letter == QUOTE:
            inside, opened = True, at + 1
        elif letter == COMMA:
            named = depth == 1
        elif letter in OPENING:
            depth += 1
            named = depth == 1
        elif letter in CLOSING:
            depth -= 1
        at += 1
    return -1
