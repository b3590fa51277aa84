"""python -m benchmarks [PART …]: measure, show, and fail where a promise is broken. All parts unless some are named."""

import sys

from benchmarks import (
    across,
    audit,
    cluster,
    coverage,
    federation,
    few_rounds,
    gradient,
    greedy,
    independence,
    liars,
    memory,
    million,
    own_files,
    privacy,
    private_families,
    quality,
    secagg,
    secagg_bytes,
    startup,
    tool,
)
from benchmarks.table import verdict

PARTS = {
    "greedy": greedy.main,
    "startup": startup.main,
    "gradient": gradient.main,
    "memory": memory.main,
    "quality": quality.main,
    "families": across.main,
    "coverage": coverage.main,
    "few-rounds": few_rounds.main,
    "independence": independence.main,
    "liars": liars.main,
    "million": million.main,
    "cluster": cluster.main,
    "federation": federation.main,
    "tool": tool.main,
    "own-files": own_files.main,
    "privacy": privacy.main,
    "private-families": private_families.main,
    "audit": audit.main,
    "secagg": secagg.main,
    "secagg-bytes": secagg_bytes.main,
    "secagg-10000": secagg.ten_thousand,
}


def main() -> int:
    wanted = sys.argv[1:] or list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"{unknown[0]!r} is not one of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    return 0 if verdict([floor for name in wanted for floor in PARTS[name]()]) else 1


if __name__ == "__main__":
    sys.exit(main())
