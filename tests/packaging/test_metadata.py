"""What the files beside the package say of it: one version, one licence, the same Pythons everywhere."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import folkmoot

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RELEASED = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)


@pytest.fixture(scope="module")
def citation() -> dict[str, str]:
    """The plain fields of CITATION.cff."""
    return dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))


def test_the_version_is_the_same_everywhere(citation: dict[str, str]) -> None:
    version, date = RELEASED.findall((ROOT / "CHANGELOG.md").read_text())[0]
    assert folkmoot.__version__ == PROJECT["version"] == citation["version"] == version
    assert citation["date-released"] == date


def test_every_version_of_the_changelog_has_a_date() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    released = RELEASED.findall(text)
    assert headings == ["[Unreleased]", *(f"[{version}] - {date}" for version, date in released)]
    dates = [date for _, date in released]
    assert dates == sorted(dates, reverse=True)


def test_the_supported_version_is_this_one() -> None:
    minor = ".".join(folkmoot.__version__.split(".")[:2])
    assert f"| {minor} | yes |" in (ROOT / "SECURITY.md").read_text()


def test_licence_and_authors(citation: dict[str, str]) -> None:
    assert PROJECT["license"] == citation["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text()
    assert "SPDX-License-Identifier: Apache-2.0\n" in text
    (author,) = PROJECT["authors"]
    assert re.search(rf"^Copyright \d{{4}} {author['name']}$", text, re.MULTILINE)
    assert f"  - name: {author['name']}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_python_that_is_named_is_tested() -> None:
    named = [one.split(" :: ")[-1] for one in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", one)]
    (tested,) = re.findall(r"^VERSIONS := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert named == tested.split()
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_extras_of_users_are_not_those_of_developers() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    offered = re.fullmatch(r"folkmoot\[(.+)\]", everything)
    assert offered is not None
    assert set(offered[1].split(",")) == extras.keys() - {"all", "dev"}
    assert "folkmoot[all]" in extras["dev"]


def test_everything_that_is_needed_is_pinned() -> None:
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()}
    wanted = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    names = {re.split(r"[\[>=;]", one)[0].lower() for one in wanted} - {"folkmoot"}
    assert names <= pinned
