"""What both sides derive, each derivation bound to all that was said before it.

`said` is the hash of the announcement and the roll, on which everybody's fresh keys have a fingerprint; `agreed_on`
adds who shares. A client that was shown anything else than its neighbours, or at another time, derives other keys
than they do.
"""

from hashlib import sha256

from folkmoot.secagg.primitives import DIGEST, KEY, derive, digest
from folkmoot.secagg.wire import U32

MASK_KEY, FINGERPRINT = 16, 16  # bytes
CHECK = 16  # bytes of a key under which one of two neighbours vouches for something to the other


KEYS = 2 * KEY + DIGEST  # of `keys_in`
EDGE = KEY + 2 * CHECK  # of a dealer and a holder: one for the box, one for its word, one for the consent of the other


def channel_private(seed: bytes) -> bytes:
    """The private key for boxes, and for what neighbours vouch for to each other."""
    return derive(seed, "channel")


def own_seed(seed: bytes) -> bytes:
    """What a client's own mask comes from; it is shared, so that the mask can be taken off if the vector arrived."""
    return derive(seed, "own seed")


def mask_seed(seed: bytes) -> bytes:
    """What masks with others come from; it is shared, so that they can be taken off if the client drops out."""
    return derive(seed, "mask seed")


def mask_private(shared_seed: bytes) -> bytes:
    """The private key of masks, from the seed that is shared. (Never the key itself: not all numbers are keys.)"""
    return derive(shared_seed, "mask")


def choice_seed(seed: bytes) -> bytes:
    """What a client draws its neighbours with; it is shown with the choice."""
    return derive(seed, "choice seed")


def own_digest(seed: bytes) -> bytes:
    """Of the seed of a client's own mask."""
    return digest(b"own mask", seed)


def commitment(announced: bytes, client: int, own: bytes, seed: bytes) -> bytes:
    """To the seed of a client's own mask, by its digest, and to the seed that it will draw its neighbours with."""
    return digest(b"commitment", announced, U32.pack(client), own, digest(b"choice", seed))


def keys_in(body: bytes) -> bytes:
    """What is shown of an advertisement to those whom its client chose: both keys, and a digest for the rest of it."""
    return body[: 2 * KEY] + digest(b"remainder", body[2 * KEY :])


def fingerprint(client: int, keys: bytes) -> bytes:
    """What stands on the roll for an advertisement. (All parts have one length: no two lists of them look alike.)"""
    return sha256(b"fingerprint" + U32.pack(client) + keys).digest()[:FINGERPRINT]


def hash_roll(announced: bytes, roll: bytes) -> bytes:
    return digest(b"said", announced, roll)


def hash_sharers(before: bytes, sharing: bytes) -> bytes:
    return digest(b"agreed on", before, sharing)


def edge_purpose(state: bytes, dealer: int, holder: int) -> bytes:
    return b"edge" + state + U32.pack(dealer) + U32.pack(holder)


def pair_purpose(state: bytes, one: int, other: int) -> bytes:
    """The same for both."""
    low, high = (one, other) if one < other else (other, one)
    return b"pair" + state + U32.pack(low) + U32.pack(high)


def own_mask_key(seed: bytes, state: bytes) -> bytes:
    return derive(seed, "own mask", state, size=MASK_KEY)


def sketch_seed(state: bytes) -> bytes:
    """Fixed once everybody's keys are; whoever answers knows it by then."""
    return digest(b"sketch", state)


def complaint(state: bytes, dealer: int, holder: int, case: bytes) -> tuple[str, bytes, bytes, bytes, bytes]:
    """What a holder signs who complains: who deals, and what it was given."""
    return ("complaint", state, U32.pack(dealer), U32.pack(holder), case)


def hash_consent(state: bytes, survivors: bytes) -> bytes:
    """What neighbours vouch for to each other before anything is opened."""
    return digest(b"consent", state, survivors)
