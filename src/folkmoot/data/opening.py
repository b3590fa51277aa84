"""From the name of a file to its bytes, decompressed as they are read; every failure is one sentence."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

import polars

from folkmoot.data.archive import open_member, split_path
from folkmoot.data.standard_input import is_standard_input, keep_input
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_path

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zipfile.BadZipFile)
ADDRESS = re.compile(r"(https?|ftps?|sftp|s3|gs|abfss?|hdfs|file):/{1,3}", re.IGNORECASE)


def find_file(given: str, folder: Path | None, argument: str) -> Path:
    """The file of this name, or the part of one (films.zip/ratings.csv); relative names are relative to the folder."""
    if argument == "file" and is_standard_input(given):
        return keep_input()
    path = (folder or Path()) / as_path(given, argument)
    try:
        if path.is_file():
            return path
        if path.is_dir():
            raise InputError(f"{given} is a folder", remedy="name a file in it", argument=argument)
        if split_path(path)[1] is not None:
            return path
        exists = path.exists()
    except OSError as error:
        raise InputError(f"{given} cannot be read ({error.strerror})", argument=argument) from None
    if address := ADDRESS.match(given):
        whole = f"{address[1]}://{given[address.end() :]}"
        raise InputError(f"{whole} is an address, not a file", remedy="download it first", argument=argument)
    if exists:
        raise InputError(f"{given} is not an ordinary file", remedy="save it as one first", argument=argument)
    bare = path.parent.is_dir() and path.name == given
    raise InputError(
        f"there is no file {given} in {path.parent}" if bare else f"there is no file {path}", argument=argument
    )


def find_on_disk(name: str) -> str:
    """The file that a name leads to, whatever is meant within it."""
    return str(keep_input() if is_standard_input(name) else split_path(Path(name))[0])


def suffixes(path: Path) -> tuple[str, str]:
    """The suffix that says what kind of file it is, and the suffix of its compression ("" if there is none)."""
    parts = [part.lower() for part in path.suffixes]
    if parts and parts[-1] in COMPRESSED:
        return (parts[-2] if len(parts) > 1 else ""), parts[-1]
    return (parts[-1] if parts else ""), ""


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system and of decompression into one sentence."""
    try:
        yield
    except DAMAGED:
        raise InputError(
            "its compressed data is damaged or cut short", remedy="get the file again", place=path.name
        ) from None
    except PermissionError:
        raise InputError("cannot be read: permission denied", place=path.name) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", place=path.name) from None
    except MemoryError:
        raise InputError("does not fit into the memory of this machine", place=path.name) from None


def open_bytes(path: Path) -> IO[bytes]:
    """The decompressed bytes of the file, as a stream."""
    archive, member = split_path(path)
    packed: Any = path if member is None else open_member(archive, member)
    compression = suffixes(path)[1]
    if compression == ".gz":
        return cast(IO[bytes], gzip.open(packed, "rb"))
    if compression == ".bz2":
        return cast(IO[bytes], bz2.open(packed, "rb"))
    if compression == ".xz":
        return lzma.open(packed, "rb")
    if compression == ".zst":
        return _decompress_zstd(path, packed)
    return path.open("rb") if member is None else cast(IO[bytes], packed)


def _decompress_zstd(path: Path, packed: Any) -> IO[bytes]:
    """By Python itself (3.14), by the package zstandard if it is installed, otherwise by polars, which reads lines."""
    for module in ("compression.zstd", "zstandard"):
        try:
            library: Any = import_module(module)
        except ImportError:
            continue
        return cast(IO[bytes], library.open(packed, "rb"))
    try:
        lines = polars.scan_lines(packed).collect().to_series()
    except (polars.exceptions.PolarsError, OSError):
        raise InputError(
            "cannot be decompressed", remedy="unpack it (zstd -d), or install the package zstandard", place=path.name
        ) from None
    return io.BytesIO(("\n".join(lines) + "\n").encode())
