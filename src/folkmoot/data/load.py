"""From settings to an objective: open the files, find out what they hold, build the objective."""

from collections.abc import Callable
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from folkmoot.data.columns import list_words
from folkmoot.data.files import open_source, open_table
from folkmoot.data.findings import Findings
from folkmoot.data.frame import open_frame
from folkmoot.data.loaded import Loaded, Request
from folkmoot.data.places import places
from folkmoot.data.roles import guess
from folkmoot.data.similarity import similarity
from folkmoot.data.source import DataSource, Matrix
from folkmoot.data.standard_input import is_standard_input
from folkmoot.data.tables import tables
from folkmoot.data.worth import distances, memberships, ratings
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.frames import is_frame
from folkmoot.foundation.inputs import as_path
from folkmoot.foundation.settings import BEST, IF_MISSING, IF_NEGATIVE, IF_TWICE, KINDS, SIMILARITIES, Data

BUILD: dict[str, Callable[[Request], Loaded]] = {
    "ratings": ratings,
    "memberships": memberships,
    "distances": distances,
    "places": places,
    "tables": tables,
    "similarity": similarity,
}
FROM_PAIRS = ("ratings", "memberships", "distances")  # tables of clients and items
FROM_MATRIX = ("ratings", "memberships", "distances", "similarity")


def load(
    data: Data | str | Path | Any, folder: Path | None = None, *, items: str | Path | Any = None, **settings: Any
) -> Loaded:
    """The data of a problem, checked and arranged.

    `data`: settings, the name of a file, or a DataFrame (polars or pandas; levels of an index that have names are
    columns). `items`: what is known about the items, a file or a DataFrame. Other settings of `Data` follow by their
    names: `load(frame, client="who", least=4)`. Relative names of files are relative to the folder.
    """
    given = _combine(data, items, settings)
    findings = Findings()
    if is_frame(data):
        source: DataSource | Matrix = open_frame(data, "data")
    else:
        source = open_source(given.file, folder, "file")
        if is_standard_input(given.file or ""):
            findings.note(
                "The data came from standard input and was not kept: to compute anything again, pipe it in again."
            )
    about: DataSource | None = open_frame(items, "items") if is_frame(items) else None
    if about is None and given.items is not None:
        about = open_table(given.items, folder, "items")
    return build(make_request(given, source, about, findings))


def _combine(data: Any, items: Any, settings: dict[str, Any]) -> Data:
    """All settings in one."""
    if items is not None and not is_frame(items):
        settings = {**settings, "items": str(items)}
    if not isinstance(data, Data | str | PathLike) and not is_frame(data):
        raise InputError(f"needs the name of a file or a DataFrame, got {data!r}", argument="data")
    known = data if isinstance(data, Data) else Data(file=None if is_frame(data) else str(as_path(data, "data")))
    for name in settings:
        if name == "file" or name not in {one.name for one in fields(Data)}:
            raise InputError("is no setting of data", argument=name)
    return replace(known, **settings)


def make_request(settings: Data, source: DataSource | Matrix, about: DataSource | None, findings: Findings) -> Request:
    """Open files with checked settings, and the kind of the data."""
    for name, choices in (
        *(
            ("kind", KINDS),
            ("best", BEST),
            ("missing", IF_MISSING),
            ("negative", IF_NEGATIVE),
            ("duplicates", IF_TWICE),
        ),
        ("similarity", SIMILARITIES),
    ):
        word = getattr(settings, name)
        if word is not None and word not in choices:
            raise InputError(f"{word!r} is not one of {list_words(choices)}", argument=name)
    kind = _kind(source, about, settings, findings)
    if settings.name and about is None and (isinstance(source, Matrix) or kind not in FROM_PAIRS):
        raise InputError(
            "is a column of an items file, and there is none",
            remedy="leave it out, or say which file describes the items",
            settings=[("items", ...)],
            argument="name",
        )
    return Request(settings, source, about, findings, kind)


def _kind(source: DataSource | Matrix, about: DataSource | None, settings: Data, findings: Findings) -> str:
    if settings.kind is not None:
        kind = settings.kind
    else:
        kind, why = guess(source, about, settings)
        findings.note(f"{source.file} was taken for {kind}: {why}.")
    if isinstance(source, Matrix) and kind not in FROM_MATRIX:
        raise InputError(
            f"{source.file} is a matrix, which cannot be {kind}; it can be {list_words(FROM_MATRIX)}",
            argument="kind",
        )
    for name in ("drop", "category", "merge_rare"):
        if getattr(settings, name) and kind != "tables":
            raise InputError(f"is for tables, not for {kind}", remedy="leave it out", argument=name)
    if settings.best is not None and kind != "ratings":
        raise InputError(f"is for ratings and ranks, not for {kind}", remedy="leave it out", argument="best")
    if settings.missing == "category" and kind != "tables":
        raise InputError(f"category is for tables, not for {kind}", remedy="say refuse or drop", argument="missing")
    return kind


def build(request: Request) -> Loaded:
    """The objective, with all notes that were made."""
    source, findings = request.source, request.findings
    with findings.gather():
        loaded = BUILD[request.kind](request)
    first = [f"{source.file}: {findings.rows:,} {'entries' if isinstance(source, Matrix) else 'rows'} were read."]
    if findings.taken:
        first.append(f"Columns: {', '.join(f'{role} is {column}' for role, column in findings.taken.items())}.")
    said = [] if isinstance(source, Matrix) else source.notes()
    return replace(loaded, notes=tuple(dict.fromkeys([*first, *said, *findings.notes])))
