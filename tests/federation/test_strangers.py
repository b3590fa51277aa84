"""Whoever has no certificate of the federation's root, or one of somebody else, gets nowhere; and a certificate alone
makes nobody a party.
"""

import json
import re
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copy, copytree
from time import time

import pytest

from folkmoot import InputError
from folkmoot.application.federation import membership
from folkmoot.application.federation.agreement import open_registrar
from folkmoot.application.federation.hosting import Connection
from folkmoot.application.federation.loopback import Loopback
from folkmoot.engines.desk import Code, MessageKind, read_reply, write_request
from folkmoot.engines.enrolment import Enrolment
from folkmoot.engines.flare import line as lines
from folkmoot.engines.flare.frames import SOCKET
from folkmoot.engines.flare.kits import AUTHORITY, LEAD, issue
from folkmoot.engines.flare.leader import Leader
from folkmoot.engines.flare.processes import LOG, list_jobs, read_address
from tests.federation.deployments import CARELESS, PARTIES, Deployment, deploy
from tests.federation.eavesdropper import HEARD, bug
from tests.federation.faults import wait_until
from tests.federation.strangers import BAD, ENVIRONMENT, Stranger, copy_kit, load_key, make_key, write_pair

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("federation")]
ROOT = Path(__file__).parents[2]
SOON = 60.0  # seconds: only a fault takes so long
MOMENT = 1.0  # seconds without a word of refusal
TEXT = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
MALLORY = "mallory"  # has a certificate, and is no party


@dataclass
class Scene:
    """A server that runs, and who leads there."""

    deployment: Deployment
    loopback: Loopback
    leader: Leader

    @property
    def server(self) -> Path:
        return self.deployment.founding.server

    def find_kit(self, name: str) -> Path:
        return self.deployment.founding.find_kit(name)

    def knock(self, context: ssl.SSLContext | None, seconds: float, says: bytes = b"", address: str = "") -> str:
        """What becomes of a connection: refused, or kept."""
        host, port = (address or read_address(self.server)).split(":")
        try:
            with socket.create_connection((host, int(port)), SOON) as plain:
                link = plain if context is None else context.wrap_socket(plain, server_hostname=host)
                with link:
                    link.sendall(says)
                    link.settimeout(seconds)
                    return "kept" if link.recv(1) else "refused"
        except TimeoutError:
            return "kept"
        except (ssl.SSLError, ConnectionError):
            return "refused"

    def trust_root(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.find_kit("north") / "startup" / "rootCA.pem"))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    deployment = deploy(tmp_path_factory.mktemp("strangers"))
    joins = {"north": ["--data", str(deployment.files["north"])]}
    bug(deployment.founding.find_kit("north"))
    loopback = Loopback(deployment.founding.folder, joins, ENVIRONMENT, CARELESS)
    leader = Leader(deployment.founding.server)
    try:
        loopback.start("server")
        wait_until("the server answers", leader.is_there, SOON)
        yield Scene(deployment, loopback, leader)
    finally:
        leader.close()
        loopback.stop()


# Connections.


def test_a_party_is_let_in(scene: Scene) -> None:
    """Or else nothing below would show anything."""
    context = scene.trust_root()
    startup = scene.find_kit("north") / "startup"
    context.load_cert_chain(startup / "client.crt", startup / "client.key")
    assert scene.knock(context, MOMENT) == "kept"


def test_nobody_is_let_in_without_a_certificate(scene: Scene) -> None:
    assert scene.knock(None, SOON, TEXT) == "refused"
    assert scene.knock(scene.trust_root(), SOON) == "refused"


def test_nobody_on_the_same_machine_is_let_in_either(scene: Scene) -> None:
    """Where the processes of one site speak to each other."""
    found = re.search(r"internal listener for stcp://(\S+)", (scene.server / LOG).read_text())
    assert found
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for tried in (None, context):
        assert scene.knock(tried, SOON, TEXT, found[1]) == "refused"


@pytest.mark.parametrize("kind", BAD)
def test_certificates_of_others_are_refused(scene: Scene, tmp_path: Path, kind: str) -> None:
    key, context = make_key(), scene.trust_root()
    context.load_cert_chain(*write_pair(tmp_path, BAD[kind](scene.deployment.founding.folder, key), key))
    assert scene.knock(context, SOON) == "refused"


# Names.


def test_a_party_cannot_take_the_name_of_another(scene: Scene, tmp_path: Path) -> None:
    """North says that it is south, and then that south is known as north."""
    north, log = scene.find_kit("north"), scene.server / LOG
    kits = [
        copy_kit(north, tmp_path / "plain", fqsn="south"),
        copy_kit(north, tmp_path / "mapped", fqsn="south", identity="north", auth_identity="north"),
    ]
    strangers = [Stranger(kit) for kit in kits]
    refusal = "authenticated as 'north' but claimed endpoint 'south' requires identity 'south'"
    try:
        wait_until("both are refused, twice", lambda: log.read_text().count(refusal) >= 4, SOON)
        assert scene.leader.list_parties() == {}
    finally:
        for one in strangers:
            one.stop()
    assert not any("Successfully registered" in one.read_log() for one in strangers)


def test_a_party_cannot_enrol_as_another(scene: Scene) -> None:
    with pytest.raises(InputError, match="south has the certificate of somebody else"):
        open_registrar(scene.server).read_enrolment(enrol(scene, "south", scene.find_kit("north")), time())


def test_a_party_is_no_leader(scene: Scene, tmp_path: Path) -> None:
    """With a leader's kit, but its own certificate."""
    copytree(scene.server / LEAD, tmp_path / LEAD)
    for name in ("client.crt", "client.key"):
        copy(scene.find_kit("north") / "startup" / name, tmp_path / LEAD / "startup" / name)
    command = [sys.executable, "-m", "tests.federation.pretender", "north", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SOON, check=True)
    attempts = json.loads(done.stdout)
    assert attempts.pop("manage") == {"done": "error"}
    assert all("not authorized" in one["refused"] for one in attempts.values()), attempts
    assert scene.leader.is_there()


def enrol(scene: Scene, name: str, kit: Path) -> bytes:
    """What north says of itself, in another's name, signed with the key of a kit."""
    north = scene.find_kit("north")
    membership.write_data(north, {"file": scene.deployment.files["north"]})
    said = membership.Membership.read(north).enrolment.statement
    forged: Enrolment = replace(said, party=name).sign(kit / "startup" / "client.key", kit / "startup" / "client.crt")
    return forged.encode()


# Those who have a certificate, but no place in the agreement.


def test_a_certificate_makes_nobody_a_party(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FLARE lets them in; they get no job, are asked nothing, and cannot enrol."""
    kit = copy_kit(scene.find_kit("north"), tmp_path / MALLORY, fqsn=MALLORY)
    key = load_key(kit / "startup" / "client.key")
    root = scene.deployment.founding.folder / AUTHORITY
    (kit / "startup" / "client.crt").write_bytes(issue(root, MALLORY, key.public_key()))
    with pytest.raises(InputError, match="mallory is not a party of the agreement"):
        open_registrar(scene.server).read_enrolment(enrol(scene, MALLORY, kit), time())
    with pytest.raises(InputError, match="mallory is not a party of this agreement"):
        membership.check_membership(kit)
    bug(kit)
    mallory, north = Stranger(kit), Connection(scene.find_kit("north"))
    scene.loopback.start("north")
    monkeypatch.setattr(lines, "LATE", 0.0)  # nobody else will come
    try:
        wait_until("both are there", lambda: set(scene.leader.list_parties()) == {"north", MALLORY}, SOON)
        with lines.open_line(scene.server, PARTIES, 1) as line:
            replies = ask(line)
            check_socket(scene.server)
            assert "handler for topic folkmoot" not in mallory.read_log()
    finally:
        mallory.stop()
    assert north.look()
    assert replies == {"north": Code.OK}
    assert (scene.find_kit("north") / HEARD).exists()
    assert not (kit / HEARD).exists()
    assert not list_jobs(kit)


def ask(line: lines.FlareLine) -> dict[str, Code]:
    """The replies of all who reply, once somebody does."""
    found: dict[str, Code] = {}

    def try_asking() -> bool:
        asked = dict.fromkeys(PARTIES, write_request(MessageKind.PING))
        found.update({name: read_reply(data)[0] for name, data in line.send(asked, 5.0)})
        return Code.OK in found.values()

    wait_until("somebody replies", try_asking, SOON)
    return found


def check_socket(kit: Path) -> None:
    """Whoever can open it can ask parties, so only its owner can."""
    assert stat.S_IMODE((kit / SOCKET).stat().st_mode) == 0o600
    assert stat.S_IMODE(kit.stat().st_mode) == 0o700
