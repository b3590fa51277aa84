"""A first look: where should six clinics stand, so that a town of 30,000 households has one near, if nobody tells
us where they live?

`python -m folkmoot.demo` makes a small town and chooses by sums alone, 300 households a round. What a planner who
sees every address would choose is shown beside it. The town is drawn from a fixed seed: four districts of
different size, sites spread over them, at most two clinics a district.
"""

import numpy as np
from rich.console import Console
from rich.table import Table

from folkmoot import (
    ContinuousGreedy,
    DiscreteGreedy,
    FacilityLocation,
    FedCG,
    FedCGPlus,
    Greedy,
    Method,
    Partition,
    Popularity,
    RandomSet,
    Result,
    Truncation,
    solve,
)
from folkmoot.algorithms import Federated

HOUSEHOLDS, SITES, CLINICS, REACH = 30_000, 80, 6, 2.0  # reach in km: a clinic further away is of no use
DISTRICTS = {"Harbour": (2.0, 2.0), "Market": (5.0, 5.5), "Hill": (8.0, 2.5), "Mill": (7.5, 8.0)}
SHARES = (0.2, 0.45, 0.15, 0.2)


def town(seed: int = 0) -> tuple[FacilityLocation, Truncation]:
    """Benefit of a site to a household: 1 at the door, falling to 0 at the edge of its reach."""
    rng = np.random.default_rng(seed)
    names, centres = list(DISTRICTS), np.array(list(DISTRICTS.values()))
    homes = centres[rng.choice(len(names), HOUSEHOLDS, p=SHARES)] + rng.normal(0, 1.3, (HOUSEHOLDS, 2))
    district = rng.integers(0, len(names), SITES)
    sites = centres[district] + rng.normal(0, 1.5, (SITES, 2))
    distance = np.linalg.norm(homes[:, None, :] - sites[None, :, :], axis=2)
    benefits = np.maximum(0.0, 1.0 - distance / REACH)
    labels = [f"{names[d]} {at}" for at, d in enumerate(district)]
    objective = FacilityLocation(benefits, keep_empty=True, item_names=labels)
    return objective, Truncation(Partition([names[d] for d in district], 2), CLINICS)


METHODS: dict[str, dict[str, Method | Federated]] = {
    "asking for sums": {
        "FedCG (the default)": FedCG(cohort=300),
        "FedCG, unpolished": FedCG(cohort=300, polish=0),
        "Algorithm 1, unpolished": FedCG(cohort=300, answer="base", polish=0),
        "Algorithm 2, unpolished": FedCGPlus(cohort=300, polish=0),
        "Algorithm 3, unpolished": DiscreteGreedy(expected_answers=300, polish=0),
    },
    "seeing every address": {
        "greedy": Greedy(),
        "continuous greedy": ContinuousGreedy(100),
        "the most popular sites": Popularity(),
        "any sites": RandomSet(),
    },
}


def main() -> None:
    console = Console(width=min(Console().width, 110))
    objective, matroid = town()
    console.print(
        f"\n[bold]Where should {matroid.rank} clinics stand?[/bold]\n"
        f"{objective.n_clients:,} households, {objective.n_items} sites, at most two clinics a district.\n"
        "A household gains 1 from a clinic next door and 0 from two kilometres on. Nobody tells where they live.\n"
    )
    with console.status("choosing (the first time kernels are compiled, for half a minute) …"):
        for methods in METHODS.values():  # once to compile, so that the table shows the time of choosing
            for method in methods.values():
                solve(objective, matroid, method, progress=False)
        results = {
            how: {name: solve(objective, matroid, method, progress=False) for name, method in methods.items()}
            for how, methods in METHODS.items()
        }
    chosen = results["asking for sums"]["FedCG (the default)"]
    console.print(comparison(results))
    console.print(
        "\nAlgorithms 1 to 3 are the paper's. Polishing swaps single sites, by sums again; it would help them too.\n"
    )
    console.print(conversation(chosen))
    estimate = chosen.estimate
    assert estimate is not None
    console.print(
        f"From these sums alone: the choice is worth {estimate.value:.4f} "
        f"({estimate.low:.4f} to {estimate.high:.4f} at {estimate.confidence:.0%}),\n"
        f"no choice is worth more than {estimate.bound_high:.4f}, "
        f"so it is at least {100 * estimate.ratio:.1f} % of the best possible.\n"
    )
    for name, share in zip(chosen.names or (), nearest(objective, chosen), strict=True):
        console.print(f"  {name:<12} the nearest clinic of {100 * share:4.1f} % of the households", highlight=False)
    console.print()


def nearest(objective: FacilityLocation, result: Result) -> list[float]:
    """The share of the households that each chosen site serves best."""
    gains = objective.gains(()).tocsc()[:, list(result.selected)].toarray()
    served = gains.max(axis=1) > 0
    counts = np.bincount(gains[served].argmax(axis=1), minlength=len(result.selected))
    return [float(count) / len(gains) for count in counts]


def comparison(results: dict[str, dict[str, Result]]) -> Table:
    """Each method's value over all households, and its share of the best value found."""
    table = Table(title="Mean benefit of a household", title_justify="left")
    table.add_column("method")
    for name in ("value", "of the best found", "seconds"):
        table.add_column(name, justify="right")
    top = max(result.value for group in results.values() for result in group.values())
    for how, group in results.items():
        table.add_section()
        table.add_row(how, style="italic")
        for name, result in group.items():
            style = "bold green" if result.value > 0.999 * top else None
            share, took = f"{100 * result.value / top:.1f} %", f"{result.seconds:.3f}"
            table.add_row(f"  {name}", f"{result.value:.4f}", share, took, style=style)
    return table


def conversation(result: Result) -> Table:
    """Everything the server asked and learnt."""
    table = Table(title=f"All that the server heard: {len(result.rounds or ())} sums", title_justify="left")
    for name in ("round", "households", "bytes down", "bytes up", "value, as the sums say"):
        table.add_column(name, justify="left" if name == "round" else "right")
    for one in result.rounds or ():
        said = "" if one.value is None else f"{one.value:.4f}"
        table.add_row(one.label, f"{one.answered:,}", f"{one.down:,}", f"{one.up:,}", said)
    return table


if __name__ == "__main__":
    main()
