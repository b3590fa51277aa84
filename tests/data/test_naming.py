"""What items are called: by a column of their file, of the data, or by their rows, and then it is said."""

from pathlib import Path

import pytest

from tests.data.writing import loaded, write

PEOPLE = "lat,lon\n0,0\n0,1\n"


@pytest.mark.parametrize(
    ("text", "settings", "names", "noted"),
    [
        ("StandID,Street,Lat,Lon\nS7,A St,0,0\nS9,B St,0,1\n", {}, ("S7", "S9"), False),
        ("StandID,Street,Lat,Lon\nS7,A St,0,0\nS7,B St,0,1\n", {}, ("A St", "B St"), False),
        ("Borough,Lat,Lon\nQueens,0,0\nBronx,0,1\n", {}, ("1", "2"), True),
        ("Borough,Lat,Lon\nQueens,0,0\nBronx,0,1\n", {"name": "Borough"}, ("Queens", "Bronx"), False),
    ],
)
def test_places_are_named_by_what_tells_them_apart(
    text: str, settings: dict[str, str], names: tuple[str, ...], noted: bool, tmp_path: Path
) -> None:
    found = loaded(tmp_path, PEOPLE, items=write(tmp_path, "stands.csv", text), reach=500, **settings)
    assert found.items.names == names
    assert any("named by their rows" in note for note in found.notes) == noted
