"""A whole federation on this machine: every party a process of its own, as on machines of their own."""

import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from folkmoot.engines.flare.kits import SERVER
from folkmoot.engines.flare.processes import end_left

FOLKMOOT = ("-m", "folkmoot")
GRACE = 20.0  # seconds for a process to end by itself


def find_port() -> int:
    """A free port of the loopback interface."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Loopback:
    """The processes of a server and its parties; kits are in `folder`, and parties join with these arguments.

    program: what Python runs for each of them, in place of Folkmoot itself.
    """

    def __init__(
        self,
        folder: Path,
        joins: Mapping[str, Sequence[str]],
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = FOLKMOOT,
    ):
        self.folder, self.joins, self.environment, self.program = folder.absolute(), joins, environment, program
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            for name in (SERVER, *self.joins):
                self.start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, name: str) -> None:
        """Start the process of one kit; what it prints goes to a file beside the kit."""
        kit = str(self.folder / name)
        what = ["serve", kit] if name == SERVER else ["join", kit, *self.joins[name]]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *self.program, "federation", *what],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the caller, which ends them
                env=None if self.environment is None else dict(self.environment),
            )

    def check(self) -> None:
        """Raise what a process said, if it could not even start."""
        for name, process in self.processes.items():
            if process.poll():
                raise RuntimeError(f"{name}: {self.read_log(name)}")

    def read_log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace").strip()

    def stop(self) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        for name, process in self.processes.items():
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                end_left(self.folder / name)
