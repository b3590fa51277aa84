"""`folkmoot compare`, `inspect`, `init` and `demo`."""

import csv
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from folkmoot.cli.app import app
from folkmoot.demo import SPREAD, homes, places
from folkmoot.foundation.settings import METHODS
from folkmoot.report.stored_story import from_json
from tests.cli.calling import films, folkmoot, ratings

TOWNS = """geonameid,name,country,admin1,lat,lon,population
1,Small,IT,07,41.91,12.51,900
2,Large,IT,07,41.90,12.50,5000
3,Far,IT,20,45.44,12.33,700
4,Abroad,FR,07,44.00,7.00,9000
5,Deserted,IT,15,38.00,13.00,0
"""


def test_methods_are_compared_with_the_same_seeds(tmp_path: Path) -> None:
    ratings(tmp_path)
    words = ("compare", "ratings.csv", "--choose", "3", "--seeds", "2", "--seed", "4", "--cohort", "10")
    said = folkmoot(tmp_path, *words, "--json")
    assert said.code == 0, said.err
    found = said.json["comparison"]
    assert found["seeds"] == [4, 5]
    by_name = {one["name"]: one for one in found["entries"]}
    assert {"fedcg", "fedcg+", "discrete", "greedy", "popularity", "random"} <= set(by_name)
    assert all(len(one["values"]) == 2 for one in by_name.values() if one["name"] != "random")
    assert max(by_name["random"]["values"]) <= max(by_name["greedy"]["values"]) <= found["bound"]
    assert by_name["fedcg"]["smallest"] == 10
    assert by_name["greedy"]["smallest"] is None
    alone = folkmoot(tmp_path, "run", *words[1:4], "--seed", "5", "--cohort", "10", "--json", "--no-report")
    assert alone.json["result"]["value"] == by_name["fedcg"]["values"][1]


def test_a_comparison_is_a_table_and_a_page(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(
        tmp_path, "compare", "ratings.csv", "--choose", "2", "--methods", "fedcg, greedy", "--markdown", "--png"
    )
    assert said.code == 0, said.err
    assert "fedcg" in said.out
    assert "greedy" in said.out
    kept = {path.name for path in (tmp_path / "ratings-compare").iterdir()}
    assert {"comparison.html", "comparison.json", "comparison.md"} < kept
    assert any(name.endswith(".png") for name in kept)


def test_every_method_can_be_compared(tmp_path: Path) -> None:
    ratings(tmp_path)
    words = ("compare", "ratings.csv", "--choose", "2", "--seeds", "1", "--methods", ",".join(METHODS), "--rounds", "5")
    said = folkmoot(tmp_path, *words, "--epsilon", "20", "--most", "5", "--json")
    assert said.code == 0, said.err
    assert [one["name"] for one in said.json["comparison"]["entries"]] == list(METHODS)


def test_inspecting_says_what_there_is_and_what_to_expect(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    said = folkmoot(tmp_path, "inspect", "ratings.csv", "--items", "movies.csv", "--choose", "3", "--json")
    assert said.code == 0, said.err
    told = said.json
    assert (told["kind"], told["clients"], told["items"], told["chosen"]) == ("ratings", 30, 10, 3)
    assert told["taken"]["client"] == "userId"
    assert told["spread"]["largest"] == 5.0
    methods = {one["method"]: one for one in told["methods"]}
    assert methods["greedy"]["ratio"] == 1.0
    assert methods["random"]["ratio"] <= 1.0
    assert methods["fedcg"]["rounds"] > 0
    shown = folkmoot(tmp_path, "inspect", "ratings.csv")
    for words in ("userId", "whole numbers", "FacilityLocation", "γ", "importance", "fedcg+", "Next: folkmoot run"):
        assert words in shown.out


def test_inspecting_shows_faults_and_goes_on(tmp_path: Path) -> None:
    ratings(tmp_path, ["3,4,", "78,4,-2", "0,0,2"])
    told = folkmoot(tmp_path, "inspect", "ratings.csv", "--json").json
    assert {one["what"] for one in told["faults"]} == {"missing", "negative", "duplicates"}
    assert told["methods"]
    shown = folkmoot(tmp_path, "inspect", "ratings.csv")
    assert shown.out.count("!") >= 3
    assert "--duplicates says what to do" in " ".join(shown.out.split())


def test_inspecting_what_nothing_can_be_made_of(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("colour,shape\nred,round\nblue,square\n")
    said = folkmoot(tmp_path, "inspect", "x.csv")
    assert said.code == 2  # inspect FILE && run FILE stops at the first
    assert "Nothing can be chosen from it yet" in said.out
    assert folkmoot(tmp_path, "inspect", "x.csv", "--json").json["methods"] == []


def test_init_writes_a_problem_that_runs(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, "init", "films.toml", "--file", "ratings.csv", "--value", "rating")
    assert said.code == 0
    assert "folkmoot run films.toml" in said.out
    run = folkmoot(tmp_path, "run", "films.toml", "--choose", "2", "--json", "--no-report")
    assert run.code == 0, run.err
    assert folkmoot(tmp_path, "init", "films.toml", "--file", "ratings.csv").code == 2


@pytest.mark.slow
def test_the_demo_is_the_main_job_end_to_end(tmp_path: Path) -> None:
    said = folkmoot(tmp_path, "demo", "--people", "1000", "--clinics", "4", "--seed", "1")
    assert said.code == 0, said.err
    for words in ("Most popular", "Random", "At least", "Answers", "Server saw", "Server learned", "report"):
        assert words in said.out
    story = from_json((tmp_path / "folkmoot-demo" / "run" / "story.json").read_text())
    assert story.secure == "real"
    assert {one.asked for one in story.result.rounds or ()} == {250, 300}  # 1,000 people are heard in four juries
    assert "Up to 300 people are asked at a time" in said.out
    assert story.result.estimate is not None
    assert story.result.estimate.everyone
    assert story.view is not None
    assert not story.view.rehearsed
    assert len(story.chosen) == 4
    assert all(item.latitude is not None for item in (*story.chosen, *story.others))
    assert "GeoNames" in story.credits[0]
    value = {one.name: one.value for one in story.baselines}
    assert value["most popular"] < story.result.value <= value["central greedy"] * 1.01
    page = (tmp_path / "folkmoot-demo" / "run" / "report.html").read_text()
    assert "GeoNames" in page
    assert "people.csv" in {path.name for path in (tmp_path / "folkmoot-demo").iterdir()}
    assert json.loads((tmp_path / "folkmoot-demo" / "run" / "result.json").read_text())["seed"] == 1


def test_homes_are_where_people_are() -> None:
    """Each town's share of 200,000 homes is its share of the population but for five deviations: with 445 towns, a
    chance below 3·10⁻⁴ (the seed is fixed).
    """
    towns = places()
    drawn = homes(towns, 200_000, 0)
    assert (drawn == homes(towns, 200_000, 0)).all()
    rome = towns.filter(towns["name"] == "Rome").row(0, named=True)
    near = np.hypot(drawn[:, 0] - rome["latitude"], (drawn[:, 1] - rome["longitude"]) * np.cos(np.radians(41.9)))
    assert (near < 3 * SPREAD / 111).mean() > 0.9 * rome["population"] / towns["population"].sum()
    assert (drawn.min(axis=0) > [35, 6]).all()
    assert (drawn.max(axis=0) < [48, 19]).all()


def test_the_extract_keeps_the_largest_of_towns_that_are_close(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from scripts import places as script

    (tmp_path / "towns.csv.xz").write_bytes(lzma.compress(TOWNS.encode()))
    monkeypatch.setattr(script, "TARGET", tmp_path / "places.csv")
    script.main(str(tmp_path / "towns.csv.xz"))
    kept = list(csv.DictReader((tmp_path / "places.csv").read_text().splitlines()))
    assert [(row["name"], row["region"], row["latitude"]) for row in kept] == [
        ("Large", "Lazio", "41.9000"),
        ("Far", "Veneto", "45.4400"),
    ]
    assert list(kept[0]) == places().columns


def list_commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, one in getattr(command, "commands", {}).items():
        yield from list_commands(one, (*words, name))


@pytest.mark.parametrize("words", [*list_commands(typer.main.get_command(app))], ids=" ".join)
def test_every_command_shows_its_help_in_full(words: tuple[str, ...], tmp_path: Path) -> None:
    for flag in ("--help", "--help-all"):
        said = folkmoot(tmp_path, *words, flag)
        assert said.code == 0, said.err
        assert "--help-all" in said.out
