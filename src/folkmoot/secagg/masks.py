"""Adding masks to a vector, at the speed of the cipher.

Vectors are added in machine words of 32 or 64 bits, and reduced to the ring when they are packed: the size of the ring
divides that of the word. Work goes tile by tile, so that keystream is added while it is still in cache. Keys are
split among threads, each with its own total, so that every cipher is set up once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import run_on_threads, thread_count
from folkmoot.secagg.primitives import keystream, stream

Words = NDArray[np.uint32] | NDArray[np.uint64]
TILE = 1 << 18  # bytes: large enough that threads seldom wait for the interpreter; two tiles fit into the L2 cache
AT_ONCE = 64  # ciphers
SHORT = 1 << 13  # bytes up to which setting up a cipher takes longer than running it
CACHE_LINE = 64  # bytes; additions that straddle cache lines take 1.5 times as long


def as_words(numbers: NDArray[Any], ring_bits: int) -> Words:
    """Numbers in the smallest word that holds the ring; a copy that may be changed."""
    words = zero_words(len(numbers), np.dtype(np.uint32 if ring_bits <= 32 else np.uint64))
    words[:] = numbers
    return words


def zero_words(length: int, dtype: np.dtype[Any]) -> Words:
    """Zeros that begin at the start of a cache line."""
    room = np.zeros(length * dtype.itemsize + CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + length * dtype.itemsize].view(dtype)


def add_masks(words: Words, added: Sequence[bytes], taken: Sequence[bytes] = ()) -> None:
    """Add the masks of some keys and subtract those of others, in place."""
    if words.nbytes <= SHORT:
        zeros, wire = bytes(words.nbytes), words.dtype.newbyteorder("<")
        for keys, move in ((added, np.add), (taken, np.subtract)):
            for key in keys:
                move(words, np.frombuffer(keystream(key, zeros), dtype=wire, count=len(words)), words)
        return
    keys = [*added, *taken]
    workers = thread_count() if words.nbytes > TILE else 1
    share = max(-(-len(keys) // workers), 1)

    def some(lo: int, hi: int) -> Words:
        total = zero_words(len(words), words.dtype) if lo else words
        for first in range(lo, hi, AT_ONCE):
            last = min(first + AT_ONCE, hi)
            add_streams(total, keys[first:last], max(len(added) - first, 0))
        return total

    for part in run_on_threads(some, [(at, min(at + share, len(keys))) for at in range(0, len(keys), share)])[1:]:
        np.add(words, part, out=words)


def add_streams(words: Words, keys: Sequence[bytes], plus: int) -> None:
    """Add the masks of the first `plus` keys and subtract the others."""
    streams = [(stream(key).update_into, np.add if at < plus else np.subtract) for at, key in enumerate(keys)]
    step = min(TILE // words.itemsize, len(words))
    mask = zero_words(step, words.dtype.newbyteorder("<"))
    zeros, buffer = memoryview(bytes(mask.nbytes)), mask.view(np.uint8).data
    for first in range(0, len(words), step):
        tile = words[first : first + step]
        some_zeros, some_mask = zeros[: tile.nbytes], mask[: len(tile)]
        for generate, move in streams:
            generate(some_zeros, buffer)
            move(tile, some_mask, tile)
