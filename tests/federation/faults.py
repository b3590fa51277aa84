"""What can go wrong in a federation: processes are killed or frozen, and cables are cut. Every process is ended by its
own id.
"""

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from time import monotonic, sleep

import psutil

from folkmoot.application.federation.hosting import read_activity
from folkmoot.application.federation.loopback import Loopback
from folkmoot.engines.flare.kits import SERVER
from folkmoot.foundation.errors import InputError
from tests.federation.deployments import PARTIES, Deployment

SERVERS = ("kill relay", "kill server", "kill serve", "freeze relay")
ANYWHERE = ("kill job", "kill parent", "kill party", "kill join", "freeze job", "freeze party", "cut")
RUNS = ("kill run",)
KINDS = (*ANYWHERE, *SERVERS, *RUNS)
LONG = 600.0  # seconds: only a fault takes so long
GLANCE = 0.1


class Stuck(AssertionError):
    """Something that should have happened did not."""


def wait_until(what: str, holds: Callable[[], bool], seconds: float = LONG) -> None:
    """Let time pass until something holds."""
    end = monotonic() + seconds
    while not holds():
        if monotonic() > end:
            raise Stuck(f"{what} did not happen within {seconds:.0f} s")
        sleep(GLANCE)


def kill(*processes: psutil.Process | None) -> None:
    for one in processes:
        if one is not None:
            with suppress(psutil.NoSuchProcess):
                one.kill()


@dataclass
class Trial:
    """A federation, a run of it, and faults that are made on the way."""

    deployment: Deployment
    loopback: Loopback
    folder: Path  # of the run
    process: subprocess.Popen[str] | None = None
    said: list[str] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)

    def begin(self, problem: Path) -> None:
        self._start("federation", "run", str(problem), "--kit", str(self.deployment.founding.server), "--no-report")

    def _start(self, *words: str) -> None:
        where = ["--folder", str(self.folder)] if "run" in words else []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "folkmoot", *words, *where],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def resume(self) -> None:
        self._start("resume", str(self.folder), "--no-report")

    def is_over(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def finish(self) -> int:
        """Wait for the run; a run that was lost for want of parties is resumed by whoever looks after it."""
        assert self.process is not None
        try:
            said, _ = self.process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Stuck(f"the run hangs; it said {self.process.communicate()[0][-2000:]}") from None
        self.said.append(said)
        return self.process.returncode

    def count_answers(self) -> int:
        """Rounds that some party has answered so far."""
        counts = [0]
        for party in PARTIES:
            with suppress(InputError):  # its store is just being made
                counts.append(len(read_activity(self.deployment.founding.find_kit(party)).ledger))
        return max(counts)

    def await_rounds(self, more: int) -> None:
        """Wait until so many more rounds were answered, or the run is over."""
        goal = self.count_answers() + more
        wait_until(f"round {goal}", lambda: self.is_over() or self.count_answers() >= goal)

    def make_fault(self, kind: str, party: str, seconds: float) -> None:
        """One fault; what is frozen or cut is thawed or mended after so many seconds."""
        deployment, loopback = self.deployment, self.loopback
        name = SERVER if kind in SERVERS else party
        job, parent = deployment.find_job(name), deployment.find_parent(loopback, name)
        if kind in ("kill job", "kill relay"):
            kill(job)
        elif kind == "kill parent":
            kill(parent)
        elif kind in ("kill party", "kill server"):
            kill(parent, job)
        elif kind in ("kill join", "kill serve"):
            kill(psutil.Process(loopback.processes[name].pid), parent, job)
            loopback.processes[name].wait()
            loopback.start(name)
        elif kind in ("freeze job", "freeze relay", "freeze party"):
            self._freeze([job, parent] if kind == "freeze party" else [job], seconds)
        elif kind == "cut":
            deployment.cables[party].cut()
            self._later(seconds, deployment.cables[party].mend)
        elif kind == "kill run":
            assert self.process is not None
            self.process.kill()
            self.said.append(self.process.communicate()[0])
            self.resume()
        else:
            raise ValueError(kind)

    def _freeze(self, processes: list[psutil.Process | None], seconds: float) -> None:
        def thaw(one: psutil.Process) -> None:
            with suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGCONT)

        for one in processes:
            if one is not None:
                with suppress(psutil.NoSuchProcess):
                    one.send_signal(signal.SIGSTOP)
                    self._later(seconds, lambda one=one: thaw(one))  # type: ignore[misc]

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        timer = Timer(seconds, act)
        timer.daemon = True
        timer.start()
        self.timers.append(timer)

    def close(self) -> None:
        """Undo what is still frozen or cut, and end what still runs."""
        for timer in self.timers:
            if timer.is_alive():
                timer.cancel()
                timer.function()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
