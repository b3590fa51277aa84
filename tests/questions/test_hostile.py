"""Questions that were edited at random, and those that a fuzzer once found worth keeping."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import folkmoot as fm
from tests.questions.fuzz.targets import ALL, CLIENTS, TARGETS, check_question, honest_inputs, make_clients
from tests.questions.kinds import KINDS

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


def test_a_number_too_large_for_a_machine_is_refused() -> None:
    """The fuzzer found it."""
    clients = make_clients()
    query = KINDS["gains, uniform chance"](clients)
    for even in (10**30, 2**53 + 1):
        huge = replace(query, who=replace(query.who, even=even))  # type: ignore[attr-defined, type-var]
        with pytest.raises(fm.InputError, match="even: needs a number"):
            huge.check(clients.n_items)


@pytest.mark.parametrize("kind", KINDS)
def test_honest_questions_are_accepted_but_not_about_fewer_items(kind: str) -> None:
    clients = make_clients()
    query = KINDS[kind](clients)
    query.check(clients.n_items, CLIENTS)
    if kind != "magnitude":  # which is about nothing in particular
        with pytest.raises(fm.InputError):
            query.check(clients.n_items - 3, CLIENTS)
