"""What is checked of a question before any kernel sees it: whoever answers must expect a server to send anything.

A field is checked by its declared type and its name. The limits are far beyond what methods ask for; they keep a
question from reading outside an array, from overflowing, and from keeping a party busy for hours.
"""

from collections.abc import Hashable
from dataclasses import fields
from functools import lru_cache
from math import inf, isfinite
from types import NoneType
from typing import Any, cast, get_args, get_origin, get_type_hints

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.matroid import Matroid

EXACT = 2**53  # whole numbers up to this are as good as fractions
LARGEST = 2.0**200  # of a number, and the inverse of the smallest
MOST_NUMBERS = 1 << 27  # in an answer: 1 GiB in memory
MOST_UNITS = 1 << 61  # between the smallest and the largest number of an answer
NUMBERS = {"keep": (0.0, 1.0), "even": (1 / LARGEST, LARGEST), "slope": (0.0, LARGEST)}  # others lie above 0
ANY_COUNT = (-(1 << 40), 1 << 40)
COUNTS = {"bits": (1, 32), "votes": (1, 1 << 16), "steps": (1, 1 << 12), "samples": (1, 1 << 20), "key": (0, 2**64 - 1)}
POINTS = {"x": 1.0}  # arrays with a largest value; all hold numbers from 0 on
ITEM_LISTS = ("items", "order", "others")


def check_question(question: Any, n_items: int) -> None:
    """Refuse fields that cannot belong to a question about this many items."""
    check_fields(question, n_items, getattr(question, "items", None))


def check_fields(thing: Any, n_items: int, items: Any) -> None:
    hints = _hints(cast(Hashable, type(thing)))
    for field in fields(thing):
        check_field(field.name, hints[field.name], getattr(thing, field.name), n_items, items)


@lru_cache(maxsize=256)
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(cast(type, kind))


def check_field(name: str, hint: Any, value: Any, n_items: int, items: Any) -> None:
    """`items`: those that the question is about, in the order in which sets of them are written; None: all."""
    if value is None:
        if NoneType not in get_args(hint):
            raise InputError("is missing", argument=name)
    elif isinstance(value, Registered) and not _is_of_kind(hint, value):
        raise InputError(f"cannot be a {type(value).__name__}", argument=name)
    elif isinstance(value, Matroid):
        if value.n_items != n_items:
            raise InputError(f"is over {value.n_items:,} items, not {n_items:,}", argument=name)
    elif isinstance(value, Registered):
        if hasattr(value, "check"):
            value.check(n_items)
        else:
            check_fields(value, n_items, items)
    elif isinstance(value, np.ndarray):
        _check_array(name, hint, value, n_items, items)
    else:
        _check_scalar(name, hint, value)


def _accepts(hint: Any, kind: Any) -> bool:
    return bool(hint == kind or kind in get_args(hint))


def _is_of_kind(hint: Any, value: Any) -> bool:
    kinds = (get_origin(one) or one for one in (hint, *get_args(hint)))
    return any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds)


def _check_scalar(name: str, hint: Any, value: Any) -> None:
    value = value.item() if isinstance(value, np.generic) else value
    kind = type(value)
    if kind is int and _accepts(hint, float) and not _accepts(hint, int):
        value, kind = float(value) if abs(value) <= EXACT else inf, float
    if kind in (bool, str):
        if not _accepts(hint, kind) and value not in get_args(hint):
            raise InputError(f"cannot be {value!r:.40}", argument=name)
    elif kind is int and _accepts(hint, int):
        least, most = COUNTS.get(name, ANY_COUNT)
        if not least <= value <= most:
            raise InputError(f"needs a whole number from {least} to {most:,}", argument=name)
    elif kind is float and _accepts(hint, float):
        low, high = NUMBERS.get(name, (1 / LARGEST, LARGEST))
        if not isfinite(value) or not low <= value <= high:
            raise InputError(f"needs a number from {low:.3g} to {high:.3g}", argument=name)
    else:
        raise InputError(f"cannot be a {kind.__name__}", argument=name)


def _check_array(name: str, hint: Any, value: Any, n_items: int, items: Any) -> None:
    if _accepts(hint, Ids) and value.dtype == np.int64 and value.ndim == 1:
        if name in ITEM_LISTS:
            check_items(name, value, n_items)
    elif _accepts(hint, Mask) and value.dtype == bool:
        width = n_items if value.ndim == 1 or items is None else len(items)
        if value.ndim not in (1, 2) or value.shape[-1] != width:
            raise InputError(f"has shape {value.shape} for {width:,} items", argument=name)
    elif _accepts(hint, Array) and value.dtype == np.float64:
        if value.shape != (n_items,):
            raise InputError(f"has shape {value.shape} for {n_items:,} items", argument=name)
        most = POINTS.get(name, LARGEST)
        if not ((value >= 0) & (value <= most)).all():
            raise InputError(f"needs numbers from 0 to {most:.3g}", argument=name)
    else:
        raise InputError(f"cannot be an array of {value.dtype} in {value.ndim} dimensions", argument=name)


def check_items(name: str, items: Ids, limit: int) -> None:
    """Refuse anything but different whole numbers in 0 … limit − 1."""
    if items.size and not 0 <= int(items.min()) <= int(items.max()) < limit:
        raise InputError(f"needs numbers from 0 to {limit - 1:,}", argument=name)
    if len(np.unique(items)) < len(items):
        raise InputError("names an item twice", argument=name)


def check_encoding(encoding: Any) -> None:
    """Refuse answers of impossible size."""
    if not 0 < encoding.length <= MOST_NUMBERS:
        raise InputError(f"an answer has {encoding.length:,} numbers; 1 to {MOST_NUMBERS:,} are possible")
    if not 0 < encoding.limit - encoding.lowest + 2 * encoding.headroom <= MOST_UNITS:
        raise InputError("numbers of an answer are too large to be added up")
    if any(part.limit < 1 or not 0 < part.unit < inf for part in encoding.parts):
        raise InputError("numbers of an answer have no unit")
