"""What both sides derive; every derivation is bound to all messages before it.

The roll hash is that of the announcement and the roll, which holds a fingerprint of everybody's fresh keys; the sharers
hash adds who shares. A client that was shown something else than its neighbours, or in another round, derives other
keys than they do.
"""

from hashlib import sha256

from folkmoot.secagg.primitives import DIGEST, KEY, derive, digest
from folkmoot.secagg.wire import U32

MASK_KEY, FINGERPRINT = 16, 16  # bytes
CHECK = 16  # bytes of a key for tags between two neighbours
KEYS = 2 * KEY + DIGEST  # bytes of `keys_in`
EDGE = KEY + 2 * CHECK  # keys of a dealer and a holder: for the box, for the dealer's word, for the holder's consent


def channel_private(seed: bytes) -> bytes:
    """The private key for boxes, and for tags between neighbours."""
    return derive(seed, "channel")


def own_seed(seed: bytes) -> bytes:
    """The seed of a client's own mask. It is secret-shared, so that the mask can be removed if the vector arrived."""
    return derive(seed, "own seed")


def mask_seed(seed: bytes) -> bytes:
    """The seed of the masks with others. It is secret-shared, so that they can be removed if the client drops out."""
    return derive(seed, "mask seed")


def mask_private(shared_seed: bytes) -> bytes:
    """The private key of masks. The seed is shared and never this key: not every number is a valid key."""
    return derive(shared_seed, "mask")


def choice_seed(seed: bytes) -> bytes:
    """The seed that a client draws its neighbours with; it is revealed with the choice."""
    return derive(seed, "choice seed")


def own_digest(seed: bytes) -> bytes:
    """The digest of the seed of a client's own mask."""
    return digest(b"own mask", seed)


def commitment(announced: bytes, client: int, own: bytes, seed: bytes) -> bytes:
    """Commits to the seed of a client's own mask (by its digest) and to the seed that draws its neighbours."""
    return digest(b"commitment", announced, U32.pack(client), own, digest(b"choice", seed))


def keys_in(body: bytes) -> bytes:
    """What those whom a client chose see of its advertisement: both keys, and a digest of the rest."""
    return body[: 2 * KEY] + digest(b"remainder", body[2 * KEY :])


def fingerprint(client: int, keys: bytes) -> bytes:
    """An advertisement's entry on the roll. (Every part has a fixed length: no two inputs look alike.)"""
    return sha256(b"fingerprint" + U32.pack(client) + keys).digest()[:FINGERPRINT]


def hash_roll(announced: bytes, roll: bytes) -> bytes:
    return digest(b"said", announced, roll)


def hash_sharers(before: bytes, sharing: bytes) -> bytes:
    return digest(b"agreed on", before, sharing)


def edge_purpose(state: bytes, dealer: int, holder: int) -> bytes:
    return b"edge" + state + U32.pack(dealer) + U32.pack(holder)


def pair_purpose(state: bytes, one: int, other: int) -> bytes:
    """The same for both of them."""
    low, high = (one, other) if one < other else (other, one)
    return b"pair" + state + U32.pack(low) + U32.pack(high)


def own_mask_key(seed: bytes, state: bytes) -> bytes:
    return derive(seed, "own mask", state, size=MASK_KEY)


def sketch_seed(state: bytes) -> bytes:
    """Fixed once everybody's keys are fixed; clients know it when they answer."""
    return digest(b"sketch", state)


def complaint(state: bytes, dealer: int, holder: int, case: bytes) -> tuple[str, bytes, bytes, bytes, bytes]:
    """What a complaining holder signs: who dealt, and what it was given."""
    return ("complaint", state, U32.pack(dealer), U32.pack(holder), case)


def hash_consent(state: bytes, survivors: bytes) -> bytes:
    """What neighbours confirm to each other before any secret is opened."""
    return digest(b"consent", state, survivors)
