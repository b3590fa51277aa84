"""python -m tests.foundation.kernel_forms FOLDER: a run of each kind, then how many forms each kernel has."""

import json
import os
import sys
from pathlib import Path

from benchmarks.first_runs import FIRST_RUNS, write_files
from folkmoot.cli.app import app
from folkmoot.foundation.kernels import Kernel


def main(folder: Path) -> None:
    write_files(folder)
    os.chdir(folder)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 # what runs print is of no interest
    for words in FIRST_RUNS.values():
        app(words.split(), standalone_mode=False)
    sys.stdout = sys.__stdout__
    print(json.dumps(count_forms()))


def count_forms() -> dict[str, int]:
    """How many forms of each kernel there are, to be called from Python and from other kernels."""
    kernels = {
        id(one): one
        for name, module in list(sys.modules.items())
        if name.startswith("folkmoot.")
        for one in vars(module).values()
        if isinstance(one, Kernel)
    }
    made = {
        f"{one.py_func.__module__}.{one.py_func.__name__}{suffix}": len(one.__dict__[made].signatures)
        for one in kernels.values()
        for made, suffix in (("_function", ""), ("_part", ", as a part"))
        if made in one.__dict__
    }
    return {name: count for name, count in sorted(made.items()) if count}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
