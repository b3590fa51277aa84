"""Holders who work for the server say that they were dealt rubbish, to make a dealer show what it dealt; or a server
changes what it passes on, so that honest holders say so themselves and their shares come out in the open.
A dealer shows shares only to whom it dealt them, in fewer numbers than bring a secret back, and only against a
signature under exactly what it dealt: box, marks, values and challenge. Who signs that and still complains lies, and
its share was never a secret from the server.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from folkmoot.secagg.client import Refused, step
from folkmoot.secagg.dealing import SHARE, VALUES
from folkmoot.secagg.keys import complaint
from folkmoot.secagg.messages import Accusations, Answers, Complaints, Delivery, MaskedVector, Parcel
from folkmoot.secagg.primitives import sign
from folkmoot.secagg.server import Aggregate
from folkmoot.secagg.state import Stage, State
from folkmoot.secagg.wire import Malformed
from tests.secagg.attacks.client_tricks import MANY, Moment, Table, holders, play, rehearsal, spare, terms
from tests.secagg.cohorts import ANSWERS, RECEIPT, SESSION, SHARES, VECTOR, Federation, Outbox, body_of

COHORT = Federation(20, length=8)
DEALER = COHORT.ids[6]
CHOSEN, THRESHOLD, SPARE = holders(COHORT, DEALER), terms(COHORT).threshold, spare(COHORT)
BEFORE = rehearsal(COHORT)[RECEIPT, DEALER].after  # the dealer, when complaints come
ROLL_HASH = State.decode(BEFORE).roll_hash
CONTENTS = Table(rehearsal(COHORT)[SHARES, DEALER]).contents


def parcel_of(holder: int) -> Parcel:
    """What an honest server hands on."""
    shown = Delivery.decode(rehearsal(COHORT)[RECEIPT, holder].message, MANY)
    return Parcel.read(shown.dealt[DEALER])


def complaint_of(holder: int, case: bytes | None = None, signer: int | None = None, dealer: int = DEALER) -> bytes:
    identity = COHORT.identities[holder if signer is None else signer]
    return sign(identity, *complaint(ROLL_HASH, dealer, holder, parcel_of(holder).case() if case is None else case))


def accuse(signatures: dict[int, bytes]) -> tuple[State, Answers]:
    """What the dealer does about them."""
    message = Accusations(SESSION, 1, signatures).encode()
    after, reply = step(COHORT.members[DEALER], BEFORE, message, COHORT.answer(DEALER))
    return State.decode(after), Answers.decode(reply, MANY)


def is_refused(signatures: dict[int, bytes], why: str) -> None:
    with pytest.raises(Refused, match=why):
        accuse(signatures)


@pytest.mark.parametrize("many", [1, 2, THRESHOLD - 1])
def test_a_dealer_shows_the_shares_of_its_accusers_and_nothing_else(many: int) -> None:
    accusers = CHOSEN[::-1][:many]
    after, answers = accuse({one: complaint_of(one) for one in accusers})
    assert answers.contents == {one: CONTENTS[one] for one in accusers}
    reply, others = answers.encode(), [one for one in CHOSEN if one not in accusers]
    for one in others:
        for number in range(0, 2 * SHARE, 8):
            assert CONTENTS[one][number : number + 8] not in reply
    assert after.seed not in reply
    assert after.stage is Stage.ANSWERED


def test_a_dealer_answers_once() -> None:
    """Or a server could have the accusers by turns, and all shares in the end."""
    first, second = CHOSEN[:2]
    message = Accusations(SESSION, 1, {first: complaint_of(first)}).encode()
    after, _ = step(COHORT.members[DEALER], BEFORE, message, COHORT.answer(DEALER))
    again = Accusations(SESSION, 1, {second: complaint_of(second)}).encode()
    with pytest.raises(Malformed, match="another kind"):
        step(COHORT.members[DEALER], after, again, COHORT.answer(DEALER))
    assert not State.decode(after).sealed


@pytest.mark.parametrize("many", [THRESHOLD, len(CHOSEN)])
def test_as_many_as_could_reconstruct_a_secret_are_refused(many: int) -> None:
    is_refused({one: complaint_of(one) for one in CHOSEN[:many]}, "enough complain to reconstruct a secret")


def test_who_holds_no_share_is_refused() -> None:
    stranger = next(one for one in COHORT.ids if one not in CHOSEN and one != DEALER)
    for one in (stranger, DEALER, 10_000):
        signer = one if one in COHORT.ids else CHOSEN[0]
        signature = complaint_of(one, case=bytes(16), signer=signer)
        is_refused({one: signature}, "holds no share")
        is_refused({CHOSEN[0]: complaint_of(CHOSEN[0]), one: signature}, "holds no share")


def test_a_complaint_that_another_signed_is_refused() -> None:
    """One good complaint among them does not help."""
    first, second = CHOSEN[:2]
    for wrong in (
        complaint_of(first, signer=second),
        complaint_of(first, signer=DEALER),
        complaint_of(first, dealer=COHORT.ids[0]),
        complaint_of(second),
        bytes(64),
    ):
        is_refused({first: wrong}, "not signed by the client it names")
        is_refused({first: wrong, second: complaint_of(second)}, "not signed by the client it names")


def change(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


CHANGES: dict[str, Callable[[Parcel], Parcel]] = {
    "box": lambda dealt: dealt._replace(box=change(dealt.box)),
    "end of the box": lambda dealt: dealt._replace(box=dealt.box[:-1] + change(dealt.box[-1:])),
    "marks": lambda dealt: dealt._replace(marks=change(dealt.marks)),
    "values": lambda dealt: dealt._replace(values=change(dealt.values)),
    "values of the mask key": lambda dealt: dealt._replace(values=dealt.values[:8] + change(dealt.values[8:])),
    "challenge": lambda dealt: dealt._replace(challenge=dealt.challenge ^ 1),
    "values of another": lambda dealt: dealt._replace(values=bytes(VALUES)),
    "box of another": lambda dealt: dealt._replace(box=parcel_of(CHOSEN[1]).box, marks=parcel_of(CHOSEN[1]).marks),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_server_that_changes_what_it_passes_on_gets_a_complaint_and_no_answer(change: str) -> None:
    """An honest holder complains, of what it was given; the dealer never dealt that."""
    holder = CHOSEN[0]
    moment = rehearsal(COHORT)[RECEIPT, holder]
    shown = Delivery.decode(moment.message, MANY)
    changed = body_of(CHANGES[change](parcel_of(holder)))
    message = replace(shown, dealt={**shown.dealt, DEALER: changed}).encode()
    after, reply = step(COHORT.members[holder], moment.before, message, COHORT.answer(holder))
    made = Complaints.decode(reply, MANY).signatures
    assert list(made) == [DEALER]
    assert DEALER not in State.decode(after).shares
    for others in ({}, {CHOSEN[1]: complaint_of(CHOSEN[1])}):
        is_refused({holder: made[DEALER], **others}, "about something this client did not deal")


def test_a_complaint_of_another_round_is_refused() -> None:
    later = rehearsal(COHORT, rounds=1)[RECEIPT, CHOSEN[0]]
    roll_hash = State.decode(later.after).roll_hash
    assert roll_hash != ROLL_HASH
    first = CHOSEN[0]
    signature = sign(COHORT.identities[first], *complaint(roll_hash, DEALER, first, parcel_of(first).case()))
    is_refused({first: signature}, "not signed by the client it names")


def play_accusing(accusers: list[int], states: dict[int, State], sent: dict[int, Outbox]) -> Aggregate:
    def trick(moment: Moment) -> bytes:
        if moment.exchange == RECEIPT and moment.client in accusers:
            return Complaints(SESSION, 1, {DEALER: complaint_of(moment.client)}).encode()
        if moment.client == DEALER:
            states[moment.exchange] = State.decode(moment.after)
        return moment.reply

    return play(COHORT, trick, sent=sent)


@pytest.mark.parametrize("many", [1, SPARE, SPARE + 1, THRESHOLD - 1])
def test_a_round_in_which_a_dealer_is_falsely_accused(many: int) -> None:
    """It is asked, answers, and stays; what it showed counts as given back. Its vector has words for all."""
    states, sent = dict[int, State](), dict[int, Outbox]()
    result = play_accusing(CHOSEN[:many], states, sent)
    assert list(sent[ANSWERS]) == [DEALER]
    assert states[ANSWERS].stage is Stage.ANSWERED
    assert states[VECTOR].stage is Stage.MASKED
    assert not states[VECTOR].seed
    assert result.survivors == tuple(COHORT.ids)
    assert result.excluded == {}
    COHORT.check(result)


def test_the_words_of_a_dealer_reach_its_accusers_too() -> None:
    """Who complained is told nothing more and nothing less."""
    words = list[set[int]]()

    def trick(moment: Moment) -> bytes:
        if moment.exchange == RECEIPT and moment.client == CHOSEN[0]:
            return Complaints(SESSION, 1, {DEALER: complaint_of(moment.client)}).encode()
        if (moment.exchange, moment.client) == (VECTOR, DEALER):
            words.append(set(MaskedVector.decode(moment.reply, COHORT.announcement.vector_size, MANY).words))
        return moment.reply

    COHORT.check(play(COHORT, trick))
    assert words == [set(CHOSEN)]
