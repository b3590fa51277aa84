"""What liars cost the honest: what these get, as a ratio to central greedy on the honest clients alone.

Liars run the software as it is and lie about what things are worth to them. They are added to the honest clients, and
so are K decoys, which no honest client wants. They claim as much as they can, which is `most` where that is public and
10^12 where nothing is. Of these strategies the worst is shown:

    random  as many items as an honest client has, and values at random
    all     all decoys, each liar for itself: the most that one client can do to popularity
    spread  one decoy each, all K of them
    few     one decoy each, only so many of them as do the most harm to central greedy: liars know everything
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

import folkmoot as fm
from benchmarks.families import read_movielens_small
from benchmarks.instances import Matrix, Missing, crowd, favourites
from benchmarks.table import Floor, show
from folkmoot.algorithms.central import Method
from folkmoot.algorithms.federated.method import Federated
from folkmoot.foundation.sets import Array

K, HUGE, SEED = 20, 1e12, 0
SHARES = {"one": 0.0, "1%": 0.01, "5%": 0.05, "20%": 0.2}  # of all clients
LOST = {"one": 0.01, "1%": 0.015, "5%": 0.09, "20%": 0.35}  # at most, with a public range or a clip that is low enough
BEYOND = 0.01  # and so far beyond what is proven for the best choice, since no method always finds that


@dataclass(frozen=True)
class Moot:
    """Honest clients, what everybody knows no value exceeds, and what central greedy finds for them alone."""

    name: str
    honest: Matrix  # the last K items are the decoys
    most: float
    greedy: float

    @classmethod
    def of(cls, name: str, matrix: Matrix, most: float) -> "Moot":
        honest = sparse.csr_array(sparse.hstack([matrix, sparse.csr_array((matrix.shape[0], K))]))
        return cls(name, honest, most, fm.solve(fm.FacilityLocation(honest, keep_empty=True), K, fm.Greedy()).value)

    def measure(self, lies: Array, method: Method | Federated, most: float | None = None) -> float:
        """What the honest get where everybody is asked, as a share of what central greedy finds for them alone."""
        everybody = sparse.vstack([self.honest, sparse.csr_array(lies)])
        asked = fm.FacilityLocation(everybody, keep_empty=True, most=most)
        chosen = np.array(fm.solve(asked, K, method, seed=SEED, progress=False).selected)
        return float(self.honest[:, chosen].max(axis=1).sum()) / self.honest.shape[0] / self.greedy

    def deal(self, liars: int, decoys: int) -> Array:
        """Each liar claims one of so many decoys."""
        lies = np.zeros((liars, self.honest.shape[1]))
        lies[np.arange(liars), self.honest.shape[1] - K + np.arange(liars) % decoys] = self.most
        return lies

    def list_strategies(self, liars: int) -> dict[str, Array]:
        """The claims of each strategy, from 0 to `most`."""
        rng, (clients, items) = np.random.default_rng(liars), self.honest.shape
        there = rng.random((liars, items)) < self.honest.nnz / clients / items
        few = min(range(1, K + 1), key=lambda decoys: self.measure(self.deal(liars, decoys), fm.Greedy()))
        return {
            "random": there * rng.uniform(0.0, self.most, (liars, items)),
            "all": self.most * (np.arange(items) >= items - K) * np.ones((liars, 1)),
            "spread": self.deal(liars, K),
            "few": self.deal(liars, few),
        }


WAYS: dict[str, tuple[Method | Federated, bool]] = {  # the method, and whether a range is public
    "range": (fm.Auto(), True),
    "range, popularity": (fm.Popularity(), True),
    "clip 0.75": (fm.Auto(clip=0.75), False),
    "clip 0.9": (fm.Auto(clip=0.9), False),
    "nothing": (fm.Auto(), False),
}
KEPT = ("range", "clip 0.75")  # these must hold up


def list_moots() -> Iterator[Moot]:
    try:
        yield Moot.of("MovieLens small", read_movielens_small(), 5.0)
    except Missing as reason:
        print(reason)
    yield Moot.of("crowd", crowd(5_000, 1_000, 20), 5.0)
    yield Moot.of("favourites", favourites(), 1.0)


def find_worst(moot: Moot, liars: int) -> dict[str, tuple[float, str]]:
    """For each way what is left with the worst strategy, and which that is."""
    lies, found = moot.list_strategies(liars), {}
    for way, (method, known) in WAYS.items():
        most, factor = (moot.most, 1.0) if known else (None, HUGE / moot.most)
        found[way] = min((moot.measure(factor * claims, method, most), name) for name, claims in lies.items())
    return found


def main() -> list[Floor]:
    floors, rows = [], []
    for moot in list_moots():
        for said, share in SHARES.items():
            clients = moot.honest.shape[0]
            liars = max(1, round(clients * share / (1 - share)))
            found, proven = find_worst(moot, liars), liars / clients * moot.most / moot.greedy
            cells = (f"{left:.3f} {name}" for left, name in found.values())
            rows.append([f"{moot.name}, {said}", *cells, f"{max(1 - proven, 0):.3f}"])
            title = f"{moot.name}, liars: {said}"
            floors += [Floor(f"{title}; {way}: lost", 1 - found[way][0], at_most=LOST[said]) for way in KEPT]
            beyond = 1 - found["range"][0] - proven
            floors.append(Floor(f"{title}; range: lost beyond what is proven", beyond, at_most=BEYOND))
    title = "What the honest get with the worst liars, as a ratio to central greedy without liars"
    show(title, ["", *WAYS, "range, proven"], rows)
    return floors
