"""What a client remembers beyond a round: it answers a question once, and lets a server break off so many rounds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.secagg.client import Refused, step
from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.ledger import ENTRY, Ledger
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import Announcement
from folkmoot.secagg.state import State
from folkmoot.secagg.together import aggregate
from folkmoot.secagg.wire import U32, Malformed
from tests.secagg.cohorts import Federation

COHORT = Federation(8, length=4, policy=Policy(fewest=3, corrupt=0, dropout=0.25, unfinished=3))
CLIENT = COHORT.ids[2]
OTHER_SESSION = bytes(range(16, 32))


def announce(number: int, session: bytes = COHORT.announcement.session, question: int | None = None) -> Announcement:
    """A round of a number; with a question of its own, unless told otherwise."""
    asked = (number if question is None else question).to_bytes(32, "big")
    return replace(COHORT.announcement, session=session, round=number, question=asked)


def is_refused(state: bytes, announcement: Announcement, why: str) -> None:
    with pytest.raises(Refused, match=why):
        step(COHORT.members[CLIENT], state, announcement.encode(), COHORT.answer(CLIENT))


def run(states: dict[int, bytes], announcement: Announcement, until: str = "") -> None:
    """A round, which breaks off where nobody answers any more."""
    private = PrivateRandomness.for_tests(np.random.default_rng(announcement.round).bytes)
    drops = (lambda stage, _: stage == until) if until else None
    try:
        now = {one: State.decode(state) for one, state in states.items()}
        aggregate(announcement, COHORT.members, COHORT.answer, drops, random=private, states=now)
    except AggregationFailed:
        assert until
    states |= {one: state.encode() for one, state in now.items()}


@settings(max_examples=50, deadline=None, derandomize=True)
@given(begun=st.integers(1, 2**31 - 1), finished=st.integers(0, 2**31 - 1), answers=st.integers(0, 4))
def test_ledgers_are_read_as_they_were_written(begun: int, finished: int, answers: int) -> None:
    ledger = Ledger(begun, min(begun, finished))
    for number in range(answers):
        ledger = ledger.answer(announce(number))
    assert Ledger.decode(ledger.encode()) == ledger
    assert all(ledger.has_answered(announce(number, OTHER_SESSION)) == (number < answers) for number in range(5))


def test_an_empty_ledger_is_no_bytes() -> None:
    assert Ledger().encode() == b""
    assert Ledger.decode(b"") == Ledger()
    assert not Ledger().has_answered(COHORT.announcement)


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        U32.pack(1),
        U32.pack(1) + U32.pack(0)[:-1],
        U32.pack(0) + U32.pack(0),  # an empty one is no bytes
        U32.pack(0) + U32.pack(0) + bytes(ENTRY),
        U32.pack(1) + U32.pack(2),  # more finished than begun
        U32.pack(1) + U32.pack(1) + bytes(ENTRY - 1),
        U32.pack(1) + U32.pack(1) + bytes(ENTRY + 1),
    ],
    ids=bytes.hex,
)
def test_what_is_no_ledger_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        Ledger.decode(data)
    with pytest.raises(Malformed):
        State.decode(State(ledger=data).encode())


def test_a_question_is_answered_once() -> None:
    """Whatever the round and the session; a question never answered is."""
    states = dict.fromkeys(COHORT.ids, b"")
    run(states, announce(1, question=7))
    for again in (
        announce(2, question=7),
        announce(1, OTHER_SESSION, question=7),
        announce(9, OTHER_SESSION, question=7),
    ):
        is_refused(states[CLIENT], again, "has already answered this question")
    run(states, announce(1, OTHER_SESSION, question=8))
    is_refused(states[CLIENT], announce(3, question=7), "has already answered this question")
    is_refused(states[CLIENT], announce(3, question=8), "has already answered this question")
    assert State.decode(states[CLIENT]).record.finished == 2


@pytest.mark.parametrize("until", ["keys", "choice", "shares", "receipt", "vector", "consent", "unmasking"])
def test_a_question_counts_as_answered_once_a_vector_was_made(until: str) -> None:
    """Before that it may be asked again; after it not, even if no sum came out."""
    states = dict.fromkeys(COHORT.ids, b"")
    run(states, announce(1), until)
    again = announce(2, question=1)
    if until in ("consent", "unmasking"):
        is_refused(states[CLIENT], again, "has already answered this question")
    else:
        step(COHORT.members[CLIENT], states[CLIENT], again.encode(), COHORT.answer(CLIENT))


def test_rounds_that_are_broken_off_are_counted_and_capped() -> None:
    """A round counts from when the client has drawn its neighbours; one that it finished makes up for one."""
    states = dict.fromkeys(COHORT.ids, b"")
    for number in range(1, 6):
        run(states, announce(number), "choice")  # nobody has drawn yet
    assert State.decode(states[CLIENT]).record == Ledger()
    run(states, announce(6))
    for number in range(7, 11):
        run(states, announce(number), "shares")
    is_refused(states[CLIENT], announce(11), "4 rounds were broken off and only 1 finished")
    is_refused(states[CLIENT], announce(1, OTHER_SESSION), "4 rounds were broken off and only 1 finished")


def test_a_long_life_earns_its_accidents() -> None:
    ledger = Ledger()
    for _ in range(10):
        ledger = ledger.begin().finish()
    assert ledger.excess == -10
    for _ in range(13):
        ledger = ledger.begin()
    assert (ledger.begun, ledger.finished, ledger.excess) == (23, 10, 3)


def test_what_a_server_shows_before_the_roll_costs_nothing() -> None:
    """A client that is announced to and left alone has shown nobody its neighbours."""
    state = b""
    for number in range(1, 20):
        state, _ = step(COHORT.members[CLIENT], state, announce(number).encode(), COHORT.answer(CLIENT))
    assert State.decode(state).record == Ledger()
