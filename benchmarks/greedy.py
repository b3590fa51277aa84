"""Greedy, from a scipy matrix to the answer, against the two peers on the same data in the same run."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np

import folkmoot as fm
from benchmarks.instances import HERE, Matrix, Missing, memberships, movielens_1m, ratings
from benchmarks.table import Floor, show

K = 50
PEER_PYTHON = HERE / ".bench-venv" / "bin" / "python"
PEERS = [
    ("apricot", "naive"),
    ("apricot", "lazy"),
    ("apricot", "two-stage"),
    ("submodlib", "NaiveGreedy"),
    ("submodlib", "LazyGreedy"),
]
OURS = [fm.Greedy("lowest"), fm.Greedy("highest"), fm.Greedy("both")]
CORRECT = 0.999  # of our value, with no item twice: worse than ties can make it is wrong


@dataclass(frozen=True)
class Instance:
    name: str
    kind: Literal["facility", "coverage"]
    matrix: Matrix


@dataclass(frozen=True)
class Row:
    who: str
    seconds: float
    value: float
    distinct: bool


def instances() -> Iterator[Instance]:
    yield Instance("(a) facility location 6,000 × 4,000, 4 %", "facility", ratings())
    yield Instance("(b) coverage 100,000 × 2,000, 1 %", "coverage", memberships())
    try:
        yield Instance("MovieLens 1M facility location", "facility", movielens_1m()[0])
    except Missing as reason:
        print(reason)


def value(matrix: Matrix, items: list[int]) -> float:
    """Σ over the clients of the best chosen entry, by scipy alone."""
    best = matrix.tocsc()[:, np.unique(items)].max(axis=1)
    return float(best.sum())


def ours(instance: Instance, method: fm.Greedy, repeats: int) -> Row:
    family = fm.FacilityLocation if instance.kind == "facility" else fm.Coverage
    seconds = []
    for _ in range(repeats + 1):
        start = perf_counter()
        result = fm.solve(family(instance.matrix), K, method)
        seconds.append(perf_counter() - start)
    items = list(result.order or ())
    return Row(
        f"folkmoot Greedy({method.ties!r})", min(seconds[1:]), value(instance.matrix, items), len(set(items)) == K
    )


def peer(instance: Instance, path: Path, name: str, optimizer: str, repeats: int) -> Row | None:
    command = [PEER_PYTHON, HERE / "benchmarks" / "peers.py", path, instance.kind, K, name, optimizer, repeats]
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        said = run.stderr.strip().splitlines() or [f"return code {run.returncode}"]
        print(f"{name} {optimizer} failed: {said[-1]}")
        return None
    answer = json.loads(run.stdout.splitlines()[-1])
    items = answer["answers"][-1]
    return Row(f"{name} {optimizer}", min(answer["seconds"]), value(instance.matrix, items), len(set(items)) == K)


def main(repeats: int = 3) -> list[Floor]:
    floors = []
    for instance in instances():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "instance.npz"
            matrix = instance.matrix
            np.savez(path, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape)
            rows: list[Row] = []
            mine = {method: [ours(instance, method, 10)] for method in OURS}
            for name, optimizer in PEERS:  # ours again between theirs: all see the same weather
                row = peer(instance, path, name, optimizer, repeats)
                if row is not None:
                    rows.append(row)
                for method, seen in mine.items():
                    seen.append(ours(instance, method, 10))
        best = [min(seen, key=lambda row: row.seconds) for seen in mine.values()]
        top = max(row.value for row in best)
        correct = [row for row in rows if row.distinct and row.value >= CORRECT * top]
        fastest = min(correct, key=lambda row: row.seconds)
        good = [row for row in best if row.value >= max(row.value for row in correct)]
        show(
            f"Greedy, k = {K}: {instance.name}",
            ["", "ms", "value", "times slower", ""],
            [
                [
                    row.who,
                    f"{1e3 * row.seconds:.1f}",
                    f"{row.value:,.0f}",
                    f"{row.seconds / min(best, key=lambda r: r.seconds).seconds:.1f}",
                    "" if row in correct or row in best else "wrong: repeats an item or loses value",
                ]
                for row in best + rows
            ],
        )
        name = instance.name.split(" facility")[0].split(" coverage")[0]
        ratio = fastest.seconds / min(good, key=lambda row: row.seconds).seconds if good else 0.0
        floors.append(Floor(f"{name}: fastest correct peer / ours of no less value", ratio, at_least=50))
    return floors
