"""Wide tables: what would fail or take hours is refused at once, and what is suggested instead works."""

import shlex
from pathlib import Path

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.application.table_costs import count_samples, find_fit, find_most, predict_seconds
from folkmoot.data import Data, load
from folkmoot.data.records import LoadedTable
from folkmoot.foundation.errors import InputError
from tests.cli.calling import folkmoot, is_one_sentence

WORDS = ("stays.csv", "--target", "back", "--bins", "3")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three hospitals, 600 stays each: three diagnoses with hundreds of codes, and twelve other columns."""
    rng, rows = np.random.default_rng(0), 1_800
    back = rng.integers(0, 3, rows)
    columns = {
        "stay_id": rng.permutation(rows) + 10**6,
        "hospital": [f"H{at % 3}" for at in range(rows)],
        **{
            f"diag_{at}": [f"c{code}" for code in rng.integers(0, np.where(rng.random(rows) < 0.6, 12, 400))]
            for at in (1, 2, 3)
        },
        **{f"lab_{at}": rng.normal(back * (at < 4), 1.0, rows).round(3) for at in range(6)},
        **{f"drug_{at}": rng.choice(["no", "up", "down", "?"], rows, p=[0.7, 0.1, 0.1, 0.1]) for at in range(6)},
        "back": np.array(["NO", "<30", ">30"])[back],
    }
    path = tmp_path / "stays.csv"
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return tmp_path


def test_too_many_columns_are_refused_with_site_columns_and_remedy(table: Path) -> None:
    said = folkmoot(table, "run", *WORDS, "--missing", "category", "--choose", "5")
    is_one_sentence(said, "--choose: 5 of these features can have ")
    assert " joint states at hospital H" in said.err
    assert "diag_3 has" in said.err
    assert (
        "and 4,194,304 can be looked at; choose 2 or fewer, or merge or leave out something: --merge-rare " in said.err
    )
    assert said.err.rstrip().endswith("--drop diag_3")
    assert not (table / "stays-run").exists()


def test_every_remedy_works(table: Path) -> None:
    said = folkmoot(table, "run", *WORDS, "--missing", "category", "--choose", "5")
    for way in said.err.rpartition("something: ")[2].split(" or "):
        words = ("run", *WORDS, "--missing", "category", "--choose", "5", *shlex.split(way), "--json", "--no-report")
        again = folkmoot(table, *words)
        assert again.code == 0, again.err
        assert len(again.json["result"]["selected"]) == 5


@pytest.mark.parametrize("more", [(), ("--choose", "5"), ("--choose", "15")])
def test_what_inspecting_suggests_works(table: Path, more: tuple[str, ...]) -> None:
    shown = folkmoot(table, "inspect", *WORDS, *more)
    assert shown.code == 0, shown.err
    assert "Left out, because they are ids: stay_id." in shown.out
    assert "too many to look at" in shown.out
    command = shlex.split(shown.out.rpartition("Next: ")[2])
    assert "--merge-rare" in command
    done = folkmoot(table, *command[1:], "--json", "--no-report")
    assert done.code == 0, done.err
    chosen = len(done.json["result"]["selected"])
    assert chosen == 5 if more == ("--choose", "5") else chosen >= 4
    told = folkmoot(table, "inspect", *WORDS, *more, "--json").json
    assert told["next"]["merge_rare"] > 0
    assert {one["method"] for one in told["methods"] if one["ratio"] is None} <= {"fedcg", "fedcg+"}


def test_methods_that_sample_sets_are_not_begun_if_they_take_hours(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("folkmoot.application.table_costs.MOST_SECONDS", 10.0)
    monkeypatch.setattr("folkmoot.application.inspection.ENOUGH_SAMPLES", 1.0)
    words = ("run", *WORDS, "--missing", "category", "--drop", "diag_1, diag_2", "--drop", "diag_3", "--choose", "6")
    said = folkmoot(table, *words, "--method", "fedcg+")
    is_one_sentence(said, "--method: FedCGPlus(cohort=1000) looks at samples of sets, which could take ")
    told = folkmoot(table, "inspect", *words[1:], "--json").json
    problems = {one["method"]: one["problem"] for one in told["methods"]}
    for name in ("fedcg", "fedcg+"):
        assert problems.pop(name).startswith("not tried, because it samples sets")
    assert not any(problems.values())


def test_predictions_bound_what_is_looked_at() -> None:
    rng = np.random.default_rng(0)
    values, classes = rng.integers(2, 9, (4, 12)), np.array([2, 3, 2, 2])
    for size in (1, 3, 5):
        assert predict_seconds(values, classes, size) < predict_seconds(values, classes, size + 1)
    assert find_most(values, classes, 0.0) == 1
    for method, samples in (
        (fm.FedCGPlus(50), 64 * 50),
        (fm.FedCG(10), 64 * 10),
        (fm.ContinuousGreedy(20), 64 * 20),
        (fm.Auto(), 0),
        (fm.Auto(rounds=2), 64 * 2),
        (fm.Auto(rounds=3), 0),
        (fm.DiscreteGreedy(expected_answers=5), 0),
    ):
        assert count_samples(method, 6) == samples


def test_as_little_as_possible_is_merged(table: Path) -> None:
    loaded = load(Data(file=str(table / "stays.csv"), target="back", missing="category"))
    assert isinstance(loaded, LoadedTable)
    assert find_fit(loaded, 2).least == 0
    fits = [find_fit(loaded, count) for count in (3, 4, 5)]
    assert [fit.count for fit in fits] == [3, 4, 5]
    assert [fit.least for fit in fits] == sorted(fit.least for fit in fits)
    assert fits[0].least > 0
    assert find_fit(loaded, 20).count < 20


def test_python_is_told_too(table: Path) -> None:
    loaded = load(Data(file=str(table / "stays.csv"), target="back", missing="category"))
    with pytest.raises(
        InputError, match=r"matroid: 5 items .* at client H\d \(diag_\d has .*choose 2 or fewer, or merge"
    ):
        fm.solve(loaded.objective, 5)


def test_comparing_leaves_out_what_samples_sets(table: Path) -> None:
    words = ("compare", *WORDS, "--missing", "category", "--merge-rare", "5", "--choose", "5", "--seeds", "1", "--json")
    said = folkmoot(table, *words)
    assert said.code == 0, said.err
    found = said.json["comparison"]
    names = [one["name"] for one in found["entries"]]
    assert names[:1] == ["auto"]
    assert not {"fedcg", "fedcg+"} & set(names)
    assert any(note.startswith("Left out, because they sample sets") for note in found["notes"])
