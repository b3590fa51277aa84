"""Names that columns usually have, by what they hold: who a row is about, which thing, and what it is worth. Case and
punctuation do not matter.
"""

import re
from collections.abc import Sequence

CLIENTS = (
    *("user", "client", "customer", "person", "member", "household", "participant", "respondent"),
    *("viewer", "reader", "listener", "visitor", "voter", "subscriber", "account", "buyer", "session", "device"),
    *("reviewer", "player", "shopper", "guest", "borrower", "patron", "student", "learner", "cust"),
)
ITEMS = (
    *("item", "movie", "product", "article", "book", "song", "film", "track", "artist", "video", "game", "recipe"),
    *("place", "store", "facility", "candidate", "page", "business", "restaurant", "hotel", "course", "project"),
    *("option", "proposal", "isbn", "asin", "sku", "anime", "beer", "wine", "app", "album", "podcast", "episode"),
    "venue",
)
RATINGS = (
    *("rating", "ratings", "stars", "score", "value", "preference", "utility", "benefit", "weight", "count"),
    "plays",
)
ENDINGS = ("", "id", "key", "number", "no", "code", "name")
NUMBERED = ("id", "key", "number", "no", "code")  # endings of what nobody would call a thing by
TIMES = ("timestamp", "datetime")
PLAIN_IDS = ("id", "ids", "uid", "iid", "uuid", "guid")


def normalize(column: str) -> str:
    """A name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", column.lower())


def add_endings(nouns: Sequence[str], endings: Sequence[str] = ENDINGS) -> tuple[str, ...]:
    return tuple(noun + ending for ending in endings for noun in nouns)


OWNERS = frozenset((*add_endings(CLIENTS), "uid"))
THINGS = frozenset((*add_endings(ITEMS), "iid"))
IDS = frozenset((*add_endings((*CLIENTS, *ITEMS), NUMBERED), *PLAIN_IDS, *TIMES))


def names_no_item(column: str) -> bool:
    """Whether a column is an id or a time by its name: userId, timestamp."""
    return normalize(column) in IDS


def find_rated_pair(columns: Sequence[str]) -> tuple[str, str] | None:
    """Who and what each row is about, if the names of the columns show that every row is one rating."""
    names = {normalize(column): column for column in columns}
    owner, thing = (next((names[one] for one in names if one in known), None) for known in (OWNERS, THINGS))
    if owner is None or thing is None:
        return None
    sure = names_no_item(owner) or names_no_item(thing) or not names.keys().isdisjoint(RATINGS)
    return (owner, thing) if sure else None
