"""DataFrames as tables: of polars as they are, of pandas column by column (without pyarrow, which few have)."""

from pathlib import Path
from typing import Any

import numpy as np
import polars

from folkmoot.data.dialect import make_distinct
from folkmoot.data.source import FrameFile
from folkmoot.foundation.errors import InputError


def open_frame(frame: Any, name: str) -> FrameFile:
    """A DataFrame as a table; messages call it by the name."""
    if not isinstance(frame, polars.DataFrame):
        frame = _convert_pandas(frame, name)
    if not frame.width:
        raise InputError("has no columns", argument=name)
    return FrameFile(Path(name), frame.lazy())


def _convert_pandas(frame: Any, name: str) -> polars.DataFrame:
    """The columns of a pandas DataFrame, and the levels of its index that have names."""
    if any(level is not None for level in frame.index.names):
        frame = frame.reset_index()
    names = make_distinct(tuple(str(column) for column in frame.columns))
    columns = [cells for _, cells in frame.items()]
    return polars.DataFrame([_convert(one, cells, name) for one, cells in zip(names, columns, strict=True)])


def _convert(column: str, cells: Any, name: str) -> polars.Series:
    if isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "biufmM":
        return polars.Series(column, cells.to_numpy())
    if cells.dtype.kind in "mM":  # with a time zone
        return polars.Series(column, cells.to_numpy(dtype="datetime64[us]"))
    values, missing = cells.to_numpy(dtype=object), cells.isna().to_numpy(dtype=bool)
    known = [None if gone else value for gone, value in zip(missing, values, strict=True)]
    if all(value is None or isinstance(value, int | float | np.number | np.bool_) for value in known):
        plain = [value.item() if isinstance(value, np.generic) else value for value in known]
        return polars.Series(column, plain, strict=False)
    if any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in known):
        raise InputError(f"column {column} holds lists; numbers or text are needed", argument=name)
    return polars.Series(column, [None if value is None else str(value) for value in known], dtype=polars.String)
