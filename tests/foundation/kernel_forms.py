"""python -m tests.foundation.kernel_forms FOLDER: a run of each kind, then how many forms each kernel has."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.cli.app import app
from folkmoot.foundation.kernels import Kernel

CLIENTS, ITEMS = 120, 40


def main(folder: Path) -> None:
    os.chdir(folder)
    write_files()
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 # what runs print is of no interest
    for words in (
        "run ratings.csv --choose 3",
        "run memberships.csv --choose 3",
        "run people.csv --items places.csv --kind places --reach 50 --choose 3",
        "run table.csv --kind tables --target y --client site --choose 2",
        "run ratings.csv --choose 3 --epsilon 4 --most 5",
        "compare ratings.csv --choose 3",
    ):
        app(words.split(), standalone_mode=False)
    sys.stdout = sys.__stdout__
    print(json.dumps(count_forms()))


def write_files() -> None:
    rng = np.random.default_rng(0)
    pairs = [(client, item) for client in range(CLIENTS) for item in rng.choice(ITEMS, 8, replace=False)]
    spots = (45 + rng.random((CLIENTS + ITEMS, 2))).round(4).tolist()
    write("ratings.csv", "user,film,rating", ((f"u{c}", f"f{e}", rng.integers(1, 6)) for c, e in pairs))
    write("memberships.csv", "user,film", ((f"u{c}", f"f{e}") for c, e in pairs))
    write("people.csv", "latitude,longitude", spots[:CLIENTS])
    write("places.csv", "place,latitude,longitude", ((f"p{k}", *spot) for k, spot in enumerate(spots[CLIENTS:])))
    write("table.csv", "site,a,b,c,y", ((f"s{k % 6}", *rng.integers(0, 3, 4)) for k in range(300)))


def write(name: str, head: str, rows: Iterable[Iterable[Any]]) -> None:
    Path(name).write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")


def count_forms() -> dict[str, int]:
    """How many forms of each kernel there are, to be called from Python and from other kernels."""
    kernels = {
        id(one): one
        for name, module in list(sys.modules.items())
        if name.startswith("folkmoot.")
        for one in vars(module).values()
        if isinstance(one, Kernel)
    }
    made = {
        f"{one.py_func.__module__}.{one.py_func.__name__}{suffix}": len(one.__dict__[made].signatures)
        for one in kernels.values()
        for made, suffix in (("_function", ""), ("_part", ", as a part"))
        if made in one.__dict__
    }
    return {name: count for name, count in sorted(made.items()) if count}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
