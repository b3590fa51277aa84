"""A report is never made of a result that its sums and its data do not give."""

import json
import shutil
from pathlib import Path

import pytest

import folkmoot as fm
from folkmoot.application.folder import Folder
from folkmoot.application.run import open_run
from folkmoot.foundation.errors import TranscriptError
from tests.cli.calling import films, folkmoot, ratings

pytest.importorskip("vl_convert", reason="pages need vl-convert-python")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a report, made once."""
    folder = tmp_path_factory.mktemp("original")
    ratings(folder)
    fm.Problem.from_data(folder / "ratings.csv", choose=5, seed=5, folder=folder / "run").run()
    return folder


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Folder:
    """A copy of its folder; the data stays where it is."""
    return Folder(shutil.copytree(original / "run", tmp_path / "run"))


@pytest.mark.parametrize(("command", "more"), [("report", "--markdown"), ("resume", "--quiet"), ("resume", "--json")])
def test_no_report_tells_a_result_that_the_data_does_not_give(run: Folder, command: str, more: str) -> None:
    before = run.report.read_text()
    document = json.loads(run.result.read_text())
    run.result.write_text(json.dumps({**document, "value": 4.99}))
    said = folkmoot(run.path.parent, command, "run", more)
    assert said.code == 1
    assert said.err == "folkmoot: run/result.json: is not what the data gives\n"
    assert not said.out
    assert run.report.read_text() == before


def test_without_the_data_a_report_tells_what_the_sums_say(original: Path, run: Folder) -> None:
    aside = (original / "ratings.csv").rename(original / "gone.csv")
    try:
        document = json.loads(run.result.read_text())
        run.result.write_text(json.dumps({**document, "gains": [one * 2 for one in document["gains"]]}))
        with pytest.raises(TranscriptError, match=r"result.json: is not the result of its transcript"):
            open_run(run.path).write_report()
    finally:
        aside.rename(original / "ratings.csv")


def test_a_central_result_is_computed_again_for_its_report(tmp_path: Path) -> None:
    ratings(tmp_path)
    done = fm.Problem.from_data(tmp_path / "ratings.csv", choose=2, method="greedy", folder=tmp_path / "run").run()
    open_run(done.folder.path).write_report()
    document = json.loads(done.folder.result.read_text())
    done.folder.result.write_text(json.dumps({**document, "upper_bound": document["value"], "ratio": 1.0}))
    with pytest.raises(TranscriptError, match=r"result.json: is not what the data gives"):
        open_run(done.folder.path).write_report()


@pytest.mark.parametrize("command", ["report", "resume"])
def test_a_transcript_that_is_gone_is_missed(run: Folder, command: str) -> None:
    run.transcript.unlink()
    said = folkmoot(run.path.parent, command, "run")
    assert (said.code, said.err) == (1, "folkmoot: run/transcript: is missing\n")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("command", ["report", "verify"])
def test_what_is_no_number_is_damage(run: Folder, value: str, command: str) -> None:
    document = json.loads(run.result.read_text())
    text = json.dumps({**document, "value": 123456.5}).replace("123456.5", value)
    run.result.write_text(text)
    said = folkmoot(run.path.parent, command, "run")
    assert said.code == 1
    assert said.err.startswith("folkmoot: run/result.json: is damaged")


def test_a_run_of_another_version_is_told_and_not_checked(run: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.application.derivation.__version__", "99.0")
    assert "but this is 99.0: the report does not say" in open_run(run.path).write_report().lacking


def test_verify_misses_what_is_gone_before_it_reads_anything(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--no-report", "--quiet").code == 0
    said = folkmoot(tmp_path, "verify", "ratings-run", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")
    file.write_text(file.read_text() + "1,1,-3\n")
    said = folkmoot(tmp_path, "verify", "ratings-run")
    assert (said.code, said.err) == (1, f"folkmoot: {file}: is not the file that this run was begun with\n")
    file.unlink()
    said = folkmoot(tmp_path, "verify", "ratings-run")
    assert said.code == 2
    assert said.err.endswith("; --sums-only verifies from the transcript alone\n")
    assert folkmoot(tmp_path, "verify", "ratings-run", "--sums-only").code == 0
    (tmp_path / "ratings-run" / "transcript").unlink()
    said = folkmoot(tmp_path, "verify", "ratings-run", "--sums-only")
    assert (said.code, said.err) == (1, "folkmoot: ratings-run/transcript: is missing\n")


def test_a_folder_that_may_not_be_written_is_wrong_input(run: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, _content: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("folkmoot.application.folder.write", refuse)
    for command in ("report", "resume"):
        said = folkmoot(run.path.parent, command, "run", "--quiet")
        assert said.code == 2
        assert said.err.startswith("folkmoot: run/about.json: cannot be written (permission denied)")


def test_a_quiet_report_says_only_where_it_is(original: Path, run: Folder) -> None:
    aside = (original / "ratings.csv").rename(original / "gone.csv")
    try:
        said = folkmoot(run.path.parent, "report", "run", "--quiet")
    finally:
        aside.rename(original / "ratings.csv")
    assert (said.code, said.out) == (0, "run/report.html\n")


def test_fewer_than_asked_for_are_said_to_be_so(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    words = ("run", "ratings.csv", "--items", "movies.csv", "--choose", "8", "--at-most", "1", "--per", "genres")
    said = folkmoot(tmp_path, *words, "--markdown")
    assert said.code == 0, said.err
    told = "8 were asked for; the limits allow 2."
    assert told in said.out
    assert told in (tmp_path / "ratings-run" / "report.md").read_text()
