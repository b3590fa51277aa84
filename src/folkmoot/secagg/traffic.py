"""Bytes that a round costs a client, by exchange, computed from the sizes of the messages' parts.

The mean over the clients of a round in which nobody drops out or complains, exactly: the number of others that choose
a client varies, and is `degree` on average.
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
    """Bytes to a client and from it, by exchange, with heads."""

    down: dict[str, int]
    up: dict[str, int]

    @property
    def total(self) -> tuple[int, int]:
        return sum(self.down.values()), sum(self.up.values())


def traffic(announcement: Announcement, parameters: Parameters) -> Traffic:
    """The traffic of a round in which everybody who is announced takes part."""
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
    """The room of a sketch of so many items, if it is smaller than the dense vector; else 0."""
    if not 0 < items < length:
        return 0
    sketch = Sketch(length, items, most, b"")
    smaller = 8 * sketch.cells < ceil(length * most.bit_length() / 8)
    return items if smaller and sketch.is_feasible else 0


@lru_cache(maxsize=1024)
def count_bytes(clients: int, length: int, most: int, items: int, terms: Policy | None) -> tuple[int, int]:
    """Bytes down and up per client, for a round under this policy. Without a policy, or for a number of clients that no
    round can have, only the bytes of the vector are counted.
    """
    alone = 0, ceil(length * most.bit_length() / 8)
    if terms is None or not FEWEST <= clients <= MOST:
        return alone
    try:
        chosen = terms.protection(clients)
    except InputError:  # too few clients for this policy
        return alone
    announcement = Announcement(
        bytes(SESSION), 0, bytes(DIGEST), bytes(DIGEST), clients, length, most, room_for(length, most, items)
    )
    return traffic(announcement, chosen).total
