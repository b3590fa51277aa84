"""Small files in the shapes of real ones: columns that nobody explained, weights, gaps, codes that look like gaps."""

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.data import Data, Limit, constraint, load, look
from tests.data.writing import dense, write

STARS = b"userId,movieId,rating,timestamp\n1,1,4.0,964982703\n1,3,5.0,964981247\n2,2,3.5,964982224\n2,3,0.5,964983815\n"
FILMS = "movieId,title,genres\n1,Toys (1992),Comedy|Fantasy\n2,Heat (1995),Action|Crime\n3,Big (1988),Comedy\n"
TRACTS = (
    '"","OBJECTID","ID","NAME","STATE_NAME","AREA","POP2000","long","lat"\n'
    '"1","1","0608","06.08","California",0.48,4135,-122.48,37.65\n'
    '"2","2","0609","06.09","California",0.47,1000,-122.48,37.66\n'
)
STORES = '"","OBJECTID","NAME","long","lat"\n"1","1","Store_1",-122.51,37.65\n"2","2","Store_2",-122.48,37.67\n'
ROADS = "distance,name,DestinationName,demand\n" + "".join(
    f"{metres},Store_{1 + at % 2},06.0{8 + at // 2},{(4135, 1000)[at // 2]}\n"
    for at, metres in enumerate((2900.5, 2500.0, 3100.0, 1200.0))
)
HEARTS = "hospital,age,cp,thal,num\n" + "".join(
    f"{at},{40 + 20 * (row // 2)},{row % 2}.0,{thal},{row % 2}\n"
    for at, count in (("cleveland", 4), ("va", 2))
    for row, thal in zip(range(count), ("3.0", "6.0", "", "7.0"), strict=False)
)
CITIES = (
    "geonameid,name,country,admin1,lat,lon,population\n"
    "1,Windhoek,NA,21,-22.55941,17.08323,431000\n2,Okahandja,NA,30,-21.98330,16.91670,20879\n"
    "3,Gaborone,BW,09,-24.65451,25.90859,208411\n"
)


def test_films(tmp_path: Path) -> None:
    data = Data(file=write(tmp_path, "ratings.csv.xz", lzma.compress(STARS)), items=write(tmp_path, "m.csv", FILMS))
    read = load(data, tmp_path)
    assert (read.kind, read.clients_called, read.items_called) == ("ratings", "users", "movies")
    assert dense(read.objective).tolist() == [[4, 0, 5], [0, 3.5, 0.5]]
    assert read.items.names == ("Toys (1992)", "Heat (1995)", "Big (1988)")
    one_each = constraint(read.items, 2, [Limit(1, "genres")])
    assert set(fm.solve(read.objective, one_each, fm.Greedy()).selected) == {1, 2}
    assert "The limit counts the first alone" in read.items.remarks("genres")[0]
    liked = load(Data(file=data.file, least=5), tmp_path)
    assert (liked.kind, liked.objective.gains([]).nnz) == ("memberships", 1)
    seen = look(data, tmp_path)
    assert (seen.kind, seen.rows, seen.faults) == ("ratings", 4, ())


def test_tracts_and_stores_by_air_and_by_road(tmp_path: Path) -> None:
    tracts, stores = write(tmp_path, "tracts.csv", TRACTS), write(tmp_path, "stores.csv", STORES)
    by_air = load(Data(file=tracts, items=stores, reach=5), tmp_path)
    assert (by_air.kind, by_air.objective.n_clients, by_air.items.names) == ("places", 2, ("Store_1", "Store_2"))
    assert "weight is POP2000" in " ".join(by_air.notes)
    roads: dict[str, Any] = {"file": write(tmp_path, "roads.csv", ROADS), "client": "DestinationName", "item": "name"}
    by_road = load(Data(**roads, reach=5000), tmp_path)
    assert (by_road.kind, by_road.objective.n_clients, by_road.objective.n_items) == ("distances", 2, 2)
    assert "weight is demand" in " ".join(by_road.notes)
    for read in (by_air, by_road):
        assert np.allclose(read.objective.weights, [4135 / 5135, 1000 / 5135])
    assert np.allclose(dense(by_road.objective), 1 - np.array([[2900.5, 2500], [3100, 1200]]) / 5000)
    assert (dense(by_road.objective) < dense(by_air.objective)).all()  # no road is shorter than the air line
    with pytest.raises(fm.InputError, match=r"try: reach="):
        load(Data(**roads), tmp_path)


def test_hospitals(tmp_path: Path) -> None:
    hearts = write(tmp_path, "hearts.csv", HEARTS)
    with pytest.raises(fm.InputError, match=r"1 row has 1 missing feature.*missing='category'"):
        load(Data(file=hearts, target="num"), tmp_path)
    read = load(Data(file=hearts, target="num", missing="category"), tmp_path)
    assert (read.kind, read.clients_called, read.items_called) == ("tables", "hospitals", "features")
    assert read.objective.client_names == ("cleveland", "va")
    assert np.allclose(read.objective.weights * 6, [4, 2])
    assert fm.solve(read.objective, 1, fm.Greedy()).names == ("cp",)  # chest pain tells who is ill, age does not
    assert load(Data(file=hearts, target="num", missing="drop"), tmp_path).objective.n_items == 3


def test_visits(tmp_path: Path) -> None:
    user, vroot = np.array([10001, 10001, 10002], np.uint32), np.array([1000, 1001, 1001], np.uint16)
    np.savez(tmp_path / "edges.npz", user=user, vroot=vroot)
    read = load(Data(file="edges.npz"), tmp_path)
    assert read.kind == "memberships"
    assert dense(read.objective).tolist() == [[1, 1], [0, 1]]


def test_a_country_called_na(tmp_path: Path) -> None:
    cities = write(tmp_path, "cities.csv.xz", lzma.compress(CITIES.encode()))
    read = load(Data(file=cities, items=cities, reach=100), tmp_path)
    assert read.kind == "places"
    assert read.items.positions is not None
    assert list(read.items.groups("country")) == ["NA", "NA", "BW"]  # Namibia, not a missing value
    one_each = constraint(read.items, 2, [Limit(1, "country")])
    assert set(fm.solve(read.objective, one_each, fm.Greedy()).selected) == {0, 2}
