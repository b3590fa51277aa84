"""python -m benchmarks [--write] [PART …]: measure, show, and fail where a promise is broken. All parts but the longest
unless some are named. --write: what documents quote goes to docs/figures/measured.json; write on an idle machine.
"""

import sys

from benchmarks import (
    across,
    audit,
    axioms,
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
    picture,
    privacy,
    private_families,
    quality,
    secagg,
    secagg_bytes,
    startup,
    tool,
)
from benchmarks.table import Floor, verdict, write_figures

LONG = ("private-families",)  # about three hours: left out unless named
PARTS = {
    "greedy": greedy.main,
    "startup": startup.main,
    "axioms": axioms.main,
    "gradient": gradient.main,
    "memory": memory.main,
    "quality": quality.main,
    "families": across.main,
    "coverage": coverage.main,
    "widths": coverage.light_widths,
    "few-rounds": few_rounds.main,
    "independence": independence.main,
    "liars": liars.main,
    "million": million.main,
    "cluster": cluster.main,
    "federation": federation.main,
    "tool": tool.main,
    "own-files": own_files.main,
    "picture": picture.main,
    "privacy": privacy.main,
    "private-families": private_families.main,
    "audit": audit.main,
    "secagg": secagg.main,
    "rounds": secagg.rounds,
    "secagg-bytes": secagg_bytes.main,
    "secagg-10000": secagg.ten_thousand,
}


def main() -> int:
    wanted = [word for word in sys.argv[1:] if word != "--write"] or [name for name in PARTS if name not in LONG]
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"{unknown[0]!r} is not one of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    floors = list[Floor]()
    for name in wanted:
        floors += (found := PARTS[name]())
        if "--write" in sys.argv:
            write_figures(name, found)
    return 0 if verdict(floors) else 1


if __name__ == "__main__":
    sys.exit(main())
