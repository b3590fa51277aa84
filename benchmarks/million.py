"""One million clients with 100 items each: a whole run, everybody's gradient, and the loop one would write first."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import folkmoot as fm
from benchmarks.gradient import fastest, read, words_of
from benchmarks.instances import HERE, crowd
from benchmarks.memory import peak
from benchmarks.table import Floor, show
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array
from folkmoot.questions import Gradient

CLIENTS, ITEMS, RATED, K = 1_000_000, 10_000, 100, 20
TURNS = 15
READS = 20  # timed together: about as long as a gradient, so that neither is interrupted more than the other
SLICE, SAMPLES = 8, 100  # clients for the obvious loop, and its samples an item


def obvious(rows: Array, x: Array, seed: int = 0) -> tuple[Array, Array]:
    """For client, for item, for sample: two np.amax. The mean of f(R + e) − f(R − e), and its variance.

    With every help: a client's row is dense already, and holds nothing but the items the client rated.
    """
    rng = np.random.default_rng(seed)
    mean, variance = np.zeros(rows.shape), np.zeros(rows.shape)
    for client, (row, chances) in enumerate(zip(rows, x, strict=True)):
        for item in range(len(row)):
            found = np.empty(SAMPLES)
            for sample in range(SAMPLES):
                members = rng.random(len(row)) < chances
                members[item] = True
                with_it = np.amax(row[members], initial=0.0)
                members[item] = False
                found[sample] = with_it - np.amax(row[members], initial=0.0)
            mean[client, item], variance[client, item] = found.mean(), found.var(ddof=1) / SAMPLES
    return mean, variance


def everybody(engine: fm.Simulation, x: Array, bits: int, stochastic: bool) -> Callable[[], object]:
    """Asks for the sum of everybody's gradient."""
    question = Gradient(x=x, whole=8.0, single=8.0, bits=bits, stochastic=stochastic, coins=PublicCoins(1))
    ask = Ask(question, engine.population.everyone, Purpose.SEARCH, "everybody's gradient", 0)
    return lambda: engine(ask)


def read_often(data: NDArray[np.uint64]) -> None:
    for _ in range(READS):
        read(data)


def measure() -> dict[str, float]:
    """Everything, in a process of its own."""
    out: dict[str, float] = {}
    start = perf_counter()
    matrix = crowd(CLIENTS, ITEMS, RATED)
    out["making the data, s"] = perf_counter() - start
    few = matrix[:SLICE]
    start = perf_counter()
    objective = fm.FacilityLocation(matrix)
    out["building, s"] = perf_counter() - start
    del matrix
    start = perf_counter()
    result = fm.solve(objective, K, fm.Auto(cohort=1_000), progress=False)
    out["whole run, s"] = perf_counter() - start
    out["peak, GB"] = peak() / 1e9
    greedy = fm.solve(objective, K, fm.Greedy()).value
    out["value / greedy"] = result.value / greedy
    out["popularity / greedy"] = fm.solve(objective, K, fm.Popularity()).value / greedy

    x = fm.solve(objective, K, fm.FedCG(rounds=10, cohort=1_000, polish=0, jury=1_000), progress=False).fractional
    assert x is not None
    data = words_of(objective.layout)  # far larger than any cache
    out["data, MB"] = data.nbytes / 1e6
    engine = fm.Simulation(objective)
    works: dict[str, Callable[[], object]] = {
        "twenty reads, s": partial(read_often, data),
        "gradient, fixed point, s": everybody(engine, x, 20, stochastic=False),
        "gradient, 4 bits, s": everybody(engine, x, 4, stochastic=True),
    }
    turns = [{name: fastest(work, 2) for name, work in works.items()} for _ in range(TURNS)]
    for name in works:
        out[name] = float(np.median([turn[name] for turn in turns]))
    for name in list(works)[1:]:  # turn by turn: both saw the same weather
        ratio = np.median([READS * turn[name] / turn["twenty reads, s"] for turn in turns])
        out[name.replace(", s", " / one read")] = float(ratio)

    items = few.indices.reshape(SLICE, RATED)
    start = perf_counter()
    mean, variance = obvious(few.data.reshape(SLICE, RATED).astype(np.float64), x[items])
    out["loop, clients/s"] = SLICE / (perf_counter() - start)
    exact = np.take_along_axis(objective[:SLICE].gradients(x).toarray(), items, axis=1)
    out["ours, clients/s"] = CLIENTS / out["gradient, fixed point, s"]
    out["distance / sampling error"] = float(np.sqrt(((mean - exact) ** 2).sum() / variance.sum()))
    return out


def main() -> list[Floor]:
    command = [sys.executable, "-m", "benchmarks.million"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    show(
        f"{CLIENTS:,} clients × {RATED} of {ITEMS:,} items, k = {K}, Auto(cohort=1000)",
        ["", "measured"],
        [[name, f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"] for name, value in found.items()],
    )
    return [
        Floor("a million clients: whole run, seconds", found["whole run, s"], at_most=60),
        Floor("a million clients: peak memory, GB", found["peak, GB"], at_most=6),
        Floor("a million clients: ratio to greedy", found["value / greedy"], at_least=0.998),
        Floor("everybody's gradient / one read", found["gradient, fixed point / one read"], at_most=25),
        Floor("everybody's gradient in 4 bits / one read", found["gradient, 4 bits / one read"], at_most=25),
        Floor("clients a second, ours / the loop", found["ours, clients/s"] / found["loop, clients/s"], at_least=1e4),
        Floor("the loop's gradient: distance / sampling error", found["distance / sampling error"], at_most=1.3),
    ]


if __name__ == "__main__":
    print(json.dumps(measure()))
