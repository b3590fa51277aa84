"""Private randomness comes from the operating system, shows nothing, and nothing else is taken for it."""

import copy
import os
import pickle
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.randomness import SYSTEM, PrivateRandomness, as_private


def test_fresh_bytes_of_any_size() -> None:
    private = PrivateRandomness()
    assert [len(private.random(size)) for size in (0, 1, 32, 1_000)] == [0, 1, 32, 1_000]
    assert len({private.random(16) for _ in range(100)} | {SYSTEM.random(16) for _ in range(100)}) == 200


def test_a_source_for_tests_is_what_it_draws_from() -> None:
    private = PrivateRandomness.for_tests(np.random.default_rng(3).bytes)
    expected = np.random.default_rng(3).bytes
    assert [private.random(5), private.random(7)] == [expected(5), expected(7)]


@pytest.mark.parametrize(
    "seed", [7, b"a seed", "seed", None, np.random.default_rng(0)], ids=lambda one: type(one).__name__
)
def test_it_is_not_made_from_a_seed(seed: Any) -> None:
    assert not signature(PrivateRandomness).parameters
    with pytest.raises(InputError, match=r"^source: needs a function from a size to that many bytes, got \w+$"):
        PrivateRandomness.for_tests(seed)


@pytest.mark.parametrize("source", [lambda size: bytes(size + 1), lambda _: b"", lambda size: [0] * size])
def test_a_source_that_gives_something_else_is_refused(source: Any) -> None:
    with pytest.raises(InputError, match="did not give the 4 bytes"):
        PrivateRandomness.for_tests(source).random(4)


def test_it_shows_nothing() -> None:
    secret = "a source that prints what it knows"

    class Source:
        def __repr__(self) -> str:
            return secret

        def __call__(self, size: int) -> bytes:
            return bytes(size)

    for private in (PrivateRandomness(), PrivateRandomness.for_tests(Source())):
        assert repr(private) == str(private) == "PrivateRandomness()"
        assert not hasattr(private, "__dict__")


@pytest.mark.parametrize("keep", [pickle.dumps, copy.copy, copy.deepcopy], ids=lambda one: one.__name__)
def test_it_is_neither_stored_nor_copied(keep: Callable[[object], object]) -> None:
    with pytest.raises(InputError, match="random: private randomness is never copied, stored or sent"):
        keep(PrivateRandomness())
    assert not hasattr(PrivateRandomness, "parameters")  # by which the codec would write it


@pytest.mark.parametrize("wrong", [os.urandom, 7, b"secret", None, PrivateRandomness], ids=str)
def test_nothing_else_is_taken_for_it(wrong: object) -> None:
    with pytest.raises(
        InputError, match=r"^random: needs PrivateRandomness, which nobody .* got \w+; leave it out"
    ) as found:
        as_private(wrong)
    assert "secret" not in str(found.value)


def test_it_is_not_a_function_of_sizes() -> None:
    """Where a function is expected, public coins could be passed as well as these."""
    assert as_private(SYSTEM) is SYSTEM
    assert not callable(SYSTEM)
