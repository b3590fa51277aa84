"""Bytes in, bytes out: one canonical form a message, and a reader that trusts no length."""

from struct import Struct

from folkmoot.errors import FolkmootError

U8, U16, U32 = Struct("<B"), Struct("<H"), Struct("<I")


class Malformed(FolkmootError):
    """A message is not what it says it is. Nothing of its content is repeated here."""


class Reader:
    """Takes a message apart from front to back; whatever is missing or left over is an error."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise Malformed("a message ends before its content does")
        part = self.data[self.at : end]
        self.at = end
        return part

    def u8(self) -> int:
        return int(U8.unpack(self.take(1))[0])

    def u16(self) -> int:
        return int(U16.unpack(self.take(2))[0])

    def u32(self) -> int:
        return int(U32.unpack(self.take(4))[0])

    def count(self, size: int, most: int) -> int:
        """How many entries of a size follow: no more than allowed, and no more than there are bytes for."""
        count = self.u32()
        if count > most or count * size > len(self.data) - self.at:
            raise Malformed("a message announces more entries than it may hold")
        return count

    def end(self) -> None:
        if self.at != len(self.data):
            raise Malformed("a message goes on after its end")


def increasing(ids: list[int]) -> list[int]:
    """Ids in their canonical order, each once."""
    if any(a >= b for a, b in zip(ids, ids[1:], strict=False)):
        raise Malformed("ids are not in order, or one stands there twice")
    return ids


def bitmap(marked: set[int], order: list[int]) -> bytes:
    """One bit for each id of the order."""
    out = bytearray(-(-len(order) // 8))
    for place, one in enumerate(order):
        if one in marked:
            out[place // 8] |= 1 << place % 8
    return bytes(out)


def marked(bits: bytes, order: list[int]) -> set[int]:
    if len(order) % 8 and bits[-1] >> len(order) % 8:
        raise Malformed("a bitmap marks somebody beyond the last")
    return {one for place, one in enumerate(order) if bits[place // 8] >> place % 8 & 1}
