"""Which columns a kind needs, and which kind the columns speak for."""

from collections.abc import Sequence
from typing import NoReturn

from folkmoot.data.columns import by_alias, find, list_words, require_column
from folkmoot.data.pairs import PairColumns
from folkmoot.data.source import DataSource, Matrix, cast_numbers
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Data


def guess(source: DataSource | Matrix, about: DataSource | None, settings: Data) -> tuple[str, str]:
    """The kind of a file, and why."""
    if isinstance(source, Matrix):
        if source.values is None:
            return "memberships", "it is a matrix of ones"
        return (
            ("memberships", "least is given")
            if settings.least is not None
            else ("ratings", "it is a matrix of numbers")
        )
    if settings.target is not None:
        return "tables", "a target is given"
    client, item, value = _pair(source, settings)
    if client and item:
        if settings.least is not None:
            return "memberships", "least is given"
        if value is None:
            return "memberships", f"it has {client} and {item}, and no values"
        if by_alias([value], "distance"):
            return "distances", f"it has {client}, {item} and {value}"
        if settings.reach is not None:
            raise InputError(
                f"is for places and distances, and {source.file} has {client}, {item} and {value}, which looks "
                "like ratings",
                remedy="leave it out, or say what the file holds",
                settings=[("kind", "distances")],
                argument="reach",
            )
        return "ratings", f"it has {client}, {item} and {value}"
    latitude, longitude = position(source, settings)
    if latitude and longitude:
        return "places", f"it has {latitude} and {longitude}"
    site, target = find(source.columns, "site", settings.client, source.file), by_alias(source.columns, "target")
    if site and target:
        return "tables", f"it has {site} and {target}"
    if about is not None and numeric_in_both(source, about):
        return "similarity", f"it shares numbers with {about.file}: {list_words(numeric_in_both(source, about))}"
    hint = "" if client is None else f" beside {client}"
    raise InputError(
        f"its columns ({list_words(source.columns)}) do not tell what it holds{hint}",
        remedy="say which are which, or what kind of file it is",
        settings=[(name, ...) for name in ("client", "item", "value", "target", "kind")],
        place=source.file,
    )


def _pair(source: DataSource, settings: Data) -> tuple[str | None, str | None, str | None]:
    """Client, item and value, as far as they can be found."""
    chosen = [
        None if wanted is None else require_column(wanted, source.columns, source.file, role)
        for role, wanted in (("client", settings.client), ("item", settings.item), ("value", settings.value))
    ]
    others = {settings.weight, settings.latitude, settings.longitude}
    for at, role in enumerate(("client", "item", "value")):
        taken = [column for column in (*chosen, *others) if column is not None]
        chosen[at] = chosen[at] or by_alias(source.columns, role, taken)
    client, item, value = chosen
    if len(source.columns) == 2 and source.header and (client is None) != (item is None) and value is None:
        other = next(column for column in source.columns if column not in (client, item))
        client, item = client or other, item or other
    return client, item, value


def pair_columns(source: DataSource, settings: Data, *, valued: bool, weighted: bool) -> PairColumns:
    """The columns of a table of clients and items."""
    client, item, value = _pair(source, settings)
    if len(source.columns) == 1:
        raise InputError(f"has one column only ({source.columns[0]}); clients and items are needed", place=source.file)
    if client is None:
        refuse(source, "client", "whose row it is")
    if item is None:
        refuse(source, "item", "which item a row is about", but=client)
    if valued and value is None:
        refuse(source, "value", "what an item is worth to a client", but=client)
    columns = [client, item, *([value] if valued and value else [])]
    if len(set(columns)) < len(columns):
        raise InputError(
            f"client, item and value must be different columns, not {list_words(columns)}", place=source.file
        )
    weight = find(source.columns, "weight", settings.weight, source.file, [c for c in (client, item, value) if c])
    return PairColumns(
        client, item, value if valued else None, weight if weighted or settings.weight else None, bool(settings.weight)
    )


def position(source: DataSource, settings: Data, *, own: bool = True) -> tuple[str | None, str | None]:
    """Latitude and longitude. `own`: a given column must be in this file (else by its name, if it is not)."""
    found: list[str | None] = []
    for role, wanted in (("latitude", settings.latitude), ("longitude", settings.longitude)):
        if wanted is not None and (own or wanted in source.columns):
            found.append(require_column(wanted, source.columns, source.file, role))
        else:
            found.append(by_alias(source.columns, role))
    return found[0], found[1]


def numeric_in_both(source: DataSource, about: DataSource, but: Sequence[str | None] = ()) -> list[str]:
    """PairColumns of numbers that both files have, ids left out."""
    one, two = cast_numbers(source.sample()), cast_numbers(about.sample())
    ids = {by_alias(source.columns, "client"), by_alias(about.columns, "key"), *but}
    return [
        c
        for c in one.columns
        if c in two.columns and c not in ids and one[c].dtype.is_numeric() and two[c].dtype.is_numeric()
    ]


def refuse(source: DataSource, role: str, what: str, but: str | None = None) -> NoReturn:
    """No column for a role."""
    beside = f" beside {but}" if but else ""
    header = "" if source.header else " (it has no header)"
    raise InputError(
        f"no column{header} is known to say {what}{beside}; its columns are {list_words(source.columns)}",
        place=source.file,
        remedy="say which",
        settings=[(role, ...)],
    )
