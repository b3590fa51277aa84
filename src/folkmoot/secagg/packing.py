"""Vectors on the wire: b bits per number, one after the other, the lowest bit first."""

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.kernels import kernel
from folkmoot.secagg.masks import Words


def pack_bits(words: Words, bits: int) -> bytes:
    if bits == 8 * words.itemsize:
        return words.astype(words.dtype.newbyteorder("<"), copy=False).tobytes()
    size = -(-len(words) * bits // 8)
    out = np.zeros(-(-len(words) * bits // 64), dtype=np.uint64)
    pack_words(words.astype(np.uint64, copy=False), bits, out)
    return out.astype("<u8", copy=False).tobytes()[:size]


def add_packed(data: bytes | memoryview, bits: int, total: Words) -> None:
    """Add packed numbers to the total; `data` has the right size."""
    if bits == 8 * total.itemsize:
        np.add(total, np.frombuffer(data, dtype=total.dtype.newbyteorder("<")), out=total)
        return
    # A number may reach into the next word, so the last ones are read from a copy with a spare word at its end.
    words = max(len(data) // 8 - 1, 0)
    inside = 64 * words // bits
    if inside:
        add_unpacked(np.frombuffer(data, dtype="<u8", count=words + 1), bits, 0, total[:inside])
    first = inside * bits // 64
    rest = bytes(data[8 * first :]).ljust(8 * (len(data) // 8 - first + 2), b"\0")
    add_unpacked(np.frombuffer(rest, dtype="<u8"), bits, inside * bits % 64, total[inside:])


@kernel
def pack_words(words: NDArray[np.uint64], bits: int, out: NDArray[np.uint64]) -> None:
    mask = np.uint64(2**64 - 1) >> np.uint64(64 - bits)
    for at in range(len(words)):
        start = at * bits
        place, shift = start >> 6, np.uint64(start & 63)
        value = words[at] & mask
        out[place] |= value << shift
        if (start & 63) + bits > 64:
            out[place + 1] |= value >> (np.uint64(64) - shift)


@kernel
def add_unpacked(data: NDArray[np.uint64], bits: int, first: int, total: Words) -> None:
    """Add packed numbers to the total, beginning at bit `first` of the data."""
    mask = np.uint64(2**64 - 1) >> np.uint64(64 - bits)
    for at in range(len(total)):
        start = first + at * bits
        place, shift = start >> 6, np.uint64(start & 63)
        value = data[place] >> shift
        if (start & 63) + bits > 64:
            value |= data[place + 1] << (np.uint64(64) - shift)
        total[at] += total.dtype.type(value & mask)
