"""What the commands of a federation say at a terminal, on kits that FLARE itself made; nothing is started here."""

import re
import socket
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from folkmoot.engines import FolderStore
from folkmoot.engines.store import StoreUpdate
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.state import State
from tests.cli.calling import folkmoot, is_one_sentence

pytest.importorskip("nvflare")
from folkmoot.application.federation.standing import describe_expiry

PARTIES = ("a", "b", "c", "d", "e")


@pytest.fixture(scope="module")
def taken() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        yield one.getsockname()[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, taken: int) -> Path:
    place = tmp_path_factory.mktemp("federation")
    (place / "towns.csv").write_text("name,latitude,longitude\nA,1,1\nB,2,2\nC,3,3\nD,4,4\n")
    parties = [word for name in PARTIES for word in ("--party", name)]
    data = ("--items", "towns.csv", "--kind", "places", "--reach", "100")
    made = folkmoot(place, "federation", "init", "moot", "--port", str(taken), *data, *parties)
    assert made.code == 0, made.err
    return place


def test_a_port_that_is_taken_is_told_before_anything_starts(folder: Path, taken: int) -> None:
    said = folkmoot(folder, "federation", "serve", "moot/server")
    is_one_sentence(said, f"moot/server: port {taken} is in use by process ")
    assert not (folder / "moot" / "server" / "flare.log").exists()


def test_status_says_how_long_the_certificate_lasts(folder: Path) -> None:
    for kit in ("moot/server", "moot/a"):
        known = folkmoot(folder, "federation", "status", kit, "--json").json
        last, days = re.fullmatch(r"valid until (\S+), for (\d+) days", known["Certificate"]).groups()  # type: ignore[union-attr]
        assert int(days) in (359, 360)
        assert 0 <= (datetime.fromisoformat(last).date() - date.today()).days - int(days) <= 1


def test_a_certificate_that_expired_is_shown() -> None:
    last = datetime(2026, 3, 1, tzinfo=UTC)
    assert describe_expiry(last, last + timedelta(days=2)) == "expired on 2026-03-01"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("init", "other", "--items", "towns.csv", "--request", "nothere.csr"),
            "nothere.csr: there is no such file; the party",
        ),
        (("join", "moot/a", "--key", "nothere.key"), "nothere.key: there is no such file"),
        (("join", "moot/a", "--certificate", "nothere.crt"), "nothere.crt: there is no such file"),
    ],
)
def test_files_that_are_not_there(folder: Path, words: tuple[str, ...], sentence: str) -> None:
    is_one_sentence(folkmoot(folder, "federation", *words), sentence)


def test_ratings_need_a_range(folder: Path) -> None:
    said = folkmoot(folder, "federation", "init", "other", "--items", "towns.csv", "--kind", "ratings", "--party", "a")
    is_one_sentence(said, "--most: is needed for ratings: without a range that everybody knows, one party's false")
    assert "such as: --most 5.0" in said.err
    assert not (folder / "other").exists()


def test_data_that_is_not_there(folder: Path) -> None:
    said = folkmoot(folder, "federation", "join", "moot/a", "--data", "nothere.csv", "--check")
    is_one_sentence(said, f"--data: there is no file {folder / 'nothere.csv'}")
    assert said.err.count(str(folder)) == 1


def test_a_kit_that_was_changed_does_not_join(folder: Path) -> None:
    path = folder / "moot" / "b" / "local" / "resources.json"
    path.write_text(path.read_text().replace("gate.PartyGate", "gate.ServerGate"))
    said = folkmoot(folder, "federation", "join", "moot/b", "--data", "towns.csv", "--check")
    is_one_sentence(said, "moot/b/local/resources.json: was changed: components.0.path is not as")
    assert not (folder / "moot" / "b" / "data.toml").exists()


def test_rounds_that_were_broken_off_are_shown_and_forgiven(folder: Path) -> None:
    said = folkmoot(folder, "federation", "status", "moot/c", "--json").json
    assert said["Broken-off rounds"] == "0 of 16"
    with closing(FolderStore(folder / "moot" / "c" / "store")) as store:
        store.save(StoreUpdate({2: State(ledger=Ledger(16).encode())}))
        is_one_sentence(
            folkmoot(folder, "federation", "forgive", "moot/c"),
            "moot/c/store is in use by another process; stop that first",
        )
    said = folkmoot(folder, "federation", "status", "moot/c", "--json").json
    assert said["Broken-off rounds"].startswith("16 of 16, so this party takes part in no more.")
    assert "`folkmoot federation forgive moot/c`" in said["Broken-off rounds"]
    assert folkmoot(folder, "federation", "forgive", "moot/c").out == "moot/c: broken-off rounds 16 of 16 → 0 of 16\n"
    known = folkmoot(folder, "federation", "forgive", "moot/c", "--json").json
    assert known == {"kit": "moot/c", "before": 0, "after": 0, "of": 16}
    is_one_sentence(folkmoot(folder, "federation", "forgive", "moot/server"), "moot/server: is the kit of the server")


def test_a_party_that_runs_is_not_forgiven(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("folkmoot.engines.flare.processes.find_running", lambda _: 123)
    is_one_sentence(
        folkmoot(folder, "federation", "forgive", "moot/d"),
        "moot/d: is in use by process 123; folkmoot federation stop moot/d",
    )
