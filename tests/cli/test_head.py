"""What stands above everything else on a terminal: the verdict, limits and their use, whether it was a simulation."""

from pathlib import Path

import pytest

from tests.cli.calling import Said, films, folkmoot, ratings

RUN = ("run", "ratings.csv", "--items", "movies.csv", "--choose", "3")


def call(folder: Path, *words: str) -> Said:
    ratings(folder)
    films(folder)
    said = folkmoot(folder, *RUN, *words)
    assert said.code == 0, said.err
    return said


def head(said: Said) -> str:
    """All that comes before the table of facts, as one line."""
    return " ".join(said.out.split("Value ")[0].split())


def test_a_verdict_comes_first(tmp_path: Path) -> None:
    said = call(tmp_path)
    assert said.out.splitlines()[1] == "32\u202f% above the most popular movies."
    assert call(tmp_path, "--json", "--no-report").json["verdict"] == "32\u202f% above the most popular movies."
    said = call(tmp_path, "--method", "popularity", "--no-report")
    assert said.out.splitlines()[1] == "These are the most popular movies."


def test_limits_stand_under_the_title_with_their_use(tmp_path: Path) -> None:
    said = call(tmp_path, "--at-most", "2", "--per", "genres", "--markdown")
    sentence = (
        "At most 2 per genre (of several, the first counts: “Comedy|War” is Comedy): Drama 2 of 2, Comedy 1 of 2."
    )
    assert sentence in head(said)
    assert "Comedy (also War)" in said.out
    marked = (tmp_path / "ratings-run" / "report.md").read_text()
    assert sentence in marked.split("| Fact |")[0].replace("\\|", "|")
    assert "**Comedy** (also War)" in marked
    assert "<strong>" in (tmp_path / "ratings-run" / "report.html").read_text()
    assert "At most 1 per region within country: " in head(
        call(tmp_path, "--at-most", "1", "--per", "region", "--within", "country", "--no-report")
    )


def test_items_without_a_group_are_told(tmp_path: Path) -> None:
    ratings(tmp_path)
    lines = [f"{film},Film {film},{'War' if film == 2 else ''}" for film in range(10)]
    (tmp_path / "movies.csv").write_text("\n".join(["movieId,title,genres", *lines]) + "\n")
    said = folkmoot(tmp_path, *RUN, "--at-most", "1", "--per", "genres", "--no-report", "--method", "greedy")
    assert "At most 1 per genre: War 1 of 1, 2 without genres, which the limit does not count." in head(said)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "This was a simulation: all users were in one process, nothing was masked, and whoever ran it could read"),
        (("--secure", "real", "--cohort", "25", "--rounds", "2"), "This was a simulation: secure aggregation was run"),
        (
            ("--secure", "plain"),
            "The answers were added up in the clear: whoever ran this could read every one of them",
        ),
        (("--method", "greedy"), "Nothing was hidden: the method read the data of all users in one place."),
    ],
)
def test_a_simulation_is_called_one(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in head(call(tmp_path, *words, "--no-report"))


def test_an_epsilon_that_changes_the_method_is_told(tmp_path: Path) -> None:
    ratings(tmp_path, [f"{user},{film},5" for user in range(100, 1600) for film in (1, 2, 4)])
    films(tmp_path)
    for words in (("--method", "auto"), (), ("--method", "private")):
        said = folkmoot(tmp_path, *RUN, "--epsilon", "2", "--most", "5", *words, "--no-report")
        assert said.code == 0, said.err
        told = "Because of epsilon, the method is private: auto has no noise."
        assert (told in said.out) == ("private" not in words)


def test_a_full_disk_loses_the_report_and_not_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever cannot be written, the answer is printed, and the file is named."""
    from folkmoot.application import folder, reporting

    def write(path: Path, content: str | bytes) -> None:
        if path.name == "report.html":
            raise OSError(28, "No space left on device", str(path))
        folder.write(path, content)

    monkeypatch.setattr(reporting, "write", write)
    ratings(tmp_path)
    films(tmp_path)
    said = folkmoot(tmp_path, *RUN)
    assert said.code == 1
    assert "Film" in said.out
    assert said.err == (
        "folkmoot: ratings-run/report.html: cannot be written (no space left on device); "
        "`folkmoot report ratings-run` writes the report later\n"
    )
    monkeypatch.undo()
    assert folkmoot(tmp_path, "report", "ratings-run").code == 0
    assert folkmoot(tmp_path, "verify", "ratings-run").code == 0


def test_a_write_that_fails_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from folkmoot.application import folder

    def fill(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("folkmoot.application.folder.os.fsync", fill)
    with pytest.raises(OSError, match=r"No space left on device: '\S+answer.csv'"):
        folder.write(tmp_path / "answer.csv", "x")
    assert list(tmp_path.iterdir()) == []
