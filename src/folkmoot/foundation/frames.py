"""DataFrames of pandas and of polars, known by what they can do: neither library is needed by those who use the other,
or none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array

NUMBER, TEXT, TIME = "number", "text", "time"


@dataclass(frozen=True, eq=False)
class FrameColumn:
    """A column of a DataFrame: numbers (NaN where there is none), text (None where there is none) or times."""

    name: str
    kind: str
    cells: NDArray[Any]


def is_frame(given: Any) -> bool:
    """Whether this is a DataFrame."""
    return hasattr(given, "to_numpy") and hasattr(given, "columns") and hasattr(given, "dtypes")


def list_columns(frame: Any, argument: str) -> list[FrameColumn]:
    """The columns of a DataFrame, in order."""
    if hasattr(frame, "get_columns"):
        return [_read_polars(cells, argument) for cells in frame.get_columns()]
    return [_read_pandas(str(name), cells, argument) for name, cells in frame.items()]


def _read_polars(cells: Any, argument: str) -> FrameColumn:
    kind, name = cells.dtype, cells.name
    if kind.is_numeric() or str(kind) == "Boolean":
        return FrameColumn(name, NUMBER, cells.cast(float).to_numpy())
    if kind.is_temporal():
        return FrameColumn(name, TIME, cells.to_numpy())
    if kind.is_nested() or str(kind) in ("Binary", "Object"):
        raise InputError(f"column {name} holds {kind}; numbers or text are needed", argument=argument)
    return FrameColumn(name, TEXT, as_objects(cells.cast(str).to_list()))


def _read_pandas(name: str, cells: Any, argument: str) -> FrameColumn:
    kind = getattr(cells.dtype, "kind", "O")
    if kind in "biuf":
        return FrameColumn(name, NUMBER, cells.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in "mM":
        return FrameColumn(name, TIME, cells.to_numpy())
    if kind == "c":
        raise InputError(f"column {name} holds {cells.dtype}; numbers or text are needed", argument=argument)
    missing = cells.isna().to_numpy(dtype=bool)
    known = [None if gone else value for gone, value in zip(missing, cells.to_numpy(dtype=object), strict=True)]
    if all(value is None or isinstance(value, Real) for value in known) and not missing.all():
        return FrameColumn(name, NUMBER, np.array([np.nan if v is None else v for v in known], dtype=np.float64))
    return FrameColumn(name, TEXT, as_objects([None if value is None else str(value) for value in known]))


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """A list as an array of Python's own objects."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix whose columns have names, and its rows too where something names them."""

    numbers: Array
    columns: list[str]
    rows: list[str] | None


def read_matrix(frame: Any, argument: str) -> NamedMatrix:
    """A DataFrame of numbers. Its rows are named by the index (pandas), or by a first column of text."""
    columns = list_columns(frame, argument)
    rows = _read_index(frame)
    if rows is None and columns and columns[0].kind == TEXT:
        rows = [str(cell) for cell in columns[0].cells]
        columns = columns[1:]
    strange = [column for column in columns if column.kind != NUMBER]
    if strange:
        held = {TEXT: "text", TIME: "times"}[strange[0].kind]
        raise InputError(
            f"column {strange[0].name} holds {held}; numbers are needed",
            remedy="leave it out, or put what names the rows into the index, or into the first column",
            argument=argument,
        )
    if not columns:
        raise InputError("there are no items (no column of numbers)", argument=argument)
    return NamedMatrix(np.column_stack([column.cells for column in columns]), [one.name for one in columns], rows)


@dataclass(frozen=True, eq=False)
class NamedTables:
    """Tables with the same columns, which have names."""

    tables: list[NDArray[Any]]
    columns: list[str]


def read_tables(frames: Sequence[Any], argument: str) -> NamedTables:
    """DataFrames that have the same columns, in the order of the first one's."""
    names: list[str] = []
    tables = []
    for at, frame in enumerate(frames):
        if not is_frame(frame):
            raise InputError(
                f"client {at} has a {type(frame).__name__}, client 0 a DataFrame; give all in one way",
                argument=argument,
            )
        columns = {column.name: column.cells for column in list_columns(frame, argument)}
        names = names or list(columns)
        if set(columns) != set(names):
            odd = sorted(set(columns) ^ set(names))
            raise InputError(f"client {at} and client 0 do not both have the column {odd[0]}", argument=argument)
        table = np.empty((len(frame), len(names)), dtype=object)
        for place, name in enumerate(names):
            table[:, place] = columns[name]
        tables.append(table)
    return NamedTables(tables, names)


def _read_index(frame: Any) -> list[str] | None:
    """The names of the rows of a pandas DataFrame; none where rows are just counted."""
    index = getattr(frame, "index", None)
    if index is None or not hasattr(index, "is_unique") or type(index).__name__ == "RangeIndex":
        return None
    return [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in index]
