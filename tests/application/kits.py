"""Kits of five parties with ratings of films, as `federation init` and `join` leave them."""

from pathlib import Path

from folkmoot.application.federation.agreement import FILE, Agreement
from folkmoot.application.federation.membership import write_data
from folkmoot.application.folder import hash_file
from folkmoot.foundation.settings import Data
from tests.engines.certificates import PARTIES, write_kit

FILMS = 8
RATINGS = Data(file="", kind="ratings", items="films.csv", items_id="movieId", name="title", most=5.0)


def write_films(path: Path, films: int = FILMS) -> str:
    """The digest of the items file."""
    lines = [f"{film},Film {film}" for film in range(films)]
    path.write_text("\n".join(["movieId,title", *lines]) + "\n")
    return hash_file(path)


def write_ratings(path: Path, number: int, users: int = 4, extra: str = "") -> None:
    own = range(100 * number, 100 * number + users)
    lines = [f"{user},{film},{1 + (user + film) % 5}" for user in own for film in range(user % 3, FILMS, 2)]
    path.write_text("\n".join(["userId,movieId,rating", *lines, *([extra] if extra else [])]) + "\n")


def make_agreement(folder: Path, data: Data = RATINGS) -> Agreement:
    return Agreement.plan("films", PARTIES, data, write_films(folder / "films.csv"))


def make_party_kit(folder: Path, name: str, data: Data = RATINGS) -> Path:
    kit = write_kit(folder / name, name)
    agreement = make_agreement(kit, data)
    (kit / FILE).write_text(agreement.to_toml())
    write_ratings(folder / f"{name}.csv", PARTIES.index(name))
    write_data(kit, {"file": folder / f"{name}.csv"})
    return kit
