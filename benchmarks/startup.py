"""What a fresh process pays: from machine code on disk, and the very first time ever."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.first_runs import FIRST_RUNS, write_files
from benchmarks.instances import HERE
from benchmarks.table import Floor, show

FIRST_CALL = """
from time import perf_counter
import numpy as np
from benchmarks.instances import ratings
matrix = ratings()
start = perf_counter()
import folkmoot as fm
loaded = perf_counter()
fm.solve(fm.FacilityLocation(matrix), 50)
print(perf_counter() - loaded, perf_counter() - start)
"""


def python(cache: str, *arguments: str) -> list[float]:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    run = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, cwd=HERE, env=environment
    )
    return [float(word) for word in run.stdout.split()]


def time_first_run(words: str) -> float:
    """Seconds until a command has ended on a machine where nothing was compiled yet."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
        start = perf_counter()
        command = [sys.executable, "-m", "folkmoot", *words.split()]
        subprocess.run(command, capture_output=True, check=True, cwd=folder, env=environment)
        return perf_counter() - start


def main() -> list[Floor]:
    first = {kind: time_first_run(words) for kind, words in FIRST_RUNS.items()}
    with tempfile.TemporaryDirectory() as cache:
        (ever,) = python(cache, "-m", "benchmarks.every_kernel")
        (every,) = python(cache, "-m", "benchmarks.every_kernel")
        python(cache, "-c", FIRST_CALL)
        calls, withs = zip(*(python(cache, "-c", FIRST_CALL) for _ in range(5)), strict=True)
    show(
        "A fresh process",
        ["", "seconds", ""],
        [
            ["every kernel, very first compile", f"{ever:.1f}", "all forms, the whole package"],
            ["every kernel, from disk", f"{every:.2f}", ""],
            ["first greedy on (a), from disk", f"{min(calls):.2f}", "the call"],
            ["", f"{min(withs):.2f}", "with importing folkmoot, numba, scipy"],
            *(["first run ever", f"{seconds:.1f}", kind] for kind, seconds in first.items()),
        ],
    )
    return [
        Floor("very first compile of the whole package, seconds", ever, at_most=15),
        Floor("first call in a fresh process, seconds", min(calls), at_most=0.6),
        *(Floor(f"first run ever, {kind}, seconds", seconds, at_most=10) for kind, seconds in first.items()),
    ]
