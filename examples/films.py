"""Choose 20 films for everyone from a ratings file: `python examples/films.py ratings.csv`.

The file has a header and the columns user, film, rating, as MovieLens' ratings.csv has. Each user is as
happy as the best chosen film makes them.
"""

import csv
import sys

import numpy as np
from scipy import sparse

import folkmoot as fm


def main(path: str) -> None:
    with open(path, newline="") as file:
        rows = [row[:3] for row in list(csv.reader(file))[1:]]
    users, user = np.unique([row[0] for row in rows], return_inverse=True)
    films, film = np.unique([row[1] for row in rows], return_inverse=True)
    ratings = sparse.csr_array((np.array([float(row[2]) for row in rows]), (user, film)))
    objective = fm.FacilityLocation(ratings, item_names=films, client_names=users)
    print(fm.solve(objective, 20), end="\n\n")
    for method in (fm.ContinuousGreedy(20), fm.Popularity(), fm.RandomSet()):
        print("\n".join(str(fm.solve(objective, 20, method)).splitlines()[:2]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/films.py RATINGS.csv")
    main(sys.argv[1])
