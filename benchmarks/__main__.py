"""python -m benchmarks [greedy] [startup] [gradient] [memory]: measure, show, and fail where a promise is broken."""

import sys

from benchmarks import gradient, greedy, memory, startup
from benchmarks.table import verdict

PARTS = {"greedy": greedy.main, "startup": startup.main, "gradient": gradient.main, "memory": memory.main}


def main() -> int:
    wanted = sys.argv[1:] or list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"{unknown[0]!r} is not one of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    return 0 if verdict([floor for name in wanted for floor in PARTS[name]()]) else 1


if __name__ == "__main__":
    sys.exit(main())
