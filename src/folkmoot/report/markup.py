"""HTML that is safe by construction: what is not Markup is escaped where it enters."""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from folkmoot.report.document import Quantity
from folkmoot.report.numbers import DIGITS, NOTHING
from folkmoot.report.text import clean, shorten

SHORT = 16  # letters of a word with hyphens that is not broken at them
LONGEST = 160  # letters of a name; the rest is shown on hover
MOST_IN_A_TITLE = 1000
VOID = frozenset({"meta", "br", "col"})


class Markup(str):
    """Text that is HTML already. Made by `element` and `join`, and from files of this package."""

    __slots__ = ()


Inside: TypeAlias = "str | None"


def join(parts: Iterable[Inside]) -> Markup:
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts if part is not None))


def element(tag: str, *inside: Inside, **attributes: str | None) -> Markup:
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


def show_quantity(quantity: Quantity, text: str = "", digits: int = DIGITS) -> Markup:
    """A number as people read it, with what it is and all its digits for those who compute."""
    written = text or quantity.text(digits)
    if not quantity.field:
        return join([written])
    raw = None if quantity.exact is None else repr(quantity.exact)
    return element("data", written, value=raw or "", data_field=quantity.field, data_value=raw)


def show_name(name: str) -> Markup:
    """A name from outside, which may be written in any direction."""
    whole = clean(name)
    start = shorten(whole, LONGEST)
    kept = "whole" if len(start) <= SHORT and "-" in start and " " not in start else None
    return element(
        "bdi", start or NOTHING, class_=kept, title=None if start == whole else shorten(whole, MOST_IN_A_TITLE)
    )
