"""What a client remembers beyond a round: it answers a question once, and lets a server break off so many rounds."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.foundation.settings import SECURITY
from folkmoot.secagg.client import Answer, Crowd, Refused, foresee_crowd, step
from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.ledger import ENTRY, Ledger
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import Announcement, Roll
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


@settings(max_examples=50)
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
        U32.pack(0) + U32.pack(0) + bytes(ENTRY - 1),
        U32.pack(0) + U32.pack(1) + bytes(ENTRY),
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


# Rounds that are forgiven.


def test_a_round_that_is_forgiven_is_as_if_it_had_not_been() -> None:
    assert Ledger(23, 10).forgive(1) == Ledger(22, 10)
    assert Ledger(23, 10).forgive(100) == Ledger(20, 10)
    for earned in (Ledger(20, 10), Ledger(10, 10), Ledger()):
        assert earned.forgive(1) == earned


def test_what_was_answered_is_not_forgiven() -> None:
    """Not even if no round is left that was begun."""
    states = dict.fromkeys(COHORT.ids, b"")
    run(states, announce(1), "consent")
    record = State.decode(states[CLIENT]).record
    assert (record.begun, record.finished, len(record.entries)) == (1, 0, ENTRY)
    clean = record.forgive(1)
    assert (clean.begun, clean.entries) == (0, record.entries)
    assert Ledger.decode(clean.encode()) == clean
    forgiven = State(ledger=clean.encode()).encode()
    is_refused(forgiven, announce(2, OTHER_SESSION, question=1), "has already answered this question")
    step(COHORT.members[CLIENT], forgiven, announce(2).encode(), COHORT.answer(CLIENT))


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["break", "break", "finish", "forgive"]), max_size=200), st.integers(1, 16))
def test_how_often_a_client_draws_in_its_life(lived: list[str], unfinished: int) -> None:
    """At most unfinished + 2r + f times, if it finished r rounds and was forgiven f, in whatever order."""
    ledger, draws, finished, forgiven = Ledger(), 0, 0, 0
    for what in lived:
        if what == "forgive":
            forgiven += ledger.excess > 0
            ledger = ledger.forgive(1)
        elif ledger.excess < unfinished:
            ledger, draws = ledger.begin(), draws + 1
            if what == "finish":
                ledger, finished = ledger.finish(), finished + 1
    assert draws <= unfinished + 2 * finished + forgiven
    assert (draws - forgiven, finished) == (ledger.begun, ledger.finished)


def bound_failure(clients: int, finished: int = 0, forgiven: int = 0, security: int = SECURITY) -> float:
    """log2 of the probability that any roll is bad that a server shows to any of these clients in their lives."""
    return log2(clients * (Policy.unfinished + 2 * finished + forgiven)) - security


def test_the_bound_over_all_rolls_that_a_server_may_try() -> None:
    """The numbers of docs/secagg.md."""
    assert bound_failure(1) == -60
    assert bound_failure(1_000) == pytest.approx(-50.0, abs=0.05)
    assert bound_failure(1_000, finished=10, forgiven=10) == pytest.approx(-48.5, abs=0.1)
    assert bound_failure(1_000, finished=1_000, forgiven=3_650) == pytest.approx(-41.6, abs=0.1)
    assert bound_failure(5, finished=1_000, forgiven=3_650) == pytest.approx(-49.2, abs=0.1)
    assert bound_failure(5, forgiven=10 * 52 * Policy.unfinished) < -48  # docs/operations.md
    assert bound_failure(1_000, 1_000, 3_650, security=90) < -64


def test_a_client_knows_its_crowd_before_it_chooses() -> None:
    """From the roll, and the same as afterwards."""
    seen = list[Crowd]()

    def answer(client: int) -> Answer:
        def look(crowd: Crowd) -> NDArray[np.int64]:
            seen.append(crowd)
            return COHORT.vector(client)

        return look

    rolls = list[bytes]()

    def watch(stage: str, client: int, received: bytes, sent: bytes) -> None:  # noqa: ARG001
        rolls.extend([received] if stage == "choice" and client == CLIENT else [])

    aggregate(COHORT.announcement, COHORT.members, answer, watch=watch)
    foreseen = foresee_crowd(COHORT.members[CLIENT], COHORT.announcement, Roll.decode(rolls[0]))
    assert set(seen) == {foreseen}
    other = replace(Roll.decode(rolls[0]), threshold=1)
    with pytest.raises(Refused, match="threshold is too small"):
        foresee_crowd(COHORT.members[CLIENT], COHORT.announcement, other)


@pytest.mark.parametrize("policy", [Policy(), Policy(3, 0.2, 0.2), Policy(3, 0.0, 0.3), Policy(3, 0.25, 0.0)], ids=str)
def test_no_round_is_surer_than_those_who_may_be_corrupt_or_gone_let_it_be(policy: Policy) -> None:
    for asked in (10, 20, 57, 100, 300):
        for there in range(policy.quorum(asked), asked + 1, 7):
            assert policy.protection(there, asked).honest <= policy.bound_honest(asked)
    assert Policy(4, 0.2, 0.2).bound_honest(5) == Policy(4, 0.2, 0.2).protection(5).honest == 3
