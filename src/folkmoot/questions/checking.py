"""What is checked of a question before any kernel sees it: whoever answers must expect a server to send anything.

A field is checked by its declared type and its name. The limits are far beyond what methods ask for; they keep a
question from reading outside an array, from overflowing, and from keeping a party busy for hours.
"""

from collections.abc import Hashable
from dataclasses import dataclass, fields
from functools import lru_cache
from math import copysign, inf, isfinite
from types import NoneType
from typing import Any, cast, get_args, get_origin, get_type_hints

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.matroid import Matroid
from folkmoot.privacy.accounting import LARGEST_MU, SMALLEST_MU
from folkmoot.privacy.noise import COARSEST

LARGEST = 2.0**200  # of a number, and the inverse of the smallest
MOST_NUMBERS, NUMBERS_PER_ITEM = 1 << 20, 256  # in an answer: the larger of so many in all, and so many per item
MOST_UNITS = 1 << 61  # between the smallest and the largest number of an answer
NUMBERS = {  # others lie above 0
    "even": (1 / LARGEST, LARGEST),
    "slope": (0.0, LARGEST),
    "mu": (SMALLEST_MU, LARGEST_MU),
}
ANY_COUNT = (-(1 << 40), 1 << 40)
COUNTS = {
    "bits": (1, 32),
    "votes": (1, 1 << 12),
    "steps": (1, 1 << 8),
    "samples": (1, 1 << 14),
    "key": (0, 2**64 - 1),
    "draw": (0, 2**64 - 1),
    "sample": (0, 2**64 - 1),
    "sd": (1 << COARSEST, 1 << 32),
    "honest": (1, 1 << 32),
    "rows": (1, 16),
    "buckets": (1, 1 << 16),
}
MOST_WORK = 1 << 16  # steps times samples
POINTS = {"x": 1.0}  # arrays with a largest value; all hold numbers from 0 on
UNORDERED = ("items", "others")
ITEM_LISTS = (*UNORDERED, "order")
MANY_SETS = "sets"  # the field with one row per set; others hold one set


def check_question(question: Any, n_items: int, n_clients: int | None) -> None:
    """Refuse fields that cannot belong to a question about this many items, or that ask for too much work."""
    Scale(n_items, n_clients, getattr(question, "items", None)).check_fields(question)
    steps, samples = (getattr(question, name, None) or 1 for name in ("steps", "samples"))
    if steps * samples > MOST_WORK:
        raise InputError(f"{steps:,} steps of {samples:,} samples are too much work", argument="samples")


@lru_cache(maxsize=256)
def _hints(kind: Hashable) -> dict[str, Any]:
    try:
        return get_type_hints(cast(type, kind))
    except NameError as error:
        raise InputError(f"the types of its fields cannot be read ({error})") from None


@dataclass(frozen=True, eq=False)
class Scale:
    """What a question is checked against. items: those that it is about, in the order in which sets of them are
    written; None: all.
    """

    n_items: int
    n_clients: int | None
    items: Any

    def check_fields(self, thing: Any) -> None:
        hints = _hints(cast(Hashable, type(thing)))
        for field in fields(thing):
            self.check_field(field.name, hints[field.name], getattr(thing, field.name))

    def check_field(self, name: str, hint: Any, value: Any) -> None:
        if value is None:
            if NoneType not in get_args(hint):
                raise InputError("is missing", argument=name)
        elif isinstance(value, Registered) and not _is_of_kind(hint, value):
            raise InputError(f"cannot be a {type(value).__name__}", argument=name)
        elif isinstance(value, Matroid):
            if value.n_items != self.n_items:
                raise InputError(f"is over {value.n_items:,} items, not {self.n_items:,}", argument=name)
        elif isinstance(value, Registered):
            if hasattr(value, "check"):
                value.check(self.n_items, self.n_clients)
            else:
                self.check_fields(value)
        elif isinstance(value, np.ndarray):
            self.check_array(name, hint, value)
        else:
            _check_scalar(name, hint, value)

    def check_array(self, name: str, hint: Any, value: Any) -> None:
        n = self.n_items
        if _accepts(hint, Ids) and value.dtype == np.int64 and value.ndim == 1:
            if name in ITEM_LISTS:
                check_items(name, value, n)
            if name in UNORDERED and (np.diff(value) <= 0).any():  # or the same could be asked twice, in other words
                raise InputError("needs numbers in increasing order", argument=name)
        elif _accepts(hint, Mask) and value.dtype == bool:
            width = n if self.items is None else len(self.items)
            fits = value.shape == (n,)
            if name == MANY_SETS:
                fits = value.ndim == 2 and value.shape[1] == width and value.shape[0] > 0
            if not fits:
                raise InputError(f"has shape {value.shape} for {n:,} items", argument=name)
        elif _accepts(hint, Array) and value.dtype == np.float64:
            if value.shape != (n,):
                raise InputError(f"has shape {value.shape} for {n:,} items", argument=name)
            most = POINTS.get(name, LARGEST)
            if not ((value >= 0) & (value <= most)).all() or np.signbit(value).any():
                raise InputError(f"needs numbers from 0 to {most:.3g}", argument=name)
        else:
            raise InputError(f"cannot be an array of {value.dtype} in {value.ndim} dimensions", argument=name)


def _accepts(hint: Any, kind: Any) -> bool:
    return bool(hint == kind or kind in get_args(hint))


def _is_of_kind(hint: Any, value: Any) -> bool:
    kinds = (get_origin(one) or one for one in (hint, *get_args(hint)))
    return any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds)


def _check_scalar(name: str, hint: Any, value: Any) -> None:
    """A number is written in one way: 5 is not 5.0, or the same question could be asked twice in other words."""
    value = value.item() if isinstance(value, np.generic) else value
    kind = type(value)
    if kind in (bool, str):
        if not _accepts(hint, kind) and value not in get_args(hint):
            raise InputError(f"cannot be {value!r:.40}", argument=name)
    elif kind is int and _accepts(hint, int):
        least, most = COUNTS.get(name, ANY_COUNT)
        if not least <= value <= most:
            raise InputError(f"needs a whole number from {least} to {most:,}", argument=name)
    elif kind is float and _accepts(hint, float):
        low, high = NUMBERS.get(name, (1 / LARGEST, LARGEST))
        if not isfinite(value) or not low <= value <= high or copysign(1.0, value) < 0:
            raise InputError(f"needs a number from {low:.3g} to {high:.3g}", argument=name)
    else:
        raise InputError(f"cannot be a {kind.__name__}", argument=name)


def check_items(name: str, items: Ids, limit: int) -> None:
    """Refuse anything but different whole numbers in 0 … limit − 1."""
    if items.size and not 0 <= int(items.min()) <= int(items.max()) < limit:
        raise InputError(f"needs numbers from 0 to {limit - 1:,}", argument=name)
    if len(np.unique(items)) < len(items):
        raise InputError("names an item twice", argument=name)


def check_encoding(encoding: Any, n_items: int) -> None:
    """Refuse answers of impossible size."""
    most = max(MOST_NUMBERS, NUMBERS_PER_ITEM * n_items)
    if not 0 < encoding.length <= most:
        raise InputError(f"an answer has {encoding.length:,} numbers; 1 to {most:,} are possible")
    if not 0 < encoding.limit - encoding.lowest + 2 * encoding.find_room(1, 1) <= MOST_UNITS:
        raise InputError("numbers of an answer are too large to be added up")
    if any(part.limit < 1 or not 0 < part.unit < inf for part in encoding.parts):
        raise InputError("numbers of an answer have no unit")


def is_about_singletons(query: Any) -> bool:
    """Whether a question starts from nothing: from an empty set, a point with less than one item in expectation, a set
    of one item, or the beginning of a sequence.
    """
    empty = any(not mask.any() for name in ("members", "before") if (mask := getattr(query, name, None)) is not None)
    point, sets, marks = (getattr(query, name, None) for name in ("x", "sets", "marks"))
    near = point is not None and float(point.sum()) < 1.0
    alone = sets is not None and bool((sets.sum(axis=-1) <= 1).any())
    return empty or near or alone or (marks is not None and 0 in marks)


def find_largest_set(query: Any) -> int:
    """How many items the largest set has whose value or gains a question asks for, at least; sets that are drawn at
    random do not count.
    """
    masks = [mask for name in ("members", "before", "sets") if (mask := getattr(query, name, None)) is not None]
    marks, matroid = getattr(query, "marks", None), getattr(query, "matroid", None)
    sizes = [int(mask.sum(axis=-1).max()) for mask in masks]
    sizes += [] if marks is None else [int(marks.max())]
    return max([*sizes, 0 if matroid is None else matroid.rank])
