"""A Dask cluster on this machine against threads in one process, on the same stored clients; and a population of a
billion entries, on workers that are too small for it.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import folkmoot as fm
from benchmarks.instances import HERE, crowd
from benchmarks.table import Floor, show
from folkmoot.conversation.engine import Engine
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.foundation.coins import PublicCoins
from folkmoot.questions import Gradient

ITEMS, RATED, PART = 10_000, 100, 1_000_000  # clients that are in memory at a time when files are made
SIZES = {10**7: 2.0, 10**8: 1.3}  # entries, and how much longer two workers may take than two threads
TURNS = 9
BILLION, MEMORY = 10**9, "4GB"


@contextmanager
def start_workers(memory: str | int) -> Iterator[Any]:
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=memory,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def ask_everybody(engine: Engine) -> Ask:
    x = np.full(ITEMS, 0.001)
    question = Gradient(x=x, whole=8.0, single=8.0, bits=20, stochastic=False, coins=PublicCoins(1))
    return Ask(question, engine.population.everyone, Purpose.SEARCH, "everybody's gradient", 0)


def measure_time(engine: Engine, ask: Ask) -> float:
    start = perf_counter()
    engine(ask)
    return perf_counter() - start


def write_clients(path: Path, count: int, seed: int = 0) -> None:
    parts = (crowd(min(PART, count - at), ITEMS, RATED, seed + at) for at in range(0, count, PART))
    fm.store.save_parts(path, fm.FacilityLocation, parts)


def compare(client: Any, folder: Path, entries: int) -> tuple[float, float]:
    """Median seconds of a round over everybody: two threads, two workers; in turns."""
    path = folder / f"{entries}.npz"
    write_clients(path, entries // RATED)
    threads, workers = fm.Simulation(fm.store.load(path), "plain", threads=2), fm.DaskCluster(client, path)
    ask = ask_everybody(threads)
    assert threads(ask).equals(workers(ask))
    turns = [[measure_time(engine, ask) for engine in (threads, workers)] for _ in range(TURNS)]
    path.unlink()
    alone, together = np.median(turns, axis=0).tolist()
    return alone, together


def run_billion(folder: Path) -> dict[str, float]:
    """Ten files of 10^8 entries each; what both workers together may hold is about a quarter of that."""
    files = [folder / f"{at}.npz" for at in range(10)]
    start = perf_counter()
    for at, path in enumerate(files):
        write_clients(path, BILLION // RATED // 10, seed=100 * at)
    made = perf_counter() - start
    with start_workers(MEMORY) as client:
        engine = fm.DaskCluster(client, files)
        ask = ask_everybody(engine)
        start = perf_counter()
        said = engine(ask)
        seconds = perf_counter() - start
    expected = np.zeros_like(said.total)
    for path in files:
        alone = fm.Simulation(fm.store.load(path), "plain")
        expected = expected + alone(ask_everybody(alone)).total
    size = sum(path.stat().st_size for path in files) / 1e9
    right = float(np.array_equal(said.total, expected))
    return {"making the files, s": made, "files, GB": size, "one round, s": seconds, "the sum is right": right}


def main() -> list[Floor]:
    floors, rows = [], []
    with TemporaryDirectory(dir=HERE) as room:
        with start_workers(0) as client:
            for entries, most in SIZES.items():
                alone, together = compare(client, Path(room), entries)
                rows.append([f"{entries:,}", f"{alone:.3f}", f"{together:.3f}", f"{together / alone:.2f}"])
                what = f"a cluster, {entries:.0e} entries: two workers / two threads"
                floors.append(Floor(what, together / alone, at_most=most))
        show("Everybody's gradient, median seconds", ["entries", "two threads", "two workers", "ratio"], rows)
        found = run_billion(Path(room))
    show(
        f"{BILLION:,} entries in ten files, two workers of {MEMORY}",
        ["", "measured"],
        [[name, f"{value:.4g}"] for name, value in found.items()],
    )
    return [*floors, Floor("a billion entries on a cluster: the sum is right", found["the sum is right"], at_least=1)]
