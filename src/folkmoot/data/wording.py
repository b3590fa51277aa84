"""What people call the things in a column (movieId: movies, hospital: hospitals), and what a value means."""

import re

from folkmoot.data.columns import SITES
from folkmoot.foundation.naming import CLIENTS, ITEMS

PLAIN = {"client", "item", "column", "row", "col", "id", "index", "uid", "iid", "key", "code", "name", "unnamed", ""}
IRREGULAR = {"person": "people", "people": "people"}
CODES = {"isbn": "book", "asin": "product", "sku": "product"}  # what the codes stand for
IDS = {"id", "ids", "key", "code", "number", "no", "name", "title", "token", "description"}
OTHERS = (
    *("patient", "people", "resident", "citizen", "worker", "employee", "driver", "family", "team", "group", "farm"),
    *(
        "city",
        "town",
        "village",
        "district",
        "county",
        "region",
        "country",
        "state",
        "neighbourhood",
        "street",
        "house",
    ),
    *(
        "station",
        "stop",
        "stand",
        "shop",
        "park",
        "library",
        "museum",
        "event",
        "meal",
        "dish",
        "drug",
        "gene",
        "paper",
    ),
    *(
        "document",
        "topic",
        "tag",
        "word",
        "brand",
        "show",
        "series",
        "service",
        "feature",
        "shelter",
        "charity",
        "idea",
    ),
)  # that columns are named after too
NOUNS = frozenset((*CLIENTS, *ITEMS, *SITES, *OTHERS)) - {"cust"}


def name_many(column: str | None, otherwise: str) -> str:
    """The plural of what a column is about: "movies" for movieId."""
    one = name_one(column, "")
    return pluralize(one) if one else otherwise


def name_one(column: str | None, otherwise: str) -> str:
    """The singular of what a column is about: "movie" for movieId."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z_\d]+|\d+", column or "")
    words = [word.lower() for word in words]
    if len(words) == 1 and len(words[0]) > 4 and words[0].endswith("id"):  # userid
        words = [words[0][:-2]]
    while words and words[-1] in IDS:
        words.pop()
    one = " ".join(words)
    one = CODES.get(one, one)
    if one in PLAIN or (words and words[0] == "column"):
        return otherwise
    if one in ("people", "persons"):
        return "person"
    one = one[:-1] if one.endswith("s") and not one.endswith(("ss", "us", "is", "series")) else one
    return one if one.split()[-1] in NOUNS else otherwise  # steam and stock are no nouns for users and products


def pluralize(one: str) -> str:
    """The plural of a word: movies, cities, churches."""
    if one in IRREGULAR:
        return IRREGULAR[one]
    if re.search(r"[^aeiou]y$", one):
        return one[:-1] + "ies"
    return one + ("es" if re.search(r"(s|x|z|ch|sh)$", one) else "s")


def describe_ratings(value: str, item: str, clients: str) -> str:
    return f"the {value} of the best chosen {item}, averaged over {clients}"


def name_worth(value: str, best: str | None) -> str:
    """What a row is worth: its value, or, where the lowest rank is the best, its inverse."""
    return f"1 / {value}" if best == "lowest" else value


def describe_memberships(item: str, clients: str) -> str:
    return f"the share of {clients} who have at least one chosen {item}"


def describe_distances(value: str, reach: float, item: str, clients: str, by: str = "") -> str:
    return f"1 − {value}/{reach:g} of the nearest chosen {item} (0 beyond {reach:g}), averaged over {clients}{by}"


def describe_places(reach: float, clients: str, by: str = "") -> str:
    far = f"{reach:g} km"
    return f"1 − distance/{far} of the nearest chosen place (0 beyond {far}), averaged over {clients}{by}"


def describe_tables(target: str, clients: str, by: str) -> str:
    return f"bits that the chosen features tell about {target}, averaged over {clients} by {by}"


def describe_similarity(how: str, clients: str) -> str:
    return f"the {how} similarity of the most similar chosen item, averaged over {clients}"
