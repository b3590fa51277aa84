"""Runs whose sums and results are written down, and must not change.

`python -m tests.golden.runs` writes `runs.json` again; do that only where a change of the sums is wanted, and say so
here and in the changelog. `python -m tests.golden.runs WORD` prints the runs with that word in their name.

The runs were written with 0.6.0. They were written again when coins became private: rounding, votes, ties in clients'
own bases, who answers, and the grids of the last jury are then decided by other coins, and what was chosen after them
can differ. Sums without coins are those of 0.6.0.

They were written once more for these reasons, and are frozen since then:
- The answer comes in the order of worth. The last sum, of what the answer is worth, is about other sets (89 runs: that
  sum alone), and two more sums may find the order of many items.
- `Auto` with cohorts asks what items add before and after an item in another form, weighs what was said by how many
  said it, and gives spare rounds to the first item where few clients like any. Three runs choose another set.
- `Auto` asked of everyone, under a constraint that is not uniform, scores sets from a continuous greedy walk too: 11
  more sums. One run chooses another set.
- Promises of theorems count what fixed point may lose; with sampled gradients, each of two chances has half of δ.
"""

import json
import sqlite3
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import folkmoot as fm
from folkmoot import secagg

HERE = Path(__file__).parent
WRITTEN = HERE / "runs.json"
COLUMNS = "label, total, count, clients, asked, lost, spent, present"


def ratings(seed: int, clients: int = 60, items: int = 12, **options: Any) -> fm.FacilityLocation:
    rng = np.random.default_rng(seed)
    stars = rng.integers(1, 6, (clients, items)) * (rng.random((clients, items)) < 0.3)
    stars[:, 0] = np.maximum(stars[:, 0], 1)
    return fm.FacilityLocation(stars, **options)


def methods() -> dict[str, fm.Federated]:
    return {
        repr(method): method
        for method in (
            fm.Auto(cohort=8, jury=30),
            fm.Auto(cohort=8, jury=30, by_scale=True),
            fm.Auto(cohort=8, jury=10, juries=3, polish=0),
            fm.Auto(cohort=8, jury=10, juries=3),
            fm.Auto(juries=2),
            fm.Auto(cohort=8, rounds=2),
            fm.Auto(cohort=8, rounds=1),
            fm.Auto(),
            fm.FedCG(4, cohort=8),
            fm.FedCG(4),
            fm.FedCG(4, cohort=8, jury=10, juries=3),
            fm.FedCG(4, cohort=8, answer="gradient"),
            fm.FedCG(4, cohort=8, answer="votes"),
            fm.FedCG(4, cohort=8, answer="base"),
            fm.FedCG(4, cohort=8, shortlist=6),
            fm.FedCGPlus(6, 3, cohort=8),
            fm.FedCGPlus(4, 2, cohort=8, samples=5),
            fm.DiscreteGreedy(expected_answers=10),
            fm.DiscreteGreedy(expected_answers=10, importance="uniform"),
            fm.DiscreteGreedy(expected_answers=10, importance="shortlist"),
            fm.DiscreteGreedy(expected_answers=10, importance="paper", sample="fixed"),
            fm.DiscreteGreedy(epsilon=0.5, batch=2),
            fm.AdaptiveSequencing(2, cohort=8),
            fm.AdaptiveSequencing(2, cohort=8, jury=10, juries=3, polish=0),
            fm.AdaptiveSequencing(),
            fm.AdaptiveSequencing(2, cohort=8, shortlist=6),
            fm.FederatedFrankWolfe(4, cohort=8),
            fm.RandGreeDi(3),
        )
    }


def matroids(n: int) -> dict[str, fm.Matroid]:
    """One of each kind over 12 items."""
    groups = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    return {
        "uniform": fm.Uniform(n, 3),
        "partition": fm.Partition(groups, 1),
        "laminar": fm.Laminar(n, [(range(6), 2), (range(12), 3)]),
        "graphic": fm.Graphic(
            [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4), (0, 4), (1, 3), (4, 5), (5, 0), (5, 2), (1, 5)]
        ),
        "transversal": fm.Transversal(n, [range(0, 5), range(3, 9), range(8, 12)]),
        "linear": fm.Linear(np.random.default_rng(0).integers(0, 5, (3, n)), field=5),
        "truncation": fm.Truncation(fm.Partition(groups, 2), 4),
        "free": fm.Free(n),
    }


def count_residues(modulus: int, chosen: frozenset[int]) -> float:
    return float(len({item % modulus for item in chosen}))


def objectives() -> dict[str, fm.Objective]:
    rng = np.random.default_rng(9)
    liked = rng.random((60, 12)) < 0.3
    liked[:, 0] = True
    tables = [rng.integers(0, 3, (20, 6)) for _ in range(12)]
    return {
        "coverage": fm.Coverage(liked.astype(float)),
        "probabilistic": fm.ProbabilisticCoverage(liked * rng.random((60, 12))),
        "concave": fm.ConcaveOverModular(liked * rng.random((60, 12)), "sqrt"),
        "logdet": fm.LogDet([rng.normal(size=(12, 3)) for _ in range(12)], 0.5),
        "information": fm.Information(tables, [table[:, 0] % 2 for table in tables]),
        "functions": fm.Functions([partial(count_residues, modulus) for modulus in range(2, 12)], 12),
        "known most": ratings(4, most=5),
    }


Case = Callable[[Path], fm.Result]


def cases() -> Iterator[tuple[str, Case]]:
    """Every run, by name."""
    weighted = ratings(1, weights=np.random.default_rng(0).integers(1, 4, 60))
    alike = ratings(2)

    def run(objective: fm.Objective, matroid: fm.Matroid, method: Any, **engine: Any) -> Case:
        return lambda path: fm.solve(
            objective, matroid, method, engine=fm.Simulation(objective, **engine), seed=5, transcript=path
        )

    for name, method in methods().items():
        yield f"weighted, {name}", run(weighted, matroids(12)["partition"], method)
        yield f"alike, {name}", run(alike, fm.Uniform(12, 3), method, dropout=0.1)
    for name, matroid in matroids(12).items():
        for method in (fm.FedCG(3, cohort=10, polish=1), fm.FedCG(2, cohort=10, answer="base"), fm.Auto(cohort=10)):
            yield f"{name}, {method!r}", run(alike, matroid, method)
    for name, objective in objectives().items():
        for method in (
            fm.FedCG(2),
            fm.FedCG(2, answer="votes"),
            fm.FedCGPlus(2, 2),
            fm.DiscreteGreedy(epsilon=0.5),
            fm.Auto(cohort=6),
        ):
            yield f"{name}, {method!r}", run(objective, fm.Uniform(objective.n_items, 2), method)
    terms = secagg.Policy(fewest=3, dropout=0.3)
    few = ratings(3, clients=16)
    for method in (
        fm.FedCG(2, cohort=12),
        fm.FedCG(2, cohort=12, answer="votes"),
        fm.FedCG(2, cohort=12, answer="base"),
        fm.DiscreteGreedy(expected_answers=12),
        fm.RandGreeDi(6),
        fm.Auto(cohort=12),
    ):
        for gone in ({}, {"dropout": 0.1, "late": 0.05}):
            yield (
                f"real, {method!r}, {gone}",
                run(few, fm.Uniform(12, 2), method, secure="real", policy=terms, **gone),
            )


def read_sums(path: Path) -> list[list[Any]]:
    """Every sum of a transcript: what for, a hash of the numbers, how many were in it, and who."""
    with sqlite3.connect(path) as database:
        rows = database.execute(f"select {COLUMNS} from rounds order by number").fetchall()
    database.close()
    return [
        [label, digest(zlib.decompress(total)), *numbers, digest(zlib.decompress(present)) if present else ""]
        for label, total, *numbers, present in rows
    ]


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def shorten(document: Any) -> Any:
    """Numbers to 12 digits. Sums are whole numbers and the same everywhere; the last bits of what a server computes
    from them may depend on how a system's own library computes a logarithm.
    """
    if isinstance(document, dict):
        return {name: shorten(part) for name, part in document.items()}
    if isinstance(document, list | tuple):
        return [shorten(part) for part in document]
    return float(f"{document:.12g}") if isinstance(document, float) else document


def describe(result: fm.Result) -> dict[str, Any]:
    """What a result says in numbers: not how long it took, and not its sentences."""
    document = json.loads(result.to_json())
    kept = (
        *("method", "n_items", "selected", "value", "upper_bound", "seed", "order", "gains", "fractional"),
        *("estimate", "smallest_difference", "ratio"),
    )
    rounds = [(r.label, r.asked, r.answered, r.value, r.voluntary) for r in result.rounds or ()]
    promise = None
    if result.guarantee is not None:
        promise = [result.guarantee.promised, [term.value for term in result.guarantee.terms]]
    return {**{name: document[name] for name in kept}, "rounds": rounds, "promise": promise}


def carry_out(case: Case) -> dict[str, Any]:
    """One run as it is written down: its sums, and a hash of what its result says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        result = case(path)
        document = json.dumps(shorten(describe(result)), sort_keys=True)
        ups = [one.up for one in result.rounds or ()]
        return {
            "sums": read_sums(path),
            "result": digest(document.encode()),
            "selected": list(result.selected),
            "up": ups,
        }


def write_runs(word: str = "") -> str:
    lines = (f"{json.dumps(name)}: {json.dumps(carry_out(case))}" for name, case in cases() if word in name)
    return "{" + ",\n".join(lines) + "}\n"


if __name__ == "__main__":
    if sys.argv[1:]:
        print(write_runs(sys.argv[1]))
    else:
        WRITTEN.write_text(write_runs())
