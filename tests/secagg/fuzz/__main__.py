"""Fuzzing by coverage: `python -m tests.secagg.fuzz [--seconds N] [target ...]`, with atheris installed.

Each target runs in a process of its own, one per core at a time, from the inputs in corpus/<target>/. Inputs that reach
something new are kept there; one that breaks a target is kept there too, and test_corpus.py fails until it is mended.
`--honest` writes the inputs of an honest round anew, after a change of the protocol.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE, STDOUT, CompletedProcess
from subprocess import run as run_process

CORPUS = Path(__file__).parent / "corpus"
COMPILED = [f"folkmoot.secagg.{name}" for name in ("dealing", "packing", "shamir", "sketch")]  # numba reads their code
LONGEST = 2_048  # bytes of an input
OPTIONS = ["-seed=1", "-timeout=20", "-keep_seed=1", "-len_control=0"]  # honest messages stay what changes start from


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.secagg.fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--honest", action="store_true", help="write the inputs of an honest round, and stop")
    parser.add_argument("--forget", action="store_true", help="do not keep inputs that reach something new")
    parser.add_argument("--inside", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*")
    asked = parser.parse_args()
    if asked.inside:
        fuzz(*asked.inside)
    from tests.secagg.fuzz.targets import TARGETS

    unknown = set(asked.targets) - TARGETS.keys()
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    if asked.honest:
        write_honest()
        return 0
    if find_spec("atheris") is None:
        print("atheris is not installed: nothing was fuzzed")
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as several:
        return max(several.map(lambda name: run(name, asked.seconds, asked.forget), asked.targets or TARGETS))


def run(name: str, seconds: int, forget: bool) -> int:
    """Fuzz one target; 1 if something was found."""
    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        found = Path(work, "found")
        found.mkdir()
        options = [f"-max_total_time={seconds}", f"-artifact_prefix={work}/broken-", *OPTIONS]
        ended = run_inside(name, str(found), str(corpus), *options)
        broken = sorted(Path(work).glob("broken-*"))
        if not broken and ended.returncode == 0:
            if not forget:
                run_inside(name, "-merge=1", "-use_counters=0", str(corpus), str(found))
            print(f"{name}: {summary(ended.stdout)}", flush=True)
            return 0
        kept = [keep(corpus, one.read_bytes(), "broken") for one in broken]
    told = ended.stdout.find("=== Uncaught")  # if Python raised; else libFuzzer says at the end why it stopped
    print(ended.stdout[told:][:3_000] if told >= 0 else ended.stdout[-1_500:], flush=True)
    print(f"{name}: the target is broken by {', '.join(map(str, kept)) or 'something that left no input'}", flush=True)
    return 1


def run_inside(name: str, *arguments: str) -> CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.secagg.fuzz", "--inside", name, *arguments, f"-max_len={LONGEST}"]
    return run_process(command, stdout=PIPE, stderr=STDOUT, text=True, errors="replace", check=False)


def summary(log: str) -> str:
    """libFuzzer's last word: how often, and how much was reached."""
    return next((line for line in reversed(log.splitlines()) if "DONE" in line), "no report")


def fuzz(name: str, *arguments: str) -> None:
    """Does not return. Only the protocol is instrumented: what else it imports is imported before."""
    import folkmoot  # noqa: F401

    atheris = import_module("atheris")  # not needed but here

    for module in [one for one in sys.modules if one.startswith("folkmoot.secagg")]:
        del sys.modules[module]
    with atheris.instrument_imports(include=["folkmoot.secagg"], exclude=COMPILED):
        from tests.secagg.fuzz.targets import TARGETS
    again = f"{sys.executable} -m tests.secagg.fuzz --inside {name}"  # how libFuzzer starts itself, to merge
    atheris.Setup([again, *arguments], TARGETS[name])
    atheris.Fuzz()


def keep(corpus: Path, data: bytes, kind: str) -> Path:
    path = corpus / f"{kind}-{sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def write_honest() -> None:
    from tests.secagg.fuzz.targets import honest_inputs

    for name, inputs in honest_inputs().items():
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
        for old in (CORPUS / name).glob("honest-*"):
            old.unlink()
        for place, data in enumerate(inputs):
            (CORPUS / name / f"honest-{place}").write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
