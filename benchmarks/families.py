"""Families of instances on which a default must hold up: tastes that differ, in many ways.

A family makes an instance from a seed. Each has a reason to be here, which its docstring states; the last three were
made to break the default. Settings are tuned on instances and runs of the seeds 1000 and above, and reported on 0 to
11.
"""

import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import folkmoot as fm
from benchmarks.instances import Matrix, data_file, heavy
from folkmoot.demo import homes, places
from folkmoot.foundation.sets import Array

K = 20
CLIENTS = 20_000
EARTH = 6371.0  # km


class Instance(NamedTuple):
    name: str
    objective: fm.Objective
    matroid: fm.Matroid


@dataclass(frozen=True)
class Family:
    """A name, and what makes an instance of it from a seed; raises `Missing` where its data is not here."""

    name: str
    make: Callable[[int], tuple[fm.Objective, fm.Matroid]]
    drawn: bool = True  # whether the seed makes a difference

    def __call__(self, seed: int) -> Instance:
        return Instance(self.name, *self.make(seed))


def best_of(benefits: Any, k: int = K, **options: Any) -> tuple[fm.Objective, fm.Matroid]:
    return fm.FacilityLocation(benefits, keep_empty=True, **options), fm.Uniform(benefits.shape[1], k)


def demo(seed: int, people: int = 10_000) -> tuple[fm.Objective, fm.Matroid]:
    """Homes around the towns of Italy, 12 of 445 towns: neighbouring towns are near substitutes."""
    towns = places()
    here, there = (
        on_sphere(degrees) for degrees in (homes(towns, people, seed), towns["latitude", "longitude"].to_numpy())
    )
    blocks = []
    for some in np.array_split(here, max(people // 10_000, 1)):
        away = 2 * EARTH * np.arcsin(np.minimum(np.sqrt(np.maximum(2 - 2 * some @ there.T, 0)) / 2, 1.0))
        blocks.append(sparse.csr_array(np.maximum(1 - away / 100.0, 0.0)))
    return best_of(sparse.csr_array(sparse.vstack(blocks)), 12)


def full_demo(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """The demo with its 100,000 people."""
    return demo(seed, 100_000)


def on_sphere(degrees: Array) -> Array:
    latitude, longitude = np.radians(degrees).T
    return np.stack(
        (np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)), axis=1
    )


def plane(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """400 sites in the unit square, each useful up to 0.15 away: near substitutes everywhere, nothing popular."""
    rng = np.random.default_rng(seed)
    here, there = rng.random((10_000, 2)), rng.random((400, 2))
    away = np.hypot(*(here[:, None, axis] - there[None, :, axis] for axis in range(2)))
    return best_of(sparse.csr_array(np.maximum(1 - away / 0.15, 0.0)))


def heavy_clients(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """5 % of the clients have values 100 times as large, and other tastes: samples that miss them see nothing."""
    return best_of(heavy(seed, CLIENTS))


def clusters(rng: np.random.Generator, n_items: int = 400, count: int = 40) -> Array:
    """Clusters of tastes with Zipf sizes: each likes 15 items of its own, and everybody a few at random."""
    sizes = 1 / np.arange(1, count + 1)
    mine = rng.choice(count, CLIENTS, p=sizes / sizes.sum())
    worth = np.zeros((count, n_items))
    for one in worth:
        one[rng.choice(n_items, 15, replace=False)] = rng.uniform(0.3, 1.0, 15)
    knows = rng.random((CLIENTS, n_items)) < 0.6
    stray = np.where(rng.random((CLIENTS, n_items)) < 0.01, rng.uniform(0.0, 0.5, (CLIENTS, n_items)), 0.0)
    liked: Array = np.maximum(worth[mine] * knows * rng.uniform(0.5, 1.0, (CLIENTS, n_items)), stray)
    return liked


def lognormal(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """Clusters of tastes; clients' values are scaled by exp(2·normal), so that a few carry the sum."""
    rng = np.random.default_rng(seed)
    liked = clusters(rng)
    return best_of(liked * np.exp(2 * rng.normal(size=(CLIENTS, 1))))


def pareto_weights(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """The same clusters; clients weigh 1 + Pareto(1.1), so that a few weigh most."""
    rng = np.random.default_rng(seed)
    liked = clusters(rng)
    return best_of(liked, weights=1 + rng.pareto(1.1, CLIENTS))


def decoys(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """30 % of the clients like all of 300 near-duplicates, the rest one of 40 niches with 5 items: popularity, and any
    shortlist made of it, sees duplicates alone.
    """
    rng = np.random.default_rng(seed)
    benefits = np.zeros((CLIENTS, 300 + 40 * 5))
    crowd = rng.random(CLIENTS) < 0.3
    benefits[crowd, :300] = rng.uniform(0.9, 1.0, (crowd.sum(), 300))
    niche = 300 + 5 * rng.integers(0, 40, CLIENTS)[:, None] + np.arange(5)
    rest = np.flatnonzero(~crowd)
    benefits[rest[:, None], niche[rest]] = rng.uniform(0.5, 1.0, (len(rest), 5))
    return best_of(benefits)


def planted(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """20 disjoint sets that cover everybody among 280 random ones that are 15 % larger: size misleads."""
    rng = np.random.default_rng(seed)
    size = CLIENTS // K
    member = np.zeros((CLIENTS, 300), dtype=bool)
    member[rng.permutation(CLIENTS), np.repeat(np.arange(K), size)] = True
    for item in range(K, 300):
        member[rng.choice(CLIENTS, round(1.15 * size), replace=False), item] = True
    member = member[:, rng.permutation(300)]
    return fm.Coverage(member.astype(float), keep_empty=True), fm.Uniform(300, K)


def opposed(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """Two camps, 60/40, of opposite tastes: what one likes best the other likes least. Everybody knows a tenth of
    300.
    """
    rng = np.random.default_rng(seed)
    taste = rng.permutation(np.linspace(0.0, 1.0, 300))
    first = rng.random(CLIENTS) < 0.6
    worth = np.where(first[:, None], taste, 1 - taste) ** 2 * rng.uniform(0.5, 1.0, (CLIENTS, 300))
    return best_of(worth * (rng.random((CLIENTS, 300)) < 0.1))


def tight(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """25 groups of 20 items with one place each; the popular items are in three groups."""
    rng = np.random.default_rng(seed)
    appeal = rng.uniform(0.01, 0.06, 500)
    appeal[:60] = rng.uniform(0.1, 0.4, 60)
    knows = rng.random((CLIENTS, 500)) < appeal
    objective, _ = best_of(knows * rng.integers(1, 6, (CLIENTS, 500)).astype(float))
    return objective, fm.Partition(np.repeat(np.arange(25), 20), 1)


def msweb(_: int) -> tuple[fm.Objective, fm.Matroid]:
    """Which areas of a web site 32,711 visitors saw (Breese, Heckerman and Kadie 1998): 20 that most saw one of."""
    rows: list[int] = []
    columns: list[int] = []
    client = -1
    for part in ("data", "test"):
        with gzip.open(data_file("msweb", f"anonymous-msweb.{part}.gz"), "rt", encoding="latin-1") as lines:
            for line in lines:
                if line[0] == "C":
                    client += 1
                elif line[0] == "V":
                    rows.append(client)
                    columns.append(int(line.split(",")[1]))
    areas, columns_ = np.unique(columns, return_inverse=True)
    seen = sparse.csr_array((np.ones(len(rows)), (rows, columns_)), shape=(client + 1, len(areas)))
    return fm.Coverage(seen, keep_empty=True), fm.Uniform(len(areas), K)


def read_movielens_small() -> Matrix:
    """610 users and 9,724 films, in stars (Harper and Konstan 2015)."""
    path = data_file("movielens-latest-small", "2018-09_ratings.csv.xz")
    with lzma.open(path, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=(0, 1, 2))
    users, films = (np.unique(table[:, column], return_inverse=True)[1] for column in range(2))
    return sparse.csr_array((table[:, 2], (users, films)))


def movielens_small(_: int) -> tuple[fm.Objective, fm.Matroid]:
    """610 users and 9,724 films (Harper and Konstan 2015): few clients, many items."""
    return best_of(read_movielens_small())


def heavy_duplicates(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """60 clusters of 8 near-duplicates; 2 % of the clients have values 50 times as large, each with one cluster: which
    clusters count is known to few, and within a cluster all items look alike.
    """
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 60, (CLIENTS, 3))
    benefits = np.zeros((CLIENTS, 60, 8))
    who = np.arange(CLIENTS)[:, None]
    benefits[who, cluster] = rng.uniform(0.85, 1.0, (CLIENTS, 3, 8)) * rng.uniform(0.3, 1.0, (CLIENTS, 3, 1))
    rich = rng.random(CLIENTS) < 0.02
    benefits[rich] = 0.0
    own = rng.integers(0, 60, rich.sum())
    benefits[np.flatnonzero(rich), own] = 50 * rng.uniform(0.85, 1.0, (rich.sum(), 8))
    return best_of(benefits.reshape(CLIENTS, -1))


def hidden(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """10 groups with two places each, 40 items a group. Everybody likes the blockbusters of the first two groups, and
    one item in each other group a little: what those are worth shows only when the blockbusters are in.
    """
    rng = np.random.default_rng(seed)
    benefits = np.zeros((CLIENTS, 10, 40))
    benefits[:, :2] = rng.uniform(0.4, 0.6, (CLIENTS, 2, 40)) * (rng.random((CLIENTS, 2, 40)) < 0.5)
    chances = 1 / np.arange(1, 41)
    for group in range(2, 10):
        liked = rng.permutation(40)[rng.choice(40, CLIENTS, p=chances / chances.sum())]
        benefits[np.arange(CLIENTS), group, liked] = rng.uniform(0.5, 0.8, CLIENTS)
    objective, _ = best_of(benefits.reshape(CLIENTS, -1))
    return objective, fm.Partition(np.repeat(np.arange(10), 40), 2)


def nearly_equal(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """400 random sets of about 4 % of the clients each: all nearly equal in worth, and only large samples tell."""
    rng = np.random.default_rng(seed)
    member = rng.random((CLIENTS, 400)) < 0.04
    return fm.Coverage(member.astype(float), keep_empty=True), fm.Uniform(400, K)


def scatter(rng: np.random.Generator, clients: int, n_items: int, counts: Any, chances: Any) -> Matrix:
    """Likes without repeats: so many draws for each client, items in proportion to their chances."""
    rows = np.repeat(np.arange(clients), counts)
    items = rng.permutation(n_items)[rng.choice(n_items, len(rows), p=chances / chances.sum())]
    liked = sparse.csr_array(sparse.coo_array((np.ones(len(rows)), (rows, items)), shape=(clients, n_items)))
    liked.data[:] = 1.0
    return liked


def sparse_likes(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """800 clients like four of 10,400 items each: the most popular item has a dozen fans."""
    rng = np.random.default_rng(seed)
    liked = scatter(rng, 800, 10_400, rng.poisson(4, 800).clip(1), (np.arange(10_400) + 5.0) ** -0.5)
    return fm.Coverage(liked, keep_empty=True), fm.Uniform(10_400, K)


def rare_values(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """Each of 4,000 items is liked by 0.2 % of the clients, and some items are worth much more than others."""
    rng = np.random.default_rng(seed)
    counts = rng.binomial(CLIENTS, rng.gamma(2.0, 0.001, 4_000).clip(0, 1))
    items, value = np.repeat(np.arange(4_000), counts), rng.lognormal(0.0, 1.0, 4_000)
    places = rng.integers(0, CLIENTS, len(items)), items
    return best_of(sparse.csr_array(sparse.coo_array((value[items], places), shape=(CLIENTS, 4_000))))


def few_books(seed: int, k: int = K) -> tuple[fm.Objective, fm.Matroid]:
    """60,000 books and 20,000 readers with heavy tails: most readers have one book, most books one reader."""
    rng = np.random.default_rng(seed)
    counts = rng.zipf(1.75, CLIENTS).clip(1, 3_000)
    read = scatter(rng, CLIENTS, 60_000, counts, (np.arange(60_000) + 5.0) ** -0.9)
    return fm.Coverage(read, keep_empty=True), fm.Uniform(60_000, k)


def many_books(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """The same, 100 of them."""
    return few_books(seed, 100)


def sparse_clusters(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """5,000 clients in 60 clusters of 200 items, a fifth of their likes anywhere: the most popular items please the
    same people.
    """
    rng = np.random.default_rng(seed)
    sizes, appeal = 1 / np.arange(1, 61), 1 / (np.arange(200) + 3.0)
    mine, counts = rng.choice(60, 5_000, p=sizes / sizes.sum()), rng.poisson(15, 5_000).clip(1)
    rows = np.repeat(np.arange(5_000), counts)
    items = mine[rows] * 200 + rng.choice(200, len(rows), p=appeal / appeal.sum())
    items = np.where(rng.random(len(rows)) < 0.2, rng.integers(0, 12_000, len(rows)), items)
    liked = sparse.csr_array(sparse.coo_array((np.ones(len(rows)), (rows, items)), shape=(5_000, 12_000)))
    return fm.Coverage(liked > 0, keep_empty=True), fm.Uniform(12_000, K)


def sparse_decoys(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """A quarter of 4,000 clients like half of 200 near-duplicates, the others one of 60 niches and rare items: who
    starts from popularity and stays there reaches half.
    """
    rng = np.random.default_rng(seed)
    member = np.zeros((4_000, 3_000), dtype=bool)
    crowd = rng.random(4_000) < 0.25
    member[:, :200] = crowd[:, None] & (rng.random((4_000, 200)) < 0.5)
    rest = np.flatnonzero(~crowd)
    member[rest, 200 + rng.integers(0, 60, len(rest))] = True
    member[rest[:, None], rng.integers(260, 3_000, (len(rest), 8))] = True
    return fm.Coverage(sparse.csr_array(member), keep_empty=True), fm.Uniform(3_000, K)


def weighted_likes(seed: int) -> tuple[fm.Objective, fm.Matroid]:
    """5,000 clients of unequal weight like fifteen of 6,000 items each."""
    rng = np.random.default_rng(seed)
    liked = scatter(rng, 5_000, 6_000, rng.poisson(15, 5_000).clip(1), (np.arange(6_000) + 5.0) ** -0.7)
    return fm.Coverage(liked, keep_empty=True, weights=1 + rng.pareto(1.5, 5_000)), fm.Uniform(6_000, K)


FAMILIES = (
    Family("demo", demo),
    Family("plane", plane),
    Family("heavy", heavy_clients),
    Family("lognormal", lognormal),
    Family("Pareto weights", pareto_weights),
    Family("decoys", decoys),
    Family("planted", planted),
    Family("opposed", opposed),
    Family("tight", tight),
    Family("msweb", msweb, drawn=False),
    Family("MovieLens small", movielens_small, drawn=False),
)
BREAKERS = (
    Family("heavy duplicates", heavy_duplicates),
    Family("hidden worth", hidden),
    Family("nearly equal", nearly_equal),
)
SPARSE = {  # least mean ratios to greedy, and to popularity by everyone, with cohorts of 100 and a jury of 200
    Family("800 clients, 10,400 items", sparse_likes): (0.97, 0.98),
    Family("rare, of unequal worth", rare_values): (0.95, 0.95),
    Family("20 of 60,000 books", few_books): (0.98, 0.98),
    Family("100 of 60,000 books", many_books): (0.97, 0.98),
    Family("sparse clusters", sparse_clusters): (0.97, 0.98),
    Family("sparse decoys", sparse_decoys): (0.94, 0.98),
    Family("weighted likes", weighted_likes): (0.97, 0.98),
}
FULL_DEMO = Family("full demo", full_demo)
