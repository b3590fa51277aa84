"""A document as plain text, for `print`. Imports nothing that takes long."""

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
from folkmoot.report.text import clean

MOST_ROWS = 30
DIGITS = 6


def render_plain(document: Document, level: Level = Level.SUMMARY) -> str:
    shown = select_document(document, level)
    return "\n".join([clean(shown.title), *_render((*shown.head, *shown.sections))])


def _render(parts: Iterable[Part]) -> list[str]:
    lines: list[str] = []
    for part in group_facts(parts):
        match part:
            case tuple():
                lines += _render_facts(part)
            case Paragraph(text, tone):
                lines.append(f"{'Warning. ' * (tone is Tone.WARNING)}{clean(text)}")
            case Bullets(bullets):
                lines += [f"  - {clean(line.text if isinstance(line, Name) else line)}" for line in bullets]
            case Command(text):
                lines.append(clean(text))
            case Table():
                lines += _render_table(part)
            case Fold(title, inside) | Section(title, inside):
                lines += ["", clean(title), *_render(inside)]
            case Halves(left, right):
                lines += _render((*left, *right))
            case Figure() | Fact():  # figures: their numbers are in tables; facts come in groups
                pass
    return lines


def _render_facts(facts: Sequence[Fact]) -> list[str]:
    if isinstance(facts[0].value, str):
        return [clean(f"{fact.name}: {fact.value}{f' ({fact.note})' if fact.note else ''}") for fact in facts]
    rows = [
        [clean(fact.name), fact.value.text(DIGITS), clean(fact.note)]
        for fact in facts
        if isinstance(fact.value, Quantity)
    ]
    return _align(rows, [False, True, False])


def _render_table(table: Table) -> list[str]:
    table, more = table.shorten(MOST_ROWS)
    rows = [[clean(header.name) for header in table.headers]]
    for row, texts in zip(table.rows, table.texts(DIGITS), strict=True):
        notes = [f" ({cell.note})" if isinstance(cell, Name) and cell.note else "" for cell in row]
        rows.append([clean(text + note) for text, note in zip(texts, notes, strict=True)])
    aligned = _align(rows, [table.is_numeric(at) for at in range(len(table.headers))])
    return [*aligned, *([f"… and {more:,} more"] if more else [])]


def _align(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{text:>{width}}" if to_right else f"{text:<{width}}"
            for text, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]
