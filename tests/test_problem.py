"""Problem files: what is read is what was written."""

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.application.problem import SECTIONS, ProblemText, as_toml, assemble, example, read
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Data


@settings(deadline=None, derandomize=True)
@given(st.one_of(st.text(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.booleans()))
def test_values_are_written_as_toml_reads_them(value: object) -> None:
    assert tomllib.loads(f"x = {as_toml(value)}") == {"x": value}


def test_a_problem_is_written_and_read_again(tmp_path: Path) -> None:
    given_: dict[str, dict[str, Any]] = {
        "data": {"client": 'a "quoted" name', "reach": 2.5, "bins": 7},
        "choose": {"count": 3},
        "limits": {"0": {"at_most": 2, "per": "genre"}, "1": {"at_most": 1, "per": "region", "within": "country"}},
        "method": {"name": "discrete", "jury": 50},
        "settings": {"importance": "uniform", "expected_answers": 20},
        "privacy": {"dropout": 0.1, "curious": True},
        "output": {"title": "Clinics\nfor all", "png": True},
        "run": {"seed": 9},
    }
    whole = assemble({"data": {"file": str(tmp_path / "people.csv")}}, given_, ProblemText(None, "", {}))
    path = tmp_path / "problem.toml"
    path.write_text(whole.written())
    again = read(path)
    for name in (one.name for one in fields(whole) if one.name != "source"):
        assert getattr(again, name) == getattr(whole, name)


def test_the_example_is_a_problem_and_says_everything(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(example(Data(file="ratings.csv", items="movies.csv", least=4.0)))
    problem = read(path)
    assert problem.data == Data(file=str(tmp_path / "ratings.csv"), items=str(tmp_path / "movies.csv"), least=4.0)
    assert problem.choose.count == 20
    for section, kind in SECTIONS.items():
        assert f"[{section}]" in path.read_text()
        for one in fields(kind):
            assert f"{one.name} = " in path.read_text()


def test_every_line_of_the_example_can_be_switched_on() -> None:
    """Comments that hold a setting are settings that can be read."""
    lines = example(Data(file="ratings.csv")).splitlines()
    known = {one.name for kind in SECTIONS.values() for one in fields(kind)}
    on = [line.removeprefix("# ") if line[2:].split(" = ")[0] in known else line for line in lines]
    on = [line.removeprefix("# ") if line.startswith("# [") else line for line in on]
    document = tomllib.loads("\n".join(on))
    assert set(document) == {"seed", *SECTIONS}
    for section, kind in SECTIONS.items():
        table = document[section][0] if section == "limit" else document[section]
        assert set(table) == {one.name for one in fields(kind)}
    assemble(document, {}, ProblemText(None, "", {}))


def test_names_of_files_are_told_from_where_the_problem_is(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "p.toml"
    path.write_text('[data]\nfile = "x.csv"\n[output]\nfolder = "out"\n')
    problem = read(path)
    assert Path(problem.data.file) == tmp_path / "deep" / "x.csv"
    assert Path(problem.output.folder or "") == tmp_path / "deep" / "out"
    overridden = read(path, {"data": {"items": "here.csv"}, "output": {"folder": "there"}})
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
        read(path)


@pytest.mark.parametrize("text", ["data = 3\n", "limit = 3\n", '[data]\nfile = "x"\n[limit]\nat_most = 1\n'])
def test_sections_are_tables(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="must be a table"):
        read(path)


def test_what_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"\xff\xfe\x00x")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        read(path)


def test_errors_elsewhere_find_their_line(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('[data]\nfile = "x.csv"\nvalue = "stars"\n')
    problem = read(path)
    with pytest.raises(InputError, match=r"p.toml, line 3: there is no column"), problem.locate_errors("data"):
        raise InputError("value: there is no column")
    with pytest.raises(InputError, match=r"p.toml, line 3: what is 'stars'"), problem.locate_errors("data"):
        raise InputError("what is 'stars'")
    with pytest.raises(InputError, match=r"^something else$"), problem.locate_errors("data"):
        raise InputError("something else")
    options = replace(problem, source=ProblemText(None, "", {}))
    with pytest.raises(InputError, match=r"^--value: no$"), options.locate_errors("data"):
        raise InputError("value: no")
