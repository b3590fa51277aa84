"""Public facts about the items: names, positions, and the attributes that limits refer to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars

from folkmoot.data.columns import (
    find_by_alias,
    find_column,
    find_position,
    list_labels,
    list_words,
    require_column,
)
from folkmoot.data.findings import Findings, name_places, say_count
from folkmoot.data.source import DataSource
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.naming import normalize
from folkmoot.foundation.sets import Array, Ids, freeze
from folkmoot.foundation.settings import Data

SEVERAL = "|"  # separates several values in a cell: Action|Comedy
KEY = "\0key"  # a name that no column of a file has


@dataclass(frozen=True, eq=False, repr=False)
class Items:
    """What is known about the n items, in the order of their numbers."""

    names: tuple[str, ...]
    positions: Array | None = None  # n × 2: latitude, longitude; NaN where unknown
    attributes: polars.DataFrame = field(
        default_factory=polars.DataFrame
    )  # n rows; no columns where there is no items file
    file: str | None = None

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Items({list_words(self.names, 3)})"

    def groups(self, column: str, within: str | None = None) -> list[str | None]:
        """The group of each item by an attribute; None if it has no value. Of several values ("Action|Comedy") the
        first counts.

        With `within`, the same value within different values of another attribute makes different groups.
        """
        values = self._values(column)
        if within is None:
            return values
        outer = self._values(within, "within")
        return [None if a is None or b is None else f"{a}, {b}" for a, b in zip(outer, values, strict=True)]

    def list_counted(self, column: str) -> list[str | None]:
        """Of several values that an item has of an attribute, the one that limits count; None: it has one, or none."""
        cells = self._cells(column).to_list()
        return [
            value if SEVERAL in (cell or "") else None for cell, value in zip(cells, self._values(column), strict=True)
        ]

    def remarks(self, column: str) -> tuple[str, ...]:
        """What a person should know about the groups of an attribute."""
        cells = self._cells(column)
        said = []
        many = cells.filter(cells.str.contains(SEVERAL, literal=True).fill_null(False))
        if len(many):
            first = many[0].partition(SEVERAL)[0].strip()
            said.append(
                f"{self._share(len(many))} several values of {column}. The limit counts the first alone: "
                f"“{many[0]}” is {first or 'in no group'}."
            )
        unknown = sum(value is None for value in self._values(column))
        if unknown:
            said.append(f"{self._share(unknown)} no {column}, so no limit per {column} applies.")
        return tuple(said)

    def _share(self, count: int) -> str:
        return say_count(count, f"item of {len(self):,} has", f"items of {len(self):,} have")

    def _cells(self, column: str, argument: str = "per") -> polars.Series:
        if self.file is None:
            raise InputError(
                f"there is no items file with a column {column}",
                remedy="say which file describes the items",
                settings=[("items", ...)],
                argument=argument,
            )
        name = require_column(column, self.attributes.columns, self.file, argument)
        return self.attributes[name].cast(polars.String)

    def _values(self, column: str, argument: str = "per") -> list[str | None]:
        cells = self._cells(column, argument).str.split(SEVERAL).list.first().str.strip_chars()
        return [value or None for value in cells.to_list()]


def read_items(source: DataSource, settings: Data, findings: Findings, frame: polars.DataFrame | None = None) -> Items:
    """Items that are the rows of a file, in its order (or of this frame, if some rows were left out)."""
    findings.refuse()  # both files were read, and what comes next takes long
    frame = source.read_typed(source.columns) if frame is None else frame
    findings.note(f"{say_count(frame.height, 'item')} and their attributes were read from {source.file}.")
    for sentence in source.notes():
        findings.note(sentence)
    named = find_column(frame.columns, "name", settings.name, source.file)
    key = named or find_column(frame.columns, "key", settings.items_id, source.file)
    if settings.name != "":
        key = key or _find_label(frame)
    findings.record_columns(name=key)
    if key is None:
        findings.note(
            f"The items of {source.file} are named by their rows, from 0 on; the setting name says otherwise."
        )
    numbers = number_items(frame.height)
    names = numbers if key is None else frame[key].cast(polars.String).to_list()
    unnamed = [name or number for name, number in zip(names, numbers, strict=True)]
    return Items(_make_distinct(unnamed), _positions(frame, settings), frame, source.file)


def _find_label(frame: polars.DataFrame) -> str | None:
    """The column that tells the rows apart, by its name and by what it holds."""
    labels = list_labels(frame.columns)
    return next((one for one in labels if not frame[one].null_count() and frame[one].is_unique().all()), None)


def name_items(ids: Sequence[str], item: str, source: DataSource, column: str, findings: Findings) -> Items:
    """Items without a file of their own, named by a column of the data: the first name that a row has for each."""
    named = require_column(column, source.columns, source.file, "name")
    first: dict[str, str] = {}
    other: set[str] = set()
    for frame in source.frames({item: "text", named: "text"}):
        pairs = frame.select(key=polars.col(item).str.strip_chars(), name=polars.col(named).str.strip_chars())
        for key, name in pairs.filter(polars.col("name") != "").unique(maintain_order=True).iter_rows():
            if first.setdefault(key, name) != name:
                other.add(key)
    findings.record_columns(name=named)
    if other:
        said = say_count(len(other), f"item of {len(ids):,} has", f"items of {len(ids):,} have")
        findings.note(f"{said} more than one {named} in {source.file}: the first one counts.")
    lacking = sum(own not in first for own in ids)
    if lacking:
        said = say_count(lacking, f"item of {len(ids):,} has", f"items of {len(ids):,} have")
        findings.note(f"{said} no {named} in {source.file}: their ids are used as names.")
    return Items(_make_distinct([first.get(own, own) for own in ids], ids))


def list_items(source: DataSource, column: str | None, settings: Data, findings: Findings) -> Items:
    """The items that a file lists by their ids, in its order."""
    key, frame = _read_keyed(source, column, settings, findings)
    frame = frame.filter(frame[KEY].is_not_null())
    ids = frame[KEY].to_list()
    if not ids:
        raise InputError(f"no item has an id in the column {key}", place=source.file)
    return _describe(ids, ids, key, frame, source, settings, findings)


def match_items(
    ids: Sequence[str], source: DataSource | None, settings: Data, findings: Findings
) -> tuple[Items, list[str]]:
    """Items with these ids, and what a file says about each; in the order of the file, as all who share it have it.
    Those that are not in it follow. Also the ids in this order.
    """
    if source is None:
        return Items(tuple(ids)), list(ids)
    key, frame = _read_keyed(source, None, settings, findings)
    place = {own: at for at, own in enumerate(frame[KEY].to_list())}
    ordered = sorted(ids, key=lambda own: place.get(own, len(place)))
    return _describe(ordered, ids, key, frame, source, settings, findings), ordered


def list_ids(source: DataSource, settings: Data, findings: Findings) -> set[str]:
    """The ids that a file lists."""
    _, frame = _read_keyed(source, None, settings, findings)
    return set(frame[KEY].drop_nulls().to_list())


def ground_set(
    ids: Sequence[str], source: DataSource | None, column: str | None, settings: Data, findings: Findings
) -> tuple[Items, Ids]:
    """The items that can be chosen, and the numbers of those with these ids.

    If there is an items file, its rows are the items, in its order: then the list is public and does not reveal which
    items somebody holds. Ids that are not in the file follow.
    """
    if source is None:
        return Items(tuple(ids)), np.arange(len(ids))
    key, frame = _read_keyed(source, column, settings, findings)
    frame = frame.filter(frame[KEY].is_not_null())
    place = {own: at for at, own in enumerate(frame[KEY].to_list())}
    everything = [*place, *(own for own in ids if own not in place)]
    items = _describe(everything, ids, key, frame, source, settings, findings)
    place |= {own: at for at, own in enumerate(everything)}
    places = np.array([place[own] for own in ids], dtype=np.int64)
    idle = len(everything) - len(ids)
    if idle:
        findings.note(f"{say_count(idle, 'item')} of {source.file} that nobody has can be chosen too.")
    return items, places


def _read_keyed(
    source: DataSource, column: str | None, settings: Data, findings: Findings
) -> tuple[str, polars.DataFrame]:
    """The column of the items file that holds the ids, and the file with its ids as text, each id once."""
    if settings.items_id is not None:
        key = require_column(settings.items_id, source.columns, source.file, "items_id")
    else:
        alike = (other for other in source.columns if column and normalize(other) == normalize(column))
        key = next(alike, None) or find_by_alias(source.columns, "key") or source.columns[0]
    frame = source.read_typed(source.columns)
    for sentence in source.notes():
        findings.note(sentence)
    frame = frame.with_columns(frame[key].cast(polars.String).str.strip_chars().alias(KEY))
    twice = frame.height - frame[KEY].n_unique()
    if twice:
        rows = np.flatnonzero(~frame[KEY].is_first_distinct().to_numpy()) + source.first
        where = name_places(source.unit, rows)
        said = say_count(twice, f"row has the {key} of an earlier row", f"rows have the {key} of an earlier row")
        findings.note(f"{source.file}: {said}, first in {where}: the earlier row counts.")
        frame = frame.unique(KEY, keep="first", maintain_order=True)
    return key, frame


def _describe(
    wanted_ids: Sequence[str],
    ids: Sequence[str],
    key: str,
    frame: polars.DataFrame,
    source: DataSource,
    settings: Data,
    findings: Findings,
) -> Items:
    """The wanted items with what the file says about them; `ids` are those that occur in the data."""
    wanted = polars.DataFrame({KEY: wanted_ids}, schema={KEY: polars.String})
    known = polars.Series(KEY, ids, dtype=polars.String).is_in(frame[KEY].implode())
    lacking = int((~known).sum())
    if lacking == len(ids):
        raise InputError(
            f"none of the {len(ids):,} items is in column {key} of {source.file} (the first item is {ids[0]}, the "
            f"first {key} is {frame[KEY][0]})",
            remedy="say which column has their ids",
            settings=[("items_id", ...)],
            argument="items",
        )
    frame = wanted.join(frame, on=KEY, how="left", maintain_order="left").drop(KEY)
    named = find_column(source.columns, "name", settings.name, source.file)
    told = f"named by their {named}" if named else "named by their ids"
    findings.record_columns(items_id=key, name=named)
    findings.note(f"{source.file} was matched by its column {key}; the items are {told}.")
    if lacking:
        said = say_count(lacking, f"item of {len(ids):,} has", f"items of {len(ids):,} have")
        findings.note(f"{said} no row in {source.file}: their ids are used as names.")
    texts = [None] * len(wanted_ids) if named is None else frame[named].cast(polars.String).to_list()
    names = [text or own for text, own in zip(texts, wanted_ids, strict=True)]
    return Items(_make_distinct(names, wanted_ids), _positions(frame, settings), frame, source.file)


def number_items(count: int) -> tuple[str, ...]:
    """Names of items that have none: their numbers, as results and answer files have them."""
    return tuple(f"item {at}" for at in range(count))


def _make_distinct(names: Sequence[str], ids: Sequence[str] | None = None) -> tuple[str, ...]:
    """Names of which no two are the same: repeated ones get their ids."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    if len(seen) == len(names):
        return tuple(names)
    numbers = ids or number_items(len(names))
    return tuple(f"{name} ({own})" if seen[name] > 1 else name for name, own in zip(names, numbers, strict=True))


def _positions(frame: polars.DataFrame, settings: Data) -> Array | None:
    """Where the items are, if the file gives positions in degrees."""
    given = [one if one in frame.columns else None for one in (settings.latitude, settings.longitude)]
    latitude, longitude = find_position(frame.columns, *given)
    if latitude is None or longitude is None:
        return None
    cells = [frame[column].cast(polars.Float64, strict=False).to_numpy() for column in (latitude, longitude)]
    positions = np.column_stack(cells)
    with np.errstate(invalid="ignore"):
        outside = (np.abs(positions) > (90.0, 180.0)).any()
    return None if outside else freeze(positions)
