"""Ratings, memberships and distances: what an item is worth to a client, said row by row or in a matrix."""

import numpy as np

from folkmoot.data.columns import by_alias
from folkmoot.data.findings import several
from folkmoot.data.items import Items, ground_set, own_items
from folkmoot.data.loaded import MOST_CLIENT_NAMES, Loaded, Request
from folkmoot.data.pairs import PairColumns, Pairs, from_matrix, read_pairs
from folkmoot.data.roles import pair_columns
from folkmoot.data.source import Matrix
from folkmoot.data.wording import call_many, call_one
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_number
from folkmoot.foundation.sets import Array
from folkmoot.objectives import Coverage, FacilityLocation
from folkmoot.objectives.sparse import RowOptions


def ratings(request: Request) -> Loaded:
    """F(S): the value of the best chosen item, averaged over clients."""
    pairs, columns = _pairs(request, valued=True)
    best = call_one(columns.item, "item") if columns else "item"
    value = columns.value if columns and columns.value else "value"
    over = call_many(columns.client if columns else None, "clients")
    if request.kind == "similarity":
        value = "similarity"
    meaning = f"the {value} of the best chosen {best}, averaged over {over}"
    return _facility(request, pairs, columns, meaning, request.settings.most)


def memberships(request: Request) -> Loaded:
    """F(S): the share of clients with a chosen item among theirs."""
    settings, file = request.settings, request.source.file
    valued = settings.least is not None or settings.value is not None
    pairs, columns = _pairs(request, valued=valued)
    values = pairs.entries.values
    unused = None if valued or isinstance(request.source, Matrix) else by_alias(request.source.columns, "value")
    if unused:
        request.findings.note(f"{unused} was not used: every row counts, unless least says from which value on.")
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
        pairs.entries.drop_nothing()
        pairs.entries.values = None
    _refuse_nothing(request, pairs, "belongs to a client" if settings.least is None else f"reaches {settings.least:g}")
    items = _items(request, pairs, columns)
    clients = call_many(columns.client if columns else None, "clients")
    one = call_one(columns.item if columns else None, "item")
    objective = Coverage(pairs.entries.matrix(), **_options(request, pairs, items, clients))
    meaning = f"the share of {clients} with at least one chosen {one} among theirs"
    return _make_loaded(request, objective, items, columns, meaning)


def distances(request: Request) -> Loaded:
    """F(S): 1 − distance/reach of the nearest chosen item (0 beyond reach), averaged over clients."""
    pairs, columns = _pairs(request, valued=True, weighted=True)
    entries = pairs.entries
    ones = np.ones(len(entries.items)) if entries.values is None else entries.values  # none: a matrix of ones
    entries.values = ones.astype(np.float64, copy=False)
    nearest = np.minimum.reduceat(entries.values, entries.starts[:-1][np.diff(entries.starts) > 0])
    reach = reach_or_suggestion(request, nearest, "in the unit of the file")
    np.subtract(1.0, np.divide(entries.values, reach, out=entries.values), out=entries.values)
    best = call_one(columns.item if columns else None, "item")
    over = call_many(columns.client if columns else None, "clients")
    value = columns.value if columns else "distance"
    by = f", weighted by {columns.weight}" if columns and pairs.weights is not None else ""
    meaning = f"1 − {value}/{reach:g} of the nearest chosen {best} (0 beyond {reach:g}), averaged over {over}{by}"
    return _facility(request, pairs, columns, meaning, 1.0, f"is within {reach:g}")


def reach_or_suggestion(request: Request, nearest: Array, unit: str) -> float:
    """The reach as given; without one, say which would be sensible: twice as far as half the clients must go anyway."""
    if request.settings.reach is not None:
        return as_number(request.settings.reach, "reach", above=True)
    middle = float(f"{np.median(nearest):.3g}")
    suggestion = float(f"{2 * middle:.2g}") if middle > 0 else 1.0
    near = f"half the clients have an item within {middle:g} of them ({unit})"
    if request.findings.strict:
        raise InputError(
            f"needs to know how far is too far; {near}",
            place=request.source.file,
            remedy="for a start, take",
            settings=[("reach", suggestion)],
        )
    request.findings.note(f"No reach was given; {near}, so {suggestion:g} would be a start.")
    return suggestion


def _pairs(request: Request, *, valued: bool, weighted: bool = False) -> tuple[Pairs, PairColumns | None]:
    settings, findings, source = request.settings, request.findings, request.source
    if isinstance(source, Matrix):
        pairs = from_matrix(source, settings, findings)
        findings.note(f"{source.file} is a matrix of {source.n_clients:,} clients × {source.n_items:,} items.")
        return pairs, None
    columns = pair_columns(source, settings, valued=valued, weighted=weighted)
    findings.took(client=columns.client, item=columns.item, value=columns.value, weight=columns.weight)
    pairs = read_pairs(source, columns, settings, findings)
    return pairs, columns


def _facility(
    request: Request,
    pairs: Pairs,
    columns: PairColumns | None,
    meaning: str,
    most: float | None,
    something: str = "is above 0",
) -> Loaded:
    pairs.entries.drop_nothing()
    _refuse_nothing(request, pairs, something)
    items = _items(request, pairs, columns)
    clients = call_many(columns.client if columns else None, "clients")
    objective = FacilityLocation(pairs.entries.matrix(), **_options(request, pairs, items, clients, most))
    return _make_loaded(request, objective, items, columns, meaning)


def _refuse_nothing(request: Request, pairs: Pairs, something: str) -> None:
    if not len(pairs.entries.items):
        raise InputError(f"no value {something}, so no choice is better than another", place=request.source.file)


def _items(request: Request, pairs: Pairs, columns: PairColumns | None) -> Items:
    if pairs.items is not None:
        column = columns.item if columns else None
        items, where = ground_set(pairs.items.texts(), request.about, column, request.settings, request.findings)
        pairs.entries.renumber_items(where, len(items))
        return items
    ids = [str(at) for at in range(1, pairs.entries.n_items + 1)]
    if request.about is not None:  # a matrix knows its items by their places: so must the file
        items = own_items(request.about, request.settings, request.findings)
        if len(items) != len(ids):
            raise InputError(
                f"{request.about.file} has {several(len(items), 'row')} for {several(len(ids), 'column')} of "
                f"{request.source.file}; one row a column is needed, in their order",
                argument="items",
            )
        return items
    return Items(tuple(ids))


def _options(request: Request, pairs: Pairs, items: Items, clients: str, most: float | None = None) -> RowOptions:
    empty = int((np.diff(pairs.entries.starts) == 0).sum())
    if empty:
        request.findings.note(
            f"Of {pairs.n_clients:,} {clients}, {empty:,} with nothing that counts stay in, and gain nothing."
        )
    names = pairs.clients.texts() if pairs.clients is not None and pairs.n_clients <= MOST_CLIENT_NAMES else None
    options: RowOptions = {"weights": pairs.weights, "keep_empty": True, "most": most}
    return {**options, "item_names": items.names, "client_names": names}


def _make_loaded(
    request: Request, objective: FacilityLocation, items: Items, columns: PairColumns | None, meaning: str
) -> Loaded:
    client, item = (None, None) if columns is None else (columns.client, columns.item)
    return Loaded(request.kind, objective, items, (), meaning, call_many(client, "clients"), call_many(item, "items"))
