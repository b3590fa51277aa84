"""`folkmoot … | head -1`: where nobody reads on, commands end silently, and what they were to write is written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calling import folkmoot, ratings

RUN = ("run", "ratings.csv", "--choose", "3", "--folder", "run")


def call_unread(folder: Path, *words: str, errors: bool = False, buffered: bool = True) -> tuple[int, str]:
    """The exit code and what is on stderr, where stdout (`errors`: and stderr) is a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "folkmoot", *words],
            cwd=folder,
            stdout=writing,
            stderr=writing if errors else subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"},
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    return ended.returncode, ended.stderr or ""


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("words", [("--version",), ("--help",), ("inspect", "--help")])
def test_nobody_reads_on(tmp_path: Path, words: tuple[str, ...], buffered: bool) -> None:
    assert call_unread(tmp_path, *words, buffered=buffered) == (141, "")


def test_nobody_reads_what_is_wrong(tmp_path: Path) -> None:
    assert call_unread(tmp_path, "run", "nothing.csv", errors=True) == (141, "")
    code, said = call_unread(tmp_path, "run", "nothing.csv")
    assert code == 2
    assert said.startswith("folkmoot: there is no file nothing.csv")


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--json",), ("--epsilon", "4", "--most", "5")])
def test_a_run_is_whole_though_nobody_reads_what_it_prints(tmp_path: Path, more: tuple[str, ...]) -> None:
    """With an epsilon, a forecast is printed before anybody is asked."""
    ratings(tmp_path, [f"{user},{film},5" for user in range(100, 1600) for film in (1, 2, 4)])
    assert call_unread(tmp_path, *RUN, *more) == (141, "")
    assert {"result.json", "answer.csv", "report.html"} <= {one.name for one in (tmp_path / "run").iterdir()}
    assert folkmoot(tmp_path, "verify", "run").code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_output_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "folkmoot", "--version"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (1, "folkmoot: the output: No space left on device\n")
