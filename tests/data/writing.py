"""Small files for tests, and what is in them."""

from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.data import Data, Loaded, load
from folkmoot.objectives import Objective

RATINGS = "userId,movieId,rating\n1,10,5\n2,10,3\n2,30,4\n3,20,2.5\n"
MOVIES = "movieId,title,genre\n10,Alien,horror\n20,Brazil,comedy|epic\n30,Clue,comedy\n40,Dune,epic\n"
# The same as rows × items, items sorted by their ids.
MATRIX = np.array([[5, 0, 0], [3, 0, 4], [0, 2.5, 0]])


def write(folder: Path, name: str, text: str | bytes) -> str:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return name


def loaded(folder: Path, text: str | bytes = RATINGS, called: str = "ratings.csv", **settings: Any) -> Loaded:
    return load(Data(file=write(folder, called, text), **settings), folder)


def dense(objective: Objective) -> Any:
    """What each item alone is worth to each client."""
    return objective.gains([]).toarray()
