"""Tables of several sites: which columns are features, and what becomes of rare values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.data import Data, load
from folkmoot.data.records import LoadedTable
from folkmoot.foundation.errors import InputError
from folkmoot.objectives import Information
from tests.data.writing import loaded

ROWS = 240


def register(rows: int = ROWS) -> str:
    """Stays in three hospitals: two ids, a row number, a code written as a number, a text with many rare values."""
    rng = np.random.default_rng(0)
    lines = ["row,stay_id,patientNbr,hospital,ward_code,diagnosis_text,age,back"]
    for row in range(rows):
        back, code = int(rng.integers(2)), int(rng.zipf(1.4))
        lines.append(
            f"{row},{rng.integers(10**6)},{row * 7 + 5},{'ABC'[row % 3]},{1 + row % 9},"
            f"{f'd{code}' if code < 40 else '?'},{int(rng.integers(20, 90)) + 5 * back},{back}"
        )
    return "\n".join(lines) + "\n"


def read(folder: Path, **settings: Any) -> LoadedTable:
    found = loaded(folder, register(), "stays.csv", target="back", missing="category", **settings)
    assert isinstance(found, LoadedTable)
    return found


def test_ids_are_left_out_and_codes_are_categories(tmp_path: Path) -> None:
    table = read(tmp_path)
    assert table.items.names == ("ward_code", "diagnosis_text", "age")
    assert "Left out, because they are ids: row, stay_id and patientNbr." in table.notes
    assert "Taken for categories, because their names say that they are codes: ward_code." in table.notes
    assert table.objective.arity[:, 0].tolist() == [3, 3, 3]  # 9 wards, 3 at each hospital: not cut into bins
    assert table.objective.arity[:, 2].tolist() == [5, 5, 5]


def test_columns_are_dropped_or_read_as_categories(tmp_path: Path) -> None:
    table = read(tmp_path, drop=("Ward code", "diagnosis_text"), category=("age", "row"))
    assert table.items.names == ("row", "age")  # what is called a category is wanted, whatever it looks like
    assert (table.objective.arity[:, 1] > 20).all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"drop": ("wrd_code",)}, r"^drop: stays.csv has no column wrd_code \(did you mean ward_code\?\)"),
        ({"drop": ("back",)}, "^drop: back is no feature, and it is needed"),
        ({"drop": ("hospital",)}, "^drop: hospital is no feature, and it is needed"),
        ({"category": ("nothing",)}, "^category: stays.csv has no column nothing"),
        ({"drop": ("ward_code", "diagnosis_text", "age")}, "there is no feature besides hospital and back"),
        ({"merge_rare": -1}, "^merge_rare: needs a whole number of at least 0"),
        ({"kind": "memberships", "item": "ward_code", "drop": ("age",)}, "^drop: is for tables, not for memberships"),
    ],
)
def test_what_cannot_be(settings: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        read(tmp_path, **settings)


def test_rare_values_are_merged_at_each_site_by_its_own_rows(tmp_path: Path) -> None:
    """By definition: within a hospital, every value with fewer than 8 rows is the same one."""
    plain, merged = read(tmp_path), read(tmp_path, merge_rare=8)
    start = 0
    for rows in plain.records.sizes:
        before, after = (table.records.codes[start : start + rows, 1] for table in (plain, merged))
        counts = dict(zip(*np.unique(before, return_counts=True), strict=True))
        rare = np.array([counts[code] < 8 for code in before])
        assert 1 < len(counts) < rows
        assert len(np.unique(after[rare])) == 1
        assert not np.isin(after[~rare], after[rare]).any()
        assert (after[~rare] == before[~rare]).all()
        start += rows
    assert (merged.records.codes[:, 2] == plain.records.codes[:, 2]).all()  # bins of numbers stay
    assert "Values that fewer than 8 rows of a site have were made one value there: diagnosis_text." in merged.notes
    assert read(tmp_path, merge_rare=0).notes == read(tmp_path, merge_rare=1).notes == plain.notes


def test_what_merging_will_give_is_known_before(tmp_path: Path) -> None:
    plain = read(tmp_path)
    for least in (0, 2, 5, 20, 100):
        assert (plain.records.count_values(least) == read(tmp_path, merge_rare=least).objective.arity).all()
        later = plain.merge_rare(least)
        assert (later.objective.arity == plain.records.count_values(least)).all()
        assert later.objective.mean_values([0, 1]) == read(tmp_path, merge_rare=least).objective.mean_values([0, 1])


def test_a_site_alone_merges_what_it_merges_among_others(tmp_path: Path) -> None:
    """Nothing of other sites is needed, so a federation gives the same: its party has its own rows and the number."""
    whole = read(tmp_path, merge_rare=8)
    rows = register().splitlines()
    own = "\n".join([rows[0], *(row for row in rows[1:] if row.split(",")[3] == "B")])
    path = tmp_path / "own.csv"
    path.write_text(own)
    alone = load(
        Data(file=str(path), target="back", client="hospital", missing="category", merge_rare=8, drop=("row", "age"))
    )
    assert alone.objective.mean_values([0, 1]) == pytest.approx(whole.objective[[1]].mean_values([0, 1]))


def test_errors_name_the_site_and_the_columns() -> None:
    table = np.stack([np.arange(10)] * 18, axis=1)
    names: dict[str, Any] = {"item_names": [f"column {at}" for at in range(17)], "client_names": ["north"]}
    with pytest.raises(InputError, match=r"joint states at client north \(column 0 has 10 values, column 1 has 10 val"):
        Information([table], 17, **names).values(range(17))


def test_labels_count_too() -> None:
    """A joint state has a number for each label: with many labels, fewer columns fit into memory."""
    rng = np.random.default_rng(0)
    features = rng.integers(0, 4, (4096, 12))
    few, many = (Information([features], [rng.integers(0, count, 4096)]) for count in (2, 2048))
    assert few.largest_set == 11
    assert many.largest_set == 7  # 4^7 states of 2,048 labels are 2^25 numbers


def codes(sites: int = 3, rows: int = 300, kinds: int = 200) -> str:
    """A code that is random, and a ward that says something, at several hospitals."""
    rng = np.random.default_rng(1)
    lines = ["hospital,icd,ward,outcome"]
    for row in range(sites * rows):
        outcome = int(rng.integers(2))
        lines.append(f"H{row % sites},c{rng.integers(kinds)},w{(outcome + rng.integers(2)) % 3},{outcome}")
    return "\n".join(lines) + "\n"


def test_a_column_with_nearly_as_many_values_as_rows_may_tell_by_chance(tmp_path: Path) -> None:
    noisy = loaded(tmp_path, codes())
    (said,) = [note for note in noisy.notes if "chance" in note]
    assert said.startswith("icd has 1")
    assert " values in 300 rows of H" in said
    assert "--merge-rare 10" in said
    for quiet in (loaded(tmp_path, codes(), merge_rare=10), loaded(tmp_path, codes(kinds=15))):
        assert not [note for note in quiet.notes if "chance" in note]


def test_a_site_that_loses_all_its_rows_is_named(tmp_path: Path) -> None:
    text = "hospital,a,b,outcome\n" + "".join(
        f"{site},{row % 2},{'' if site == 'Klinik Süd' else row % 3},{row % 2}\n"
        for row in range(12)
        for site in ("Oslo", "Klinik Süd")
    )
    told = loaded(tmp_path, text, missing="drop")
    assert told.objective.n_clients == 1
    assert "No row of Klinik Süd is left: b is missing in all of them (--drop b)." in told.notes
    assert loaded(tmp_path, text, missing="drop", drop=("b",)).objective.n_clients == 2
    both = loaded(tmp_path, text, missing="category")
    assert both.objective.n_clients == 2
    assert not [note for note in both.notes if note.startswith("No row of")]


def test_a_site_that_loses_its_rows_for_several_reasons_is_named(tmp_path: Path) -> None:
    told = loaded(tmp_path, "hospital,a,b,outcome\nX,1,2,0\nX,2,1,1\nY,,1,0\nY,1,,1\nZ,1,1,\n", missing="drop")
    assert "No row of Y is left: each lacks something." in told.notes
    assert "No row of Z is left: outcome is missing in all of them." in told.notes
    many = "".join(f"S{at},,1,0\n" for at in range(5))
    told = loaded(tmp_path, f"hospital,a,b,outcome\nX,1,2,0\nX,2,1,1\n{many}", missing="drop")
    assert len([note for note in told.notes if note.startswith("No row of")]) == 3
    assert "No row is left of 2 other sites either." in told.notes
