"""Sparse sums: a sum with D nonzero entries takes 1.4·D words, whatever the length of the vectors.

Every entry (item e, number v) adds v·word(e), modulo 2^64, to four cells, one in each quarter of the table:

    word(e) = 1 + ((e | check(e) << item bits) << count bits)

The sum of sketches is the sketch of the sum. A cell that holds a single item reveals it: its low bits are the number v,
the rest is v times the item and its check. Remove that item from all its cells, and continue with the cells that then
hold a single item (an invertible Bloom lookup table, Goodrich and Mitzenmacher 2011, with one word per cell). The
result counts only if every cell ends up empty and the numbers add up to what the last cell says.
"""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.coins import hash_triple
from folkmoot.foundation.errors import FolkmootError
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.sets import Ids
from folkmoot.secagg.primitives import derive

CELLS_AN_ITEM, PARTS = 1.4, 4
PAIR_CHANCE, LEAST_CHECK_BITS = 2.0**-13, 12
ONE, ZERO = np.uint64(1), np.uint64(0)
Cells = NDArray[np.uint64]


class SketchFailed(FolkmootError):
    """The sum holds more items than the sketch has room for, and cannot be decoded."""


@dataclass(frozen=True)
class Sketch:
    """The shape of a sketch, and the seed of its hashes, which nobody knows before everybody's keys are fixed."""

    length: int  # of the vectors
    items: int  # expected in the sum
    most: int  # the largest possible number of the sum
    seed: bytes

    @property
    def part(self) -> int:
        """Cells in each of the four parts. Two items that share all four cells cannot be told apart; in a small table
        this is the likeliest failure, so it gets more cells than its items need.
        """
        apart = ceil(sqrt(sqrt(self.items**2 / 2 / PAIR_CHANCE)))
        return max((int(CELLS_AN_ITEM * self.items) - 1) // PARTS, apart)

    @property
    def cells(self) -> int:
        return PARTS * self.part + 1

    @property
    def bits(self) -> tuple[int, int]:
        """How many bits a number takes, and an item."""
        return int(self.most).bit_length(), max(int(self.length - 1).bit_length(), 1)

    @property
    def is_feasible(self) -> bool:
        """Whether a word holds every possible number and item, and enough check bits. A number with z trailing zeros
        shifts z bits out at the top.
        """
        count, item = self.bits
        return count + item + max(count - 1, LEAST_CHECK_BITS) <= 64

    @property
    def _keys(self) -> Cells:
        return np.frombuffer(derive(self.seed, "sketch", size=8 * (PARTS + 1)), dtype="<u8").astype(np.uint64)

    def encode(self, items: Ids, numbers: Ids) -> Cells:
        """The cells of a vector, given by its nonzero entries."""
        out = np.zeros(self.cells, dtype=np.uint64)
        insert(out, items, numbers.astype(np.uint64), self.part, *self.bits, self._keys)
        return out

    def decode(self, cells: Cells) -> Ids:
        """The vector of a sketch."""
        rest = cells.copy()
        out = np.zeros(self.length, dtype=np.int64)
        if not peel(rest, out, self.part, *self.bits, self._keys):
            raise SketchFailed(f"the sum holds more items than the {self.items} that the sketch has room for")
        return out


@kernel
def place(key: np.uint64, item: np.uint64, part: int, size: int) -> int:
    return int(part * size + hash_triple(key, 0, item) % np.uint64(size))


@kernel
def word(item: np.uint64, count_bits: int, item_bits: int, key: np.uint64) -> np.uint64:
    """The check fills the bits that the number and the item leave."""
    payload = item | (hash_triple(key, 0, item) << np.uint64(item_bits))
    return ONE + (payload << np.uint64(count_bits))


@kernel
def insert(cells: Cells, items: Ids, numbers: Cells, size: int, count_bits: int, item_bits: int, keys: Cells) -> None:
    for at in range(len(items)):
        item = np.uint64(items[at])
        value = numbers[at] * word(item, count_bits, item_bits, keys[PARTS])
        for part in range(PARTS):
            cells[place(keys[part], item, part, size)] += value
        cells[-1] += numbers[at]


@kernel
def inverse(odd: np.uint64) -> np.uint64:
    """The inverse of an odd number modulo 2^64, by Newton's iteration: every step doubles the correct bits."""
    out = odd
    for _ in range(6):
        out *= np.uint64(2) - odd * out
    return out


@kernel
def peel(cells: Cells, out: Ids, size: int, count_bits: int, item_bits: int, keys: Cells) -> bool:
    waiting = list(range(len(cells) - 1))
    count_mask = (ONE << np.uint64(count_bits)) - ONE
    item_mask = (ONE << np.uint64(item_bits)) - ONE
    total = ZERO
    while len(waiting) > 0:
        cell = waiting.pop()
        value = cells[cell]
        number = value & count_mask
        if number == ZERO:
            continue
        zeros = 0
        while (number >> np.uint64(zeros)) & ONE == ZERO:
            zeros += 1
        room = 64 - count_bits - zeros  # bits of item and check that were not shifted out
        rest = value >> np.uint64(count_bits)
        if room < item_bits or rest & ((ONE << np.uint64(zeros)) - ONE) != ZERO:
            continue
        payload = (rest >> np.uint64(zeros)) * inverse(number >> np.uint64(zeros))
        payload &= (ONE << np.uint64(room)) - ONE
        item = payload & item_mask
        if item >= np.uint64(len(out)) or out[item] != 0:
            continue
        expected = word(item, count_bits, item_bits, keys[PARTS]) >> np.uint64(count_bits)
        if (expected & ((ONE << np.uint64(room)) - ONE)) != payload:
            continue
        if place(keys[cell // size], item, cell // size, size) != cell:
            continue
        out[item] = np.int64(number)
        total += number
        amount = number * word(item, count_bits, item_bits, keys[PARTS])
        for part in range(PARTS):
            other = place(keys[part], item, part, size)
            cells[other] -= amount
            waiting.append(other)
    for cell in range(len(cells) - 1):
        if cells[cell] != ZERO:
            return False
    return bool(total == cells[-1])
