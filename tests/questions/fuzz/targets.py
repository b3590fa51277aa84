"""Whatever a question says, a party refuses it or answers with numbers of the announced form, and nothing breaks.

Bytes are read as a few edits of an honest question of some kind: bytes themselves, compressed and in JSON, would hardly
ever be a question.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np

from folkmoot import FacilityLocation
from folkmoot.conversation.codec import text_of
from folkmoot.engines import Bundle
from folkmoot.engines.answering import Inquiry, write_times
from folkmoot.foundation.sets import Ids
from folkmoot.privacy.accounting import find_reach
from folkmoot.privacy.gaussian import LEAST_SD, MOST_SD
from folkmoot.questions.hidden import HiddenQuery
from folkmoot.secagg import Refused
from folkmoot.secagg.parameters import MOST
from tests.coins import SIMULATED
from tests.questions.kinds import KINDS, SHARDS

CLIENTS, ITEMS = 9, 6
IDS = np.arange(CLIENTS)
TIMES = np.ones(CLIENTS, dtype=np.int64)
SESSION = bytes(16).hex()

Path = tuple[str | int, ...]
SCALARS: tuple[Any, ...] = (
    *(None, True, False, "", "x", [], {}, [1], 0, 1, -1, 2, 3, 7, 24, 32, 33, 62, 63, 64, 255),
    *(2**16, 2**20, 2**31, 2**32, 2**40, 2**53, 2**61, 2**62, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30, 10**400),
    *(0.0, -0.0, 0.5, -0.5, 1.5, 1e-320, 1e-300, 1e-80, 1e-30, 1e30, 1e80, 1e300),
    *(float("nan"), float("inf"), float("-inf")),
)
FILLINGS: tuple[Any, ...] = (-1, 0, 1, ITEMS - 1, ITEMS, 2**31, 2**62, -(2**63), 0.5, -0.5, 1e300, np.nan, np.inf)
DTYPES = ("bool", "int64", "float64", "uint64", "int32", "object")


@cache
def make_clients() -> FacilityLocation:
    rng = np.random.default_rng(4)
    return FacilityLocation(rng.integers(0, 6, (CLIENTS, ITEMS)).astype(float), keep_empty=True)


@cache
def write_honest(kind: str) -> str:
    """A question of this kind, as text."""
    query = (KINDS | SHARDS)[kind](make_clients())
    if kind in SHARDS:
        document = json.loads(text_of(query))
        document["with"]["clients"] = CLIENTS
        return json.dumps(document)
    return text_of(query)


def list_places(document: Any, path: Path = ()) -> Iterator[Path]:
    """Every part of a document that can be replaced."""
    yield path
    named = document if isinstance(document, dict) else dict(enumerate(document)) if isinstance(document, list) else {}
    for name, part in named.items():
        yield from list_places(part, (*path, name))


def look_up(document: Any, path: Path) -> Any:
    for name in path:
        document = document[name]
    return document


def put_at(document: Any, path: Path, part: Any) -> Any:
    if not path:
        return part
    look_up(document, path[:-1])[path[-1]] = part
    return document


def edit(document: Any, which: int, how: int, much: int) -> Any:
    """One edit, by three numbers from 0 to 255."""
    places = list(list_places(document))
    path = places[which % len(places)]
    part = look_up(document, path)
    if isinstance(part, dict) and "array" in part and how >= 64:
        return put_at(document, path, edit_array(part, how, much))
    if how < 128:
        return put_at(document, path, deepcopy(SCALARS[much % len(SCALARS)]))
    if how < 192:  # something from elsewhere in the question
        return put_at(document, path, deepcopy(look_up(document, places[much % len(places)])))
    if isinstance(part, dict) and part:  # a part is missing, or has another name
        name = sorted(part)[much % len(part)]
        moved = part.pop(name)
        return put_at(document, path, part if how < 224 else {**part, f"{name}s": moved})
    if isinstance(part, bool | str | None | list | dict) or abs(part) > 2**1000:
        return document
    return put_at(document, path, (part * 2, part + 1, -part, part / 3, part * 1e30)[much % 5])


def edit_array(part: dict[str, Any], how: int, much: int) -> dict[str, Any]:
    """Another shape, another type, or other content."""
    if how < 96:
        return {**part, "array": DTYPES[much % len(DTYPES)]}
    if how < 128:
        odd: tuple[Any, ...] = ([-1], 5, ["x"], [2**62])
        even: tuple[list[int], ...] = (
            [],
            [0],
            [0, 0],
            [1],
            [2, ITEMS],
            [1, ITEMS],
            [0, ITEMS],
            [ITEMS, 1],
            [much],
            [much, much],
        )
        if how % 2:
            return {**part, "shape": (*odd, *even)[much % (len(odd) + len(even))]}
        shape = even[much % len(even)]  # with content that fits
        count = int(np.prod(shape))
        size = (count + 7) // 8 if part["array"] == "bool" else 8 * count
        return {**part, "shape": shape, "data": b64encode(bytes(size)).decode()}
    if part.get("array") not in ("int64", "float64"):
        return {**part, "data": ("", "!", b64encode(bytes(much)).decode())[much % 3]}
    filling = FILLINGS[much % len(FILLINGS)]
    data = b64decode(part["data"]) if isinstance(part.get("data"), str) else b""
    numbers = np.frombuffer(data[: len(data) // 8 * 8], dtype=part["array"]).copy()
    if not len(numbers):
        numbers = np.zeros(1, dtype=part["array"])
    with np.errstate(invalid="ignore"):
        try:
            numbers[how % len(numbers)] = filling
        except (ValueError, OverflowError):
            return part
    if how >= 192:  # a longer one
        numbers = np.resize(numbers, len(numbers) + much % 4)
    return {**part, "shape": [len(numbers)], "data": b64encode(numbers.tobytes()).decode()}


def check_question(kind: str, data: bytes) -> None:
    """Put an edited question to a party; what it accepts, it answers as announced."""
    document = json.loads(write_honest(kind))
    for at in range(0, len(data) - 2, 3):
        with suppress(TypeError, ValueError, OverflowError):  # what was edited before cannot be edited like this
            document = edit(document, *data[at : at + 3])
    asked = {"map": {"query": document, "session": SESSION, "round": 0}}
    try:
        text = json.dumps(asked).encode()
    except (ValueError, RecursionError):  # a number of too many digits
        return
    sent = Bundle(write_times(IDS, TIMES), zlib.compress(text))
    try:
        inquiry = Inquiry.read(sent, make_clients(), IDS, CLIENTS, SIMULATED)
    except Refused:
        return
    check_answers(inquiry)


def check_answers(inquiry: Inquiry) -> None:
    query, encoding = inquiry.query, inquiry.query.encoding
    if encoding.length > 1 << 20:
        return  # a large question is a large question
    willing = query.takes_part(inquiry.clients, inquiry.ids, inquiry.times, inquiry.own)
    if willing is not None:
        if not willing.any():
            return
        inquiry = inquiry.keep(willing)
    rows, speakers = inquiry.rows, set(inquiry.speakers.tolist())
    assert rows.shape == (len(inquiry.ids), encoding.length)
    for part, block in zip(encoding.parts, encoding.split(np.arange(encoding.length)), strict=True):
        some = rows[:, block]
        assert some.nnz == 0 or part.lowest <= some.data.min() <= some.data.max() <= part.limit
    if isinstance(query, HiddenQuery):
        check_hidden(query, rows.toarray())
    vectors = [inquiry.write_vector(one) for one in sorted(speakers)]
    assert min(vector.min() for vector in vectors) >= 0
    total = query.total(inquiry.clients, inquiry.ids, inquiry.times, inquiry.own)
    np.testing.assert_array_equal(total, np.asarray(rows.sum(axis=0)).reshape(-1))


def check_hidden(query: HiddenQuery[Any], rows: Ids) -> None:
    """No answer is longer than its norm, no two lie further apart than noise hides, and shares can be drawn."""
    for row in rows.tolist():
        assert sum(number**2 for number in row) <= query.norm**2
        assert query.signed or min(row) >= 0
    assert query.norm * find_reach(query.adjacency, signed=query.signed) <= query.sd * query.mu * (1 + 1e-12)
    assert query.added_noise.find_share_sd(MOST) >= LEAST_SD  # on the largest roll
    assert query.added_noise.find_share_sd(query.honest) <= MOST_SD


def check_any_question(data: bytes) -> None:
    """The first byte says what kind of question it is."""
    check_question(ALL[data[0] % len(ALL)] if data else ALL[0], data[1:])


ALL = tuple(KINDS | SHARDS)
TARGETS: dict[str, Callable[[bytes], None]] = {"question": check_any_question}


def honest_inputs() -> dict[str, list[bytes]]:
    """One of every kind, without edits."""
    return {"question": [bytes([kind]) for kind in range(len(ALL))]}
