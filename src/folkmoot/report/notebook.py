"""A document as a piece of HTML for notebooks: no scripts, no colours of its own, nothing to install."""

from collections.abc import Iterable, Sequence

from folkmoot.report.document import (
    Bullets,
    Command,
    Document,
    Fact,
    Figure,
    Fold,
    Halves,
    Level,
    Name,
    Paragraph,
    Part,
    Quantity,
    Section,
    Table,
    Tone,
    group_facts,
    select_document,
)
from folkmoot.report.markup import Markup, element, join, show_name
from folkmoot.report.text import clean

MOST_ROWS = 30
DIGITS = 6
LEFT, RIGHT = "text-align: left", "text-align: right"


def render_notebook(document: Document, level: Level = Level.SUMMARY) -> str:
    shown = select_document(document, level)
    return element(
        "div",
        element("p", element("strong", clean(shown.title))),
        element("p", clean(shown.question)) if shown.question else None,
        _render((*shown.head, *shown.sections)),
    )


def _render(parts: Iterable[Part]) -> Markup:
    rendered: list[Markup] = []
    for part in group_facts(parts):
        match part:
            case tuple():
                rendered.append(_render_facts(part))
            case Paragraph(text, tone):
                mark = element("strong", "Warning. ") if tone is Tone.WARNING else None
                rendered.append(element("p", mark, clean(text)))
            case Bullets(lines, ordered):
                listed = [
                    element("li", show_name(line.text) if isinstance(line, Name) else clean(line)) for line in lines
                ]
                rendered.append(element("ol" if ordered else "ul", *listed))
            case Command(text):
                rendered.append(element("pre", text))
            case Table():
                rendered.append(_render_table(part))
            case Fold(title, inside) | Section(title, inside):
                rendered += [element("p", element("strong", clean(title))), _render(inside)]
            case Halves(left, right):
                rendered.append(_render((*left, *right)))
            case Figure() | Fact():  # figures: their numbers are in tables; facts come in groups
                pass
    return join(rendered)


def _render_facts(facts: Sequence[Fact]) -> Markup:
    rows = []
    for fact in facts:
        value = fact.value.text(DIGITS) if isinstance(fact.value, Quantity) else clean(fact.value)
        side = RIGHT if isinstance(fact.value, Quantity) else LEFT
        cells = [element("td", clean(fact.name), style=LEFT), element("td", element("strong", value), style=side)]
        rows.append(element("tr", *cells, element("td", clean(fact.note), style=LEFT) if fact.note else None))
    return element("table", element("tbody", *rows))


def _render_table(table: Table) -> Markup:
    table, more = table.shorten(MOST_ROWS)
    sides = [RIGHT if table.is_numeric(at) else LEFT for at in range(len(table.headers))]
    heads = [element("th", clean(header.name), style=side) for header, side in zip(table.headers, sides, strict=True)]
    rows = []
    for row, texts in zip(table.rows, table.texts(DIGITS), strict=True):
        cells = []
        for cell, text, side in zip(row, texts, sides, strict=True):
            shown = show_name(text) if isinstance(cell, Name) else clean(text)
            note = f" ({clean(cell.note)})" if isinstance(cell, Name) and cell.note else None
            cells.append(element("td", shown, note, style=side))
        rows.append(element("tr", *cells))
    left_out = element("p", f"… and {more:,} more") if more else None
    whole = element("table", element("thead", element("tr", *heads)), element("tbody", *rows))
    return join([whole, left_out])
