"""The server sends nonsense and reads the error messages; somebody else reads those of the server. Text, arguments and
attributes of every exception of client and server, and those it came from, hold no seed, no identity key, no coin, no
share and no number of the vector.
"""

import traceback
from functools import partial

import pytest

from folkmoot.foundation.errors import FolkmootError, InputError
from folkmoot.secagg.client import step
from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.server import serve
from tests.secagg.attacks.secrets_sought import FEDERATION, MEMBER, VICTIM, Round, answer_anything
from tests.secagg.attacks.server_tricks import Coins
from tests.secagg.cohorts import (
    CHOICE,
    CONSENT,
    KEYS,
    RECEIPT,
    REGULAR,
    SHARES,
    UNMASKING,
    VECTOR,
    Outbox,
    Vector,
)

MINE = FEDERATION.vector(VICTIM)


@pytest.fixture(scope="module")
def played() -> Round:
    return Round()


def is_silent(played: Round, error: BaseException) -> bool:
    told = [error, error.args, vars(error), error.__cause__, error.__context__, *traceback.format_exception(error)]
    return not any(map(played.shows, told))


@pytest.mark.parametrize("exchange", REGULAR)
def test_in_what_a_client_raises(played: Round, exchange: int) -> None:
    """A byte changed here or there, or everything from there on left out."""
    message, state, raised = played.messages[exchange], played.before[exchange], list[FolkmootError]()
    answer, random = FEDERATION.answer(VICTIM), Coins(1).private
    for at in range(0, len(message), max(len(message) // 40, 1)):
        for wrong in (message[:at], message[:at] + bytes([message[at] ^ 129]) + message[at + 1 :]):
            try:
                step(MEMBER, state, wrong, answer, random)
            except FolkmootError as error:
                raised.append(error)
    assert len(raised) > 40
    assert all(is_silent(played, error) for error in raised)


@pytest.mark.parametrize("wrong", [MINE[:2], MINE[:, None], MINE * 1.0], ids=["short", "square", "broken"])
def test_in_what_it_raises_about_its_own_vector(played: Round, wrong: Vector) -> None:
    with pytest.raises(InputError, match="whole numbers") as caught:
        step(MEMBER, played.before[VECTOR], played.messages[VECTOR], partial(answer_anything, wrong), Coins(1).private)
    assert is_silent(played, caught.value)


def end_round(replies: list[Outbox]) -> None:
    """A server that hears this, and then nothing more."""
    server = serve(FEDERATION.announcement, FEDERATION.roster, FEDERATION.ids, FEDERATION.policy)
    next(server)
    for inbox in [*replies, {}, {}, {}]:
        server.send(inbox)


@pytest.mark.parametrize(
    ("exchange", "why"),
    [
        (KEYS, "4 clients gave their keys; 11 are needed"),
        (CHOICE, "0 clients shared their secrets; 5 are needed"),
        (SHARES, "0 clients shared their secrets; 5 are needed"),
        (RECEIPT, "4 clients shared their secrets; 5 are needed"),
        (VECTOR, "4 clients sent their vectors; 5 are needed"),
        (CONSENT, "0 shares of client"),
        (UNMASKING, "shares of client"),
    ],
)
def test_in_what_the_server_raises(played: Round, exchange: int, why: str) -> None:
    """Four of twelve answer in one exchange, and then nobody; or all answer, but with the shares of others."""
    unmasked = {one: played.server.trial(one, message)[1] for one, message in played.server.sent[UNMASKING].items()}
    replies = played.server.replies | {UNMASKING: unmasked}
    mixed_up = dict(zip(unmasked, reversed(unmasked.values()), strict=True))
    few = {one: replies[exchange][one] for one in FEDERATION.ids[3:7]}
    before = [inbox for now, inbox in replies.items() if now < exchange]
    for last in [few, mixed_up] if exchange == UNMASKING else [few]:
        with pytest.raises(AggregationFailed, match=why) as caught:
            end_round([*before, last])
        assert is_silent(played, caught.value)


def test_ten_of_twelve_are_not_enough_to_begin(played: Round) -> None:
    """Clients would refuse such a roll; five would do later on."""
    few = dict(list(played.server.replies[KEYS].items())[:10])
    with pytest.raises(AggregationFailed, match="10 clients gave their keys; 11 are needed"):
        end_round([few])
