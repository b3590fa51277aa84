"""Which column is which: as given, otherwise by common names, otherwise by the words that its name is made of. Case and
punctuation do not matter.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.naming import CLIENTS, ITEMS, RATINGS, add_endings, normalize

SITES = (
    *("site", "hospital", "clinic", "bank", "school", "centre", "center", "institution", "branch", "practice"),
    *("laboratory", "lab", "company", "organisation", "organization", "party"),
)
LATE_ENDINGS = ("title", "description")  # of items, where nothing else says which it is
IDENTIFIERS = {"id", "ids", "key", "number", "no", "nr", "num", "code", "name", "hash", "uuid", "token", "unique"}
COUNTED = {"count", "counts", "number", "num", "n", "total"}  # n_users are no users
DEGREES = {"deg", "degree", "degrees", "decimal", "wgs"}
DISTANCES = (
    *("distance", "dist", "traveltime", "traveldistance", "drivetime", "duration", "km", "kilometres", "kilometers"),
    *("metres", "meters", "miles", "minutes"),
)


ALIASES: dict[str, tuple[str, ...]] = {
    "client": (*add_endings(CLIENTS), "uid", "row", "rows"),
    "site": add_endings((*SITES, *CLIENTS)),
    "item": (*add_endings(ITEMS), "iid", "stockcode", "col", "cols", "column", *add_endings(ITEMS, LATE_ENDINGS)),
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
# The last word of a name, for roles whose name may say more: pickup_latitude, primaryTitle.
LAST_WORDS = {"latitude": {"latitude", "lat"}, "longitude": {"longitude", "lon", "lng"}, "name": {"title"}}
LABELS = (
    *("name", "title", "label", "id", "code", "key", "number", "no", "nr"),
    *("street", "address", "station", "stop", "stand", "city", "town", "village"),
)  # last words of columns that tell things apart, the best first
NOUNS = {"client": frozenset(CLIENTS), "item": frozenset(ITEMS)}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z_\d]+")


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
    ends = LAST_WORDS.get(role, set())
    alike = [column for column in names.values() if ends and _end_of(column) in ends]
    return alike[0] if len(alike) == 1 else None


def _end_of(column: str) -> str:
    words = [word for word in split_words(column) if word not in DEGREES]
    return words[-1] if words else ""


def split_words(column: str) -> list[str]:
    """The words of a name, in lower case: book and rating of Book-Rating, bookRating or book_rating2."""
    words = [word.lower() for word in WORD.findall(column)]
    if len(words) == 1:  # bookrating
        noun = next(
            (one for one in (*ITEMS, *CLIENTS) if words[0].startswith(one) and len(words[0]) > len(one) + 1), ""
        )
        words = [noun, words[0].removeprefix(noun)] if noun else words
    return words


def find_by_words(columns: Sequence[str], role: str, taken: Sequence[str] = ()) -> str | None:
    """The only column that is a client or an item by its words (anonymous_user_id); None where there are several."""
    found = [column for column in columns if column not in taken and _is_noun(split_words(column), role)]
    return found[0] if len(found) == 1 else None


def find_only_id(columns: Sequence[str], taken: Sequence[str] = ()) -> str | None:
    """The only other column whose name ends as ids do (SteamId), whatever they are the ids of."""
    found = [column for column in columns if column not in taken and _end_of(column) in {"id", "ids", "uuid", "guid"}]
    return found[0] if len(found) == 1 else None


def pair_positions(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Latitudes and longitudes that belong together by the words before them: of the pickup, of the dropoff."""
    found = {role: _start_words(columns, role) for role in ("latitude", "longitude")}
    return [(one, found["longitude"][start]) for start, one in found["latitude"].items() if start in found["longitude"]]


def find_position(
    columns: Sequence[str], latitude: str | None = None, longitude: str | None = None
) -> tuple[str | None, str | None]:
    """Latitude and longitude: as given, or what lies beside the given one, or by their names."""
    given = [one for one in (latitude, longitude) if one is not None]
    if len(given) < 2:
        beside = [pair for pair in pair_positions(columns) if given and given[0] in pair]
        if len(beside) == 1:
            return beside[0]
        latitude, longitude = (
            latitude or find_by_alias(columns, "latitude"),
            longitude or find_by_alias(columns, "longitude"),
        )
    if (latitude is None) != (longitude is None):  # the other one of the same place
        pairs = [pair for pair in pair_positions(columns) if latitude in pair or longitude in pair]
        latitude, longitude = pairs[0] if len(pairs) == 1 else (latitude, longitude)
    return latitude, longitude


def _start_words(columns: Sequence[str], role: str) -> dict[tuple[str, ...], str]:
    """The columns of a position by the words before their last one."""
    out: dict[tuple[str, ...], str] = {}
    for column in columns:
        words = [word for word in split_words(column) if word not in DEGREES]
        if words and words[-1] in LAST_WORDS[role]:
            out.setdefault(tuple(words[:-1]), column)
    return out


def _is_noun(words: list[str], role: str) -> bool:
    """Whether a name means a thing itself: the id of a user, not the age of one, nor how many there are."""
    if not words or words[0] in COUNTED:
        return False
    if "of" in words and not IDENTIFIERS.issuperset(words[: words.index("of")]):
        return False  # the colour of wines is no wine
    endings = IDENTIFIERS | (set(LATE_ENDINGS) if role == "item" else set())
    while len(words) > 1 and words[-1] in endings:
        words = words[:-1]
    return words[-1] in NOUNS[role] or words[-1].removesuffix("s") in NOUNS[role]


def list_labels(columns: Sequence[str]) -> list[str]:
    """Columns that may tell things apart by the last word of their names, the best first: StandID, Street."""
    ends = {column: _end_of(column) for column in columns}
    return [column for label in LABELS for column in columns if ends[column] == label]


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
