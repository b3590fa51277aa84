"""Which columns a kind of data needs, and which kind the columns suggest."""

from collections.abc import Sequence
from typing import NoReturn

from folkmoot.data.columns import (
    find_by_alias,
    find_by_words,
    find_column,
    find_only_id,
    find_position,
    list_words,
    pair_positions,
    require_column,
)
from folkmoot.data.pairs import PairColumns
from folkmoot.data.source import DataSource, Matrix, cast_numbers
from folkmoot.data.values import (
    MOST_NAMED,
    ask_for_item,
    ask_for_rank,
    ask_for_value,
    find_value,
    is_distance,
    is_flag,
    is_rank,
    is_yes_no,
)
from folkmoot.foundation.errors import InputError, OpenQuestion
from folkmoot.foundation.settings import Data

MOST_RATED = 5  # columns of a file of ratings; a table usually has more


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
        _refuse_rated(source, settings.target)
        return "tables", "a target is given"
    kind = _guess_pair(source, settings, by_words=False)
    if kind is not None:
        return kind
    latitude, longitude = position_columns(source, settings)
    if latitude and longitude:
        return "places", f"it has {latitude} and {longitude}"
    if about is not None and None not in position_columns(about, settings, own=False):
        ask_for_position(source, settings)
    site, target = (
        find_column(source.columns, "site", settings.client, source.file),
        find_by_alias(source.columns, "target"),
    )
    if site and target:
        return "tables", f"it has {site} and {target}"
    if about is not None and shared_numeric_columns(source, about):
        return "similarity", f"it shares numbers with {about.file}: {list_words(shared_numeric_columns(source, about))}"
    kind = _guess_pair(source, settings, by_words=True)
    if kind is not None:
        return kind
    ask_for_position(source, settings)
    raise _explain_unknown(source, settings)


def _refuse_rated(source: DataSource, target: str) -> None:
    """Refuse a target for what looks like ratings: it would make columns of them the items."""
    require_column(target, source.columns, source.file, "target")
    roles = ("client", "item", "value")
    known = [column for role in roles if (column := find_by_alias(source.columns, role)) is not None]
    if len(source.columns) > MOST_RATED or len(known) < len(roles):
        return
    raise InputError(
        f"a target makes {source.file} a table, whose columns are chosen, but {list_words(known)} look like ratings",
        argument="target",
        remedy="leave it out, or say",
        settings=[("kind", "tables")],
    )


def _explain_unknown(source: DataSource, settings: Data) -> InputError:
    """Which roles no column has, and which columns are left."""
    client, item, value = find_pair(source, settings, by_words=True)
    known = {role: column for role, column in (("client", client), ("item", item), ("value", value)) if column}
    left = [column for column in source.columns if column not in known.values()]
    if left and (client is None) != (item is None):
        lacking = "client" if client is None else "item"
        return InputError(
            f"{list_words([f'{column} is the {role}' for role, column in known.items()])}, but no column is known to "
            f"be the {lacking}; left are {list_words(left)}",
            remedy="say which one it is, or what else the file holds",
            settings=[(lacking, ...), *((name, ...) for name in ("target", "kind") if settings.value is None)],
            place=source.file,
        )
    roles = [role for role in ("client", "item", "value") if getattr(settings, role) is None]
    return InputError(
        f"its columns ({list_words(source.columns)}) do not show what it holds",
        remedy="say which are which, or what kind of file it is",
        settings=[(name, ...) for name in (*roles, "target", "kind")],
        place=source.file,
    )


def ask_for_position(source: DataSource, settings: Data) -> None:
    """Raise a question if there are several positions and nothing says which is meant."""
    pairs = pair_positions(source.columns)
    if len(pairs) < 2 or None not in position_columns(source, settings):
        return
    raise OpenQuestion(
        f"it has several positions: {list_words([f'{one} with {other}' for one, other in pairs])}",
        place=source.file,
        remedy="say which one counts",
        settings=[("latitude", one) for one, _ in pairs[:MOST_NAMED]],
    )


def _guess_pair(source: DataSource, settings: Data, *, by_words: bool) -> tuple[str, str] | None:
    """The kind of a table of clients and items, and why; None if it is none. A column that may be a value is asked
    about.
    """
    client, item, value = find_pair(source, settings, by_words=by_words)
    if not (client and item):
        return None
    if settings.item is None:
        ask_for_item(source, client, item, [column for column in (value, *_list_given(settings)) if column])
    if settings.least is not None:
        return "memberships", "least is given"
    if value is None:
        if settings.value is None:
            if settings.best is None:
                ask_for_rank(source, client, item, None, _list_given(settings))
            ask_for_value(source, client, item, _list_given(settings))
        return "memberships", f"it has {client} and {item}, and no values"
    if is_flag(source, value):
        return "memberships", f"it has {client}, {item} and {value}, which is yes or no"
    if is_distance(value):
        return "distances", f"it has {client}, {item} and {value}"
    if settings.reach is not None:
        raise InputError(
            f"is for places and distances, but {source.file} has {client}, {item} and {value}, which look like ratings",
            remedy="leave it out, or say what the file holds",
            settings=[("kind", "distances")],
            argument="reach",
        )
    return "ratings", f"it has {client}, {item} and {value}"


def _list_given(settings: Data) -> list[str]:
    """Columns that have another role, as somebody says."""
    return [column for column in (settings.weight, settings.latitude, settings.longitude) if column]


def find_pair(source: DataSource, settings: Data, *, by_words: bool) -> tuple[str | None, str | None, str | None]:
    """Client, item and value, as far as they can be found. `by_words`: clients and items also by words of their names,
    which is less sure.
    """
    chosen = [
        None if wanted is None else require_column(wanted, source.columns, source.file, role)
        for role, wanted in (("client", settings.client), ("item", settings.item), ("value", settings.value or None))
    ]
    others = _list_given(settings)
    for at, role in enumerate(("client", "item", "value")):
        taken = [column for column in (*chosen, *others) if column is not None]
        if role == "item" and chosen[at] is None:
            chosen[at] = _find_item(source, taken)
        if role != "value" or settings.value is None:
            chosen[at] = chosen[at] or find_by_alias(source.columns, role, taken)
    for at, role in enumerate(("client", "item")):
        taken = [column for column in (*chosen, *others) if column is not None]
        if by_words and chosen[at] is None:
            chosen[at] = find_by_words(source.columns, role, taken)
    client, item, value = chosen
    if by_words and item and client is None:
        client = _find_repeated_id(source, [column for column in (item, value, *others) if column])
    if len(source.columns) == 2 and source.header and (client is None) != (item is None) and value is None:
        other = next(column for column in source.columns if column not in (client, item))
        client, item = client or other, item or other
    if client and item and value is None and settings.value is None:
        value = find_value(source, client, item, others) or _find_ranks(source, settings, client, item)
    return client, item, value


def _find_ranks(source: DataSource, settings: Data, client: str, item: str) -> str | None:
    """The only column of ranks, where somebody said which of them is the best."""
    left = [column for column in source.columns if column not in (client, item, *_list_given(settings))]
    found = [column for column in left if settings.best is not None and is_rank(source, column, client)]
    return found[0] if len(found) == 1 else None


def _find_item(source: DataSource, taken: Sequence[str]) -> str | None:
    """An item other than a column of ranks: a place may be one, or where something came in."""
    ranks = [column for column in source.columns if column not in taken and is_rank(source, column)]
    if not ranks:
        return None
    taken = [*taken, *ranks]
    return find_by_alias(source.columns, "item", taken) or find_by_words(source.columns, "item", taken)


def _find_repeated_id(source: DataSource, taken: Sequence[str]) -> str | None:
    """The only id that is left, if rows share it: a client has several rows, the second id of an item has not."""
    found = find_only_id(source.columns, taken)
    return found if found and not source.sample()[found].is_unique().all() else None


def has_flags(source: DataSource, settings: Data) -> bool:
    """Whether a table of clients and items has a column that says yes or no to each."""
    value = find_pair(source, settings, by_words=True)[2]
    return value is not None and is_flag(source, value)


def pair_columns(source: DataSource, settings: Data, *, valued: bool, weighted: bool) -> PairColumns:
    """The columns of a table of clients and items, checked."""
    client, item, value = find_pair(source, settings, by_words=True)
    if len(source.columns) == 1:
        raise InputError(f"has only one column ({source.columns[0]}); clients and items are needed", place=source.file)
    if client is None:
        refuse_missing_column(source, "client", "the client, who owns the row")
    if item is None:
        refuse_missing_column(source, "item", "the item that a row is about")
    if valued and value and settings.best is None and settings.least is None:
        ask_for_rank(source, client, item, value)
    if valued and value is None:
        refuse_missing_column(source, "value", "what the item is worth to the client")
    columns = [client, item, *([value] if valued and value else [])]
    if len(set(columns)) < len(columns):
        raise InputError(
            f"client, item and value must be different columns, not {list_words(columns)}", place=source.file
        )
    weight = find_column(
        source.columns, "weight", settings.weight, source.file, [c for c in (client, item, value) if c]
    )
    value = value if valued else None
    return PairColumns(
        client=client,
        item=item,
        value=value,
        weight=weight if weighted or settings.weight else None,
        weight_given=bool(settings.weight),
        yes_no=value is not None and is_yes_no(source, value),
    )


def position_columns(source: DataSource, settings: Data, *, own: bool = True) -> tuple[str | None, str | None]:
    """Latitude and longitude. `own`: a column given in the settings must be in this file; otherwise, if it is not,
    the column is found by its name.
    """
    given = [
        require_column(wanted, source.columns, source.file, role)
        if wanted is not None and (own or wanted in source.columns)
        else None
        for role, wanted in (("latitude", settings.latitude), ("longitude", settings.longitude))
    ]
    return find_position(source.columns, *given)


def shared_numeric_columns(source: DataSource, about: DataSource, others: Sequence[str | None] = ()) -> list[str]:
    """Columns of numbers that both files have, except ids and `others`."""
    one, two = cast_numbers(source.sample()), cast_numbers(about.sample())
    ids = {find_by_alias(source.columns, "client"), find_by_alias(about.columns, "key"), *others}
    return [
        c
        for c in one.columns
        if c in two.columns and c not in ids and one[c].dtype.is_numeric() and two[c].dtype.is_numeric()
    ]


def refuse_missing_column(source: DataSource, role: str, what: str) -> NoReturn:
    """Raise an error: no column has this role."""
    header = "" if source.header else " (it has no header)"
    raise InputError(
        f"no column{header} is known to be {what}; its columns are {list_words(source.columns)}",
        place=source.file,
        remedy="say which one it is",
        settings=[(role, ...)],
    )
