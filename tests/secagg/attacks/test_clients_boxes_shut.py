"""A client sends boxes that do not open, by chance or because they are another's; or somebody swaps boxes on the way.
If receivers gave up over such a box, one liar could get any of them thrown out; if they guessed, the sum would be off.
Receivers complain, stay in the round, and have nothing to betray. Whoever sent the boxes shows what should be in them,
which then counts as given back, or is left out itself; the sum is right either way. Where so many complain that what
it showed would bring a secret back, it is not asked, and left out.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from folkmoot.secagg.faults import Fault
from folkmoot.secagg.messages import BOX, PARCEL, Answers, Complaints, Delivery, Unmasking
from tests.secagg.attacks.client_tricks import (
    MANY,
    Moment,
    Table,
    dealing,
    holders,
    lose,
    play,
    read_boxes,
    rehearsal,
    shift,
    spare,
    terms,
)
from tests.secagg.cohorts import ANSWERS, RECEIPT, SESSION, SHARES, UNMASKING, VECTOR, Federation, Outbox

COHORT = Federation(12, length=8)
LIAR = COHORT.ids[3]
CHOSEN, SPARE, THRESHOLD = holders(COHORT, LIAR), spare(COHORT), terms(COHORT).threshold
DEALER = Table(rehearsal(COHORT)[SHARES, LIAR])
BOXES = read_boxes(COHORT, DEALER.moment.reply).boxes
Shut = Callable[[int], bytes]  # of a receiver: a box that it cannot open


def garbage(receiver: int) -> bytes:
    return np.random.default_rng(receiver).bytes(BOX)


def misdirect(receiver: int) -> bytes:
    """What was sealed for the next."""
    return BOXES[CHOSEN[(CHOSEN.index(receiver) + 1) % len(CHOSEN)]][:BOX]


def complaints_of(moment: Moment) -> set[int]:
    return set(Complaints.decode(moment.reply, MANY).signatures)


def owners_of(moment: Moment) -> set[int]:
    """Of whom it gives shares."""
    return set(Unmasking.decode(moment.reply, MANY).shares)


@pytest.mark.parametrize("shut", [garbage, misdirect])
@pytest.mark.parametrize("dead", [False, True], ids=["own seed", "mask key"])
@pytest.mark.parametrize("many", [1, SPARE + 1, len(CHOSEN)])
@pytest.mark.parametrize("way", ["right", "wrong", "missing", "silent"])
def test_boxes_that_do_not_open(shut: Shut, dead: bool, many: int, way: str) -> None:
    receivers = CHOSEN[:many]
    told, complained = dict[int, set[int]](), set[int]()
    boxes = BOXES | {one: shut(one) + BOXES[one][BOX:] for one in receivers}
    deal = dealing([LIAR], lambda table: table.dealing(boxes))

    def trick(moment: Moment) -> bytes | None:
        if moment.exchange == RECEIPT and complaints_of(moment):
            assert complaints_of(moment) == {LIAR}
            complained.add(moment.client)
        if moment.exchange == UNMASKING:
            told[moment.client] = owners_of(moment)
        return lose({(VECTOR, LIAR)} if dead else ())(moment) and deal(moment)

    def to_server(exchange: int, replies: Outbox) -> Outbox:
        if exchange != ANSWERS or way == "silent":
            return replies
        contents = {one: DEALER.contents[one] for one in receivers}
        if way == "wrong":
            contents[receivers[-1]] = shift(contents[receivers[-1]])
        if way == "missing":
            del contents[receivers[-1]]
        return {**replies, LIAR: Answers(SESSION, 1, contents).encode()}

    result = play(COHORT, trick, to_server=to_server)
    believed = way == "right" and many < THRESHOLD
    assert complained == set(receivers)
    assert (LIAR in result.survivors) is (believed and not dead)
    assert len(result.survivors) >= COHORT.clients - 1
    certain = way in ("wrong", "missing") or many >= THRESHOLD
    assert result.excluded == ({LIAR: Fault.DEALING} if certain else {})
    COHORT.check(result)
    givers = set(CHOSEN) - set(receivers) if believed else set()
    assert {one for one, owners in told.items() if LIAR in owners} == givers


def test_a_liar_that_is_gone_before_anybody_could_ask_it() -> None:
    """There is nobody to ask for answers: the round goes on at once. So many complain that it is named all the same."""
    boxes = {one: garbage(one) + BOXES[one][BOX:] for one in BOXES}
    deal = dealing([LIAR], lambda table: table.dealing(boxes))
    sent: dict[int, Outbox] = {}
    result = play(COHORT, lambda moment: lose({(RECEIPT, LIAR)})(moment) and deal(moment), sent=sent)
    assert ANSWERS not in sent
    assert result.excluded == {LIAR: Fault.DEALING}
    COHORT.check(result)


def test_boxes_swapped_on_the_way() -> None:
    """Two receivers get each other's deliveries: they can betray nobody. Their complaints are about something that the
    server did not send, and it says so.
    """
    a, b = COHORT.ids[0], COHORT.ids[1]
    told = dict[int, set[int]]()

    def swapped(exchange: int, outbox: Outbox) -> Outbox:
        if exchange != RECEIPT:
            return outbox
        shown = {one: Delivery.decode(outbox[one], COHORT.clients) for one in (a, b)}
        assert all(len(body) == PARCEL for body in shown[a].dealt.values())
        both = shown[a].dealt.keys() & shown[b].dealt.keys()
        for one, other in ((a, b), (b, a)):
            dealt = {**shown[one].dealt, **{sender: shown[other].dealt[sender] for sender in both}}
            outbox[one] = replace(shown[one], dealt=dealt).encode()
        return outbox

    def trick(moment: Moment) -> bytes:
        if moment.exchange == UNMASKING:
            told[moment.client] = owners_of(moment)
        return moment.reply

    result = play(COHORT, trick, to_clients=swapped)
    assert result.survivors == tuple(COHORT.ids)
    assert result.excluded == {a: Fault.UNSIGNED, b: Fault.UNSIGNED}
    COHORT.check(result)
    both = {one for one in COHORT.ids if {a, b} <= set(holders(COHORT, one))}
    assert len(both) >= THRESHOLD // 2
    assert not both & (told[a] | told[b])
