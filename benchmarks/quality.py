"""How good federated answers are, beside central greedy and popularity, on five instances.

Settings were tuned on seeds 1000 to 1010; what is shown here comes from seeds 0 to 11, which no tuning has seen.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import folkmoot as fm
from benchmarks.instances import Missing, favourites, first_genres, five_stars, heavy, movielens_1m
from benchmarks.table import Floor, show
from folkmoot.algorithms.federated.method import Federated

K = 20
SEEDS = range(12)
DRAWS = 100  # of pipage, whose mean is shown
NAMES = ("ML-1M facility", "ML-1M coverage", "one a genre", "favourites", "heavy")
PROMISED = {  # at cohorts of 100 and of 1,000
    "ML-1M facility": (0.993, 0.998),
    "ML-1M coverage": (0.986, 0.995),
    "one a genre": (0.998, 0.9995),
    "favourites": (0.999, 0.999),
    "heavy": (0.996, 0.998),
}
GUARANTEED = 0.985  # the mean over pipage draws, ML-1M facility, cohorts of 100
TIES = 1e-9  # the same set, summed in another order

# The answers as they were before any of this was written: top of x / mean pipage, 10 rounds of 100 clients, by the
# names above. What can be compared with them:
# - The top of x on the three MovieLens columns: ties play no part there. Whether equal gains fall to the first item,
#   the last or by coins moves it by at most 0.004 either way.
# - Not mean pipage of base and FedCG+: clients name only items that gain (but for "whole": bases as printed, filled up
#   by coins), so x can sum to half the rank, and popularity fills the gap. Before, clients with nothing to gain named
#   the first items (on base that alone moves coverage from .91 to .79 and genres from .91 to .85).
# - Not favourites, where all own items are alike: how many clients the top of x serves is decided by ties alone,
#   for popularity too.
# - Not heavy, which is another generator.
BEFORE = {
    "popularity": (".988", ".976", ".996", "1.00", ".865"),
    "base": (".985/.915", ".974/.781", ".990/.832", ".11/.09", ".15/.26"),
    "FedCG+ τ=5": (".985/.865", ".976/.733", ".989/.817", ".11/.09", ".15/.29"),
    "quantized, 1 bit": (".986/.964", ".981/.947", ".993/.973", "1.0/.82", ".961/.918"),
    "votes": (".990/.956", ".985/.945", ".982/.947", "1.0/.84", ".994/.963"),
    "gradient": (".993/.981", ".987/.961", ".998/.988", "1.0/.83", ".994/.968"),
    "discrete greedy, uniform": (".983", ".967", ".982", "1.0", ".969"),
}
PLAIN = fm.FedCG(rounds=10, cohort=100, memory=0.0, roundings=0, polish=0)  # the top of x and nothing more
ANSWERS: dict[str, Federated] = {
    "base": replace(PLAIN, answer="base"),
    "FedCG+ τ=5": fm.FedCGPlus(rounds=50, local_steps=5, cohort=100, roundings=0, polish=0),
    "base, whole": replace(PLAIN, answer="base", whole_bases=True),
    "FedCG+ τ=5, whole": fm.FedCGPlus(50, 5, cohort=100, whole_bases=True, roundings=0, polish=0),
    "quantized, 1 bit": replace(PLAIN, bits=1),
    "votes": replace(PLAIN, answer="votes"),
    "gradient": replace(PLAIN, answer="gradient"),
    "quantized, memory": replace(PLAIN, memory=fm.FedCG().memory),  # the default, before roundings and polish
    "Frank–Wolfe": fm.FederatedFrankWolfe(rounds=10, cohort=100, roundings=0, polish=0),
    "discrete greedy, uniform": fm.DiscreteGreedy(expected_answers=100, importance="uniform", polish=0),
    "discrete greedy, paper": fm.DiscreteGreedy(expected_answers=100, importance="paper", polish=0),
    "discrete greedy, shortlist": fm.DiscreteGreedy(expected_answers=100, importance="shortlist", polish=0),
}
HELD = ("base", "FedCG+ τ=5")  # as in the paper: within NEAR of before
NEAR = 0.02


@dataclass(frozen=True)
class Instance:
    name: str
    objective: fm.Objective
    matroid: fm.Matroid
    greedy: float
    popularity: float  # of greedy

    @classmethod
    def of(cls, name: str, objective: fm.Objective, matroid: fm.Matroid) -> "Instance":
        greedy = fm.solve(objective, matroid, fm.Greedy()).value
        return cls(name, objective, matroid, greedy, fm.solve(objective, matroid, fm.Popularity()).value / greedy)

    def runs(self, method: Federated) -> list[fm.Result]:
        return [fm.solve(self.objective, self.matroid, method, seed=seed, progress=False) for seed in SEEDS]

    def ratios(self, results: list[fm.Result]) -> "Mean":
        return Mean.of([result.value / self.greedy for result in results])

    def pipage(self, results: list[fm.Result]) -> "Mean | None":
        """The mean over many roundings of each x, gaps filled by popularity."""
        alone = self.objective.mean_gains(())
        means = []
        for result in results:
            if result.fractional is None:
                return None
            sets = fm.rounding.pipage(self.matroid, result.fractional, draws=DRAWS, seed=result.seed, fill=alone)
            means.append(self.objective.mean_values(sets).mean() / self.greedy)
        return Mean.of(means)


@dataclass(frozen=True)
class Mean:
    """Over seeds, with its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: list[float]) -> "Mean":
        return cls(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.error:.4f}"


def instances() -> Iterator[Instance]:
    try:
        stars, names = movielens_1m()
        films = fm.FacilityLocation(stars)
        loved = fm.Coverage(five_stars(stars), keep_empty=True)
        yield Instance.of(NAMES[0], films, fm.Uniform(films.n_items, K))
        yield Instance.of(NAMES[1], loved, fm.Uniform(films.n_items, K))
        yield Instance.of(NAMES[2], films, fm.Partition(first_genres(names), 1))
    except Missing as reason:
        print(reason)
    for name, matrix in zip(NAMES[3:], (favourites(), heavy()), strict=True):
        yield Instance.of(name, fm.FacilityLocation(matrix), fm.Uniform(matrix.shape[1], K))


def by_default(given: list[Instance]) -> list[Floor]:
    """The default method, 10 rounds of 100 and of 1,000 clients."""
    floors, rows = [], []
    for instance in given:
        cells = []
        for at, cohort in enumerate((100, 1_000)):
            results = instance.runs(fm.FedCG(rounds=10, cohort=cohort))
            found = instance.ratios(results)
            floor = max(PROMISED[instance.name][at], instance.popularity)
            floors.append(Floor(f"{instance.name}, cohort {cohort}: ratio to greedy", found.mean, at_least=floor))
            cells += [str(found), f"{np.mean([result.seconds for result in results]):.2f}"]
        floors.append(
            Floor(f"{instance.name}, cohort 1000: no worse than greedy", found.mean + TIES, at_least=1.0),
        )
        rows.append([instance.name, f"{instance.popularity:.4f}", *cells, f"rank {instance.matroid.rank}"])
    columns = ["", "popularity", "10 × 100", "s", "10 × 1,000", "s", ""]
    show("FedCG(rounds=10, cohort=…), ratio to central greedy ± s.e., 12 seeds", columns, rows)
    return floors


def by_answer(given: list[Instance]) -> list[Floor]:
    """Every answer a client may give, without roundings and polish; beside it, how it came out before."""
    floors, rows = [], [["popularity", *(f"{i.popularity:.3f} ({before('popularity', i)})" for i in given)]]
    for name, method in ANSWERS.items():
        cells = []
        for instance in given:
            results = instance.runs(method)
            top, pipage = instance.ratios(results), instance.pipage(results)
            known = before(name, instance)
            cell = f"{top.mean:.3f}" + (f"/{pipage.mean:.3f}" if pipage else "")
            cells.append(f"{cell} ({known})" if known else cell)
            if name in HELD and instance.name in NAMES[:3]:
                off = abs(top.mean - float(known.split("/")[0]))
                floors.append(Floor(f"{instance.name}, {name}: distance from before", off, at_most=NEAR))
            if name == "quantized, memory" and instance.name == NAMES[0] and pipage:
                floors.append(Floor(f"{instance.name}: mean over pipage draws", pipage.mean, at_least=GUARANTEED))
        rows.append([name, *cells])
    show(
        "Answers, 10 rounds of 100 clients: top of x / mean pipage (before)",
        ["", *(instance.name for instance in given)],
        rows,
    )
    return floors


def before(answer: str, instance: Instance) -> str:
    return BEFORE[answer][NAMES.index(instance.name)] if answer in BEFORE else ""


def main() -> list[Floor]:
    given = list(instances())
    return by_default(given) + by_answer(given)
