"""Choose 20 films for everyone from a ratings file: `python examples/films.py ratings.csv`.

The file has a header and the columns user, film, rating, as MovieLens' ratings.csv has. Each user is as
happy as the best chosen film makes them.
"""

import csv
import sys

import numpy as np
from scipy import sparse

import folkmoot as fm


def read(path: str) -> tuple[list[str], list[str], list[float]]:
    """Users, films and ratings, or one sentence that says which line is wrong."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    if not rows:
        raise ValueError(f"{path}: holds no ratings below its header")
    for number, row in enumerate(rows, start=2):
        try:
            float(row[2])
        except (IndexError, ValueError):
            raise ValueError(f"{path}: line {number} is not user,film,rating") from None
    return [row[0] for row in rows], [row[1] for row in rows], [float(row[2]) for row in rows]


def main(path: str) -> None:
    rated_by, rated, stars = read(path)
    users, user = np.unique(rated_by, return_inverse=True)
    films, film = np.unique(rated, return_inverse=True)
    ratings = sparse.coo_array((np.array(stars), (user, film)))
    objective = fm.FacilityLocation(ratings, item_names=films, client_names=users)
    print(fm.solve(objective, 20), end="\n\n")
    for method in (fm.ContinuousGreedy(20), fm.Popularity(), fm.RandomSet()):
        print("\n".join(str(fm.solve(objective, 20, method)).splitlines()[:2]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: python examples/films.py RATINGS.csv", file=sys.stderr)
        sys.exit(2)
    try:
        main(sys.argv[1])
    except (OSError, ValueError) as error:  # folkmoot's InputError is a ValueError
        print(error, file=sys.stderr)
        sys.exit(2)
