"""Whoever can delay messages decides in what order they arrive. If that order had any say in points, masks or
messages, it would be a way to choose among outcomes. Everything goes by the order of clients' numbers: the same
replies give the same messages and the same sum, to the byte.
"""

import numpy as np
import pytest

from tests.secagg.attacks.client_tricks import KEYS, SHARES, UNMASKING, VECTOR, lost, play
from tests.secagg.cohorts import Federation, Outbox

GONE = {(KEYS, 3), (SHARES, 31), (VECTOR, 52), (UNMASKING, 80)}


def shuffled(seed: int, replies: Outbox) -> Outbox:
    order = list(replies)
    if seed == 0:
        order.reverse()
    else:
        np.random.default_rng(seed).shuffle(order)
    return {one: replies[one] for one in order}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("room", [0, 60])
@pytest.mark.parametrize("gone", [set(), GONE], ids=["all there", "some gone"])
def test_the_order_of_arrival_does_not_matter(seed: int, room: int, gone: set[tuple[int, int]]) -> None:
    federation = Federation(16, length=60, room=room)
    expected: list[Outbox] = []
    sent: list[Outbox] = []
    in_order = play(federation, lost(gone), sent=expected)
    result = play(federation, lost(gone), sent=sent, to_server=lambda _, replies: shuffled(seed, replies))
    assert sent == expected
    assert (result.survivors, result.parameters, result.liars) == (in_order.survivors, in_order.parameters, ())
    np.testing.assert_array_equal(result.total, in_order.total)
    federation.check(result)
