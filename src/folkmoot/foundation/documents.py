"""JSON that means one thing only."""

import json
from typing import Any


def read_json(text: str) -> Any:
    """What the text says. A key that is there twice is a ValueError: readers differ in which of both they believe.

    >>> read_json('{"value": 1}')
    {'value': 1}
    """
    return json.loads(text, object_pairs_hook=_make_object)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("has a key twice")
    return made
