"""Every kind of matroid, listed once, each beside an independent definition in plain Python."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot import Free, Graphic, Laminar, Linear, Matroid, Oracle, Partition, Transversal, Truncation, Uniform

N = 8
Independent = Callable[[frozenset[int]], bool]


@dataclass(frozen=True)
class Kind:
    matroid: Matroid
    truth: Independent


def everything(_: frozenset[int]) -> bool:
    return True


def at_most(limits: list[tuple[set[int], int]]) -> Independent:
    return lambda s: all(len(s & group) <= capacity for group, capacity in limits)


def forest(edges: list[tuple[int, int]]) -> Independent:
    def independent(chosen: frozenset[int]) -> bool:
        tree: dict[int, int] = {}

        def root(v: int) -> int:
            while tree.get(v, v) != v:
                v = tree[v]
            return v

        for item in chosen:
            a, b = root(edges[item][0]), root(edges[item][1])
            if a == b:
                return False
            tree[a] = b
        return True

    return independent


def matched(sets: list[set[int]]) -> Independent:
    def independent(chosen: frozenset[int]) -> bool:
        items = sorted(chosen)
        return any(
            all(item in sets[s] for item, s in zip(items, order, strict=True))
            for order in permutations(range(len(sets)), len(items))
        )

    return independent


def spanned(matrix: NDArray[Any], field: int | None) -> Independent:
    def independent(chosen: frozenset[int]) -> bool:
        columns = matrix[:, sorted(chosen)]
        if field is None:
            return int(np.linalg.matrix_rank(columns)) == len(chosen) if chosen else True
        for size in range(1, len(chosen) + 1):  # no combination of some columns vanishes
            for some in combinations(range(len(chosen)), size):
                for shares in np.ndindex(*[field - 1] * size):
                    if not ((columns[:, some] @ (np.array(shares) + 1)) % field).any():
                        return False
        return True

    return independent


EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (0, 1), (3, 3)]
SETS = [{0, 1, 2}, {2, 3}, {3, 4, 5, 0}, {5, 6}]
NESTED: list[tuple[set[int], int]] = [({0, 1, 2}, 1), ({0, 1, 2, 3, 4}, 2), ({5, 6}, 1), ({5, 6}, 3)]
REAL = np.array([[1, 0, 1, 2, 0, 1, 0, 3], [0, 1, 1, 2, 0, 2, 0, 1], [0, 0, 0, 0, 1, 1, 0, 2.5]])
BINARY = np.array([[1, 0, 1, 0, 1, 1, 0, 0], [0, 1, 1, 0, 0, 1, 0, 0], [0, 0, 0, 1, 1, 1, 0, 2]])

KINDS: dict[str, Kind] = {
    "uniform": Kind(Uniform(N, 3), lambda s: len(s) <= 3),
    "uniform, all": Kind(Uniform(N, N), everything),
    "free": Kind(Free(N), everything),
    "partition": Kind(
        Partition(list("aabbbccd"), {"a": 1, "b": 2, "c": 0, "d": 5}),
        at_most([({0, 1}, 1), ({2, 3, 4}, 2), ({5, 6}, 0), ({7}, 5)]),
    ),
    "partition, one capacity": Kind(
        Partition([0, 1, 2, 0, 1, 2, 0, 1], 1), lambda s: len({e % 3 for e in s}) == len(s)
    ),
    "laminar": Kind(Laminar(N, [(s, c) for s, c in NESTED]), at_most(NESTED)),
    "laminar, no limits": Kind(Laminar(N, []), everything),
    "graphic": Kind(Graphic(EDGES), forest(EDGES)),
    "transversal": Kind(Transversal(N, [sorted(s) for s in SETS]), matched(SETS)),
    "linear, real": Kind(Linear(REAL), spanned(REAL, None)),
    "linear, mod 2": Kind(Linear(BINARY, 2), spanned(BINARY, 2)),
    "linear, mod 3": Kind(Linear(BINARY, 3), spanned(BINARY, 3)),
    "truncated graphic": Kind(Truncation(Graphic(EDGES), 2), lambda s: len(s) <= 2 and forest(EDGES)(s)),
    "truncated partition": Kind(
        Truncation(Partition([0, 0, 1, 1, 2, 2, 3, 3], 1), 3),
        lambda s: len(s) <= 3 and len({e // 2 for e in s}) == len(s),
    ),
    "oracle": Kind(
        Oracle(N, lambda s: len(s & {0, 1, 2}) <= 1 and len(s) <= 4), at_most([({0, 1, 2}, 1), (set(range(N)), 4)])
    ),
}
