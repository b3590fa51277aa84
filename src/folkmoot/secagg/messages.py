"""The messages, in the order they are sent. docs/secagg.md has the same order.

Every message starts with the protocol's name and version, its kind, the session and the round, so that a message of
another time or place is not taken for one of here and now.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from folkmoot.secagg.primitives import DIGEST, KEY, SIGNATURE, TAG, digest
from folkmoot.secagg.shamir import limbs_of
from folkmoot.secagg.wire import U8, U16, U32, Malformed, Reader, increasing

NAME, VERSION, SESSION = b"FMSA", 1, 16
SHARE = 8 * limbs_of(32)  # one share of a 32-byte secret
BOX = 2 * SHARE + TAG
MOST_CLIENTS = 1 << 20
DENSE, SKETCH = range(2)


@dataclass(frozen=True)
class Message:
    """The head that all share."""

    kind: ClassVar[int]
    session: bytes
    round: int

    def head(self) -> bytes:
        return NAME + U8.pack(VERSION) + U8.pack(self.kind) + self.session + U32.pack(self.round)

    @classmethod
    def body_of(cls, data: bytes) -> tuple[Reader, bytes, int]:
        reader = Reader(data)
        if reader.take(4) != NAME or reader.u8() != VERSION or reader.u8() != cls.kind:
            raise Malformed("a message is of another kind, protocol or version than expected")
        return reader, reader.take(SESSION), reader.u32()

    def belongs_to(self, announcement: "Announcement") -> Self:
        if (self.session, self.round) != (announcement.session, announcement.round):
            raise Malformed("a message belongs to another session or round")
        return self


@dataclass(frozen=True)
class Announcement(Message):
    """1. Server to client: what is to be summed, over how many, and how it is protected."""

    kind = 1
    question: bytes  # a digest of what is asked
    roster: bytes  # a digest of who may take part
    clients: int  # how many are asked
    degree: int
    threshold: int
    length: int  # numbers in a vector as it is summed (cells of a sketch, if it is one)
    ring_bits: int
    codec: int

    def encode(self) -> bytes:
        numbers = U32.pack(self.clients) + U16.pack(self.degree) + U16.pack(self.threshold) + U32.pack(self.length)
        return self.head() + self.question + self.roster + numbers + U8.pack(self.ring_bits) + U8.pack(self.codec)

    @classmethod
    def decode(cls, data: bytes) -> "Announcement":
        reader, session, number = cls.body_of(data)
        question, roster = reader.take(DIGEST), reader.take(DIGEST)
        clients, degree, threshold, length = reader.u32(), reader.u16(), reader.u16(), reader.u32()
        ring_bits, codec = reader.u8(), reader.u8()
        reader.end()
        if not (1 <= ring_bits <= 64 and codec in (DENSE, SKETCH) and length and 1 <= threshold <= degree < clients):
            raise Malformed("an announcement contradicts itself")
        return cls(session, number, question, roster, clients, degree, threshold, length, ring_bits, codec)

    @property
    def packed_size(self) -> int:
        """Bytes of a masked vector."""
        return -(-self.length * self.ring_bits // 8)


@dataclass(frozen=True)
class Advertisement(Message):
    """2. Client to server: fresh keys, and a commitment to a seed, signed by the client's identity."""

    kind = 2
    id: int
    channel_key: bytes  # for boxes that shares travel in
    mask_key: bytes  # for masks between two clients
    commitment: bytes  # to the seed of the client's own mask
    signature: bytes

    SIZE: ClassVar[int] = 4 + 3 * KEY + SIGNATURE

    def entry(self) -> bytes:
        return U32.pack(self.id) + self.channel_key + self.mask_key + self.commitment + self.signature

    def encode(self) -> bytes:
        return self.head() + self.entry()

    @classmethod
    def read(cls, reader: Reader, session: bytes, number: int) -> "Advertisement":
        return cls(
            session,
            number,
            reader.u32(),
            reader.take(KEY),
            reader.take(KEY),
            reader.take(DIGEST),
            reader.take(SIGNATURE),
        )

    @classmethod
    def decode(cls, data: bytes) -> "Advertisement":
        reader, session, number = cls.body_of(data)
        advertisement = cls.read(reader, session, number)
        reader.end()
        return advertisement

    def content(self) -> tuple[bytes, ...]:
        """What is signed."""
        return (U32.pack(self.id), self.channel_key, self.mask_key, self.commitment)


@dataclass(frozen=True)
class Roll(Message):
    """3. Server to clients: everybody who advertised, in the order of ids. The same for all, or nothing works."""

    kind = 3
    entries: tuple[Advertisement, ...]

    def encode(self) -> bytes:
        return self.head() + U32.pack(len(self.entries)) + b"".join(entry.entry() for entry in self.entries)

    @classmethod
    def decode(cls, data: bytes) -> "Roll":
        reader, session, number = cls.body_of(data)
        count = reader.count(Advertisement.SIZE, MOST_CLIENTS)
        entries = tuple(Advertisement.read(reader, session, number) for _ in range(count))
        reader.end()
        increasing([entry.id for entry in entries])
        return cls(session, number, entries)

    def state(self, announcement: Announcement) -> bytes:
        """The hash that every key of this round is bound to."""
        return digest(b"state", announcement.encode(), self.encode())


@dataclass(frozen=True)
class Boxes(Message):
    """4. Client to server: for each neighbour it chose, a box with a share of each of its two secrets.
    5. Server to client: who sent boxes at all (a bit for each of the roll), and those that are for the client.
    """

    kind = 4
    boxes: dict[int, bytes]  # by the other end
    sharing: bytes = b""

    def encode(self) -> bytes:
        entries = b"".join(U32.pack(other) + box for other, box in sorted(self.boxes.items()))
        return self.head() + U32.pack(len(self.sharing)) + self.sharing + U32.pack(len(self.boxes)) + entries

    @classmethod
    def decode(cls, data: bytes) -> "Boxes":
        reader, session, number = cls.body_of(data)
        sharing = reader.take(reader.count(1, MOST_CLIENTS // 8))
        count = reader.count(4 + BOX, MOST_CLIENTS)
        pairs = [(reader.u32(), reader.take(BOX)) for _ in range(count)]
        reader.end()
        increasing([other for other, _ in pairs])
        return cls(session, number, dict(pairs), sharing)


@dataclass(frozen=True)
class Masked(Message):
    """6. Client to server: its vector, masked, packed into the ring."""

    kind = 5
    vector: bytes

    def encode(self) -> bytes:
        return self.head() + self.vector

    @classmethod
    def decode(cls, data: bytes, size: int) -> "Masked":
        reader, session, number = cls.body_of(data)
        vector = reader.take(size)
        reader.end()
        return cls(session, number, vector)


@dataclass(frozen=True)
class Survivors(Message):
    """7. Server to clients: whose vectors arrived, a bit for each of the roll."""

    kind = 6
    bits: bytes

    def encode(self) -> bytes:
        return self.head() + self.bits

    @classmethod
    def decode(cls, data: bytes, size: int) -> "Survivors":
        reader, session, number = cls.body_of(data)
        bits = reader.take(size)
        reader.end()
        return cls(session, number, bits)


@dataclass(frozen=True)
class Consents(Message):
    """8. Client to server: its signature under the survivors (one entry, its own).
    9. Server to client: those of the neighbours it chose.
    """

    kind = 7
    signatures: dict[int, bytes]

    def encode(self) -> bytes:
        entries = b"".join(U32.pack(one) + signature for one, signature in sorted(self.signatures.items()))
        return self.head() + U32.pack(len(self.signatures)) + entries

    @classmethod
    def decode(cls, data: bytes, most: int) -> "Consents":
        reader, session, number = cls.body_of(data)
        count = reader.count(4 + SIGNATURE, most)
        pairs = [(reader.u32(), reader.take(SIGNATURE)) for _ in range(count)]
        reader.end()
        increasing([one for one, _ in pairs])
        return cls(session, number, dict(pairs))


@dataclass(frozen=True)
class Unmasking(Message):
    """10. Client to server: for each client whose shares it holds, one share: of its own mask's seed if its vector
    arrived, of its mask key's seed if not. Never both.
    """

    kind = 8
    shares: dict[int, bytes]

    def encode(self) -> bytes:
        entries = b"".join(U32.pack(one) + share for one, share in sorted(self.shares.items()))
        return self.head() + U32.pack(len(self.shares)) + entries

    @classmethod
    def decode(cls, data: bytes, most: int) -> "Unmasking":
        reader, session, number = cls.body_of(data)
        count = reader.count(4 + SHARE, most)
        pairs = [(reader.u32(), reader.take(SHARE)) for _ in range(count)]
        reader.end()
        increasing([one for one, _ in pairs])
        return cls(session, number, dict(pairs))
