"""The same ratings in every format are the same problem."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from scipy import io as scipy_io
from scipy import sparse

from folkmoot.data import Data, load
from tests.data.writing import MATRIX, MOVIES, RATINGS, dense, loaded, write

ROWS = [line.split(",") for line in RATINGS.splitlines()]
FRAME = polars.DataFrame(
    {"userId": [1, 2, 2, 3], "movieId": [10, 10, 30, 20], "rating": [5.0, 3.0, 4.0, 2.5]},
)


def joined(separator: str, rows: list[list[str]] = ROWS) -> str:
    return "".join(separator.join(row) + "\n" for row in rows)


MAKE: dict[str, Any] = {"csr.npz": sparse.csr_array, "csc.npz": sparse.csc_matrix, "coo.npz": sparse.coo_array}
TEXTS = {
    "ratings.csv": RATINGS,
    "bom.csv": "\ufeff" + RATINGS,
    "windows.csv": RATINGS.replace("\n", "\r\n"),
    "no-end.csv": RATINGS.rstrip("\n"),
    "blank-lines.csv": RATINGS.replace("2,10,3\n", "\n2,10,3\n\n") + "\n\n",
    "comments.csv": "# made by hand\n# for a test\n" + RATINGS,
    "quoted.csv": RATINGS.replace("2,30,4", '"2","30","4"'),
    "spaces.csv": RATINGS.replace(",", " , "),
    "semicolons.csv": joined(";").replace("2.5", "2,5"),
    "ratings.tsv": joined("\t"),
    "tabs.txt": joined("\t"),
    "pipes.txt": joined("|"),
    "blanks.txt": joined(" "),
    "more.csv": joined(",", [[row[2], "x", *row[:2]] for row in ROWS]),
    "ratings.dat": joined("::", [[*row, "978300760"] for row in ROWS[1:]]),
    "recbole.inter": joined("\t", [["user_id:token", "item_id:token", "rating:float"], *ROWS[1:]]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str, tmp_path: Path) -> None:
    read = loaded(tmp_path, TEXTS[name], name)
    assert read.kind == "ratings"
    assert read.items.names == ("10", "20", "30")
    assert read.objective.client_names == ("1", "2", "3")
    assert np.array_equal(dense(read.objective), MATRIX)


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
@pytest.mark.parametrize("name", ["ratings.csv", "ratings.dat"])
def test_compressed_text(name: str, suffix: str, compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    read = loaded(tmp_path, compress(TEXTS[name].encode()), name + suffix)
    assert np.array_equal(dense(read.objective), MATRIX)


def test_zstandard(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "ratings.csv.zst", compression="zstd")
    read = load(Data(file="ratings.csv.zst"), tmp_path)
    assert np.array_equal(dense(read.objective), MATRIX)


@pytest.mark.parametrize("name", ["r.parquet", "r.arrow", "r.feather", "r.ipc", "columns.npz"])
def test_tables_in_binary(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("npz"):
        np.savez(path, row=FRAME["userId"], col=FRAME["movieId"], data=FRAME["rating"])
    elif name.endswith("parquet"):
        FRAME.write_parquet(path)
    else:
        FRAME.write_ipc(path)
    read = load(Data(file=name), tmp_path)
    assert read.kind == "ratings"
    assert read.items.names == ("10", "20", "30")
    assert np.array_equal(dense(read.objective), MATRIX)


@pytest.mark.parametrize("name", ["csr.npz", "csc.npz", "coo.npz", "dense.npz", "m.mtx", "m.mtx.gz", "m.mtx.xz"])
def test_matrices(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "dense.npz":
        np.savez_compressed(path, MATRIX)
    elif name.endswith("npz"):
        sparse.save_npz(path, MAKE[name](MATRIX))
    else:
        scipy_io.mmwrite(tmp_path / "m.mtx", sparse.coo_array(MATRIX))
        text = (tmp_path / "m.mtx").read_bytes()
        if name != "m.mtx":
            path.write_bytes(gzip.compress(text) if name.endswith("gz") else lzma.compress(text))
    read = load(Data(file=name), tmp_path)
    assert (read.kind, read.clients_called, read.items_called) == ("ratings", "clients", "items")
    assert np.array_equal(dense(read.objective), MATRIX)
    assert read.items.names == ("item 0", "item 1", "item 2")


def test_a_matrix_with_an_items_file_in_its_order(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "m.npz", sparse.csr_array(MATRIX > 0))
    write(tmp_path, "movies.csv", "\n".join(MOVIES.splitlines()[:4]))
    read = load(Data(file="m.npz", items="movies.csv"), tmp_path)
    assert read.kind == "memberships"
    assert read.items.names == ("Alien", "Brazil", "Clue")
    assert read.objective.item_names == read.items.names


def test_latin_1_is_read_and_said(tmp_path: Path) -> None:
    movies = write(tmp_path, "movies.dat", "10::Amélie (2001)::Comedy\n20::B::x\n30::C: D::y\n".encode("latin-1"))
    read = loaded(tmp_path, TEXTS["ratings.dat"], "ratings.dat", items=movies)
    assert read.items.names == ("Amélie (2001)", "B", "C: D")
    assert read.items.attributes.columns == ["movieId", "title", "genres"]
    assert any("Latin-1" in note for note in read.notes)
    assert any("no header" in note for note in read.notes)


def test_without_a_header_columns_can_be_given(tmp_path: Path) -> None:
    text = "".join(RATINGS.splitlines(keepends=True)[1:])
    read = loaded(tmp_path, text, "u.data", client="column_1", item="column_2", value="column_3")
    assert np.array_equal(dense(read.objective), MATRIX)
    assert (read.clients_called, read.items_called) == ("clients", "items")


def test_a_file_longer_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells with line ends and quotes in them, cut anywhere."""
    rows = [(f"u{k % 7}", f"i{k}", k % 5 + 1, 'say "yes",\nor not' if k % 3 else '5" disk') for k in range(500)]
    frame = polars.DataFrame(rows, schema=["user", "item", "rating", "remark"], orient="row")
    frame.write_csv(tmp_path / "long.csv")
    whole = dense(load(Data(file="long.csv"), tmp_path).objective)
    monkeypatch.setattr("folkmoot.data.lines.CHUNK", 100)
    monkeypatch.setattr("folkmoot.data.text.SAMPLE", 700)
    assert np.array_equal(dense(load(Data(file="long.csv"), tmp_path).objective), whole)
    assert whole.shape == (7, 500)


def test_stray_quotes_mean_nothing(tmp_path: Path) -> None:
    text = 'user,item,rating\na,5" disk,1\nb,"3,5"" disk",2\n'
    assert loaded(tmp_path, text).items.names == ('3,5" disk', '5" disk')


def test_ids_that_begin_as_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at: whole numbers. Read on: words. Then all of them are words."""
    monkeypatch.setattr("folkmoot.data.lines.CHUNK", 64)
    monkeypatch.setattr("folkmoot.data.text.SAMPLE", 128)
    rows = [f"{k},{k % 3},1\n" for k in range(50)] + ["anna,1,2\n"]
    read = loaded(tmp_path, "user,item,rating\n" + "".join(rows))
    assert read.objective.n_clients == 51
    assert read.objective.client_names is not None
    assert read.objective.client_names[:3] == ("0", "1", "10")


def test_ids_with_leading_zeros_keep_them(tmp_path: Path) -> None:
    read = loaded(tmp_path, "user,item,rating\n007,01,1\n7,1,2\n")
    assert read.objective.client_names == ("007", "7")
    assert read.items.names == ("01", "1")


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (polars.Series([10.0, 9.0, None]), ("9", "10")),
        (polars.Series([10.0, 9.5, float("nan")]), ("10", "9.5")),
        (polars.Series([2**64 - 1, 5, 7], dtype=polars.UInt64), ("18446744073709551615", "5", "7")),
        (polars.Series([2, 5, 11], dtype=polars.UInt64), ("2", "5", "11")),
        (polars.Series(["b", "a", None], dtype=polars.Categorical), ("a", "b")),
    ],
)
def test_ids_of_other_types(ids: polars.Series, names: tuple[str, ...], tmp_path: Path) -> None:
    polars.DataFrame({"user": [1, 2, 3], "item": ids}).write_parquet(tmp_path / "r.parquet")
    assert load(Data(file="r.parquet", missing="drop"), tmp_path).items.names == names


def test_ids_far_apart(tmp_path: Path) -> None:
    read = loaded(tmp_path, "user,item,rating\n9000000000000,-5,1\n-3,4000000000,2\n12,0,3\n")
    assert read.objective.client_names == ("-3", "12", "9000000000000")
    assert read.items.names == ("-5", "0", "4000000000")
    assert dense(read.objective).tolist() == [[0, 0, 2], [0, 3, 0], [1, 0, 0]]


def test_stray_quotes_swallow_nothing(tmp_path: Path) -> None:
    """Far from each other, each within a quoted cell, as careless writers leave them."""
    lines = [f'{user};"Film {film}";{1 + (user + film) % 5}' for user in range(3000) for film in range(4)]
    lines[500] = '125;"11\'09"01 - September";4'
    lines[9000] = '2250;"The "Best" of it";5'
    path = tmp_path / "stray.csv"
    path.write_text("\n".join(["user;film;stars", *lines]) + "\n")
    loaded = load(Data(file=str(path), duplicates="last"))
    assert loaded.objective.n_clients == 3000
    assert loaded.objective.n_items == 6
    assert max(map(len, loaded.items.names)) < 30


@pytest.mark.parametrize("cell", [" m1", "m1 ", '" m1"', '"m1 "', "m1\t"])
def test_spaces_around_an_id_mean_nothing_wherever_they_come(tmp_path: Path, cell: str) -> None:
    lines = [f"{user},m{user % 3},{1 + user % 5}" for user in range(50_000)]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["user,film,stars", *lines, f"50000,{cell},3"]) + "\n")
    assert load(Data(file=str(path))).items.names == ("m0", "m1", "m2")


def test_quotes_after_backslashes(tmp_path: Path) -> None:
    """As Book-Crossing has them: a separator may follow within the cell."""
    text = (
        '"User-ID";"ISBN";"Book-Rating"\n"1";"a \\"b; c\\" d";"5"\n"2";"\\"x\\"; y";"3"\n'
        '"3";"a \\"b; c\\" d";"4"\n"4";"C:\\\\";"1"\n'
    )
    told = loaded(tmp_path, text, "books.csv")
    assert set(told.items.names) == {'a "b; c" d', '"x"; y', "C:\\\\"}
    assert told.objective.n_clients == 4
    late = '"user";"item";"rating"\n' + '"1";"i";"2"\n' * 1 + "".join(f'"u{at}";"i{at}";"2"\n' for at in range(30_000))
    told = loaded(tmp_path, late + '"z";"a \\"b; c\\" d";"5"\n', "late.csv")
    assert 'a "b; c" d' in told.items.names


def test_backslashes_that_end_cells_are_backslashes(tmp_path: Path) -> None:
    told = loaded(tmp_path, '"user","item","rating"\n"1","C:\\","5"\n"2","D:\\","3"\n')
    assert told.items.names == ("C:\\", "D:\\")
