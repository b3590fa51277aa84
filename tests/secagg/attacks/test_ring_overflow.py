"""A number too large or negative would wrap around the ring and come out as a plausible sum; a client that refused to
send it would tell the server of it. A client cuts its own numbers to what was announced, and goes on; the largest sum
allowed comes out exactly. A vector of another shape is its owner's mistake, whatever it holds.
Not protected: software that was modified masks what it likes (test_modified_software.py).
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from folkmoot.foundation.errors import InputError
from folkmoot.secagg.client import step
from tests.secagg.attacks.client_tricks import answer_with, play, rehearsal
from tests.secagg.cohorts import VECTOR, Federation, Vector

COHORT = Federation(8, length=9)
ME, MOST = COHORT.ids[2], COHORT.announcement.most
FIT = COHORT.vector(ME)


def make_vector(number: int) -> Vector:
    return np.array([0] * 8 + [number], dtype=np.int64)


@pytest.mark.parametrize("room", [0, 9])
@pytest.mark.parametrize("number", [MOST, MOST + 1, 2**32, 2**63 - 1, -1, -(2**63)])
def test_a_number_out_of_bounds_is_cut(number: int, room: int) -> None:
    """And nothing that the server sees tells that it was."""
    federation = Federation(8, length=9, room=room)
    vectors = {one: make_vector(number if one == ME else 0) for one in federation.ids}
    result = play(federation, vectors=vectors)
    assert result.survivors == tuple(federation.ids)
    np.testing.assert_array_equal(result.total, make_vector(min(max(number, 0), MOST)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.uint64])
def test_numbers_of_any_width_are_cut_alike(dtype: type[np.integer[Any]]) -> None:
    """To the announced largest number of one client, where there is one."""
    announcement = replace(COHORT.announcement, largest=90)
    numbers = np.array([0, 1, 89, 90, 91, 127, 3, 3, np.iinfo(dtype).max], dtype=dtype)
    vectors = {one: numbers if one == ME else make_vector(0) for one in COHORT.ids}
    total = play(COHORT, announcement=announcement, vectors=vectors).total
    np.testing.assert_array_equal(total, [0, 1, 89, 90, 90, 90, 3, 3, 90])


@pytest.mark.parametrize(
    "vector",
    [
        FIT[:-1],
        np.append(FIT, 0),
        FIT[:0],
        FIT.reshape(3, 3),
        FIT.astype(np.float64),
        FIT.astype(bool),
        FIT.astype(object),
        FIT.astype(str),
    ],
    ids=lambda vector: f"{vector.dtype}{vector.shape}",
)
@pytest.mark.parametrize("room", [0, 9])
def test_a_vector_of_another_shape_or_type_is_not_sent(vector: Vector, room: int) -> None:
    moment = rehearsal(Federation(8, length=9, room=room))[VECTOR, ME]
    with pytest.raises(InputError, match="answer"):
        step(COHORT.members[ME], moment.before, moment.message, answer_with(vector))


@pytest.mark.parametrize("bits", [1, 31, 32, 33, 63])
@pytest.mark.parametrize("way", ["one has it all", "all have a part"])
def test_the_largest_sum_is_exact(bits: int, way: str) -> None:
    most = 2**bits - 1
    announcement = replace(COHORT.announcement, most=most)
    assert announcement.ring_bits == bits
    parts = [0] * 7 + [most] if way == "one has it all" else [most // 8 + (place < most % 8) for place in range(8)]
    vectors = {one: np.full(9, part) for one, part in zip(COHORT.ids, parts, strict=True)}
    np.testing.assert_array_equal(play(COHORT, announcement=announcement, vectors=vectors).total, np.full(9, most))


@pytest.mark.parametrize("bits", [1, 31, 32, 33, 63])
def test_what_is_too_large_only_wraps(bits: int) -> None:
    """Two clients that both claim the whole room: each is within its own bounds, the sum is not."""
    most = 2**bits - 1
    announcement = replace(COHORT.announcement, most=most)
    vectors = {one: np.full(9, most if place < 2 else 0) for place, one in enumerate(COHORT.ids)}
    total = play(COHORT, announcement=announcement, vectors=vectors).total
    np.testing.assert_array_equal(total, np.full(9, 2 * most % 2**bits))
