"""Bundles are read as they were written, and nothing else is."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot import InputError
from folkmoot.engines import Bundle, InProcess

LETTERS = st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=20), max_size=8)


@given(LETTERS, st.binary(max_size=20))
def test_what_is_written_is_read(letters: dict[int, bytes], question: bytes) -> None:
    assert Bundle.decode(Bundle(letters, question).encode()) == Bundle(letters, question)


@given(st.binary(max_size=60))
def test_anything_else_is_refused(data: bytes) -> None:
    read = Bundle({})
    with suppress(InputError):
        read = Bundle.decode(data)
    assert len(read.question) + sum(map(len, read.letters.values())) <= len(data)


def test_a_bundle_cut_short_is_refused() -> None:
    for written in (Bundle({1: b"one", 2: b"two"}, b"question").encode(), Bundle({}, b"question").encode()):
        for size in range(len(written)):
            with pytest.raises(InputError, match="is not a bundle"):
                Bundle.decode(written[:size])


def test_what_many_are_sent_alike_is_written_once() -> None:
    roll = bytes(10_000)
    assert len(Bundle(dict.fromkeys(range(100), roll)).encode()) < 2 * len(roll)


def test_who_is_not_there_does_not_reply() -> None:
    class Echo:
        def reply(self, sent: Bundle) -> Bundle:
            return sent

    assert InProcess({0: Echo()})({0: Bundle({1: b"a"}), 7: Bundle({2: b"b"})}, None) == {0: Bundle({1: b"a"})}
