"""The messages, in the order they are sent. docs/secagg.md has the same order.

Every message starts with the protocol's name and version, its kind, the session and the round, so that a message of
another time or place is not taken for one of here and now. There is one way to write each.
"""

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Ids
from folkmoot.secagg.dealing import CHALLENGE, CONTENT, MARKS, SHARE, VALUES, case_of
from folkmoot.secagg.keys import FINGERPRINT, KEYS, keys_in
from folkmoot.secagg.keys import fingerprint as fingerprint_of
from folkmoot.secagg.parameters import MOST
from folkmoot.secagg.primitives import DIGEST, KEY, SEED, SIGNATURE, TAG
from folkmoot.secagg.sketch import Sketch
from folkmoot.secagg.wire import U8, U32, U64, Malformed, Reader, bitmap_size, numbers, write_listing

NAME, VERSION, SESSION = b"FMSA", 2, 16
HEAD = len(NAME) + 2 + SESSION + U32.size
BOX = CONTENT + TAG
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
    def read_head(cls, data: bytes) -> tuple[Reader, bytes, int]:
        """The head, read: what follows, the session and the round."""
        reader = Reader(data)
        if reader.take(len(NAME)) != NAME or reader.number(U8) != VERSION or reader.number(U8) != cls.kind:
            raise Malformed("a message is of another kind, protocol or version than expected")
        return reader, reader.take(SESSION), reader.number(U32)

    def check_round(self, announcement: "Announcement") -> Self:
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
        reader, session, number = cls.read_head(data)
        bits = reader.take(bitmap_size(clients))
        reader.end()
        return cls(session, number, bits)


@dataclass(frozen=True)
class Listing(Message):
    """So many bytes for each of some clients; the field that a subclass adds."""

    entry: ClassVar[int]

    def encode(self) -> bytes:
        return self.head() + write_listing(getattr(self, fields(self)[-1].name))

    @classmethod
    def decode(cls, data: bytes, most: int) -> Self:
        reader, session, number = cls.read_head(data)
        entries = reader.entries(cls.entry, most)
        reader.end()
        made: Self = cast(Any, cls)(session, number, entries)
        return made


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
                raise InputError(f"{name} needs {span}, got {value:,}", argument="announcement")
        if self.room and not self.sketch(bytes(DIGEST)).is_feasible:
            raise InputError("a sketch has no bits left to check an item by", argument="announcement")

    def encode(self) -> bytes:
        numbers = U32.pack(self.clients) + U32.pack(self.length) + U64.pack(self.most) + U32.pack(self.room)
        return self.head() + self.question + self.roster + numbers + U64.pack(self.largest)

    @classmethod
    @lru_cache(maxsize=16)  # it is looked at in every step
    def decode(cls, data: bytes) -> "Announcement":
        reader, session, number = cls.read_head(data)
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
    def decode(cls, data: bytes) -> "Advertisement":
        reader, session, number = cls.read_head(data)
        one, body = reader.number(U32), reader.take(cls.SIZE)
        reader.end()
        return cls.read_body(session, number, one, body)

    @classmethod
    def read_body(cls, session: bytes, number: int, one: int, body: bytes) -> "Advertisement":
        keys, committed = (body[:KEY], body[KEY : 2 * KEY]), body[2 * KEY : -SIGNATURE]
        return cls(session, number, one, *keys, committed, body[-SIGNATURE:])

    def content(self) -> tuple[bytes, ...]:
        """What is signed, after the announcement."""
        return (U32.pack(self.id), self.channel_key, self.mask_key, self.commitment)

    def fingerprint(self) -> bytes:
        return fingerprint_of(self.id, keys_in(self.body()))


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
        reader, session, number = cls.read_head(data)
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


@dataclass(frozen=True)
class Choice(Bits):
    """4. Client to server: the neighbours it drew, and what shows that it drew them: the seed of its coins, to which it
    committed before there was a roll.
    """

    kind = 4
    seed: bytes
    own_digest: bytes  # of the seed of its own mask: the rest of what it committed to

    def encode(self) -> bytes:
        return super().encode() + self.seed + self.own_digest

    @classmethod
    def decode(cls, data: bytes, clients: int) -> "Choice":
        reader, session, number = cls.read_head(data)
        bits, seed, own_digest = reader.take(bitmap_size(clients)), reader.take(SEED), reader.take(DIGEST)
        reader.end()
        return cls(session, number, bits, seed, own_digest)


@dataclass(frozen=True)
class Neighbours(Listing):
    """5. Server to client: the advertisements of the neighbours that it chose."""

    kind = 5
    entry = Advertisement.SIZE
    adverts: dict[int, bytes]  # what each says after its number


@dataclass(frozen=True)
class Boxes(Message):
    """6. Client to server: for each neighbour it chose, a box with a share of each of its two secrets, and their marks;
    and the lines that the shares lie on.
    """

    kind = 6
    lines: bytes
    boxes: dict[int, bytes]  # by holder: the box and its marks

    def encode(self) -> bytes:
        return self.head() + self.lines + write_listing(self.boxes)

    @classmethod
    def decode(cls, data: bytes, degree: int, threshold: int) -> "Boxes":
        reader, session, number = cls.read_head(data)
        lines = reader.take(2 * U64.size * threshold)
        boxes = reader.entries(BOX + MARKS, degree)
        reader.end()
        return cls(session, number, lines, boxes)


class Parcel(NamedTuple):
    """What a holder is given of a dealer."""

    keys: bytes  # the part of its advertisement that a fingerprint is made of
    box: bytes
    marks: bytes
    values: bytes  # what the dealer's lines say of this holder
    challenge: int

    @classmethod
    def read(cls, body: bytes) -> "Parcel":
        box, marks = body[KEYS : KEYS + BOX], body[KEYS + BOX : KEYS + BOX + MARKS]
        values, challenge = body[-CHALLENGE - VALUES : -CHALLENGE], U64.unpack(body[-CHALLENGE:])[0]
        return cls(body[:KEYS], box, marks, values, challenge)

    def case(self) -> bytes:
        """All that dealer and holder may fall out about, in a few bytes."""
        return case_of(self.box + self.marks, self.values, self.challenge)


PARCEL = KEYS + BOX + MARKS + VALUES + CHALLENGE


@dataclass(frozen=True)
class Delivery(Listing):
    """7. Server to client: what others dealt to it."""

    kind = 7
    entry = PARCEL
    dealt: dict[int, bytes]  # by dealer


@dataclass(frozen=True)
class Signatures(Listing):
    """A signature for each of some clients."""

    entry = SIGNATURE
    signatures: dict[int, bytes]


class Complaints(Signatures):
    """8. Client to server: dealers whose boxes do not open, or hold shares that do not fit; mostly nobody."""

    kind = 8


class Accusations(Signatures):
    """9. Server to a dealer, if anybody complained of it: who did."""

    kind = 9


@dataclass(frozen=True)
class Answers(Listing):
    """10. Client to server: what it dealt to those who complained, in the open: they have it, or are corrupt."""

    kind = 10
    entry = CONTENT
    contents: dict[int, bytes]  # by holder


class Sharers(Bits):
    """11. Server to clients: whose shares are held, and who masks."""

    kind = 11


@dataclass(frozen=True)
class MaskedVector(Message):
    """12. Client to server: its vector, masked, packed into the ring; its word for who shares, to each neighbour that
    holds its shares; and a signature under the same, for whom the word does not reach.
    """

    kind = 12
    signature: bytes
    words: dict[int, bytes]  # by holder
    vector: bytes | memoryview  # read in place: it may be long

    def encode(self) -> bytes:
        return b"".join([self.head(), self.signature, write_listing(self.words), self.vector])

    @classmethod
    def decode(cls, data: bytes, size: int, degree: int) -> "MaskedVector":
        reader, session, number = cls.read_head(data)
        signature, words = reader.take(SIGNATURE), reader.entries(TAG, degree)
        if len(data) != reader.at + size:
            raise Malformed("a masked vector is not as long as announced")
        return cls(session, number, signature, words, memoryview(data)[reader.at :])


class Survivors(Bits):
    """13. Server to clients: whose vectors arrived."""

    kind = 13


@dataclass(frozen=True)
class Consent(Listing):
    """14. Client to server: its word for who is in the sum, to each neighbour whose shares it holds."""

    kind = 14
    entry = TAG
    words: dict[int, bytes]  # by dealer


@dataclass(frozen=True)
class Consents(Message):
    """15. Server to client: the consents of the neighbours it chose; and of the survivors whose shares it holds, what
    came with their vectors: word and signature.
    """

    kind = 15
    words: dict[int, bytes]
    owners: dict[int, bytes]

    def encode(self) -> bytes:
        return self.head() + write_listing(self.words) + write_listing(self.owners)

    @classmethod
    def decode(cls, data: bytes, degree: int, clients: int) -> "Consents":
        reader, session, number = cls.read_head(data)
        words, owners = reader.entries(TAG, degree), reader.entries(TAG + SIGNATURE, clients)
        reader.end()
        return cls(session, number, words, owners)


@dataclass(frozen=True)
class Unmasking(Listing):
    """16. Client to server: for each client whose shares it holds, one share: of its own mask's seed if its vector
    arrived, of its mask key's seed if not. Never both.
    """

    kind = 16
    entry = SHARE
    shares: dict[int, bytes]  # by owner


def masked_vector(data: bytes, announcement: Announcement) -> bytes | memoryview:
    """What somebody who looks on sees of a client."""
    return MaskedVector.decode(data, announcement.vector_size, MOST).vector


def kind_of(data: bytes) -> int:
    """What a message means to be; 0 where it is not of this protocol."""
    start = NAME + U8.pack(VERSION)
    return data[len(start)] if data[: len(start)] == start and len(data) > len(start) else 0
