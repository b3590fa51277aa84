"""What both sides derive, each derivation bound to all that was said before it.

`said` is the hash of the announcement and the roll, on which everybody's fresh keys have a fingerprint; `agreed_on`
adds who shares. A client that was shown anything else than its neighbours, or at another time, derives other keys
than they do.
"""

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from folkmoot.secagg.primitives import KEY, agreed, derived, digest, key_pair
from folkmoot.secagg.wire import U32

MASK_KEY, FINGERPRINT = 16, 16  # bytes


def channel_pair(seed: bytes) -> tuple[X25519PrivateKey, bytes]:
    """The pair that boxes are sealed with."""
    return key_pair(seed, "channel")


def mask_pair(seed: bytes) -> tuple[X25519PrivateKey, bytes]:
    """The pair that masks between two clients come from; its seed is what is shared."""
    return key_pair(seed, "mask")


def commitment(announced: bytes, client: int, own_seed: bytes) -> bytes:
    """To the seed of a client's own mask."""
    return digest(b"commitment", announced, U32.pack(client), own_seed)


def fingerprint(client: int, advertisement: bytes) -> bytes:
    """What stands on the roll for an advertisement."""
    return digest(b"fingerprint", U32.pack(client), advertisement)[:FINGERPRINT]


def said(announced: bytes, roll: bytes) -> bytes:
    return digest(b"said", announced, roll)


def agreed_on(before: bytes, sharing: bytes) -> bytes:
    return digest(b"agreed on", before, sharing)


def box_key(private: X25519PrivateKey, public: bytes, state: bytes, sender: int, receiver: int) -> bytes | None:
    """One key a direction: each seals one box. None where the public key is of low order."""
    return agreed(private, public, "box", state, U32.pack(sender), U32.pack(receiver), size=KEY)


def pair_mask_key(private: X25519PrivateKey, public: bytes, state: bytes, one: int, other: int) -> bytes | None:
    """The same for both. None where the public key is of low order."""
    low, high = sorted((one, other))
    return agreed(private, public, "pair mask", state, U32.pack(low), U32.pack(high), size=MASK_KEY)


def own_mask_key(seed: bytes, state: bytes) -> bytes:
    return derived(seed, "own mask", state, size=MASK_KEY)


def sketch_seed(state: bytes) -> bytes:
    """Fixed once everybody's keys are: nobody can pick items that collide."""
    return digest(b"sketch", state)
