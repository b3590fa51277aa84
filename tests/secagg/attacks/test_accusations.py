"""A holder complains of a dealer whose box does not open or whose shares do not fit, and the dealer shows in the open
what it dealt to it. The server would like to see the shares of honest holders that way: it changes what a dealer dealt
on its way, or forges, moves or replays complaints. A dealer shows nothing unless the holder itself signed that it was
given exactly what the dealer dealt: an honest holder never complains of that. What is shown, corrupt holders have.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from folkmoot.secagg.dealing import MARK, SHARE, VALUES
from folkmoot.secagg.keys import complaint
from folkmoot.secagg.messages import BOX, Announcement, Answers, Complaints, Parcel
from folkmoot.secagg.primitives import SIGNATURE, sign
from folkmoot.secagg.shamir import PRIME
from folkmoot.secagg.state import Stage, State
from tests.secagg.attacks.server_tricks import EvilServer, recover_seed
from tests.secagg.cohorts import ANSWERS, CONSENT, RECEIPT, UNMASKING, Federation, Outbox, conversation

FEDERATION, TERMS = Federation(12), (10, 6)
DEALER, STRANGER, *OTHERS = FEDERATION.ids  # the dealer chose all but the stranger
CORRUPT, HOLDER = OTHERS[0], OTHERS[1]
NOW = FEDERATION.announcement
NOT_DEALT = "not signed by the client it names, or is about something this client did not deal"


@pytest.fixture(scope="module")
def dealt() -> EvilServer:
    """All boxes are with the server."""
    server = EvilServer(FEDERATION, terms=TERMS, planted={DEALER: set(OTHERS)})
    server.advance_to(RECEIPT)
    return server


@pytest.fixture(scope="module")
def server(dealt: EvilServer) -> EvilServer:
    """The dealer has checked what it holds itself, and would answer."""
    found = dealt.fork()
    found.ask(DEALER, found.sent[RECEIPT][DEALER])
    return found


def flip(data: bytes, at: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


Tamper = Callable[[Parcel, Parcel], Parcel]  # of what was dealt to this holder, and to another
TAMPERED: dict[str, Tamper] = {
    "box": lambda was, _: was._replace(box=flip(was.box)),
    "end of the box": lambda was, _: was._replace(box=flip(was.box, len(was.box) - 1)),
    "marks": lambda was, _: was._replace(marks=flip(was.marks)),
    "second mark": lambda was, _: was._replace(marks=flip(was.marks, MARK)),
    "values": lambda was, _: was._replace(values=flip(was.values)),
    "second value": lambda was, _: was._replace(values=flip(was.values, VALUES // 2)),
    "values out of the field": lambda was, _: was._replace(values=b"\xff" * VALUES),
    "challenge": lambda was, _: was._replace(challenge=was.challenge ^ 1),
    "challenge beyond the field": lambda was, _: was._replace(challenge=was.challenge + PRIME),
    "the box of another holder": lambda was, other: was._replace(box=other.box),
    "all of another holder": lambda _, other: other,
    "nothing of it": lambda was, _: Parcel(was.keys, bytes(BOX), bytes(2 * MARK), bytes(VALUES), 0),
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_changed_on_the_way_to_honest_holders(dealt: EvilServer, server: EvilServer, kind: str) -> None:
    """They complain, and hold nothing of the dealer; who shows nothing to them, and goes on."""
    evil, made = dealt.fork(), dict[int, bytes]()
    for holder in OTHERS[: TERMS[1] - 1]:
        wrong = TAMPERED[kind](evil.parcel(DEALER, holder), evil.parcel(DEALER, OTHERS[-1]))
        reply = evil.ask(holder, evil.delivery(holder, FEDERATION.ids, {DEALER: wrong}))
        complaints = evil.complaints(reply)
        assert complaints.keys() == {DEALER}
        assert DEALER not in State.decode(evil.states[holder]).shares
        made |= {holder: complaints[DEALER]}
        server.is_refused(DEALER, server.accusations({holder: complaints[DEALER]}), NOT_DEALT)
    server.is_refused(DEALER, server.accusations(made), NOT_DEALT)
    true = {CORRUPT: server.false_complaint(DEALER, CORRUPT)}
    server.is_refused(DEALER, server.accusations(made | true), NOT_DEALT)
    assert server.trial(DEALER, server.sharers(FEDERATION.ids))


def test_a_complaint_does_not_depend_on_what_is_in_the_box(dealt: EvilServer) -> None:
    """A challenge beyond the field is the same number as one in it, and overflows where a share is large: whoever
    complained only then would tell the server of its share.
    """
    evil, complained = dealt.fork(), list[bool]()
    for holder in OTHERS:
        dealers = [one for one in FEDERATION.ids if holder in evil.dealers[one].sealed]
        wrong = {one: evil.parcel(one, holder) for one in dealers}
        same = {one: item._replace(challenge=item.challenge % PRIME + 7 * PRIME) for one, item in wrong.items()}
        same = {one: item for one, item in same.items() if item.challenge < 2**64}
        reply = evil.ask(holder, evil.delivery(holder, dealers, same))
        complained += [one in evil.complaints(reply) for one in same]
    assert len(complained) > 80
    assert all(complained)


def test_honest_holders_do_not_complain_of_what_was_dealt(dealt: EvilServer) -> None:
    evil = dealt.fork()
    for holder in FEDERATION.ids:
        assert not evil.complaints(evil.ask(holder, evil.sent[RECEIPT][holder]))


def test_forged_complaints(server: EvilServer) -> None:
    case, roll_hash = server.parcel(DEALER, HOLDER).case(), server.roll_hash
    identities = FEDERATION.identities
    other_case = server.parcel(DEALER, OTHERS[2]).case()
    forged = [
        bytes(SIGNATURE),
        sign(identities[CORRUPT], *complaint(roll_hash, DEALER, HOLDER, case)),  # by somebody else
        sign(identities[HOLDER], *complaint(roll_hash, STRANGER, HOLDER, case)),  # of another dealer
        sign(identities[HOLDER], *complaint(roll_hash, DEALER, CORRUPT, case)),  # for another holder
        sign(identities[HOLDER], *complaint(roll_hash, DEALER, HOLDER, other_case)),  # about what another was given
        sign(identities[HOLDER], *complaint(bytes(32), DEALER, HOLDER, case)),  # of another conversation
        sign(identities[HOLDER], "masked", *complaint(roll_hash, DEALER, HOLDER, case)[1:]),
        server.adverts[HOLDER].signature,
    ]
    for signature in forged:
        server.is_refused(DEALER, server.accusations({HOLDER: signature}), NOT_DEALT)
    good = server.false_complaint(DEALER, HOLDER)
    for at in range(0, SIGNATURE, 5):
        server.is_refused(DEALER, server.accusations({HOLDER: flip(good, at)}), NOT_DEALT)
    server.is_refused(DEALER, server.accusations({CORRUPT: good}), NOT_DEALT)


@pytest.mark.parametrize(
    "then", [FEDERATION.announce_later(), replace(NOW, session=bytes(16)), replace(NOW, question=bytes([1] * 32))]
)
def test_complaints_of_another_time(server: EvilServer, then: Announcement) -> None:
    """The same coins fall, so that keys, seeds and neighbours are the same; the case is another, and so is the roll."""
    other = EvilServer(FEDERATION, then, terms=TERMS, planted={DEALER: set(OTHERS)})
    other.advance_to(RECEIPT)
    assert other.adverts[DEALER].mask_key == server.adverts[DEALER].mask_key
    old = other.false_complaint(DEALER, CORRUPT)
    server.is_refused(DEALER, server.accusations({CORRUPT: old}), NOT_DEALT)
    server.is_refused(DEALER, other.accusations({CORRUPT: old}), "|".join([NOT_DEALT, "another session or round"]))


def test_somebody_who_holds_nothing(server: EvilServer) -> None:
    signature = sign(FEDERATION.identities[STRANGER], *complaint(server.roll_hash, DEALER, STRANGER, bytes(16)))
    why = "somebody complains who holds no share"
    server.is_refused(DEALER, server.accusations({STRANGER: signature}), why)
    both = {STRANGER: signature, CORRUPT: server.false_complaint(DEALER, CORRUPT)}
    server.is_refused(DEALER, server.accusations(both), why)


@pytest.mark.parametrize("corrupt", range(11))
def test_what_is_shown_the_corrupt_have_anyway(dealt: EvilServer, server: EvilServer, corrupt: int) -> None:
    """It opens nothing. As many as the threshold are not shown (and parameters see to it that there are fewer)."""
    evil, liars = server.fork(), OTHERS[:corrupt]
    told = evil.accusations({one: evil.false_complaint(DEALER, one) for one in liars})
    if corrupt >= TERMS[1]:
        evil.is_refused(DEALER, told, "enough complain to reconstruct a secret")
        return
    shown = Answers.decode(evil.ask(DEALER, told), len(OTHERS)).contents
    holding = dealt.fork()
    for one in liars:
        holding.ask(one, holding.sent[RECEIPT][one])
        assert shown[one] == b"".join(State.decode(holding.states[one]).shares[DEALER])
    assert shown.keys() == set(liars)
    for kind, recover in ((0, "own_seed"), (1, "mask_seed")):
        held = {one: {DEALER: content[kind * SHARE :][:SHARE]} for one, content in shown.items()}
        assert recover_seed(getattr(evil.recovery(held), recover), DEALER) is None


def test_a_client_answers_once_and_still_masks(server: EvilServer) -> None:
    evil = server.fork()
    accusations = [evil.accusations({one: evil.false_complaint(DEALER, one)}) for one in OTHERS[:2]]
    evil.ask(DEALER, accusations[0])
    now = State.decode(evil.states[DEALER])
    assert now.stage == Stage.ANSWERED
    for again in (*accusations, evil.accusations({}), evil.sent[RECEIPT][DEALER]):
        evil.is_refused(DEALER, again, "another kind")
    state, reply = evil.trial(DEALER, evil.sharers(FEDERATION.ids))
    _, before = server.trial(DEALER, server.sharers(FEDERATION.ids))
    assert reply == before  # as if nothing had been
    assert State.decode(state).stage == Stage.MASKED


def test_nothing_is_shown_before_or_after(dealt: EvilServer) -> None:
    """Before the dealer has its own shares, after it has masked, and when the round is over."""
    told = dealt.accusations({CORRUPT: dealt.false_complaint(DEALER, CORRUPT)})
    dealt.is_refused(DEALER, told, "another kind")
    for exchange in (CONSENT, UNMASKING):
        later = EvilServer(FEDERATION, terms=TERMS, planted={DEALER: set(OTHERS)})
        outbox = later.advance_to(exchange)
        later.is_refused(DEALER, told, "another kind")
    later.ask(DEALER, outbox[DEALER])
    later.is_refused(DEALER, told, "in no round")


def test_an_honest_server_with_a_false_complaint_has_the_sum() -> None:
    """The dealer shows what it dealt; all are in the sum."""
    evil = EvilServer(FEDERATION)
    asked = list[int]()

    def complaining(exchange: int, replies: Outbox) -> Outbox:
        evil.replies[exchange] = replies
        asked.append(exchange)
        if exchange != RECEIPT:
            return replies
        liar = FEDERATION.ids[4]
        victims = [one for one in FEDERATION.ids if liar in evil.dealers[one].sealed]
        made = {one: evil.false_complaint(one, liar) for one in victims}
        return replies | {liar: Complaints(*evil.mark, made).encode()}

    def watching(exchange: int, outbox: Outbox) -> Outbox:
        evil.sent[exchange] = outbox
        return outbox

    result, _ = conversation(FEDERATION, to_clients=watching, to_server=complaining)
    assert ANSWERS in asked
    assert result.survivors == tuple(FEDERATION.ids)
    assert not result.excluded
    FEDERATION.check(result)


def test_a_dealer_that_drops_out_is_not_blamed_for_a_false_complaint() -> None:
    """Its receipt is lost, and a liar complains of it: it is gone like others who are gone."""
    evil, liar = EvilServer(FEDERATION), FEDERATION.ids[4]
    gone = list[int]()

    def complaining(exchange: int, replies: Outbox) -> Outbox:
        evil.replies[exchange] = replies
        if exchange != RECEIPT:
            return replies
        gone.append(min(one for one, of in evil.dealers.items() if liar in of.sealed))
        made = {gone[0]: evil.false_complaint(gone[0], liar)}
        left = {one: reply for one, reply in replies.items() if one not in gone}
        return left | {liar: Complaints(*evil.mark, made).encode()}

    def watching(exchange: int, outbox: Outbox) -> Outbox:
        evil.sent[exchange] = outbox
        return outbox

    result, _ = conversation(FEDERATION, to_clients=watching, to_server=complaining)
    FEDERATION.check(result)
    assert set(FEDERATION.ids) - set(result.survivors) == set(gone)
    assert not result.excluded
