"""Use every kernel of the package once, in every form it is compiled in. Prints the seconds it took.

Run with NUMBA_CACHE_DIR set to an empty folder this is the very first compile; run again, it is what a
fresh process pays to read the machine code from disk.
"""

from time import perf_counter

import numpy as np
from scipy import sparse

import folkmoot as fm


def use(objective: fm.Objective) -> None:
    x = np.full(objective.n_items, 1e-6)
    fm.solve(objective, 3)
    objective.walk([1])
    objective.values([0, 1])
    objective.gains([0])
    objective.gradients(x, samples=None if objective.closed_form else 1)
    objective.mean_gradient(x, samples=None if objective.closed_form else 1)
    objective.extension(x, samples=None if objective.closed_form else 1)


def every_family(n_items: int) -> list[fm.Objective]:
    rng = np.random.default_rng(0)
    few = sparse.csr_array(
        (rng.random(30), np.tile(np.array([0, 1, 2, 5, 7]), 6), np.arange(0, 31, 5)), shape=(6, n_items)
    )
    levels = few.copy()
    levels.data = np.ceil(levels.data * 3)
    return [
        fm.FacilityLocation(levels),
        fm.FacilityLocation(few),
        fm.Coverage(few > 0),
        fm.ProbabilisticCoverage(few),
        fm.ConcaveOverModular(few),
    ]


def main() -> None:
    start = perf_counter()
    for n_items in (10, 70_000):  # item numbers of two bytes, and of four
        for objective in every_family(n_items):
            use(objective)
    use(fm.Information([np.random.default_rng(0).integers(0, 2, (9, 5))], 0))
    try:
        fm.FacilityLocation([[1.0, 2.0], [1.0, -1.0]])  # the slow look that finds what is wrong
    except fm.InputError:
        print(perf_counter() - start)


if __name__ == "__main__":
    main()
