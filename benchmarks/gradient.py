"""The exact gradient of MovieLens 1M facility location, beside one read of the data it is computed from."""

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import folkmoot as fm
from benchmarks.instances import Matrix, Missing, movielens_1m, ratings
from benchmarks.table import Floor, show
from folkmoot.foundation.kernels import kernel, run_on_threads

COPIES = 128


@kernel
def total(words: NDArray[np.uint64]) -> int:
    """Read every byte once, eight at a time, in a loop that runs wide."""
    found = np.uint64(0)
    for at in range(len(words)):
        found += words[at]
    return int(found)


def read(words: NDArray[np.uint64]) -> None:
    """Two halves, a thread each."""
    halves = np.array_split(words, 2)
    run_on_threads(lambda lo, hi: [total(half) for half in halves[lo:hi]], [(0, 1), (1, 2)])


def fastest(work: Callable[[], object], repeats: int = 60) -> float:
    work()
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return float(np.min(seconds))


def words_of(arrays: Iterable[NDArray[Any]]) -> NDArray[np.uint64]:
    """All the bytes of an objective, as one array."""
    raw = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return np.frombuffer(raw[: len(raw) // 8 * 8], dtype=np.uint64)


def measured(matrix: Matrix) -> tuple[int, float, float, float]:
    """Bytes of the objective; seconds to read them from cache and from memory, and for the gradient."""
    objective = fm.FacilityLocation(matrix)
    data = words_of(objective.layout)
    many = np.tile(data, COPIES)  # larger than any cache, so that a read of it comes from memory
    x = np.zeros(objective.n_items)
    x[np.random.default_rng(0).choice(objective.n_items, 200, replace=False)] = 0.1
    memory = fastest(lambda: read(many), 15) / COPIES
    return data.nbytes, fastest(lambda: total(data)), memory, fastest(lambda: objective.mean_gradient(x))


def main() -> list[Floor]:
    floors, rows = [], []
    try:
        cases = [("MovieLens 1M", movielens_1m()[0])]
    except Missing as reason:
        print(reason)
        cases = []
    cases.append(("(a)", ratings()))
    for name, matrix in cases:
        size, cached, memory, gradient = measured(matrix)
        seconds = [f"{1e3 * s:.3f}" for s in (cached, memory, gradient)]
        rows.append([name, f"{size / 1e6:.1f}", *seconds, f"{gradient / cached:.0f}", f"{gradient / memory:.1f}"])
        floors.append(Floor(f"{name}: exact gradient / one read from memory, 2 threads", gradient / memory, at_most=25))
    show(
        "Full exact gradient of facility location",
        ["", "MB", "read from cache, ms", "from memory, ms", "gradient, ms", "/ cache", "/ memory"],
        rows,
    )
    return floors
