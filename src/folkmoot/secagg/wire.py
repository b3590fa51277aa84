"""Reading and writing bytes: one canonical form per message, and a reader that trusts no length."""

from collections.abc import Mapping
from struct import Struct

import numpy as np

from folkmoot.foundation.errors import FolkmootError
from folkmoot.foundation.sets import Ids

U8, U32, U64 = Struct("<B"), Struct("<I"), Struct("<Q")


class Malformed(FolkmootError):
    """A message is not what it claims to be. The error repeats nothing of its content."""


class Reader:
    """Reads a message from front to back; missing and leftover bytes are errors."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise Malformed("a message ends before its content does")
        part = self.data[self.at : end]
        self.at = end
        return part

    def number(self, form: Struct) -> int:
        return int(form.unpack(self.take(form.size))[0])

    def count(self, size: int, most: int) -> int:
        """How many entries of a size follow: no more than `most`, and no more than there are bytes for."""
        count = self.number(U32)
        if count > most or count * size > len(self.data) - self.at:
            raise Malformed("a message announces more entries than it may hold")
        return count

    def entries(self, size: int, most: int) -> dict[int, bytes]:
        """`size` bytes for each of some clients, in the order of their numbers, each client once."""
        count = self.count(U32.size + size, most)
        return read_entries(self.take(count * (U32.size + size)), size)

    def end(self) -> None:
        if self.at != len(self.data):
            raise Malformed("a message continues after its end")


def write_listing(entries: Mapping[int, bytes]) -> bytes:
    """What `Reader.entries` reads."""
    return U32.pack(len(entries)) + write_entries(entries)


def write_entries(entries: Mapping[int, bytes]) -> bytes:
    """What `read_entries` reads: entries of one size, each after its client's number, in the order of numbers."""
    if not entries:
        return b""
    ids = sorted(entries)
    parts = b"".join([entries[one] for one in ids])
    out = np.empty((len(ids), U32.size + len(parts) // len(ids)), dtype=np.uint8)
    out[:, : U32.size] = np.array(ids, dtype="<u4").view(np.uint8).reshape(-1, U32.size)
    out[:, U32.size :] = np.frombuffer(parts, dtype=np.uint8).reshape(len(ids), -1)
    return out.tobytes()


def read_entries(data: bytes, size: int) -> dict[int, bytes]:
    """Entries of a size, each after its client's number, in the order of numbers."""
    ids = np.frombuffer(data, dtype=np.dtype({"names": ["id"], "formats": ["<u4"], "itemsize": U32.size + size}))["id"]
    if (ids[1:] <= ids[:-1]).any():
        raise Malformed("clients are not in order, or one is listed twice")
    parts = [data[at : at + size] for at in range(U32.size, len(data), U32.size + size)]
    return dict(zip(ids.tolist(), parts, strict=True))


def numbers(data: bytes) -> Ids:
    """Clients' numbers, four bytes each."""
    return np.frombuffer(data, dtype="<u4").astype(np.int64)


def bitmap(marked: set[int], order: Ids) -> bytes:
    """One bit per client, in their order, the lowest bit first."""
    bits = np.zeros(len(order), dtype=bool)
    bits[np.searchsorted(order, np.fromiter(marked, dtype=np.int64, count=len(marked)))] = True
    return np.packbits(bits, bitorder="little").tobytes()


def read_bitmap(bits: bytes, order: Ids) -> set[int]:
    if not is_bitmap(bits, len(order)):
        raise Malformed("a bitmap does not match the number of clients")
    on = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=len(order), bitorder="little")
    return set(order[on == 1].tolist())


def is_bitmap(bits: bytes, clients: int) -> bool:
    """Whether there is one bit per client, and no other bit is set."""
    return len(bits) == bitmap_size(clients) and not (clients % 8 and bits[-1] >> clients % 8)


def bitmap_size(clients: int) -> int:
    return -(-clients // 8)
