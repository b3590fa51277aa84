"""What items are called: by a column of their file, of the data, or by their rows, and then it is said."""

from pathlib import Path

import pytest

from folkmoot.data.wording import name_many
from folkmoot.foundation.errors import InputError
from tests.data.writing import loaded, write

PEOPLE = "lat,lon\n0,0\n0,1\n"


@pytest.mark.parametrize(
    ("text", "settings", "names", "noted"),
    [
        ("StandID,Street,Lat,Lon\nS7,A St,0,0\nS9,B St,0,1\n", {}, ("S7", "S9"), False),
        ("StandID,Street,Lat,Lon\nS7,A St,0,0\nS7,B St,0,1\n", {}, ("A St", "B St"), False),
        ("Borough,Lat,Lon\nQueens,0,0\nBronx,0,1\n", {}, ("item 0", "item 1"), True),
        ("Borough,Lat,Lon\nQueens,0,0\nBronx,0,1\n", {"name": "Borough"}, ("Queens", "Bronx"), False),
    ],
)
def test_places_are_named_by_what_tells_them_apart(
    text: str, settings: dict[str, str], names: tuple[str, ...], noted: bool, tmp_path: Path
) -> None:
    found = loaded(tmp_path, PEOPLE, items=write(tmp_path, "stands.csv", text), reach=500, **settings)
    assert found.items.names == names
    assert any("named by their rows" in note for note in found.notes) == noted


SALES = "user,item,rating,Description\n1,10,5,Tea\n2,10,3,Green tea\n2,30,4,Salt\n3,20,2,\n3,40,2,Salt\n"


def test_a_column_of_the_data_names_items(tmp_path: Path) -> None:
    found = loaded(tmp_path, SALES, name="description")
    assert found.items.names == ("Tea", "20", "Salt (30)", "Salt (40)") == found.objective.item_names
    told = " ".join(found.notes)
    assert "1 item of 4 has more than one Description" in told
    assert "1 item of 4 has no Description" in told


def test_a_name_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no column Nonsense; its columns are user, item, rating and Description"):
        loaded(tmp_path, SALES, name="Nonsense")
    with pytest.raises(InputError, match="column of an items file, and there is none"):
        loaded(tmp_path, "site,label,a,b\n1,x,1,2\n2,y,2,2\n", name="a", kind="tables", target="label")


@pytest.mark.parametrize(
    ("column", "many"),
    [
        *(("movieId", "movies"), ("hospital", "hospitals"), ("anonymous_user_id", "anonymous users")),
        *(("Book-Title", "books"), ("SteamId", "things"), ("StockCode", "things"), ("Description", "things")),
    ],
)
def test_only_known_nouns_are_what_people_call_things(column: str, many: str) -> None:
    assert name_many(column, "things") == many


def test_what_was_loaded_is_shown_in_short(tmp_path: Path) -> None:
    rows = "".join(f"{at % 7},film {at:03},5\n" for at in range(100))
    read = loaded(tmp_path, f"user,film,rating\n{rows}")
    assert repr(read) == "Loaded(ratings: 7 users, 100 films)"
    assert repr(read.items) == "Items(film 000, film 001, film 002 and 97 more)"
