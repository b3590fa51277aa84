"""Whoever holds the folder of a run can write anything into it. Nothing that is forged is certified, or shown again."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import folkmoot as fm
from folkmoot.application.answer_files import render_table
from folkmoot.application.folder import About, Folder
from folkmoot.application.run import describe_subject, open_run
from folkmoot.application.verification import check_run
from folkmoot.conversation.result import Result
from folkmoot.conversation.transcript import Transcript
from folkmoot.foundation.errors import TranscriptError
from folkmoot.report import Baseline, Item, LimitUse, PartyFacts, Story, View, markdown, page
from folkmoot.report.stored_story import from_json, to_json
from tests.cli.calling import films, folkmoot, ratings

pytest.importorskip("vl_convert", reason="pages need vl-convert-python")

FORGED = "forged"
SAID = {"versions"}  # what nothing can show: it is shown as it was said, and verify says that it was not checked


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a report, made once."""
    folder = tmp_path_factory.mktemp("original")
    ratings(folder)
    films(folder)
    limit = [{"at_most": 3, "per": "genres"}]
    data = {
        "items": folder / "movies.csv",
        "choose": 5,
        "limits": limit,
        "seed": 5,
        "credit": "Made up.",
        "name": "title",
    }
    fm.Problem.from_data(folder / "ratings.csv", **data, folder=folder / "run", markdown=True).run()
    return folder


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Folder:
    """A copy of its folder, to be forged; the data stays where it is."""
    return Folder(shutil.copytree(original / "run", tmp_path / "run"))


def forge(value: Any, name: str = "") -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return {"secure": "real"}.get(name, f"{value}{FORGED}")
    if isinstance(value, tuple):
        return forge_tuple(value, name)
    if value is None:
        return 0.5
    if isinstance(value, Result):
        return replace(value, seconds=value.seconds + 1)
    if isinstance(value, View):
        return replace(value, learned=tuple(one + 1 for one in value.learned))
    first = fields(value)[0].name
    return replace(value, **{first: forge(getattr(value, first))})


def change(thing: Any, **parts: Any) -> Any:
    return replace(thing, **parts)


def forge_tuple(value: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    if value:
        return tuple(value[1:])  # something is kept back
    made = {
        "others": Item(FORGED),
        "parties": PartyFacts(FORGED, 3),
        "limits": LimitUse(1, FORGED),
        "baselines": Baseline(FORGED, 1.0, ""),
    }
    if name in ("details", "counted"):
        return ((FORGED, FORGED),)
    return (made.get(name, FORGED),)


def write_all(run: Folder, story: Story) -> None:
    """As a forger would: the story, and all pages made from it."""
    run.story.write_text(to_json(story))
    run.report.write_text(page(story))
    run.markdown.write_text(markdown(story))


def read_story(run: Folder) -> Story:
    return from_json(run.story.read_text())


def test_what_was_not_forged_is_certified(run: Folder) -> None:
    found = check_run(run.path)
    kept = {"result.json", "answer.csv", "about.json", "story.json", "report.html", "report.md"}
    assert set(found.checked) == kept
    assert "the versions that the report names" in found.unchecked


@pytest.mark.parametrize("name", [one.name for one in fields(Story)])
def test_no_part_of_a_story_can_be_forged(run: Folder, name: str) -> None:
    true = read_story(run)
    write_all(run, change(true, **{name: forge(getattr(true, name), name)}))
    if name in SAID:
        return
    with pytest.raises(TranscriptError, match=r"story.json: .* `folkmoot report \S+run` writes it again$"):
        check_run(run.path)
    # neither is it believed when a report is written again
    open_run(run.path).write_report(markdown=True)
    assert forget_chance(read_story(run)) == forget_chance(true)
    assert to_json(forget_chance(read_story(run))) == to_json(forget_chance(true))
    assert check_run(run.path).result == true.result


def forget_chance(story: Story) -> Story:
    """Without the masks, which are drawn anew whenever a round is run to be shown."""
    return replace(story, view=story.view and replace(story.view, seen=()))


@pytest.mark.parametrize("name", [one.name for one in fields(View) if one.name != "seen"])
def test_no_part_of_the_servers_view_can_be_forged(run: Folder, name: str) -> None:
    true = read_story(run)
    assert true.view is not None
    value = getattr(true.view, name)
    forged = (
        tuple(reversed(value)) if isinstance(value, tuple) else true.view.learned if value is None else forge(value)
    )
    write_all(run, change(true, view=change(true.view, **{name: forged})))
    with pytest.raises(TranscriptError, match=r"story.json"):
        check_run(run.path)


@pytest.mark.parametrize("kind", [Item, Baseline, LimitUse])
def test_no_part_of_a_list_can_be_forged(run: Folder, kind: type) -> None:
    true = read_story(run)
    where = {Item: "chosen", Baseline: "baselines", LimitUse: "limits"}[kind]
    first, *rest = getattr(true, where)
    for one in fields(first):
        value = getattr(first, one.name)
        forged = 3.0 if value is None else (("forged", 1),) if one.name == "used" else forge(value, one.name)
        write_all(run, change(true, **{where: (change(first, **{one.name: forged}), *rest)}))
        with pytest.raises(TranscriptError, match=r"story.json"):
            check_run(run.path)


def test_what_nothing_can_show_is_named(run: Folder) -> None:
    """Versions and masks: a report says them, and verify says that it does not vouch for them. Words are refused."""
    true = read_story(run)
    assert true.view is not None
    others = tuple((name, "1.2.3") for name, _ in true.versions)
    masks = replace(true.view, seen=tuple(0 for _ in true.view.seen))
    write_all(run, replace(true, versions=others, view=masks))
    found = check_run(run.path)
    assert {"the versions that the report names", "the masks in the server's view of one client"} <= {*found.unchecked}
    for versions in (others[1:], ((FORGED, "1.2"), *others[1:]), ((others[0][0], "1.2 and better"), *others[1:])):
        write_all(run, replace(true, versions=versions))
        with pytest.raises(TranscriptError, match=r"story.json"):
            check_run(run.path)
    for seen in ((true.view.seen[0] + 2**60, *true.view.seen[1:]), true.view.seen[1:]):
        run.story.write_text(to_json(replace(true, view=replace(true.view, seen=seen))))
        with pytest.raises(TranscriptError, match=r"story.json"):
            check_run(run.path)


@pytest.mark.parametrize("name", [one.name for one in fields(About)])
def test_no_word_about_the_data_can_be_forged(run: Folder, name: str) -> None:
    about = run.read_about()
    assert about is not None
    forged = replace(about, **{name: forge(getattr(about, name))})
    run.write_about(forged)
    with pytest.raises(TranscriptError, match=r"about.json: is not what the data is about"):
        check_run(run.path)
    # also where the report was written without the data, and so from these words
    for gone in (run.story, run.report, run.markdown):
        gone.unlink()
    said = open_run(run.path)
    write_all(run, bare_story(said.folder, said.result))
    with pytest.raises(TranscriptError, match=r"about.json"):
        check_run(run.path)
    run.write_about(about)
    with pytest.raises(TranscriptError, match=r"story.json"):
        check_run(run.path)
    open_run(run.path).write_report()
    assert run.read_about() == about


def bare_story(folder: Folder, result: Result) -> Story:
    from folkmoot.application.reporting import tell_without_data

    return tell_without_data(folder, result)


def test_a_report_without_the_data_says_that_nobody_checked_it(original: Path, run: Folder) -> None:
    aside = (original / "ratings.csv").rename(original / "gone.csv")
    try:
        write_all(run, replace(read_story(run), n_clients=987_654, secure="real", notes=(), command=FORGED))
        written = open_run(run.path).write_report(markdown=True)
    finally:
        aside.rename(original / "ratings.csv")
    assert "was not checked" in written.lacking
    told = run.markdown.read_text()
    assert "nobody checked them" in told
    assert FORGED not in told
    assert "987,654" not in told
    assert "Most popular" in told  # from the sums of the run
    assert "Central greedy" not in told
    assert check_run(run.path).result.selected  # with the data back, every word of it is true


@pytest.mark.parametrize("name", ["report.html", "report.md", "answer.csv", "about.json", "story.json"])
def test_no_file_can_be_changed(run: Folder, name: str) -> None:
    path = run.path / name
    path.write_text(path.read_text().replace("Film", "Firm").replace("users", "losers"))
    with pytest.raises(TranscriptError, match=rf"{name}: .* `folkmoot report \S+run` writes it again$"):
        check_run(run.path)
    open_run(run.path).write_report(markdown=True)
    check_run(run.path)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("seconds", lambda old: old + 1),
        ("names", lambda old: [*old[::-1]]),
        ("attributes", lambda old: {**old, "title": old["title"][::-1]}),
        ("gains", lambda old: [one * 2 for one in old]),
        ("value", lambda old: old * 1.1),
        ("rounds", lambda old: [{**one, "up": 1} for one in old]),
        ("rounds", lambda old: [{**one, "seconds": 1.0} for one in old]),
        ("rounds", lambda old: [{**one, "measured": True} for one in old]),
    ],
)
def test_no_number_of_a_result_can_be_changed(run: Folder, field: str, change: Callable[[Any], Any]) -> None:
    """Not even what it cost: the transcript holds that too."""
    document = json.loads(run.result.read_text())
    document[field] = change(document[field])
    run.result.write_text(json.dumps(document))
    with pytest.raises(TranscriptError, match=r"result.json: is not what the data gives"):
        check_run(run.path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('secure = "ideal"', 'secure = "real"'),
        ('secure = "ideal"', 'secure = "plain"'),
        ("corrupt = 0.1", "corrupt = 0.2"),
        ('secure = "ideal"', 'federation = "elsewhere"'),
    ],
)
def test_how_sums_were_made_is_what_the_transcript_says(tmp_path: Path, old: str, new: str) -> None:
    ratings(tmp_path)
    about = {"choose": 2, "cohort": 20, "jury": 30, "rounds": 2, "most": 5.0, "settings": {"range_from": "jury"}}
    run = fm.Problem.from_data(tmp_path / "ratings.csv", **about, folder=tmp_path / "run").run(report=False).folder
    check_run(run.path)
    text = run.problem.read_text()
    assert old in text
    run.problem.write_text(text.replace(old, new))
    with pytest.raises(TranscriptError, match=r"run.toml: is not how the sums in the transcript were made"):
        check_run(run.path)


def test_folders_of_older_versions_are_read(run: Folder) -> None:
    """Names of results were in the order of numbers, there were no files for the answer, and words had a command."""
    document = json.loads(run.result.read_text())
    name = dict(zip(document["order"], document["names"], strict=True))
    assert document["order"] != document["selected"]
    del document["attributes"]
    former = {**document, "format": "folkmoot-result-5", "names": [name[item] for item in document["selected"]]}
    run.result.write_text(json.dumps(former))
    words = {"command": FORGED, **json.loads(run.about.read_text())}
    run.about.write_text(json.dumps(words, ensure_ascii=False))
    run.story.write_text(run.story.read_text().replace("folkmoot-story-2", "folkmoot-story-1"))
    with pytest.raises(TranscriptError, match=r"answer.csv"):  # says more than such a result does
        check_run(run.path)
    run.table.unlink()
    with pytest.raises(TranscriptError, match=r"story.json: is missing, damaged or old; `folkmoot report"):
        check_run(run.path)
    written = open_run(run.path).write_report(markdown=True)
    assert [item.name for item in written.story().chosen] == document["names"]
    assert FORGED not in run.markdown.read_text()
    assert "report.html" in check_run(run.path).checked


def test_the_command_line_says_what_it_does_not_vouch_for(original: Path, run: Folder) -> None:
    said = folkmoot(original, "verify", str(run.path))
    assert said.code == 0, said.err
    told = " ".join(said.out.split())
    assert "are what the data gives. Not checked, because nothing here can show it: how long it took," in told
    said = folkmoot(original, "verify", str(run.path), "--sums-only")
    assert "result.json and answer.csv are what follows from the sums in the transcript." in said.out
    assert {"the exact value", "the names of items", "report.html", "story.json"} <= {
        *folkmoot(original, "verify", str(run.path), "--sums-only", "--json").json["unchecked"]
    }


def test_what_is_told_is_what_the_data_is_about(run: Folder) -> None:
    assert run.read_about() == describe_subject(run.read_problem().prepare())


@pytest.mark.parametrize(
    ("name", "twice"),
    [
        ("result.json", '"value": 99'),
        ("result.json", '"ratio": 0.99'),
        ("about.json", '"meaning": "forged", "n_clients": 999999'),
        ("story.json", '"title": "forged"'),
        ("files.json", '"forged.csv": "00"'),
    ],
)
def test_nothing_can_be_put_in_front(run: Folder, name: str, twice: str) -> None:
    """Of a key that is there twice, most programs believe the last, and a person reads the first."""
    path = run.path / name
    path.write_text(f"{{{twice}, {path.read_text().removeprefix('{')}")
    with pytest.raises(TranscriptError, match=name):
        check_run(run.path)


def test_a_share_of_the_best_cannot_be_changed(run: Folder) -> None:
    run.result.write_text(json.dumps({**json.loads(run.result.read_text()), "ratio": 0.99999}))
    with pytest.raises(TranscriptError, match=r"result.json: is not what the data gives"):
        check_run(run.path)


def test_what_is_missing_is_said_and_nothing_is_written(original: Path, run: Folder) -> None:
    assert check_run(run.path).missing == ()
    gone = ["files.json", "answer.csv", "about.json", "report.html"]
    for name in gone:
        (run.path / name).unlink()
    assert [*check_run(run.path).missing] == gone
    said = folkmoot(original, "verify", str(run.path))
    assert said.code == 0, said.err
    assert "Missing: files.json, answer.csv, about.json and report.html." in said.out
    assert not any((run.path / name).exists() for name in gone)


PARTIES = {
    "run": "00" * 16,
    "name": "hospitals",
    "parties": ["north", "south", "west"],
    "sizes": [10, 10, 10],
    "fingerprint": "12345 12345",
    "terms": {"fewest": 3, "corrupt": 0.1, "dropout": 0.1, "security": 40},
}


@pytest.mark.parametrize("name", ["federation.json", "roster.json", "round.journal"])
def test_a_simulation_has_no_parties(original: Path, run: Folder, name: str) -> None:
    (run.path / name).write_text(json.dumps(PARTIES))
    sentence = rf"{name}: is not from this run: one without a federation leaves none; delete it$"
    for sums_only in (False, True):
        with pytest.raises(TranscriptError, match=sentence):
            check_run(run.path, data=not sums_only)
    with pytest.raises(TranscriptError, match=sentence):
        open_run(run.path).write_report()
    with pytest.raises(TranscriptError, match=sentence):
        bare_story(run, run.read_result())
    said = folkmoot(original, "report", str(run.path))
    assert said.code
    assert "Traceback" not in said.err
    (run.path / name).unlink()
    (run.path / name).symlink_to("nowhere")
    with pytest.raises(TranscriptError, match=sentence):
        check_run(run.path)


def test_a_central_method_has_no_transcript(original: Path, run: Folder, tmp_path: Path) -> None:
    about = {"choose": 5, "method": "greedy", "folder": tmp_path / "greedy"}
    central = fm.Problem.from_data(original / "ratings.csv", **about).run(report=False).folder
    check_run(central.path)
    shutil.copy(run.transcript, central.transcript)
    sentence = r"transcript: is not from this run: one of a central method leaves none; delete it$"
    for sums_only in (False, True):
        with pytest.raises(TranscriptError, match=sentence):
            check_run(central.path, data=not sums_only)
    with pytest.raises(TranscriptError, match=sentence):
        open_run(central.path).write_report()


def edit_transcript(run: Folder, statement: str, *values: Any) -> None:
    database = sqlite3.connect(run.transcript)
    with database:
        assert database.execute(statement, values).rowcount
    database.close()


def test_shades_on_a_map_cannot_be_forged(tmp_path: Path) -> None:
    """They are read from the sums about each item alone, which are found by their purpose."""
    places = "\n".join(f"p{at},{45 + at / 20},{9 + at * 7 % 20 / 20}" for at in range(20))
    homes = "\n".join(f"h{at},{45 + at % 13 / 13},{9 + at % 17 / 17}" for at in range(120))
    (tmp_path / "places.csv").write_text(f"id,lat,lon\n{places}\n")
    (tmp_path / "homes.csv").write_text(f"person,lat,lon\n{homes}\n")
    about = {"items": tmp_path / "places.csv", "choose": 3, "reach": 30.0, "folder": tmp_path / "run"}
    finished = fm.Problem.from_data(tmp_path / "homes.csv", **about).run()
    assert {"answer.geojson", "story.json"} <= {*check_run(finished.folder.path).checked}
    edit_transcript(finished.folder, "update rounds set purpose = 'none' where purpose = 'singletons'")
    for gone in (finished.folder.story, finished.folder.report):
        gone.unlink()  # they would be written from it
    with pytest.raises(TranscriptError, match=r"transcript: round \d+ .* is not what this run would ask"):
        check_run(finished.folder.path)


def write_result(run: Folder, document: dict[str, Any]) -> None:
    """As a forger would: with the table that follows from it."""
    result = Result.from_json(json.dumps(document))
    run.result.write_text(result.to_json())
    run.table.write_text(render_table(result))


def test_what_was_copied_is_not_certified_from_sums_alone(run: Folder) -> None:
    document = json.loads(run.result.read_text())
    assert document["guarantee"]["factor"]
    marks = {name: [FORGED for _ in values] for name, values in document["attributes"].items()}
    write_result(run, {**document, "attributes": marks})
    said = {
        "the exact value",
        "the numbers in what theory promises",
        "the names of items",
        "what else is said of items",
    }
    assert {*said, "what run.toml asks"} <= {*check_run(run.path, data=False).unchecked}
    for forged in ({"factor": 0.99}, {"theorem": FORGED}, {"terms": document["guarantee"]["terms"][1:]}):
        write_result(run, {**document, "guarantee": {**document["guarantee"], **forged}})
        with pytest.raises(TranscriptError, match=r"result.json: is not the result of its transcript"):
            check_run(run.path, data=False)
    write_result(run, {**document, "guarantee": None})
    with pytest.raises(TranscriptError, match=r"result.json: is not the result of its transcript"):
        check_run(run.path, data=False)
    write_result(run, document)
    run.problem.write_text(run.problem.read_text().replace("seed = 5", "seed = 6"))
    with pytest.raises(TranscriptError, match=r"run.toml: is not the problem that the transcript answers"):
        check_run(run.path, data=False)


def test_an_added_command_is_not_vouched_for(run: Folder) -> None:
    """Older versions kept what was typed with what the data is about, in front of it."""
    about = json.loads(run.about.read_text())
    command = "folkmoot run --epsilon 0.01 --secure real"

    def write_words(**words: Any) -> None:
        run.about.write_text(json.dumps(words, ensure_ascii=False))

    write_words(command=command, **about)
    assert "the command in about.json" in check_run(run.path).unchecked
    said = run.about.read_text()
    for forged in (f"{said} ", said.replace('", "', '",  "'), said.replace("users", "losers")):
        assert forged != said
        run.about.write_text(forged)
        with pytest.raises(TranscriptError, match=r"about.json: is not what the data is about"):
            check_run(run.path)
    for words in ({**about, "command": command}, {"command": [command], **about}):
        write_words(**words)
        with pytest.raises(TranscriptError, match=r"about.json: is not what the data is about"):
            check_run(run.path)


def test_pages_that_the_problem_wants_are_missed(run: Folder) -> None:
    run.markdown.unlink()
    assert check_run(run.path).missing == ("report.md",)
    run.problem.write_text(run.problem.read_text().replace("png = false", "png = true"))
    assert check_run(run.path).missing == ("report.md", "pictures")
    for gone in (run.story, run.report):
        gone.unlink()
    assert check_run(run.path).missing == ("report.md", "pictures")


def test_files_of_others_are_named(run: Folder) -> None:
    (run.path / "Report.html").write_text(FORGED)
    (run.path / "map.png").write_bytes(b"forged")
    for data in (True, False):
        assert {"Report.html", "pictures"} <= {*check_run(run.path, data=data).unchecked}


@pytest.mark.parametrize(
    "forge_text",
    [
        lambda text: f"{text} ",
        lambda text: json.dumps({**json.loads(text), "ratio": 0.99}),
        lambda text: json.dumps({**json.loads(text), "attributes": {"genre": [FORGED] * 5}}),
        lambda text: json.dumps(
            {**json.loads(text), "rounds": [{**one, "up": 1} for one in json.loads(text)["rounds"]]}
        ),
    ],
)
def test_the_result_in_a_transcript_cannot_be_changed(run: Folder, forge_text: Callable[[str], str]) -> None:
    with Transcript.reopen(run.transcript, reading=True) as store:
        text = (store.read_entry("result") or b"").decode()
    edit_transcript(run, "update about set value = ? where name = 'result'", forge_text(text).encode())
    for data in (True, False):
        with pytest.raises(TranscriptError, match=r"transcript: its rounds lead to a different result"):
            check_run(run.path, data=data)


def test_a_simulator_cannot_hide_what_it_knows(tmp_path: Path) -> None:
    """Without the exact value, a wrong estimate would be all that a reader has."""
    ratings(tmp_path)
    about = {"choose": 2, "cohort": 20, "jury": 25, "rounds": 2, "folder": tmp_path / "run"}
    run = fm.Problem.from_data(tmp_path / "ratings.csv", **about).run(report=False).folder
    check_run(run.path)
    edit_transcript(run, "update about set value = ? where name = 'seen'", b"sums")
    with pytest.raises(TranscriptError, match=r"transcript: its rounds lead to a different result"):
        check_run(run.path)
