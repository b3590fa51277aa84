"""How results are shown, how a benchmark can fail, and the file of figures that documents quote."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.instances import HERE

FIGURES = HERE / "docs" / "figures" / "measured.json"


@dataclass(frozen=True)
class Floor:
    """What was measured, and what was promised of it. `name`: by which documents quote it."""

    what: str
    measured: float
    at_least: float | None = None
    at_most: float | None = None
    name: str | None = None
    unit: str = ""

    @property
    def holds(self) -> bool:
        low = self.at_least is None or self.measured >= self.at_least
        return low and (self.at_most is None or self.measured <= self.at_most)

    @property
    def promise(self) -> str:
        if self.at_least is None and self.at_most is None:
            return ""
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 or at == len(columns) - 1 else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def write_figures(part: str, floors: Sequence[Floor]) -> None:
    """Replace the figures of a part in the file: their values, the command, and the machine."""
    known: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    machine = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "day": date.today().isoformat()}
    command = f"python -m benchmarks {part}"
    found = {
        one.name: {"value": float(f"{one.measured:.6g}"), "unit": one.unit, "what": one.what, "command": command}
        | machine
        for one in floors
        if one.name is not None
    }
    kept = {name: one for name, one in known.items() if one["command"] != command}
    FIGURES.write_text(json.dumps(dict(sorted((kept | found).items())), indent=1, ensure_ascii=False) + "\n")


def verdict(floors: Sequence[Floor]) -> bool:
    """Show every promise; True if all are kept."""
    rows = [[f.what, f.promise, f"{f.measured:.5g}", "kept" if f.holds else "BROKEN"] for f in floors]
    show("Promises", ["", "promised", "measured", ""], rows)
    return all(f.holds for f in floors)
