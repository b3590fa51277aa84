"""Whole runs whose clients are at parties: begun, broken off, continued, verified without asking anybody, reported."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import folkmoot as fm
from folkmoot.application.federation import networked
from folkmoot.application.federation.agreement import Agreement
from folkmoot.application.federation.notices import Notices, describe_waiting
from folkmoot.application.run import FinishedRun, RunStopped, continue_run, open_run
from folkmoot.application.verification import check_run, verify_run
from folkmoot.conversation.engine import Control
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines.desk import MessageKind
from folkmoot.engines.gathering import Waiting
from folkmoot.foundation.errors import FolkmootError, TranscriptError
from folkmoot.report import markdown
from tests.application.networks import FILMS, PARTIES, USERS, Network, make_desk, make_network
from tests.cli.calling import Said, folkmoot, is_one_sentence
from tests.engines.crowds import gradient

PROBLEM = """seed = 3
[choose]
count = 3
[[limit]]
at_most = 2
per = "genres"
[method]
rounds = 3
cohort = 30
[privacy]
federation = "server"
"""


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Network:
    made = make_network(tmp_path)
    monkeypatch.setattr(networked, "connect", made.connect)
    (tmp_path / "films.toml").write_text(PROBLEM)
    return made


def begin(network: Network, name: str = "run", *, report: bool = False, **changes: Any) -> FinishedRun:
    problem = fm.Problem.load(network.folder / "films.toml", folder=network.folder / name, **changes)
    return problem.run(report=report)


def test_a_run_over_parties_is_one_like_any_other(network: Network) -> None:
    run = begin(network)
    assert run.result.names is not None
    assert set(run.result.names) <= {f"Film {film}" for film in range(FILMS)}
    assert (run.result.n_items, len(run.result.selected)) == (FILMS, 3)
    kept = run.folder.read_participants()
    assert kept is not None
    assert (kept.parties, kept.sizes, len(kept.run)) == (PARTIES, (USERS,) * len(PARTIES), networked.RUN)
    assert continue_run(run.folder.path).result == run.result
    network.sent.clear()
    assert verify_run(run.folder.path) == run.result
    assert not network.sent


def test_it_chooses_what_a_simulation_of_the_same_clients_does(network: Network, tmp_path: Path) -> None:
    lines = [(tmp_path / name / "ratings.csv").read_text().splitlines() for name in PARTIES]
    (tmp_path / "all.csv").write_text("\n".join([lines[0][0], *(line for one in lines for line in one[1:])]))
    data = {"items": tmp_path / "server" / "items.csv", "kind": "ratings", "most": 5.0, "choose": 3}
    limits = [{"at_most": 2, "per": "genres"}]
    settings = {"rounds": 3, "cohort": 30, "seed": 3, "limits": limits}
    alone = fm.Problem.from_data(tmp_path / "all.csv", **data, **settings, folder=tmp_path / "alone").run(report=False)
    run = begin(network)
    assert run.result.selected == alone.result.selected
    assert run.result.estimate == alone.result.estimate


@pytest.mark.parametrize("after", [12, 40, 90])
def test_a_run_that_was_broken_off_is_continued(network: Network, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_name: str, _sent: bytes) -> bool:
        if len(network.sent) > after:
            raise KeyboardInterrupt
        return False

    network.fault = stop
    with pytest.raises(RunStopped, match=r"^go on with: folkmoot resume \S+run$"):
        begin(network)
    run, network.fault = (network.folder / "run").absolute(), lambda _name, _sent: False
    network.sent.clear()
    again = continue_run(run)
    assert MessageKind.ENROL not in {kind for _, kind in network.sent}  # the roster is that of the beginning
    whole = make_network(network.folder / "other")
    monkeypatch.setattr(networked, "connect", whole.connect)
    (whole.folder / "films.toml").write_text(PROBLEM)
    assert again.result == begin(whole).result
    assert verify_run(run) == again.result


def test_a_run_is_continued_without_all_parties(network: Network) -> None:
    network.fault = lambda name, _sent: name == "west" and len(network.sent) > 60
    run = begin(network, patience=0.01)
    rounds = run.result.rounds or ()
    assert any(0 < one.answered < one.asked for one in rounds)
    assert run.result.value is None
    assert verify_run(run.folder.path) == run.result


def test_a_run_that_too_few_answer_says_how_to_go_on(network: Network) -> None:
    network.fault = lambda name, sent: name in ("north", "south") and sent[0] in (MessageKind.PING, MessageKind.BUNDLE)
    with pytest.raises(fm.RoundFailed, match=r"4 of 5 parties .* resumed .*; go on with: folkmoot resume \S+run$"):
        begin(network, wait=0.2, patience=0.1)
    network.fault = lambda *_: False
    assert continue_run(network.folder / "run").result.selected


def test_parties_that_all_begin_anew_are_not_waited_for(network: Network) -> None:
    """Nobody has the roster that the server remembers, so that it is of no use to wait for a quorum that has it."""
    before = begin(network)
    for at, name in enumerate(PARTIES):
        shutil.rmtree(network.folder / name)
        network.desks[name] = make_desk(network.folder, at, Agreement.load(network.kit))
    network.sent.clear()
    after = begin(network, "again", wait=2.0)
    assert [kind for _, kind in network.sent[:10]] == [MessageKind.PING] * 5 + [MessageKind.ENROL] * 5
    assert after.result.selected == before.result.selected


def test_a_report_says_that_it_is_estimated_and_what_was_protected(network: Network) -> None:
    run = begin(network, report=True, jury=30)
    assert run.result.value is None
    story, told = run.story(), markdown(run.story())
    assert [one.name for one in story.parties] == list(PARTIES)
    assert (story.secure, story.baselines, story.n_clients) == ("federation", (), len(PARTIES) * USERS)
    assert all(item.latitude is not None for item in story.chosen)
    assert story.others
    for sentence in ("Estimated value", "The data stayed at 5 parties", "Most popular", "Clients from their own party"):
        assert sentence in told
    assert "simulation" not in told
    assert "central" not in told.lower()
    worth = run.document()["worth"]
    assert worth["estimated"] is True
    assert worth["low"] <= worth["value"] <= worth["high"]
    assert "Estimated value" in str(run.result)
    assert verify_run(run.folder.path) == run.result
    run.folder.story.write_text(run.folder.story.read_text().replace("Film", "Firm"))
    with pytest.raises(TranscriptError, match="does not tell what the data gives"):
        verify_run(run.folder.path)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("federation.json", '"north"', '"worth"'),
        ("federation.json", f"{USERS}, {USERS}", f"{USERS + 1}, {USERS - 1}"),
        ("federation.json", '"fingerprint"', '"per_client": true, "fingerprint"'),
        ("federation.json", '"corrupt": 0.', '"corrupt": 0.0'),
        ("about.json", "movies", "pictures"),
        ("story.json", '"secure": "federation"', '"secure": "real"'),
        ("answer.csv", "Film", "Firm"),
        ("answer.geojson", "Film", "Firm"),
    ],
)
def test_what_is_told_of_a_federation_cannot_be_forged(network: Network, name: str, old: str, new: str) -> None:
    """The roster is signed by all parties, and their agreement is in the kit."""
    run = begin(network, report=True)
    path = run.folder.path / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(TranscriptError, match=name):
        verify_run(run.folder.path)


def test_without_the_kit_verify_says_what_it_did_not_check(network: Network) -> None:
    run = begin(network, report=True)
    (network.kit / "agreement.toml").rename(network.kit / "gone.toml")
    found = check_run(run.folder.path)
    assert found.checked == ("result.json", "answer.csv")
    assert {"the names of items", "about.json", "story.json", "report.html", "answer.geojson"} <= {*found.unchecked}


def test_where_all_parties_answer_the_value_is_known(network: Network) -> None:
    run = begin(network, jury=len(PARTIES) * USERS)
    assert run.result.estimate is not None
    assert run.result.estimate.everyone
    assert run.result.value == run.result.estimate.value
    assert "simulation" not in markdown(run.story())


def test_a_run_is_described_without_its_kit(network: Network) -> None:
    run = begin(network)
    (network.kit / "agreement.toml").rename(network.kit / "gone.toml")
    assert verify_run(run.folder.path) == run.result
    told = open_run(run.folder.path).write_report(html=False, markdown=True)
    assert "the report does not say more of the items than their names" in told.lacking
    story = told.story()
    assert tuple(item.name for item in story.chosen) == run.result.names
    assert len(story.parties) == len(PARTIES)
    assert verify_run(run.folder.path) == run.result


def test_other_files_than_the_runs_are_refused(network: Network) -> None:
    run = begin(network)
    items = network.kit / "items.csv"
    run.folder.files.write_text(json.dumps({"items": "0" * 64}))
    with pytest.raises(TranscriptError, match=r"items.csv: is not the file that this run was begun with"):
        verify_run(run.folder.path)
    items.write_text(items.read_text().replace("Film 1", "Firm 1"))
    run.folder.result.unlink()
    with pytest.raises(fm.InputError, match=r"items.csv: is not the file that agreement.toml is about"):
        continue_run(run.folder.path)


def test_a_kit_may_move(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    network.fault = lambda _name, _sent: len(network.sent) > 60 and interrupt()
    with pytest.raises(RunStopped):
        begin(network)
    network.fault = lambda _name, _sent: False
    moved = network.kit.rename(network.folder / "elsewhere")
    with pytest.raises(FolkmootError):
        continue_run(network.folder / "run")
    monkeypatch.setattr(Network, "kit", moved)
    assert continue_run(network.folder / "run", federation=moved).result.selected


def interrupt() -> bool:
    raise KeyboardInterrupt


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"method": "greedy", "rounds": None, "cohort": None}, "federation: greedy needs all the data in one place"),
    ({"secure": "real"}, "secure: is for simulations"),
    ({"dropout": 0.1}, "dropout: is for simulations"),
    ({"cluster": "local"}, "cluster: is for simulations"),
    ({"corrupt": 0.3}, "corrupt: is not for a problem of a federation"),
    ({"file": "ratings.csv"}, "file: is not for a problem of a federation, whose agreement says how data is read"),
    ({"kind": "ratings"}, "kind: is not for a problem of a federation"),
    ({"show_client": True}, "show_client: is for simulations"),
    ({"patience": 0.0}, "patience: needs a number above 0"),
    ({"choose": 99}, "choose: 99 items cannot be chosen from 10"),
    ({"federation": "nowhere"}, "nowhere/agreement.toml: no such file or directory"),
]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED, ids=[str(one) for one, _ in REFUSED])
def test_what_a_federation_cannot_do_is_refused(network: Network, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fm.InputError, match=sentence):
        begin(network, **changes)
    assert not (network.folder / "run").exists()
    assert not network.sent


def test_what_needs_the_data_says_so(network: Network) -> None:
    problem = fm.Problem.load(network.folder / "films.toml")
    for work in (problem.inspect, problem.compare, problem.prepare):
        with pytest.raises(fm.InputError, match="federation: the data stays at its parties, but this needs all of it"):
            work()
    with pytest.raises(fm.InputError, match=r"^wait: is for federations"):
        fm.Problem.from_data(network.folder / "north" / "ratings.csv", choose=2, wait=5.0).prepare()


# The commands.


def call(network: Network, *words: str) -> Said:
    return folkmoot(network.folder, *words)


def test_commands_run_resume_verify_and_report(network: Network) -> None:
    (network.folder / "plain.toml").write_text(PROBLEM.replace('[privacy]\nfederation = "server"\n', ""))
    is_one_sentence(call(network, "run", "plain.toml"), "plain.toml, line 1: [data] needs `file`")
    said = call(network, "run", "plain.toml", "--federation", str(network.kit), "--no-report", "--jury", "30")
    assert said.code == 0, said
    assert "Estimated value" in said.out
    run = network.folder / "plain-run"
    assert run.is_dir()
    again = call(network, "verify", "plain-run", "--json").json
    assert again["from"] == "sums"
    told = call(network, "verify", "plain-run")
    assert "about.json are what follows from the sums in the transcript; no party was asked" in told.out
    assert call(network, "report", "plain-run", "--json").json["lacking"] is None
    assert call(network, "resume", "plain-run", "--json").json["worth"]["estimated"] is True
    moved = call(network, "resume", "plain-run", "--federation", str(network.kit), "--no-report")
    assert moved.code == 0


@pytest.mark.parametrize("command", ["compare", "inspect", "run --method greedy"])
def test_commands_that_need_the_data_say_so(network: Network, command: str) -> None:
    words = command.split()
    said = call(network, words[0], "films.toml", *words[1:])
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "stays at its parties" in said.err


def test_who_is_awaited_is_said_in_one_line() -> None:
    waiting = Waiting("vector", ("north", "east"), ("west",), ("south",), 12.4, ("centre",))
    told = "vector: 12 s for west; south refused; centre absent; north, east answered"
    assert describe_waiting(waiting) == told
    seen: list[tuple[str, int, int]] = []
    notices = Notices()
    notices.show = lambda *said: seen.append(said)
    notices(waiting)
    notices.say("waiting for west")
    assert seen == [(told, 2, 4), ("waiting for west", 0, 0)]
    broken = Waiting("quorum", (), PARTIES, (), 590.0, trouble="the server does not answer")
    assert describe_waiting(broken) == "quorum: 590 s, the server does not answer"


def test_seconds_count_down_until_nobody_is_awaited() -> None:
    now, seen = [100.0], list[str]()
    notices = Notices(lambda: now[0])
    notices.show = lambda what, _done, _of: seen.append(what)
    notices(Waiting("quorum", ("north",), ("west",), (), 600.0))
    now[0] += 7.0
    notices.tick()
    now[0] += 1000.0
    notices.tick()
    assert [one.split(";")[0] for one in seen] == [
        "quorum: 600 s for west",
        "quorum: 593 s for west",
        "quorum: 0 s for west",
    ]
    notices(Waiting("keys", ("north", "west"), (), (), 20.0))
    notices.tick()
    notices.say("waiting for the server")
    notices.tick()
    assert seen[3:] == ["keys: north, west answered", "waiting for the server"]


def test_a_kit_is_enough_for_a_problem(network: Network) -> None:
    problem = fm.Problem.from_kit(network.kit, choose=2, folder=network.folder / "run", cohort=30, rounds=2)
    assert len(problem.run(report=False).result.selected) == 2


def test_a_round_shows_who_answered(network: Network) -> None:
    task = networked.prepare_networked(fm.Problem.from_kit(network.kit, choose=2))
    seen: list[str] = []
    with networked.open_federation(task, None) as engine:
        ask = Ask(gradient(FILMS), engine.population.everyone, Purpose.SEARCH, "test", 0)
        said = engine.add_up(ask, Control(progress=lambda what, done, of: seen.append(f"{what}, {done} of {of}")))
    assert said.clients == len(PARTIES) * USERS
    assert "question: 600 s for south, east, west, centre; north answered, 1 of 5" in seen  # too few without them
    assert "question: 20 s for centre; north, south, east, west answered, 4 of 5" in seen
    assert any(one.startswith("unmasking: north, south, east, west, centre answered") for one in seen)
