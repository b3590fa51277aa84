"""`folkmoot run`, `resume`, `verify`, `report`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from folkmoot import Auto, FacilityLocation, Greedy, Result, solve
from folkmoot.data import Data, load
from folkmoot.report.stored_story import from_json
from tests.cli.calling import films, folkmoot, ratings


def test_from_a_file_to_an_answer_and_a_report(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--items", "movies.csv", "--choose", "3", "--seed", "5")
    assert said.code == 0, said.err
    for words in ("Film", "Gain", "At least", "Most popular", "Random", "Central greedy", "report.html", "Rounds"):
        assert words in said.out
    kept = {path.name for path in (tmp_path / "ratings-run").iterdir()}
    asked = {"run.toml", "files.json", "transcript"}
    assert kept == {*asked, "about.json", "answer.csv", "report.html", "result.json", "story.json"}


def test_the_answer_is_the_librarys(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "3", "--seed", "5", "--json", "--no-report")
    assert said.code == 0, said.err
    assert said.json["report"] == []
    loaded = load(Data(file=str(tmp_path / "ratings.csv")))
    assert isinstance(loaded.objective, FacilityLocation)
    expected = solve(loaded.objective, 3, Auto(cohort=1000), seed=5)
    assert Result.from_json(json.dumps(said.json["result"])) == expected
    assert Result.from_json((tmp_path / "ratings-run" / "result.json").read_text()) == expected


def test_a_second_run_has_a_folder_of_its_own(tmp_path: Path) -> None:
    ratings(tmp_path)
    for folder in ("ratings-run", "ratings-run-2", "ratings-run-3"):
        said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--method", "greedy", "--json", "--no-report")
        assert said.json["run"] == folder


def test_a_problem_file_says_the_same_as_options(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    words = ("--items", "movies.csv", "--choose", "4", "--at-most", "2", "--per", "genres", "--seed", "3")
    by_options = folkmoot(tmp_path, "run", "ratings.csv", *words, "--rounds", "5", "--set", "polish=3", "--json")
    assert by_options.code == 0, by_options.err
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "films.toml").write_text(
        'seed = 3\n[data]\nfile = "../ratings.csv"\nitems = "../movies.csv"\n[choose]\ncount = 4\n'
        '[[limit]]\nat_most = 2\nper = "genres"\n[method]\nname = "auto"\nrounds = 5\npolish = 3\n'
        '[output]\nfolder = "out"\n'
    )
    by_file = folkmoot(tmp_path, "run", "p/films.toml", "--json")
    assert by_file.code == 0, by_file.err
    first, second = (Result.from_json(json.dumps(said.json["result"])) for said in (by_options, by_file))
    assert first == second
    assert (tmp_path / "p" / "out" / "report.html").exists()
    by_both = folkmoot(tmp_path, "run", "p/films.toml", "--seed", "4", "--choose", "3", "--folder", "other", "--json")
    assert (by_both.json["result"]["seed"], len(by_both.json["result"]["selected"])) == (4, 3)
    # what is kept is complete: it gives the same run again
    again = folkmoot(tmp_path, "run", "p/out/run.toml", "--folder", "again", "--json")
    assert Result.from_json(json.dumps(again.json["result"])) == second


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("--at-most", "1", "--per", "region"), 2),
        (("--at-most", "1", "--per", "region", "--within", "country"), 4),
        (("--at-most", "3", "--per", "country", "--at-most", "1", "--per", "region", "--within", "country"), 4),
        (("--at-most", "1", "--per", "country", "--at-most", "1", "--per", "region", "--within", "country"), 2),
    ],
)
def test_attributes_of_items_make_limits(tmp_path: Path, words: tuple[str, ...], most: int) -> None:
    ratings(tmp_path)
    films(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--items", "movies.csv", *words, "--method", "greedy", "--json")
    assert said.code == 0, said.err
    assert len(said.json["result"]["selected"]) == most


@pytest.mark.parametrize(
    "method", ["fedcg+", "discrete", "few-rounds", "frank-wolfe", "randgreedi", "continuous", "stochastic"]
)
def test_every_method_has_a_name(tmp_path: Path, method: str) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--method", method, "--json")
    assert said.code == 0, said.err
    assert len(said.json["result"]["selected"]) == 2
    assert folkmoot(tmp_path, "verify", "ratings-run").code == 0


def test_pictures_and_markdown_where_wanted(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--png", "--markdown", "--json")
    names = {Path(one).name for one in said.json["report"]}
    assert {"report.html", "report.md", "answer.png", "baselines.png"} <= names
    assert all((tmp_path / one).stat().st_size > 0 for one in said.json["report"])


def test_a_report_goes_where_it_is_wanted(tmp_path: Path) -> None:
    ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2").code == 0
    said = folkmoot(tmp_path, "report", "ratings-run", "--markdown", "--html", "elsewhere.html", "--json")
    assert said.code == 0, said.err
    assert said.json["files"] == ["elsewhere.html", "ratings-run/report.md"]
    assert said.json["lacking"] is None
    story = from_json((tmp_path / "ratings-run" / "story.json").read_text())
    assert story.title in (tmp_path / "elsewhere.html").read_text()
    assert story.title in (tmp_path / "ratings-run" / "report.md").read_text()


def test_a_story_is_told_when_it_is_wanted(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    words = ("run", "ratings.csv", "--items", "movies.csv", "--choose", "2")
    assert folkmoot(tmp_path, *words, "--folder", "whole").code == 0
    assert folkmoot(tmp_path, *words, "--folder", "later", "--json", "--no-report").code == 0
    assert not (tmp_path / "later" / "story.json").exists()
    assert folkmoot(tmp_path, "verify", "later").code == 0
    said = folkmoot(tmp_path, "report", "later")
    assert (said.code, said.out) == (0, "later/report.html\n")
    whole, later = (from_json((tmp_path / name / "story.json").read_text()) for name in ("whole", "later"))
    assert whole.view is not None
    assert later.view is not None
    assert replace(whole, view=None) == replace(later, view=None)
    assert later.command == "folkmoot run ratings.csv --items movies.csv --choose 2"
    assert replace(whole.view, seen=()) == replace(later.view, seen=())  # masks are drawn anew


@pytest.mark.parametrize("change", ["gone", "changed"])
@pytest.mark.parametrize("method", ["auto", "greedy"])
def test_without_its_data_a_run_is_described_as_far_as_it_can_be(tmp_path: Path, change: str, method: str) -> None:
    data = ratings(tmp_path)
    words = ("run", "ratings.csv", "--choose", "2", "--method", method, "--json", "--no-report")
    result = folkmoot(tmp_path, *words).json["result"]
    whole = data.read_text()
    if change == "gone":
        data.unlink()
    else:
        data.write_text(whole.replace(",5\n", ",4\n", 1))
    said = folkmoot(tmp_path, "report", "ratings-run", "--markdown")
    assert said.code == 0, said.err
    sentence, *files = said.out.splitlines()
    why = "cannot be read (no such file" if change == "gone" else "is not the file that this run was begun with"
    assert why in sentence
    assert "does not say what other ways to choose would give" in sentence
    assert files == ["ratings-run/report.html", "ratings-run/report.md"]
    story = from_json((tmp_path / "ratings-run" / "story.json").read_text())
    assert [item.name for item in story.chosen] == result["names"]
    assert (story.n_clients, story.clients_called, story.baselines, story.view) == (30, "users", (), None)
    assert "nobody checked them" in story.unchecked
    # with the data back, what was written still follows from it; and a report says everything
    data.write_text(whole)
    assert folkmoot(tmp_path, "verify", "ratings-run").code == 0
    assert folkmoot(tmp_path, "report", "ratings-run", "--json").json["lacking"] is None
    assert from_json((tmp_path / "ratings-run" / "story.json").read_text()).baselines


def test_a_story_that_the_data_does_not_tell_is_refused(tmp_path: Path) -> None:
    """Not only names: every number of a stored story is computed again, the page that was made from it too."""
    ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2").code == 0
    path = tmp_path / "ratings-run" / "story.json"
    document = json.loads(path.read_text())
    document["baselines"][0]["value"] /= 2
    path.write_text(json.dumps(document))
    said = folkmoot(tmp_path, "verify", "ratings-run")
    assert (said.code, "story.json: does not tell what the data gives" in said.err) == (1, True)
    assert folkmoot(tmp_path, "report", "ratings-run").code == 0  # does not believe it
    assert folkmoot(tmp_path, "verify", "ratings-run").code == 0


def test_without_what_draws_charts_there_is_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.application.reporting.has_charts", lambda: False)
    ratings(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2")
    assert said.code == 0
    assert "pip install 'folkmoot[report]'" in said.out
    assert (tmp_path / "ratings-run" / "report.md").exists()


def test_verify_says_what_was_verified(tmp_path: Path) -> None:
    data = ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--no-report").code == 0
    said = folkmoot(tmp_path, "verify", "ratings-run")
    assert (said.code, "are what the data gives" in " ".join(said.out.split())) == (0, True)
    assert folkmoot(tmp_path, "verify", "ratings-run", "--sums-only", "--json").json["verified"] is True
    data.write_text(data.read_text().replace(",5\n", ",4\n", 1))
    said = folkmoot(tmp_path, "verify", "ratings-run")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "ratings.csv: is not the file that this run was begun with" in said.err


def test_a_changed_result_does_not_verify(tmp_path: Path) -> None:
    ratings(tmp_path)
    for words, where in ((("--method", "greedy"), "ratings-run"), ((), "ratings-run-2")):
        assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--no-report", *words).code == 0
        path = tmp_path / where / "result.json"
        changed = json.loads(path.read_text())
        changed["selected"] = [0, 9] if changed["selected"] != [0, 9] else [1, 9]
        path.write_text(json.dumps(changed))
        said = folkmoot(tmp_path, "verify", where)
        assert (said.code, said.err.count("\n")) == (1, 1)
    assert folkmoot(tmp_path, "verify", "ratings-run-2", "--sums-only").code == 1
    assert folkmoot(tmp_path, "verify", "ratings-run", "--sums-only").code == 2  # a central method asked nobody


def test_secure_aggregation_gives_the_same_answer_and_shows_one_client(tmp_path: Path) -> None:
    ratings(tmp_path)
    results = {}
    for secure in ("ideal", "real"):
        words: tuple[str, ...] = (
            "--secure",
            secure,
            "--cohort",
            "20",
            "--jury",
            "30",
            "--rounds",
            "3",
            "--set",  # where the whole protocol is run, only the jury says how large values are
            "range_from=jury",
            "--most",
            "5",
            "--folder",
            secure,
        )
        words += ("--show-client",) if secure == "real" else ()
        said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", *words, "--json")
        assert said.code == 0, said.err
        results[secure] = Result.from_json(json.dumps(said.json["result"]))
        view = from_json((tmp_path / secure / "story.json").read_text()).view
        assert view is not None
        assert view.rehearsed == (secure == "ideal")
        assert view.clients == (24 if secure == "ideal" else 30)
        assert (view.said is None) == (secure == "ideal")  # what a client said is shown where that is asked for
        assert view.seen not in (view.learned, view.said)
        assert all(said <= learned for said, learned in zip(view.said or (), view.learned, strict=False))
    assert results["ideal"] == results["real"]
    assert isinstance(results["real"], Result)


def test_a_central_run_says_that_it_saw_everything(tmp_path: Path) -> None:
    ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--method", "greedy").code == 0
    story = from_json((tmp_path / "ratings-run" / "story.json").read_text())
    assert (story.secure, story.view, story.result.method) == ("none", None, repr(Greedy()))


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("run.toml", "count = 2", "count = 3", "is not the problem that the transcript answers"),
        ("run.toml", "seed = 0", "seed = 1", "is not the problem that the transcript answers"),
        ("story.json", '"name": "', '"name": "Better ', "does not tell what the data gives"),
        ("report.html", "<h1>", "<h1>Better ", "is not what the story makes"),
    ],
)
def test_whatever_is_changed_does_not_verify(tmp_path: Path, name: str, old: str, new: str, words: str) -> None:
    ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2").code == 0
    path = tmp_path / "ratings-run" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    said = folkmoot(tmp_path, "verify", "ratings-run")
    assert said.code == 1
    assert words in said.err


@pytest.mark.parametrize("name", ["story.json", "result.json"])
def test_what_is_damaged_is_written_again(tmp_path: Path, name: str) -> None:
    ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2").code == 0
    path = tmp_path / "ratings-run" / name
    whole = path.read_text()
    path.write_text("{}")
    assert folkmoot(tmp_path, "verify", "ratings-run").code == 1
    if name == "result.json":
        assert folkmoot(tmp_path, "report", "ratings-run").code == 1
    assert folkmoot(tmp_path, "resume", "ratings-run").code == 0
    assert folkmoot(tmp_path, "verify", "ratings-run").code == 0
    if name == "result.json":
        assert Result.from_json(path.read_text()) == Result.from_json(whole)


def test_a_run_does_not_go_on_with_other_data(tmp_path: Path) -> None:
    data = ratings(tmp_path)
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2").code == 0
    for name in ("story.json", "result.json"):
        (tmp_path / "ratings-run" / name).unlink()
    ratings(tmp_path, ["99,4,3"])
    said = folkmoot(tmp_path, "resume", "ratings-run")
    assert (said.code, "is not the file that this run was begun with" in said.err) == (1, True)
    ratings(tmp_path)
    assert folkmoot(tmp_path, "resume", "ratings-run").code == 0
    assert data.exists()


def test_plain_sums_are_called_plain(tmp_path: Path) -> None:
    ratings(tmp_path)
    for secure in ("plain", "ideal"):
        options = ("--secure", secure, "--folder", secure, "--markdown")
        assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", *options).code == 0
    page, other = ((tmp_path / name / "report.md").read_text() for name in ("plain", "ideal"))
    assert "could read every single answer" in page
    for words in ("malicious server", "noise", "smallest sum that the server learned"):
        assert words not in page
        assert words in other
    sent = [from_json((tmp_path / name / "story.json").read_text()).result.rounds for name in ("plain", "ideal")]
    assert sent[0] is not None
    assert sent[1] is not None
    assert all(plain.up < masked.up for plain, masked in zip(*sent, strict=True))


def test_rounds_too_small_to_hide_in_are_called_so(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--cohort", "1", "--markdown")
    assert said.code == 0, said.err
    assert "hides little about each of them" in " ".join(said.out.split())
    page = (tmp_path / "ratings-run" / "report.md").read_text()
    assert "Run for real it would be refused" in page
    assert "safe against a malicious server" not in page
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--cohort", "1", "--secure", "real").code == 2


def test_terms_that_few_do_not_bear_leave_a_run_whole(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--corrupt", "0.9", "--json")
    assert said.code == 0, said.err
    assert from_json((tmp_path / "ratings-run" / "story.json").read_text()).view is None


def test_names_do_not_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,film,stars\n1,\x1b]0;owned\x07red,5\n2,Clue,4\n3,Clue,1\n")
    for words in (("run", "r.csv", "--choose", "1"), ("inspect", "r.csv"), ("run", "r.csv", "--per", "\x1b[31m")):
        said = folkmoot(tmp_path, *words)
        assert "\x1b" not in said.out + said.err


def test_the_protection_told_is_that_of_the_smallest_sum(tmp_path: Path) -> None:
    ratings(tmp_path)
    words = ("--method", "discrete", "--set", "expected_answers=15", "--set", 'importance="uniform"', "--seed", "1")
    assert folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", *words).code == 0
    story = from_json((tmp_path / "ratings-run" / "story.json").read_text())
    fewest = min(one.answered for one in story.result.rounds or ())
    assert 10 <= fewest < 30
    assert story.protection.startswith(f"{fewest} clients")


def test_a_folder_with_a_run_says_whether_that_is_finished(tmp_path: Path) -> None:
    ratings(tmp_path)
    words = ("run", "ratings.csv", "--choose", "2", "--folder", "here", "--no-report")
    assert folkmoot(tmp_path, *words).code == 0
    said = folkmoot(tmp_path, *words)
    assert said.code == 2
    assert "here holds a finished run; `folkmoot report` shows it" in " ".join(said.err.split())
    (tmp_path / "here" / "result.json").unlink()
    said = folkmoot(tmp_path, *words)
    assert "here holds a run that is not finished; `folkmoot resume` continues it" in " ".join(said.err.split())


def test_a_shortlist_is_an_option_and_a_setting(tmp_path: Path) -> None:
    ratings(tmp_path)
    words = ("--cohort", "10", "--no-report", "--json")
    answers = [folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--shortlist", "4", *words)]
    answers.append(folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", "--set", "shortlist=4", *words))
    (tmp_path / "p.toml").write_text(
        '[data]\nfile = "ratings.csv"\n[choose]\ncount = 2\n[method]\nshortlist = 4\ncohort = 10\n'
    )
    answers.append(folkmoot(tmp_path, "run", "p.toml", "--no-report", "--json"))
    assert [said.code for said in answers] == [0, 0, 0], answers
    methods = [said.json["result"]["method"] for said in answers]
    assert methods[0] == methods[1] == methods[2]
    assert "shortlist=4" in str(methods[0])
