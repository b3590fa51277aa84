"""The demo's files: the towns of Italy, and 100,000 people who live around them, drawn from a seed.

Towns, positions and populations are from GeoNames (www.geonames.org), CC BY 4.0; scripts/places.py made the extract.
Homes are drawn at random: first a town in proportion to its population, then a place around it.
"""

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars

from folkmoot.foundation.sets import Array

CREDIT = (
    "Towns, positions and populations: GeoNames (www.geonames.org), CC BY 4.0. Homes are drawn at random around them."
)
SPREAD = 6.0  # km: the standard deviation of homes around the middle of their town
KM_PER_DEGREE = 111.2
DECIMALS = 5  # of a degree: about a metre


def places() -> polars.DataFrame:
    """The towns, largest first."""
    with files("folkmoot.demo").joinpath("places.csv").open("rb") as file:
        return polars.read_csv(file)


def homes(towns: polars.DataFrame, people: int, seed: int) -> Array:
    """Latitude and longitude of everyone's home."""
    rng = np.random.default_rng(seed)
    shares = towns["population"].to_numpy() / towns["population"].sum()
    town = rng.choice(len(towns), people, p=shares)
    middle = towns.select("latitude", "longitude").to_numpy()[town]
    away = rng.normal(0.0, SPREAD / KM_PER_DEGREE, (people, 2))
    away[:, 1] /= np.cos(np.radians(middle[:, 0]))
    return np.round(middle + away, DECIMALS)


def write_files(folder: Path, people: int, seed: int) -> tuple[Path, Path]:
    """Write the people and the places to files that `folkmoot run` can read; returns their paths."""
    towns = places()
    positions = homes(towns, people, seed)
    home, place = folder / "people.csv", folder / "places.csv"
    polars.DataFrame({"latitude": positions[:, 0], "longitude": positions[:, 1]}).write_csv(home)
    towns.write_csv(place)
    return home, place
