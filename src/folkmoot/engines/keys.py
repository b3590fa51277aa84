"""Files that must be whole or not there at all, and a party's private keys, which are kept in one of them."""

import os
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.foundation.errors import InputError

FILE = "ed25519.keys"  # one private key per line, in hexadecimal
SEED = 32


def write_whole(path: Path, data: bytes, *, replace: bool = True) -> bool:
    """Write a file that only its owner can read, entirely or not at all; whether it was written: with replace=False, a
    file that exists is left as it is.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        with os.fdopen(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the name must not reach the disk before the content
        if replace:
            os.replace(half, path)
        else:
            os.link(half, path)  # which fails if there is one
    except FileExistsError:
        return False
    finally:
        half.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return True


def load_or_make_keys(folder: Path, count: int) -> list[Ed25519PrivateKey]:
    """The keys that a party signs with, in order: made once, then kept. Keys that exist are never overwritten."""
    path = folder / FILE
    if not path.exists():
        keys = [Ed25519PrivateKey.generate() for _ in range(count)]
        if write_whole(path, _write(keys), replace=False):
            return keys
    return load_keys(folder, count)


def load_keys(folder: Path, count: int) -> list[Ed25519PrivateKey]:
    """The keys that were made before."""
    path = folder / FILE
    try:
        if path.stat().st_mode & 0o077:
            raise InputError("can be read by others", remedy=f"chmod 600 {path}", place=path)
        seeds = [bytes.fromhex(line) for line in path.read_text(encoding="ascii").splitlines()]
    except OSError as error:
        raise InputError(f"cannot be read ({(error.strerror or 'no reason given').lower()})", place=path) from None
    except InputError:
        raise
    except ValueError:
        seeds = []
    if not seeds or any(len(seed) != SEED for seed in seeds):
        raise InputError("holds no keys, or is damaged", remedy="restore it from a backup", place=path)
    if len(seeds) != count:
        raise InputError(
            f"holds {len(seeds):,} keys, and {count:,} are needed: it was made for other data",
            remedy="folkmoot federation join --renew makes new ones",
            place=path,
        )
    return [Ed25519PrivateKey.from_private_bytes(seed) for seed in seeds]


def list_public(keys: Sequence[Ed25519PrivateKey]) -> tuple[bytes, ...]:
    """Their public keys."""
    return tuple(key.public_key().public_bytes_raw() for key in keys)


def _write(keys: Sequence[Ed25519PrivateKey]) -> bytes:
    return "".join(f"{key.private_bytes_raw().hex()}\n" for key in keys).encode()
