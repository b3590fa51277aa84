"""Files of lines, read a few million bytes at a time: what text in columns and JSON lines have in common."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

import polars

from folkmoot.data.opening import explain_errors, open_bytes
from folkmoot.data.source import CellType, DataSource, is_whole_text

CHUNK = 1 << 22
LONGEST = 1 << 25  # bytes of a row; a longer one is something else

Cut = Callable[[bytes, int, bool], tuple[bytes, bytes, int]]


class LineFile(DataSource):
    """A file with one row per line; the first row is on line `first`."""

    unit, first = "line", 1
    start: polars.DataFrame  # some rows, as text

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, path.name

    def sample(self) -> polars.DataFrame:
        return self.start

    def is_whole(self, column: str) -> bool:
        return is_whole_text(self.start[column])

    def frames(self, wanted: Mapping[str, CellType]) -> Iterator[polars.DataFrame]:
        for text, line, rows in self.chunks(self.cut):
            yield self.parse(text, wanted, line, rows)

    def chunks(self, cut: Cut, first: int | None = None) -> Iterator[tuple[bytes, int, int]]:
        """The lines from the first row on (or from line `first` on): some lines, the number of the first of them, and
        how many rows they are.
        """
        line = first or self.first
        with explain_errors(self.path), open_bytes(self.path) as stream:
            skip_lines(stream, line - 1)
            rest = b""
            while True:
                more = stream.read(CHUNK)
                text, rest, rows = cut(rest + more, line, not more)
                if text:
                    yield text, line, rows
                line += rows
                if not more:
                    return

    @abstractmethod
    def cut(self, text: bytes, line: int, last: bool) -> tuple[bytes, bytes, int]:
        """The complete rows, the rest, and how many complete rows there are. Raises if one does not end."""

    @abstractmethod
    def parse(self, text: bytes, wanted: Mapping[str, CellType], line: int, rows: int) -> polars.DataFrame:
        """The wanted columns of these rows."""


def skip_lines(stream: IO[bytes], count: int) -> None:
    for _ in range(count):
        stream.readline(LONGEST)
