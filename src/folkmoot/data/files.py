"""Open a file as what its suffix says it is."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray
from scipy import io as scipy_io
from scipy import sparse

from folkmoot.data.archive import WORKBOOK, ZIP, choose_member, split_path
from folkmoot.data.json_lines import JsonLines
from folkmoot.data.opening import COMPRESSED, explain_errors, find_file, open_bytes, suffixes
from folkmoot.data.source import DataSource, ErrorTranslator, FrameFile, Matrix
from folkmoot.data.text import TextFile
from folkmoot.data.workbook import read_workbook
from folkmoot.foundation.errors import InputError

TEXT = (".csv", ".tsv", ".txt", ".dat", ".data", ".inter", ".item", ".user")
JSON = (".jsonl", ".ndjson", ".json")
ARROW = (".arrow", ".feather", ".ipc")
BINARY = (".parquet", *ARROW, ".npz", WORKBOOK)
KNOWN = (*TEXT, *JSON, ".mtx", *BINARY)
OTHERS = {".xls": WORKBOOK, ".xlsb": WORKBOOK, ".ods": WORKBOOK, ".numbers": ".csv", ".sav": ".csv", ".rds": ".csv"}


def open_source(given: str | None, folder: Path | None, argument: str) -> DataSource | Matrix:
    """The file of this name, opened as what its suffix says it is."""
    if given is None:
        raise InputError("needs the name of a file", argument=argument)
    path = find_file(given, folder, argument)
    container = split_path(path)[0].suffix.lower()
    if container == ZIP:
        path = choose_member(path, KNOWN)
    suffix, compression = (WORKBOOK, "") if container == WORKBOOK else suffixes(path)
    if suffix in TEXT:
        return TextFile(path)
    if suffix in JSON:
        return JsonLines(path)
    if suffix == ".mtx":
        return _read_market(path)
    if not compression and suffix in BINARY:
        return _open_binary(path, suffix)
    known = ", ".join((*TEXT, *JSON, ".mtx"))
    raise InputError(
        f"{path.name} has the suffix {suffix + compression or '(none)'}; files that can be read end in "
        f"{known} (or one of these followed by {', '.join(COMPRESSED)}), {', '.join(BINARY)} or {ZIP}",
        remedy=f"save it as {OTHERS[suffix]}" if suffix in OTHERS else None,
        argument=argument,
    )


def _open_binary(path: Path, suffix: str) -> DataSource | Matrix:
    if suffix == WORKBOOK:
        return read_workbook(path)
    if suffix == ".npz":
        return _read_archive(path)
    if path.is_file():
        scan = polars.scan_parquet if suffix == ".parquet" else polars.scan_ipc
        return FrameFile(path, scan(path, glob=False))
    content = _open_seekable(path)
    read: Any = polars.read_parquet if suffix == ".parquet" else polars.read_ipc
    with ErrorTranslator(path):
        frame: polars.DataFrame = read(content)
    return FrameFile(path, frame.lazy())


def _open_seekable(path: Path) -> Any:
    """What readers of binary files take: the path, or all bytes of a file that is within an archive."""
    if path.is_file():
        return path
    with explain_errors(path), open_bytes(path) as stream:
        return io.BytesIO(stream.read())


def open_table(given: str, folder: Path | None, argument: str) -> DataSource:
    """The same, if it is a table; a matrix is refused."""
    source = open_source(given, folder, argument)
    if isinstance(source, Matrix):
        raise InputError(f"{source.file} is a matrix; a table with named columns is needed", argument=argument)
    return source


def _read_market(path: Path) -> Matrix:
    try:
        with explain_errors(path), open_bytes(path) as stream:
            matrix: Any = scipy_io.mmread(io.BytesIO(stream.read()), spmatrix=False)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"is not a Matrix Market file, or is damaged ({_shorten(error)})", place=path.name) from None
    return _make_matrix(path.name, matrix)


def _read_archive(path: Path) -> DataSource | Matrix:
    """A sparse matrix from scipy, one dense matrix, or arrays of equal length."""
    try:
        content = _open_seekable(path)
        with explain_errors(path), np.load(content, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(
                    "is a single array", remedy="save it with numpy.savez or scipy.sparse.save_npz", place=path.name
                )
            arrays: dict[str, NDArray[Any]] = {name: archive[name] for name in archive.files}
        if {"format", "shape", "data"} <= set(arrays):
            with explain_errors(path):
                return _make_matrix(path.name, sparse.load_npz(_open_seekable(path)))
    except (ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        if "pickle" in str(error) and zipfile.is_zipfile(content):
            raise InputError(
                "holds Python objects, which are never loaded", remedy="save arrays of numbers or text", place=path.name
            ) from None
        raise InputError("is not an npz archive, or is damaged", place=path.name) from None
    if len(arrays) == 1 and next(iter(arrays.values())).ndim == 2:
        return _make_matrix(path.name, next(iter(arrays.values())))
    shapes = {array.shape for array in arrays.values()}
    if len(arrays) < 2 or len(shapes) != 1 or len(next(iter(shapes))) != 1:
        held = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise InputError(
            f"holds {held}; a scipy matrix, one dense matrix or columns of equal length are needed", place=path.name
        )
    return FrameFile(path, polars.DataFrame(arrays).lazy())


def _make_matrix(file: str, matrix: Any) -> Matrix:
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"holds an array of shape {matrix.shape}; clients × items are needed", place=file)
    if max(matrix.shape) >= 2**31:
        raise InputError(f"has {max(matrix.shape):,} rows or columns, more than 2^31 − 1", place=file)
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"holds {matrix.dtype}; real numbers are needed", place=file)
    coo = _list_cells(matrix) if isinstance(matrix, np.ndarray) else sparse.coo_array(matrix)
    values = coo.data.astype(np.float64, copy=False)
    plain = bool((values == 1.0).all())
    rows, columns = (at.astype(np.int32, copy=False) for at in (coo.row, coo.col))
    if len(values) and (
        min(rows.min(), columns.min()) < 0 or rows.max() >= coo.shape[0] or columns.max() >= coo.shape[1]
    ):
        raise InputError(f"an entry lies outside the shape {coo.shape}; the file is damaged", place=file)
    return Matrix(file, rows, columns, None if plain else values, coo.shape[0], coo.shape[1])


def _list_cells(matrix: NDArray[Any]) -> Any:
    """A dense matrix as entries, zeros included: a distance of 0 is a distance."""
    rows, columns = np.indices(matrix.shape, dtype=np.int32).reshape(2, -1)
    return sparse.coo_array((matrix.reshape(-1), (rows, columns)), shape=matrix.shape)


def _shorten(error: Exception) -> str:
    return str(error).splitlines()[0][:80] if str(error) else type(error).__name__
