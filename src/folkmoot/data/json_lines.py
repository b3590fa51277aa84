"""JSON lines: a table with one object per line, whose keys are the columns."""

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars

from folkmoot.data.opening import explain_errors, open_bytes
from folkmoot.data.source import CellType, DataSource, cast_cells, is_whole_text
from folkmoot.foundation.errors import InputError

CHUNK = 1 << 22
LINES = 1000  # whose keys are the columns
CONSTANTS = (b"NaN", b"Infinity")
LONGEST = 1 << 25  # bytes of a line


class JsonLines(DataSource):
    """A file with one JSON object per line. A key that does not occur in the first lines is no column."""

    unit, first = "line", 1

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, path.name
        rows: list[dict[str, Any]] = []
        with explain_errors(path), open_bytes(path) as stream:
            for number in range(1, LINES + 1):
                line = stream.readline(LONGEST)
                if not line:
                    break
                if line.strip():
                    rows.append(self._read_line(line, number))
        self.columns = tuple(dict.fromkeys(key for row in rows for key in row))
        if not self.columns:
            raise InputError("is empty; it needs a JSON object in each line", place=self.file)
        cells = {column: [_write_cell(row.get(column)) for row in rows] for column in self.columns}
        self.start = polars.DataFrame(cells, schema=dict.fromkeys(self.columns, polars.String))

    def sample(self) -> polars.DataFrame:
        return self.start

    def is_whole(self, column: str) -> bool:
        return is_whole_text(self.start[column])

    def frames(self, wanted: Mapping[str, CellType]) -> Iterator[polars.DataFrame]:
        line = self.first
        with explain_errors(self.path), open_bytes(self.path) as stream:
            rest = b""
            while True:
                more = stream.read(CHUNK)
                text = rest + more
                if len(text) > LONGEST and b"\n" not in text:
                    raise InputError(f"line {line} does not end; are these JSON lines?", place=self.file)
                cut = text.rfind(b"\n") + 1 if more else len(text)
                text, rest = text[:cut], text[cut:]
                if text:
                    cells = self._parse(text, tuple(wanted), line)
                    yield cells.with_columns(*(cast_cells(cells[column], how) for column, how in wanted.items()))
                    line += cells.height
                if not more:
                    return

    def _parse(self, text: bytes, columns: tuple[str, ...], line: int) -> polars.DataFrame:
        """The cells as text, one row per line."""
        lines = text.removesuffix(b"\n").split(b"\n")
        if not all(one and not one.isspace() for one in lines):  # blank lines count as lines
            lines = [one if one.strip() else b"{}" for one in lines]
            text = b"\n".join(lines)
        schema = dict.fromkeys(columns, polars.String)
        try:
            frame = polars.read_ndjson(io.BytesIO(text), schema=schema)
        except polars.exceptions.PolarsError:
            plain = [self._drop_constants(one, line + at) for at, one in enumerate(lines)]
            try:
                frame = polars.read_ndjson(io.BytesIO(b"\n".join(plain)), schema=schema)
            except polars.exceptions.PolarsError:
                last = line + len(lines) - 1
                raise InputError(f"cannot be read between the lines {line:,} and {last:,}", place=self.file) from None
        if frame.height != len(lines):
            raise InputError(f"has a line with several objects after line {line}", place=self.file)
        return frame.with_columns(polars.all().str.strip_chars())

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
