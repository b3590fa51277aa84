"""Problem files: what is read is what was written."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.application.origin import SECTIONS
from folkmoot.application.problem import Problem
from folkmoot.application.template import make_template
from folkmoot.application.toml import as_toml
from folkmoot.cli.flags import FLAGS
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Data


@given(st.one_of(st.text(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.booleans()))
def test_values_are_written_as_toml_reads_them(value: object) -> None:
    assert tomllib.loads(f"x = {as_toml(value)}") == {"x": value}


def test_a_problem_is_written_and_read_again(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "client": 'a "quoted" name',
        "reach": 2.5,
        "bins": 7,
        "choose": 3,
        "limits": [{"at_most": 2, "per": "genre"}, {"at_most": 1, "per": "region", "within": "country"}],
        "method": "discrete",
        "jury": 50,
        "settings": {"importance": "uniform", "expected_answers": 20},
        "dropout": 0.1,
        "title": "Clinics\nfor all",
        "png": True,
        "seed": 9,
    }
    whole = Problem.from_data(tmp_path / "people.csv", **changes)
    path = tmp_path / "problem.toml"
    path.write_text(whole.to_toml())
    again = Problem.load(path)
    assert again == whole
    assert (again.choose.count, again.method.name, again.seed) == (3, "discrete", 9)


def test_the_example_is_a_problem_and_says_everything(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(make_template(Data(file="ratings.csv", items="movies.csv", least=4.0)))
    problem = Problem.load(path)
    assert problem.data == Data(file=str(tmp_path / "ratings.csv"), items=str(tmp_path / "movies.csv"), least=4.0)
    assert problem.choose.count == 20
    for section, kind in SECTIONS.items():
        assert f"[{section}]" in path.read_text()
        for one in fields(kind):
            assert f"{one.name} = " in path.read_text()


def test_every_line_of_the_example_can_be_switched_on(tmp_path: Path) -> None:
    """Comments that hold a setting are settings that can be read."""
    lines = make_template(Data(file="ratings.csv")).splitlines()
    known = {one.name for kind in SECTIONS.values() for one in fields(kind)}
    on = [line.removeprefix("# ") if line[2:].split(" = ")[0] in known else line for line in lines]
    on = [line.removeprefix("# ") if line.startswith("# [") else line for line in on]
    document = tomllib.loads("\n".join(on))
    assert set(document) == {"seed", *SECTIONS}
    for section, kind in SECTIONS.items():
        table = document[section][0] if section == "limit" else document[section]
        assert set(table) == {one.name for one in fields(kind)}
    (tmp_path / "on.toml").write_text("\n".join(on))
    assert Problem.load(tmp_path / "on.toml").seed == 0


def test_names_of_files_are_told_from_where_the_problem_is(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "p.toml"
    path.write_text('[data]\nfile = "x.csv"\n[output]\nfolder = "out"\n')
    problem = Problem.load(path)
    assert problem.data.file == str(tmp_path / "deep" / "x.csv")
    assert Path(problem.output.folder or "") == tmp_path / "deep" / "out"
    overridden = Problem.load(path, items="here.csv", folder="there")
    assert (overridden.data.items, overridden.output.folder) == ("here.csv", "there")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[data]\nfile = "x"\n\n[method]\n"rounds" = "x"\n', 5),
        ("[data]\n  file   =  3\n", 2),
        ('[data]\nfile = "x"\n[[limit]]\nat_most = 1\nper = "a"\n[[limit]]\nat_most = "x"\nper = "b"\n', 7),
        ('[data]\nfile = "x"\n[[limit]]\nat_most = 1\nper = "a"\n[[limit]]\nat_most = 2\n', 6),
    ],
)
def test_the_line_is_the_right_one(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=f"^{path}, line {line}: "):
        Problem.load(path)


@pytest.mark.parametrize("text", ["data = 3\n", "limit = 3\n", '[data]\nfile = "x"\n[limit]\nat_most = 1\n'])
def test_sections_are_tables(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="must be a table"):
        Problem.load(path)


def test_what_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"\xff\xfe\x00x")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        Problem.load(path)


def raise_for(problem: Problem, error: InputError, **where: Any) -> str:
    with pytest.raises(InputError) as raised, problem.locate_errors(**where):
        raise error
    return str(raised.value)


def test_errors_elsewhere_find_their_line_by_their_argument_alone(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(
        '[data]\nfile = "x.csv"\nvalue = "stars"\n[method]\nbits = 3\n'
        '[[limit]]\nat_most = 1\nper = "a"\n[[limit]]\nat_most = 2\nper = "b"\n'
    )
    problem = Problem.load(path, cohort=5, limits=[{"at_most": 1, "per": "c"}])
    about = InputError("no", argument="value", place="x.csv", remedy="say which", settings=[("value", "rating")])
    assert raise_for(problem, about) == f'{path}, line 3: value: x.csv: no; say which: value = "rating"'
    assert raise_for(problem, InputError("no", argument="bits"), also=["bits"]) == f"{path}, line 5: bits: no"
    assert raise_for(problem, InputError("no", argument="per"), number=1) == f"{path}, line 11: per: no"
    # what was given beside the file is told by its name, what is quoted is not searched for
    assert raise_for(problem, InputError("no", argument="cohort")) == "cohort: no"
    assert raise_for(problem, InputError("no", argument="per"), number=2) == "limits[0]['per']: no"
    assert raise_for(problem, InputError("what is 'stars'")) == "what is 'stars'"
    assert raise_for(problem, InputError("value: no")) == "value: no"


def test_settings_are_called_as_whoever_made_them_calls_them() -> None:
    problem = Problem.from_data("x.csv", choose=2)
    error = InputError("no", argument="count", remedy="try", settings=[("missing", "drop"), ("client", ...)])
    assert raise_for(problem, error) == "choose: no; try: missing='drop' or client=…"
    assert raise_for(problem, InputError("no", argument="bits"), also=["bits"]) == "settings['bits']: no"
    shell = Problem.from_data_in_words("x.csv", {}, FLAGS)
    assert raise_for(shell, error) == "--choose: no; try: --missing drop or --client …"
    assert raise_for(shell, InputError("no", argument="bits"), also=["bits"]) == "--set bits: no"
    assert raise_for(shell, InputError("no", argument="items_id")) == "--items-id: no"
    assert raise_for(shell, InputError("there is no file x.csv", argument="file")) == "there is no file x.csv"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"cohrt": 3}, "^cohrt: is no setting; did you mean 'cohort'"),
        ({"choose": "two"}, "^choose: needs a whole number, got 'two'"),
        ({"method": "fedgc"}, "^method: may be auto, .*did you mean 'fedcg'"),
        ({"name": 3}, "^name: needs text, got 3"),
        ({"limits": {"per": "x"}}, "^limits: needs a list such as"),
        ({"limits": [{"at_most": "x", "per": "a"}]}, r"^limits\[0\]\['at_most'\]: needs a whole number, got 'x'"),
        ({"limits": [{"at_most": 1, "pr": "a"}]}, r"^limits\[0\]\['pr'\]: a limit has at_most, per, within, not 'pr'"),
        ({"limits": [{"at_most": 1}]}, r"^limits\[0\]\['per'\]: is needed: column"),
        ({"settings": 3}, "^settings: needs names and values"),
        ({"seed": -1}, "^seed: needs a whole number of at least 0, got -1"),
    ],
)
def test_wrong_keywords_are_named(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Problem.from_data("x.csv", **changes)


@pytest.mark.parametrize("given", ["ward, a b", ["ward", "a b"], ("ward", "a b")])
def test_lists_of_names(given: Any, tmp_path: Path) -> None:
    whole = Problem.from_data(tmp_path / "x.csv", drop=given)
    assert whole.data.drop == ("ward", "a b")
    (tmp_path / "p.toml").write_text(whole.to_toml())
    assert Problem.load(tmp_path / "p.toml") == whole
    with pytest.raises(InputError, match=r"^drop: needs a list of names, got \[3\]"):
        Problem.from_data("x.csv", drop=[3])


@pytest.mark.parametrize("path", [3, None])
def test_a_problem_has_a_path(path: Any) -> None:
    with pytest.raises(InputError, match=r"^path: needs the name of a file"):
        Problem.load(path)
    with pytest.raises(InputError, match=r"^file: needs the name of a file"):
        Problem.from_data(path)


def test_a_single_limit_is_given_by_its_parts() -> None:
    """As on the command line; `limits` is for several."""
    problem = Problem.from_data("x.csv", choose=4, at_most=1, per="region", within="country")
    assert problem == Problem.from_data(
        "x.csv", choose=4, limits=[{"at_most": 1, "per": "region", "within": "country"}]
    )
    both = Problem.from_data("x.csv", choose=4, at_most=1, per="region", limits=[{"at_most": 2, "per": "country"}])
    assert [limit.per for limit in both.limits] == ["country", "region"]
    with pytest.raises(InputError, match=r"limits\[0\]\['per'\]: is needed: column of the items file"):
        Problem.from_data("x.csv", choose=4, at_most=2)
