"""Ratings, memberships and distances: what an item is worth to a client, from a table or a matrix."""

import numpy as np

from folkmoot.data.columns import find_by_alias
from folkmoot.data.findings import say_count
from folkmoot.data.items import Items, ground_set, name_items, number_items, read_items
from folkmoot.data.loaded import MOST_CLIENT_NAMES, Loaded, Request
from folkmoot.data.pairs import PairColumns, Pairs, convert_matrix, read_pairs
from folkmoot.data.roles import has_flags, pair_columns
from folkmoot.data.source import Matrix
from folkmoot.data.wording import (
    describe_distances,
    describe_memberships,
    describe_ratings,
    name_many,
    name_one,
    name_worth,
)
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_number
from folkmoot.foundation.sets import Array
from folkmoot.objectives import Coverage, FacilityLocation
from folkmoot.objectives.sparse import RowOptions

MANY_ZEROS, FEWEST_ZEROS = 0.2, 20  # share of the values, and how many of them, that are worth a word


def ratings(request: Request) -> Loaded:
    """F(S): the value of the best chosen item, averaged over clients."""
    pairs, columns = _pairs(request, valued=True)
    best = name_one(columns.item, "item") if columns else "item"
    value = columns.value if columns and columns.value else "value"
    over = name_many(columns.client if columns else None, "clients")
    if request.kind == "similarity":
        value = "similarity"
    meaning = describe_ratings(name_worth(value, request.settings.best), best, over)
    if request.settings.best == "lowest":
        _invert(request, pairs, value)
        return _make_facility(request, pairs, columns, meaning, 1.0)
    if columns is not None and columns.value and not columns.yes_no:
        _warn_of_zeros(request, pairs, columns.value, over)
    return _make_facility(request, pairs, columns, meaning, request.settings.most)


def _invert(request: Request, pairs: Pairs, value: str) -> None:
    """Of ranks the lowest is the best, so each is worth its inverse: so much whatever others rank."""
    values = pairs.entries.values
    if values is None or not len(values):
        return
    if values.min() < 1:
        raise InputError(
            f"ranks begin at 1, but {value} has {values.min():g}", place=request.source.file, argument="best"
        )
    pairs.entries.values = 1.0 / values


def _warn_of_zeros(request: Request, pairs: Pairs, value: str, clients: str) -> None:
    """Many files write 0 where nobody said how good something is."""
    values = pairs.entries.values
    zeros = 0 if values is None else len(values) - int(np.count_nonzero(values))
    if values is None or zeros < max(MANY_ZEROS * len(values), FEWEST_ZEROS) or zeros == len(values):
        return
    request.findings.warn(
        f"{zeros / len(values):.0%} of the values of {value} are 0, which adds nothing: if 0 means that there is no "
        f"{value}, remove these rows, so that {clients} who have nothing else do not count.".replace("%", "\u202f%", 1)
    )


def memberships(request: Request) -> Loaded:
    """F(S): the share of clients who have at least one chosen item."""
    settings, file = request.settings, request.source.file
    valued = settings.least is not None or bool(settings.value)
    if not valued and settings.value is None and not isinstance(request.source, Matrix):
        valued = has_flags(request.source, settings)
    pairs, columns = _pairs(request, valued=valued)
    values = pairs.entries.values
    unused = None if valued or isinstance(request.source, Matrix) else find_by_alias(request.source.columns, "value")
    if unused and settings.value is None:
        request.findings.note(f"{unused} was not used: every row counts, unless a least value is given.")
    if settings.least is not None and values is None:
        values = np.ones(len(pairs.entries.items))
    if values is not None:
        least = None if settings.least is None else as_number(settings.least, "least", least=-np.inf)
        belongs = values > 0 if least is None else values >= least
        request.findings.note(
            f"{file}: {int(belongs.sum()):,} of {len(values):,} rows count, those with a value "
            + ("above 0." if least is None else f"of at least {least:g}.")
        )
        pairs.entries.values = belongs.astype(np.float64)
        pairs.entries.drop_worthless()
        pairs.entries.values = None
    _refuse_worthless(
        request, pairs, "belongs to a client" if settings.least is None else f"reaches {settings.least:g}"
    )
    items = _items(request, pairs, columns)
    clients = name_many(columns.client if columns else None, "clients")
    one = name_one(columns.item if columns else None, "item")
    objective = Coverage(pairs.entries.matrix(), **_options(request, pairs, items, clients))
    return _make_loaded(request, objective, items, columns, describe_memberships(one, clients))


def distances(request: Request) -> Loaded:
    """F(S): 1 − distance/reach of the nearest chosen item (0 beyond reach), averaged over clients."""
    pairs, columns = _pairs(request, valued=True, weighted=True)
    entries = pairs.entries
    ones = np.ones(len(entries.items)) if entries.values is None else entries.values  # none: a matrix of ones
    entries.values = ones.astype(np.float64, copy=False)
    nearest = np.minimum.reduceat(entries.values, entries.starts[:-1][np.diff(entries.starts) > 0])
    reach = choose_reach(request, nearest, "in the unit of the file")
    np.subtract(1.0, np.divide(entries.values, reach, out=entries.values), out=entries.values)
    best = name_one(columns.item if columns else None, "item")
    over = name_many(columns.client if columns else None, "clients")
    value = columns.value if columns and columns.value else "distance"
    by = f", weighted by {columns.weight}" if columns and pairs.weights is not None else ""
    meaning = describe_distances(value, reach, best, over, by)
    return _make_facility(request, pairs, columns, meaning, 1.0, f"is within {reach:g}")


def choose_reach(request: Request, nearest: Array, unit: str) -> float:
    """The reach as given. Without one, suggest twice the median distance to the nearest item."""
    if request.settings.reach is not None:
        return as_number(request.settings.reach, "reach", above=True)
    middle = float(f"{np.median(nearest):.3g}")
    suggestion = float(f"{2 * middle:.2g}") if middle > 0 else 1.0
    near = f"half the clients have an item within {middle:g} ({unit})"
    if request.findings.strict:
        raise InputError(
            f"needs a reach, beyond which an item is of no use; {near}",
            place=request.source.file,
            remedy="for a start, try",
            settings=[("reach", suggestion)],
        )
    request.findings.mended["reach"] = suggestion
    request.findings.note(f"No reach was given; {near}, so {suggestion:g} is a sensible start.")
    return suggestion


def _pairs(request: Request, *, valued: bool, weighted: bool = False) -> tuple[Pairs, PairColumns | None]:
    settings, findings, source = request.settings, request.findings, request.source
    if isinstance(source, Matrix):
        pairs = convert_matrix(source, settings, findings)
        findings.note(f"{source.file} is a matrix of {source.n_clients:,} clients × {source.n_items:,} items.")
        return pairs, None
    columns = pair_columns(source, settings, valued=valued, weighted=weighted)
    findings.record_columns(client=columns.client, item=columns.item, value=columns.value, weight=columns.weight)
    pairs = read_pairs(source, columns, settings, findings)
    return pairs, columns


def _make_facility(
    request: Request,
    pairs: Pairs,
    columns: PairColumns | None,
    meaning: str,
    most: float | None,
    something: str = "is above 0",
) -> Loaded:
    pairs.entries.drop_worthless()
    _refuse_worthless(request, pairs, something)
    items = _items(request, pairs, columns)
    clients = name_many(columns.client if columns else None, "clients")
    objective = FacilityLocation(pairs.entries.matrix(), **_options(request, pairs, items, clients, most))
    return _make_loaded(request, objective, items, columns, meaning)


def _refuse_worthless(request: Request, pairs: Pairs, something: str) -> None:
    if not len(pairs.entries.items):
        raise InputError(f"no value {something}, so all choices are worth the same", place=request.source.file)


def _items(request: Request, pairs: Pairs, columns: PairColumns | None) -> Items:
    if pairs.items is not None:
        column, name = columns.item if columns else None, request.settings.name
        if request.about is None and name and column and not isinstance(request.source, Matrix):
            return name_items(pairs.items.texts(), column, request.source, name, request.findings)
        items, where = ground_set(pairs.items.texts(), request.about, column, request.settings, request.findings)
        pairs.entries.renumber_items(where, len(items))
        return items
    ids = number_items(pairs.entries.n_items)
    if request.about is not None:  # items of a matrix have no ids: the rows of the file must be in their order
        items = read_items(request.about, request.settings, request.findings)
        if len(items) != len(ids):
            raise InputError(
                f"{request.about.file} has {say_count(len(items), 'row')} for {say_count(len(ids), 'column')} of "
                f"{request.source.file}; it needs one row per column, in the same order",
                argument="items",
            )
        return items
    request.findings.note(f"The items of {request.source.file} are numbered from 0, in the order of its columns.")
    return Items(ids)


def _options(request: Request, pairs: Pairs, items: Items, clients: str, most: float | None = None) -> RowOptions:
    empty = int((np.diff(pairs.entries.starts) == 0).sum())
    if empty:
        all_clients = f"of {pairs.n_clients:,} {clients}"
        one = f"{all_clients} has nothing that counts and gains nothing, but is not left out."
        many = f"{all_clients} have nothing that counts and gain nothing, but are not left out."
        request.findings.note(say_count(empty, one, many))
    names = pairs.clients.texts() if pairs.clients is not None and pairs.n_clients <= MOST_CLIENT_NAMES else None
    options: RowOptions = {"weights": pairs.weights, "keep_empty": True, "most": most}
    return {**options, "item_names": items.names, "client_names": names}


def _make_loaded(
    request: Request, objective: FacilityLocation, items: Items, columns: PairColumns | None, meaning: str
) -> Loaded:
    client, item = (None, None) if columns is None else (columns.client, columns.item)
    called = name_many(client, "clients"), name_many(item, "items")
    return Loaded(request.kind, items, (), meaning, *called, objective)
