"""Places: people and items have positions, and an item is of use to people within its reach.

Benefit = 1 − distance/reach, where the distance is along the great circle of a sphere with the Earth's mean radius.
Pairs within reach are found on the unit sphere (`nearby`), using the lengths of chords.
"""

import numpy as np
import polars
import scipy

from folkmoot.data.columns import find_column
from folkmoot.data.findings import DataFault, Findings, ValueSpread, say_count
from folkmoot.data.findings import name_places as named_places
from folkmoot.data.items import Items, read_items
from folkmoot.data.loaded import Loaded, Request
from folkmoot.data.nearby import find_pairs
from folkmoot.data.owned import read_owned
from folkmoot.data.roles import ask_for_position, position_columns, refuse_missing_column
from folkmoot.data.source import DataSource, Matrix
from folkmoot.data.wording import describe_places, name_many
from folkmoot.data.worth import choose_reach
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array, Ids
from folkmoot.foundation.settings import Data
from folkmoot.foundation.sphere import measure_arcs, project
from folkmoot.objectives import FacilityLocation

MOST_PAIRS = 200_000_000
FEWEST_NOWHERE = 3  # places at 0, 0 that are worth a word
OUTLYING = 0.01  # of the other places, at each end: they may be wrong too


def places(request: Request) -> Loaded:
    """F(S): 1 − distance/reach of the nearest chosen place, averaged over people."""
    source, settings, findings = request.source, request.settings, request.findings
    assert not isinstance(source, Matrix)
    if request.about is None:
        raise InputError(
            f"{source.file} says where people are; a file with the places to choose from is needed too",
            argument="items",
        )
    latitude, longitude = _columns(source, settings)
    client = find_column(source.columns, "client", settings.client, source.file)
    weight = find_column(source.columns, "weight", settings.weight, source.file, [] if client is None else [client])
    findings.record_columns(client=client, latitude=latitude, longitude=longitude, weight=weight)
    people = read_owned(request, source, [latitude, longitude], client, weight)
    _refuse_outside(source, people.numbers, people.lines, latitude, longitude)
    _note_nowhere(source, people.numbers, findings)
    items = read_places(request.about, settings, findings)
    assert items.positions is not None
    here, there = project(people.numbers), project(items.positions)
    nearest = measure_arcs(np.asarray(scipy.spatial.KDTree(there).query(here)[0]))
    reach = choose_reach(request, nearest, "in kilometres")
    entries = find_pairs(here, there, reach, MOST_PAIRS)
    if not len(entries.items):
        raise InputError(
            f"nobody has an item within {reach:g} km (the nearest is {nearest.min():,.1f} km away)", argument="reach"
        )
    who = name_many(client, "people")
    away = int((np.diff(entries.starts) == 0).sum())
    if away:
        said = f"no item within {reach:g} km and"
        one, many = (
            f"row of {len(here):,} has {said} gains nothing.",
            f"rows of {len(here):,} have {said} gain nothing.",
        )
        findings.note(say_count(away, one, many))
    if findings.measuring:
        findings.per_client, findings.values = (
            ValueSpread.measure(np.diff(entries.starts)),
            ValueSpread.measure(nearest),
        )
    objective = FacilityLocation(entries.matrix(), **people.options(items.names))
    by = f", weighted by {weight}" if weight else ""
    return Loaded(request.kind, items, (), describe_places(reach, who, by), who, "places", objective)


def _columns(source: DataSource, settings: Data, *, own: bool = True) -> tuple[str, str]:
    latitude, longitude = position_columns(source, settings, own=own)
    if own:
        ask_for_position(source, settings)
    if latitude is None:
        refuse_missing_column(source, "latitude", "the latitude")
    if longitude is None:
        refuse_missing_column(source, "longitude", "the longitude")
    return latitude, longitude


def _refuse_outside(source: DataSource, degrees: Array, lines: Ids, latitude: str, longitude: str) -> None:
    for column, name, most in ((0, latitude, 90), (1, longitude, 180)):
        outside = np.flatnonzero(np.abs(degrees[:, column]) > most)
        if not len(outside):
            continue
        at, most_are = outside[0], 2 * len(outside) > len(degrees)
        swapped = column == 0 and most_are and (np.abs(degrees[:, 1]) <= 90).all()
        mend = "give degrees" if most_are else "correct it, or remove the row"
        hint = "latitude and longitude seem to be swapped" if swapped else mend
        raise InputError(
            f"the {('latitude', 'longitude')[column]} ({name}) in {source.unit} {lines[at]:,} is "
            f"{degrees[at, column]:g}, outside ±{most} ({say_count(len(outside), 'such row')} of {len(degrees):,})",
            remedy=hint,
            place=source.file,
        )


def _note_nowhere(source: DataSource, degrees: Array, findings: Findings) -> None:
    """Many programs write 0, 0 where a position is not known; that is in the sea, far from all other places."""
    nowhere = (degrees == 0).all(axis=1)
    count, others = int(nowhere.sum()), degrees[~nowhere]
    if count < FEWEST_NOWHERE or not len(others):
        return
    low = np.quantile(others, OUTLYING, axis=0, method="lower")
    high = np.quantile(others, 1 - OUTLYING, axis=0, method="higher")
    if ((low > 0) | (high < 0)).any():
        share = count / len(degrees)
        part = f"{share:.0%}".replace("%", "\u202f%") if share >= OUTLYING / 2 else "less than 1\u202f%"
        findings.warn(f"{count:,} places of {source.file} ({part}) lie at exactly 0, 0: are their coordinates missing?")


def read_places(about: DataSource, settings: Data, findings: Findings) -> Items:
    """The places to choose from; the settings say what happens to those without a position."""
    latitude, longitude = _columns(about, settings, own=False)
    frame = about.read_typed(about.columns)
    degrees = np.column_stack([frame[c].cast(polars.Float64, strict=False).to_numpy() for c in (latitude, longitude)])
    lines = np.arange(len(degrees)) + about.first
    lacking = ~np.isfinite(degrees).all(axis=1)
    where = named_places(about.unit, lines[lacking])
    fault = DataFault(
        "missing",
        about.file,
        int(lacking.sum()),
        "place has no numeric position",
        "places have no numeric position",
        where,
    )
    findings.report(fault, settings.missing, "left out")
    if lacking.all():
        raise InputError("no place has a numeric position", place=about.file)
    _refuse_outside(about, degrees[~lacking], lines[~lacking], latitude, longitude)
    _note_nowhere(about, degrees[~lacking], findings)
    return read_items(about, settings, findings, frame.filter(~lacking))
