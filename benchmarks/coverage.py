"""How often what results say of themselves is true: intervals, bounds and ratios at a stated 95 %, on every tail.

A claim is a proof for values with a range, so it holds at least as often as it says, whatever the population; what
a proof costs is width, and that is shown beside the normal approximation, which fails on all but light tails.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np

import folkmoot as fm
from benchmarks.instances import crowd
from benchmarks.table import Floor, show
from folkmoot.foundation.sets import Array
from folkmoot.theory.confidence import Grid, mean_interval

SEEDS = 400
CLIENTS, ITEMS, K = 5_000, 30, 3
JURIES = (100, 400)
COVERED = 0.94
WIDEST = 1.5  # times the normal interval, light tails, a jury of 4,000
LIGHT: dict[str, Callable[[np.random.Generator, int], Array]] = {  # tails, below a range of 1
    "uniform": lambda rng, count: rng.random(count),
    "beta(2, 5)": lambda rng, count: rng.beta(2, 5, count),
    "likes of 30 %": lambda rng, count: (rng.random(count) < 0.3).astype(float),
    "likes of 5 %": lambda rng, count: (rng.random(count) < 0.05).astype(float),
}
METHOD = {"rounds": 2, "cohort": 20, "roundings": 3, "polish": 1}


@dataclass(frozen=True)
class Case:
    name: str
    objective: fm.Objective
    dropout: float = 0.0


def tastes(rng: np.random.Generator) -> Array:
    return rng.random((CLIENTS, ITEMS)) * (rng.random((CLIENTS, ITEMS)) < 0.2)


def cases() -> Iterator[Case]:
    """The reporting seed of every generator is 0."""
    heavy = np.arange(CLIENTS) < CLIENTS // 1_000
    scales: dict[str, Callable[[np.random.Generator], Array]] = {
        "light": lambda _: np.ones(CLIENTS),
        "lognormal, σ = 2": lambda rng: np.exp(2 * rng.standard_normal(CLIENTS)),
        "Pareto 1.2": lambda rng: 1 + rng.pareto(1.2, CLIENTS),
        "1 % of clients × 1,000": lambda rng: np.where(rng.random(CLIENTS) < 0.01, 1e3, 1.0),
        "0.1 % of clients × 10^5": lambda _: np.where(heavy, 1e5, 1.0),
    }
    for name, scale in scales.items():
        rng = np.random.default_rng(0)
        yield Case(name, fm.FacilityLocation(tastes(rng) * scale(rng)[:, None], keep_empty=True))
    own = tastes(np.random.default_rng(0))
    own[heavy, :-3], own[~heavy, -3:] = 0.0, 0.0
    other = fm.FacilityLocation(own * np.where(heavy, 1e5, 1.0)[:, None], keep_empty=True)
    yield Case("0.1 % × 10^5, other tastes", other)
    rng = np.random.default_rng(0)
    rare = fm.Coverage((rng.random((CLIENTS, ITEMS)) < 0.001).astype(float), keep_empty=True)
    yield Case("items liked by 0.1 %", rare)
    weighted = fm.FacilityLocation(tastes(rng), weights=1 + rng.pareto(1.1, CLIENTS), keep_empty=True)
    for dropout in (0.0, 0.1, 0.3):
        yield Case(f"Pareto 1.1 weights, {dropout:.0%} gone", weighted, dropout)


def covered(case: Case, jury: int) -> tuple[list[str], list[Floor]]:
    best = fm.solve(case.objective, K, fm.Greedy()).value  # no more than the optimum
    hits, held, true, width, ratio = [], [], [], [], []
    for seed in range(SEEDS):
        engine = fm.Simulation(case.objective, dropout=case.dropout, seed=seed)
        method = fm.FedCG(**METHOD, jury=jury)  # type: ignore[arg-type]
        result = fm.solve(case.objective, K, method, engine=engine, seed=seed, progress=False)
        e = result.estimate
        assert e is not None
        hits.append(e.low <= result.value <= e.high)
        held.append(e.bound_high >= best * (1 - 1e-9))
        true.append(e.ratio <= result.value / best + 1e-9)
        width.append((e.high - e.low) / 2 / result.value)
        ratio.append(e.ratio)
    shares = {"interval": np.mean(hits), "bound": np.mean(held), "ratio": np.mean(true)}
    floors = [
        Floor(f"{case.name}, jury {jury}: {what} holds", float(s), at_least=COVERED) for what, s in shares.items()
    ]
    cells = [case.name, str(jury), *(f"{share:.4f}" for share in shares.values())]
    return [*cells, f"{np.median(width):.3f}", f"{np.mean(ratio):.3f}", ""], floors


def light_widths() -> list[Floor]:
    """Beside the normal interval of the same sample, at a jury of 4,000 of 20,000 clients.

    In circles of taste, where the search beats popularity: an answer that the last jury changed for popularity has
    the smaller share of the confidence, and an interval of about 1.8 times the normal one.
    """
    objective = fm.FacilityLocation(crowd(20_000, 1_000, 20))
    ratios = []
    for seed in range(12):
        result = fm.solve(objective, 5, fm.FedCG(3, cohort=100), seed=seed, progress=False)
        e = result.estimate
        assert e is not None
        deviation = float(objective.values(result.selected).std())
        normal = 1.96 * deviation / sqrt(e.clients) * sqrt(1 - e.clients / objective.n_clients)
        ratios.append((e.high - e.low) / 2 / normal)
    floors = [Floor("light tails, jury 4,000: interval / normal interval", float(np.mean(ratios)), at_most=WIDEST)]
    for clients in (100, 400, 4_000):
        wide = [measure_width(draw, clients) for draw in LIGHT.values()]
        what = f"interval / normal interval, {clients:,} clients, {', '.join(LIGHT)}"
        floors.append(Floor(f"{what}: the narrowest", min(wide), name=f"interval.{clients}.narrowest"))
        floors.append(Floor(f"{what}: the widest", max(wide), name=f"interval.{clients}.widest"))
    return floors


def measure_width(draw: Callable[[np.random.Generator, int], Array], clients: int, draws: int = 8) -> float:
    """The mean width of the interval from so many values up to 1, in widths of the normal one."""
    grid, ratios = Grid(1.0), []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        values = draw(rng, clients)
        below, way = grid.neighbours(values)
        counts = np.bincount(below + (rng.random(clients) < way), minlength=len(grid.points))
        low, high = mean_interval(grid.points, counts, 1.0, population=None, alpha=0.05, key=seed)
        ratios.append((high - low) / (2 * 1.96 * values.std(ddof=1) / sqrt(clients)))
    return float(np.mean(ratios))


def main() -> list[Floor]:
    rows, floors = [], list[Floor]()
    for case in cases():
        for jury in JURIES:
            row, more = covered(case, jury)
            rows.append(row)
            floors += more
    show(
        f"Claims at 95 %, {SEEDS} seeds: how often they hold (by chance alone 0.95 ± 0.011)",
        ["", "jury", "interval", "bound", "ratio", "half-width / F", "claimed ratio", ""],
        rows,
    )
    return floors
