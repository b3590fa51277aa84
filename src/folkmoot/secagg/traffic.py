"""Bytes that a round costs a client, message by message: computed from the same sizes that the messages are written by.

Exact for a round in which nobody drops out and nobody complains, as a mean over the clients: how many others choose a
client differs from one to the next, and is `degree` on average.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from folkmoot.foundation.errors import InputError
from folkmoot.secagg.dealing import MARKS, SHARE
from folkmoot.secagg.keys import FINGERPRINT
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import BOX, HEAD, PARCEL, SESSION, Advertisement, Announcement
from folkmoot.secagg.parameters import FEWEST, MOST, Parameters
from folkmoot.secagg.primitives import DIGEST, SEED, SIGNATURE, TAG
from folkmoot.secagg.sketch import Sketch
from folkmoot.secagg.wire import U32, U64, bitmap_size


@dataclass(frozen=True)
class Traffic:
    """Bytes to a client and from it, head and all, by exchange."""

    down: dict[str, int]
    up: dict[str, int]

    @property
    def total(self) -> tuple[int, int]:
        return sum(self.down.values()), sum(self.up.values())


def traffic(announcement: Announcement, parameters: Parameters) -> Traffic:
    """Of a round with all who are announced."""
    bits, degree = bitmap_size(parameters.clients), parameters.degree
    listed, number = HEAD + U32.size, U32.size
    return Traffic(
        down={
            "keys": len(announcement.encode()),
            "choice": listed + 2 * number + (number + FINGERPRINT) * parameters.clients,
            "shares": listed + degree * (number + Advertisement.SIZE),
            "receipt": listed + degree * (number + PARCEL),
            "vector": HEAD + bits,
            "consent": HEAD + bits,
            "unmasking": listed + number + degree * (2 * (number + TAG) + SIGNATURE),
        },
        up={
            "keys": listed + Advertisement.SIZE,
            "choice": HEAD + bits + SEED + DIGEST,
            "shares": listed + degree * (number + BOX + MARKS) + 2 * U64.size * parameters.threshold,
            "receipt": listed,
            "vector": listed + SIGNATURE + degree * (number + TAG) + announcement.vector_size,
            "consent": listed + degree * (number + TAG),
            "unmasking": listed + degree * (number + SHARE),
        },
    )


def room_for(length: int, most: int, items: int) -> int:
    """The room that a sketch of so many items needs, if it is smaller than the vector written out; else 0."""
    if not 0 < items < length:
        return 0
    sketch = Sketch(length, items, most, b"")
    smaller = 8 * sketch.cells < ceil(length * most.bit_length() / 8)
    return items if smaller and sketch.is_feasible else 0


@lru_cache(maxsize=1024)
def count_bytes(clients: int, length: int, most: int, items: int, terms: Policy | None) -> tuple[int, int]:
    """Bytes down and up for a client of a round on these terms; the vector alone without terms, and for fewer or more
    clients than can be.
    """
    alone = 0, ceil(length * most.bit_length() / 8)
    if terms is None or not FEWEST <= clients <= MOST:
        return alone
    try:
        chosen = terms.protection(clients)
    except InputError:  # so few do not bear these terms
        return alone
    announcement = Announcement(
        bytes(SESSION), 0, bytes(DIGEST), bytes(DIGEST), clients, length, most, room_for(length, most, items)
    )
    return traffic(announcement, chosen).total
