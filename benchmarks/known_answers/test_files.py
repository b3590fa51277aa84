"""Real files as people have them: the folder that FOLKMOOT_DATA names."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.data import Data, Limit, constraint, load, look
from folkmoot.demo import places
from scripts import places as script

Find = Callable[[str], Path]
FILMS = "movielens-latest-small/2018-09_ratings.csv.xz", "movielens-latest-small/2018-09_movies.csv"
TRACTS = "sf-facility-spopt/SF_demand_205_centroid_uniform_weight.csv", "sf-facility-spopt/SF_store_site_16_longlat.csv"
ROADS = "sf-facility-spopt/SF_network_distance_candidateStore_16_censusTract_205_new.csv"
HEARTS = "heart-disease-4-hospitals/heart4.csv"
VISITS = "msweb/edges.npz"
CITIES = "geonames-cities/cities15000.csv.xz"


def test_films(found: Find) -> None:
    read = load(Data(file=str(found(FILMS[0])), items=str(found(FILMS[1]))))
    assert (read.kind, read.clients_called, read.items_called) == ("ratings", "users", "movies")
    assert (read.objective.n_clients, read.objective.n_items) == (610, 9742)
    assert read.items.names[0] == "Toy Story (1995)"
    assert read.objective.gains([]).nnz == 100_836
    genres = constraint(read.items, 6, [Limit(1, "genres")])
    result = fm.solve(read.objective, genres, fm.Greedy())
    groups = read.items.groups("genres")
    assert len({groups[item] for item in result.selected}) == 6
    assert "The limit counts the first alone" in read.items.remarks("genres")[0]
    liked = load(Data(file=str(found(FILMS[0])), least=5))
    assert (liked.kind, liked.objective.gains([]).nnz) == ("memberships", 13_211)


def test_census_tracts_and_stores(found: Find) -> None:
    read = load(Data(file=str(found(TRACTS[0])), items=str(found(TRACTS[1])), reach=5))
    assert (read.kind, read.objective.n_clients, read.objective.n_items) == ("places", 205, 16)
    assert "weight is POP2000" in " ".join(read.notes)
    assert read.items.names[:2] == ("Store_1", "Store_2")
    roads = load(Data(file=str(found(ROADS)), client="DestinationName", item="name", reach=5000))
    assert (roads.kind, roads.objective.n_clients, roads.objective.n_items) == ("distances", 205, 16)
    assert "weight is demand" in " ".join(roads.notes)
    # No road is shorter than the air line, whoever weighs how much.
    by_air, by_road = (fm.solve(of.objective, 4, fm.Greedy()).value for of in (read, roads))
    assert 0 < by_road < by_air < 1
    with pytest.raises(fm.InputError, match="reach=3200"):
        load(Data(file=str(found(ROADS)), client="DestinationName", item="name"))


def test_four_hospitals(found: Find) -> None:
    with pytest.raises(fm.InputError, match=r"621 rows have 1,759 missing features.*missing='category'"):
        load(Data(file=str(found(HEARTS)), target="num"))
    read = load(Data(file=str(found(HEARTS)), target="num", missing="category"))
    assert (read.kind, read.clients_called, read.items_called) == ("tables", "hospitals", "features")
    assert read.objective.client_names == ("cleveland", "hungarian", "switzerland", "va")
    assert np.allclose(read.objective.weights * 920, [303, 294, 123, 200])
    assert "cp" in (fm.solve(read.objective, 3, fm.Greedy()).names or ())  # chest pain is known to tell much
    dropped = load(Data(file=str(found(HEARTS)), target="num", missing="drop"))
    assert dropped.objective.n_items == 13


def test_visits(found: Find) -> None:
    read = load(Data(file=str(found(VISITS))))
    assert (read.kind, read.objective.n_clients, read.objective.n_items) == ("memberships", 32_711, 285)
    assert read.objective.gains([]).nnz == 98_654


def test_cities(found: Find) -> None:
    read = load(Data(file=str(found(CITIES)), items=str(found(CITIES)), reach=50))
    assert (read.kind, read.objective.n_clients) == ("places", 34_006)
    assert read.items.positions is not None
    one_a_country = constraint(read.items, 5, [Limit(1, "country")])
    chosen = fm.solve(read.objective, one_a_country, fm.Greedy()).selected
    assert len({read.items.groups("country")[item] for item in chosen}) == 5
    assert "NA" in read.items.groups("country")  # Namibia, not a missing value


def test_a_look_at_films(found: Find) -> None:
    told = look(Data(file=str(found(FILMS[0])), items=str(found(FILMS[1]))))
    assert (told.kind, told.rows, told.faults) == ("ratings", 100_836, ())
    assert told.per_client is not None
    assert told.values is not None
    assert (told.per_client.least, told.values.levels) == (20, 10)


def test_the_extract_of_the_demo_is_what_the_script_makes(
    found: Find, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = script.TARGET.read_text()
    monkeypatch.setattr(script, "TARGET", tmp_path / "places.csv")
    script.main(str(found(CITIES)))
    assert (tmp_path / "places.csv").read_text() == kept
    assert len(list(csv.DictReader(kept.splitlines()))) == len(places())
