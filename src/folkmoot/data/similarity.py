"""Similarity: clients and items have the same columns of numbers, and an item is worth its similarity to a client."""

import numpy as np
import polars
import scipy

from folkmoot.data.columns import find_column, list_words, require_column
from folkmoot.data.entries import Entries
from folkmoot.data.findings import DataFault, ValueSpread, name_places
from folkmoot.data.items import read_items
from folkmoot.data.loaded import Loaded, Request
from folkmoot.data.owned import read_owned
from folkmoot.data.places import MOST_PAIRS
from folkmoot.data.roles import shared_numeric_columns
from folkmoot.data.source import Matrix
from folkmoot.data.wording import describe_similarity, name_many
from folkmoot.data.worth import ratings
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array
from folkmoot.objectives import FacilityLocation

PAIRS = 1 << 22  # computed at a time


def similarity(request: Request) -> Loaded:
    """F(S): the similarity of the most similar chosen item, averaged over clients."""
    source, about, settings, findings = request.source, request.about, request.settings, request.findings
    if isinstance(source, Matrix):
        return ratings(request)
    if about is None:
        raise InputError(
            f"{source.file} says what clients are like; a file with the items' numbers is needed too", argument="items"
        )
    client = find_column(source.columns, "client", settings.client, source.file)
    weight = None if not settings.weight else require_column(settings.weight, source.columns, source.file, "weight")
    columns = shared_numeric_columns(source, about, (client, weight, settings.items_id))
    if not columns:
        raise InputError(
            f"has no column of numbers in common with {about.file}",
            remedy="give their columns the same names",
            place=source.file,
        )
    findings.record_columns(client=client, weight=weight)
    rows = read_owned(request, source, columns, client, weight)
    frame = about.read_typed(about.columns)
    numbers = np.column_stack([frame[column].cast(polars.Float64, strict=False).to_numpy() for column in columns])
    lacking = ~np.isfinite(numbers).all(axis=1)
    where = name_places(about.unit, np.flatnonzero(lacking) + about.first)
    fault = DataFault("missing", about.file, int(lacking.sum()), "item lacks a number", "items lack a number", where)
    findings.report(fault, settings.missing, "left out")
    if lacking.all():
        raise InputError("every item lacks a number", place=about.file)
    items = read_items(about, settings, findings, frame.filter(~lacking))
    pairs = len(rows.numbers) * len(items)
    if pairs > MOST_PAIRS:
        raise InputError(
            f"{len(rows.numbers):,} rows × {len(items):,} items are more than {MOST_PAIRS:,} pairs",
            remedy="use fewer items, or a sample of the rows",
            place=source.file,
        )
    alike = _gaussian if settings.similarity == "gaussian" else _cosine
    values, how = alike(rows.numbers, numbers[~lacking])
    findings.note(f"Similarity of {list_words(columns)}: {how}.")
    starts = len(items) * np.arange(len(rows.numbers) + 1)
    which = np.tile(np.arange(len(items), dtype=np.int32), len(rows.numbers))
    if findings.measuring:
        findings.per_client, findings.values = ValueSpread.measure(np.diff(starts)), ValueSpread.measure(values)
    entries = Entries(starts, which, values, len(items))
    entries.drop_worthless()
    if not len(entries.items):
        raise InputError(
            "no item is similar to any row", remedy=f"check the columns {list_words(columns)}", place=source.file
        )
    objective = FacilityLocation(entries.matrix(), **rows.options(items.names))
    clients = name_many(client, "clients")
    meaning = describe_similarity(settings.similarity, clients)
    return Loaded(request.kind, items, (), meaning, clients, "items", objective)


def _distances(rows: Array, items: Array) -> Array:
    """One distance per pair, row by row."""
    out = np.empty(len(rows) * len(items))
    step = max(1, PAIRS // len(items))
    for first in range(0, len(rows), step):
        part = scipy.spatial.distance.cdist(rows[first : first + step], items)
        out[first * len(items) : first * len(items) + part.size] = part.ravel()
    return out


def _gaussian(rows: Array, items: Array) -> tuple[Array, str]:
    """exp(−d²/2h²) of numbers on the items' scale, which is public. h: the median distance to the nearest item,
    of rows that have one if most have none; 1 if none has.
    """
    mean, deviation = items.mean(axis=0), items.std(axis=0)
    deviation[deviation == 0] = 1.0
    distance = _distances((rows - mean) / deviation, (items - mean) / deviation)
    nearest = distance.reshape(len(rows), len(items)).min(axis=1)
    apart = nearest[nearest > 0]
    width, which = float(np.median(nearest)), "the median distance of a row from its nearest item"
    if width == 0 and len(apart):
        width, which = float(np.median(apart)), f"{which}, among the {len(apart):,} of {len(rows):,} that are not on it"
    elif width == 0:
        width, which = 1.0, "since every row is on an item"
    np.exp(-((distance / width) ** 2) / 2, out=distance)
    return distance, f"exp(−d²/2h²) with h = {width:.3g}, {which}, in standard deviations of the items"


def _cosine(rows: Array, items: Array) -> tuple[Array, str]:
    """The cosine of the angle; 0 if the angle is obtuse or a row is all zeros."""

    def unit(of: Array) -> Array:
        length = np.linalg.norm(of, axis=1, keepdims=True)
        shrunk: Array = np.divide(of, length, out=np.zeros_like(of), where=length > 0)
        return shrunk

    cosines = np.round(unit(rows) @ unit(items).T, 12)  # later decimals depend on the processor
    values = np.maximum(cosines, 0.0).ravel()
    return values, "the cosine of the angle, 0 if it is obtuse"
