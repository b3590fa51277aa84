"""What a leader may do at FLARE's server: see who is there, submit jobs and end them.

FLARE's client has threads, log lines and waits of its own, so it lives in a process of its own: `python -m
folkmoot.engines.flare.leader KIT` takes one request per line and answers each with one line.
"""

import json
import os
import select
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, time
from typing import Any

from folkmoot.engines.flare.hardening import ANSWERING
from folkmoot.engines.flare.kits import LEAD, LEADER, RELAYING

LOG = "leader.log"
LONGEST = 30.0  # seconds that FLARE may take for a request before its client is started anew
KNOCKING = 3.0  # seconds for the server to accept a connection
LARGEST = 1_000_000  # bytes of the log, beyond which it is begun anew
CONNECTED = 30.0  # seconds since FLARE last heard from a party that is there


class Leader:
    """Asks FLARE's server by way of the other process. Whatever goes wrong there, the answer is None.

    That process is not started while nobody listens at the server's port: FLARE would write a page about every try.
    """

    def __init__(self, kit: Path) -> None:
        self.kit = kit
        self._child: subprocess.Popen[bytes] | None = None

    def list_parties(self) -> dict[str, float]:
        """The parties that are there, and when FLARE last heard from each."""
        return self.find_parties() or {}

    def find_parties(self) -> dict[str, float] | None:
        """The same; None: FLARE's server does not answer."""
        found = self._ask("parties")
        return None if found is None else dict(found)

    def list_jobs(self) -> list[dict[str, Any]]:
        return list(self._ask("jobs") or ())

    def is_there(self) -> bool:
        """Whether FLARE's server answers at all."""
        return self.find_parties() is not None

    @property
    def address(self) -> tuple[str, int]:
        """Where the server is."""
        known = json.loads((self.kit / LEAD / "startup" / "fed_admin.json").read_text())["admin"]
        return str(known["host"]), int(known["port"])

    def _is_open(self) -> bool:
        """Whether anybody listens where the server is."""
        try:
            socket.create_connection(self.address, timeout=KNOCKING).close()
        except OSError:
            return False
        return True

    def submit(self, fewest: int, names: tuple[str, ...]) -> str | None:
        """Submit a job for these parties, and no other site that may have got in."""
        said = self._ask("submit", fewest, names)
        return None if said is None else str(said)

    def read_status(self, job: str) -> str:
        return str(self._ask("status", job) or "")

    def abort(self, job: str) -> None:
        self._ask("abort", job)

    def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()

    def _ask(self, *request: Any) -> Any:
        if self._child is None and not self._is_open():
            return None
        child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            if not select.select([child.stdout], [], [], LONGEST)[0]:
                raise TimeoutError
            answer = json.loads(child.stdout.readline() or b"null")
        except (OSError, ValueError):
            answer = None
        if answer is None:
            self.close()
        return None if answer is None else answer[0]

    def _start(self) -> subprocess.Popen[bytes]:
        path = self.kit / LOG
        full = path.exists() and path.stat().st_size > LARGEST
        with path.open("wb" if full else "ab") as log:
            command = [sys.executable, "-m", __name__, str(self.kit)]
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"PYTHONSAFEPATH": "1"},  # nothing is imported from whatever folder this is
            )
        return self._child


def write_job(folder: Path, name: str, fewest: int, sites: Sequence[str] = ("@ALL",)) -> Path:
    """A job that names our two classes, and has no settings: what they do is up to the kits they run in."""
    config = folder / "app" / "config"
    config.mkdir(parents=True)
    meta = {"name": name, "resource_spec": {}, "deploy_map": {"app": list(sites)}, "min_clients": fewest}
    server = {"format_version": 2, "workflows": [{"id": "relay", "path": RELAYING, "args": {}}], "components": []}
    executor = {"tasks": ["*"], "executor": {"path": ANSWERING, "args": {}}}
    client = {"format_version": 2, "executors": [executor], "components": []}
    (folder / "meta.json").write_text(json.dumps(meta))
    (config / "config_fed_server.json").write_text(json.dumps(server))
    (config / "config_fed_client.json").write_text(json.dumps(client))
    return folder


# The other process.


def _list_parties(session: Any) -> dict[str, float]:
    known = session.get_system_info().client_info
    return {one.name: float(one.last_connect_time or 0) for one in known if time() - one.last_connect_time < CONNECTED}


def _submit(session: Any, fewest: int, parties: list[str]) -> str:
    with TemporaryDirectory(prefix="folkmoot-job-") as room:  # it holds nothing but the names of two classes
        return str(session.submit_job(str(write_job(Path(room, "job"), "folkmoot", fewest, ["server", *parties]))))


REQUESTS: dict[str, Callable[..., Any]] = {
    "parties": _list_parties,
    "submit": _submit,
    "jobs": lambda session: [
        {"id": one.get("job_id"), "status": one.get("status")} for one in session.list_jobs(limit=5, reverse=True)
    ],
    "status": lambda session, job: session.get_job_meta(job).get("status"),
    "abort": lambda session, job: session.abort_job(job),
}


def main(kit: Path) -> None:
    """Answer requests until nobody asks any more. A request that fails ends the process: another one is started."""
    from nvflare.fuel.flare_api.flare_api import new_secure_session  # takes half a second to load

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what FLARE prints goes to the log
    start = monotonic()
    session = new_secure_session(LEADER, str(kit / LEAD))
    print(f"connected after {monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    for line in sys.stdin:
        name, *given = json.loads(line)
        answers.write(json.dumps([REQUESTS[name](session, *given)], default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)  # FLARE's threads would keep the process
