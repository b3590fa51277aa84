"""The server counts somebody into the sum who was gone before the vectors were masked. Nobody masked anything with that
client, so its name would only make a small sum look large, and draw shares of a seed that hides nothing. Whoever was
not among those that shared cannot be alive later.
"""

from itertools import pairwise

import pytest

from folkmoot.secagg.messages import Consent
from folkmoot.secagg.server import serve
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CHOICE, CONSENT, RECEIPT, REGULAR, SHARES, VECTOR, Federation

FEDERATION = Federation(20)
GONE, VICTIM = FEDERATION.ids[4], FEDERATION.ids[7]


@pytest.mark.parametrize(
    "exchange", [CHOICE, SHARES, RECEIPT], ids=["before its choice", "before its shares", "before it had any"]
)
def test_whoever_was_gone_stays_gone(exchange: int) -> None:
    server = EvilServer(FEDERATION, terms=(18, 11))
    after = REGULAR[REGULAR.index(exchange) + 1]
    outbox = server.advance_to(after, silent=[GONE])
    for now, then in pairwise(one for one in REGULAR if after <= one <= CONSENT):  # those that are left go on
        server.replies[now] = {one: server.ask(one, message) for one, message in outbox.items()}
        outbox = server.compose(then)
    there = set(FEDERATION.ids) - {GONE}
    assert server.replies[VECTOR].keys() == there
    server.is_refused(VICTIM, server.survivors(FEDERATION.ids), "had dropped out before")
    server.is_refused(VICTIM, server.survivors(there - {FEDERATION.ids[0]} | {GONE}), "had dropped out before")
    assert server.trial(VICTIM, server.survivors(there))
    assert server.trial(VICTIM, server.survivors(there - {FEDERATION.ids[0]}))


def test_a_sum_of_the_dead_is_no_larger_for_it() -> None:
    """Three are there and many are named: the dead do not fill the sum up to the five that the client wants."""
    server = EvilServer(FEDERATION, terms=(18, 11))
    server.advance_to(VECTOR)
    sharing = set(FEDERATION.ids[:16])
    server.ask(VICTIM, server.sharers(sharing))
    few = {VICTIM, *FEDERATION.ids[:2]}
    server.is_refused(VICTIM, server.survivors(few), "too few to hide among")
    server.is_refused(VICTIM, server.survivors(few | set(FEDERATION.ids[16:])), "had dropped out before")


@pytest.mark.parametrize("exchange", [SHARES, VECTOR], ids=["before its shares", "before its vector"])
def test_the_server_does_not_hear_the_dead(exchange: int) -> None:
    """A corrupt client that was gone vouches for what all the others do: it is asked for nothing more."""
    evil, there = EvilServer(FEDERATION), set(FEDERATION.ids) - {GONE}
    server = serve(FEDERATION.announcement, FEDERATION.roster, FEDERATION.ids, FEDERATION.policy)
    outbox = next(server)
    for now in REGULAR[:-1]:
        evil.sent[now], gone = outbox, {GONE} if now == exchange else set()
        evil.replies[now] = {one: evil.ask(one, message) for one, message in outbox.items() if one not in gone}
        if now == CONSENT:
            sharing = there if exchange == SHARES else FEDERATION.ids
            evil.replies[now][GONE] = Consent(*evil.mark, evil.forge_consents(GONE, sharing, there)).encode()
        outbox = server.send(evil.replies[now])
    assert outbox.keys() == there
