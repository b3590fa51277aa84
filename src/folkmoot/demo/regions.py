"""The demo's people, divided among five health services, none of which may see another's patients."""

from pathlib import Path

import numpy as np
import polars

from folkmoot.demo import homes, places

SERVICES = {
    "north-west": ("Piedmont", "Aosta Valley", "Liguria", "Lombardy"),
    "north-east": ("Veneto", "Friuli Venezia Giulia", "Trentino-Alto Adige", "Emilia-Romagna"),
    "centre": ("Tuscany", "Umbria", "Marche", "Lazio"),
    "south": ("Abruzzo", "Molise", "Campania", "Apulia", "Basilicata", "Calabria"),
    "islands": ("Sicily", "Sardinia"),
}


def write_service_files(folder: Path, people: int, seed: int) -> tuple[dict[str, Path], Path]:
    """One file of homes per health service, each person at the service of the nearest town; and the public places."""
    towns = places()
    positions = homes(towns, people, seed)
    middles = towns.select("latitude", "longitude").to_numpy()
    scale = np.array([1.0, np.cos(np.radians(middles[:, 0].mean()))])
    nearest = np.concatenate(
        [
            (((part[:, None, :] - middles) * scale) ** 2).sum(axis=2).argmin(axis=1)
            for part in np.array_split(positions, max(people // 1000, 1))
        ]
    )
    region = towns["region"].to_numpy()[nearest]
    files = {}
    for service, regions in SERVICES.items():
        mine = positions[np.isin(region, regions)]
        files[service] = folder / f"{service}.csv"
        polars.DataFrame({"latitude": mine[:, 0], "longitude": mine[:, 1]}).write_csv(files[service])
    place = folder / "places.csv"
    towns.write_csv(place)
    return files, place
