"""JSON that means one thing only."""

import json
from math import isfinite
from typing import Any, NoReturn


def read_json(text: str) -> Any:
    """What the text says. A key that is there twice is a ValueError: readers differ in which of both they believe. So
    is a number that is none, or too large for a computer (NaN, Infinity, 1e999): JSON has no such thing.

    >>> read_json('{"value": 1}')
    {'value': 1}
    """
    return json.loads(text, object_pairs_hook=_make_object, parse_constant=_refuse_constant, parse_float=_read_finite)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("has a key twice")
    return made


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _read_finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refuse_constant(text)
