"""A look tells everything and refuses nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.data import Data, FileLook, load, look
from folkmoot.foundation.errors import InputError
from tests.data.writing import MOVIES, write

FAULTY = "user,item,rating\n1,1,5\n1,2,\n,2,3\n2,2,-1\n3,2,4\n3,2,4.5\n"


def seen(folder: Path, text: str, **settings: Any) -> FileLook:
    return look(Data(file=write(folder, "r.csv", text), **settings), folder)


def test_faults_are_counted_and_something_is_shown(tmp_path: Path) -> None:
    told = seen(tmp_path, FAULTY)
    assert (told.file, told.rows, told.kind) == ("r.csv", 6, "ratings")
    assert told.why == "it has user, item and rating"
    assert [(c.name, c.type, c.example) for c in told.columns] == [
        ("user", "whole numbers", "1"),
        ("item", "whole numbers", "1"),
        ("rating", "numbers", "5"),
    ]
    assert dict(told.taken) == {"client": "user", "item": "item", "value": "rating"}
    assert [(fault.what, fault.count, fault.where) for fault in told.faults] == [
        ("missing", 1, "line 4"),
        ("missing", 1, "line 3"),
        ("negative", 1, "line 5"),
        ("duplicates", 1, "line 7"),
    ]
    assert told.problem is None
    assert told.loaded is not None
    assert told.loaded.objective.values([1]).tolist() == [0, 0, 4]
    assert told.per_client is not None
    assert told.values is not None
    assert (told.per_client.least, told.per_client.median, told.per_client.most) == (1, 1, 1)
    assert (told.values.least, told.values.most, told.values.levels) == (0, 5, 3)


def test_what_cannot_be_built_is_shown_all_the_same(tmp_path: Path) -> None:
    told = seen(tmp_path, "a,b\n1,x\n2,y\n")
    assert (told.kind, told.loaded, told.rows) == (None, None, 2)
    assert told.problem is not None
    assert "do not show what it holds" in told.problem.problem
    assert [column.name for column in told.columns] == ["a", "b"]
    told = seen(tmp_path, "user,item,rating\n1,2,0\n")
    assert (told.kind, told.rows, told.loaded) == ("ratings", 1, None)


def test_a_file_that_cannot_be_read_to_its_end_says_so_whatever_its_columns_are(tmp_path: Path) -> None:
    told = seen(tmp_path, "a,b\n1,x\n2,y,z\n")
    assert not told.is_readable
    assert told.problem is not None
    assert told.problem.problem == "line 3 has 3 columns, not 2 like the header"


def test_a_reach_is_suggested(tmp_path: Path) -> None:
    told = seen(tmp_path, "person,store,distance\n1,1,3\n1,2,4\n2,1,5\n")
    assert told.loaded is not None
    assert any("8 is a sensible start" in note for note in told.notes)
    write(tmp_path, "shops.csv", "name,lat,lon\nx,52,13\ny,48,11\n")
    told = seen(tmp_path, "lat,lon\n52.1,13\n48.1,11\n", items="shops.csv")
    assert told.kind == "places"
    assert told.loaded is not None
    assert [column.name for column in told.items_columns] == ["name", "lat", "lon"]
    assert told.values is not None
    assert told.values.median == pytest.approx(11.12, abs=0.01)  # kilometres to the nearest


def test_missing_cells_of_tables_are_a_category(tmp_path: Path) -> None:
    told = seen(tmp_path, "site,a,label\nA,1,0\nA,,1\nB,2,0\nB,2,1\n")
    assert told.kind == "tables"
    assert told.loaded is not None
    assert [fault.count for fault in told.faults] == [1]


def test_matrices_have_no_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", np.array([[1.0, -1.0], [np.nan, 3.0]]))
    told = look(Data(file="m.npz"), tmp_path)
    assert (told.columns, told.rows) == ((), 4)
    assert [fault.what for fault in told.faults] == ["missing", "negative"]
    assert told.loaded is not None


def test_given_choices_are_kept(tmp_path: Path) -> None:
    told = seen(tmp_path, FAULTY, duplicates="largest", items=write(tmp_path, "m.csv", "id,title\n1,A\n2,B\n"))
    assert told.loaded is not None
    assert told.loaded.objective.values([1]).tolist() == [0, 0, 4.5]
    assert told.loaded.items.names == ("A", "B")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        look(Data(file="no.csv"), tmp_path)
    with pytest.raises(InputError, match="is empty"):
        seen(tmp_path, "")
    np.savez(tmp_path / "m.npz", np.eye(2))
    with pytest.raises(InputError, match="is a matrix"):
        seen(tmp_path, MOVIES, items="m.npz")


KINDS = "user_id,game,behavior,hours\n" + "".join(
    f"{user},g{game},purchase,1.0\n{user},g{game},play,{user + game + 0.5}\n" for user in range(4) for game in range(3)
)


def test_a_column_that_explains_repeated_pairs_is_named(tmp_path: Path) -> None:
    told = seen(tmp_path, KINDS)
    (fault,) = told.faults
    assert fault.problem.endswith(
        "; behavior differs in them (play and purchase): if one kind is meant, keep only its rows"
    )
    assert fault.mend == "largest"  # not the sum: a purchase is no hour
    assert told.values is not None
    assert told.values.most == 5.5
    with pytest.raises(InputError, match="behavior differs in them") as refused:
        load(Data(file="r.csv"), tmp_path)
    assert {value for _, value in refused.value.settings} == {"first", "last", "largest"}
    told = seen(tmp_path, KINDS.replace("behavior", "date").replace("purchase", "x").replace("play", "x"))
    assert (told.faults[0].why, told.faults[0].mend) == ("", "sum")  # what is shown is what is suggested
    assert told.values is not None
    assert told.values.most == 6.5


def test_many_zeros_are_pointed_out(tmp_path: Path) -> None:
    text = "user,item,rating\n" + "".join(f"{at},{at % 7},{0 if at % 5 < 3 else 8}\n" for at in range(100))
    (said,) = seen(tmp_path, text).warnings
    assert said.startswith("60\u202f% of the values of rating are 0, which adds nothing: if 0 means")
    assert not seen(tmp_path, text.replace(",0\n", ",1\n")).warnings
    distances = text.replace("rating", "distance")
    assert not seen(tmp_path, distances, reach=10.0).warnings
