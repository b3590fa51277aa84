"""Faults are counted, and mended as told; without a word they are refused (see test_bad_files)."""

from pathlib import Path

import numpy as np
import pytest

from folkmoot.data import Data, load
from folkmoot.foundation.errors import InputError
from tests.data.writing import dense, loaded, write

HEAD = "user,item,rating\n"
FAULTY = HEAD + "1,1,5\n1,2,\n\n,2,3\n2,1,bad\n2,2,-1\n3,2,4\n"


def test_missing_is_left_out_and_said(tmp_path: Path) -> None:
    read = loaded(tmp_path, FAULTY, missing="drop", negative="zero")
    assert dense(read.objective).tolist() == [[5, 0], [0, 0], [0, 4]]
    assert read.objective.client_names == ("1", "2", "3")
    assert "ratings.csv: 1 row has no user, in line 5: left out." in read.notes
    assert "ratings.csv: 2 cells of rating are missing or not finite numbers, in lines 3 and 6: left out." in read.notes
    assert "ratings.csv: 1 cell of rating is negative, in line 7: counted as 0." in read.notes
    assert "1 of 3 users has nothing that counts and gains nothing, but is not left out." in read.notes
    assert "ratings.csv: 6 rows were read." in read.notes  # the blank line is none


@pytest.mark.parametrize(("rule", "expected"), [("first", 2), ("last", 3), ("largest", 4), ("mean", 3), ("sum", 9)])
def test_duplicates_are_merged_as_told(rule: str, expected: float, tmp_path: Path) -> None:
    text = HEAD + "1,7,2\n2,7,1\n1,7,4\n1,8,1\n1,7,3\n"
    read = loaded(tmp_path, text, duplicates=rule)
    assert dense(read.objective).tolist() == [[expected, 1], [1, 0]]
    assert (
        f"ratings.csv: 2 rows have the user and item of an earlier row, in lines 4 and 6: merged, by the {rule}."
        in read.notes
    )


def test_lines_of_duplicates_count_what_was_left_out(tmp_path: Path) -> None:
    text = HEAD + "1,7,2\n\n,7,1\n1,6,x\n1,7,4\n"
    with pytest.raises(InputError, match="in line 6; say what to do: duplicates='first' or duplicates='last'"):
        loaded(tmp_path, text, missing="drop")


def test_a_row_left_out_is_no_duplicate(tmp_path: Path) -> None:
    read = loaded(tmp_path, HEAD + "1,7,\n1,7,4\n1,8,-1\n1,8,2\n", missing="drop", negative="drop")
    assert dense(read.objective).tolist() == [[4, 2]]


def test_to_belong_twice_is_to_belong(tmp_path: Path) -> None:
    read = loaded(tmp_path, "user,item\na,x\na,x\nb,y\n")
    assert dense(read.objective).tolist() == [[1, 0], [0, 1]]
    assert any(
        "1 row has the user and item of an earlier row, in line 3: each pair counts once" in note for note in read.notes
    )


def test_rows_of_binary_files_are_counted_from_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "r.npz", user=[1, 2], item=[1, 1], rating=[1.0, -2.0])
    with pytest.raises(InputError, match="in row 2; say"):
        load(Data(file="r.npz"), tmp_path)


def test_entries_of_a_matrix(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", np.array([[1, -2, np.nan], [0, 3, 4]]))
    read = load(Data(file="m.npz", missing="drop", negative="drop"), tmp_path)
    assert dense(read.objective).tolist() == [[1, 0, 0], [0, 3, 4]]
    assert any("row 1 column 3" in note for note in read.notes)


def test_weights_of_clients(tmp_path: Path) -> None:
    text = "user,item,rating,size\n1,1,4,3\n1,2,1,3\n2,2,2,1\n"
    read = loaded(tmp_path, text, weight="size")
    assert read.objective.weights.tolist() == [0.75, 0.25]


def test_places_and_tables_too(tmp_path: Path) -> None:
    write(tmp_path, "shops.csv", "name,lat,lon\nx,52,13\ny,,2\nz,48,11\n")
    people = "lat,lon,population\n52,13,10\n,13,1\n48,11,-5\n48,11,30\n"
    read = loaded(tmp_path, people, items="shops.csv", reach=1, missing="drop", negative="drop")
    assert read.items.names == ("x", "z")
    assert read.objective.weights.tolist() == [0.25, 0.75]
    assert any("1 place has no numeric position, in line 3: left out" in note for note in read.notes)
    table = "site,a,label\nA,1,0\nA,?,1\nB,,0\nB,2,1\nB,1,\n"
    dropped = loaded(tmp_path, table, missing="drop")
    kept = loaded(tmp_path, table, missing="category", smoothing=0.0)
    assert dropped.objective.weights.tolist() == [0.5, 0.5]
    assert kept.objective.weights.tolist() == [0.5, 0.5]
    assert kept.objective.mean_values([0]) == 1.0  # with "missing" for a value every row tells its label
    assert any("1 row has no label, in line 6: left out." in note for note in kept.notes)
