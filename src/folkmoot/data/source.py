"""What a file offers, whatever its format: named columns in frames of some rows, or a matrix of clients × items."""

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

How = Literal["whole", "number", "text"]
ROWS = 1 << 18  # in a frame


class NotWhole(Exception):
    """A column that began with whole numbers goes on with something else: read it as text."""


class DataSource(ABC):
    """A table in a file."""

    file: str  # as people call it
    columns: tuple[str, ...]
    unit: str  # what a row is counted in: "line" or "row"
    first: int  # the number of the first row
    header: bool = True

    def notes(self) -> list[str]:
        """What was found out about the file while it was read."""
        return []

    @abstractmethod
    def sample(self) -> polars.DataFrame:
        """The first rows."""

    @abstractmethod
    def whole(self, column: str) -> bool:
        """Whether the column holds whole numbers, as far as can be told without reading it all."""

    @abstractmethod
    def frames(self, wanted: Mapping[str, How]) -> Iterator[polars.DataFrame]:
        """These columns, in order, as whole numbers (else NotWhole), numbers (null where there is none) or text."""

    def table(self, wanted: Mapping[str, How]) -> polars.DataFrame:
        """All rows at once; rows that are blank through all of these columns too."""
        parts = list(self.frames(wanted))
        if not sum(part.height for part in parts):
            raise InputError(f"has no rows{' below its header' * self.header}", place=self.file)
        return polars.concat(parts)

    def count(self) -> int:
        """How many rows there are, blank lines among them."""
        return sum(frame.height for frame in self.frames({self.columns[0]: "text"}))

    def natural(self, columns: Sequence[str]) -> polars.DataFrame:
        """All rows of these columns, each as what it holds: numbers where all cells are."""
        return cast_numbers(self.table(dict.fromkeys(columns, "text")))


class FrameFile(DataSource):
    """A binary table: Parquet, Arrow, or arrays of one length in an npz archive."""

    unit, first = "row", 1

    def __init__(self, path: Path, lazy: polars.LazyFrame) -> None:
        self.path, self.file, self.lazy = path, path.name, lazy
        with self._explain_errors():
            self.schema = lazy.collect_schema()
            self.rows = int(lazy.select(polars.len()).collect().item())
        self.columns = tuple(self.schema.names())

    def _explain_errors(self) -> "ErrorTranslator":
        return ErrorTranslator(self.path)

    def sample(self) -> polars.DataFrame:
        with self._explain_errors():
            return self.lazy.head(1000).collect()

    def whole(self, column: str) -> bool:
        """Integers that fit, and floats without a fraction (what a table with missing ids often has)."""
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

    def frames(self, wanted: Mapping[str, How]) -> Iterator[polars.DataFrame]:
        for column, how in wanted.items():
            kind = self.schema[column]
            if kind.is_nested() or kind in (polars.Binary, polars.Object):
                raise InputError(f"column {column} holds {kind}, not one {how} a row", place=self.file)
        chosen = self.lazy.select(*(_as(column, self.schema[column], how) for column, how in wanted.items()))
        for offset in range(0, self.rows, ROWS):  # slices, not one collect: memory stays that of a slice
            with self._explain_errors():
                frame = chosen.slice(offset, ROWS).collect()
            yield frame

    def natural(self, columns: Sequence[str]) -> polars.DataFrame:
        if not self.rows:
            raise InputError("has no rows", place=self.file)
        with self._explain_errors():
            return self.lazy.select(columns).collect()


def _as(column: str, kind: polars.DataType, how: How) -> polars.Expr:
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
    """Columns of text in which every cell is a number as numbers; 007 is a name, and stays text."""
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


class ErrorTranslator:
    """What polars finds wrong with a file, in one sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inner = explain_errors(path)

    def __enter__(self) -> None:
        self.inner.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, polars.exceptions.PolarsError):
            suffix = self.path.suffix.lower()
            raise InputError(
                f"is no {suffix.lstrip('.')} file, or damaged",
                remedy="check that its suffix tells its format",
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
