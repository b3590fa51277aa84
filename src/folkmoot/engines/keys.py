"""Files that must be whole or not there at all, and a party's private key, which is kept in one of them."""

import os
from pathlib import Path
from secrets import token_hex

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.foundation.errors import InputError

FILE = "ed25519.keys"  # the private key, in hexadecimal


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


def load_or_make_key(folder: Path) -> Ed25519PrivateKey:
    """The key that a party signs with: made once, then kept. A key that exists is never overwritten."""
    path = folder / FILE
    if not path.exists():
        key = Ed25519PrivateKey.generate()
        if write_whole(path, f"{key.private_bytes_raw().hex()}\n".encode(), replace=False):
            return key
    return _load_key(path)


def _load_key(path: Path) -> Ed25519PrivateKey:
    """The key that was made before."""
    try:
        if path.stat().st_mode & 0o077:
            raise InputError("can be read by others", remedy=f"chmod 600 {path}", place=path)
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(path.read_text(encoding="ascii")))
    except OSError as error:
        raise InputError(f"cannot be read ({(error.strerror or 'no reason given').lower()})", place=path) from None
    except InputError:
        raise
    except ValueError:
        raise InputError("holds no key, or is damaged", remedy="restore it from a backup", place=path) from None
