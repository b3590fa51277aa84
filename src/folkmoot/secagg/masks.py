"""Adding masks to a vector, at the speed of the cipher.

Vectors are added in machine words, 32 or 64 bits, and cut to the ring when they are packed: the ring divides the
word. Work goes tile by tile, so that a stretch of keystream is added while it is still in the nearest cache.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from folkmoot.secagg.primitives import stream

Words = NDArray[np.uint32] | NDArray[np.uint64]
TILE = 1 << 18  # bytes


def word_of(ring_bits: int) -> type[np.uint32] | type[np.uint64]:
    return np.uint32 if ring_bits <= 32 else np.uint64


def add_masks(words: Words, added: Sequence[bytes], taken: Sequence[bytes] = ()) -> None:
    """words ± the mask of each key, in place."""
    streams = [(stream(key), np.add) for key in added] + [(stream(key), np.subtract) for key in taken]
    size = words.dtype.itemsize
    zeros = bytes(TILE)
    buffer = bytearray(TILE)
    mask = np.frombuffer(buffer, dtype=words.dtype)
    for first in range(0, len(words), TILE // size):
        tile = words[first : first + TILE // size]
        length = len(tile) * size
        for cipher, move in streams:
            cipher.update_into(memoryview(zeros)[:length], buffer)
            move(tile, mask[: len(tile)], out=tile)
