"""The messages, in the order they are sent. docs/secagg.md has the same order.

Every message starts with the protocol's name and version, its kind, the session and the round, so that a message of
another time or place is not taken for one of here and now. There is one way to write each.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from folkmoot.errors import InputError
from folkmoot.secagg.keys import FINGERPRINT
from folkmoot.secagg.parameters import MOST
from folkmoot.secagg.primitives import DIGEST, KEY, SEED, SIGNATURE, TAG
from folkmoot.secagg.shamir import limbs_of
from folkmoot.secagg.sketch import Sketch
from folkmoot.secagg.wire import U8, U32, U64, Malformed, Reader, bitmap_size, by_client, numbers
from folkmoot.sets import Ids

NAME, VERSION, SESSION = b"FMSA", 1, 16
HEAD = len(NAME) + 2 + SESSION + U32.size
SHARE = U64.size * limbs_of(SEED)  # one share of a seed
BOX = 2 * SHARE + TAG
MOST_LENGTH, MOST_BITS = 1 << 31, 63
SKETCH_BITS = 64


@dataclass(frozen=True)
class Message:
    """The head that all share."""

    kind: ClassVar[int]
    session: bytes
    round: int

    def head(self) -> bytes:
        return NAME + U8.pack(VERSION) + U8.pack(self.kind) + self.session + U32.pack(self.round)

    @classmethod
    def opened(cls, data: bytes) -> tuple[Reader, bytes, int]:
        """The head, read: what follows, the session and the round."""
        reader = Reader(data)
        if reader.take(len(NAME)) != NAME or reader.number(U8) != VERSION or reader.number(U8) != cls.kind:
            raise Malformed("a message is of another kind, protocol or version than expected")
        return reader, reader.take(SESSION), reader.number(U32)

    def of(self, announcement: "Announcement") -> Self:
        """This message, if it belongs to that round."""
        if (self.session, self.round) != (announcement.session, announcement.round):
            raise Malformed("a message belongs to another session or round")
        return self


@dataclass(frozen=True)
class Bits(Message):
    """A bit for each of the roll."""

    bits: bytes

    def encode(self) -> bytes:
        return self.head() + self.bits

    @classmethod
    def decode(cls, data: bytes, clients: int) -> Self:
        reader, session, number = cls.opened(data)
        bits = reader.take(bitmap_size(clients))
        reader.end()
        return cls(session, number, bits)


@dataclass(frozen=True)
class Announcement(Message):
    """1. Server to client: what is to be summed, over how many."""

    kind = 1
    question: bytes  # a digest of what is asked
    roster: bytes  # a digest of who may take part
    clients: int  # how many are asked
    length: int  # of a vector
    most: int  # no number of the sum is larger
    room: int = 0  # of a sketch, in items; 0: vectors are written out
    largest: int = 0  # no number of one client is larger; 0: as large as the sum

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("session", len(self.session), SESSION, SESSION),
            ("question", len(self.question), DIGEST, DIGEST),
            ("roster", len(self.roster), DIGEST, DIGEST),
            ("round", self.round, 0, 2**32 - 1),
            ("clients", self.clients, 0, MOST),
            ("length", self.length, 1, MOST_LENGTH),
            ("most", self.most, 1, 2**MOST_BITS - 1),
            ("room", self.room, 0, self.length),
            ("largest", self.largest, 0, self.most),
        ):
            if not low <= value <= high:
                span = f"{low} bytes" if low == high else f"a number between {low:,} and {high:,}"
                raise InputError(f"announcement: {name} needs {span}, got {value:,}")
        if self.room and not self.sketch(bytes(DIGEST)).fits:
            raise InputError("announcement: a sketch has no bits left to check an item by")

    def encode(self) -> bytes:
        numbers = U32.pack(self.clients) + U32.pack(self.length) + U64.pack(self.most) + U32.pack(self.room)
        return self.head() + self.question + self.roster + numbers + U64.pack(self.largest)

    @classmethod
    def decode(cls, data: bytes) -> "Announcement":
        reader, session, number = cls.opened(data)
        question, roster = reader.take(DIGEST), reader.take(DIGEST)
        clients, length = reader.number(U32), reader.number(U32)
        most, room, largest = reader.number(U64), reader.number(U32), reader.number(U64)
        reader.end()
        try:
            return cls(session, number, question, roster, clients, length, most, room, largest)
        except InputError:
            raise Malformed("an announcement asks for what cannot be") from None

    def sketch(self, seed: bytes) -> Sketch:
        return Sketch(self.length, self.room, self.most, seed)

    @cached_property
    def words(self) -> int:
        """How many numbers are summed."""
        return self.sketch(bytes(DIGEST)).cells if self.room else self.length

    @property
    def ring_bits(self) -> int:
        """The smallest ring that holds the sum."""
        return SKETCH_BITS if self.room else self.most.bit_length()

    @property
    def vector_size(self) -> int:
        """Bytes of a masked vector."""
        return -(-self.words * self.ring_bits // 8)


@dataclass(frozen=True)
class Advertisement(Message):
    """2. Client to server: fresh keys, and a commitment to a seed, signed by the client's identity."""

    kind = 2
    id: int
    channel_key: bytes  # for boxes that shares travel in
    mask_key: bytes  # for masks between two clients
    commitment: bytes  # to the seed of the client's own mask
    signature: bytes

    SIZE: ClassVar[int] = 2 * KEY + DIGEST + SIGNATURE  # after the number

    def body(self) -> bytes:
        """What it says after its number."""
        return self.channel_key + self.mask_key + self.commitment + self.signature

    def encode(self) -> bytes:
        return self.head() + U32.pack(self.id) + self.body()

    @classmethod
    def read(cls, reader: Reader, session: bytes, number: int) -> "Advertisement":
        one, keys = reader.number(U32), (reader.take(KEY), reader.take(KEY))
        return cls(session, number, one, *keys, reader.take(DIGEST), reader.take(SIGNATURE))

    @classmethod
    def decode(cls, data: bytes) -> "Advertisement":
        reader, session, number = cls.opened(data)
        advertisement = cls.read(reader, session, number)
        reader.end()
        return advertisement

    def content(self) -> tuple[bytes, ...]:
        """What is signed, after the announcement."""
        return (U32.pack(self.id), self.channel_key, self.mask_key, self.commitment)


@dataclass(frozen=True)
class Roll(Message):
    """3. Server to clients: everybody who advertised, in the order of their numbers, and how they are protected.
    The same for all, or nothing works.
    """

    kind = 3
    degree: int  # neighbours that a client chooses
    threshold: int  # of them bring a secret back
    clients: bytes  # their numbers, four bytes each
    prints: bytes  # fingerprints of their advertisements, in the same order

    def encode(self) -> bytes:
        head = self.head() + U32.pack(self.degree) + U32.pack(self.threshold)
        return head + U32.pack(len(self.clients) // U32.size) + self.clients + self.prints

    @classmethod
    def decode(cls, data: bytes) -> "Roll":
        reader, session, number = cls.opened(data)
        degree, threshold = reader.number(U32), reader.number(U32)
        count = reader.count(U32.size + FINGERPRINT, MOST)
        clients, prints = reader.take(count * U32.size), reader.take(count * FINGERPRINT)
        reader.end()
        ids = numbers(clients)
        if (np.diff(ids) <= 0).any():
            raise Malformed("clients are not in order, or one stands there twice")
        if not 1 <= threshold <= degree < len(ids):
            raise Malformed("a roll has fewer clients than neighbours, or fewer neighbours than its threshold")
        return cls(session, number, degree, threshold, clients, prints)

    @cached_property
    def ids(self) -> Ids:
        return numbers(self.clients)


class Choice(Bits):
    """4. Client to server: the neighbours it drew."""

    kind = 4


@dataclass(frozen=True)
class Neighbours(Message):
    """5. Server to client: the advertisements of the neighbours that it chose."""

    kind = 5
    adverts: dict[int, bytes]  # what each says after its number

    def encode(self) -> bytes:
        return self.head() + by_client(self.adverts)

    @classmethod
    def decode(cls, data: bytes, degree: int) -> "Neighbours":
        reader, session, number = cls.opened(data)
        adverts = reader.by_client(Advertisement.SIZE, degree)
        reader.end()
        return cls(session, number, adverts)

    def entry(self, one: int) -> Advertisement:
        return Advertisement.read(Reader(U32.pack(one) + self.adverts[one]), self.session, self.round)


@dataclass(frozen=True)
class Boxes(Message):
    """6. Client to server: for each neighbour it chose, a box with a share of each of its two secrets."""

    kind = 6
    boxes: dict[int, bytes]  # by receiver

    def encode(self) -> bytes:
        return self.head() + by_client(self.boxes)

    @classmethod
    def decode(cls, data: bytes, degree: int) -> "Boxes":
        reader, session, number = cls.opened(data)
        boxes = reader.by_client(BOX, degree)
        reader.end()
        return cls(session, number, boxes)


@dataclass(frozen=True)
class Delivery(Message):
    """7. Server to client: who sent boxes at all (a bit for each of the roll), and those that are for the client,
    each with its sender's advertisement.
    """

    kind = 7
    sharing: bytes
    boxes: dict[int, bytes]  # by sender: what its advertisement says after its number, and the box

    def encode(self) -> bytes:
        return self.head() + self.sharing + by_client(self.boxes)

    @classmethod
    def decode(cls, data: bytes, clients: int) -> "Delivery":
        reader, session, number = cls.opened(data)
        sharing = reader.take(bitmap_size(clients))
        boxes = reader.by_client(Advertisement.SIZE + BOX, clients)
        reader.end()
        return cls(session, number, sharing, boxes)

    def opened_item(self, sender: int) -> tuple[Advertisement, bytes]:
        reader = Reader(U32.pack(sender) + self.boxes[sender])
        return Advertisement.read(reader, self.session, self.round), reader.take(BOX)


@dataclass(frozen=True)
class Masked(Message):
    """8. Client to server: its vector, masked, packed into the ring; and a signature under what it was told."""

    kind = 8
    signature: bytes  # under who shares, as the client was told
    vector: bytes | memoryview  # read in place: it may be long

    def encode(self) -> bytes:
        return self.head() + self.signature + self.vector

    @classmethod
    def decode(cls, data: bytes, size: int) -> "Masked":
        reader, session, number = cls.opened(data[: HEAD + SIGNATURE])
        signature = reader.take(SIGNATURE)
        if len(data) != HEAD + SIGNATURE + size:
            raise Malformed("a masked vector is not as long as announced")
        return cls(session, number, signature, memoryview(data)[HEAD + SIGNATURE :])


class Survivors(Bits):
    """9. Server to clients: whose vectors arrived."""

    kind = 9


@dataclass(frozen=True)
class Consent(Message):
    """10. Client to server: its signature under all that was said, and under the survivors."""

    kind = 10
    signature: bytes

    def encode(self) -> bytes:
        return self.head() + self.signature

    @classmethod
    def decode(cls, data: bytes) -> "Consent":
        reader, session, number = cls.opened(data)
        signature = reader.take(SIGNATURE)
        reader.end()
        return cls(session, number, signature)


@dataclass(frozen=True)
class Consents(Message):
    """11. Server to client: the consents of the neighbours it chose; and of the survivors whose shares it holds, what
    they signed with their vectors.
    """

    kind = 11
    signatures: dict[int, bytes]
    owners: dict[int, bytes]

    def encode(self) -> bytes:
        return self.head() + by_client(self.signatures) + by_client(self.owners)

    @classmethod
    def decode(cls, data: bytes, degree: int, clients: int) -> "Consents":
        reader, session, number = cls.opened(data)
        signatures, owners = reader.by_client(SIGNATURE, degree), reader.by_client(SIGNATURE, clients)
        reader.end()
        return cls(session, number, signatures, owners)


@dataclass(frozen=True)
class Unmasking(Message):
    """12. Client to server: for each client whose shares it holds, one share: of its own mask's seed if its vector
    arrived, of its mask key's seed if not. Never both.
    """

    kind = 12
    shares: dict[int, bytes]  # by owner

    def encode(self) -> bytes:
        return self.head() + by_client(self.shares)

    @classmethod
    def decode(cls, data: bytes, clients: int) -> "Unmasking":
        reader, session, number = cls.opened(data)
        shares = reader.by_client(SHARE, clients)
        reader.end()
        return cls(session, number, shares)


def is_announcement(data: bytes) -> bool:
    """Whether a message means to begin a round."""
    return data[: len(NAME) + 2] == NAME + U8.pack(VERSION) + U8.pack(Announcement.kind)
