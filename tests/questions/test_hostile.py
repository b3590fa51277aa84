"""Questions that were edited at random, and those that a fuzzer once found worth keeping."""

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot import questions
from folkmoot.engines import Bundle
from folkmoot.engines.answering import Inquiry, write_times
from folkmoot.foundation.coins import PublicCoins
from folkmoot.questions import Folded, Magnitude, Query, Within
from folkmoot.secagg import Refused
from tests.coins import SIMULATED, toss_for
from tests.questions.fuzz.__main__ import SUITE
from tests.questions.fuzz.targets import (
    ALL,
    CLIENTS,
    IDS,
    SESSION,
    TARGETS,
    TIMES,
    check_question,
    honest_inputs,
    make_clients,
)
from tests.questions.kinds import KINDS, SHARDS

CORPUS = Path(__file__).parent / "fuzz" / "corpus"
INPUTS = sorted(path for path in CORPUS.glob("*/*") if path.is_file())
EDITS = 150


@pytest.mark.parametrize("kind", ALL)
def test_edited_questions_are_refused_or_answered_as_announced(kind: str) -> None:
    """The seed is fixed; most of these questions are refused, some are odd and harmless."""
    rng = np.random.default_rng(5)
    check_question(kind, b"")
    for edits in (1, 2, 3):
        for data in rng.integers(0, 256, (EDITS // 3, 3 * edits), dtype=np.uint8):
            check_question(kind, data.tobytes())


def test_inputs_of_the_fuzzer() -> None:
    """If there are none: python -m tests.questions.fuzz --honest"""
    assert len(INPUTS) >= len(honest_inputs()["question"])
    for path in INPUTS:
        TARGETS[path.parent.name](path.read_bytes())


def refuse(query: Any, sentence: str) -> None:
    with pytest.raises(fm.InputError, match=sentence):
        query.check(make_clients().n_items, CLIENTS)


def make(kind: str, **changes: Any) -> Any:
    query: Any = (KINDS | SHARDS)[kind](make_clients())
    return replace(query, **changes)


def test_a_number_is_written_in_one_way() -> None:
    """Otherwise a question could be asked twice, in other words. (The fuzzer found that 10^30 broke a kernel.)"""
    who = make("gains, uniform chance").who
    for even in (10**30, 2):
        refuse(make("gains, uniform chance", who=replace(who, even=even)), "even: cannot be a int")
    refuse(make("gains", most=5), "most: cannot be a int")
    refuse(make("gains, uniform chance", who=replace(who, slope=-0.0)), "slope: needs a number")
    refuse(make("gradient, 4 bits", x=np.full(6, -0.0)), "x: needs numbers from 0 to 1")


def test_one_set_is_not_many() -> None:
    """Two rows of members once made a kernel read beyond its array."""
    for shape in ((2, 6), (0, 6), (1, 6), (6, 1), ()):
        refuse(make("gains", members=np.zeros(shape, dtype=bool)), "members: has shape")
        refuse(make("drift", before=np.zeros(shape, dtype=bool)), "before: has shape")
    for other in ((0, 4), (4,), (3, 6)):
        refuse(make("values", sets=np.zeros(other, dtype=bool)), "sets: has shape")


def test_too_much_work_is_refused() -> None:
    refuse(make("gradient, sampled", samples=2**20), "samples: needs a whole number from 1 to 16,384")
    refuse(make("walk, sampled", samples=2**14, steps=2**8), "samples: 256 steps of 16,384 samples are too much work")
    refuse(make("votes", votes=2**20), "votes: needs a whole number")
    many = np.zeros((2**21, 0), dtype=bool)
    refuse(make("values", items=np.zeros(0, dtype=np.int64), sets=many), "an answer has 2,097,152 numbers")


def test_a_pair_hides_nothing() -> None:
    both: Any = KINDS["bound and appraisal"](make_clients())
    refuse(replace(both, second=make("shards", clients=CLIENTS)), "cannot contain this ShardBase")
    refuse(replace(both, second=make("shards", clients=2**40)), "clients: needs 9")
    refuse(replace(both, first=make("gains, uniform chance")), "cannot contain this Gains")
    replace(both, first=both).check(6)
    refuse(replace(both, first=replace(both, first=both)), "cannot contain this Pair")
    refuse(replace(both, first=replace(both, first=make("gains, uniform chance"))), "cannot contain this Gains")


def test_within_and_folded_are_checked_as_what_they_contain() -> None:
    inside: Any = KINDS["within, gradient and folded"](make_clients())
    refuse(replace(inside, question=inside), "question: needs items, and a question about them")
    refuse(replace(inside, items=np.array([0, 2, 4, 6])), "items: needs numbers from 0 to 5")
    refuse(replace(inside, items=np.array([0, 2, 2, 4])), "items: names an item twice")
    refuse(replace(inside, items=np.arange(3)), "x: has shape")
    refuse(replace(inside, items=np.array([0, 4, 2, 5])), "items: needs numbers in increasing order")
    for wrong in (
        np.array([[0, 1], [2, 3], [4, 5]]),
        np.arange(4.0),
        np.ones(4, dtype=bool),
        np.arange(4).astype("u8"),
    ):
        refuse(replace(inside, items=wrong), "items: ")  # pairs would once be added up, beyond the announced limit
    refuse(replace(inside, question=make("worth under noise")), "cannot be a Worth, which has noise")
    refuse(replace(inside, question=make("shards", clients=2**40)), "clients: needs 9")
    for name, value in {"rows": 17, "buckets": 2**20, "single": float("inf"), "x": np.full(6, 2.0)}.items():
        refuse(make("folded", **{name: value}), f"{name}: needs")


def test_gains_that_vanish_beside_their_unit_are_folded_all_the_same() -> None:
    """Numbers of 0 once made a kernel write beyond its array: twenty items that are nearly certain leave 1e-272."""
    clients = fm.ProbabilisticCoverage(np.ones((2, 300)))
    x = np.zeros(300)
    x[:18], x[18] = 1.0, 0.5
    query = Folded(x=x, single=2.0**200, rows=1, buckets=1, coins=PublicCoins(1))
    query.check(300, 2)
    assert query.answers(clients, np.arange(2), np.ones(2, dtype=np.int64), toss_for(query)).toarray().tolist() == [
        [1],
        [1],
    ]


def test_sets_that_are_too_large_to_evaluate_are_narrowed() -> None:
    """In buckets as in gradients: whether a party fails must not depend on what its clients hold."""
    rng = np.random.default_rng(1)
    clients = fm.Information([rng.integers(0, 10, (50, 41)) for _ in range(2)], target=40)
    ids, times = np.arange(2), np.ones(2, dtype=np.int64)
    folded = Folded(x=np.where(np.arange(40) < 20, 1.0, 0.0), single=10.0, rows=1, buckets=4, coins=PublicCoins(1))
    questions: list[Query[Any]] = [
        folded,
        Within(items=np.arange(20), question=replace(folded, x=np.ones(20))),
        Within(items=np.arange(20), question=Magnitude()),
    ]
    for query in questions:
        query.check(40, 2)
        assert query.answers(clients, ids, times, toss_for(query)).shape == (2, query.length)


@pytest.mark.parametrize(
    "text",
    [
        '{"kind":"Transversal","with":{"n_items":100000000,"sets":[]}}',
        "[" + "[]," * 2_000_000 + "[]]",
        '"' + "x" * 8_000_000 + '"',
    ],
    ids=["items", "parts", "bytes"],
)
def test_what_would_fill_the_memory_is_refused_before_it_is_built(text: str) -> None:
    asked = f'{{"map":{{"query":{text},"session":"{SESSION}","round":0}}}}'
    sent = Bundle(write_times(IDS, TIMES), zlib.compress(asked.encode()))
    with pytest.raises(Refused, match="is not a packed question"):
        Inquiry.read(sent, make_clients(), IDS, CLIENTS, SIMULATED)


@pytest.mark.parametrize("kind", KINDS)
def test_honest_questions_are_accepted_but_not_about_fewer_items(kind: str) -> None:
    clients = make_clients()
    query = KINDS[kind](clients)
    query.check(clients.n_items, CLIENTS)
    if kind != "magnitude":  # which is about nothing in particular
        with pytest.raises(fm.InputError):
            query.check(clients.n_items - 3, CLIENTS)


def test_the_fuzzer_leaves_every_kernel_to_its_compiler() -> None:
    """Python that is instrumented cannot be compiled."""
    folder = Path(questions.__file__).parent
    kernels = {f"folkmoot.questions.{path.stem}" for path in folder.glob("*.py") if "\n@kernel\n" in path.read_text()}
    assert kernels == set(SUITE.compiled)
