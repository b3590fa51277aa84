"""What cannot be used is said in one sentence: what, and where."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars
import pytest
from scipy import sparse

from folkmoot.data import Data, load
from folkmoot.foundation.errors import InputError
from tests.data.writing import MOVIES, RATINGS, write

HEAD = "userId,movieId,rating\n"
PEOPLE = "person,lat,lon\na,52,13\nb,48,11\n"
SHOPS = "name,lat,lon\nx,52,13.1\ny,48,11.2\n"
PATIENTS = "hospital,age,sick\nA,50,1\nA,60,0\nB,55,1\nB,40,0\n"


class Case(NamedTuple):
    """Files, settings, and what the sentence must say."""

    files: dict[str, str | bytes | Callable[[Path], Any]]
    settings: dict[str, Any]
    says: tuple[str, ...]


def bad(text: str | bytes | Callable[[Path], Any], *says: str, name: str = "r.csv", **settings: Any) -> Case:
    return Case({name: text}, {"file": name, **settings}, (*says,))


def placed(people: str, shops: str, *says: str, **settings: Any) -> Case:
    files: dict[str, Any] = {"people.csv": people, "shops.csv": shops}
    return Case(files, {"file": "people.csv", "items": "shops.csv", "reach": 10, **settings}, says)


def archive(**arrays: Any) -> Callable[[Path], Any]:
    return lambda path: np.savez(path, **arrays)


def matrix(entries: Any) -> Callable[[Path], Any]:
    return lambda path: sparse.save_npz(path, sparse.coo_array(entries))


def parquet(**columns: Any) -> Callable[[Path], Any]:
    return lambda path: polars.DataFrame(columns).write_parquet(path)


def folder(path: Path) -> None:
    path.mkdir()


TWICE = sparse.coo_array((np.array([1.0, 2.0]), (np.array([0, 0]), np.array([1, 1]))), shape=(2, 3))
CASES = {
    # The file itself.
    "not found": Case({}, {"file": "nowhere.csv"}, ("there is no file nowhere.csv",)),
    "no name": Case({}, {"file": ""}, ("file: needs the name of a file",)),
    "items not found": Case(
        {"r.csv": RATINGS}, {"file": "r.csv", "items": "no.csv"}, ("items: there is no file no.csv",)
    ),
    "a folder": bad(folder, "r.csv is a folder"),
    "empty": bad("", "r.csv: is empty"),
    "blank": bad("\n\n\n", "r.csv: is empty"),
    "header only": bad(HEAD, "r.csv: has no rows below its header"),
    "no suffix": bad(RATINGS, "has the suffix (none)", ".parquet", name="ratings"),
    "unknown suffix": bad(RATINGS, "has the suffix .xls;", "save it as .xlsx", name="r.xls"),
    "text called xlsx": bad(RATINGS, "r.xlsx: is not an Excel workbook, or is damaged", name="r.xlsx"),
    "text called zip": bad(RATINGS, "r.zip: is not a zip archive, or is damaged", name="r.zip"),
    "text called jsonl": bad(RATINGS, "r.jsonl: line 1 is not a JSON object; write one", name="r.jsonl"),
    "a JSON array": bad('[{"user": 1}]', "r.json: is one array, not lines; write one object per line", name="r.json"),
    "a JSON list later": bad('{"user":1,"item":2}\n[1]\n', "r.jsonl: line 2 is not a JSON object", name="r.jsonl"),
    "JSON in Latin-1": bad(b'{"user":1,"item":"caf\xe9"}\n', "r.jsonl: line 1 is not UTF-8", name="r.jsonl"),
    "empty JSON lines": bad("\n\n", "r.jsonl: is empty", name="r.jsonl"),
    "an address": Case({}, {"file": "https://host/r.csv"}, ("https://host/r.csv is an address", "download it first")),
    "a collapsed address": Case({}, {"file": "s3:/host/r.csv"}, ("s3://host/r.csv is an address, not a file",)),
    "compressed parquet": bad(RATINGS, ".parquet.gz", name="r.parquet.gz"),
    "binary as text": bad(bytes(range(256)), "r.csv: is not a text file"),
    "utf-16": bad(RATINGS.encode("utf-16"), "r.csv: is UTF-16; save it as UTF-8"),
    "old line ends": bad(RATINGS.replace("\n", "\r"), "old Macintoshes"),
    "cut off gz": bad(gzip.compress(RATINGS.encode() * 9)[:-12], "damaged or cut short", name="r.csv.gz"),
    "text called gz": bad(RATINGS, "damaged or cut short", name="r.csv.gz"),
    "text called xz": bad(RATINGS, "damaged or cut short", name="r.csv.xz"),
    "text called bz2": bad(RATINGS, "r.csv.bz2: cannot be read", name="r.csv.bz2"),
    "garbage called zst": bad(
        b"\x28\xb5\x2f\xfd" + bytes(range(99)), "r.csv.zst: cannot be decompressed", name="r.csv.zst"
    ),
    "text called parquet": bad(
        RATINGS, "r.parquet: cannot be read as .parquet: it has another format, or is damaged", name="r.parquet"
    ),
    "text called arrow": bad(
        RATINGS, "r.arrow: cannot be read as .arrow: it has another format, or is damaged", name="r.arrow"
    ),
    "text called npz": bad(RATINGS, "r.npz: is not an npz archive, or is damaged", name="r.npz"),
    "text called mtx": bad(RATINGS, "r.mtx: is not a Matrix Market file, or is damaged", name="r.mtx"),
    "empty parquet": bad(parquet(user=[], item=[], rating=[]), "r.parquet: has no rows", name="r.parquet"),
    "one column": bad("userId\n1\n2\n", "r.csv: has only one column", kind="ratings"),
    "one column, no kind": bad("userId\n1\n2\n", "r.csv: its columns (userId) do not show"),
    "ragged, long": bad(RATINGS + "4,10,5,9\n", "r.csv: line 6 has 4 columns, not 3 like the header; correct it"),
    "ragged, short": bad(RATINGS + "4,10\n", "r.csv: line 6 has 2 columns, not 3"),
    "ragged, twice": bad(
        RATINGS + "4,10,5,9\n4,20,3\n5,1\n",
        "r.csv: 2 lines do not have 3 columns like the header: line 6 has 4 and line 8 has 2; correct them",
    ),
    "ragged, often": bad(
        RATINGS + "4,10\n" * 2000,
        "r.csv: at least 1,000 lines do not have 3 columns like the header: first, line 6 has 2, line 7 has 2 and line",
    ),
    "ragged, everywhere": bad(
        RATINGS.replace("userId,", ""), "r.csv: all lines from line 2 on have 3 columns, not 2 like the header"
    ),
    "ragged, no header": bad(
        "1::10::5::9\n2::10\n", "r.dat: line 2 has 2 columns, not 4 like the first line", name="r.dat"
    ),
    "open quote": bad(RATINGS + '4,"10,5\n5,1,1\n', "line 6", "never closed"),
    # Columns and settings.
    "unknown column": bad(RATINGS, "r.csv has no column usrId (did you mean userId?)", "movieId", client="usrId"),
    "unknown value": bad(RATINGS, "value: r.csv has no column stars", "userId, movieId and rating", value="stars"),
    "unknown kind": bad(RATINGS, "kind: 'rating' is not one of ratings, memberships", kind="rating"),
    "unknown choice": bad(RATINGS, "missing: 'ignore' is not one of refuse, drop", missing="ignore"),
    "category": bad(RATINGS, "missing: category is for tables", missing="category"),
    "unguessable": bad("a,b,c\n1,2,3\n", "r.csv: its columns (a, b and c) do not show"),
    "no header": bad("1,10,5\n2,20,3\n", "column_1, column_2 and column_3"),
    "no header, kind": bad("1,10,5\n2,20,3\n", "r.csv: no column (it has no header)", "client=…", kind="ratings"),
    "one column for two": bad(RATINGS, "must be different columns", client="userId", item="userId", value="rating"),
    "nested column": bad(
        parquet(user=[1], item=[[1, 2]], rating=[1.0]), "column item holds List(Int64)", name="r.parquet"
    ),
    # Values.
    "no client at all": bad(HEAD + ",1,2\n,2,3\n", "r.csv: 2 rows have no userId, in lines 2 and 3", "missing='drop'"),
    "no client at all, dropped": bad(HEAD + ",1,2\n,2,3\n", "r.csv: no row is left", missing="drop"),
    "not a number": bad(HEAD + "1,1,2\n2,2,good\n", "1 cell of rating is missing or not a finite number, in line 3"),
    "nan": bad(HEAD + "1,1,2\n2,2,nan\n", "in line 3; say what to do: missing='drop'"),
    "inf": bad(HEAD + "1,1,inf\n2,2,1\n", "in line 2; say what to do: missing='drop'"),
    "negative": bad(
        HEAD + "".join(f"{k},1,{-k}\n" for k in range(9)),
        "r.csv: 8 cells of rating are negative, first in lines 3, 4 and 5; say what to do: "
        "negative='drop' or negative='zero'",
    ),
    "all at once": bad(
        HEAD + "1,1,2\n1,1,3\n,2,1\n2,,1\n2,3,x\n2,4,-1\n2,5,-1\n2,6,-1\n2,7,-1\n",
        "r.csv: 1 row has no userId (line 4), 1 row has no movieId (line 5), 1 cell of rating is missing or not a "
        "finite number (line 6), 4 cells of rating are negative (first in lines 7, 8 and 9) and 1 row has the userId "
        "and movieId of an earlier row (line 3); say what to do: missing='drop', and negative='drop' or "
        "negative='zero', and duplicates='first' or duplicates='last' or duplicates='largest' or duplicates='mean' or "
        "duplicates='sum'",
    ),
    "all but one said": bad(
        HEAD + "1,1,2\n1,1,3\n2,4,-1\n2,5,\n",
        "r.csv: 1 cell of rating is missing or not a finite number (line 5) and 1 row has the userId and movieId of an "
        "earlier row (line 3); say what to do: missing='drop', and duplicates='first'",
        negative="zero",
    ),
    "in both files": placed(
        "person,lat,lon,population\na,52,13,1\nb,,11,1\nc,48,11,-1\n",
        SHOPS + "z,?,3\n",
        "people.csv: 1 cell of lat is missing or not a finite number (line 3) and 1 cell of population is negative "
        "(line 4); shops.csv: 1 place has no numeric position (line 4); say what to do: missing='drop', and "
        "negative='drop' or negative='zero'",
    ),
    "a table, all at once": bad(
        PATIENTS + ",5,1\nB,?,1\nB,6,\n",
        "r.csv: 1 row has no hospital (line 6), 1 row has no sick (line 8) and 1 row has 1 missing feature (line 7); "
        "say what to do: missing='drop' or missing='category'",
        target="sick",
    ),
    "a matrix, all at once": bad(
        matrix([[1.0, np.nan], [-1.0, 2.0]]),
        "m.npz: 1 entry is missing or not a finite number (row 1 column 2) and 1 entry is negative (row 2 column 1)",
        name="m.npz",
    ),
    "a fault, and what follows": bad(HEAD + "1,1,-1\n", "1 cell of rating is negative, in line 2; say what"),
    "twice": bad(
        RATINGS + "1,10,4\n",
        "r.csv: 1 row has the userId and movieId of an earlier row, in line 6",
        "duplicates='first' or",
    ),
    "all zero": bad(HEAD + "1,1,0\n2,2,0\n", "r.csv: no value is above 0"),
    "nobody reaches least": bad(RATINGS, "r.csv: no value reaches 9", least=9),
    "least is nan": bad(RATINGS, "least: needs a finite number", least=float("nan")),
    "two weights": bad(
        "user,item,rating,size\n1,1,1,2\n1,2,1,3\n", "user 1 has the size 2 in one row and 3 in another", weight="size"
    ),
    "weight nan": bad("user,item,rating,size\n1,1,1,x\n", "1 cell of size is no weight", "line 2", weight="size"),
    "weight zero": bad("user,item,rating,size\n1,1,1,0\n", "every size is 0", weight="size"),
    "other items": Case(
        {"r.csv": RATINGS, "m.csv": MOVIES.replace("0,", "0x,")},
        {"file": "r.csv", "items": "m.csv"},
        ("items: none of the 3 items is in column movieId of m.csv", "items_id=…"),
    ),
    # Distances and places.
    "no reach": bad("user,shop,distance\n1,1,3\n1,2,4\n2,1,5\n", "r.csv: needs a reach", "reach=8.0", item="shop"),
    "reach 0": bad("user,store,distance\n1,1,3\n", "reach: needs a number above 0", reach=0),
    "out of reach": bad("user,store,distance\n1,1,3\n", "no value is within 2", reach=2),
    "places alone": bad(PEOPLE, "items: r.csv says where people are", reach=1),
    "places, no reach": placed(PEOPLE, SHOPS, "people.csv: needs a reach", "reach=22.0", reach=None),
    "reach below 0": placed(PEOPLE, SHOPS, "reach: needs a number above 0", reach=-1),
    "nobody near": placed(PEOPLE, SHOPS, "nobody has an item within 0.1 km", reach=0.1),
    "latitude 95": placed(
        PEOPLE + "c,95,100\n",
        SHOPS,
        "(lat) in line 4 is 95, outside ±90 (1 such row of 3); correct it, or remove the row",
    ),
    "longitude 200": placed(PEOPLE + "c,5,200\n", SHOPS, "(lon) in line 4 is 200, outside ±180"),
    "swapped": placed("lat,lon\n122,37\n121,38\n", SHOPS, "line 2", "seem to be swapped"),
    "item outside": placed(PEOPLE, SHOPS + "z,95,0\n", "shops.csv: the latitude (lat) in line 4 is 95"),
    "no latitude": placed(PEOPLE, "name,lon\nx,13\n", "shops.csv: no column is known", "latitude=…"),
    "missing latitude": placed(PEOPLE + "c,,3\n", SHOPS, "1 cell of lat is missing", "line 4", "missing='drop'"),
    "missing position": placed(PEOPLE, SHOPS + "z,?,3\n", "shops.csv: 1 place has no numeric position, in line 4"),
    "matrix of places": Case(
        {"m.npz": matrix(np.eye(2))},
        {"file": "m.npz", "kind": "places"},
        ("m.npz is a matrix, which cannot be places",),
    ),
    # Tables and similarity.
    "no target": bad(PATIENTS, "r.csv: no column is known to be", "target=…", kind="tables"),
    "no site": bad("age,sick\n1,2\n", "r.csv: no column is known to be", "client=…", target="sick"),
    "site is target": bad(PATIENTS, "cannot be both", target="hospital", client="hospital"),
    "no features": bad("hospital,sick\nA,1\nB,0\n", "there is no feature besides hospital and sick", target="sick"),
    "one label": bad("hospital,age,sick\nA,5,1\nB,6,1\n", "sick is the same in every row", target="sick"),
    "missing cell": bad(
        PATIENTS + "B,?,1\n", "1 row has 1 missing feature, in line 6", "missing='category'", target="sick"
    ),
    "one bin": bad(PATIENTS, "bins: needs a whole number of at least 2", target="sick", bins=1),
    "similarity alone": bad("user,a,b\n1,2,3\n", "a file with the items' numbers is needed", kind="similarity"),
    "nothing in common": Case(
        {"c.csv": "user,a\n1,2\n", "i.csv": "item,b\n1,2\n"},
        {"file": "c.csv", "items": "i.csv", "kind": "similarity"},
        ("c.csv: has no column of numbers in common with i.csv",),
    ),
    # Matrices and archives.
    "objects": bad(
        archive(a=np.array([{}, []], dtype=object)), "m.npz: holds Python objects, which are never", name="m.npz"
    ),
    "three arrays": bad(archive(a=np.ones(2), b=np.ones(3)), "m.npz: holds a (2,), b (3,)", name="m.npz"),
    "cube": bad(archive(a=np.ones((2, 2, 2))), "m.npz: holds a (2, 2, 2)", name="m.npz"),
    "complex": bad(archive(a=np.ones((2, 2)) * 1j), "holds complex128; real numbers are needed", name="m.npz"),
    "words": bad(archive(a=np.array([["a"]])), "real numbers are needed", name="m.npz"),
    "no entries": bad(matrix(np.zeros((2, 2))), "belongs to a client", name="m.npz"),
    "negative entry": bad(
        matrix([[1.0, -2.0]]), "m.npz: 1 entry is negative, in row 1 column 2", "negative='zero'", name="m.npz"
    ),
    "nan entry": bad(
        matrix([[1.0, np.nan]]), "m.npz: 1 entry is missing or not a finite", "row 1 column 2", name="m.npz"
    ),
    "entry twice": bad(
        lambda path: sparse.save_npz(path, TWICE),
        "m.npz: 1 entry repeats an earlier one, in row 1 column 2",
        name="m.npz",
    ),
    "items for a matrix": Case(
        {"m.npz": matrix(np.eye(3)), "i.csv": MOVIES},
        {"file": "m.npz", "items": "i.csv"},
        ("i.csv has 4 rows for 3 columns of m.npz",),
    ),
    "items in a matrix": Case(
        {"r.csv": RATINGS, "m.npz": matrix(np.eye(3))},
        {"file": "r.csv", "items": "m.npz"},
        ("items: m.npz is a matrix; a table with named columns is needed",),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_one_sentence(case: Case, tmp_path: Path) -> None:
    for name, content in case.files.items():
        if callable(content):
            content(tmp_path / name)
        else:
            write(tmp_path, name, content)
    with pytest.raises(InputError) as error:
        load(Data(**case.settings), tmp_path)
    sentence = str(error.value)
    for words in case.says:
        assert words in sentence
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    assert error.value.__cause__ is None


GARBAGE = [
    *("r.csv", "r.dat", "r.npz", "r.mtx", "r.parquet", "r.arrow", "r.csv.gz", "r.csv.zst"),
    *("r.jsonl", "r.zip", "r.xlsx"),
]


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_refused_or_read_but_never_a_traceback(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    good = io.BytesIO()
    polars.DataFrame({"user": range(50), "item": range(50), "rating": range(50)}).write_parquet(good)
    for trial in range(40):
        noise = rng.integers(0, 256, 200, dtype=np.uint8).tobytes()
        if trial % 2:  # a file that begins well
            at = int(rng.integers(8, len(good.getvalue())))
            noise = good.getvalue()[:at] + noise
        write(tmp_path, name, noise)
        with pytest.raises(InputError):
            load(Data(file=name), tmp_path)
