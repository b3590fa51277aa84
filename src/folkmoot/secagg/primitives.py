"""The cryptography that is not ours: X25519 and the check of signatures from libsodium (PyNaCl), which releases
Python's lock; AES and signing from `cryptography`; SHA-256 and keyed BLAKE2 from Python. Nothing else.

Every derivation names its purpose and is bound to its round, so that no key of one round, purpose or pair of clients
is ever the key of another.
"""

from functools import lru_cache
from hashlib import blake2b, sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import CTR
from nacl.bindings import crypto_scalarmult, crypto_scalarmult_base, crypto_sign_open
from nacl.exceptions import CryptoError

SEED, KEY, DIGEST, SIGNATURE, TAG, CIPHER_BLOCK = 32, 32, 32, 64, 16, 16
ANY_KEY = bytes(32)  # to try others' keys with; no secret
FIELD = 2**255 - 19  # X25519 reduces larger numbers modulo this: one key would have two forms
REMEMBERED = 2**16  # signatures whose check is cached
COUNTER = CTR((2).to_bytes(CIPHER_BLOCK, "big"))
NO_NONCE = bytes(12)  # every key encrypts exactly once


def digest(*parts: bytes) -> bytes:
    """SHA-256 of parts, each preceded by its length: no two lists of parts have the same input."""
    hasher = sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.digest()


def derive(secret: bytes, purpose: str, *context: bytes, size: int = KEY) -> bytes:
    """A key from a secret, for one purpose and context."""
    return keyed_hash(secret, digest(purpose.encode(), *context), size)


def keyed_hash(key: bytes, message: bytes, size: int) -> bytes:
    """Keyed BLAKE2, up to 64 bytes: without the key, it looks random and cannot be forged.

    A secret from X25519 is not uniform, but unknown to others; libsodium derives its session keys the same way.
    """
    return blake2b(message, key=key, digest_size=size).digest()


def agree(private: bytes, public: bytes) -> bytes | None:
    """The secret that two clients share; None if the public key has low order or is not in canonical form."""
    if int.from_bytes(public, "little") >= FIELD:
        return None
    try:
        return bytes(crypto_scalarmult(private, public))
    except CryptoError:
        return None


def public_of(private: bytes) -> bytes:
    return bytes(crypto_scalarmult_base(private))


def expand(seed: bytes, size: int, purpose: str, *context: bytes) -> bytes:
    """`size` pseudorandom bytes from a uniform seed."""
    return bytes(stream(derive(seed, purpose, *context, size=CIPHER_BLOCK)).update(bytes(size)))


def tag(key: bytes, message: bytes) -> bytes:
    """A tag that only the two who have the key can compute."""
    return keyed_hash(key, message, TAG)


def seal(key: bytes, plain: bytes, bound_to: bytes) -> bytes:
    """Encrypt under a key that is used once."""
    return AESGCM(key).encrypt(NO_NONCE, plain, bound_to)


def unseal(key: bytes, box: bytes, bound_to: bytes) -> bytes | None:
    """Decrypt; None if it was not sealed under this key and `bound_to`."""
    try:
        return AESGCM(key).decrypt(NO_NONCE, box, bound_to)
    except InvalidTag:
        return None


def sign(private: Ed25519PrivateKey, purpose: str, *context: bytes) -> bytes:
    return private.sign(digest(purpose.encode(), *context))


def is_signed(public: bytes, signature: bytes, purpose: str, *context: bytes) -> bool:
    return verify_signature(public, signature, digest(purpose.encode(), *context))


@lru_cache(maxsize=REMEMBERED)
def verify_signature(public: bytes, signature: bytes, message: bytes) -> bool:
    """Cached: in a simulation, many clients check the same signature in one process."""
    if len(signature) != SIGNATURE:
        return False
    try:
        crypto_sign_open(signature + message, public)
    except (CryptoError, ValueError):
        return False
    return True


def stream(key: bytes) -> CipherContext:
    """AES-128 in counter mode; each key makes one mask."""
    return Cipher(AES128(key), COUNTER).encryptor()


def keystream(key: bytes, zeros: bytes) -> bytes:
    """What `stream` makes of these zeros, and a tag after it. It is the same cipher, since GCM starts to count at 2,
    and is set up in half the time.
    """
    return AESGCM(key).encrypt(NO_NONCE, zeros, None)
