"""Fuzzing by coverage, with atheris: what the fuzzers of single packages share.

Each target runs in a process of its own, one per core at a time, from the inputs in corpus/<target>/. Inputs that reach
something new are kept there; one that breaks a target is kept there too, and a test fails until it is mended.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE, STDOUT, CompletedProcess
from subprocess import run as run_process

OPTIONS = ["-seed=1", "-timeout=20", "-keep_seed=1", "-len_control=0"]  # honest inputs stay what changes start from


@dataclass(frozen=True)
class Suite:
    """The targets of one package."""

    module: str  # `python -m` this begins it; its `.targets` has TARGETS and honest_inputs()
    corpus: Path
    instrumented: list[str]
    compiled: list[str]  # modules that numba reads, which cannot be instrumented
    longest: int = 2_048  # bytes of an input
    environment: dict[str, str] = field(default_factory=dict)

    def main(self) -> int:
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}")
        parser.add_argument("--seconds", type=int, default=60, help="for each target")
        parser.add_argument("--honest", action="store_true", help="write the inputs that changes start from, and stop")
        parser.add_argument("--forget", action="store_true", help="do not keep inputs that reach something new")
        parser.add_argument("--inside", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        parser.add_argument("targets", nargs="*")
        asked = parser.parse_args()
        if asked.inside:
            self.fuzz(*asked.inside)
        known = import_module(f"{self.module}.targets").TARGETS
        unknown = set(asked.targets) - known.keys()
        if unknown:
            parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        if asked.honest:
            self.write_honest()
            return 0
        if find_spec("atheris") is None:
            print("atheris is not installed: nothing was fuzzed")
            return 0
        with ThreadPoolExecutor(os.cpu_count()) as several:
            return max(several.map(lambda name: self.run(name, asked.seconds, asked.forget), asked.targets or known))

    def run(self, name: str, seconds: int, forget: bool) -> int:
        """Fuzz one target; 1 if something was found."""
        corpus = self.corpus / name
        corpus.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            found = Path(work, "found")
            found.mkdir()
            options = [f"-max_total_time={seconds}", f"-artifact_prefix={work}/broken-", *OPTIONS]
            ended = self.run_inside(name, str(found), str(corpus), *options)
            broken = sorted(Path(work).glob("broken-*"))
            if not broken and ended.returncode == 0:
                if not forget:
                    self.run_inside(name, "-merge=1", "-use_counters=0", str(corpus), str(found))
                print(f"{name}: {summarise(ended.stdout)}", flush=True)
                return 0
            kept = [keep(corpus, one.read_bytes(), "broken") for one in broken]
        told = ended.stdout.find("=== Uncaught")  # if Python raised; else libFuzzer says at the end why it stopped
        print(ended.stdout[told:][:3_000] if told >= 0 else ended.stdout[-1_500:], flush=True)
        by = ", ".join(map(str, kept)) or "something that left no input"
        print(f"{name}: the target is broken by {by}", flush=True)
        return 1

    def run_inside(self, name: str, *arguments: str) -> CompletedProcess[str]:
        command = [sys.executable, "-m", self.module, "--inside", name, *arguments, f"-max_len={self.longest}"]
        where = os.environ | self.environment
        return run_process(command, stdout=PIPE, stderr=STDOUT, text=True, errors="replace", check=False, env=where)

    def fuzz(self, name: str, *arguments: str) -> None:
        """Does not return. Only one package is instrumented: what else it imports is imported before."""
        import_module("folkmoot.names")
        atheris = import_module("atheris")  # not needed but here

        for module in [one for one in sys.modules if one.startswith(tuple(self.instrumented))]:
            del sys.modules[module]
        with atheris.instrument_imports(include=self.instrumented, exclude=self.compiled):
            targets: dict[str, Callable[[bytes], None]] = import_module(f"{self.module}.targets").TARGETS
        again = f"{sys.executable} -m {self.module} --inside {name}"  # how libFuzzer starts itself, to merge
        atheris.Setup([again, *arguments], targets[name])
        atheris.Fuzz()

    def write_honest(self) -> None:
        inputs: dict[str, list[bytes]] = import_module(f"{self.module}.targets").honest_inputs()
        for name, some in inputs.items():
            (self.corpus / name).mkdir(parents=True, exist_ok=True)
            for old in (self.corpus / name).glob("honest-*"):
                old.unlink()
            for place, data in enumerate(some):
                (self.corpus / name / f"honest-{place}").write_bytes(data)


def summarise(log: str) -> str:
    """libFuzzer's last word: how often, and how much was reached."""
    return next((line for line in reversed(log.splitlines()) if "DONE" in line), "no report")


def keep(corpus: Path, data: bytes, kind: str) -> Path:
    path = corpus / f"{kind}-{sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path
