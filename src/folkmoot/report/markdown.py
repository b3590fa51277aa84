"""A document as GitHub Markdown. Knows nodes, and nothing of runs."""

import re
from collections.abc import Iterable, Sequence

from folkmoot.report.document import (
    Bullets,
    Cell,
    Command,
    Document,
    Fact,
    Figure,
    Fold,
    Halves,
    Name,
    Paragraph,
    Part,
    Quantity,
    Section,
    Table,
    Tone,
    group_facts,
)
from folkmoot.report.numbers import NOTHING
from folkmoot.report.text import escape_markdown as safe


def render_markdown(document: Document) -> str:
    blocks = [f"# {safe(document.title)}", safe(document.question), *_render(document.head, 2)]
    for section in document.sections:
        blocks += _render([section], 2)
    return "\n\n".join(block for block in blocks if block) + "\n"


def _render(parts: Iterable[Part], depth: int) -> list[str]:
    """Blocks of text, to be put apart by empty lines."""
    blocks: list[str] = []
    for part in group_facts(parts):
        match part:
            case tuple():
                blocks.append(_render_facts(part))
            case Paragraph(text, tone):
                blocks.append(f"> **Warning.** {safe(text)}" if tone is Tone.WARNING else safe(text))
            case Bullets(lines, ordered):
                marks = (f"{place}." if ordered else "-" for place in range(1, len(lines) + 1))
                texts = (line.text if isinstance(line, Name) else line for line in lines)
                blocks.append(
                    "\n".join(f"{mark} {safe(text) or NOTHING}" for mark, text in zip(marks, texts, strict=False))
                )
            case Command(text):
                # The fence is longer than any in the command.
                fence = "`" * max(3, 1 + max((len(found) for found in re.findall("`+", text)), default=0))
                blocks.append(f"{fence}\n{text}\n{fence}")
            case Table():
                blocks.append(_render_table(part))
            case Fold(title, inside):
                content = "\n\n".join(_render(inside, depth))
                blocks.append(f"<details><summary>{safe(title)}</summary>\n\n{content}\n\n</details>")
            case Halves(left, right):
                blocks += _render((*left, *right), depth)
            case Section(title, inside, gist):
                told = [safe(gist)] if gist else []
                blocks += [f"{'#' * depth} {safe(title)}", *told, *_render(inside, depth + 1)]
            case Figure() | Fact():  # figures: their numbers are in tables; facts come in groups
                pass
    return blocks


def _render_facts(facts: Sequence[Fact]) -> str:
    if isinstance(facts[0].value, str):
        return "\n".join(
            f"- {safe(fact.name)}: {safe(str(fact.value))}{f' ({safe(fact.note)})' if fact.note else ''}"
            for fact in facts
        )
    rows = [
        [safe(fact.name), f"**{fact.value.text()}**", safe(fact.note)]
        for fact in facts
        if isinstance(fact.value, Quantity)
    ]
    return _write_rows([["Fact", "Value", "Meaning"], ["---", "---:", "---"], *rows])


def _render_table(table: Table) -> str:
    marks = ["---:" if table.is_numeric(at) else "---" for at in range(len(table.headers))]
    rows = []
    for row, texts in zip(table.rows, table.texts(), strict=True):
        cells = [_write_cell(cell, safe(text)) for cell, text in zip(row, texts, strict=True)]
        notes = [f" ({safe(cell.note)})" if isinstance(cell, Name) and cell.note else "" for cell in row]
        rows.append([text + note for text, note in zip(cells, notes, strict=True)])
    return _write_rows([[safe(header.name) for header in table.headers], marks, *rows])


def _write_cell(cell: Cell, text: str) -> str:
    if isinstance(cell, str):
        return text
    return f"**{text}**" if isinstance(cell, Name) and cell.stressed else text or NOTHING


def _write_rows(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
