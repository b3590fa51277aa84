"""FLARE's own processes: started from a kit, started again when they die, and stopped by their own id."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from errno import EADDRINUSE
from pathlib import Path
from threading import Event
from time import monotonic

import psutil

from folkmoot.engines.flare import hardening
from folkmoot.engines.flare.kits import ORGANISATION, SERVER_FILE, find_stores
from folkmoot.foundation.errors import InputError

RUNNING, LOG = "running.json", "flare.log"
GLANCE = 0.2  # seconds between looks at it
GRACE = 8.0  # seconds for processes to end by themselves
PAUSE, LONGEST_PAUSE, STEADY = (
    1.0,
    30.0,
    60.0,
)  # before a dead process is started again; one that lived so long was well
LOOPBACK = ("localhost", "127.0.0.1")
OTHER_PORT = "end that program, or found the federation with another --port"
JOBS = ("runner_process", "worker_process")  # in the command line of job processes


def is_server(kit: Path) -> bool:
    return (kit / "startup" / SERVER_FILE).is_file()


def write_command(kit: Path) -> list[str]:
    """How FLARE is started from this kit."""
    side = "server" if is_server(kit) else "client"
    given = ["secure_train=true", f"org={ORGANISATION}", "config_folder=config"]
    given += [] if side == "server" else [f"uid={read_name(kit)}"]
    module = f"nvflare.private.fed.app.{side}.{side}_train"
    return [sys.executable, "-u", "-m", module, "-m", str(kit), "-s", f"fed_{side}.json", "--set", *given]


def read_name(kit: Path) -> str:
    """The name of the party whose kit this is."""
    return str(json.loads((kit / "startup" / "fed_client.json").read_text())["client"]["fqsn"])


def read_address(kit: Path) -> str:
    """Where the server is, by its own kit or by that of a party."""
    path = kit / "startup" / (SERVER_FILE if is_server(kit) else "fed_client.json")
    return str(json.loads(path.read_text())["servers"][0]["service"]["target"])


def ignore_time() -> None:
    """For those who do not look while time passes."""


def run_parent(kit: Path, stop: Event, tell: Callable[[str], None], glance: Callable[[], None] = ignore_time) -> None:
    """Keep FLARE running for this kit until `stop`; one that dies is started again. `glance` is called meanwhile."""
    kit = kit.absolute()
    make_ready(kit)
    me = psutil.Process()
    (kit / RUNNING).write_text(json.dumps({"pid": me.pid, "started": me.create_time()}))
    pause = PAUSE
    try:
        while not stop.is_set():
            with (kit / LOG).open("ab") as log:
                child = subprocess.Popen(
                    write_command(kit),
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    cwd=kit,
                    start_new_session=True,
                    env=os.environ | {"PYTHONSAFEPATH": "1"},  # nothing is imported from the kit, here and in jobs
                )
            try:
                began = monotonic()
                while child.poll() is None and not stop.wait(GLANCE):
                    glance()
            finally:
                if stop.is_set() or child.poll() is None:
                    end_tree(child.pid)
            if stop.is_set():
                return
            pause = PAUSE if monotonic() - began > STEADY else min(2 * pause, LONGEST_PAUSE)
            tell(f"FLARE ended with code {child.returncode} and is started again in {pause:.0f} s (see {kit / LOG})")
            stop.wait(pause)
    finally:
        end_left(kit)
        (kit / RUNNING).unlink(missing_ok=True)


def make_ready(kit: Path) -> None:
    """Clear away what a killed process of this kit left, and refuse what would keep FLARE from starting."""
    if (pid := find_running(kit)) is not None:
        raise InputError(f"is in use by process {pid}", remedy="stop it with `folkmoot federation stop`", place=kit)
    end_left(kit)
    if is_server(kit):
        find_stores(kit)
        check_port(kit)
    else:
        hardening.check_settings(kit)


def check_port(kit: Path) -> None:
    """Refuse a port that this server could not listen on: FLARE would say so in its log alone, and try for ever."""
    host, _, port = read_address(kit).rpartition(":")
    if host not in LOOPBACK:
        host = ""  # FLARE then listens on all interfaces
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as FLARE does: connections that ended do not count
        try:
            one.bind((host, int(port)))
            one.listen()
        except PermissionError:
            raise InputError(
                f"port {port} is not open to this user",
                remedy="found the federation with a --port above 1023",
                place=kit,
            ) from None
        except OSError as error:
            if error.errno != EADDRINUSE:
                raise InputError(f"cannot listen at port {port} ({error.strerror})", place=kit) from None
            raise InputError(
                f"port {port} is in use by {_name_listener(int(port))}", remedy=OTHER_PORT, place=kit
            ) from None


def _name_listener(port: int) -> str:
    """Who listens at a port, as far as this user may know."""
    with suppress(psutil.Error):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid is not None:
                return f"process {one.pid} ({psutil.Process(one.pid).name()})"
    return "another program"


def find_running(kit: Path) -> int | None:
    """The process that keeps FLARE running for this kit; None if there is none."""
    try:
        known = json.loads((kit / RUNNING).read_text())
        process = psutil.Process(known["pid"])
        return process.pid if abs(process.create_time() - known["started"]) < 1.0 else None
    except (OSError, ValueError, KeyError, psutil.Error):
        return None


def stop_parent(kit: Path) -> bool:
    """Ask the process of this kit to end, and wait for it; whether there was one."""
    pid = find_running(kit)
    if pid is None:
        end_left(kit)
        return False
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        process.terminate()
        with suppress(psutil.TimeoutExpired):
            process.wait(4 * GRACE)
    end_left(kit)
    return True


def list_jobs(kit: Path) -> list[psutil.Process]:
    """Job processes of this kit, also those whose parent is gone."""
    return [one for one in _list_own(kit) if any(word in " ".join(one.info["cmdline"]) for word in JOBS)]


def end_left(kit: Path) -> None:
    """End what processes of this kit left behind when they were killed."""
    _end(_list_own(kit))


def end_rivals(kit: Path) -> None:
    """From a job process: end those of earlier jobs, whose parent was killed; they would hold the party's store."""
    _end([one for one in list_jobs(kit) if one.pid != os.getpid()], at_once=True)


def end_tree(pid: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        _end([*process.children(recursive=True), process])


def _list_own(kit: Path) -> list[psutil.Process]:
    """FLARE's processes that were started from this kit, by their command lines."""
    own, me = str(kit.absolute()), os.getuid()
    found = []
    for one in psutil.process_iter(["cmdline", "pid", "uids"]):
        line, users = one.info["cmdline"] or [], one.info["uids"]
        if users is None or users.real != me:  # whoever else writes such a line is not ours to end
            continue
        if own in line and any("nvflare" in word for word in line) and one.pid != os.getpid():
            found.append(one)
    return found


def _end(processes: list[psutil.Process], *, at_once: bool = False) -> None:
    for one in [] if at_once else processes:
        with suppress(psutil.NoSuchProcess):
            one.send_signal(signal.SIGCONT)  # a frozen process could not end
            one.terminate()
    _, alive = psutil.wait_procs(processes, timeout=0.0 if at_once else GRACE)
    for one in alive:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(alive, timeout=GRACE)
