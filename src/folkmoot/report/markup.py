"""HTML that is safe by construction: what is not Markup is escaped where it enters."""

from collections.abc import Iterable, Sequence
from html import escape
from math import isfinite
from typing import TypeAlias

from folkmoot.report.numbers import NOTHING
from folkmoot.report.text import clean, short

MOST_ROWS = 24  # a longer table scrolls in a frame of its own
LONGEST = 160  # letters of a name in a table; the rest is told on hover
MOST_IN_A_TITLE = 1000
VOID = frozenset({"meta", "br", "col"})


class Markup(str):
    """Text that is HTML already. Made by `element` and `joined`, and from files of this package."""

    __slots__ = ()


Part: TypeAlias = "str | None"


def join(parts: Iterable[Part]) -> Markup:
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts if part is not None))


def element(tag: str, *inside: Part, **attributes: str | None) -> Markup:
    """<tag …>inside</tag>; class_ and data_field are written class and data-field, attributes of None not at all.

    >>> element("td", "a < b", class_="name")
    '<td class="name">a &lt; b</td>'
    """
    named = "".join(
        f' {key.strip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{named}>" if tag in VOID else f"<{tag}{named}>{join(inside)}</{tag}>")


def show_number(text: str, field: str, value: float | None) -> Markup:
    """A number as people read it, with what it is and all its digits for those who compute."""
    raw = None if value is None or not isfinite(value) else repr(value)
    return element("data", text, value=raw or "", data_field=field, data_value=raw)


def show_name(name: str) -> Markup:
    """A name from outside, which may be written in any direction."""
    whole = clean(name)
    shown_of_it = short(whole, LONGEST)
    return element("bdi", shown_of_it or NOTHING, title=None if shown_of_it == whole else short(whole, MOST_IN_A_TITLE))


class Cell:
    """A cell of a table: what it shows and what it is sorted by."""

    __slots__ = ("inside", "key", "numeric")

    def __init__(self, inside: Part, key: float | str | None = None, numeric: bool | None = None) -> None:
        self.inside = inside
        self.key = key
        self.numeric = isinstance(key, int | float) if numeric is None else numeric

    def written(self) -> Markup:
        bad = isinstance(self.key, float) and not isfinite(self.key)
        key = None if self.key is None or bad else str(self.key)
        return element("td", self.inside, class_="number" if self.numeric else None, data_key=key)


def table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]], sortable: bool = True, class_: str = ""
) -> Markup:
    """With heads that sort when they are pressed, and a frame that scrolls where the table is wider or longer."""
    numeric = [all(row[at].numeric or row[at].inside == NOTHING for row in rows) for at in range(len(heads))]
    head = [
        element(
            "th",
            element("button", name, type="button") if sortable and len(rows) > 1 else name,
            scope="col",
            class_="number" if right and rows else None,
        )
        for name, right in zip(heads, numeric, strict=True)
    ]
    body = [element("tr", *(cell.written() for cell in row)) for row in rows]
    inside = element(
        "table",
        element("caption", caption, class_="hidden"),
        element("thead", element("tr", *head)),
        element("tbody", *body),
        class_="sortable" if sortable else None,
    )
    if len(rows) > MOST_ROWS:
        class_ += " long"
    # A frame that may scroll must be reachable by keyboard.
    return element("div", inside, class_=f"frame {class_}".strip(), tabindex="0", role="region", aria_label=caption)


def fold(title: str, *inside: Part) -> Markup:
    return element("details", element("summary", title), *inside)


def strip(cells: Iterable[tuple[Part, Part, str]], class_: str = "strip") -> Markup:
    """Big numbers beside each other: what is said above the number, the number, what it means."""
    return element(
        "dl",
        *(
            element("div", element("dt", label), element("dd", big, class_="big"), element("dd", note, class_="note"))
            for label, big, note in cells
        ),
        class_=class_,
    )
