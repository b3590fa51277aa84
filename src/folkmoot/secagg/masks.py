"""Adding masks to a vector, at the speed of the cipher.

Vectors are added in machine words, 32 or 64 bits, and cut to the ring when they are packed: the ring divides the
word. Work goes tile by tile, so that a stretch of keystream is added while it is still in the nearest cache; long
vectors are cut between the threads, since a counter can begin anywhere.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.kernels import on_threads, thread_count
from folkmoot.secagg.primitives import CIPHER_BLOCK, stream

Words = NDArray[np.uint32] | NDArray[np.uint64]
TILE = 1 << 19  # bytes: with the keystream beside it, this fits the second cache


def as_words(numbers: NDArray[Any], ring_bits: int) -> Words:
    """Numbers in the smallest word that holds the ring; a copy, which may be changed."""
    return numbers.astype(np.uint32) if ring_bits <= 32 else numbers.astype(np.uint64)


def add_masks(words: Words, added: Sequence[bytes], taken: Sequence[bytes] = ()) -> None:
    """words ± the mask of each key, in place."""
    tiles = -(-words.nbytes // TILE)
    share = -(-tiles // thread_count()) * TILE // words.itemsize
    cuts = [(at, min(at + share, len(words))) for at in range(0, len(words), share)]
    on_threads(lambda lo, hi: add_stretch(words, lo, hi, added, taken), cuts)


def add_stretch(words: Words, lo: int, hi: int, added: Sequence[bytes], taken: Sequence[bytes]) -> None:
    """The same from one place to another; `lo` is the start of a tile."""
    size, block = words.itemsize, lo * words.itemsize // CIPHER_BLOCK
    plus = [(stream(key, block).update_into, np.add) for key in added]
    streams = plus + [(stream(key, block).update_into, np.subtract) for key in taken]
    tile_size = min(TILE, (hi - lo) * size)
    zeros, buffer = memoryview(bytes(tile_size)), bytearray(tile_size)
    mask = np.frombuffer(buffer, dtype=words.dtype.newbyteorder("<"))
    for first in range(lo, hi, tile_size // size):
        tile = words[first : min(first + tile_size // size, hi)]
        some_zeros, some_mask = zeros[: tile.nbytes], mask[: len(tile)]
        for generate, move in streams:
            generate(some_zeros, buffer)
            move(tile, some_mask, tile)
