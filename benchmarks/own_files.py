"""Files as people bring them, generated: hundreds of thousands of books, half a million places, a hospital's table.

Every command is a process of its own, and its CPU time is that of all its threads. What is chosen stands beside a
solver that sees all data, and beside the most popular items.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.shapes import write_books, write_hospital_table, write_pickups
from benchmarks.table import Floor, show
from folkmoot.conversation.result import Result
from folkmoot.report.facts import cost_of
from folkmoot.secagg import Policy
from folkmoot.secagg.traffic import count_bytes

TOOL = "from folkmoot.cli import main; main()"


def main() -> list[Floor]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "demo", "--people", "1000")  # compiles
        return [*measure_books(folder), *measure_places(folder), *measure_table(folder)]


def measure_books(folder: Path) -> list[Floor]:
    """340,553 books: sums of buckets find candidates."""
    path, floors, rows = write_books(folder), [], []
    books = [str(path), "--items", str(folder / "books.csv"), "--kind", "memberships", "--choose", "20"]
    for what, limits in (("no limits", []), ("8 per language", ["--at-most", "8", "--per", "language"])):
        spent, said = run(folder, "run", *books, *limits, "--json", "--folder", what.replace(" ", "-"))
        result = Result.from_json(json.dumps(said["result"]))
        greedy, popular = (
            run(folder, "run", *books, *limits, "--json", "--no-report", "--method", method)[1]["result"]["value"]
            for method in ("greedy", "popularity")
        )
        answer = max(one.up - count_bytes(one.answered, 1, 2, 1, Policy())[1] for one in result.rounds or ())
        cost = cost_of(result)
        assert cost is not None
        of_greedy, of_popular = result.value / greedy, result.value / popular
        rows.append(
            [what, f"{spent:.1f}", f"{of_greedy:.4f}", f"{of_popular:.4f}", f"{answer:,}", f"{cost.mean_up:,.0f}"]
        )
        floors += [
            Floor(f"340,553 books, {what}: CPU seconds of a run with its report", spent, at_most=25),
            Floor(f"340,553 books, {what}: value / central greedy", of_greedy, at_least=0.99),
            Floor(f"340,553 books, {what}: value / most popular", of_popular, at_least=1.0),
            Floor(f"340,553 books, {what}: kB of the longest answer", answer / 1000, at_most=40),
        ]
    columns = ["limits", "CPU s", "/ greedy", "/ popular", "longest answer, bytes", "sent per client and round"]
    show("340,553 books, 105,283 users", columns, rows)
    return floors


def measure_places(folder: Path) -> list[Floor]:
    path = write_pickups(folder)
    places = [str(path), "--items", str(folder / "stands.csv"), "--reach", "3", "--choose", "20", "--kind", "places"]
    spent, said = run(folder, "run", *places, "--json", "--folder", "places")
    show(
        "564,516 places, 3,213 candidates",
        ["", "CPU s", "value"],
        [["run", f"{spent:.1f}", f"{said['worth']['value']:.4f}"]],
    )
    return [Floor("564,516 places, 3,213 candidates: CPU seconds of a run with its report", spent, at_most=30)]


def measure_table(folder: Path) -> list[Floor]:
    path = write_hospital_table(folder / "stays.csv")
    table = [str(path), "--target", "readmitted", "--missing", "category", "--merge-rare", "200", "--choose", "6"]
    looked, _ = run(folder, "inspect", *table, "--json")
    spent, said = run(folder, "run", *table, "--json", "--folder", "table")
    rows = [["inspect", f"{looked:.1f}", ""], ["run", f"{spent:.1f}", f"{said['worth']['value']:.4f}"]]
    show("101,766 hospital stays, 51 columns", ["", "CPU s", "value"], rows)
    return [
        Floor("101,766 hospital stays: CPU seconds of inspect", looked, at_most=25),
        Floor("101,766 hospital stays: CPU seconds of a run with its report", spent, at_most=25),
    ]


def run(folder: Path, *words: str) -> tuple[float, Any]:
    """CPU seconds of a command, and what it prints as JSON."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([sys.executable, "-c", TOOL, *words], cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if said.returncode:
        raise SystemExit(f"folkmoot {' '.join(words)}: {said.stderr.strip()}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, json.loads(said.stdout) if "--json" in words else None
