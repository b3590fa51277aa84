"""A log or a crash report is read by others than the client, and the server reads what is sent. Whoever looks at what
is printed of a client's objects, or at its messages, finds no seed, identity key or coin, and no number of the vector.
States are plain bytes: nothing in them is run when they are read.
"""

import pickle
from functools import partial

import pytest

from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.secagg.client import Turn
from folkmoot.secagg.messages import Unmasking
from folkmoot.secagg.state import Stage, State
from folkmoot.secagg.wire import Malformed
from folkmoot.secagg.work import Work
from tests.secagg.attacks.secrets_sought import FEDERATION, MEMBER, VICTIM, Round, answer_anything
from tests.secagg.attacks.server_tricks import Coins
from tests.secagg.cohorts import UNMASKING


@pytest.fixture(scope="module")
def played() -> Round:
    return Round()


def test_what_is_searched_for_is_found(played: Round) -> None:
    edge = next(iter(played.edges.values()))
    for secret in (played.raw[0], played.raw[3][8:16].hex(), [played.raw[5]], edge.consent, played.dealt[2]):
        assert played.shows(secret)
    assert played.shows({"it": FEDERATION.vector(VICTIM)})
    assert played.shows(edge)
    assert played.shows(played.states[1])
    assert not played.shows(b"nothing")


def test_in_what_is_printed(played: Round) -> None:
    stages = [stage for stage in Stage if stage is not Stage.ANSWERED]
    assert [State.decode(state).stage for state in played.states] == [*stages, Stage.IDLE]
    for state, message in zip(played.states, played.messages.values(), strict=False):
        now = State.decode(state)
        assert not played.shows(now)
        assert not played.shows(Turn(MEMBER, now, message, FEDERATION.answer(VICTIM), Coins(0, VICTIM).private, Work()))
    assert not played.shows(MEMBER)
    assert not played.shows([MEMBER, FEDERATION.roster, MEMBER.policy])


def test_in_a_turn_whose_answer_prints_its_vector(played: Round) -> None:
    answer, coins = partial(answer_anything, FEDERATION.vector(VICTIM)), partial(max, played.raw[2], key=len)
    assert played.shows(answer)
    assert played.shows(coins)
    private = PrivateRandomness.for_tests(coins)
    assert not played.shows([private, Turn(MEMBER, State(), b"", answer, private, Work())])


class Bomb:
    """Goes off when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return pytest.fail, ("a stored state was run",)


def test_states_are_plain_bytes(played: Round) -> None:
    for state in played.states[1:]:
        assert type(state) is bytes
        assert State.decode(state).encode() == state
        for wrong in (pickle.dumps(Bomb()), state + pickle.dumps(Bomb()), state[:1] + pickle.dumps(Bomb())):
            with pytest.raises(Malformed):
                State.decode(wrong)


def test_in_what_is_sent(played: Round) -> None:
    for exchange, reply in played.replies.items():
        assert exchange == UNMASKING or not played.shows(reply)
    last = played.replies[UNMASKING]
    shares = Unmasking.decode(last, 12).shares
    assert shares == {owner: both[0] for owner, both in played.held.items()}  # all are alive
    for _, other in played.held.values():
        assert other not in last
    assert not any(seed in last for seed in played.raw)
