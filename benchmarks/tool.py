"""The command line as a person waits for it: help, a run on MovieLens 1M with its report and without, a look at ten
million rows.

Every command is a process of its own, kernels compiled before. A run without a report stands beside a program that
reads the same file and calls `fm.solve`, taken in turns. Memory is that of reading ten million ratings and building
their objective, above what reading ten rows takes (that is the program itself), against the matrix that they make.
"""

import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np
import polars
from scipy import sparse

from benchmarks.instances import Matrix, Missing, movielens_1m
from benchmarks.table import Floor, show

ROWS, CLIENTS, ITEMS = 10_000_000, 200_000, 20_000
MATRIX = ROWS * (8 + 4) + 4 * CLIENTS  # a number and an item an entry, and where each client begins
TOOL = "from folkmoot.cli import main; main()"
LIBRARY = """
import sys
import folkmoot as fm
from folkmoot.data import load
fm.solve(load(sys.argv[1]).objective, 20, fm.Auto(cohort=1_000))
"""
MEASURE = """
import sys
from folkmoot.data import Data, load
def most():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
load(Data(file=sys.argv[2]))  # what is imported, and loaded of kernels, when it is first needed
before = most()
load(Data(file=sys.argv[1]))
print(most() - before)
"""


def main() -> list[Floor]:
    floors = [Floor("folkmoot --help, seconds", fastest(["--help"], 5, Path.cwd()), at_most=0.4)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            films = written(folder / "films.csv", *movielens_1m())
            spent = fastest(["run", str(films), "--choose", "20"], 3, folder)
            floors.append(Floor("folkmoot run, MovieLens 1M, k = 20, with report, seconds", spent, at_most=10))
            times = compare_with_library(films, 5, folder)
            floors.append(Floor("folkmoot run --json --no-report / reading the file and fm.solve", times, at_most=1.1))
        except Missing as reason:
            print(reason)
        for what, letter in (("numbers", ""), ("text", "u")):
            path = generated(folder / "many.csv", letter)
            spent = fastest(["inspect", str(path)], 2, folder)
            floors.append(Floor(f"folkmoot inspect, 10^7 rows, ids are {what}, seconds", spent, at_most=15))
            times = min(memory(path) for _ in range(2)) / MATRIX
            floors.append(Floor(f"memory of reading 10^7 rows, ids are {what} / the matrix", times, at_most=3))
    show("The command line", ["", "measured"], [[floor.what, f"{floor.measured:.2f}"] for floor in floors])
    return floors


def fastest(words: list[str], repeats: int, folder: Path) -> float:
    return min(seconds(words, folder) for _ in range(repeats))


def seconds(words: list[str], folder: Path, program: str = TOOL) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", program, *words], check=True, capture_output=True, cwd=folder)
    return perf_counter() - start


def compare_with_library(path: Path, repeats: int, folder: Path) -> float:
    """How many times as long a run takes as the library alone: the fastest of each, taken in turns."""
    run = ["run", str(path), "--choose", "20", "--json", "--no-report"]
    pairs = [(seconds(run, folder), seconds([str(path)], folder, LIBRARY)) for _ in range(repeats)]
    ours, library = min(one for one, _ in pairs), min(other for _, other in pairs)
    print(f"folkmoot run --json --no-report: {ours:.2f} s; reading the file and fm.solve: {library:.2f} s")
    return ours / library


def memory(path: Path) -> int:
    few = path.with_name("few.csv")
    with path.open() as lines:
        few.write_text("".join(islice(lines, 11)))
    words = [sys.executable, "-c", MEASURE, str(path), str(few)]
    run = subprocess.run(words, check=True, capture_output=True, text=True)
    return int(run.stdout)


def written(path: Path, matrix: Matrix, names: list[str]) -> Path:
    """A matrix as a table that people have: user, film, stars."""
    entries = sparse.coo_array(matrix)
    users, films = entries.coords
    columns = {"user": users, "film": np.array(names, dtype=object)[films].tolist(), "rating": entries.data}
    polars.DataFrame(columns).write_csv(path)
    return path


def generated(path: Path, letter: str) -> Path:
    """Ten million ratings, no pair twice."""
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, CLIENTS * ITEMS, ROWS + ROWS // 100))
    rng.shuffle(pairs)
    clients, items = np.divmod(pairs[:ROWS], ITEMS)
    frame = polars.DataFrame({"user": clients, "film": items, "rating": rng.integers(1, 11, ROWS) / 2})
    if letter:
        names = [
            (letter + polars.col(column).cast(polars.String).str.zfill(7)).alias(column) for column in ("user", "film")
        ]
        frame = frame.with_columns(names)
    frame.write_csv(path)
    return path
