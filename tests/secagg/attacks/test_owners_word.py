"""The server asks for shares of an own mask's seed with no word of its owner, or with one for other sharers, or takes a
vector that comes without it. No share is given, and the vector counts as not sent.
"""

from dataclasses import replace

import pytest

from folkmoot.secagg.faults import Fault
from folkmoot.secagg.messages import HEAD, Consents, Unmasking
from folkmoot.secagg.primitives import sign, tag
from folkmoot.secagg.state import State
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import UNMASKING, VECTOR, Federation, Outbox, conversation

FEDERATION = Federation(16)
IDS, (HOLDER, OWNER, OTHER, *_) = FEDERATION.ids, FEDERATION.ids


@pytest.mark.parametrize("signed_by_owner", ["nothing", "other sharers", "another purpose", "somebody else"])
def test_no_share_of_an_own_mask_without_its_owners_word(signed_by_owner: str) -> None:
    server = EvilServer(FEDERATION, terms=(14, 8))
    honest = server.advance_to(UNMASKING)[HOLDER]
    assert {OWNER, OTHER} <= State.decode(server.states[HOLDER]).shares.keys()
    shown = Consents.decode(honest, len(IDS), len(IDS))
    state, fewer = server.sharers_hash(IDS), server.sharers_hash(set(IDS) - {OTHER})
    identity, keys = FEDERATION.identities[OWNER], server.edge(OWNER, OWNER, HOLDER)
    told: dict[str, dict[int, bytes]] = {
        "nothing": {},
        "other sharers": {OWNER: tag(keys.word, fewer) + sign(identity, "masked", fewer)},
        "another purpose": {OWNER: tag(keys.consent, state) + sign(identity, "consent", state)},
        "somebody else": {OWNER: shown.owners[OTHER]},
    }
    owners = {one: word for one, word in shown.owners.items() if one != OWNER} | told[signed_by_owner]
    _, reply = server.trial(HOLDER, replace(shown, owners=owners).encode())
    _, all_of_it = server.trial(HOLDER, honest)
    given, usual = (Unmasking.decode(data, len(IDS)).shares for data in (reply, all_of_it))
    assert OWNER in usual
    assert given == {one: share for one, share in usual.items() if one != OWNER}


def test_the_server_takes_no_vector_without_its_owners_word() -> None:
    """Others would not open it, and there would be no sum."""

    def flipped(exchange: int, replies: Outbox) -> Outbox:
        if exchange == VECTOR:
            said = bytearray(replies[OTHER])
            said[HEAD] ^= 1
            return replies | {OTHER: bytes(said)}
        return replies

    result, _ = conversation(FEDERATION, to_server=flipped)
    assert result.survivors == tuple(one for one in IDS if one != OTHER)
    assert result.excluded == {OTHER: Fault.UNSIGNED}
    FEDERATION.check(result)
