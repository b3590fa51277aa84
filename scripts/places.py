"""Make the extract of GeoNames that the demo carries: the towns of Italy, with region, position and population.

A place within 6 km of a larger one is a part of it, and left out.

`python scripts/places.py CITIES15000.csv.xz` writes src/folkmoot/demo/places.csv. The source has the columns geonameid,
name, country, admin1, lat, lon, population (GeoNames' cities15000, licence CC BY 4.0).
"""

import csv
import lzma
import sys
from math import asin, cos, radians, sin, sqrt
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "folkmoot" / "demo" / "places.csv"
REGIONS = {
    **{"01": "Abruzzo", "02": "Basilicata", "03": "Calabria", "04": "Campania", "05": "Emilia-Romagna"},
    **{"06": "Friuli Venezia Giulia", "07": "Lazio", "08": "Liguria", "09": "Lombardy", "10": "Marche"},
    **{"11": "Molise", "12": "Piedmont", "13": "Apulia", "14": "Sardinia", "15": "Sicily", "16": "Tuscany"},
    **{"17": "Trentino-Alto Adige", "18": "Umbria", "19": "Aosta Valley", "20": "Veneto"},
}
APART, RADIUS = 6.0, 6371.0088  # km


def distance(one: dict[str, str], other: dict[str, str]) -> float:
    """In km, on a sphere."""
    south, west, north, east = (radians(float(row[name])) for row in (one, other) for name in ("lat", "lon"))
    half = sin((north - south) / 2) ** 2 + cos(south) * cos(north) * sin((east - west) / 2) ** 2
    return 2 * RADIUS * asin(sqrt(half))


def main(source: str) -> None:
    with lzma.open(source, "rt", encoding="utf-8", newline="") as file:
        towns = [row for row in csv.DictReader(file) if row["country"] == "IT"]
    towns.sort(key=lambda row: (-int(row["population"]), int(row["geonameid"])))
    kept: list[dict[str, str]] = []
    for town in towns:
        if int(town["population"]) > 0 and all(distance(town, other) > APART for other in kept):
            kept.append(town)
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["place", "name", "region", "latitude", "longitude", "population"])
        for row in kept:
            where = (f"{float(row['lat']):.4f}", f"{float(row['lon']):.4f}")
            writer.writerow([row["geonameid"], row["name"], REGIONS[row["admin1"]], *where, row["population"]])
    print(f"{TARGET}: {len(kept)} of {len(towns)} places")


if __name__ == "__main__":
    main(sys.argv[1])
