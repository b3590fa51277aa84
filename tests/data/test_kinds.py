"""Each kind: its objective, what it means, and how it is recognised."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.data import Data, load
from folkmoot.foundation.errors import InputError, OpenQuestion
from folkmoot.objectives import Coverage, FacilityLocation, Information
from tests.data.writing import MATRIX, MOVIES, RATINGS, dense, loaded, write


def test_ratings(tmp_path: Path) -> None:
    read = loaded(tmp_path, items=write(tmp_path, "movies.csv", MOVIES))
    assert isinstance(read.objective, FacilityLocation)
    assert (read.kind, read.clients_called, read.items_called) == ("ratings", "users", "movies")
    assert read.meaning == "the rating of the best chosen movie, averaged over users"
    assert read.items.names == read.objective.item_names == ("Alien", "Brazil", "Clue", "Dune")
    assert read.objective.mean_values([0]) == pytest.approx(8 / 3)
    assert "ratings.csv was taken for ratings: it has userId, movieId and rating." in read.notes


def test_memberships(tmp_path: Path) -> None:
    read = loaded(tmp_path, least=3)
    assert isinstance(read.objective, Coverage)
    assert read.meaning == "the share of users who have at least one chosen movie"
    assert np.array_equal(dense(read.objective), MATRIX >= 3)
    every = loaded(tmp_path, kind="memberships")
    assert np.array_equal(dense(every.objective), MATRIX > 0)
    plain = loaded(tmp_path, "household,book\nh2,b\nh1,a\nh1,b\n")
    assert (plain.kind, plain.clients_called, plain.items_called) == ("memberships", "households", "books")
    assert dense(plain.objective).tolist() == [[1, 1], [0, 1]]


def test_two_columns_one_known(tmp_path: Path) -> None:
    read = loaded(tmp_path, "user,vroot\n1,5\n2,6\n")
    assert (read.kind, read.items_called) == ("memberships", "items")


def test_distances(tmp_path: Path) -> None:
    text = "customer,store,distance,demand\na,s,0,1\na,t,5,1\nb,s,8,3\nb,t,20,3\nc,t,11,4\n"
    read = loaded(tmp_path, text, reach=10)
    assert read.kind == "distances"
    assert np.allclose(dense(read.objective), np.array([[1, 0.5], [0.2, 0], [0, 0]]))
    assert read.objective.weights.tolist() == [0.125, 0.375, 0.5]
    assert (
        read.meaning
        == "1 − distance/10 of the nearest chosen store (0 beyond 10), averaged over customers, weighted by demand"
    )


def test_a_weight_that_only_has_the_name_of_one(tmp_path: Path) -> None:
    text = "customer,store,distance,demand\na,s,1,1\na,t,5,2\nb,s,8,3\n"
    read = loaded(tmp_path, text, reach=10)
    assert read.objective.weights.tolist() == [0.5, 0.5]
    assert "demand differs between rows of the same customer, so it is not used as a weight." in read.notes
    write(tmp_path, "shops.csv", "lat,lon\n0,0\n")
    people = "lat,lon,population\n0,0,1\n0,0,3\n"
    assert loaded(tmp_path, people, items="shops.csv", reach=1).objective.weights.tolist() == [0.25, 0.75]
    assert loaded(tmp_path, people, items="shops.csv", reach=1, weight="").objective.weights.tolist() == [0.5, 0.5]


def test_places_against_the_formula(tmp_path: Path) -> None:
    """The haversine formula, pair by pair."""
    rng = np.random.default_rng(3)
    people, shops = (np.column_stack((rng.uniform(-90, 90, n), rng.uniform(-180, 180, n))) for n in (60, 25))
    people[0], shops[0] = (10, 179.99), (10, -179.99)  # across the date line
    for name, rows in (("people.csv", people), ("shops.csv", shops)):
        write(tmp_path, name, "lat,lon\n" + "".join(f"{float(a)!r},{float(b)!r}\n" for a, b in rows))
    read = load(Data(file="people.csv", items="shops.csv", reach=3000), tmp_path)
    (a, b), (c, d) = np.radians(people).T[:, :, None], np.radians(shops).T[:, None, :]
    half = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    expected = np.maximum(0, 1 - 2 * 6371.0088 * np.arcsin(np.sqrt(half)) / 3000)
    assert np.allclose(dense(read.objective), expected)
    assert expected[0, 0] > 0.99
    assert (read.clients_called, read.items_called) == ("people", "places")
    assert read.items.positions is not None
    assert np.array_equal(read.items.positions, shops)


def test_places_of_a_client_are_its_rows(tmp_path: Path) -> None:
    write(tmp_path, "shops.csv", "id,title,latitude,longitude\n7,X,0,0\n9,Y,0,1\n")
    people = "person,y,x,weight\nb,0,0,1\na,0,1,2\nb,0,1,3\n"
    read = loaded(tmp_path, people, items="shops.csv", reach=1)
    assert read.objective.client_names == ("a", "b")
    assert read.objective.weights.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert read.objective.values([0]).tolist() == pytest.approx([0, 0.25])
    assert read.objective.mean_values([1]) == pytest.approx(5 / 6)  # the mean over rows by weight, whoever owns them
    assert read.items.names == ("X", "Y")


@pytest.mark.parametrize(
    ("people", "share"),
    [
        (["40.7,-74"] * 97 + ["0,0"] * 3, "3 places of ratings.csv (3\u202f%)"),
        (["40.7,-74"] * 98 + ["0,0"] * 2, None),  # a few say nothing
        (["0,0"] * 9, None),  # nothing to compare them with
        ([f"{at - 50},{at}" for at in range(100)] + ["0,0"] * 3, None),  # there are others around
        (["5.5,-0.2"] * 1990 + ["0,-90"] * 7 + ["0,0"] * 3, "3 places of ratings.csv (less than 1\u202f%)"),
    ],
)
def test_positions_of_0_0_may_be_missing(tmp_path: Path, people: list[str], share: str | None) -> None:
    write(tmp_path, "shops.csv", "lat,lon\n40.7,-74\n5.5,-0.2\n0,0\n")
    read = loaded(tmp_path, "\n".join(["lat,lon", *people]) + "\n", items="shops.csv", reach=10)
    asked = [note for note in read.notes if "0, 0" in note]
    assert asked == ([] if share is None else [f"{share} lie at exactly 0, 0: are their coordinates missing?"])


def test_a_table_may_be_of_one_site(tmp_path: Path) -> None:
    text = "age,label\n30,0\n60,1\n31,0\n62,1\n"
    read = loaded(tmp_path, text, kind="tables", target="label", client="")
    assert (read.objective.n_clients, read.items.names, read.clients_called) == (1, ("age",), "clients")
    with pytest.raises(InputError, match="no column is known to be the client"):
        loaded(tmp_path, text, kind="tables", target="label")


def test_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["hospital,age,sex,noise,patient,sick"]
    for k in range(200):
        age = int(rng.integers(20, 90))
        lines.append(f"{'BA'[k % 2]},{age},{'mf'[k % 3 == 0]},{rng.random():.3f},p{k},{int(age > 55)}")
    read = loaded(tmp_path, "\n".join(lines), target="sick", bins=4)
    assert isinstance(read.objective, Information)
    assert read.items.names == ("age", "sex", "noise")
    assert read.objective.client_names == ("A", "B")
    age, sex, noise = (read.objective.mean_values([item]) for item in range(3))
    assert age > 0.5 > sex + noise
    assert "Cut into 4 bins at quantiles of the rows of all sites together: age and noise." in " ".join(read.notes)
    assert "Left out, because they differ in most rows, as names do: patient." in read.notes
    assert read.meaning == "bits that the chosen features tell about sick, averaged over hospitals by their rows"


def test_similarity(tmp_path: Path) -> None:
    items = np.array([[0.0, 0.0], [4.0, 2.0], [8.0, 10.0]])
    rows = np.array([[1.0, 1.0], [4.0, 3.0], [9.0, 9.0], [0.0, -1.0]])
    write(tmp_path, "i.csv", "name,a,b\n" + "".join(f"n{k},{x},{y}\n" for k, (x, y) in enumerate(items)))
    write(tmp_path, "c.csv", "user,b,a\n" + "".join(f"{k},{y},{x}\n" for k, (x, y) in enumerate(rows)))
    read = load(Data(file="c.csv", items="i.csv"), tmp_path)
    scaled = [(of - items.mean(axis=0)) / items.std(axis=0) for of in (rows, items)]
    distance = np.linalg.norm(scaled[0][:, None] - scaled[1][None], axis=2)
    width = np.median(distance.min(axis=1))
    assert read.kind == "similarity"
    assert np.allclose(dense(read.objective), np.exp(-(distance**2) / (2 * width**2)))
    assert read.items.names == ("n0", "n1", "n2")
    cosine = load(Data(file="c.csv", items="i.csv", similarity="cosine"), tmp_path)
    assert dense(cosine.objective)[0].tolist() == pytest.approx([0, 6 / 40**0.5, 18 / 328**0.5])
    assert dense(cosine.objective)[3].tolist() == [0, 0, 0]


def test_a_matrix_of_similarities(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", MATRIX / 10)
    read = load(Data(file="s.npz", kind="similarity"), tmp_path)
    assert read.meaning == "the similarity of the best chosen item, averaged over clients"
    assert np.allclose(dense(read.objective), MATRIX / 10)


@pytest.mark.parametrize(
    ("text", "settings", "kind"),
    [
        (RATINGS, {}, "ratings"),
        ("User ID,Product-Code,Stars\n1,2,3\n", {}, "ratings"),
        ("reader,isbn,score,lat,lon\n1,2,3,4,5\n", {}, "ratings"),
        ("who,what,how\n1,2,3\n", {"client": "who", "item": "what", "value": "how"}, "ratings"),
        ("client,item\n1,2\n", {}, "memberships"),
        (RATINGS, {"least": 4}, "memberships"),
        ("person,site,km\n1,2,3\n", {"item": "site", "reach": 9}, "distances"),
        ("site,age,label\nA,1,0\nA,2,1\n", {}, "tables"),
        ("bank,age,label,num\nA,1,0,3\nA,2,1,4\n", {"target": "num"}, "tables"),
    ],
)
def test_the_kind_is_found(text: str, settings: dict[str, Any], kind: str, tmp_path: Path) -> None:
    assert loaded(tmp_path, text, **settings).kind == kind


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    head, *rows = RATINGS.splitlines()
    back = loaded(tmp_path, "\n".join([head, *reversed(rows)]))
    assert np.array_equal(dense(back.objective), MATRIX)


def test_many_clients_have_no_names(tmp_path: Path) -> None:
    text = "user,item\n" + "".join(f"{k},{k % 3}\n" for k in range(1500))
    assert loaded(tmp_path, text).objective.client_names is None


def test_ratings_are_not_turned_into_distances_by_a_reach(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reach: is for places and distances"):
        loaded(tmp_path, RATINGS, reach=9)


def test_a_distance_of_nothing_is_close(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", np.array([[0.0, 5.0], [20.0, 0.0], [3.0, 10.0]]))
    read = load(Data(file="d.npz", kind="distances", reach=10), tmp_path)
    assert np.allclose(dense(read.objective), [[1.0, 0.5], [0.0, 1.0], [0.7, 0.0]])


def test_chance_at_small_sites_is_not_believed(tmp_path: Path) -> None:
    """Twenty sites of twenty rows: a column of 40 random codes tells nothing, one that goes with the target does."""
    rng = np.random.default_rng(0)
    rows = ["hospital,postcode,smoker,diagnosis"]
    for row in range(400):
        sick = int(rng.integers(2))
        smokes = rng.random() < (0.8 if sick else 0.3)
        rows.append(f"h{row % 20},p{rng.integers(40)},{'yes' if smokes else 'no'},{sick}")
    read = loaded(tmp_path, "\n".join(rows) + "\n", target="diagnosis", client="hospital")
    names = dict(zip(read.items.names, read.objective.mean_gains(()), strict=True))
    assert names["smoker"] > names["postcode"]


def test_a_file_that_changes_its_letters_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    lines = [f"é{at % 3},{at % 7},{1 + at % 5}" for at in range(500_000)]
    path.write_bytes("\n".join(["user,film,stars", *lines]).encode() + b"\n\xef,1,2\n")
    with pytest.raises(InputError, match="begins as UTF-8 but is not UTF-8 throughout"):
        load(Data(file=str(path), duplicates="last"))


GAMES = "SteamId,GameTitle,liked\n1,a,yes\n1,b,no\n2,a,yes\n"


def test_the_only_id_that_is_left_is_the_client(tmp_path: Path) -> None:
    read = loaded(tmp_path, GAMES, value="liked")
    assert dense(read.objective).tolist() == [[1, 0], [1, 0]]
    with pytest.raises(
        InputError, match=r"GameTitle is the item and liked is the value, .* be the client; left are St"
    ):
        loaded(tmp_path, GAMES.replace("1,b", "3,b"), value="liked")  # no row shares its id: not known to be a client


TRIPS = "pickup_latitude,pickup_longitude,dropoff_latitude,dropoff_longitude\n0,0,0,1\n0,0,0,1\n"
STOPS = "name,Lat,Lon\nhere,0,0\nthere,0,1\n"


@pytest.mark.parametrize("settings", [{}, {"kind": "places"}])
def test_two_positions_are_asked_about(settings: dict[str, Any], tmp_path: Path) -> None:
    stops = write(tmp_path, "stops.csv", STOPS)
    with pytest.raises(OpenQuestion, match="several positions: pickup_latitude with pickup_longitude and") as asked:
        loaded(tmp_path, TRIPS, items=stops, reach=9, **settings)
    for (name, column), worth in zip(asked.value.ways, ([[1, 0]] * 2, [[0, 1]] * 2), strict=True):
        read = loaded(tmp_path, TRIPS, items=stops, reach=9, **(settings | {name: column}))
        assert dense(read.objective).tolist() == worth


def test_a_kernel_says_what_its_width_is(tmp_path: Path) -> None:
    """Where most rows are items themselves, the median distance is 0, and no width."""
    rows = ["0,0", "1,1", "4,4", *["0,0"] * 5, "2,2"]
    write(tmp_path, "i.csv", "a,b\n0,0\n1,1\n4,4\n")
    write(tmp_path, "c.csv", "a,b\n" + "\n".join(rows) + "\n")
    on = "the median distance of a row from its nearest item"
    some = load(Data(file="c.csv", items="i.csv", kind="similarity"), tmp_path)
    assert f"{on}, among the 1 of 9 that are not on it" in " ".join((*some.notes, some.meaning))
    write(tmp_path, "c.csv", "a,b\n" + "\n".join(rows[:-1]) + "\n")
    none = load(Data(file="c.csv", items="i.csv", kind="similarity"), tmp_path)
    assert "h = 1, since every row is on an item" in " ".join((*none.notes, none.meaning))
    assert on not in none.meaning


def test_a_measure_of_items_is_no_item(tmp_path: Path) -> None:
    """The colour of wines is not a wine; the name of a wine is one."""
    columns = "alcohol,ash,od280/od315_of_diluted_wines,proline"
    text = f"{columns}\n" + "\n".join(f"{at},2.{at},3.{at},{at}00" for at in range(12)) + "\n"
    with pytest.raises(InputError, match="do not show what it holds") as refused:
        loaded(tmp_path, text)
    assert "is the item" not in str(refused.value)
    assert loaded(tmp_path, "person,name_of_wine\na,x\na,y\nb,x\n").items.names == ("x", "y")
