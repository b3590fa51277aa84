"""From the name of a file to its bytes, decompressed as they are read; whatever fails is one sentence."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

import polars

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_path

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


def find_file(given: str, folder: Path | None, argument: str) -> Path:
    """The file that is meant: relative names are relative to the folder."""
    path = (folder or Path()) / as_path(given, argument)
    try:
        if path.is_file():
            return path
        if path.is_dir():
            raise InputError(f"{given} is a folder", remedy="name a file in it", argument=argument)
        exists = path.exists()
    except OSError as error:
        raise InputError(f"{given} cannot be read ({error.strerror})", argument=argument) from None
    if exists:
        raise InputError(f"{given} is no ordinary file", remedy="save it as one first", argument=argument)
    where = f" in {path.parent}" if path.parent.is_dir() else ""
    raise InputError(f"there is no file {given}{where}", argument=argument)


def suffixes(path: Path) -> tuple[str, str]:
    """What kind of file its name says it is, and how it is compressed ("" if it is not)."""
    parts = [part.lower() for part in path.suffixes]
    if parts and parts[-1] in COMPRESSED:
        return (parts[-2] if len(parts) > 1 else ""), parts[-1]
    return (parts[-1] if parts else ""), ""


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """What goes wrong with the file itself, in one sentence."""
    try:
        yield
    except DAMAGED:
        raise InputError(
            "its compressed data are damaged or cut off", remedy="get the file again", place=path.name
        ) from None
    except PermissionError:
        raise InputError("may not be read by this user", place=path.name) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", place=path.name) from None
    except MemoryError:
        raise InputError("is too large for the memory of this machine", place=path.name) from None


def open_bytes(path: Path) -> IO[bytes]:
    """Its bytes as a stream, decompressed."""
    compression = suffixes(path)[1]
    if compression == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    if compression == ".bz2":
        return bz2.open(path, "rb")
    if compression == ".xz":
        return lzma.open(path, "rb")
    if compression == ".zst":
        return _unzstd(path)
    return path.open("rb")


def _unzstd(path: Path) -> IO[bytes]:
    """By Python itself (3.14), by the package zstandard if it is there, else by polars, which reads text lines."""
    for module in ("compression.zstd", "zstandard"):
        try:
            library: Any = import_module(module)
        except ImportError:
            continue
        return cast(IO[bytes], library.open(path, "rb"))
    try:
        lines = polars.scan_lines(path).collect().to_series()
    except (polars.exceptions.PolarsError, OSError):
        raise InputError(
            "cannot be decompressed", remedy="unpack it (zstd -d), or install the package zstandard", place=path.name
        ) from None
    return io.BytesIO(("\n".join(lines) + "\n").encode())
