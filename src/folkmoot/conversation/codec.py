"""Questions, constraints and settings as text, so that they can be sent, stored and compared; nothing is pickled.

Anything with `parameters()` is written as its kind and its parameters and read back by calling its kind. The
text of equal things is equal, so its hash tells whether two questions are the same.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.registry import name_kind

MOST_BYTES = 1 << 30  # of unpacked text
MOST_ITEMS = 10**8  # so that a few bytes cannot create something enormous
DTYPES = ("bool", "int64", "float64", "uint64")
LONGEST_KIND = 200  # characters of a name that an error repeats


class UnknownKind(Exception):
    """A kind that is not expected here, or was not imported."""


def text_of(thing: Any) -> str:
    """The text of a thing: keys are sorted, numbers are exact to the last bit."""
    return json.dumps(_document(thing), sort_keys=True, separators=(",", ":"))


def digest_of(thing: Any) -> str:
    return sha256(text_of(thing).encode()).hexdigest()


def pack(thing: Any) -> bytes:
    """Bytes to be sent or stored."""
    return zlib.compress(text_of(thing).encode(), 6)


def unpack(
    data: bytes,
    kinds: Mapping[str, type],
    place: object | None = None,
    *,
    most_bytes: int | None = None,
    most_items: int | None = None,
    most_parts: int | None = None,
) -> Any:
    """What was packed; anything else is refused. Only things of the given kinds are ever built.

    most_bytes: of the unpacked text. most_items: that anything may say it is about. most_parts: elements of all lists
    and tables together, each of which takes far more memory than the byte or two that it needs as text; None: any.
    """
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(data, MOST_BYTES if most_bytes is None else most_bytes)
        if reader.unconsumed_tail or not reader.eof or reader.unused_data:
            raise ValueError
        if most_parts is not None and sum(text.count(sign) for sign in (b"[", b"{", b",")) > most_parts:
            raise ValueError
        return _build(json.loads(text), kinds, MOST_ITEMS if most_items is None else most_items)
    except UnknownKind as unknown:
        module, colon, name = str(unknown).partition(":")
        if not colon:
            raise InputError(
                f"contains a kind that is not expected here ({str(unknown)!r})", argument="data", place=place
            ) from None
        raise InputError(
            f"contains a {name!r}, which is not known here",
            remedy=f"first import {module!r}, which defines it",
            argument="data",
            place=place,
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, MemoryError, RecursionError, zlib.error):
        raise InputError("is not a packed question", argument="data", place=place) from None


def _document(thing: Any) -> Any:
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, np.generic):
        return thing.item()
    if isinstance(thing, np.ndarray):
        array = thing if thing.dtype.name in DTYPES else thing.astype(np.int64 if thing.dtype.kind in "iu" else float)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        data = np.packbits(array).tobytes() if array.dtype == bool else np.ascontiguousarray(array).tobytes()
        return {"array": array.dtype.name, "shape": list(array.shape), "data": b64encode(data).decode()}
    if isinstance(thing, list | tuple):
        return [_document(part) for part in thing]
    if isinstance(thing, dict):
        return {"map": {str(name): _document(part) for name, part in thing.items()}}
    return {"kind": name_kind(type(thing)), "with": {k: _document(v) for k, v in thing.parameters().items()}}


def _build(document: Any, kinds: Mapping[str, type], most_items: int) -> Any:
    if isinstance(document, list):
        return [_build(part, kinds, most_items) for part in document]
    if not isinstance(document, dict):
        return document
    if "array" in document:
        return _array(document)
    if "map" in document:
        return {name: _build(part, kinds, most_items) for name, part in document["map"].items()}
    parameters = {name: _build(part, kinds, most_items) for name, part in document["with"].items()}
    if not 0 <= parameters.get("n_items", 0) <= most_items:
        raise ValueError
    kind = document["kind"]
    if isinstance(kind, str) and kind not in kinds:
        raise UnknownKind(kind[:LONGEST_KIND])
    return kinds[kind](**parameters)


def _array(document: dict[str, Any]) -> Any:
    shape = tuple(document["shape"])
    if document["array"] not in DTYPES or not all(isinstance(size, int) and size >= 0 for size in shape):
        raise ValueError
    data = b64decode(document["data"], validate=True)
    size = int(np.prod(shape, dtype=object))
    if document["array"] == "bool":
        if len(data) != (size + 7) // 8:
            raise ValueError
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=size)
        return bits.astype(bool).reshape(shape)
    return np.frombuffer(data, dtype=document["array"]).reshape(shape)
