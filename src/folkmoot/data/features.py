"""Which columns of a table are features, and which of them are categories although they are written as numbers."""

from collections.abc import Collection, Sequence

import polars

from folkmoot.data.columns import list_words, require_column, split_words
from folkmoot.data.loaded import Request
from folkmoot.data.source import Matrix
from folkmoot.foundation.errors import InputError

# The last word of a name that says: this names something, it is no quantity.
NAMING = frozenset(("id", "ids", "uid", "uuid", "guid", "key", "code", "nbr", "nr", "no", "number", "mrn", "ssn"))
FEWEST_ROWS = 100  # of fewer rows, numbers may count up by chance


def list_features(
    frame: polars.DataFrame, others: Sequence[str], listed: Collection[str], request: Request
) -> list[str]:
    """Every other column, except those to be dropped and those that tell rows or people apart.

    Numbers that the items file lists stay, whatever they look like: sites agreed on that list, and none of them may
    leave a feature out because of its own rows.
    """
    findings = request.findings
    dropped, wanted = (require_columns(request, name) for name in ("drop", "category"))
    for column in others:
        if column in dropped:
            raise InputError(f"{column} is no feature, and it is needed", argument="drop")
    columns = [one for one in frame.columns if one not in (*others, *dropped) and not frame[one].dtype.is_nested()]
    most = max(frame.height // 2, 2)
    apart = [one for one in columns if one not in wanted and frame[one].n_unique() > most]
    names = [one for one in apart if not frame[one].dtype.is_numeric()]
    ids = [one for one in apart if one not in listed and is_id(frame[one])]
    for left_out, why in ((names, "they differ in most rows, as names do"), (ids, "they are ids")):
        if left_out:
            findings.note(f"Left out, because {why}: {list_words(left_out)}.")
    features = [one for one in columns if one not in (*names, *ids)]
    if not features:
        raise InputError(f"there is no feature besides {list_words(others[:2])}", argument="items")
    return features


def find_categories(frame: polars.DataFrame, features: Sequence[str], bins: int, request: Request) -> set[str]:
    """Features of numbers that are not cut into bins: those that settings call categories, and codes by their name."""
    wanted = set(require_columns(request, "category"))
    codes = [one for one in features if frame[one].dtype.is_integer() and names_things(one) and one not in wanted]
    codes = [one for one in codes if frame[one].n_unique() > bins]  # others are categories anyway
    if codes:
        request.findings.note(
            f"Taken for categories, because their names say that they are codes: {list_words(codes)}."
        )
    return wanted.union(codes)


def require_columns(request: Request, setting: str) -> list[str]:
    """The columns that a setting lists, checked."""
    source = request.source
    assert not isinstance(source, Matrix)
    return [require_column(name, source.columns, source.file, setting) for name in getattr(request.settings, setting)]


def is_id(cells: polars.Series) -> bool:
    """Whether whole numbers, different in most rows, tell rows or people apart: by their name, or they count rows."""
    return cells.dtype.is_integer() and (names_things(cells.name) or counts_rows(cells))


def counts_rows(cells: polars.Series) -> bool:
    """1, 2, 3, …"""
    return len(cells) >= FEWEST_ROWS and not cells.has_nulls() and bool((cells.diff().drop_nulls() == 1).all())


def names_things(column: str) -> bool:
    words = split_words(column)
    return bool(words) and words[-1] in NAMING
