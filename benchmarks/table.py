"""How results are shown, and how a benchmark can fail."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Floor:
    """A number that was promised, and what was measured."""

    what: str
    measured: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def holds(self) -> bool:
        low = self.at_least is None or self.measured >= self.at_least
        return low and (self.at_most is None or self.measured <= self.at_most)

    @property
    def promise(self) -> str:
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at == 0 or at == len(columns) - 1 else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def verdict(floors: Sequence[Floor]) -> bool:
    """Show every promise; True if all are kept."""
    rows = [[f.what, f.promise, f"{f.measured:.5g}", "kept" if f.holds else "BROKEN"] for f in floors]
    show("Promises", ["", "promised", "measured", ""], rows)
    return all(f.holds for f in floors)
