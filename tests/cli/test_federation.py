"""What the commands of a federation say at a terminal, on kits that FLARE itself made; nothing is started here."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calling import folkmoot, is_one_sentence

pytest.importorskip("nvflare")
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
