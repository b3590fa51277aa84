"""`python -m tests.questions.fuzz [--seconds N] [kind ...]`: questions of every kind, edited, put to a party.

Kernels are compiled so that they notice a read or write outside an array.
"""

import sys
from pathlib import Path

from tests.fuzzing import Suite

CHECKED = Path(__file__).parents[3] / ".data" / "checked-kernels"
SUITE = Suite(
    module="tests.questions.fuzz",
    corpus=Path(__file__).parent / "corpus",
    instrumented=["folkmoot.questions", "folkmoot.engines.answering"],
    compiled=[
        f"folkmoot.questions.{name}" for name in ("query", "gradient", "local", "hidden", "folded", "differences")
    ],
    longest=24,
    environment={"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(CHECKED)},
)

if __name__ == "__main__":
    CHECKED.mkdir(parents=True, exist_ok=True)
    sys.exit(SUITE.main())
