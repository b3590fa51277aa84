"""Excel workbooks: a sheet is a table, its first row the header. Read by the package fastexcel, an extra."""

from pathlib import Path
from typing import Any

import polars

from folkmoot.data.archive import split_path
from folkmoot.data.columns import list_words
from folkmoot.data.opening import explain_errors, open_bytes
from folkmoot.data.source import FrameFile, cast_numbers
from folkmoot.foundation.errors import InputError


def read_workbook(path: Path) -> FrameFile:
    """The sheet that a path leads to (book.xlsx/May), or the only one that holds a table."""
    try:
        import fastexcel
    except ImportError:
        raise InputError(
            "is an Excel workbook, which needs another package",
            remedy="pip install 'folkmoot[excel]', or save it as .csv",
            place=path.name,
        ) from None
    book, sheet = split_path(path)
    book, sheet = (path, None) if book.suffix.lower() == ".zip" else (book, sheet)
    with explain_errors(book), open_bytes(book) as stream:
        content = stream.read()
    try:
        reader: Any = fastexcel.read_excel(content)
        name = _choose_sheet(reader, book, sheet)
        frame: polars.DataFrame = reader.load_sheet(name, dtypes="string").to_polars()
    except fastexcel.FastExcelError:
        raise InputError(
            "is not an Excel workbook, or is damaged", remedy="save it again, or as .csv", place=book.name
        ) from None
    bare = polars.all().str.strip_chars()
    frame = frame.with_columns(polars.when(bare != "").then(bare).name.keep())
    return FrameFile(book, cast_numbers(frame).lazy(), first=2)  # the header is row 1


def _choose_sheet(reader: Any, book: Path, given: str | None) -> str:
    names: list[str] = list(reader.sheet_names)
    if given is not None:
        if given in names:
            return given
        raise InputError(f"has no sheet {given}; its sheets are {list_words(names)}", place=book.name)
    # As text: the library warns of columns whose type the first row does not show.
    filled = [name for name in names if reader.load_sheet(name, n_rows=1, dtypes="string").width]
    if not filled:
        raise InputError("is empty; it needs a header and at least one row", place=book.name)
    if len(filled) > 1:
        raise InputError(
            f"has the sheets {list_words(filled)}", remedy=f"say which one, as {book.name}/{filled[0]}", place=book.name
        )
    return filled[0]
