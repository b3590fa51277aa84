"""Questions as text: everything comes back as it was, and nothing else gets in."""

import json
import sys
import zlib
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from folkmoot import (
    FacilityLocation,
    Graphic,
    InputError,
    Laminar,
    Linear,
    Matroid,
    Oracle,
    Partition,
    Transversal,
    Truncation,
    Uniform,
)
from folkmoot.conversation import codec
from folkmoot.conversation.codec import digest_of, pack, text_of, unpack
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.foundation.coins import NO_COINS, PublicCoins
from folkmoot.questions import Gains, Gradient, LocalBase, Magnitude
from tests.matroids.kinds import KINDS as MATROIDS
from tests.matroids.kinds import N
from tests.questions.kinds import KINDS, SHARDS, WIRE

steady = settings(max_examples=200)
REFUSAL = "^data: is not a packed question$"
UNEXPECTED = r"^data: contains a kind that is not expected here \('(LocalBase|Uniform|PublicCoins)'\)$"
BUILT_IN = {name: kind.matroid for name, kind in MATROIDS.items() if not isinstance(kind.matroid, Oracle)}
QUESTIONS = [make(FacilityLocation(np.random.default_rng(1).random((3, 6)))) for make in (KINDS | SHARDS).values()]


def wrapped(document: Any) -> bytes:
    """As `packed` would do it, for whatever a stranger writes."""
    return zlib.compress(json.dumps(document).encode())


def is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=REFUSAL):
        unpack(data, WIRE)


# What comes back.


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_matroids_come_back(name: str) -> None:
    matroid = BUILT_IN[name]
    again = unpack(pack(matroid), WIRE)
    assert type(again) is type(matroid)
    assert repr(again) == repr(matroid)
    assert text_of(again) == text_of(matroid)
    for members in product([False, True], repeat=N):
        assert again.independent(np.array(members)) == MATROIDS[name].truth(frozenset(np.flatnonzero(members).tolist()))


SPECIAL: dict[str, Matroid] = {
    "named groups": Partition(["x", ("a", 1), "x", None], {"x": 1, ("a", 1): 2, None: 0, "nobody": 3}),
    "named vertices": Graphic([("a", "b"), ("b", 3), (3, "a"), ("a", "b")]),
    "empty limit": Laminar(3, [([], 0), ([0, 1], 1)]),
    "empty set": Transversal(3, [[], [0, 2]]),
    "no rows": Linear(np.zeros((0, 3))),
    "bits": Linear(np.array([[True, False, True], [False, True, True]]), 2),
    "bytes": Linear(np.array([[1, 0, 255], [0, 1, 7]], dtype=np.uint8), 5),
    "short floats": Linear(np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.9]], dtype=np.float32)),
    "columns first": Linear(np.asfortranarray([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0]])),
    "other end first": Linear(np.array([[1.0, 2.0, 3.3], [2.0, 4.0, 5.0]], dtype=">f8")),
    "twice": Truncation(Truncation(Uniform(4, 3), 2), 1),
}


@pytest.mark.parametrize("name", list(SPECIAL))
def test_unusual_matroids_come_back(name: str) -> None:
    matroid = SPECIAL[name]
    again = unpack(pack(matroid), WIRE)
    assert text_of(again) == text_of(matroid)
    for members in product([False, True], repeat=matroid.n_items):
        assert again.independent(np.array(members)) == matroid.independent(np.array(members))


def test_what_only_a_function_knows_is_not_written_down() -> None:
    oracle = MATROIDS["oracle"].matroid
    at = LocalBase(x=np.zeros(N), whole=1.0, coins=NO_COINS, matroid=Truncation(oracle, 2), single=1.0)
    for thing in (
        oracle,
        Truncation(oracle, 2),
        at,
        Ask(at, Cohort.of(np.arange(3), None), Purpose.SEARCH, "a step", 0),
    ):
        with pytest.raises(InputError, match=r"^matroid: Oracle\(8 items\) cannot be stored; use one of") as refusal:
            pack(thing)
        assert "\n" not in str(refusal.value)


layouts = st.sampled_from(["bool", "int64", "float64", "uint64"]).flatmap(
    lambda kind: arrays(np.dtype(kind), array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9))
)


@steady
@given(layouts)
def test_arrays_come_back_to_the_last_bit(array: NDArray[Any]) -> None:
    again = unpack(pack(array), {})
    assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert text_of(again) == text_of(array)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(), parts, max_size=4),
    max_leaves=12,
)


@steady
@given(plain)
def test_plain_things_come_back(thing: Any) -> None:
    """Also a mapping with names such as "array", "map" and "kind"."""
    assert unpack(pack(thing), {}) == thing
    for name in ("array", "map", "kind", "with"):
        assert unpack(pack({name: thing}), {}) == {name: thing}


# Equal things, equal text.


def test_equal_things_have_equal_text() -> None:
    numbers = np.arange(12).reshape(3, 4)
    same = [numbers, np.asfortranarray(numbers), np.repeat(numbers, 2, axis=1)[:, ::2], numbers.astype(np.int32)]
    assert len({text_of(one) for one in same}) == 1
    mask = numbers % 3 == 0
    assert text_of(mask) == text_of(np.asfortranarray(mask))
    assert text_of({"a": 1, "b": [2, 3]}) == text_of({"b": (2, 3), "a": 1})
    for scalar, number in (
        (np.int64(3), 3),
        (np.float64(0.1), 0.1),
        (np.bool_(True), True),
        (np.uint64(2**64 - 1), 2**64 - 1),
    ):
        assert text_of(scalar) == text_of(number)
    draw, sample = 2**64 - 1, 3
    once = Gains(members=mask[0], items=np.arange(4), most=1.0, draw=draw, sample=sample)
    again = Gains(members=mask[0].copy(), items=np.arange(8)[::2] // 2, most=1.0, draw=draw, sample=sample)
    assert digest_of(once) == digest_of(again)


@pytest.mark.parametrize("kind", [">i8", ">f8", ">u8"])
def test_text_does_not_depend_on_the_order_of_bytes(kind: str) -> None:
    numbers = np.arange(5).astype(kind)
    native = numbers.astype(np.dtype(kind).newbyteorder("="))
    assert text_of(numbers) == text_of(native)
    np.testing.assert_array_equal(unpack(pack(numbers), {}), native)


def test_different_things_have_different_text() -> None:
    def question(**changed: Any) -> Gradient:
        point, usual = np.zeros(3), {"whole": 1.0, "single": 1.0, "bits": 4, "stochastic": True}
        return Gradient(**{"x": point, "coins": NO_COINS, **usual, **changed})

    ulp = np.nextafter(1.0, 2.0)
    changes: list[dict[str, Any]] = [
        {},
        {"x": np.array([0, 0, 5e-324])},
        {"x": np.zeros(4)},
        {"whole": ulp},
        {"single": ulp},
        {"coins": PublicCoins(1)},
        {"coins": PublicCoins(2**64 - 1)},
        {"bits": 5},
        {"stochastic": False},
        {"items": np.array([0, 1])},
        {"items": np.array([1, 0])},
        {"samples": 64},
        {"norm": 1.0},
        {"norm": ulp},
    ]
    assert len({digest_of(question(**change)) for change in changes}) == len(changes)
    assert text_of(np.zeros((2, 3))) != text_of(np.zeros((3, 2)))
    assert text_of(np.zeros(8, dtype=bool)) != text_of(np.zeros(7, dtype=bool))
    assert text_of(np.zeros(1)) != text_of(np.zeros(1, dtype=np.int64))
    assert text_of(Uniform(4, 2)) != text_of(Truncation(Uniform(4, 2), 2))


# What is refused.


@steady
@given(st.binary(max_size=200))
def test_strange_bytes_are_refused(data: bytes) -> None:
    is_refused(data)


@steady
@given(st.binary(max_size=200) | st.text().map(str.encode))
def test_strange_text_is_refused(text: bytes) -> None:
    """Anything that is no JSON; the rest is only what it says."""
    try:
        plain = json.loads(text)
    except ValueError:
        is_refused(zlib.compress(text))
    else:
        assert isinstance(plain, dict) or unpack(zlib.compress(text), {}) == plain


@steady
@given(st.sampled_from(QUESTIONS), st.data())
def test_damage_is_noticed(question: Any, data: st.DataObject) -> None:
    """A changed byte breaks the checksum, if nothing else."""
    good = pack(question)
    at = data.draw(st.integers(0, len(good) - 1))
    other = data.draw(st.integers(1, 255))
    changed = good[:at] + bytes([good[at] ^ other]) + good[at + 1 :]
    try:
        again = unpack(changed, WIRE)
    except InputError:
        return
    assert digest_of(again) == digest_of(question)  # the header has bits that say nothing about the content


@pytest.mark.parametrize("cut", [0, 1, 2, 10, -1, -4, -5])
def test_what_is_cut_short_or_drawn_out_is_refused(cut: int) -> None:
    good = pack(QUESTIONS[0])
    is_refused(good[:cut])
    is_refused(good + good[:1])
    is_refused(good + good)


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    good = pack(np.zeros(10_000))
    monkeypatch.setattr(codec, "MOST_BYTES", 2 * len(text_of(np.zeros(10_000))))
    assert len(unpack(good, {})) == 10_000
    monkeypatch.setattr(codec, "MOST_BYTES", len(text_of(np.zeros(10_000))) - 1)
    is_refused(good)


def test_only_expected_kinds_are_made() -> None:
    question = LocalBase(x=np.zeros(3), whole=1.0, coins=NO_COINS, matroid=Uniform(3, 1), single=1.0)
    without_coins = {"LocalBase": LocalBase, "Uniform": Uniform}
    for kinds in ({}, {"LocalBase": LocalBase}, {"Uniform": Uniform}, {"Magnitude": Magnitude}, without_coins):
        with pytest.raises(InputError, match=UNEXPECTED):
            unpack(pack(question), kinds)
    assert isinstance(unpack(pack(question), {**without_coins, "PublicCoins": PublicCoins}), LocalBase)


def kind(name: Any, **parameters: Any) -> dict[str, Any]:
    return {"kind": name, "with": parameters}


def array(dtype: Any = "int64", shape: Any = (2,), data: Any = "AAAAAAAAAAAAAAAAAAAAAA==") -> dict[str, Any]:
    return {"array": dtype, "shape": shape, "data": data}


HUGE = 2**70
COINS = kind("PublicCoins", key=0)
FOREIGN: dict[str, Any] = {
    "kind of a list": kind(["Uniform"], n_items=3, k=1),
    "abstract kind": kind("PointQuery", x=array(), whole=1.0, coins=COINS),
    "kind alone": {"kind": "Magnitude"},
    "nothing known": {"a": 1},
    "with a list": {"kind": "Magnitude", "with": [1]},
    "coins without a key": kind("PublicCoins"),
    "with nothing": {"kind": "Magnitude", "with": None},
    "with too much": kind("Magnitude", more=1),
    "with too little": kind("Uniform", n_items=3),
    "matroid that cannot be": kind("Uniform", n_items=3, k=4),
    "matroid in a wrong place": kind("Truncation", matroid=kind("Magnitude"), k=1),
    "map of a list": {"map": [1]},
    "map of a number": {"map": 3},
    "point that is a number": kind("Gradient", x=3, whole=1.0, coins=COINS, single=1.0, bits=4, stochastic=True),
    "point that is a list": kind("Gradient", x=[0.5], whole=1.0, coins=COINS, single=1.0, bits=4, stochastic=True),
    "sets that are text": kind("Values", items=array(), sets="all", whole=1.0),
    "huge capacity": kind("Partition", groups=[0, 0], capacities=[HUGE]),
    "huge limit": kind("Laminar", n_items=3, limits=[[[0, 1], HUGE]]),
    "huge ground set": kind("Uniform", n_items=HUGE, k=2),
    "large ground set": kind("Uniform", n_items=2**50, k=2),
    "large free ground set": kind("Free", n_items=2**50),
    "huge item": kind("Transversal", n_items=3, sets=[[HUGE]]),
    "huge matrix": kind("Linear", matrix=[[HUGE, 1]], field=None),
    "huge field": kind("Linear", matrix=[[1, 1]], field=HUGE),
    "objects": array("object"),
    "type of a list": array(["int64"]),
    "too short": array(shape=[3]),
    "too long": array(shape=[1]),
    "negative shape": array(shape=[-2]),
    "huge shape": array(shape=[HUGE, 0], data=""),
    "shape of text": array(shape="2"),
    "shape of nothing": array(shape=None),
    "shape of floats": array(shape=[2.0]),
    "data of a number": array(data=3),
    "data of other signs": array(data="ää"),
    "data of spaces": array(data="AAAA AAAA"),
    "bits too long": array("bool", [2], "AAAA"),
    "bits too short": array("bool", [99], "AAAA"),
}


@pytest.mark.parametrize("name", list(FOREIGN))
def test_foreign_documents_are_refused(name: str) -> None:
    is_refused(wrapped(FOREIGN[name]))
    is_refused(wrapped([1, {"map": {"inside": FOREIGN[name]}}]))


def test_an_unknown_kind_is_named_and_not_looked_for() -> None:
    document = kind("os.system", command="true")
    for whole in (document, [1, {"map": {"inside": document}}]):
        with pytest.raises(InputError, match=r"^data: contains a kind that is not expected here \('os\.system'\)$"):
            unpack(wrapped(whole), WIRE)
    with pytest.raises(
        InputError, match=r"^data: contains a 'Thing', which is not known here; first import 'elsewhere\.kinds'"
    ):
        unpack(wrapped(kind("elsewhere.kinds:Thing")), WIRE)
    assert "elsewhere" not in sys.modules


def test_what_nests_without_end_is_refused() -> None:
    is_refused(zlib.compress(b"[" * 200_000))
    is_refused(zlib.compress(b"[" * 20_000 + b"]" * 20_000))
    is_refused(zlib.compress(b'{"map":' * 200_000))


def test_what_is_no_data_is_refused() -> None:
    for thing in (None, 3, "text", [1], b""):
        is_refused(thing)  # type: ignore[arg-type]


documents = [json.loads(text_of(thing)) for thing in [*QUESTIONS, *BUILT_IN.values()]]
# No large numbers: a ground set of that size would be made, item by item. Those that must fail are listed above.
scraps = st.sampled_from(
    [
        *(None, True, -1, 0, 1, 3, 0.5, -0.5, 1e308, float("nan"), float("inf")),
        *("", "x", "int64", [], [1], [[1, 0]], {}, {"map": {}}, {"map": [1]}),
        *(array(), array("bool", [3], "AA=="), array(shape=[2, 1]), array("float64", [0], "")),
        *(kind("Magnitude"), kind("Uniform", n_items=6, k=2), kind("Free", n_items=2)),
    ]
)


def places(document: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every part of a document."""
    inner = list(
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [here, *(way for name, part in inner for way in places(part, (*here, name)))]


def replaced(document: Any, way: tuple[Any, ...], scrap: Any) -> Any:
    if not way:
        return scrap
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[way[0]] = replaced(document[way[0]], way[1:], scrap)
    return copy


@settings(steady, max_examples=600)
@given(st.sampled_from(documents), st.data())
def test_a_part_that_is_wrong_is_refused_or_harmless(document: Any, data: st.DataObject) -> None:
    """Whatever stands in a wrong place: something is made, or one sentence says that it cannot be."""
    for _ in range(data.draw(st.integers(1, 2))):
        document = replaced(document, data.draw(st.sampled_from(places(document))), data.draw(scraps))
    with suppress(InputError):
        unpack(wrapped(document), WIRE)
