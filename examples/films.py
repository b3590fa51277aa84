"""Choose 20 films for everyone from a ratings file: `python examples/films.py ratings.csv [movies.csv]`.

The first file says who rated what; the second, which is optional, has the films' names. The value of a choice to a
user is the rating of their best chosen film. The server learns sums over a hundred users at a time.
"""

import sys

import folkmoot as fm
from folkmoot.data import Data, load


def main(ratings: str, films: str | None = None) -> None:
    loaded = load(Data(file=ratings, items=films))
    print("\n".join(loaded.notes), end="\n\n")
    print(fm.solve(loaded.objective, 20, fm.FedCG(cohort=100)))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        print("usage: python examples/films.py RATINGS.csv [MOVIES.csv]", file=sys.stderr)
        sys.exit(2)
    try:
        main(*sys.argv[1:])
    except fm.InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
