"""Tables that come in other files: JSON lines, sheets of workbooks, archives, standard input."""

import gzip
import io
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.data import Data, find_on_disk, load, look, standard_input
from folkmoot.data.json_lines import JsonLines, find_unknown_key, hash_keys
from folkmoot.foundation.errors import InputError
from tests.data.writing import MATRIX, MOVIES, RATINGS, dense, loaded, write

ROWS = [line.split(",") for line in RATINGS.splitlines()]
RECORDS = [
    {"userId": 1, "movieId": 10, "rating": 5},
    {"movieId": 10, "userId": 2, "rating": 3, "more": {"a": [1]}},
    {"userId": 2, "movieId": 30, "rating": 4.0},
    {"userId": 3, "movieId": 20, "rating": "2.5"},
]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS)


def check(file: str, folder: Path, items: str | None = None) -> None:
    read = load(Data(file=file, items=items), folder)
    assert read.kind == "ratings"
    assert np.array_equal(dense(read.objective)[:, :3], MATRIX)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.jsonl", LINES.encode()),
        ("r.ndjson", LINES.rstrip("\n").encode()),
        ("r.json", LINES.replace("\n", "\r\n").encode()),
        ("r.jsonl.gz", gzip.compress(LINES.encode())),
        ("blank.jsonl", ("\n" + LINES.replace("\n", "\n\n")).encode()),
    ],
)
def test_json_lines(name: str, text: bytes, tmp_path: Path) -> None:
    write(tmp_path, name, text)
    check(name, tmp_path)


def test_json_lines_longer_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.data.lines.CHUNK", 100)
    monkeypatch.setattr("folkmoot.data.json_lines.LINES", 10)
    good = [json.dumps({"user": at % 7, "item": f"i{at} é", "stars": 1 + at % 5}) for at in range(300)]
    read = loaded(tmp_path, "\n".join(good) + "\n", "r.jsonl")
    assert dense(read.objective).shape == (7, 300)
    late = loaded(tmp_path, "\n".join([*good, '{"user": "anna", "item": 1, "stars": 2}']), "r.jsonl")
    assert late.objective.client_names is not None
    assert "anna" in late.objective.client_names
    for line, said in (("oops", "line 302 is not"), ('{"user":1,"item":2}', "1 cell of stars is missing.* line 302")):
        with pytest.raises(InputError, match=said):
            loaded(tmp_path, "\n".join(["", *good, line]), "r.jsonl")


def spell(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("chunk", [100, 1 << 22])
@pytest.mark.parametrize("value", ["rating", "Book-Rating", "größe rating", 'a "rating"'])
def test_keys_that_appear_late_are_columns(
    chunk: int, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stars that are overlooked would make one star count as much as five."""
    monkeypatch.setattr("folkmoot.data.lines.CHUNK", chunk)
    inner = {"about": {value: 1, "more": [{"x": '", "y": 1'}]}}
    rows = [{"user": at % 7, "item": f"i{at}", **inner} for at in range(1200)]
    text = spell([*rows, *({"user": at % 7, "item": f"j{at}", value: 1 + at % 5} for at in range(300))])
    with pytest.raises(InputError, match=r"1,200 cells of .*[Rr]ating.? are missing"):
        loaded(tmp_path, text, "r.jsonl")
    read = loaded(tmp_path, text, "r.jsonl", missing="drop")
    assert read.kind == "ratings"
    assert dense(read.objective).max() == 5
    seen = look(Data(file="r.jsonl"), tmp_path)
    assert [column.name for column in seen.columns] == ["user", "item", "about", value]
    assert seen.columns[-1].example == "1"


WORDS = st.text(st.sampled_from('ab":,{}[]\\\n é'), max_size=3)
CELLS = st.recursive(
    st.integers() | WORDS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2)
)


@given(st.lists(st.dictionaries(WORDS, CELLS, max_size=3), max_size=5), WORDS, st.booleans())
def test_a_key_is_found_where_json_has_it(rows: list[dict[str, object]], key: str, ascii_only: bool) -> None:
    lines = [(json.dumps(row, ensure_ascii=ascii_only) + "\n").encode() for row in rows]
    first = next((at for at, row in enumerate(rows) if key in row), None)
    known = hash_keys({own for row in rows for own in row} - {key})
    found = find_unknown_key(np.frombuffer(b"".join(lines), dtype=np.uint8), known)
    assert found == (-1 if first is None else sum(map(len, lines[:first])))


def test_late_lines_that_are_no_objects_are_named(tmp_path: Path) -> None:
    good = spell([{"user": at, "item": 1, "stars": 2} for at in range(1500)])
    for line in ('["a", "b"]', '{"user": 1, "oops"', '{"user": 1, "oops": "}'):
        with pytest.raises(InputError, match=r"r\.jsonl: line 1501 is not a JSON object"):
            loaded(tmp_path, good + line + "\n" + good, "r.jsonl")


def test_keys_without_end_are_no_columns(tmp_path: Path) -> None:
    rows = [{"user": at, "item": at % 9, "stars": 2, f"key {at}": 1} for at in range(5000)]
    read = loaded(tmp_path, spell(rows), "r.jsonl", value="stars")
    assert "r.jsonl has more than 1,003 keys; others, from line 1,001 on, were not read." in read.notes


def test_other_spellings_of_a_key_are_the_same_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.data.json_lines.LINES", 10)
    rows = spell([{"user": at, "größe": at % 9, "stars": 2} for at in range(50)])
    assert "\\u00f6" in rows
    text = rows + rows.replace('"user"', '"\\u0075ser" ').replace("\\u00f6", "ö")
    source = JsonLines(tmp_path / write(tmp_path, "r.jsonl", text))
    assert source.columns == ("user", "größe", "stars")
    assert source.table({"user": "whole", "größe": "whole"}).null_count().row(0) == (0, 0)


def test_numbers_that_only_python_writes_are_missing(tmp_path: Path) -> None:
    cells = [5.0, float("nan"), 3.0, float("inf"), -float("inf")]
    text = "".join(json.dumps({"user": at, "item": "NaN é", "stars": cell}) + "\n" for at, cell in enumerate(cells))
    with pytest.raises(InputError, match=r"3 cells of stars are missing .* in lines 2, 4 and 5"):
        loaded(tmp_path, text, "r.jsonl")
    read = loaded(tmp_path, text, "r.jsonl", missing="drop")
    assert dense(read.objective).ravel().tolist() == [5, 0, 3, 0, 0]
    assert read.items.names == ("NaN é",)


def test_yes_and_no_in_json(tmp_path: Path) -> None:
    text = '{"user":1,"item":"a","liked":true}\n{"user":2,"item":"b","liked":false}\n'
    assert dense(loaded(tmp_path, text, "r.jsonl").objective).tolist() == [[1, 0], [0, 0]]


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[str]]]) -> None:
    """The smallest workbook that programs open: cells that look like numbers are numbers."""

    def cell(text: str) -> str:
        try:
            float(text)
        except ValueError:
            return f'<c t="inlineStr"><is><t>{escape(text)}</t></is></c>' if text else "<c/>"
        return f"<c><v>{text}</v></c>"

    numbered = list(enumerate(sheets.items(), start=1))
    listed = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, (name, _) in numbered)
    links = "".join(f'<Relationship Id="r{at}" Type="{OFFICE}/worksheet" Target="s{at}.xml"/>' for at, _ in numbered)
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", f'<Types xmlns="{PACKAGE}/content-types"/>')
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" Type="{OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>'
        )
        for at, (_, rows) in numbered:
            body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            book.writestr(f"xl/s{at}.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>')


def test_a_workbook(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    write_workbook(tmp_path / "one.xlsx", {"Tabelle1": ROWS, "empty": []})
    check("one.xlsx", tmp_path)
    films = [line.split(",") for line in MOVIES.splitlines()]
    write_workbook(tmp_path / "two.xlsx", {"stars given": ROWS, "films": films})
    check("two.xlsx/stars given", tmp_path, "two.xlsx/films")
    assert load(Data(file="two.xlsx/stars given", items="two.xlsx/films"), tmp_path).items.names[0] == "Alien"
    with pytest.raises(InputError, match=r"^two.xlsx: has the sheets stars given and films; .* two.xlsx/stars given$"):
        load(Data(file="two.xlsx"), tmp_path)
    with pytest.raises(InputError, match=r"two.xlsx: has no sheet May; its sheets are stars given and films"):
        load(Data(file="two.xlsx/May"), tmp_path)
    write_workbook(tmp_path / "bad.xlsx", {"a": [*ROWS, ["4", "10", "good"]]})
    with pytest.raises(InputError, match=r"bad.xlsx: 1 cell of rating is missing or not .* in row 6"):
        load(Data(file="bad.xlsx"), tmp_path)
    write_workbook(tmp_path / "none.xlsx", {"a": []})
    with pytest.raises(InputError, match=r"none.xlsx: is empty"):
        load(Data(file="none.xlsx"), tmp_path)


def test_a_workbook_is_read_without_warnings(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("fastexcel")
    head, *rows = ROWS
    write_workbook(tmp_path / "gap.xlsx", {"a": [[*head, "late"], *([*row, ""] for row in rows)]})
    check("gap.xlsx", tmp_path)
    assert not caplog.records


def test_a_workbook_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_workbook(tmp_path / "one.xlsx", {"a": ROWS})
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(InputError, match=r"pip install 'folkmoot\[excel\]', or save it as .csv"):
        load(Data(file="one.xlsx"), tmp_path)


def pack(path: Path, files: Mapping[str, str | bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def test_archives(tmp_path: Path) -> None:
    pack(tmp_path / "one.zip", {"README.txt": "read me", "__MACOSX/._r.csv": b"\0", "ml/r.csv": RATINGS, "p.png": b"p"})
    check("one.zip", tmp_path)
    pack(tmp_path / "ml.zip", {"ml/ratings.csv": RATINGS, "ml/movies.csv": MOVIES})
    check("ml.zip/ratings.csv", tmp_path, "ml.zip/movies.csv")
    check("ml.zip/ml/ratings.csv", tmp_path)
    assert find_on_disk(str(tmp_path / "ml.zip/ml/ratings.csv")) == str(tmp_path / "ml.zip")
    with pytest.raises(InputError, match=r"^ml.zip: holds ml/ratings.csv and ml/movies.csv; say .* ml.zip/ml/ratings"):
        load(Data(file="ml.zip"), tmp_path)
    with pytest.raises(InputError, match=r"^ml.zip: holds no tags.csv, but ml/ratings.csv and ml/movies.csv"):
        load(Data(file="ml.zip/tags.csv"), tmp_path)
    pack(tmp_path / "empty.zip", {"p.png": b"p"})
    with pytest.raises(InputError, match=r"empty.zip: holds no table that can be read"):
        load(Data(file="empty.zip"), tmp_path)


@pytest.mark.parametrize("inner", ["r.parquet", "r.arrow", "r.npz", "r.jsonl", "r.csv.gz", "r.csv.xz", "r.tsv"])
def test_anything_within_an_archive(inner: str, tmp_path: Path) -> None:
    import lzma

    frame, kept = polars.DataFrame(RECORDS[:1] + RECORDS[2:3]), io.BytesIO()
    if inner.endswith("parquet"):
        frame.write_parquet(kept)
    elif inner.endswith("arrow"):
        frame.write_ipc(kept)
    elif inner.endswith("npz"):
        np.savez(kept, user=[1, 2], item=[10, 30], rating=[5.0, 4.0])
    else:
        text = {"l": LINES, "z": RATINGS, "v": RATINGS.replace(",", "\t")}[inner[-1]].encode()
        kept.write(
            gzip.compress(text) if inner.endswith("gz") else lzma.compress(text) if inner.endswith("xz") else text
        )
    pack(tmp_path / "a.zip", {inner: kept.getvalue()})
    assert load(Data(file="a.zip"), tmp_path).objective.gains([])[0, 0] == 5.0


def test_a_damaged_archive(tmp_path: Path) -> None:
    pack(tmp_path / "a.zip", {"r.csv": RATINGS * 50})
    whole = bytearray((tmp_path / "a.zip").read_bytes())
    whole[60:70] = b"\xff" * 10
    (tmp_path / "a.zip").write_bytes(whole)
    with pytest.raises(InputError, match="damaged or cut short"):
        load(Data(file="a.zip"), tmp_path)


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setattr(standard_input, "_copies", [])
    yield monkeypatch
    for copy in standard_input._copies:
        copy.unlink()


def archive_of(text: str) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("r.csv", text)
    return kept.getvalue()


@pytest.mark.parametrize(
    "content",
    [RATINGS.encode(), gzip.compress(RATINGS.encode()), LINES.encode(), archive_of(RATINGS)],
    ids=["csv", "gz", "jsonl", "zip"],
)
def test_standard_input(content: bytes, piped: pytest.MonkeyPatch, tmp_path: Path) -> None:
    piped.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    check("-", tmp_path)
    check("-", tmp_path)  # the same data, read once
    assert Path(find_on_disk("-")).name.startswith("stdin.")


def test_a_terminal_gives_nothing(piped: pytest.MonkeyPatch) -> None:
    piped.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="nothing does; pipe it in"):
        load(Data(file="-"))
