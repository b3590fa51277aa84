"""Which column is which: as given, otherwise by common names. Case and punctuation do not matter."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from folkmoot.foundation.errors import InputError

CLIENTS = (
    *("user", "client", "customer", "person", "member", "household", "participant", "respondent"),
    *("viewer", "reader", "listener", "visitor", "voter", "subscriber", "account", "buyer", "session", "device"),
)
ITEMS = (
    *("item", "movie", "product", "article", "book", "song", "film", "track", "artist", "video", "game", "recipe"),
    *("place", "store", "facility", "candidate", "page", "business", "restaurant", "hotel", "course", "project"),
    *("option", "proposal", "isbn", "asin", "sku"),
)
SITES = (
    *("site", "hospital", "clinic", "bank", "school", "centre", "center", "institution", "branch", "practice"),
    *("laboratory", "lab", "company", "organisation", "organization", "party"),
)
ENDINGS = ("", "id", "key", "number", "no", "code", "name")
RATINGS = (
    "rating",
    "ratings",
    "stars",
    "score",
    "value",
    "preference",
    "utility",
    "benefit",
    "weight",
    "count",
    "plays",
)
DISTANCES = (
    *("distance", "dist", "traveltime", "traveldistance", "drivetime", "duration", "km", "kilometres", "kilometers"),
    *("metres", "meters", "miles", "minutes"),
)


def _add_endings(nouns: Sequence[str]) -> tuple[str, ...]:
    return tuple(noun + ending for ending in ENDINGS for noun in nouns)


ALIASES: dict[str, tuple[str, ...]] = {
    "client": (*_add_endings(CLIENTS), "uid", "row", "rows"),
    "site": _add_endings((*SITES, *CLIENTS)),
    "item": (*_add_endings(ITEMS), "iid", "col", "cols", "column"),
    "value": (*RATINGS, *DISTANCES, "data", "values", "val"),
    "distance": DISTANCES,
    "latitude": ("latitude", "lat", "y"),
    "longitude": ("longitude", "lon", "lng", "long", "x"),
    "name": ("title", "name", "label", *(item + ending for ending in ("title", "name") for item in ITEMS)),
    "weight": ("population", "pop", "weight", "demand", "inhabitants", "residents", "households"),
    "target": ("target", "label", "class", "outcome", "diagnosis", "y"),
    "key": ("id", *(item + "id" for item in ITEMS), *ITEMS, "key", "code"),
}
KNOWN = frozenset(alias for aliases in ALIASES.values() for alias in aliases)


def normalize(column: str) -> str:
    """A name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", column.lower())


def is_known(column: str) -> bool:
    """Whether this is a common name of a column that has a role."""
    return normalize(column) in KNOWN


def find_by_alias(columns: Sequence[str], role: str, taken: Sequence[str] = ()) -> str | None:
    """The column named by the earliest possible alias of the role, if there is one."""
    names: dict[str, str] = {}
    for column in columns:
        if column not in taken:
            names.setdefault(re.sub(r"^(pop|population)\d{4}$", "population", normalize(column)), column)  # POP2000
    for alias in ALIASES[role]:
        if alias in names:
            return names[alias]
    return None


def require_column(column: str, columns: Sequence[str], file: str, setting: str) -> str:
    """The column with this name, exactly or up to case and punctuation."""
    if column in columns:
        return column
    alike = [other for other in columns if normalize(other) == normalize(column)]
    if len(alike) == 1 and alike[0]:
        return alike[0]
    near = get_close_matches(normalize(column), [normalize(other) for other in columns], 1, 0.6)
    hint = next((f" (did you mean {other}?)" for other in columns if near and normalize(other) == near[0]), "")
    raise InputError(f"{file} has no column {column}{hint}; its columns are {list_words(columns)}", argument=setting)


def find_column(
    columns: Sequence[str], role: str, wanted: str | None, file: str, taken: Sequence[str] = ()
) -> str | None:
    """The column of a role: as given (empty: none), otherwise by its name, otherwise none."""
    if wanted == "":
        return None
    if wanted is not None:
        return require_column(wanted, columns, file, {"site": "client", "key": "items_id"}.get(role, role))
    return find_by_alias(columns, role, taken)


def list_words(words: Sequence[str], most: int = 20) -> str:
    """a, b and c; a long list is shortened."""
    shown = [*words[:most], f"{len(words) - most:,} more"] if len(words) > most + 1 else list(words)
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
