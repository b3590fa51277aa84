"""The server asks the same question twice: of everybody, and once more without one client, whose vector is the
difference of the two sums. Whoever has answered a question does not answer it again: not in a later round, not in
another session, not over other clients, not with another ring. If a round was broken off before a client masked
anything, it may be asked again.
"""

from dataclasses import replace

import numpy as np
import pytest

from folkmoot.foundation.errors import FolkmootError
from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.ledger import ENTRY, Ledger
from folkmoot.secagg.messages import Announcement
from folkmoot.secagg.server import Aggregate
from folkmoot.secagg.state import State
from folkmoot.secagg.together import aggregate
from folkmoot.secagg.wire import Malformed
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CONSENT, REGULAR, UNMASKING, VECTOR, Federation, Vector

FEDERATION = Federation(12)
IDS, VICTIM = FEDERATION.ids, FEDERATION.ids[5]
NOW = FEDERATION.announcement
ANSWERED = "has already answered this question"
AGAIN = {
    "a later round": FEDERATION.announce_later(),
    "another session": replace(NOW, session=bytes(16)),
    "fewer clients": replace(FEDERATION.announce_later(), clients=11),
    "another ring": replace(FEDERATION.announce_later(), most=NOW.most + 1),
    "another largest number": replace(FEDERATION.announce_later(), largest=1),
    "another length": replace(FEDERATION.announce_later(), length=1),
    "a sketch": replace(FEDERATION.announce_later(), length=1_000, room=10),
}
OTHERWISE = replace(FEDERATION.announce_later(), question=bytes([1] * 32))


def ask(announcement: Announcement, clients: list[int], states: dict[int, bytes]) -> Aggregate:
    """A round by the book; its states stay with the clients."""
    members = {one: FEDERATION.members[one] for one in clients}
    now = {one: State.decode(states[one]) for one in clients}
    try:
        return aggregate(announcement, members, FEDERATION.answer, states=now)
    finally:
        states |= {one: state.encode() for one, state in now.items()}


def difference(between: Announcement) -> Vector:
    """The attack: all, then all but the victim."""
    states = dict.fromkeys(IDS, b"")
    first = ask(NOW, IDS, states)
    others = [one for one in IDS if one != VICTIM]
    second = ask(replace(between, clients=11), others, states)
    return first.total - second.total


@pytest.mark.parametrize("again", ["a later round", "another session"])
def test_the_difference_of_two_sums(again: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AggregationFailed, match="0 clients gave their keys"):
        difference(AGAIN[again])
    monkeypatch.setattr(Ledger, "has_answered", lambda *_: False)
    np.testing.assert_array_equal(difference(AGAIN[again]), FEDERATION.vector(VICTIM))


@pytest.mark.parametrize("exchange", REGULAR)
@pytest.mark.parametrize("again", AGAIN)
def test_whoever_masked_anything_is_done_with_the_question(exchange: int, again: str) -> None:
    """However far the round came after that; and before that it may be asked again."""
    server = EvilServer(FEDERATION)
    server.advance_to(exchange)
    if exchange <= VECTOR:
        assert server.trial(VICTIM, AGAIN[again].encode())
    else:
        server.is_refused(VICTIM, AGAIN[again].encode(), ANSWERED)
        assert server.trial(VICTIM, OTHERWISE.encode())


def test_a_round_broken_off_before_the_vectors_is_asked_again() -> None:
    """With a sum in the end, of everybody."""
    server = EvilServer(FEDERATION)
    server.advance_to(VECTOR)
    FEDERATION.check(result := ask(FEDERATION.announce_later(), IDS, server.states))
    assert result.survivors == tuple(IDS)


def test_only_those_who_answered_refuse() -> None:
    """Some had masked when the round was broken off. The others may be asked, if they are enough."""
    server = EvilServer(FEDERATION)
    outbox = server.advance_to(VECTOR)
    for one in IDS[:4]:
        server.ask(one, outbox[one])
    for one in IDS:
        if one in IDS[:4]:
            server.is_refused(one, FEDERATION.announce_later().encode(), ANSWERED)
    rest = ask(replace(FEDERATION.announce_later(), clients=8), IDS[4:], server.states)
    np.testing.assert_array_equal(rest.total, FEDERATION.plain_sum(tuple(IDS[4:])))


def test_the_ledger_goes_on_from_round_to_round() -> None:
    """Five questions later the first is still known, and each of the others."""
    states = dict.fromkeys(IDS, b"")
    questions = [replace(NOW, round=number, question=bytes([number] * 32)) for number in range(1, 6)]
    for one in questions:
        ask(one, IDS, states)
    record = State.decode(states[VICTIM]).record
    assert (record.begun, record.finished, len(record.entries)) == (5, 5, 5 * ENTRY)
    server = EvilServer(FEDERATION, states=states)
    for old in questions:
        for again in (replace(old, round=9), replace(old, session=bytes(16)), replace(old, session=bytes(16), round=0)):
            server.is_refused(VICTIM, again.encode(), ANSWERED)
    assert server.trial(VICTIM, replace(NOW, round=9, question=bytes([9] * 32)).encode())


def test_a_question_is_compared_as_a_whole() -> None:
    """Not where entries meet, and not in other parts of them."""
    session, number = bytes(range(100, 116)), int.from_bytes(b"abcd", "little")
    first = replace(NOW, session=session, round=number, question=bytes(range(32)))
    record = Ledger().begin().answer(first).answer(replace(first, question=bytes(range(32, 64))))
    entries = record.entries
    for at in range(len(entries) - 31):
        question = entries[at : at + 32]
        expected = question in (bytes(range(32)), bytes(range(32, 64)))
        assert record.has_answered(replace(NOW, question=question)) == expected
    assert not Ledger().has_answered(first)


def test_a_ledger_that_was_not_stored_by_a_client() -> None:
    """A state that holds one is not taken for a fresh start."""
    server = EvilServer(FEDERATION)
    server.advance_to(CONSENT)
    now = State.decode(server.states[VICTIM])
    good = now.ledger
    assert Ledger.decode(good).encode() == good
    wrong = [good[:-1], good + b"\0", good[:5], bytes(8) + good[8:], good[:4] + b"\2\0\0\0" + good[8:], b"\1"]
    for ledger in wrong:
        server.states[VICTIM] = replace(now, ledger=ledger).encode()
        with pytest.raises(Malformed):
            server.trial(VICTIM, OTHERWISE.encode())


def test_what_is_asked_again_fails_with_a_reason() -> None:
    """The server is told that nobody came, and that nobody answered this time."""
    server = EvilServer(FEDERATION)
    for one, message in server.advance_to(UNMASKING).items():
        server.ask(one, message)
    with pytest.raises(FolkmootError) as caught:
        ask(FEDERATION.announce_later(), IDS, server.states)
    assert isinstance(caught.value, AggregationFailed)
    assert not caught.value.answered
    assert caught.value.excluded == {}
