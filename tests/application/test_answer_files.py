"""The answer as a table: in Python, as CSV and as GeoJSON."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
import scipy.sparse

import folkmoot as fm
from folkmoot.application.answer_files import TABLE, render_map, render_table
from folkmoot.application.folder import Folder
from folkmoot.application.verification import check_run
from folkmoot.conversation.result import Result
from folkmoot.data import Items, load
from folkmoot.foundation.errors import TranscriptError
from tests.cli.calling import films, folkmoot, ratings


def solve(method: Any = None) -> fm.Result:
    """Items are chosen in the order 2, 0, 1."""
    worth = np.array([[0.0, 0.0, 9.0, 0.0], [4.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0]])
    return fm.solve(fm.FacilityLocation(worth, item_names=["a", "b", "c", "d"]), 3, method)


@pytest.mark.parametrize("method", [fm.Greedy(), fm.Auto(), fm.FedCG(rounds=3)])
def test_names_gains_and_order_go_together(method: Any) -> None:
    result = solve(method)
    assert result.order is not None
    assert result.names == tuple("abcd"[item] for item in result.order)
    table = result.table()
    assert table.columns == ["item", "name", "gain", "total"]
    assert tuple(table["item"]) == result.order == result.chosen
    assert tuple(table["gain"]) == result.gains
    assert table["total"][-1] == pytest.approx(result.value)
    if isinstance(method, fm.Greedy):
        assert (result.selected, result.names) == ((0, 1, 2), ("c", "a", "b"))


def test_a_result_without_an_order_has_a_table_too() -> None:
    known = solve(fm.Popularity())
    assert (known.table()["name"].to_list(), known.order) == (["c", "a", "b"], (2, 0, 1))
    table = replace(known, order=None, gains=None, names=("a", "b", "c")).table()
    assert table["name"].to_list() == ["a", "b", "c"]
    assert table["gain"].to_list() == [None] * 3
    assert table.schema["total"] == polars.Float64
    nameless = fm.solve(fm.FacilityLocation(np.eye(3)), 2).table()
    assert (nameless["item"].to_list(), nameless["name"].to_list()) == ([0, 1], [None, None])


def test_pandas_users_have_a_frame() -> None:
    """As the documentation says, with what is installed: `.to_pandas()` of polars would need pyarrow."""
    pandas = pytest.importorskip("pandas")
    words = "pandas.DataFrame({}.to_dict(as_series=False))"
    assert words.format("result.table()") in (Path(__file__).parents[2] / "README.md").read_text()
    assert words.format("table") in (Result.table.__doc__ or "")
    frame = pandas.DataFrame(solve().table().to_dict(as_series=False))
    assert list(frame["name"]) == ["c", "a", "b"]
    assert list(frame["gain"]) == list(solve().gains or ())


def test_results_of_the_former_format_are_read_in_the_new_order() -> None:
    """Their names were those of `selected`."""
    result = solve()
    document = json.loads(result.to_json())
    assert document["format"] == "folkmoot-result-6"
    del document["attributes"]
    former = {**document, "format": "folkmoot-result-5", "names": ["a", "b", "c"]}
    assert Result.from_json(json.dumps(former)) == result
    with pytest.raises(fm.InputError, match="is not a result in the format 'folkmoot-result-6'"):
        Result.from_json(json.dumps({**former, "format": "folkmoot-result-4"}))


def test_attributes_are_part_of_the_table(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--items", "movies.csv", "--choose", "3", "--no-report", "--json")
    assert said.code == 0, said.err
    result = Result.from_json((tmp_path / "ratings-run" / "result.json").read_text())
    assert result == Result.from_json(json.dumps(said.json["result"]))
    table = result.table()
    assert table.columns == ["item", "name", "movieId", "title", "genres", "region", "country", "gain", "total"]
    assert table["name"].to_list() == table["title"].to_list() == [f"Film {item}" for item in result.order or ()]
    written = (tmp_path / "ratings-run" / "answer.csv").read_text()
    assert written == render_table(result)
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["title"] for row in rows] == list(result.names or ())
    assert [float(row["gain"]) for row in rows] == list(result.gains or ())
    assert not (tmp_path / "ratings-run" / "answer.geojson").exists()


def test_columns_that_are_called_as_ours_are_kept(tmp_path: Path) -> None:
    ratings(tmp_path)
    (tmp_path / "movies.csv").write_text("item,name,gain\n" + "".join(f'{film},"F, {film}",x\n' for film in range(10)))
    words = ("--items", "movies.csv", "--items-id", "item", "--choose", "2", "--method", "greedy", "--no-report")
    said = folkmoot(tmp_path, "run", "ratings.csv", *words)
    assert said.code == 0, said.err
    rows = list(csv.DictReader((tmp_path / "ratings-run" / "answer.csv").read_text().splitlines()))
    assert list(rows[0]) == ["item", "name", "item_given", "name_given", "gain_given", "gain", "total"]
    assert rows[0]["name"] == rows[0]["name_given"]


PLACES = "town,lat,lon,population\nNorth,60.0,10.0,500\nSouth,40.0,-5.5,\nLost,,,7\n"


def places(folder: Path) -> None:
    (folder / "towns.csv").write_text(PLACES)
    people = [f"{lat + step / 100},{lon}" for lat, lon in ((60.0, 10.0), (40.0, -5.5)) for step in range(6)]
    (folder / "people.csv").write_text("\n".join(["lat,lon", *people]) + "\n")


def test_places_are_on_a_map(tmp_path: Path) -> None:
    places(tmp_path)
    (tmp_path / "towns.csv").write_text(PLACES.replace("Lost,,,7\n", ""))
    words = ("--items", "towns.csv", "--name", "town", "--reach", "50", "--choose", "2", "--method", "greedy")
    said = folkmoot(tmp_path, "run", "people.csv", *words, "--no-report")
    assert said.code == 0, said.err
    run = tmp_path / "people-run"
    drawn = json.loads((run / "answer.geojson").read_text())
    assert (drawn["type"], set(drawn)) == ("FeatureCollection", {"type", "features"})
    found = {one["properties"]["name"]: one for one in drawn["features"]}
    assert found["South"]["geometry"] == {"type": "Point", "coordinates": [-5.5, 40.0]}  # longitude first
    assert found["North"]["type"] == "Feature"
    assert [one["properties"]["pick"] for one in drawn["features"]] == [1, 2]
    assert found["North"]["properties"]["population"] == 500
    assert found["South"]["properties"]["population"] is None
    assert found["North"]["properties"]["gain"] > 0
    assert {"answer.csv", "answer.geojson"} <= {*check_run(run).checked}
    forged = (run / "answer.geojson").read_text().replace("-5.5", "5.5")
    (run / "answer.geojson").write_text(forged)
    with pytest.raises(TranscriptError, match=r"answer.geojson: is not the answer"):
        check_run(run)


def test_who_is_nowhere_has_no_place() -> None:
    where = np.array([[60.0, 10.0], [np.nan, np.nan]])
    worth = fm.FacilityLocation(np.eye(2), item_names=["North", "Lost"])
    drawn = json.loads(render_map(fm.solve(worth, 2), Items(("North", "Lost"), where)) or "")
    assert [one["geometry"] is None for one in drawn["features"]] == [False, True]
    assert render_map(fm.solve(worth, 2), Items(("North", "Lost"), np.full((2, 2), np.nan))) is None
    assert render_map(fm.solve(worth, 2), Items(("North", "Lost"))) is None


def test_a_run_that_could_not_begin_leaves_nothing(tmp_path: Path) -> None:
    ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "99").code == 2
    assert not Folder(tmp_path / "ratings-run").path.exists()


def test_items_without_names_have_one_number_everywhere(tmp_path: Path) -> None:
    """From 0, as in Python: on the screen, in the report, in both files and in the result."""
    stars = np.random.default_rng(0).integers(0, 6, (30, 8))
    scipy.sparse.save_npz(tmp_path / "stars.npz", scipy.sparse.csr_array(stars))
    said = folkmoot(tmp_path, "run", "stars.npz", "--choose", "3", "--folder", "run", "--no-report")
    assert said.code == 0, said.err
    result = Result.from_json((tmp_path / "run" / "result.json").read_text())
    names = tuple(f"item {item}" for item in result.order or ())
    assert result.names == names
    table = polars.read_csv(tmp_path / "run" / TABLE)
    assert (tuple(table["item"]), tuple(table["name"])) == (result.order, names)
    assert all(name in said.out for name in names)
    assert "numbered from 0" in " ".join(load(tmp_path / "stars.npz").notes)
