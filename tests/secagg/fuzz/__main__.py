"""`python -m tests.secagg.fuzz [--seconds N] [target ...]`: any bytes, wherever bytes come in.

`--honest` writes the inputs of an honest round anew, after a change of the protocol.
"""

import sys
from pathlib import Path

from tests.fuzzing import Suite

SUITE = Suite(
    module="tests.secagg.fuzz",
    corpus=Path(__file__).parent / "corpus",
    instrumented=["folkmoot.secagg"],
    compiled=[f"folkmoot.secagg.{name}" for name in ("dealing", "packing", "shamir", "sketch")],
)

if __name__ == "__main__":
    sys.exit(SUITE.main())
