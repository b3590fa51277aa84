"""What `inspect` suggests is what a run accepts."""

import shlex
from pathlib import Path

import pytest

from tests.cli.calling import films, folkmoot, ratings
from tests.data.test_tables import codes


def follow(folder: Path, *words: str) -> tuple[list[str], str]:
    """The command that a look suggests, after it was carried out; and what the look said."""
    shown = folkmoot(folder, "inspect", "ratings.csv", *words)
    assert shown.code == 0, shown.err
    command = shlex.split(shown.out.rpartition("Next: ")[2])
    assert command[:2] == ["folkmoot", "run"]
    done = folkmoot(folder, *command[1:], "--no-report", "--json")
    assert done.code == 0, done.err
    return command[2:], shown.out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ratings(tmp_path)
    films(tmp_path)
    return tmp_path


def test_noise_that_would_be_refused_is_not_suggested(folder: Path) -> None:
    command, said = follow(folder, "--choose", "2", "--epsilon", "0.01")
    assert float(command[command.index("--epsilon") + 1]) > 0.01
    assert "A run with ε = 0.01 would be refused; what follows is with ε = " in said


def test_where_no_noise_is_possible_none_is_suggested(folder: Path) -> None:
    lines = (folder / "ratings.csv").read_text().splitlines()
    (folder / "ratings.csv").write_text("\n".join(line for line in lines if line.split(",")[0] in ("userId", "3", "4")))
    command, said = follow(folder, "--choose", "2", "--epsilon", "1", "--delta", "0.001")
    assert "Noise is not possible" in said
    assert not {"--epsilon", "--delta"} & set(command)


def test_noise_that_is_possible_stays(folder: Path) -> None:
    command, said = follow(folder, "--choose", "2", "--epsilon", "9")
    assert sorted(command) == sorted(["ratings.csv", "--choose", "2", "--epsilon", "9", "--most", "5"])
    assert "would be refused" not in said


def test_a_largest_value_fits_the_data(folder: Path) -> None:
    text = (folder / "ratings.csv").read_text()
    (folder / "ratings.csv").write_text(text + "3,9,8\n")
    command, _ = follow(folder, "--choose", "2", "--epsilon", "9")
    assert command[command.index("--most") + 1] == "8"


@pytest.mark.parametrize("words", [("--choose", "10"), ("--items", "movies.csv", "--at-most", "9", "--per", "genres")])
def test_to_choose_everything_is_not_suggested(folder: Path, words: tuple[str, ...]) -> None:
    command, said = follow(folder, *words)
    assert command[command.index("--choose") + 1] == "5"
    assert "All 10 movies would be chosen" in said


def test_limits_are_suggested_as_they_were_given(folder: Path) -> None:
    words = ("--items", "movies.csv", "--at-most", "1", "--per", "region", "--within", "country")
    command, _ = follow(folder, *words)
    assert command == ["ratings.csv", *words]


def test_what_is_wrong_with_the_file_is_mended(tmp_path: Path) -> None:
    ratings(tmp_path, ["3,4,", "78,4,-2", "0,0,2"])
    command, _ = follow(tmp_path)
    assert {"--missing", "--negative", "--duplicates"} <= set(command)


@pytest.mark.parametrize(("value", "rule"), [("quantity", "sum"), ("HoursPlayed", "sum"), ("rating", "first")])
def test_amounts_add_up_where_a_client_has_an_item_twice(value: str, rule: str, folder: Path) -> None:
    text = (folder / "ratings.csv").read_text()
    head, _, rows = text.partition("\n")
    (folder / "ratings.csv").write_text(f"{head.replace('rating', value)}\n{rows.rstrip()}\n{rows.split()[0]}\n")
    command, _ = follow(folder, "--choose", "2", "--value", value)
    assert command[command.index("--duplicates") + 1] == rule


def test_rare_values_are_merged_where_a_column_tells_by_chance(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(codes())
    command, said = follow(tmp_path)
    assert command[command.index("--merge-rare") + 1] == "10"
    assert "! icd has 1" in said
    assert "300 rows each; outcome has 2 values." in " ".join(said.split())


def test_a_reach_is_suggested_for_places(tmp_path: Path) -> None:
    """Where a file has two positions, the longitude is the one beside the given latitude; in both files."""
    head = "pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude"
    rows = [f"{at / 100},{at / 100},{at / 50},{at / 50}" for at in range(1, 41)]
    (tmp_path / "ratings.csv").write_text("\n".join([head, *rows]) + "\n")
    (tmp_path / "stands.csv").write_text("\n".join([head, *rows[::4]]) + "\n")
    command, said = follow(tmp_path, "--items", "stands.csv", "--latitude", "pickup_latitude")
    assert "--reach" in command
    assert "pickup_longitude" in said


def test_one_of_anything_is_not_many(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("user,film,stars\n1,a,5\n")
    said = folkmoot(tmp_path, "inspect", "ratings.csv").out
    assert "ratings.csv, 1 row\n" in said
    assert "1 user, 1 film; 1 entry each; every value is 5." in " ".join(said.split())
