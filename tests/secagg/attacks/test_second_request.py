"""The server asks twice: for consent to other survivors, for the other kind of share, for other neighbours, for another
vector under the same masks; at once, or after the client came back from a crash. Each would give two answers under
one key, or both secrets of somebody. A step burns what it used: the stored state holds no key that has done its work,
and no round is begun again.
"""

from dataclasses import replace
from itertools import combinations_with_replacement

import pytest

from folkmoot.secagg.messages import Advertisement, Consents
from folkmoot.secagg.primitives import SEED
from folkmoot.secagg.state import Stage, State
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import Federation

FEDERATION = Federation(12)
IDS, VICTIM, CORRUPT = FEDERATION.ids, FEDERATION.ids[5], FEDERATION.ids[2]
LESS = [one for one in IDS if one != CORRUPT]
Played = tuple[EvilServer, dict[int, bytes]]


@pytest.fixture(scope="module")
def played() -> Played:
    """An honest round, and the victim's state after each exchange."""
    server, again, stored = EvilServer(FEDERATION, terms=(10, 6)), EvilServer(FEDERATION), {0: b""}
    server.up_to(6)
    assert CORRUPT in server.graph[VICTIM]
    for exchange in range(1, 7):
        again.ask(VICTIM, server.sent[exchange][VICTIM])
        stored[exchange] = again.states[VICTIM]
    server.coins[VICTIM] = again.coins[VICTIM]
    return server, stored


def another(server: EvilServer, exchange: int) -> bytes:
    """A message of this exchange that the client would take as well, had it not answered one."""
    if exchange == 2:
        return server.rolled(threshold=server.roll.threshold + 1).encode()
    if exchange == 3:  # there is but one, with the advertisements that are on the roll
        return server.neighbours(VICTIM)
    if exchange == 4:
        return server.delivery(VICTIM, LESS)
    if exchange == 5:
        return server.survivors(LESS)
    shown = Consents.decode(server.sent[6][VICTIM], server.roll.degree, len(server.roll.ids))
    few = dict(sorted(shown.signatures.items())[: server.roll.threshold])
    return Consents(*server.mark, few, shown.owners).encode()


@pytest.mark.parametrize(("exchange", "reached"), list(combinations_with_replacement(range(2, 7), 2)))
def test_no_message_is_answered_twice(played: Played, exchange: int, reached: int) -> None:
    """The same again or another, right away or later; from the bytes that were stored, as after a crash."""
    server, stored = played[0].fork(), played[1]
    messages = server.sent[exchange][VICTIM], another(server, exchange)
    assert (messages[0] == messages[1]) == (exchange == 3)
    for message in messages:
        server.states[VICTIM] = stored[exchange - 1]
        server.trial(VICTIM, message)
        server.states[VICTIM] = stored[reached]
        server.is_refused(VICTIM, message, "another kind" if reached < 6 else "in no round")


@pytest.mark.parametrize("reached", range(1, 7))
def test_no_round_is_begun_twice(played: Played, reached: int) -> None:
    server, stored = played[0].fork(), played[1]
    server.states[VICTIM] = stored[reached]
    first = FEDERATION.announcement
    for again in (first, replace(first, question=bytes([1] * 32)), replace(first, round=0)):
        server.is_refused(VICTIM, again.encode(), "its keys are spent")
    after, reply = server.trial(VICTIM, FEDERATION.later().encode())
    before, fresh = server.adverts[VICTIM], Advertisement.decode(reply)
    assert {before.channel_key, before.mask_key}.isdisjoint({fresh.channel_key, fresh.mask_key})
    now, old = State.decode(after), State.decode(stored[reached])
    assert now.stage == Stage.ADVERTISED
    for secret in (old.channel_seed, old.mask_seed, old.own_seed, old.held):
        assert not secret or secret not in after


def test_what_has_done_its_work_is_forgotten(played: Played) -> None:
    """Seeds once the vector is masked, shares once one of each was given; coins at once."""
    server, stored = played
    *seeds, choice, own_coins, mask_coins = server.coins[VICTIM].drawn[:6]
    assert [len(seed) for seed in seeds] == [SEED] * 3
    held = State.decode(stored[4]).shares
    assert len(held) >= 8
    for exchange, state in stored.items():
        assert [seed in state for seed in seeds] == [1 <= exchange <= 3] * 3
        for coins in (choice, own_coins, mask_coins):
            assert not any(coins[at : at + 8] in state for at in range(0, len(coins), 8))
        for both in held.values():
            assert [share in state for share in both] == [4 <= exchange <= 5] * 2
    assert State.decode(stored[6]) == State(announced=FEDERATION.announcement.encode())


@pytest.mark.parametrize("exchange", range(2, 7))
def test_what_is_refused_does_not_change_what_is_said_next(played: Played, exchange: int) -> None:
    """A client that was shown nonsense goes on as if it had not been, with the honest message."""
    server, stored = played[0].fork(), played[1]
    server.states[VICTIM] = stored[exchange - 1]
    server.is_refused(VICTIM, server.sent[exchange][VICTIM] + b"\0", "goes on after its end")
    assert server.trial(VICTIM, server.sent[exchange][VICTIM])
