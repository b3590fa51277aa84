"""What a device may rely on: a step that is run again says the same, and does no more work than it says."""

import os
from collections import Counter
from typing import Any

import numpy as np
import pytest

from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.secagg import primitives
from folkmoot.secagg.client import step
from folkmoot.secagg.server import serve
from folkmoot.secagg.together import aggregate
from tests.secagg.attacks.client_tricks import answer_with, coins
from tests.secagg.cohorts import EXCHANGES, KEYS, Federation, exchange_of
from tests.secagg.fuzz.targets import CLIENT, COHORT, honest_round


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_a_step_that_is_run_twice_from_one_state_gives_the_same_bytes_twice(exchange: int) -> None:
    """A device that stored its state, lost power before it replied, and was asked again. Two replies would be two
    dealings of one secret, or two masks. Only fresh keys need coins: all else follows from what is stored.
    """
    state, message, reply = honest_round()[exchange, CLIENT]
    member, answer = COHORT.members[CLIENT], answer_with(COHORT.vector(CLIENT))
    runs = [step(member, state, message, answer, coins(CLIENT, run if exchange != KEYS else 0)) for run in range(3)]
    assert len(set(runs)) == 1
    if exchange != KEYS:
        assert runs[0][1] == reply
        assert step(member, state, message, answer, PrivateRandomness.for_tests(no_coins)) == runs[0]


def no_coins(_: int) -> bytes:
    raise AssertionError("this step needs no coins")


def test_a_device_verifies_one_signature_a_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures are what costs most on a small device: those that it chose have signed their keys, and all else is
    vouched for under keys that two have agreed on.
    """
    federation, counted = Federation(100, length=4), Counter[int]()
    doing, verify = [0], primitives.verify_signature

    def counting(public: bytes, signature: bytes, message: bytes) -> bool:
        counted[doing[0]] += 1
        return verify(public, signature, message)

    monkeypatch.setattr(primitives, "verify_signature", counting)
    server = serve(federation.announcement, federation.roster, federation.ids, federation.policy)
    states = dict.fromkeys(federation.ids, b"")
    outbox = next(server)
    while True:
        replies = {}
        assert outbox, exchange_of(outbox)
        for client, message in outbox.items():
            doing[0] = client
            states[client], replies[client] = step(
                federation.members[client], states[client], message, federation.answer(client)
            )
        doing[0] = -1  # the server's own
        try:
            outbox = server.send(replies)
        except StopIteration as end:
            federation.check(end.value)
            degree = end.value.parameters.degree
            break
    assert counted.keys() == {*federation.ids, -1}
    assert max(counted[client] for client in federation.ids) <= degree + 2


@pytest.mark.parametrize(
    "public",
    [os.urandom, np.random.default_rng(0).bytes, 7, b"seed", None, PublicCoins(7)],
    ids=["function", "generator", "number", "bytes", "nothing", "coins"],
)
def test_nothing_but_private_randomness_is_taken(public: Any) -> None:
    """What everyone can recompute must not become a key: not in a step, and not in a whole round."""
    message = COHORT.announcement.encode()
    with pytest.raises(InputError, match=r"^random: needs PrivateRandomness, which nobody but the client knows, got "):
        step(COHORT.members[CLIENT], b"", message, COHORT.answer(CLIENT), public)
    with pytest.raises(InputError, match=r"^random: needs PrivateRandomness"):
        aggregate(COHORT.announcement, COHORT.members, COHORT.answer, random=public)
