"""Whoever can delay messages decides in what order they arrive. If that order had any say in points, masks or
messages, it would be a way to choose among outcomes. Everything goes by the order of clients' numbers: the same
replies give the same messages and the same sum, to the byte.
"""

import numpy as np
import pytest

from folkmoot.secagg.keys import complaint
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import Complaints, Delivery, Parcel
from folkmoot.secagg.primitives import sign
from folkmoot.secagg.state import State
from tests.secagg.attacks.client_tricks import MANY, Moment, lose, play
from tests.secagg.cohorts import KEYS, RECEIPT, SHARES, UNMASKING, VECTOR, Federation, Outbox

GONE = {(KEYS, 3), (SHARES, 31), (VECTOR, 52), (UNMASKING, 80)}
GRUMBLER = 66


def shuffle(seed: int, replies: Outbox) -> Outbox:
    order = list(replies)
    if seed == 0:
        order.reverse()
    else:
        np.random.default_rng(seed).shuffle(order)
    return {one: replies[one] for one in order}


def complain(federation: Federation, moment: Moment) -> bytes:
    """About everybody, so that all have something to answer."""
    roll_hash, me = State.decode(moment.before).roll_hash, moment.client
    delivery = Delivery.decode(moment.message, MANY)
    cases = {one: Parcel.read(body).case() for one, body in delivery.dealt.items()}
    made = {one: sign(federation.identities[me], *complaint(roll_hash, one, me, case)) for one, case in cases.items()}
    return Complaints(delivery.session, delivery.round, made).encode()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("room", [0, 60])
@pytest.mark.parametrize("gone", [set(), GONE], ids=["all there", "some gone"])
def test_the_order_of_arrival_does_not_matter(seed: int, room: int, gone: set[tuple[int, int]]) -> None:
    federation = Federation(20, length=60, room=room, policy=Policy(fewest=5, dropout=0.2))
    expected: dict[int, Outbox] = {}
    sent: dict[int, Outbox] = {}

    def trick(moment: Moment) -> bytes | None:
        if gone and (moment.exchange, moment.client) == (RECEIPT, GRUMBLER):
            return complain(federation, moment)
        return lose(gone)(moment)

    in_order = play(federation, trick, sent=expected)
    result = play(federation, trick, sent=sent, to_server=lambda _, replies: shuffle(seed, replies))
    assert sent == expected
    assert len(sent) == (8 if gone else 7)
    assert (result.survivors, result.parameters, result.excluded) == (in_order.survivors, in_order.parameters, {})
    np.testing.assert_array_equal(result.total, in_order.total)
    federation.check(result)
