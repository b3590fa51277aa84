"""Pairs of people and places within reach of each other.

People who are neighbours are looked at together: a block of them needs only the places near the box around it, and a
group within the block only those near its own. What is left is compared with each person, in the order of the places.
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from folkmoot.data.entries import Entries
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import kernel, run_on_threads
from folkmoot.foundation.sets import Array, Ids
from folkmoot.foundation.sphere import RADIUS, measure_arcs

BLOCK, GROUP = 1 << 12, 64  # people
PIECE = 1 << 16  # entries whose distances are computed together


def find_pairs(here: Array, there: Array, reach: float, most: int) -> Entries:
    """1 − distance/reach for all pairs within reach; both are points of the unit sphere. Refused: more than `most`."""
    chord = 2 * np.sin(min(reach / RADIUS, np.pi) / 2)
    by_neighbourhood = scipy.spatial.KDTree(here).indices
    starts = np.zeros(len(here) + 1, dtype=np.int64)
    nowhere, nothing = np.empty(0, dtype=np.int32), np.empty(0)
    _visit(here, there, chord, by_neighbourhood, starts, nowhere, nothing)
    np.cumsum(starts, out=starts)
    pairs = int(starts[-1])
    if pairs > most:
        raise InputError(
            f"{pairs:,} pairs lie within {reach:g} km, more than {most:,}",
            remedy="give a shorter reach, or fewer places to choose from",
            argument="reach",
        )
    items, values = np.empty(pairs, dtype=np.int32), np.empty(pairs)
    if pairs:
        _visit(here, there, chord, by_neighbourhood, starts, items, values)

    def measure(lo: int, hi: int) -> None:
        values[lo:hi] = 1.0 - measure_arcs(values[lo:hi]) / reach

    run_on_threads(measure, [(lo, min(lo + PIECE, pairs)) for lo in range(0, pairs, PIECE)])
    entries = Entries(starts, items, values, len(there))
    entries.drop_worthless()
    return entries


def _visit(
    here: Array, there: Array, chord: float, order: Ids, starts: Ids, items: NDArray[np.int32], chords: Array
) -> None:
    """Let everybody look around: see `look_around`."""

    def one(lo: int, hi: int) -> None:
        who = order[lo:hi]
        block = here[who]
        gaps = np.maximum(np.maximum(block.min(axis=0) - there, there - block.max(axis=0)), 0.0)
        near = np.flatnonzero((gaps <= chord).all(axis=1)).astype(np.int32)
        room = np.empty((3, len(near))), np.empty(len(near), dtype=np.int32)
        found = np.empty(len(near), dtype=np.int32), np.empty(len(near))
        look_around(block, who, there[near], near, chord, *room, *found, starts, items, chords)

    run_on_threads(one, [(lo, min(lo + BLOCK, len(order))) for lo in range(0, len(order), BLOCK)])


@kernel
def look_around(
    block: Array,
    who: Ids,
    there: Array,
    near: NDArray[np.int32],
    chord: float,
    point: Array,
    number: NDArray[np.int32],
    seen: NDArray[np.int32],
    square: Array,
    starts: Ids,
    items: NDArray[np.int32],
    chords: Array,
) -> None:
    """The places within a chord of each person, of those that are near the block; they are called `near`.

    Where `items` is empty, they are counted, and starts[person + 1] is their number. Otherwise they and the lengths of
    their chords are written from starts[person] on. `point`, `number`, `seen` and `square` are room for all that are
    near. A box is never farther than a person in it, in floating point too: both are computed in the same way.
    """
    most = chord * chord
    for begin in range(0, len(who), GROUP):
        end = min(begin + GROUP, len(who))
        west, south, below = east, north, above = block[begin, 0], block[begin, 1], block[begin, 2]
        for k in range(begin + 1, end):
            west, east = min(west, block[k, 0]), max(east, block[k, 0])
            south, north = min(south, block[k, 1]), max(north, block[k, 1])
            below, above = min(below, block[k, 2]), max(above, block[k, 2])
        count = 0
        for k in range(len(near)):
            a = max(west - there[k, 0], there[k, 0] - east, 0.0)
            b = max(south - there[k, 1], there[k, 1] - north, 0.0)
            c = max(below - there[k, 2], there[k, 2] - above, 0.0)
            if a * a + b * b + c * c <= most:
                point[0, count], point[1, count], point[2, count] = there[k, 0], there[k, 1], there[k, 2]
                number[count] = near[k]
                count += 1
        for k in range(begin, end):
            x, y, z, found = block[k, 0], block[k, 1], block[k, 2], 0
            if len(items) == 0:
                for at in range(count):
                    a, b, c = x - point[0, at], y - point[1, at], z - point[2, at]
                    found += a * a + b * b + c * c <= most
                starts[who[k] + 1] = found
                continue
            for at in range(count):  # writes every time and counts some: there is nothing to guess for the processor
                a, b, c = x - point[0, at], y - point[1, at], z - point[2, at]
                seen[found], square[found] = number[at], a * a + b * b + c * c
                found += square[found] <= most
            for at in range(found):
                items[starts[who[k]] + at] = seen[at]
                chords[starts[who[k]] + at] = np.sqrt(square[at])
