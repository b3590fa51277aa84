"""A client's state is put back to where it had advertised its keys, as from a copy of its disk. The server has led a
round in which the client fell silent, and rightly brought out the key of its masks. Now the same keys are in another
round, with others, and the seed of its own mask comes out: nothing hides the vector any more.
No message helps against that; docs/secagg.md says that states must not be put back. A client that lost its state
altogether makes new keys, and is not shown.
"""

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from folkmoot.secagg.client import Refused, step
from folkmoot.secagg.keys import MASK_KEY, hash_sharers, mask_private, own_mask_key, pair_purpose
from folkmoot.secagg.masks import add_masks, as_words
from folkmoot.secagg.messages import Sharers, masked_vector
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.primitives import agree, keyed_hash
from folkmoot.secagg.recovery import Recovery
from folkmoot.secagg.server import serve
from folkmoot.secagg.state import State
from tests.secagg.cohorts import CHOICE, KEYS, VECTOR, Federation, Vector, exchange_of

FEDERATION = Federation(23)
VICTIM, *OTHERS = FEDERATION.ids
NOW = replace(FEDERATION.announcement, clients=12)
COHORTS = [VICTIM, *OTHERS[:11]], [VICTIM, *OTHERS[11:]]


class Spying:
    """A round as it should be. What the server recovers of the victim is kept, and by exchange the victim's state
    before, what it was sent, and what it said. `advert`: what it has said already, put back to where it was then.
    """

    def __init__(self, clients: list[int], state: bytes = b"", advert: bytes = b"", leaves: bool = False) -> None:
        self.seeds = dict[str, bytes]()
        self.before, self.received, self.sent = dict[int, bytes](), dict[int, bytes](), dict[int, bytes]()
        states = dict.fromkeys(clients, b"") | {VICTIM: state}
        server = serve(NOW, FEDERATION.roster, clients, FEDERATION.policy)
        with (
            patch.object(Recovery, "own_seed", self.keep_seeds("own", Recovery.own_seed)),
            patch.object(Recovery, "mask_seed", self.keep_seeds("mask", Recovery.mask_seed)),
        ):
            outbox = next(server)
            while outbox:
                exchange, replies = exchange_of(outbox), dict[int, bytes]()
                if leaves and exchange == VECTOR:
                    del outbox[VICTIM]
                if advert and exchange == KEYS:
                    del outbox[VICTIM]
                    replies[VICTIM] = advert
                self.before[exchange] = states[VICTIM]
                for one, message in outbox.items():
                    member, answer = FEDERATION.members[one], FEDERATION.answer(one)
                    states[one], replies[one] = step(member, states[one], message, answer)
                if VICTIM in outbox:
                    self.received[exchange], self.sent[exchange] = outbox[VICTIM], replies[VICTIM]
                try:
                    outbox = server.send(replies)
                except StopIteration as end:
                    outbox = {}
                    FEDERATION.check(end.value)

    @property
    def after_keys(self) -> bytes:
        return self.before[CHOICE]

    def keep_seeds(self, name: str, recover: Callable[[Recovery, int], bytes]) -> Callable[[Recovery, int], bytes]:
        def kept(recovery: Recovery, owner: int) -> bytes:
            seed = recover(recovery, owner)
            if owner == VICTIM:
                self.seeds[name] = seed
            return seed

        return kept


def expose(first: Spying, second: Spying) -> Vector:
    """The victim's vector of the second round, by what was brought out in both. Its neighbours and their public keys,
    which the server knows, are read from its state.
    """
    state = State.decode(second.before[VECTOR])
    agreed_state = hash_sharers(state.roll_hash, Sharers.decode(second.received[VECTOR], len(state.order)).bits)
    words = as_words(np.zeros(NOW.words), NOW.ring_bits)
    add_packed(masked_vector(second.sent[VECTOR], NOW), NOW.ring_bits, words)
    added, taken = list[bytes](), [own_mask_key(second.seeds["own"], agreed_state)]
    for other, public in state.mask_keys.items():
        secret = agree(mask_private(first.seeds["mask"]), public)
        assert secret is not None
        key = keyed_hash(secret, pair_purpose(agreed_state, VICTIM, other), MASK_KEY)
        (taken if other > VICTIM else added).append(key)
    add_masks(words, added, taken)
    return (words & words.dtype.type(2**NOW.ring_bits - 1)).astype(np.int64)


@pytest.fixture(scope="module")
def first() -> Spying:
    return Spying(COHORTS[0], leaves=True)


def test_a_state_that_is_put_back_shows_the_vector(first: Spying) -> None:
    second = Spying(COHORTS[1], first.after_keys, first.sent[KEYS])
    assert [*first.seeds, *second.seeds] == ["mask", "own"]  # either is as it should be
    np.testing.assert_array_equal(expose(first, second), FEDERATION.vector(VICTIM))


def test_a_state_that_is_lost_does_not(first: Spying) -> None:
    second = Spying(COHORTS[1])
    assert (expose(first, second) == FEDERATION.vector(VICTIM)).mean() < 0.2


def test_a_round_does_not_begin_again_by_itself(first: Spying) -> None:
    message, answer = first.received[KEYS], FEDERATION.answer(VICTIM)
    with pytest.raises(Refused, match="not later than the last"):
        step(FEDERATION.members[VICTIM], first.after_keys, message, answer)
