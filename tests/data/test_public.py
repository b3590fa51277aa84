"""Items from their public list alone are numbered and named as with the data."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.data import Data, Items, load, load_items, load_subject, pin_columns
from folkmoot.foundation.errors import InputError
from tests.data.writing import write

FILMS = "movieId,title,genre\n7,Heat,Crime\n3,Alien,Horror\n,Lost,None\n3,Alien again,Horror\n5,Heat,Drama\n"
STARS = "userId,movieId,rating\na,5,3\nb,3,4\nb,7,2\n"
TOWNS = "town,lat,lon\nRome,41.9,12.5\nNowhere,,\nOslo,59.9,10.8\n"
PEOPLE = "lat,lon,households\n41.8,12.4,3\n59.8,10.7,2\n"
FEATURES = "name,unit\nsex,none\nage,years\n"
SITES = "hospital,age,sex,diagnosis\nA,1,m,0\nA,2,f,1\nB,1,f,1\nB,2,m,0\n"
WINES = "id,acid,sugar\nred,1,2\nwhite,3,1\n"
TASTES = "client,sugar,acid\nx,1,1\ny,2,3\n"
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ratings": (STARS, FILMS, {}),
    "memberships": (STARS, FILMS, {"least": 3.0, "name": "genre"}),
    "distances": (STARS, FILMS, {"reach": 10.0, "name": ""}),
    "places": (PEOPLE, TOWNS, {"reach": 50.0, "missing": "drop"}),
    "tables": (SITES, FEATURES, {"target": "diagnosis", "client": "hospital", "items_id": "name"}),
    "similarity": (TASTES, WINES, {"similarity": "cosine"}),
}


def settings_of(folder: Path, kind: str, data: str, items: str, **more: Any) -> Data:
    return Data(file=write(folder, "data.csv", data), items=write(folder, "items.csv", items), kind=kind, **more)


def is_alike(one: Items, two: Items) -> bool:
    where = [None if items.positions is None else items.positions.tolist() for items in (one, two)]
    return one.names == two.names and where[0] == where[1] and one.attributes.equals(two.attributes)


@pytest.mark.parametrize("kind", CASES)
def test_the_list_alone_numbers_items_as_the_data_does(tmp_path: Path, kind: str) -> None:
    data, items, more = CASES[kind]
    settings = settings_of(tmp_path, kind, data, items, **more)
    assert is_alike(load_items(settings, tmp_path), load(settings, tmp_path).items)
    pinned = pin_columns(settings, tmp_path)
    assert is_alike(load_items(pinned, tmp_path), load(pinned, tmp_path).items)


def test_words_are_those_of_the_data_where_columns_are_known(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "ratings", STARS, FILMS)
    alone, loaded = load_subject(settings, tmp_path), load(settings, tmp_path)
    assert alone.items_called == loaded.items_called == "movies"
    assert alone.clients_called == "clients"
    assert alone.meaning == "the rating of the best chosen movie, averaged over clients"
    known = load_subject(Data(items="items.csv", kind="ratings", client="userId", value="rating"), tmp_path)
    assert (known.meaning, known.clients_called) == (loaded.meaning, loaded.clients_called)


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_says_what_its_value_means(tmp_path: Path, kind: str) -> None:
    data, items, more = CASES[kind]
    assert load_subject(settings_of(tmp_path, kind, data, items, **more), tmp_path).meaning


def test_features_are_in_the_order_of_the_list(tmp_path: Path) -> None:
    """Sites may have their columns in any order; sums of their answers must be about the same features."""
    settings = settings_of(tmp_path, "tables", SITES, FEATURES, target="diagnosis", items_id="name")
    read = load(settings, tmp_path)
    assert read.items.names == ("sex", "age")
    alone = [read.objective.mean_values([item]) for item in (0, 1)]
    other = settings_of(tmp_path, "tables", SITES.replace("age,sex", "sex,age"), "", target="diagnosis")
    bare = load(Data(file=other.file, kind="tables", target="diagnosis"), tmp_path)
    assert bare.items.names == ("sex", "age")
    assert np.allclose(alone, [bare.objective.mean_values([item]) for item in (1, 0)])


@pytest.mark.parametrize(
    ("kind", "items", "more", "sentence"),
    [
        (None, FILMS, {}, "^kind: needs one of ratings"),
        ("places", TOWNS, {"missing": "drop"}, "^reach: is needed"),
        ("similarity", "id,acid\nred,\nwhite,1\n", {}, r"^items.csv: 1 item lacks a number, first in line 2"),
        ("similarity", "id,colour\nred,dark\n", {}, "^items.csv: has no column of numbers"),
        ("ratings", "movieId,title\n,Heat\n", {}, "^items.csv: no item has an id in the column movieId"),
    ],
    ids=str,
)
def test_what_a_list_does_not_say_is_refused(
    tmp_path: Path, kind: str | None, items: str, more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        load_items(Data(items=write(tmp_path, "items.csv", items), kind=kind, **more), tmp_path)
    with pytest.raises(InputError, match=r"^items: needs a file"):
        load_items(Data(kind="ratings"), tmp_path)
    with pytest.raises(InputError, match=r"^file: needs the name"):
        load(Data(kind="ratings"), tmp_path)
