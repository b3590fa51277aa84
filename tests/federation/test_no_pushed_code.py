"""Whoever leads a federation, runs its server or takes part in it: nobody runs code at a party, reads its files, or
deletes them, or stops it. FLARE's own kits allow all of that, and these tests fail with them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from nvflare.fuel.utils.zip_utils import zip_directory_to_bytes
from nvflare.lighter.utils import load_private_key_file, sign_folders

from folkmoot.application.federation.hosting import Connection
from folkmoot.application.federation.loopback import Loopback
from folkmoot.engines.flare.kits import LEAD
from folkmoot.engines.flare.leader import Leader, write_job
from folkmoot.engines.flare.processes import LOG
from tests.federation.deployments import CARELESS, Deployment, deploy
from tests.federation.faults import wait_until
from tests.federation.hostile_jobs import ATTACKS, OTHER, write_hostile_job
from tests.federation.hostile_leader import AT_SERVER, SECRET
from tests.federation.puppet import Strings, possess

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("federation")]
ROOT = Path(__file__).parents[2]
SOON = 60.0  # seconds: only a fault takes so long
JOB = "7f6a2f5e-7c39-4f0e-9a54-0d8f2f8c1b11"  # a name such as FLARE gives
WORDS = "what nobody else may read"
REFUSED = "invalid_request"  # FLARE's word for a request that a site does not know
REQUESTS: dict[str, dict[str, Any]] = {
    "sys.shell": {"body": f"cat {SECRET}"},
    "sys.info": {},
    "sys.report_env": {},
    "sys.report_version": {},
    "sys.configure_site_log": {"body": "DEBUG"},
    "resource_manager.report_resources": {},
    "info.show_errors": {"headers": {"job_id": JOB}},
    "train.check_status": {},
    "train.get_scopes": {},
    "train.configure_job_log": {"body": "DEBUG", "headers": {"job_id": JOB}},
    "train.delete_run": {"headers": {"job_id": "store"}},
    "train.restart": {},
    "train.shutdown": {},
}
MANAGEMENT = ("config_vars", "process_info", "peers", "cells", "list_pools", "change_root", "stop_cell", "stop")
NAMES = ("store", "../north/store", "keys", f"{JOB} --workspace /tmp", f"{JOB}/../store", "", None)


@dataclass
class Scene:
    """A server and two parties. Attackers run the server and one of them, the other is to be safe from both."""

    deployment: Deployment
    loopback: Loopback
    before: dict[str, list[int]] = field(default_factory=dict)

    @property
    def victim(self) -> Path:
        return self.deployment.founding.find_kit("north")

    @property
    def server(self) -> Strings:
        return Strings(self.deployment.founding.server)

    @property
    def party(self) -> Strings:
        return Strings(self.deployment.founding.find_kit("south"))

    def list_processes(self) -> dict[str, list[int]]:
        """FLARE's own processes; those of jobs come and go."""
        return {
            name: [one.pid for one in psutil.Process(process.pid).children()]
            for name, process in self.loopback.processes.items()
        }

    def check_unharmed(self) -> None:
        """All is as it was: files, and the processes themselves."""
        assert (self.victim / SECRET).read_text() == WORDS
        assert (self.victim / "store" / "kept").exists()
        assert list((self.victim / "keys").iterdir())
        assert self.list_processes() == self.before
        assert not list((self.deployment.folder / "marks").iterdir())


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    deployment = deploy(tmp_path_factory.mktemp("pushed"))
    (deployment.folder / "marks").mkdir()
    founding, pair = deployment.founding, ("north", "south")
    possess(founding.server)
    possess(founding.find_kit("south"))
    mark = deployment.folder / "marks" / "imported"
    (founding.find_kit("north") / "psutil.py").write_text(
        f"open({str(mark)!r}, 'w')"
    )  # Python looks where it is started
    joins = {name: ["--data", str(deployment.files[name])] for name in pair}
    environment = {**os.environ, "FOLKMOOT_THREADS": "1", "PYTHONPATH": str(ROOT)}
    there = [Connection(founding.find_kit(name)) for name in pair]
    with Loopback(founding.folder, joins, environment, CARELESS) as loopback:
        made = Scene(deployment, loopback)
        wait_until("both parties are there", lambda: all(one.look() for one in there), SOON)
        wait_until("strings are attached", lambda: made.server.exist() and made.party.exist(), SOON)
        wait_until("north listens", lambda: ask_for_room(made.server)["body"] is not None, SOON)
        (made.victim / SECRET).write_text(WORDS)
        (made.victim / "store").mkdir(exist_ok=True)
        (made.victim / "store" / "kept").touch()
        made.before = made.list_processes()
        yield made


def ask_for_room(strings: Strings) -> dict[str, Any]:
    """What every run asks before it begins: the one request that is harmless, and answered."""
    return strings.pull("north", "scheduler.check_resource", payload=None, headers={"job_id": JOB}, body={})


# What a server can do.


def test_what_a_run_needs_is_answered(scene: Scene) -> None:
    """Or else nothing below would show anything."""
    reply = ask_for_room(scene.server)
    assert reply["code"] == "ok"
    assert "is_resource_enough" in str(reply["body"])


@pytest.mark.parametrize("topic", REQUESTS)
def test_a_server_cannot_command_a_party(scene: Scene, topic: str) -> None:
    reply = scene.server.pull("north", topic, **REQUESTS[topic])
    assert (reply["code"], reply["body"]) == ("ok", REFUSED)
    scene.check_unharmed()


def test_a_server_cannot_examine_or_stop_processes(scene: Scene) -> None:
    for topic in MANAGEMENT:
        reply = scene.server.pull("north", topic, channel="_net_manager", payload={})
        assert (reply["code"], reply["body"]) == ("process_exception", None), topic
    scene.check_unharmed()


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_server_cannot_deploy_code(scene: Scene, tmp_path: Path, attack: str) -> None:
    """Signed by the leader, in the name of somebody to whom FLARE allows everything."""
    job = write_hostile_job(tmp_path / "job", attack, scene.deployment.folder / "marks" / attack)
    about = json.loads((job / "meta.json").read_text())
    app = OTHER if (job / OTHER).exists() and attack != AT_SERVER else "app"
    said = deploy_job(scene, job / app, JOB, launcher_spec=about.get("launcher_spec"))
    if attack == AT_SERVER:
        assert said == "deployed app to north"  # a party gets the app that is ours
    else:
        assert said.startswith("this party ")
        assert not start_job(scene, JOB).startswith("Start the client app")
    scene.check_unharmed()


@pytest.mark.parametrize("name", NAMES)
def test_names_of_jobs_are_neither_paths_nor_arguments(scene: Scene, tmp_path: Path, name: Any) -> None:
    job = write_job(tmp_path / "job", "ours", 1)
    for said in (deploy_job(scene, job / "app", name), start_job(scene, name)):
        assert said == "this is not the name of a job"
    scene.check_unharmed()


def deploy_job(scene: Scene, app: Path, name: Any, **meta: Any) -> str:
    """What the party says to it."""
    lead = scene.deployment.founding.server / LEAD / "startup"
    sign_folders(str(app), load_private_key_file(str(lead / "client.key")), str(lead / "client.crt"))
    data = zip_directory_to_bytes(str(app), "").hex()
    headers = {"job_id": name, "job_meta": describe_job(name) | meta, "app_name": "app"}
    return str(scene.server.pull("north", "train.deploy", hex=data, headers=headers)["body"])


def start_job(scene: Scene, name: Any) -> str:
    headers = {"job_id": name, "job_meta": describe_job(name)}
    return str(scene.server.pull("north", "train.start_job", body={}, headers=headers)["body"])


def describe_job(name: Any) -> dict[str, Any]:
    return {"job_id": name, "submitter_name": "x", "submitter_org": "x", "submitter_role": "super", "byoc": True}


# What another party can do, through a server that is honest.


@pytest.mark.parametrize("topic", [*REQUESTS, "scheduler.check_resource", "train.deploy", "train.abort"])
def test_a_party_cannot_command_another(scene: Scene, topic: str) -> None:
    reply = scene.party.pull("north", topic, **REQUESTS.get(topic, {}))
    assert (reply["code"], reply["body"]) == ("unauthenticated", None)
    scene.check_unharmed()


@pytest.mark.parametrize("target", ["north", "server"])
def test_a_party_cannot_examine_or_stop_anybody(scene: Scene, target: str) -> None:
    for topic in MANAGEMENT:
        reply = scene.party.pull(target, topic, channel="_net_manager", payload={})
        assert (reply["code"], reply["body"]) == ("process_exception", None), topic
    scene.check_unharmed()


# What a leader can do, at a server that is honest.


@pytest.fixture(scope="module")
def attempts(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    room, marks = tmp_path_factory.mktemp("leader"), scene.deployment.folder / "marks"
    command = ["-m", "tests.federation.hostile_leader", str(scene.deployment.founding.server), str(room), str(marks)]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_leader_can_run_our_job_and_no_other(scene: Scene, attempts: dict[str, Any]) -> None:
    assert attempts["ours"] == "RUNNING"
    at_server = attempts["jobs"].pop(AT_SERVER)
    assert {one["status"] for one in attempts["jobs"].values()} == {"FINISHED:FAILED_TO_RUN"}
    assert at_server["status"] == "RUNNING"
    log = scene.deployment.founding.server / LOG
    wait_until("the server refuses", lambda: "'subprocess.Popen' at config path" in log.read_text(), SOON)
    scene.check_unharmed()


def test_a_leader_cannot_command_a_party(scene: Scene, attempts: dict[str, Any]) -> None:
    assert WORDS not in json.dumps(attempts)
    for name, outcome in attempts["commands"].items():
        assert "refused" in outcome or REFUSED in outcome["done"], (name, outcome)
    leader = Leader(scene.deployment.founding.server)
    try:
        assert set(leader.list_parties()) == {"north", "south"}
    finally:
        leader.close()
    scene.check_unharmed()
