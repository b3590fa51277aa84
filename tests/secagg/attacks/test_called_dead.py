"""The server tells a client that it is gone, though it is there. Its neighbours would then give away the seed of its
mask key, and its vector would lie under one mask only. It refuses to be called gone, before it sends its vector and
after; and neighbours who believe it give the shares of one seed, never of the other.
"""

import numpy as np
import pytest

from folkmoot.secagg.keys import own_seed
from tests.secagg.attacks.server_tricks import EvilServer, recover_seed
from tests.secagg.cohorts import CONSENT, VECTOR, Federation

FEDERATION = Federation(20)
VICTIM, CORRUPT = FEDERATION.ids[7], set(FEDERATION.ids[:2])
EVERYONE = set(FEDERATION.ids)


@pytest.fixture(scope="module")
def masked() -> EvilServer:
    server = EvilServer(FEDERATION, terms=(18, 11))
    server.advance_to(CONSENT)
    return server


def test_before_its_vector_is_sent() -> None:
    server = EvilServer(FEDERATION, terms=(18, 11))
    outbox = server.advance_to(VECTOR)
    others = EVERYONE - {VICTIM}
    server.is_refused(VICTIM, server.sharers(others), "says that this client has dropped out")
    assert server.sharers(EVERYONE) == outbox[VICTIM]
    assert server.trial(VICTIM, outbox[VICTIM])


def test_after_its_vector_is_sent(masked: EvilServer) -> None:
    masked.is_refused(VICTIM, masked.survivors(EVERYONE - {VICTIM}), "says that this client has dropped out")
    assert masked.trial(VICTIM, masked.survivors(EVERYONE))
    someone_else = EVERYONE - {FEDERATION.ids[9]}
    assert masked.trial(VICTIM, masked.survivors(someone_else))


def test_one_mask_is_left_when_all_others_believe_it(masked: EvilServer) -> None:
    """What the second mask is for: all others were told that the client is gone, and gave its mask key away."""
    server, alive = masked.fork(), EVERYONE - {VICTIM}
    given = server.views(dict.fromkeys(alive - CORRUPT, alive), EVERYONE, CORRUPT)
    assert given.keys() == alive - CORRUPT
    mask_seed = server.recovery(given | server.held_shares(CORRUPT, 1)).mask_seed(VICTIM)
    mine = own_seed(server.seed(VICTIM))
    assert recover_seed(server.recovery(server.held_shares(CORRUPT, 0)).own_seed, VICTIM) is None

    state, vector = server.sharers_hash(EVERYONE), {VICTIM: server.masked[VICTIM]}
    seeds, plain = {VICTIM: mask_seed}, FEDERATION.vector(VICTIM)
    np.testing.assert_array_equal(server.expose(vector, state, {VICTIM: mine}, seeds), plain)
    assert (server.expose(vector, state, {}, seeds) == plain).mean() < 0.1
