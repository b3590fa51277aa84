"""Wrong files, columns, flags and values: one sentence, exit code 2, no traceback, nothing half-written."""

from pathlib import Path

import pytest

from folkmoot.version import __version__
from tests.cli.calling import films, folkmoot, is_one_sentence, ratings

RUN = ("run", "ratings.csv")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run",), "Missing argument 'path'; see folkmoot run --help"),
        (("runn", "ratings.csv"), "No such command 'runn'"),
        ((*RUN, "--chose", "2"), "No such option: --chose"),
        ((*RUN, "--choose", "two"), "Invalid value for '--choose'"),
        ((*RUN,), "--choose"),
        ((*RUN, "--choose", "0"), "--choose"),
        ((*RUN, "--choose", "-3"), "--choose"),
        ((*RUN, "--choose", "11"), "--choose"),
        ((*RUN, "--choose", "2", "--method", "fedgc"), "--method: may be auto, fedcg, fedcg+"),
        ((*RUN, "--choose", "2", "--secure", "yes"), "--secure: may be ideal, real, plain, not 'yes'"),
        ((*RUN, "--choose", "2", "--cohort", "0"), "--cohort: needs a whole number of at least 1, got 0"),
        ((*RUN, "--choose", "2", "--seed", "-1"), "--seed: needs a whole number of at least 0, got -1"),
        ((*RUN, "--choose", "2", "--dropout", "1.5"), "--dropout: needs a chance below 1"),
        ((*RUN, "--choose", "2", "--method", "greedy", "--rounds", "3"), "--rounds: the method greedy has ties"),
        ((*RUN, "--choose", "2", "--set", "bits"), "--set: needs NAME=VALUE, got 'bits'"),
        ((*RUN, "--choose", "2", "--set", "bitts=3"), "--set bitts: the method auto has"),
        ((*RUN, "--choose", "2", "--set", "polish=many"), "--set polish: needs a whole number, got 'many'"),
        ((*RUN, "--choose", "2", "--at-most", "1"), "--at-most: needs a --per beside each (1 and 0 were given)"),
        ((*RUN, "--choose", "2", "--within", "country"), "--within: needs groups to lie within it"),
        ((*RUN, "--choose", "2", "--at-most", "1", "--per", "genre"), ""),
        ((*RUN, "--choose", "2", "--items", "movies.csv", "--at-most", "1", "--per", "genre"), ""),
        ((*RUN, "--choose", "2", "--items", "nothing.csv"), "--items: there is no file nothing.csv"),
        ((*RUN, "--choose", "2", "--value", "stars"), "--value: ratings.csv has no column stars"),
        ((*RUN, "--choose", "2", "--kind", "rating"), "--kind: may be ratings"),
        ((*RUN, "--choose", "2", "--secure", "real", "--cohort", "5"), "--cohort: 5 clients are asked in a round"),
        ((*RUN, "--choose", "2", "--folder", "full"), "--folder: full exists and is not empty"),
        ((*RUN, "--choose", "2", "--folder", "ratings.csv"), "--folder: ratings.csv exists and is not empty"),
        (("run", "nothing.csv", "--choose", "2"), "there is no file nothing.csv"),
        (("run", "nothing.toml"), "nothing.toml: no such file or directory"),
        (("run", ".", "--choose", "2"), ""),
        (("run", "empty.csv", "--choose", "2"), "empty.csv"),
        (("run", "holes.csv", "--choose", "2"), "holes.csv: 1 "),
        (("run", "negative.csv", "--choose", "2"), "negative.csv: 1 "),
        (("run", "twice.csv", "--choose", "2"), "twice.csv: 1 "),
        (("inspect", "nothing.csv"), "there is no file nothing.csv"),
        (("compare", "ratings.csv", "--choose", "2", "--methods", "fedcg,best"), "--methods: 'best' is not one of"),
        (("compare", "ratings.csv", "--choose", "2", "--seeds", "0"), "--seeds: needs a whole number of at least 1, got 0"),
        (("report", "nothing"), "nothing: there is no such run"),
        (("resume", "full"), "full: is not the folder of a run"),
        (("verify", "ratings.csv"), "ratings.csv: is not the folder of a run"),
        (("init", "ratings.csv"), "ratings.csv: already exists"),
        (("init", "films.txt"), "films.txt: a problem file ends in .toml"),
        (("demo", "--people", "3"), "--people: needs 1,000 to 1,000,000, got 3"),
        (("demo", "--clinics", "100000"), ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_input_is_one_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    ratings(tmp_path)
    films(tmp_path)
    ratings(tmp_path, ["3,4,"], "holes.csv")
    ratings(tmp_path, ["77,4,-2"], "negative.csv")
    ratings(tmp_path, ["0,0,2"], "twice.csv")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    is_one_sentence(folkmoot(tmp_path, *words), sentence)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("choice", "words"), [("missing", "drop"), ("negative", "zero"), ("negative", "drop"), ("duplicates", "last")]
)
def test_what_to_do_about_it_can_be_said(tmp_path: Path, choice: str, words: str) -> None:
    row = {"missing": "3,4,", "negative": "77,4,-2", "duplicates": "0,0,2"}[choice]
    ratings(tmp_path, [row])
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", f"--{choice}", words, "--no-report", "--json")
    assert said.code == 0, said.err


PROBLEM = """seed = 1

[data]
file = "ratings.csv"
items = "movies.csv"

[choose]
count = 2

[[limit]]
at_most = 1
per = "genres"

[method]
name = "fedcg"
rounds = 3
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("count = 2", "count = ", 8, "invalid value"),
        ("count = 2", 'count = "two"', 8, "count: needs a whole number, got 'two'"),
        ("count = 2", "cuont = 2", 8, "[choose] has count, not 'cuont'; did you mean 'count'?"),
        ("count = 2", "count = 99", 8, ""),
        ("[choose]", "[chose]", 7, "a problem has"),
        ("seed = 1", "seed = -1", 1, "needs a whole number of at least 0"),
        ("seed = 1", "sead = 1", 1, "a problem has seed"),
        ('file = "ratings.csv"', 'file = "ratngs.csv"', 4, ""),
        ('file = "ratings.csv"', 'value = "rating"', 3, "[data] needs `file`"),
        ('items = "movies.csv"', 'items = "movies.csv"\nitem = "movie"', 6, ""),
        ("at_most = 1", "at_most = true", 11, "at_most: needs a whole number, got True"),
        ('per = "genres"', 'pr = "genres"', 12, "[limit] has at_most, per, within, not 'pr'"),
        ('name = "fedcg"', 'name = "fedgc"', 15, "name: may be auto"),
        ('per = "genres"', 'per = "genre"', 12, "no column"),
        ("rounds = 3", "rounds = 0", 16, "needs a whole number of at least 1"),
        ("rounds = 3", "rouns = 3", 16, "the method fedcg has"),
        ("rounds = 3", "bits = 99", 16, "needs a whole number between 1 and 32"),
    ],
)
def test_a_mistake_in_a_problem_file_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, sentence: str
) -> None:
    ratings(tmp_path)
    films(tmp_path)
    assert PROBLEM.count(old) == 1
    (tmp_path / "p.toml").write_text(PROBLEM.replace(old, new))
    said = folkmoot(tmp_path, "run", "p.toml", "--no-report")
    is_one_sentence(said, f"p.toml, line {line}")
    assert sentence in said.err


def test_the_version_and_nothing(tmp_path: Path) -> None:
    assert folkmoot(tmp_path, "--version").out == f"folkmoot {__version__}\n"
    said = folkmoot(tmp_path)
    assert (said.code, said.err) == (2, "")
    assert "demo" in said.out


def test_help_fits_a_screen_and_every_command_has_an_example(tmp_path: Path) -> None:
    said = folkmoot(tmp_path, "--help")
    assert (said.code, said.out.count("\n") <= 40) == (0, True)
    for command in ("demo", "run", "compare", "inspect", "init", "report", "resume", "verify"):
        assert command in said.out
        helped = folkmoot(tmp_path, command, "--help")
        assert f"Example: folkmoot {command}" in " ".join(helped.out.split())
