"""What people try first with a tool that was just installed: a run of each kind, on small files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

CLIENTS, ITEMS = 120, 40
FIRST_RUNS = {
    "ratings": "run ratings.csv --choose 3",
    "memberships": "run memberships.csv --choose 3",
    "places": "run people.csv --items places.csv --kind places --reach 50 --choose 3",
    "tables": "run table.csv --kind tables --target y --client site --choose 2",
    "noise": "run ratings.csv --choose 3 --epsilon 4 --most 5",
    "comparison": "compare ratings.csv --choose 3",
}


def write_files(folder: Path) -> None:
    """The files that the runs are about."""
    rng = np.random.default_rng(0)
    pairs = [(client, item) for client in range(CLIENTS) for item in rng.choice(ITEMS, 8, replace=False)]
    homes, places = np.split((45 + rng.random((CLIENTS + ITEMS, 2))).round(4), [CLIENTS])
    for name, head, rows in (
        ("ratings", "user,film,rating", [(f"u{c}", f"f{e}", rng.integers(1, 6)) for c, e in pairs]),
        ("memberships", "user,film", [(f"u{c}", f"f{e}") for c, e in pairs]),
        ("people", "latitude,longitude", homes),
        ("places", "place,latitude,longitude", [(f"p{k}", *place) for k, place in enumerate(places)]),
        ("table", "site,a,b,c,y", [(f"s{k % 6}", *rng.integers(0, 3, 4)) for k in range(300)]),
    ):
        write_table(folder / f"{name}.csv", head, rows)


def write_table(path: Path, head: str, rows: Iterable[Iterable[Any]]) -> None:
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
