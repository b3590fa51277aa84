"""The server announces that no number of the sum is large, and sees who stays away: those whose vectors hold a larger
one. Halving the range from round to round it would learn the largest number of each single client, and unmask nothing.
Whether a client answers does not depend on what is in its vector: what does not fit is cut to what does.
"""

from dataclasses import replace

import numpy as np
import pytest

from folkmoot.secagg import client as client_side
from folkmoot.secagg.client import Refused, encode_vector, refuse
from folkmoot.secagg.masks import Words
from folkmoot.secagg.messages import Announcement
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import VECTOR, Federation, Vector

FEDERATION, SPARSE = Federation(8), Federation(8, length=1_000, room=40)


def largest_number(federation: Federation, client: int) -> int:
    """The attack, on one client: seven rounds up to the masked vector. 0 if it always answers."""
    below, states = 0, dict.fromkeys(federation.ids, b"")
    for bit in reversed(range(7)):
        most = below + 2**bit - 1 or 1
        question = bytes([bit] * 32)  # nobody answers one twice
        announcement = replace(federation.announcement, round=8 - bit, most=most, question=question)
        server = EvilServer(federation, announcement, states, seed=bit)
        outbox = server.advance_to(VECTOR)
        try:
            server.ask(client, outbox[client])
        except Refused:
            below += 2**bit
        states = server.states
    return below


@pytest.mark.parametrize("federation", [FEDERATION, SPARSE], ids=["written out", "sketch"])
def test_who_answers_says_nothing_about_vectors(federation: Federation) -> None:
    assert [largest_number(federation, client) for client in federation.ids[:2]] == [0, 0]


def test_it_would_if_clients_refused_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def strict(announcement: Announcement, vector: Vector, state: bytes) -> Words:
        return encode_vector(announcement, vector, state) if vector.max() <= announcement.most else refuse("too large")

    monkeypatch.setattr(client_side, "encode_vector", strict)
    some = FEDERATION.ids[:2]
    assert [largest_number(FEDERATION, client) for client in some] == [FEDERATION.vector(one).max() for one in some]


@pytest.mark.parametrize("federation", [FEDERATION, SPARSE], ids=["written out", "sketch"])
def test_numbers_are_cut_to_what_fits(federation: Federation) -> None:
    most, extremes = 50, [0, -1, -(2**63), 2**63 - 1, 50, 51, 2**32, 2**32 + 7, 3]
    vector = np.zeros(federation.length, dtype=np.int64)
    vector[: len(extremes)] = extremes
    announcement = replace(federation.announcement, most=most)
    words = encode_vector(announcement, vector, bytes(32))
    fits = np.clip(vector, 0, most)
    np.testing.assert_array_equal(words, encode_vector(announcement, fits, bytes(32)))
    if not federation.room:
        np.testing.assert_array_equal(words, fits)
    assert vector[1] == -1  # the caller's own is as it was
