"""Clients speak out of turn: after they were counted out, though nobody asked them, under numbers that nobody has,
or with an old message in place of a new one. A message counted twice or in the wrong place would spoil the sum, or
bring a vector back that others have already unmasked as missing.
The server reads each exchange's messages only from those still in the round, and only of the kind it waits for.
"""

from dataclasses import replace
from itertools import combinations

import pytest

from folkmoot.secagg.dealing import SHARE
from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.messages import Consent, Consents, MaskedVector, Unmasking
from folkmoot.secagg.primitives import SIGNATURE, TAG
from folkmoot.secagg.server import Aggregate
from tests.secagg.attacks.client_tricks import MANY, Moment, holders, lose, play, rehearsal, rubbish, say, spare
from tests.secagg.cohorts import CONSENT, KEYS, REGULAR, SESSION, UNMASKING, VECTOR, Federation, Outbox

COHORT = Federation(12, length=8)
LATE, FEW = COHORT.ids[4], COHORT.ids[: spare(COHORT)]


def check(result: Aggregate, without: set[int], excluded: dict[int, Fault] | None = None) -> None:
    assert result.survivors == tuple(one for one in COHORT.ids if one not in without)
    assert result.excluded == (excluded or {})
    COHORT.check(result)


@pytest.mark.parametrize(("exchange", "later"), list(combinations(REGULAR, 2)))
def test_an_answer_that_comes_too_late(exchange: int, later: int) -> None:
    kept = dict[int, bytes]()

    def trick(moment: Moment) -> bytes | None:
        if moment.client == LATE:
            kept[moment.exchange] = moment.reply
        return lose({(exchange, LATE)})(moment)

    def to_server(now: int, replies: Outbox) -> Outbox:
        return {**replies, LATE: kept[exchange]} if now == later else replies

    check(play(COHORT, trick, to_server=to_server), {LATE} if exchange <= VECTOR else set())


@pytest.mark.parametrize(("exchange", "later"), list(combinations(REGULAR, 2)))
def test_an_old_message_in_place_of_a_new_one_counts_as_none(exchange: int, later: int) -> None:
    old = rehearsal(COHORT)[exchange, LATE].reply
    result = play(COHORT, say(LATE, later, old))
    check(result, {LATE} if later <= VECTOR else set(), {LATE: Fault.UNREADABLE})


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

    trick = lose({(KEYS, one) for one in gone})
    check(play(COHORT, trick, to_clients=to_clients, announcement=announcement, asked=asked), gone | {LATE})


@pytest.mark.parametrize("exchange", REGULAR[1:])
def test_a_client_that_gave_no_keys(exchange: int) -> None:
    """Later it sends what it would have sent."""

    def to_server(now: int, replies: Outbox) -> Outbox:
        return {**replies, LATE: rehearsal(COHORT)[now, LATE].reply} if now == exchange else replies

    check(play(COHORT, lose({(KEYS, LATE)}), to_server=to_server), {LATE})


def test_shares_of_clients_that_did_not_consent_are_not_looked_at() -> None:
    """They are all wrong."""
    wrong = Unmasking(SESSION, 1, {one: bytes(SHARE) for one in COHORT.ids}).encode()

    def to_server(now: int, replies: Outbox) -> Outbox:
        return {**replies, **dict.fromkeys(FEW, wrong)} if now == UNMASKING else replies

    check(play(COHORT, lose({(CONSENT, one) for one in FEW}), to_server=to_server), set())


def test_a_client_whose_vector_is_lost_cannot_consent_its_way_back() -> None:
    """Whom the server does not ask has nothing to say, even where what it says is well-formed."""

    def to_server(now: int, replies: Outbox) -> Outbox:
        return {**replies, LATE: rehearsal(COHORT)[now, LATE].reply} if now > VECTOR else replies

    check(play(COHORT, lose({(VECTOR, LATE)}), to_server=to_server), {LATE})


def rubbish_words(moment: Moment) -> bytes:
    told = Consent.decode(moment.reply, MANY)
    return replace(told, words={one: rubbish(one, moment.client, size=TAG) for one in told.words}).encode()


@pytest.mark.parametrize("way", ["rubbish", "none", "for everybody"])
def test_consents_that_are_none(way: str) -> None:
    """To each other they are worth nothing, and the rest is enough. Who is to blame, the server cannot tell."""

    def trick(moment: Moment) -> bytes:
        if moment.exchange != CONSENT or moment.client not in FEW:
            return moment.reply
        if way == "rubbish":
            return rubbish_words(moment)
        everybody = COHORT.ids if way == "for everybody" else []
        return Consent(SESSION, 1, {one: bytes(TAG) for one in everybody}).encode()

    sent: dict[int, Outbox] = {}
    check(play(COHORT, trick, sent=sent), set())
    for dealer, message in sent[UNMASKING].items():  # what it is shown are words of those who hold its shares
        assert Consents.decode(message, MANY, MANY).words.keys() <= set(holders(COHORT, dealer))


def test_with_more_of_them_nobody_unmasks() -> None:
    told = set[int]()

    def trick(moment: Moment) -> bytes:
        if moment.exchange == UNMASKING:
            told.add(moment.client)
        return rubbish_words(moment) if moment.exchange == CONSENT else moment.reply

    with pytest.raises(AggregationFailed, match="0 shares of client") as failed:
        play(COHORT, trick)
    assert failed.value.excluded == {}
    assert failed.value.answered
    assert not told


def test_where_nobody_consents_there_is_nobody_to_ask() -> None:
    sent: dict[int, Outbox] = {}
    with pytest.raises(AggregationFailed, match="0 shares of client"):
        play(COHORT, lose({(CONSENT, one) for one in COHORT.ids}), sent=sent)
    assert sent[UNMASKING] == {}


def read_masked(moment: Moment) -> MaskedVector:
    return MaskedVector.decode(moment.reply, COHORT.announcement.vector_size, MANY)


def test_a_vector_that_is_not_signed_counts_as_none() -> None:
    """Or its sender could say later that it was told of other sharers; the others go on without it."""
    told = read_masked(rehearsal(COHORT)[VECTOR, LATE])
    forged = replace(told, signature=bytes(SIGNATURE)).encode()
    check(play(COHORT, say(LATE, VECTOR, forged)), {LATE}, {LATE: Fault.UNSIGNED})


@pytest.mark.parametrize("way", ["rubbish", "none", "for others"])
def test_words_that_are_none(way: str) -> None:
    """Holders who get none from an owner would keep their shares: one client could end every round. The signature says
    the same as the word, and reaches all of them.
    """

    def trick(moment: Moment) -> bytes:
        if (moment.exchange, moment.client) != (VECTOR, LATE):
            return moment.reply
        told, chosen = read_masked(moment), holders(COHORT, LATE)
        others = [one for one in COHORT.ids if one not in chosen]
        names = {"rubbish": chosen, "none": [], "for others": others}[way]
        return replace(told, words={one: rubbish(one, size=TAG) for one in names}).encode()

    check(play(COHORT, trick), set())
