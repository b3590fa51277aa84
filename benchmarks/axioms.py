"""How long the quick look at a constraint takes, what it finds of constraints that are no matroids; false alarms."""

from time import process_time

import numpy as np

import folkmoot as fm
from benchmarks.table import Floor, show
from folkmoot.matroids.axioms import find_broken
from folkmoot.matroids.matroid import QUICKLY
from tests.matroids.kinds import Independent, at_most
from tests.matroids.test_broken import BREAKERS, ITEMS, MATROIDS

SEEDS = range(1_000, 1_100)  # others than those of the tests


def crossing_and_few(rng: np.random.Generator) -> Independent:
    """At most 3 in each of two groups that have two items in common, and at most 8 in all: nearly all sets of 8 fit."""
    order = rng.permutation(ITEMS)
    return at_most([(set(order[:10].tolist()), 3), (set(order[8:18].tolist()), 3), (set(range(ITEMS)), 8)])


def predecessors(rng: np.random.Generator) -> Independent:
    """Four items need another one each; at most 6 in all."""
    needs = dict(zip(*np.split(rng.permutation(ITEMS)[:8], 2), strict=True))
    return lambda s: len(s) <= 6 and all(needs[one] in s for one in s if one in needs)


HARD = [crossing_and_few, predecessors]


def main() -> list[Floor]:
    found = {}
    for breaker in [*BREAKERS, *HARD]:
        oracles = (fm.Oracle(ITEMS, breaker(np.random.default_rng(seed))) for seed in SEEDS)
        found[breaker.__name__] = 100 * float(np.mean([find_broken(one, QUICKLY) != "" for one in oracles]))
    alarms = sum(find_broken(fm.Oracle(n, truth), QUICKLY) != "" for n, truth in MATROIDS.values())
    times = []
    for limit in range(5, 10):
        start = process_time()
        fm.Oracle(ITEMS, lambda chosen, limit=limit: len(chosen) <= limit).refuse_broken()  # type: ignore[misc]
        times.append(1e3 * (process_time() - start))
    show(f"Found, of {len(SEEDS)} instances with {ITEMS} items", ["", "%"], [[k, f"{v:.0f}"] for k, v in found.items()])
    return [
        Floor("least share found, usual constraints", min(list(found.values())[:-2]), 90, None, "axioms.found", "%"),
        *(
            Floor(f"found of {one.__name__}", found[one.__name__], name=f"axioms.{one.__name__}", unit="%")
            for one in HARD
        ),
        Floor("matroids refused", alarms, at_most=0),
        Floor(f"a quick look, {ITEMS} items", float(np.median(times)), None, 50, "axioms.time", "ms of CPU time"),
    ]
