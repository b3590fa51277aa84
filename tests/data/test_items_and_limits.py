"""Items files, and limits in words as matroids."""

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from folkmoot.data import Items, Limit, constraint
from folkmoot.foundation.errors import InputError
from folkmoot.matroids import Laminar, Partition, Truncation, Uniform
from tests.data.writing import MOVIES, RATINGS, dense, loaded, write


def items(**columns: list[Any]) -> Items:
    frame = polars.DataFrame(columns)
    return Items(tuple(f"item {at}" for at in range(frame.height)), None, frame, "items.csv")


TOWN = items(
    region=["N", "N", "N", "N", "S", "S", "S", None],
    city=["a", "a", "b", "b", "c", "c", "c", "d"],
    kind=["x|y", "y", "x", "x", "x", "y", None, "x"],
)


def allowed(of: Items, count: int | None, limits: list[Limit]) -> Any:
    """The law, word by word."""

    def law(chosen: tuple[int, ...]) -> bool:
        for limit in limits:
            groups = of.groups(limit.per, limit.within)
            taken = [groups[item] for item in chosen if groups[item] is not None]
            if any(taken.count(group) > limit.at_most for group in taken):
                return False
        return count is None or len(chosen) <= count

    return law


@pytest.mark.slow
@pytest.mark.parametrize("count", [None, 1, 3, 5, 8])
@pytest.mark.parametrize(
    "limits",
    [
        [Limit(1, "region")],
        [Limit(2, "kind")],
        [Limit(9, "kind")],
        [Limit(0, "city")],
        [Limit(1, "kind", within="region")],
        *([Limit(a, "region"), Limit(b, "city")] for a, b in product((1, 2, 3), (1, 2))),
        [Limit(2, "city"), Limit(1, "city")],
        [Limit(2, "city"), Limit(1, "kind", within="city")],
        [Limit(3, "region"), Limit(2, "city"), Limit(1, "kind", within="city")],
    ],
)
def test_a_matroid_allows_what_the_words_allow(limits: list[Limit], count: int | None) -> None:
    matroid, law = constraint(TOWN, count, limits), allowed(TOWN, count, limits)
    for size in range(9):
        for chosen in combinations(range(8), size):
            assert matroid.independent(list(chosen)) == law(chosen), chosen
    assert matroid.is_valid()


def test_the_simplest_matroid_is_taken() -> None:
    assert isinstance(constraint(TOWN, 3, []), Uniform)
    assert isinstance(constraint(TOWN, 3, [Limit(3, "region")]), Uniform)  # three in all, so three a region
    assert isinstance(constraint(TOWN, None, [Limit(1, "region")]), Partition)
    assert isinstance(constraint(TOWN, 3, [Limit(1, "region")]), Partition)  # two regions and one elsewhere: three
    assert isinstance(constraint(TOWN, 2, [Limit(1, "region")]), Truncation)
    assert isinstance(constraint(TOWN, None, [Limit(2, "region"), Limit(1, "city")]), Partition)  # N has two cities
    assert isinstance(constraint(TOWN, 5, [Limit(3, "region"), Limit(2, "city")]), Truncation)
    country = items(region=["N"] * 6 + ["S"] * 2, city=list("aabbccdd"))
    nested = constraint(country, 2, [Limit(2, "region"), Limit(1, "city")])
    assert isinstance(nested, Truncation)  # two in all says as much as two a region
    assert isinstance(nested.matroid, Partition)
    nested = constraint(country, 3, [Limit(2, "region"), Limit(1, "city")])
    assert isinstance(nested, Laminar)  # two of N and one of S are three anyway
    country = items(region=["N"] * 6 + ["S"] * 6, city=list("aabbccddeeff"))
    nested = constraint(country, 3, [Limit(2, "region"), Limit(1, "city")])
    assert isinstance(nested, Truncation)
    assert isinstance(nested.matroid, Laminar)
    for simple in (constraint(TOWN, 3, []), constraint(TOWN, 3, [Limit(1, "region")])):
        assert simple.blocks is not None


@pytest.mark.parametrize(
    ("count", "limits", "says"),
    [
        (None, [], "count: there is no limit; say how many"),
        (9, [], "count: 9 items cannot be chosen from 8"),
        (0, [], "count: needs a whole number of at least 1"),
        (3, [Limit(1, "regoin")], r"per: items.csv has no column regoin \(did you mean region\?\)"),
        (3, [Limit(-1, "region")], "needs a whole number of at least 0"),
        (3, [Limit(1, "city"), Limit(1, "kind")], r"(?s)\(kind\) and .* \(city\) share items.* kind within city"),
    ],
)
def test_limits_that_cannot_be_set(count: int | None, limits: list[Limit], says: str) -> None:
    with pytest.raises(InputError, match=says):
        constraint(TOWN, count, limits)


def test_without_an_items_file() -> None:
    with pytest.raises(InputError, match="there is no items file"):
        constraint(Items(("a", "b")), 1, [Limit(1, "genre")])


def test_groups_and_what_is_said_about_them() -> None:
    assert TOWN.groups("Kind") == ["x", "y", "x", "x", "x", "y", None, "x"]
    assert TOWN.groups("kind", within="region")[:2] == ["N, x", "N, y"]
    assert TOWN.groups("kind", within="region")[7] is None
    several, none = TOWN.remarks("kind")
    assert several == "1 item of 8 has several values of kind. The limit counts the first alone: “x|y” is x."
    assert TOWN.list_counted("Kind") == ["x", *[None] * 7]
    assert none == "1 item of 8 has no kind, so no limit per kind applies."
    assert TOWN.remarks("city") == ()


def test_items_are_matched_by_their_ids(tmp_path: Path) -> None:
    movies = MOVIES.replace("20,Brazil,comedy|epic\n", "10,Alien again,horror\n").replace("Clue", "Alien")
    read = loaded(tmp_path, items=write(tmp_path, "movies.csv", movies))
    assert read.items.names == ("Alien (10)", "Alien (30)", "Dune", "20")  # of one name: told apart
    assert read.items.groups("genre") == ["horror", "comedy", "epic", None]
    assert "1 item of 3 has no row in movies.csv: their ids are used as names." in read.notes
    assert "movies.csv: 1 row has the movieId of an earlier row, first in line 3: the earlier row counts." in read.notes
    assert len(read.items.attributes) == 4


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("x;Film No.;Name\n1;10;A\n2;20;B\n3;30;C\n", {"items_id": "film no"}),
        ("id,label\n10,A\n20,B\n30,C\n", {}),
        ("anything,title\n10,A\n20,B\n30,C\n", {}),
        ("movie_id,de,en\n10,X,A\n20,Y,B\n30,Z,C\n", {"name": "en"}),
    ],
)
def test_the_key_and_the_name_are_found(text: str, settings: dict[str, str], tmp_path: Path) -> None:
    read = loaded(tmp_path, RATINGS, items=write(tmp_path, "films.csv", text), **settings)
    assert read.items.names == ("A", "B", "C")


def test_positions_go_along(tmp_path: Path) -> None:
    text = "movieId,lat,lon\n10,1,2\n30,5,6\n"
    read = loaded(tmp_path, items=write(tmp_path, "m.csv", text))
    assert read.items.positions is not None
    assert read.items.positions[:2].tolist() == [[1, 2], [5, 6]]
    assert np.isnan(read.items.positions[2]).all()


def test_the_items_are_those_of_their_file_whoever_holds_them(tmp_path: Path) -> None:
    """In the order of the file, which tells nothing about who has what."""
    movies = "movieId,title\n40,Dune\n30,Clue\n50,Evita\n20,Brazil\n10,Alien\n"
    read = loaded(tmp_path, items=write(tmp_path, "movies.csv", movies))
    assert read.items.names == ("Dune", "Clue", "Evita", "Brazil", "Alien")
    assert dense(read.objective).tolist() == [[0, 0, 0, 0, 5], [0, 4, 0, 0, 3], [0, 0, 0, 2.5, 0]]
    assert "2 items of movies.csv that nobody has can be chosen too." in read.notes
