"""How much memory an answer takes, against the data it came from: peak resident size, in processes of its own."""

import resource
import subprocess
import sys

import numpy as np

import folkmoot as fm
from benchmarks.instances import HERE, Matrix, scattered
from benchmarks.table import Floor, show

CASES = {
    "ratings of five levels": ("facility", 20_000, 5_000),
    "real-valued benefits": ("facility", 20_000, 5_000),
    "memberships": ("coverage", 400_000, 5_000),
    "chances": ("probabilistic", 20_000, 5_000),
}


def instance(name: str) -> Matrix:
    rng = np.random.default_rng(0)
    _, rows, items = CASES[name]
    share = 0.01 if rows > 100_000 else 0.2
    levels = {"ratings of five levels": 5, "memberships": 1}.get(name)
    if levels:
        return scattered(rng, rows, items, share, lambda size: rng.integers(1, levels + 1, size).astype(np.float64))
    return scattered(rng, rows, items, share, rng.random)


def peak() -> int:
    """The most memory that this process has had, since its start or since the peak was set back."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def measure(name: str) -> None:
    """In a process of its own: bytes of the data, and how far the peak rose above what was there before."""
    family = {"facility": fm.FacilityLocation, "coverage": fm.Coverage, "probabilistic": fm.ProbabilisticCoverage}
    make = family[CASES[name][0]]
    warm = make(np.eye(6, 5_000))
    fm.solve(warm, 3)
    warm.mean_gradient(np.zeros(5_000))
    matrix = instance(name)
    size = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak counts from here
    before = resident()
    objective = make(matrix)
    fm.solve(objective, 50)
    objective.mean_gradient(np.full(5_000, 0.01))
    print(size, peak() - before)


def main() -> list[Floor]:
    floors, rows = [], []
    for name in CASES:
        command = [sys.executable, "-m", "benchmarks.memory", name]
        run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE)
        size, extra = (int(word) for word in run.stdout.split())
        rows.append([name, f"{size / 1e6:.0f}", f"{extra / 1e6:.0f}", f"{extra / size:.2f}"])
        floors.append(Floor(f"{name}: memory beyond the data / the data", extra / size, at_most=2))
    show("Building, greedy and gradient", ["", "data, MB", "beyond it, MB", "ratio"], rows)
    return floors


if __name__ == "__main__":
    measure(sys.argv[1])
