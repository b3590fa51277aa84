"""The server asks twice: for consent to other survivors, for the other kind of share, for other neighbours, for another
vector under the same masks; at once, or after the client came back from a crash. Each would give two answers under
one key, or both secrets of somebody. A step burns what it used: the stored state holds no key that has done its work,
and no round is begun again.
"""

from dataclasses import replace
from itertools import combinations_with_replacement, product

import pytest

from folkmoot.secagg.client import deal_shares
from folkmoot.secagg.keys import channel_private, mask_private, mask_seed, own_seed
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.messages import BOX, Advertisement, Consents
from folkmoot.secagg.primitives import KEY, SEED, unseal
from folkmoot.secagg.state import Stage, State
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CHOICE, CONSENT, KEYS, RECEIPT, REGULAR, SHARES, UNMASKING, VECTOR, Federation

FEDERATION = Federation(12)
IDS, VICTIM, CORRUPT = FEDERATION.ids, FEDERATION.ids[5], FEDERATION.ids[0]
LESS = [one for one in IDS if one != CORRUPT]
Played = tuple[EvilServer, dict[int, bytes]]


@pytest.fixture(scope="module")
def played() -> Played:
    """An honest round, and the victim's state after each exchange."""
    server, again, stored = EvilServer(FEDERATION, terms=(10, 6)), EvilServer(FEDERATION), {0: b""}
    server.advance_to(UNMASKING)
    again.roll = server.roll
    assert CORRUPT in server.graph[VICTIM]
    for exchange in REGULAR:
        again.ask(VICTIM, server.sent[exchange][VICTIM])
        stored[exchange] = again.states[VICTIM]
    return server, stored


def previous_exchange(exchange: int) -> int:
    return REGULAR[REGULAR.index(exchange) - 1]


def alternative(server: EvilServer, exchange: int) -> bytes:
    """A message of this exchange that the client would take as well, had it not answered one."""
    if exchange == CHOICE:
        return server.make_roll(threshold=server.roll.threshold + 1).encode()
    if exchange == SHARES:  # there is but one, with the advertisements that are on the roll
        return server.neighbours(VICTIM)
    if exchange == RECEIPT:
        return server.delivery(VICTIM, LESS)
    if exchange == VECTOR:
        return server.sharers(LESS)
    if exchange == CONSENT:
        return server.survivors(LESS)
    shown = Consents.decode(server.sent[UNMASKING][VICTIM], server.roll.degree, len(server.roll.ids))
    few = dict(sorted(shown.words.items())[: server.roll.threshold])
    return Consents(*server.mark, few, shown.owners).encode()


@pytest.mark.parametrize(("exchange", "reached"), list(combinations_with_replacement(REGULAR[1:], 2)))
def test_no_message_is_answered_twice(played: Played, exchange: int, reached: int) -> None:
    """The same again or another, right away or later; from the bytes that were stored, as after a crash."""
    server, stored = played[0].fork(), played[1]
    messages = server.sent[exchange][VICTIM], alternative(server, exchange)
    assert (messages[0] == messages[1]) == (exchange == SHARES)
    for message in messages:
        server.states[VICTIM] = stored[previous_exchange(exchange)]
        server.trial(VICTIM, message)
        server.states[VICTIM] = stored[reached]
        server.is_refused(VICTIM, message, "another kind" if reached < UNMASKING else "in no round")


@pytest.mark.parametrize("reached", REGULAR)
def test_no_round_is_begun_twice(played: Played, reached: int) -> None:
    server, stored = played[0].fork(), played[1]
    server.states[VICTIM] = stored[reached]
    first = FEDERATION.announcement
    for again in (first, replace(first, question=bytes([1] * 32)), replace(first, round=0)):
        server.is_refused(VICTIM, again.encode(), "keys are used up")
    after, reply = server.trial(VICTIM, replace(FEDERATION.announce_later(), question=bytes([1] * 32)).encode())
    spent, fresh = server.adverts[VICTIM], Advertisement.decode(reply)
    assert {spent.channel_key, spent.mask_key}.isdisjoint({fresh.channel_key, fresh.mask_key})
    now, old = State.decode(after), State.decode(stored[reached])
    assert now.stage == Stage.ADVERTISED
    for secret in (old.seed, *old.holders.values(), *old.dealers.values(), *old.held.values()):
        assert not secret or secret not in after


def test_what_has_done_its_work_is_forgotten(played: Played) -> None:
    """The seed once the vector is masked, shares once one of each was given; what follows from the seed at once."""
    server, stored = played
    seed = server.seed(VICTIM)
    assert len(seed) == SEED
    derived = [channel_private(seed), own_seed(seed), mask_seed(seed), mask_private(mask_seed(seed))]
    checked = State.decode(stored[RECEIPT])
    dealt = deal_shares(checked, len(checked.sealed)).contents
    held = checked.shares
    assert len(dealt) == 10
    assert len(held) >= 8
    for exchange, state in stored.items():
        assert (seed in state) == (KEYS <= exchange <= RECEIPT)
        assert not any(secret in state for secret in derived)
        for content in dealt:
            assert not any(content[at : at + 8] in state for at in range(0, len(content), 8))
        for both in held.values():
            assert [share in state for share in both] == [RECEIPT <= exchange <= CONSENT] * 2
    ledger = Ledger().begin().answer(FEDERATION.announcement).finish().encode()
    assert State.decode(stored[UNMASKING]) == State(ledger=ledger, announced=FEDERATION.announcement.encode())


def test_a_state_after_masking_opens_none_of_the_clients_own_boxes(played: Played) -> None:
    """Who steals it then finds no seed and no key of a box, its own or one that it was dealt: its vector stays hidden,
    though the server has all boxes.
    """
    server, stored = played
    mine = server.dealers[VICTIM].sealed
    dealers = [one for one, of in server.dealers.items() if VICTIM in of.sealed]
    boxes = [(server.edge(VICTIM, VICTIM, one).box, sealed) for one, sealed in mine.items()]
    boxes += [(server.edge(VICTIM, one, VICTIM).box, server.dealers[one].sealed[VICTIM]) for one in dealers]
    for exchange in (VECTOR, CONSENT, UNMASKING):
        state = stored[exchange]
        now = State.decode(state)
        assert [now.seed, now.advert, now.sealed, now.mask_keys] == [b"", b"", {}, {}]
        assert not any(key in state for key, _ in boxes)
        strings = [state[at : at + KEY] for at in range(len(state) - KEY + 1)]
        for (_, sealed), string in product(boxes[:2], strings):
            assert unseal(string, sealed[:BOX], server.roll_hash) is None
    for key, sealed in boxes:  # with the right ones they do open
        assert unseal(key, sealed[:BOX], server.roll_hash) is not None


@pytest.mark.parametrize("exchange", REGULAR[1:])
def test_what_is_refused_does_not_change_what_is_said_next(played: Played, exchange: int) -> None:
    """A client that was shown nonsense goes on as if it had not been, with the honest message."""
    server, stored = played[0].fork(), played[1]
    server.states[VICTIM] = stored[previous_exchange(exchange)]
    server.is_refused(VICTIM, server.sent[exchange][VICTIM] + b"\0", "continues after its end")
    assert server.trial(VICTIM, server.sent[exchange][VICTIM])
