"""The server sends a client what was said in another round or session: survivors of yesterday, consents to them, keys
whose secrets it has learnt since. Every message names its session and round, and where the server writes these anew,
what is signed or sealed inside still belongs elsewhere.
"""

from dataclasses import replace

import pytest

from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.messages import HEAD, Neighbours
from folkmoot.secagg.state import State
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import (
    CHOICE,
    CONSENT,
    RECEIPT,
    REGULAR,
    SHARES,
    UNMASKING,
    VECTOR,
    Federation,
    Outbox,
    conversation,
)

FEDERATION, ALL = Federation(11), (10, 6)  # all are neighbours of all
VICTIM = FEDERATION.ids[4]
NOW = FEDERATION.announcement
ELSEWHERE = {
    "later round": FEDERATION.announce_later(),
    "earlier round": replace(NOW, round=0),
    "other session": replace(NOW, session=bytes(16)),
    "other session and round": replace(NOW, session=bytes(16), round=9),
}
NAMES = {
    CHOICE: "Roll",
    SHARES: "Neighbours",
    RECEIPT: "Delivery",
    VECTOR: "Sharers",
    CONSENT: "Survivors",
    UNMASKING: "Consents",
}


@pytest.fixture(scope="module")
def here() -> dict[int, EvilServer]:
    """By exchange: this round when it has come to it."""
    found = {exchange: EvilServer(FEDERATION, terms=ALL) for exchange in NAMES}
    for exchange, server in found.items():
        server.advance_to(exchange)
    return found


@pytest.fixture(scope="module", params=list(ELSEWHERE))
def there(request: pytest.FixtureRequest) -> EvilServer:
    """A whole round somewhere else, with the same clients."""
    server = EvilServer(FEDERATION, ELSEWHERE[request.param], seed=1, terms=ALL)
    server.advance_to(UNMASKING)
    return server


@pytest.mark.parametrize("exchange", NAMES, ids=NAMES.get)
def test_as_it_was(here: dict[int, EvilServer], there: EvilServer, exchange: int) -> None:
    server = here[exchange]
    server.is_refused(VICTIM, there.sent[exchange][VICTIM], "another session or round")
    assert server.trial(VICTIM, server.sent[exchange][VICTIM])


@pytest.mark.parametrize(
    ("exchange", "why"),
    [
        (CHOICE, "other keys for this client"),
        (SHARES, "does not match the roll|another session or round"),
        (RECEIPT, "does not match the roll"),
        (UNMASKING, "0 neighbours vouch"),
    ],
)
def test_under_a_new_head(here: dict[int, EvilServer], there: EvilServer, exchange: int, why: str) -> None:
    """Sharers and survivors are nothing but a bit a client: with a new head they are those of here."""
    server = here[exchange]
    honest = server.sent[exchange][VICTIM]
    server.is_refused(VICTIM, honest[:HEAD] + there.sent[exchange][VICTIM][HEAD:], why)
    for same in (VECTOR, CONSENT):
        assert here[same].sent[same][VICTIM][HEAD:] == there.sent[same][VICTIM][HEAD:]


@pytest.mark.parametrize("others", [1, 10])
def test_keys_of_there_on_the_roll_of_here(here: dict[int, EvilServer], there: EvilServer, others: int) -> None:
    """The client's own are fresh, so it takes the roll; but those of others are signed for elsewhere."""
    server, some = here[CHOICE].fork(), [one for one in FEDERATION.ids if one != VICTIM][:others]
    stale = {one: there.adverts[one].body() for one in some}
    server.ask(VICTIM, server.make_roll(forged=stale).encode())
    shown = {one: advert.body() for one, advert in server.adverts.items() if one != VICTIM} | stale
    server.is_refused(VICTIM, Neighbours(*server.mark, shown).encode(), "of another session or round")


def test_boxes_of_another_round_do_not_open(here: dict[int, EvilServer], there: EvilServer) -> None:
    """With the right keys and signatures around them."""
    server = here[RECEIPT].fork()
    assert len(State.decode(server.trial(VICTIM, server.sent[RECEIPT][VICTIM])[0]).shares) == 10
    server.dealers = there.dealers
    state, reply = server.trial(VICTIM, server.delivery(VICTIM, FEDERATION.ids))
    assert not State.decode(state).shares
    assert len(server.complaints(reply)) == 10


def test_an_announcement_is_of_its_round(here: dict[int, EvilServer]) -> None:
    """In the middle of a round: an earlier one is not begun, a later one ends this one and brings new keys."""
    later = replace(ELSEWHERE["later round"], question=bytes([1] * 32))
    for server in here.values():
        server.is_refused(VICTIM, ELSEWHERE["earlier round"].encode(), "keys are used up")
        state, _ = server.trial(VICTIM, later.encode())
        assert State.decode(state).announcement == later
        assert not State.decode(state).held


@pytest.mark.parametrize("exchange", REGULAR)
@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_the_server_takes_nothing_of_another_time_either(exchange: int, elsewhere: str) -> None:
    """What clients say here, under a head of there, counts as not said."""

    def moved(now: int, replies: Outbox) -> Outbox:
        there = ELSEWHERE[elsewhere].head()[6:]
        return {one: data[:6] + there + data[HEAD:] if now == exchange else data for one, data in replies.items()}

    with pytest.raises(AggregationFailed):
        conversation(FEDERATION, to_server=moved)
