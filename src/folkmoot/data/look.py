"""A look at the files of a problem: what is in them, how it would be read, and what is wrong with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars

from folkmoot.data.files import open_source, open_table
from folkmoot.data.findings import DataFault, Findings, ValueSpread
from folkmoot.data.load import build, make_request
from folkmoot.data.loaded import Loaded
from folkmoot.data.roles import find_pair, guess
from folkmoot.data.source import DataSource, Matrix, cast_numbers
from folkmoot.foundation.errors import InputError, OpenQuestion
from folkmoot.foundation.settings import Data


@dataclass(frozen=True)
class Column:
    """A column of a file."""

    name: str
    type: str  # whole numbers, numbers, text, …
    example: str


@dataclass(frozen=True, eq=False)
class FileLook:
    """What a look at the files finds. Only files that cannot be read are refused."""

    file: str
    columns: tuple[Column, ...]
    items_columns: tuple[Column, ...]  # of the items file
    rows: int | None  # None: they cannot be counted
    kind: str | None
    why: str  # why this kind
    taken: tuple[tuple[str, str], ...]  # role, column
    faults: tuple[DataFault, ...]
    per_client: ValueSpread | None  # entries (rows, pairs within reach) per client
    values: ValueSpread | None  # for places: kilometres to the nearest item
    notes: tuple[str, ...]
    loaded: Loaded | None  # the data, faults handled in the mildest way
    problem: InputError | None  # why there is none
    warnings: tuple[str, ...] = ()  # those of the notes about which somebody should do something
    mended: tuple[tuple[str, Any], ...] = ()  # settings that nobody gave, as they were taken here

    @property
    def is_readable(self) -> bool:
        """Whether the file can be read to its end, whatever it holds."""
        return self.rows is not None


def look(settings: Data, folder: Path | None = None) -> FileLook:
    """One read of the files; faults are counted, not refused."""
    source = open_source(settings.file, folder, "file")
    about = None if settings.items is None else open_table(settings.items, folder, "items")
    findings = Findings(strict=False, measuring=True)
    problem: InputError | None = None
    kind, why, loaded = settings.kind, "it was given", None
    try:
        if kind is None:
            kind, why = guess(source, about, settings)
        mild = replace(
            settings,
            kind=kind,
            missing=settings.missing if settings.missing != "refuse" else "category" if kind == "tables" else "drop",
            negative="zero" if settings.negative == "refuse" else settings.negative,
        )
        loaded = build(make_request(mild, source, about, findings))
    except InputError as error:
        problem = error
        if isinstance(error, OpenQuestion) and isinstance(source, DataSource):  # client and item are known
            client, item, _ = find_pair(source, settings, by_words=True)
            findings.record_columns(client=client, item=item)
    rows = findings.rows or None
    try:
        rows = rows or _count(source)
    except InputError as error:  # a file that cannot be read to its end: nothing else matters
        problem = error
    return FileLook(
        source.file,
        _columns(source),
        () if about is None else _columns(about),
        rows,
        kind,
        why if kind else "",
        tuple(findings.taken.items()),
        tuple(findings.faults),
        findings.per_client,
        findings.values,
        loaded.notes if loaded else tuple(findings.notes),
        loaded,
        problem,
        tuple(findings.warnings),
        tuple(findings.mended.items()),
    )


def _count(source: DataSource | Matrix) -> int:
    """How many rows there are, where loading failed before counting them."""
    return len(source.items) if isinstance(source, Matrix) else source.count()


def _columns(source: DataSource | Matrix) -> tuple[Column, ...]:
    if isinstance(source, Matrix):
        return ()
    sample = source.sample()
    types = cast_numbers(sample).schema
    return tuple(Column(cells.name, _kind(types[cells.name]), _example(cells)) for cells in sample.iter_columns())


def _kind(dtype: polars.DataType) -> str:
    if dtype.is_integer():
        return "whole numbers"
    if dtype.is_numeric():
        return "numbers"
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        return "text"
    return "times" if dtype.is_temporal() else str(dtype).lower()


def _example(cells: polars.Series) -> str:
    some: Sequence[object] = cells.drop_nulls().head(1).to_list()
    return str(some[0]) if some else ""
