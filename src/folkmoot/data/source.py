"""What a file offers, whatever its format: named columns, read some rows at a time, or a matrix of clients × items."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars
from numpy.typing import NDArray

from folkmoot.data.opening import explain_errors
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array

CellType = Literal["whole", "number", "text"]
ROWS = 1 << 18  # per frame
WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")  # 007 is an id, not a number


class NotWhole(Exception):
    """A column that began with whole numbers continues with something else: read it as text."""


class DataSource(ABC):
    """A table in a file."""

    file: str  # its name in messages
    columns: tuple[str, ...]
    unit: str  # what messages call a row: "line" or "row"
    first: int  # the number of the first row
    header: bool = True

    def notes(self) -> list[str]:
        """What readers of the report should know about the file."""
        return []

    @abstractmethod
    def sample(self) -> polars.DataFrame:
        """The first rows, and some of each column that begins later."""

    @abstractmethod
    def is_whole(self, column: str) -> bool:
        """Whether the column seems to hold whole numbers, without reading all of it."""

    @abstractmethod
    def frames(self, wanted: Mapping[str, CellType]) -> Iterator[polars.DataFrame]:
        """These columns, in order, as whole numbers (or NotWhole is raised), numbers (null where there is none) or
        text.
        """

    def table(self, wanted: Mapping[str, CellType]) -> polars.DataFrame:
        """All rows at once, including those that are blank in all of these columns."""
        parts = list(self.frames(wanted))
        if not sum(part.height for part in parts):
            raise InputError("has no rows" + (" below its header" if self.header else ""), place=self.file)
        return polars.concat(parts)

    def count(self) -> int:
        """How many rows there are, including blank lines."""
        return sum(frame.height for frame in self.frames({self.columns[0]: "text"}))

    def read_typed(self, columns: Sequence[str]) -> polars.DataFrame:
        """All rows of these columns, each column with its own type: numbers if all of its cells are numbers."""
        return cast_numbers(self.table(dict.fromkeys(columns, "text")))


class FrameFile(DataSource):
    """A table with columns of their own types: Parquet, Arrow, arrays of equal length in an npz archive, a sheet of a
    workbook, or a DataFrame.
    """

    unit = "row"

    def __init__(self, path: Path, lazy: polars.LazyFrame, first: int = 1) -> None:
        self.path, self.file, self.lazy, self.first = path, path.name, lazy, first
        with self._explain_errors():
            self.schema = lazy.collect_schema()
            self.rows = int(lazy.select(polars.len()).collect().item())
        self.columns = tuple(self.schema.names())

    def _explain_errors(self) -> "ErrorTranslator":
        return ErrorTranslator(self.path)

    def sample(self) -> polars.DataFrame:
        with self._explain_errors():
            return self.lazy.head(1000).collect()

    def is_whole(self, column: str) -> bool:
        """Integers that fit into 64 bits, and floats without a fraction (common where ids are missing)."""
        kind, cells = self.schema[column], polars.col(column)
        if kind in (polars.UInt64, polars.Int128):
            outside = (cells > 2**63 - 1).any()
        elif kind.is_float():
            outside = (cells.is_finite() & ((cells != cells.round(0)) | (cells.abs() >= 2.0**53))).any()
        else:
            return kind.is_integer()
        with self._explain_errors():
            return not self.lazy.select(outside).collect().item()

    def count(self) -> int:
        return self.rows

    def frames(self, wanted: Mapping[str, CellType]) -> Iterator[polars.DataFrame]:
        for column, how in wanted.items():
            kind = self.schema[column]
            if kind.is_nested() or kind in (polars.Binary, polars.Object):
                what = {"whole": "a whole number", "number": "a number", "text": "text"}[how]
                raise InputError(f"column {column} holds {kind}; {what} is needed", place=self.file)
        chosen = self.lazy.select(*(_cast_column(column, self.schema[column], how) for column, how in wanted.items()))
        for offset in range(0, self.rows, ROWS):  # slice by slice: only one slice is in memory
            with self._explain_errors():
                frame = chosen.slice(offset, ROWS).collect()
            yield frame

    def read_typed(self, columns: Sequence[str]) -> polars.DataFrame:
        if not self.rows:
            raise InputError("has no rows", place=self.file)
        with self._explain_errors():
            return self.lazy.select(columns).collect()


def _cast_column(column: str, kind: polars.DataType, how: CellType) -> polars.Expr:
    cells = polars.col(column)
    if how == "whole":
        return cells.cast(polars.Int64, strict=False)  # a NaN becomes null
    if how == "number":
        if kind in (polars.Categorical, polars.Enum):
            cells = cells.cast(polars.String)
        return cells.cast(polars.Float64, strict=False)
    if kind.is_float():  # 12.0 is the id 12
        cells = cells.fill_nan(None)
        whole = cells.cast(polars.Int64, strict=False)
        return polars.when(cells == whole).then(whole.cast(polars.String)).otherwise(cells.cast(polars.String))
    return cells.cast(polars.String)


def cast_numbers(frame: polars.DataFrame) -> polars.DataFrame:
    """The frame with text columns converted to numbers if every cell is a number; 007 is an id and stays text."""
    changed = []
    for cells in frame.iter_columns():
        if cells.dtype != polars.String or cells.null_count() == len(cells):
            continue
        bare = cells.str.strip_chars()
        if not bare.str.contains(r"^-?0\d").any():
            whole = bare.cast(polars.Int64, strict=False)
            number = bare.cast(polars.Float64, strict=False)
            if whole.null_count() == cells.null_count():
                changed.append(whole)
            elif number.null_count() == cells.null_count() and number.is_finite().all():
                changed.append(number)
    return frame.with_columns(changed)


def cast_cells(cells: polars.Series, how: CellType, *, decimal_comma: bool = False) -> polars.Series:
    """Text as what is wanted; NotWhole is raised where whole numbers are wanted and something else is there."""
    if how == "text":
        return cells
    bare = cells.str.strip_chars()
    if decimal_comma:
        bare = bare.str.replace(",", ".", literal=True)
    if how == "number":
        return bare.cast(polars.Float64, strict=False)
    numbers = bare.cast(polars.Int64, strict=False)
    if (numbers.is_null() & (bare != "").fill_null(False)).any():
        raise NotWhole(cells.name)
    return numbers


def is_whole_text(cells: polars.Series) -> bool:
    """Whether all cells are whole numbers that fit into 64 bits, written without leading zeros."""
    known = cells.drop_nulls().to_list()
    return bool(known) and all(WHOLE.fullmatch(cell.strip()) for cell in known)


class ErrorTranslator:
    """Turn what polars finds wrong with a file into one sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inner = explain_errors(path)

    def __enter__(self) -> None:
        self.inner.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, polars.exceptions.PolarsError):
            suffix = self.path.suffix.lower()
            raise InputError(
                f"cannot be read as {suffix}: it has another format, or is damaged",
                remedy="check that its suffix matches its format",
                place=self.path.name,
            ) from None
        self.inner.__exit__(kind, error, trace)


@dataclass(frozen=True, eq=False)
class Matrix:
    """Entries of a clients × items matrix, in the order of the file."""

    file: str
    clients: NDArray[np.int32]
    items: NDArray[np.int32]
    values: Array | None  # None: all are 1
    n_clients: int
    n_items: int
