"""The messages, in the order in which they are sent and in which docs/secagg.md lists them.

Every message starts with the protocol's name and version, its kind, the session and the round, so that a message of
another round is never taken for one of this round. Each has exactly one encoding.
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
    """The head that all messages share."""

    kind: ClassVar[int]
    session: bytes
    round: int

    def head(self) -> bytes:
        return NAME + U8.pack(VERSION) + U8.pack(self.kind) + self.session + U32.pack(self.round)

    @classmethod
    def read_head(cls, data: bytes) -> tuple[Reader, bytes, int]:
        """A reader of what follows the head; the session; the round."""
        reader = Reader(data)
        if reader.take(len(NAME)) != NAME or reader.number(U8) != VERSION or reader.number(U8) != cls.kind:
            raise Malformed("a message is of another kind, protocol or version than expected")
        return reader, reader.take(SESSION), reader.number(U32)

    def check_round(self, announcement: "Announcement") -> Self:
        """This message; Malformed if it belongs to another round."""
        if (self.session, self.round) != (announcement.session, announcement.round):
            raise Malformed("a message belongs to another session or round")
        return self


@dataclass(frozen=True)
class Bits(Message):
    """One bit per client on the roll."""

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
    """`entry` bytes for each of some clients, in the field that a subclass adds."""

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
    """1. Server to client: what is to be summed, over how many clients."""

    kind = 1
    question: bytes  # its digest
    roster: bytes  # its digest
    clients: int  # how many are asked
    length: int  # of a vector
    most: int  # the largest possible number of the sum
    room: int = 0  # of a sketch, in items; 0: vectors are dense
    largest: int = 0  # the largest number of one client; 0: that of the sum

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
            raise InputError("a sketch of these numbers has too few check bits", argument="announcement")

    def encode(self) -> bytes:
        numbers = U32.pack(self.clients) + U32.pack(self.length) + U64.pack(self.most) + U32.pack(self.room)
        return self.head() + self.question + self.roster + numbers + U64.pack(self.largest)

    @classmethod
    @lru_cache(maxsize=16)  # every step reads it
    def decode(cls, data: bytes) -> "Announcement":
        reader, session, number = cls.read_head(data)
        question, roster = reader.take(DIGEST), reader.take(DIGEST)
        clients, length = reader.number(U32), reader.number(U32)
        most, room, largest = reader.number(U64), reader.number(U32), reader.number(U64)
        reader.end()
        try:
            return cls(session, number, question, roster, clients, length, most, room, largest)
        except InputError:
            raise Malformed("an announcement asks for the impossible") from None

    def sketch(self, seed: bytes) -> Sketch:
        return Sketch(self.length, self.room, self.most, seed)

    @cached_property
    def words(self) -> int:
        """How many numbers are summed: those of a vector, or the cells of a sketch."""
        return self.sketch(bytes(DIGEST)).cells if self.room else self.length

    @property
    def ring_bits(self) -> int:
        """Bits of the smallest ring that holds the sum."""
        return SKETCH_BITS if self.room else self.most.bit_length()

    @property
    def vector_size(self) -> int:
        """Bytes of a masked vector."""
        return -(-self.words * self.ring_bits // 8)


@dataclass(frozen=True)
class Advertisement(Message):
    """2. Client to server: fresh keys and a commitment to two seeds, signed by the client's identity."""

    kind = 2
    id: int
    channel_key: bytes  # for the boxes that carry shares
    mask_key: bytes  # for masks between two clients
    commitment: bytes  # to the seeds of its own mask and of its choice
    signature: bytes

    SIZE: ClassVar[int] = 2 * KEY + DIGEST + SIGNATURE  # bytes of `body`

    def body(self) -> bytes:
        """All that follows the client's number."""
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
        """What is signed, besides the announcement."""
        return (U32.pack(self.id), self.channel_key, self.mask_key, self.commitment)

    def fingerprint(self) -> bytes:
        return fingerprint_of(self.id, keys_in(self.body()))


@dataclass(frozen=True)
class Roll(Message):
    """3. Server to clients: everybody who advertised, in the order of their numbers, and degree and threshold.
    Every client must get the same roll, or none of the later messages is accepted.
    """

    kind = 3
    degree: int  # how many neighbours a client chooses
    threshold: int  # how many of them can reconstruct a secret
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
            raise Malformed("clients are not in order, or one is listed twice")
        if not 1 <= threshold <= degree < len(ids):
            raise Malformed("a roll has fewer clients than neighbours, or fewer neighbours than its threshold")
        return cls(session, number, degree, threshold, clients, prints)

    @cached_property
    def ids(self) -> Ids:
        return numbers(self.clients)


@dataclass(frozen=True)
class Choice(Bits):
    """4. Client to server: the neighbours it drew, and the proof that it drew them: the seed of its coins, to which it
    committed before it saw the roll.
    """

    kind = 4
    seed: bytes
    own_digest: bytes  # of its own mask's seed, to which it committed as well

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
    adverts: dict[int, bytes]  # the body of each


@dataclass(frozen=True)
class Boxes(Message):
    """6. Client to server: for each neighbour it chose, a box with a share of each of its two secrets, and the marks of
    both; and the lines that the shares lie on.
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
    """What a holder is given by one dealer."""

    keys: bytes  # the part of the dealer's advertisement that its fingerprint covers
    box: bytes
    marks: bytes
    values: bytes  # of the dealer's lines, for this holder
    challenge: int

    @classmethod
    def read(cls, body: bytes) -> "Parcel":
        box, marks = body[KEYS : KEYS + BOX], body[KEYS + BOX : KEYS + BOX + MARKS]
        values, challenge = body[-CHALLENGE - VALUES : -CHALLENGE], U64.unpack(body[-CHALLENGE:])[0]
        return cls(body[:KEYS], box, marks, values, challenge)

    def case(self) -> bytes:
        """A digest of everything that dealer and holder may disagree about."""
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
    """One signature for each of some clients."""

    entry = SIGNATURE
    signatures: dict[int, bytes]


class Complaints(Signatures):
    """8. Client to server: dealers whose boxes do not open, or hold wrong shares; usually none."""

    kind = 8


class Accusations(Signatures):
    """9. Server to a dealer: who complained about it. Only sent if somebody did."""

    kind = 9


@dataclass(frozen=True)
class Answers(Listing):
    """10. Client to server: what it dealt to those who complained, in the clear."""

    kind = 10
    entry = CONTENT
    contents: dict[int, bytes]  # by holder


class Sharers(Bits):
    """11. Server to clients: whose shares are held; these clients mask their vectors."""

    kind = 11


@dataclass(frozen=True)
class MaskedVector(Message):
    """12. Client to server: its masked vector, packed; its word on who shares (a tag) for each neighbour that holds its
    shares; and a signature on the same, for holders whose word is wrong or missing.
    """

    kind = 12
    signature: bytes
    words: dict[int, bytes]  # by holder
    vector: bytes | memoryview  # a view of the message where it was read: it may be long

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
    """14. Client to server: its consent to who is in the sum (a tag) for each neighbour whose shares it holds."""

    kind = 14
    entry = TAG
    words: dict[int, bytes]  # by dealer


@dataclass(frozen=True)
class Consents(Message):
    """15. Server to client: the consents of the neighbours it chose; and word and signature of each survivor whose
    shares it holds, as sent with the vector.
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
    """16. Client to server: one share per client whose shares it holds: of its own mask's seed if its vector arrived,
    of its mask key's seed if not. Never both.
    """

    kind = 16
    entry = SHARE
    shares: dict[int, bytes]  # by owner


def masked_vector(data: bytes, announcement: Announcement) -> bytes | memoryview:
    """What the server sees of a client's vector."""
    return MaskedVector.decode(data, announcement.vector_size, MOST).vector


def kind_of(data: bytes) -> int:
    """The kind of a message; 0 if it does not belong to this protocol."""
    start = NAME + U8.pack(VERSION)
    return data[len(start)] if data[: len(start)] == start and len(data) > len(start) else 0
