"""What a problem is about where its data is elsewhere: only the items file and public settings are read."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars

from folkmoot.data.columns import find_by_alias, list_words
from folkmoot.data.files import open_table
from folkmoot.data.findings import Findings, name_places, say_count
from folkmoot.data.items import Items, list_items, read_items
from folkmoot.data.loaded import Subject
from folkmoot.data.places import read_places
from folkmoot.data.source import DataSource, cast_numbers
from folkmoot.data.wording import (
    describe_distances,
    describe_memberships,
    describe_places,
    describe_ratings,
    describe_similarity,
    describe_tables,
    name_many,
    name_one,
    name_worth,
)
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import KINDS, Data


def load_items(settings: Data, folder: Path | None = None) -> Items:
    """The items of a list that is public, numbered as `load` numbers them wherever no other item occurs."""
    return load_subject(settings, folder).items


def load_subject(settings: Data, folder: Path | None = None) -> Subject:
    """What can be said of a problem without its data; relative names are relative to the folder."""
    return _load(settings, folder)[0]


def pin_columns(settings: Data, folder: Path | None = None) -> Data:
    """The settings with the columns of the items file that were found by their names: whoever reads the file with
    these settings takes the same ones, whatever the columns of their own data are called.
    """
    taken = _load(settings, folder)[1].taken
    return replace(settings, items_id=taken.get("items_id", settings.items_id), name=taken.get("name", settings.name))


def _load(settings: Data, folder: Path | None) -> tuple[Subject, Findings]:
    if settings.kind not in KINDS:
        raise InputError(f"needs one of {list_words(KINDS)}, got {settings.kind!r}", argument="kind")
    if settings.items is None:
        raise InputError("needs a file that lists them, for all parties the same", argument="items")
    source, findings = open_table(settings.items, folder, "items"), Findings()
    with findings.gather():
        items = READ.get(settings.kind, _list)(source, settings, findings)
    column = settings.item or findings.taken.get("items_id")
    words = _describe(settings, settings.kind, column)
    return Subject(settings.kind, items, tuple(findings.notes), *words), findings


def _list(source: DataSource, settings: Data, findings: Findings) -> Items:
    return list_items(source, settings.item, settings, findings)


def _list_features(source: DataSource, settings: Data, findings: Findings) -> Items:
    return list_items(source, None, settings, findings)


def _read_alike(source: DataSource, settings: Data, findings: Findings) -> Items:
    """Which columns are compared is only known with the data, so no number may be missing in any of them."""
    frame = cast_numbers(source.read_typed(source.columns))
    ids = (settings.items_id or find_by_alias(frame.columns, "key"), settings.name)
    columns = [name for name in frame.columns if frame[name].dtype.is_numeric() and name not in ids]
    if not columns:
        raise InputError("has no column of numbers by which items could be compared", place=source.file)
    numbers = np.column_stack([frame[name].cast(polars.Float64).to_numpy() for name in columns])
    lacking = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(lacking):
        said = say_count(len(lacking), "item lacks a number", "items lack a number")
        raise InputError(f"{said}, first in {name_places(source.unit, lacking + source.first)}", place=source.file)
    return read_items(source, settings, findings)


READ: dict[str, Callable[[DataSource, Data, Findings], Items]] = {
    "places": read_places,
    "tables": _list_features,
    "similarity": _read_alike,
}


def _describe(settings: Data, kind: str, column: str | None) -> tuple[str, str, str]:
    """What the value means, and what clients and items are called."""
    clients, one = name_many(settings.client, "clients"), name_one(column, "item")
    by = f", weighted by {settings.weight}" if settings.weight else ""
    if kind in ("distances", "places") and settings.reach is None:
        raise InputError("is needed: beyond it an item is of no use, for all parties alike", argument="reach")
    if kind == "ratings":
        value = settings.value or ("rank" if settings.best == "lowest" else "rating")
        return describe_ratings(name_worth(value, settings.best), one, clients), clients, name_many(column, "items")
    if kind == "memberships":
        return describe_memberships(one, clients), clients, name_many(column, "items")
    if kind == "distances":
        told = describe_distances(settings.value or "distance", settings.reach or 0.0, one, clients, by)
        return told, clients, name_many(column, "items")
    if kind == "places":
        people = name_many(settings.client, "people")
        return describe_places(settings.reach or 0.0, people, by), people, "places"
    if kind == "tables":
        told = describe_tables(settings.target or "the target", clients, settings.weight or "their rows")
        return told, clients, "features"
    return describe_similarity(settings.similarity, clients), clients, "items"
