"""Clients speak out of turn: after they were counted out, though nobody asked them, under numbers that nobody has,
or with an old message in place of a new one. A message counted twice or in the wrong place would spoil the sum, or
bring a vector back that others have already unmasked as missing.
The server reads each exchange's messages only from those still in the round, and only of the kind it waits for.
"""

from dataclasses import replace
from itertools import combinations

import pytest

from folkmoot.secagg.messages import SHARE, Consent, Masked, Unmasking
from folkmoot.secagg.server import Aggregate
from tests.secagg.attacks.client_tricks import (
    CONSENT,
    EXCHANGES,
    KEYS,
    UNMASKING,
    VECTOR,
    Moment,
    lost,
    play,
    rehearsal,
)
from tests.secagg.cohorts import SESSION, Federation, Outbox

COHORT = Federation(12, length=8)
LATE = COHORT.ids[4]


def check(result: Aggregate, without: set[int]) -> None:
    assert result.survivors == tuple(one for one in COHORT.ids if one not in without)
    assert result.liars == ()
    COHORT.check(result)


@pytest.mark.parametrize(("exchange", "later"), list(combinations(EXCHANGES, 2)))
def test_an_answer_that_comes_too_late(exchange: int, later: int) -> None:
    kept = dict[int, bytes]()

    def trick(moment: Moment) -> bytes | None:
        if moment.client == LATE:
            kept[moment.exchange] = moment.reply
        return lost({(exchange, LATE)})(moment)

    def to_server(now: int, replies: Outbox) -> Outbox:
        return {**replies, LATE: kept[exchange]} if now == later else replies

    check(play(COHORT, trick, to_server=to_server), {LATE} if exchange <= VECTOR else set())


@pytest.mark.parametrize(("exchange", "later"), list(combinations(EXCHANGES, 2)))
def test_an_old_message_in_place_of_a_new_one_counts_as_none(exchange: int, later: int) -> None:
    old = rehearsal(COHORT)[exchange, LATE].reply

    def trick(moment: Moment) -> bytes:
        return old if (moment.exchange, moment.client) == (later, LATE) else moment.reply

    check(play(COHORT, trick), {LATE} if later <= VECTOR else set())


@pytest.mark.parametrize("stranger", [0, 4, 10_000, 2**32 - 1])
def test_numbers_that_nobody_has(stranger: int) -> None:
    def to_server(_: int, replies: Outbox) -> Outbox:
        return {stranger: replies[LATE], **replies}

    check(play(COHORT, to_server=to_server), set())


@pytest.mark.parametrize("missing", [0, 1], ids=["all there", "a place free"])
def test_a_client_of_the_roster_that_was_not_asked(missing: int) -> None:
    """It heard the announcement from another client, and answers like everybody else."""
    asked = [one for one in COHORT.ids if one != LATE]
    gone = set(asked[:missing])
    announcement = replace(COHORT.announcement, clients=len(asked))

    def to_clients(now: int, outbox: Outbox) -> Outbox:
        return {**outbox, LATE: announcement.encode()} if now == KEYS else outbox

    trick = lost({(KEYS, one) for one in gone})
    check(play(COHORT, trick, to_clients=to_clients, announcement=announcement, asked=asked), gone | {LATE})


@pytest.mark.parametrize("exchange", EXCHANGES[1:])
def test_a_client_that_gave_no_keys(exchange: int) -> None:
    """Later it sends what it would have sent."""

    def to_server(now: int, replies: Outbox) -> Outbox:
        return {**replies, LATE: rehearsal(COHORT)[now, LATE].reply} if now == exchange else replies

    check(play(COHORT, lost({(KEYS, LATE)}), to_server=to_server), {LATE})


def test_shares_of_clients_that_did_not_consent_are_not_looked_at() -> None:
    """They are all wrong, and too many to be put right."""
    silent = COHORT.ids[:4]
    wrong = Unmasking(SESSION, 1, {one: bytes(SHARE) for one in COHORT.ids}).encode()

    def to_server(now: int, replies: Outbox) -> Outbox:
        return {**replies, **dict.fromkeys(silent, wrong)} if now == UNMASKING else replies

    check(play(COHORT, lost({(CONSENT, one) for one in silent}), to_server=to_server), set())


def test_a_client_whose_vector_is_lost_cannot_consent_its_way_back() -> None:
    """Whom the server does not ask has nothing to say, even where what it says is well-formed."""

    def to_server(now: int, replies: Outbox) -> Outbox:
        return {**replies, LATE: rehearsal(COHORT)[now, LATE].reply} if now > VECTOR else replies

    check(play(COHORT, lost({(VECTOR, LATE)}), to_server=to_server), {LATE})


@pytest.mark.parametrize("wrong", [bytes(64), b"\xff" * 64], ids=["zeros", "ones"])
def test_a_consent_that_is_not_signed_counts_as_none(wrong: bytes) -> None:
    """Its sender is not asked to unmask; the others go on without it."""
    asked = list[int]()

    def trick(moment: Moment) -> bytes:
        if moment.exchange == UNMASKING:
            asked.append(moment.client)
        forged = (moment.exchange, moment.client) == (CONSENT, LATE)
        return Consent(SESSION, 1, wrong).encode() if forged else moment.reply

    check(play(COHORT, trick), set())
    assert LATE not in asked
    assert len(asked) == len(COHORT.ids) - 1


def test_a_vector_that_is_not_signed_counts_as_none() -> None:
    """Or its sender could say later that it was told of other sharers; the others go on without it."""

    def trick(moment: Moment) -> bytes:
        if (moment.exchange, moment.client) != (VECTOR, LATE):
            return moment.reply
        told = Masked.decode(moment.reply, COHORT.announcement.vector_size)
        return replace(told, signature=rehearsal(COHORT)[CONSENT, LATE].reply[-64:]).encode()

    check(play(COHORT, trick), {LATE})
