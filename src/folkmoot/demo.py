"""A first look: where should six clinics stand, so that a town of 3,000 households has one near?

`python -m folkmoot.demo` makes a small town, solves it in several ways and shows the answers side by
side. The town is drawn from a fixed seed: four districts of different size, sites spread over them, at
most two clinics a district.
"""

import numpy as np
from rich.console import Console
from rich.table import Table

from folkmoot import (
    ContinuousGreedy,
    FacilityLocation,
    Greedy,
    Method,
    Partition,
    Popularity,
    RandomSet,
    Result,
    StochasticGreedy,
    Truncation,
    solve,
)

HOUSEHOLDS, SITES, CLINICS, REACH = 3000, 80, 6, 2.0  # reach in km: a clinic further away is of no use
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


def main() -> None:
    console = Console(width=min(Console().width, 100))
    objective, matroid = town()
    console.print(
        f"\n[bold]Where should {matroid.rank} clinics stand?[/bold]\n"
        f"{objective.n_clients:,} households, {objective.n_items} sites, at most two clinics a district.\n"
        "A household gains 1 from a clinic next door and 0 from two kilometres on.\n"
    )
    methods: list[Method] = [Greedy(), ContinuousGreedy(100), StochasticGreedy(), Popularity(), RandomSet()]
    with console.status("compiling kernels (once), then choosing …"):
        for method in methods:  # once to compile, so that the table shows the time of choosing
            solve(objective, matroid, method)
        results = [solve(objective, matroid, method) for method in methods]
    console.print(comparison(results))
    best = max(results, key=lambda result: result.value)
    bound = min(result.upper_bound for result in results)
    console.print(
        f"No choice of {matroid.rank} sites is worth more than {bound:.4f}: a proof, no estimate.\n"
        f"The best answer found is {best.method.split('(')[0]}'s:\n"
    )
    for name, share in zip(best.names or (), nearest(objective, best), strict=True):
        console.print(f"  {name:<12} the nearest clinic of {share:5.1%} of the households", highlight=False)
    console.print()


def nearest(objective: FacilityLocation, result: Result) -> list[float]:
    """The share of the households that each chosen site serves best."""
    gains = objective.gains(()).tocsc()[:, list(result.selected)].toarray()
    served = gains.max(axis=1) > 0
    counts = np.bincount(gains[served].argmax(axis=1), minlength=len(result.selected))
    return [float(count) / len(gains) for count in counts]


def comparison(results: list[Result]) -> Table:
    """Each method's value, and its share of the smallest upper bound that any of them proved."""
    table = Table(title="Mean benefit of a household", title_justify="left")
    table.add_column("method")
    table.add_column("value", justify="right")
    table.add_column("of the best possible", justify="right")
    table.add_column("seconds", justify="right")
    top, bound = max(result.value for result in results), min(result.upper_bound for result in results)
    for result in results:
        style = "bold green" if result.value == top else None
        share = f"at least {100 * result.value / bound:.1f} %"
        table.add_row(result.method.split("(")[0], f"{result.value:.4f}", share, f"{result.seconds:.3f}", style=style)
    return table


if __name__ == "__main__":
    main()
