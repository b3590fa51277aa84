"""Discrete greedy needs no more answers for more clients: 1,000 expected answers a round, from 10^4 to 10^6 clients."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

import folkmoot as fm
from benchmarks.instances import HERE, crowd
from benchmarks.table import Floor, show

Importance = Literal["paper", "uniform", "shortlist"]

K = 20
CLIENTS = (10_000, 100_000, 1_000_000)
ANSWERS = 1_000  # expected, a round
SEEDS = range(12)
PROMISED = 0.99
FALL = 0.01  # the algorithm alone may be this much worse at 10^6 than at 10^4
FIGURE = HERE / "docs" / "figures" / "independence.svg"


@dataclass(frozen=True)
class Point:
    clients: int
    importance: Importance
    polished: bool
    ratio: float  # to central greedy
    error: float
    answers: float  # a round, as they came
    popularity: float
    seconds: float


def measured(clients: int) -> list[Point]:
    """Every kind of importance, the algorithm alone and with what all methods do at the end."""
    objective = fm.FacilityLocation(crowd(clients, n_items=2_000, per_client=20))
    greedy = fm.solve(objective, K, fm.Greedy()).value
    popularity = fm.solve(objective, K, fm.Popularity()).value / greedy
    points = []
    for importance in get_args(Importance):
        for polish in (0, fm.DiscreteGreedy().polish):
            method = fm.DiscreteGreedy(expected_answers=ANSWERS, importance=importance, polish=polish)
            results = [fm.solve(objective, K, method, seed=seed, progress=False) for seed in SEEDS]
            ratios = [result.value / greedy for result in results]
            answers = [
                one.answered for result in results for one in result.rounds or () if one.label.startswith("item")
            ]
            points.append(
                Point(
                    clients,
                    importance,
                    polish > 0,
                    float(np.mean(ratios)),
                    float(np.std(ratios, ddof=1) / np.sqrt(len(ratios))),
                    float(np.mean(answers)),
                    popularity,
                    float(np.mean([result.seconds for result in results])),
                )
            )
    return points


def draw(points: list[Point]) -> None:
    """The plot: a line a kind of importance, over the number of clients."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "folkmoot"  # the same numbers give the same file
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    colours = dict(zip(get_args(Importance), ("#b2452f", "#2f6fb2", "#3a8f4d"), strict=True))
    for polished in (True, False):
        for importance, colour in colours.items():
            line = [point for point in points if (point.importance, point.polished) == (importance, polished)]
            axes.errorbar(
                [point.clients for point in line],
                [point.ratio for point in line],
                [point.error for point in line],
                color=colour,
                linestyle="-" if polished else "--",
                marker="o",
                markersize=4,
                capsize=3,
                label=importance + ("" if polished else ", before polishing"),
            )
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set(
        xscale="log",
        xlabel="clients",
        ylabel="value / central greedy",
        ylim=(0.95, 1.005),
        title=f"Discrete greedy, {ANSWERS:,} expected answers a round (polishing: a jury of {40 * ANSWERS:,})",
    )
    axes.legend(fontsize="small", ncols=2, loc="lower right")
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> list[Floor]:
    points = [point for clients in CLIENTS for point in measured(clients)]
    rows = [
        [
            f"{p.clients:,}",
            p.importance,
            "with polish" if p.polished else "alone",
            f"{p.ratio:.4f} ± {p.error:.4f}",
            f"{p.answers:,.0f}",
            f"{p.popularity:.3f}",
            f"{p.seconds:.2f}",
        ]
        for p in points
    ]
    columns = ["clients", "importance", "", "/ greedy", "answers a round", "popularity", "seconds"]
    show(f"Discrete greedy, k = {K}, {ANSWERS:,} expected answers a round, {len(SEEDS)} seeds", columns, rows)
    draw(points)
    floors = [
        Floor(f"discrete greedy, {p.importance}, {p.clients:,} clients: ratio to greedy", p.ratio, at_least=PROMISED)
        for p in points
        if p.polished
    ]
    alone = {(p.importance, p.clients): p.ratio for p in points if not p.polished}
    for importance in get_args(Importance):
        fall = alone[importance, CLIENTS[0]] - alone[importance, CLIENTS[-1]]
        floors.append(Floor(f"{importance} alone: lost from 10^4 to 10^6 clients", fall, at_most=FALL))
    return floors
