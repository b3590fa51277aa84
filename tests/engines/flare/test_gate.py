"""What a party obeys, without a network; tests/federation/test_no_pushed_code.py attacks one that runs."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from nvflare.fuel.utils.zip_utils import zip_directory_to_bytes
from nvflare.private.admin_defs import Message

from folkmoot.engines.flare.gate import MOST_BYTES, find_fault, is_own_job
from folkmoot.engines.flare.leader import write_job

JOB = "7f6a2f5e-7c39-4f0e-9a54-0d8f2f8c1b11"
CONFIG = "config/config_fed_client.json"


@pytest.fixture
def app(tmp_path: Path) -> Path:
    return write_job(tmp_path / "job", "ours", 3) / "app"


def pack(app: Path) -> bytes:
    data: bytes = zip_directory_to_bytes(str(app), "")
    return data


def request(topic: str, body: Any = "", **headers: Any) -> Message:
    message = Message(topic, body)
    message.set_headers(headers)
    return message


def test_our_job_is_known_signed_or_not(app: Path) -> None:
    assert is_own_job(pack(app))
    for folder in (app, app / "config"):
        (folder / ".__nvfl_sig.json").write_text("{}")
        (folder / ".__nvfl_submitter.crt").write_text("PEM")
    assert is_own_job(pack(app))


def test_any_other_job_is_not(app: Path) -> None:
    config = json.loads((app / CONFIG).read_text())
    (app / CONFIG).write_text(json.dumps(config | {"components": [{"id": "x", "path": "subprocess.Popen"}]}))
    assert not is_own_job(pack(app))
    (app / CONFIG).unlink()
    assert not is_own_job(pack(app))
    (app / CONFIG).write_text(json.dumps(config))
    assert is_own_job(pack(app))
    (app / "custom").mkdir()
    (app / "custom" / "evil.py").touch()
    assert not is_own_job(pack(app))


def test_what_is_no_job_is_not() -> None:
    nothing: list[Any] = [b"", b"PK", "PK", None, {}, b"\0" * (MOST_BYTES + 1)]
    for data in nothing:
        assert not is_own_job(data)


def test_files_that_would_fill_the_memory_are_not_unpacked(app: Path) -> None:
    room = BytesIO(pack(app))
    with ZipFile(room, "a", ZIP_DEFLATED) as archive:
        archive.writestr(".__nvfl_sig.json", b"\0" * (2 * MOST_BYTES))
    assert len(room.getvalue()) < MOST_BYTES
    assert not is_own_job(room.getvalue())


def test_broken_archives_are_refused(app: Path) -> None:
    room = BytesIO()
    with ZipFile(room, "w", ZIP_DEFLATED) as archive:
        for one in app.rglob("*.json"):
            archive.write(one, one.relative_to(app))
    data = room.getvalue()
    assert is_own_job(data)
    for at in range(len(data)):
        assert not is_own_job(data[:at])
        is_own_job(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])  # raises nothing


def test_a_job_must_be_ours_and_start_as_ours(app: Path) -> None:
    ours = {"job_id": JOB, "job_meta": {"job_id": JOB, "resource_spec": {}}}
    assert find_fault(request("train.deploy", pack(app), **ours)) == ""
    assert find_fault(request("train.start_job", {}, **ours)) == ""
    assert "no job but its own" in find_fault(request("train.deploy", b"", **ours))
    other: list[Any] = [None, [], {}, {"job_id": "store"}]
    other += [{"job_id": JOB, "launcher_spec": {"x": {}}}, {"job_id": JOB, "resource_spec": {"north": {"gpus": 1}}}]
    for meta in other:
        for topic in ("train.deploy", "train.start_job"):
            assert "own way" in find_fault(request(topic, pack(app), job_id=JOB, job_meta=meta))


@pytest.mark.parametrize("name", [None, "", "store", "../store", 7, JOB.upper(), f"{{{JOB}}}", f"{JOB} -m /tmp", [JOB]])
def test_a_name_of_a_job_is_what_flare_makes(name: Any) -> None:
    for topic in ("train.deploy", "train.start_job", "train.abort", "train.notify_job_status"):
        assert "not the name" in find_fault(request(topic, job_id=name, job_meta={"job_id": name}))


def test_a_gate_leaves_what_a_run_needs() -> None:
    """In a process of its own: a gate cannot be undone. If FLARE renames something, it is noticed here."""
    code = """
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.private.aux_runner import AuxRunner
from nvflare.private.fed.client.admin_commands import AdminCommands
from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors
from folkmoot.engines.flare.gate import COMMANDS, QUESTIONS, REQUESTS, PartyGate
PartyGate()
topics = [topic for one in ClientRequestProcessors.request_processors for topic in one.get_topics()]
assert sorted(topics) == sorted(REQUESTS), topics
assert {one.get_command_name() for one in AdminCommands.commands} == set(COMMANDS)
aux = AuxRunner(None)
for topic in (*QUESTIONS, "fed.event"):
    aux.register_aux_message_handler(topic=topic, message_handle_func=print)
assert set(aux.topic_table) == set(QUESTIONS)
cell = CoreCell("north", "tcp://localhost:1", False, {})
for channel in ("admin", "_net_manager", "server_command"):
    cell.register_request_cb(channel, "*", print)
assert cell.req_reg.find("admin", "x") and not cell.req_reg.find("_net_manager", "x")
assert not cell.req_reg.find("server_command", "x")
print("good", flush=True)
import os; os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("good\n"), done.stderr
