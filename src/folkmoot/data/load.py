"""From settings to an objective: open the files, find out what they hold, build the objective."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from folkmoot.data.columns import list_words
from folkmoot.data.files import open_source, open_table
from folkmoot.data.findings import Findings
from folkmoot.data.loaded import Loaded, Request
from folkmoot.data.places import places
from folkmoot.data.roles import guess
from folkmoot.data.similarity import similarity
from folkmoot.data.source import DataSource, Matrix
from folkmoot.data.standard_input import is_standard_input
from folkmoot.data.tables import tables
from folkmoot.data.worth import distances, memberships, ratings
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import IF_MISSING, IF_NEGATIVE, IF_TWICE, KINDS, SIMILARITIES, Data

BUILD: dict[str, Callable[[Request], Loaded]] = {
    "ratings": ratings,
    "memberships": memberships,
    "distances": distances,
    "places": places,
    "tables": tables,
    "similarity": similarity,
}
FROM_MATRIX = ("ratings", "memberships", "distances", "similarity")


def load(settings: Data | str | Path, folder: Path | None = None) -> Loaded:
    """The data that the settings describe, or that of a single file; relative names are relative to the folder."""
    if not isinstance(settings, Data):
        settings = Data(file=str(settings))
    source = open_source(settings.file, folder, "file")
    about = None if settings.items is None else open_table(settings.items, folder, "items")
    findings = Findings()
    if is_standard_input(settings.file or ""):
        findings.note(
            "The data came from standard input and was not kept: to compute anything again, pipe it in again."
        )
    return build(make_request(settings, source, about, findings))


def make_request(settings: Data, source: DataSource | Matrix, about: DataSource | None, findings: Findings) -> Request:
    """Open files with checked settings, and the kind of the data."""
    for name, choices in (
        *(("kind", KINDS), ("missing", IF_MISSING), ("negative", IF_NEGATIVE), ("duplicates", IF_TWICE)),
        ("similarity", SIMILARITIES),
    ):
        word = getattr(settings, name)
        if word is not None and word not in choices:
            raise InputError(f"{word!r} is not one of {list_words(choices)}", argument=name)
    return Request(settings, source, about, findings, _kind(source, about, settings, findings))


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
    if settings.missing == "category" and kind != "tables":
        raise InputError(f"category is for tables, not for {kind}", remedy="say refuse or drop", argument="missing")
    return kind


def build(request: Request) -> Loaded:
    """The objective, with all notes that were made."""
    loaded = BUILD[request.kind](request)
    source, findings = request.source, request.findings
    first = [f"{source.file}: {findings.rows:,} {'entries' if isinstance(source, Matrix) else 'rows'} were read."]
    if findings.taken:
        first.append(f"Columns: {', '.join(f'{role} is {column}' for role, column in findings.taken.items())}.")
    said = [] if isinstance(source, Matrix) else source.notes()
    return replace(loaded, notes=tuple(dict.fromkeys([*first, *said, *findings.notes])))
