"""A document as the body of an HTML page. Knows nodes, and nothing of runs."""

import re
from collections.abc import Iterable, Sequence
from math import ceil

from folkmoot.report.document import (
    Bullets,
    Cell,
    Command,
    Document,
    Fact,
    Figure,
    Fold,
    Halves,
    Header,
    Name,
    Paragraph,
    Part,
    Quantity,
    Section,
    Table,
    Tone,
    group_facts,
    split_warnings,
    walk_document,
)
from folkmoot.report.markup import Markup, element, join, show_name, show_quantity
from folkmoot.report.text import clean
from folkmoot.report.vega import Spec

MOST_TILES = 7  # next to each other on a wide page
MOST_ROWS = 24  # a longer table scrolls in a frame of its own
FLAG = re.compile(r"((?<![\w-])--?[a-z][\w-]*)")


def render_html(document: Document) -> Markup:
    """Everything that stands in the page's main part."""
    head = element(
        "header",
        element("p", "Folkmoot", class_="kicker"),
        element("h1", clean(document.title)),
        element("p", clean(document.question), class_="question") if document.question else None,
        _render(document.head, strip="strip"),
    )
    return join([head, *map(_render_section, document.sections)])


def collect_charts(document: Document) -> dict[str, Spec]:
    """What the page's script draws, by the name of the figure."""
    charts: dict[str, Spec] = {}
    for figure in walk_document(document):
        if isinstance(figure, Figure) and figure.on_page:
            parts = {"wide": figure.wide, "narrow": figure.narrow, "datasets": figure.datasets}
            charts[figure.name] = {name: part for name, part in parts.items() if part is not None}
    return charts


def _render_section(section: Section) -> Markup:
    """With an address of its own: page.html#how-good-it-is opens what is folded there."""
    title = clean(section.title)
    address = re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")
    gist = element("p", clean(section.gist), class_="gist") if section.gist else None
    if not section.folded:
        inside = _render(section.parts)
        inside = element("div", inside) if section.short else inside
        kind = "folded" if section.short else None
        return element("section", element("h2", title), gist, inside, class_=kind, id=address)
    warnings, rest = split_warnings(section.parts)
    called = element("summary", "Details", element("small", f": {title}", class_="hidden"))
    fold = element("details", called, element("div", _render(rest), class_="inside"))
    return element("section", element("h2", title), gist, _render(warnings), fold, class_="folded", id=address)


def _render(parts: Iterable[Part], strip: str = "strip small") -> Markup:
    return join(
        _render_facts(part, strip) if isinstance(part, tuple) else _render_part(part) for part in group_facts(parts)
    )


def _render_part(part: Part) -> Markup | None:
    match part:
        case Paragraph(text, tone):
            kind = "" if tone is Tone.PLAIN else str(tone)
            classes = " ".join(filter(None, (kind, "spare" if part.spare else ""))) or None
            return element("p", *_keep_flags(clean(text)), class_=classes)
        case Bullets(lines, ordered):
            listed = [element("li", _render_cell(line)) for line in lines]
            return element("ol" if ordered else "ul", *listed, class_="names" if ordered else None)
        case Command(text):
            # The page's script shows the button, and makes it work.
            button = element("button", "Copy", type="button", class_="copy", hidden="")
            return element("div", element("pre", element("code", *_keep_flags(text))), button, class_="command")
        case Table():
            return render_table(part)
        case Figure(name, title, caption):
            if not part.on_page:
                return None
            words = element("figcaption", element("strong", clean(title)), f" {clean(caption)}" if caption else None)
            # The page's script draws the chart of this name here.
            return element("figure", words, element("div", id=f"chart-{name}", class_="chart"), class_=name)
        case Fold(title, parts):
            return element("details", element("summary", clean(title)), _render(parts))
        case Halves(left, right):
            return element("div", element("div", _render(left)), element("div", _render(right)), class_="columns")
        case Section(title, parts):
            return join([element("h3", clean(title)), _render(parts)])
        case Fact():
            return _render_facts((part,), "strip small")


def _keep_flags(text: str) -> list[Markup | str]:
    """The same text, in which no line is broken behind the hyphens of a flag."""
    return [element("span", part) if part.startswith("-") else part for part in FLAG.split(text)]


def _render_facts(facts: Sequence[Fact], strip: str) -> Markup:
    """Big numbers next to each other, each under its name and over what it means; words as a list."""
    rows = []
    big = isinstance(facts[0].value, Quantity)
    for fact in facts:
        value = show_quantity(fact.value) if isinstance(fact.value, Quantity) else clean(fact.value)
        note = element("dd", clean(fact.note), class_="note") if fact.note else None
        rows.append(
            element("div", element("dt", clean(fact.name)), element("dd", value, class_="big" if big else None), note)
        )
    return element("dl", *rows, class_=strip if big else "facts", style=_even_out(len(rows)) if big else None)


def _even_out(tiles: int) -> str | None:
    """Rows of as many tiles each, where one row is too short for all."""
    rows = ceil(tiles / MOST_TILES)
    return f"--columns:{ceil(tiles / rows)}" if rows > 1 else None


def render_table(table: Table) -> Markup:
    """With heads that sort when they are pressed, and a frame that scrolls where the table is wider or longer."""
    numeric = [table.is_numeric(at) for at in range(len(table.headers))]
    sortable = table.sortable and len(table.rows) > 1
    head = [
        element(
            "th",
            element("button", clean(header.name), type="button") if sortable else clean(header.name),
            scope="col",
            class_=_join_classes(number=right, barred=header.bar, spare=header.spare),
        )
        for header, right in zip(table.headers, numeric, strict=True)
    ]
    inside = element(
        "table",
        element("caption", clean(table.title), class_="hidden"),
        element("thead", element("tr", *head)),
        element("tbody", *_render_rows(table, numeric)),
        class_="sortable" if sortable else None,
    )
    frame = "frame long" if len(table.rows) > MOST_ROWS else "frame"
    # A frame that may scroll must be reachable by keyboard.
    return element("div", inside, class_=frame, tabindex="0", role="region", aria_label=clean(table.title))


def _render_rows(table: Table, numeric: Sequence[bool]) -> list[Markup]:
    headers = table.headers
    most = [_find_longest(table, at) if header.bar else 0.0 for at, header in enumerate(headers)]
    named = next((at for at, header in enumerate(headers) if not numeric[at] and not header.spare), None)
    body = []
    for row, texts in zip(table.rows, table.texts(), strict=True):
        cells = []
        for at, (cell, text, header) in enumerate(zip(row, texts, headers, strict=True)):
            bar = _draw_bar(cell, most[at]) if header.bar else None
            below = _gather_spare(row, headers, numeric) if at == named else None
            classes = _join_classes(number=numeric[at], striking=header.striking, barred=header.bar, spare=header.spare)
            cells.append(element("td", bar, _render_cell(cell, text), below, class_=classes, data_key=_sort_key(cell)))
        body.append(element("tr", *cells))
    return body


def _find_longest(table: Table, at: int) -> float:
    cells = (row[at] for row in table.rows)
    return max((cell.exact or 0.0 for cell in cells if isinstance(cell, Quantity)), default=0.0)


def _draw_bar(cell: Cell, most: float) -> Markup | None:
    """Beside the number, as long as it is large."""
    value = cell.exact if isinstance(cell, Quantity) else None
    if value is None or value <= 0 or most <= 0:
        return None
    inside = element("div", style=f"width:{100 * value / most:.1f}%")
    return element("div", inside, class_="bars", aria_hidden="true")


def _gather_spare(row: Sequence[Cell], headers: Sequence[Header], numeric: Sequence[bool]) -> Markup | None:
    """The words of columns that a phone has no room for."""
    spare = [
        clean(cell if isinstance(cell, str) else cell.text)
        for cell, header, right in zip(row, headers, numeric, strict=True)
        if header.spare and not right and not isinstance(cell, Quantity)
    ]
    words = " · ".join(filter(None, spare))
    return element("small", show_name(words), class_="phone") if words else None


def _join_classes(**wanted: bool) -> str | None:
    return " ".join(name for name, has in wanted.items() if has) or None


def _render_cell(cell: Cell, text: str = "") -> Markup:
    match cell:
        case Quantity():
            return show_quantity(cell, text)
        case Name(name, note, key):
            shown = join([clean(name)]) if key is not None else show_name(name)
            shown = element("strong", shown) if cell.stressed else shown
            return join([shown, element("small", clean(note)) if note else None])
        case _:
            return join([clean(cell)])


def _sort_key(cell: Cell) -> str | None:
    """What a cell is sorted by; None: by what it shows."""
    match cell:
        case Quantity():
            return None if cell.exact is None else str(cell.exact)
        case Name(name, _, key):
            return clean(name).casefold() if key is None else str(key)
        case _:
            return None
