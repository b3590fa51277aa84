"""Names from outside, made harmless: shortened, without control signs, and kept from turning the text around them."""

import re
import unicodedata
from collections.abc import Sequence
from html import escape

LONGEST = 60
KEPT = " \u202f"  # the second does not break: it stands before the % of our own numbers
# What turns writing around, and what breaks lines: no name needs it, and with it a name can dress up as another.
TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
SPECIAL = re.compile(r"([\\`*_\[\]|~$])")


def clean(name: str) -> str:
    """One line without control signs.

    >>> clean("two\\nlines")
    'two lines'
    """
    plain = TURNING.sub("", name.replace("\u200b", ""))
    spaced = "".join(sign if sign in KEPT or unicodedata.category(sign)[0] not in "CZ" else " " for sign in plain)
    return re.sub(" +", " ", spaced).strip()


def shorten(name: str, longest: int = LONGEST) -> str:
    """Not longer than that.

    >>> shorten("a very long name", 8)
    'a very…'
    """
    name = clean(name)
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"


def capitalise(name: str) -> str:
    """With a capital at its head.

    >>> capitalise("most popular")
    'Most popular'
    """
    return name[:1].upper() + name[1:]


def isolate(name: str) -> str:
    """As it is, or, where it is written from right to left, in signs that keep it from turning its neighbours."""
    turns = any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in name)
    return f"\u2068{name}\u2069" if turns else name


def escape_markdown(name: str) -> str:
    """Words only: no mark-up, no link, no new cell of a table.

    >>> escape_markdown("<b>|*x*")
    '&lt;b&gt;\\\\|\\\\*x\\\\*'
    """
    words = SPECIAL.sub(r"\\\1", escape(clean(name), quote=False))
    words = re.sub(r"(?i)\b(https?|ftp)(?=:)|\bwww(?=\.)", lambda found: f"{found[0]}\u200b", words)
    words = words.replace("@", "@\u200b")  # a name is nobody's address
    words = re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", words)  # no list, and no heading
    return isolate(re.sub(r"^([-+=#])", r"\\\1", words))


ALIKE = ("series", "species", "news", "gas", "lens", "canvas", "atlas")  # one of them ends in -s too
ONE = {"people": "person", "men": "man", "women": "woman", "children": "child", **dict(zip(ALIKE, ALIKE, strict=True))}
IE = ("movies", "cookies", "calories", "zombies", "ties", "pies", "selfies")  # one of them ends in -ie


def name_one_of(many: str) -> str:
    """The singular of what things are called.

    >>> name_one_of("movies"), name_one_of("cities"), name_one_of("people"), name_one_of("addresses")
    ('movie', 'city', 'person', 'address')
    >>> name_one_of("Genres"), name_one_of("status"), name_one_of("Series")
    ('Genre', 'status', 'Series')
    """
    *before, last = many.split(" ")
    if last.lower() in ONE:
        one = ONE[last.lower()]
        one = capitalise(one) if last[0].isupper() else one
    elif last.endswith("ies") and last.lower() not in IE:
        one = last[:-3] + "y"
    elif re.search(r"(ss|x|z|ch|sh)es$", last):
        one = last[:-2]
    else:
        one = last[:-1] if last.endswith("s") and not last.endswith(("ss", "us", "is")) else last
    return " ".join([*before, one])


def join_names(names: Sequence[str]) -> str:
    """
    >>> join_names(["a", "b", "c"]), join_names(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def count_many(value: int, many: str) -> str:
    """
    >>> count_many(1, "rounds"), count_many(1200, "users")
    ('1 round', '1,200 users')
    """
    return f"{value:,} {name_one_of(many) if value == 1 else many}"
