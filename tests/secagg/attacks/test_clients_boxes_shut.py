"""A client sends boxes that do not open, by chance or because they are another's; or a server swaps boxes on the way.
If receivers gave up over such a box, one liar could get any of them thrown out; if they guessed, the sum would be off.
A shut box counts as a share that is missing. Its receiver stays in the round, and has nothing to betray.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from folkmoot.secagg.messages import BOX, Boxes, Delivery, Unmasking
from folkmoot.secagg.server import AggregationFailed
from tests.secagg.attacks.client_tricks import (
    MANY,
    SHARES,
    UNMASKING,
    VECTOR,
    Moment,
    holders,
    lost,
    play,
    rehearsal,
    terms,
)
from tests.secagg.cohorts import SESSION, Federation, Outbox

COHORT = Federation(12, length=8)
LIAR = COHORT.ids[3]
CHOSEN = holders(COHORT, LIAR)
BOXES = Boxes.decode(rehearsal(COHORT)[SHARES, LIAR].reply, MANY).boxes
SPARE = terms(COHORT).degree - terms(COHORT).threshold
Sealing = Callable[[Moment, list[int]], bytes]  # of (moment, receivers): boxes that those cannot open


def garbage(moment: Moment, receivers: list[int]) -> bytes:
    boxes = {**BOXES, **{one: np.random.default_rng(one).bytes(BOX) for one in receivers}}
    return Boxes(SESSION, 1, boxes).encode() if moment.client == LIAR else moment.reply


def to_the_wrong_receiver(moment: Moment, receivers: list[int]) -> bytes:
    """Each gets what was sealed for the next."""
    following = dict(zip(CHOSEN, [*CHOSEN[1:], CHOSEN[0]], strict=True))
    boxes = {one: BOXES[following[one] if one in receivers else one] for one in BOXES}
    return Boxes(SESSION, 1, boxes).encode() if moment.client == LIAR else moment.reply


def note_owners(moment: Moment, told: dict[int, set[int]]) -> bytes:
    """Of whom each client gives shares."""
    if moment.exchange == UNMASKING:
        told[moment.client] = set(Unmasking.decode(moment.reply, MANY).shares)
    return moment.reply


@pytest.mark.parametrize("box", [garbage, to_the_wrong_receiver])
@pytest.mark.parametrize("dead", [False, True], ids=["own seed", "mask key"])
@pytest.mark.parametrize("more", [0, 1], ids=["bearable", "one more"])
def test_boxes_that_do_not_open(box: Sealing, dead: bool, more: int) -> None:
    """Their receivers have nothing to give back, and say nothing about their owner."""
    receivers, told = CHOSEN[: SPARE + more], dict[int, set[int]]()

    def trick(moment: Moment) -> bytes | None:
        note_owners(moment, told)
        if moment.exchange == SHARES:
            return box(moment, receivers)
        return lost({(VECTOR, LIAR)} if dead else ())(moment)

    if more:
        with pytest.raises(AggregationFailed, match=f"shares of client {LIAR}'s secret came back"):
            play(COHORT, trick)
    else:
        result = play(COHORT, trick)
        assert (LIAR in result.survivors) is not dead
        COHORT.check(result)
    assert {one for one, owners in told.items() if LIAR in owners} == set(CHOSEN) - set(receivers)


def test_boxes_swapped_on_the_way() -> None:
    """Two receivers get each other's deliveries: all their boxes are shut, and they can betray nobody."""
    a, b = COHORT.ids[0], COHORT.ids[1]
    told = dict[int, set[int]]()

    def swapped(exchange: int, outbox: Outbox) -> Outbox:
        if exchange != VECTOR:
            return outbox
        shown = {one: Delivery.decode(outbox[one], COHORT.clients) for one in (a, b)}
        both = shown[a].boxes.keys() & shown[b].boxes.keys()
        for one, other in ((a, b), (b, a)):
            boxes = {**shown[one].boxes, **{sender: shown[other].boxes[sender] for sender in both}}
            outbox[one] = replace(shown[one], boxes=boxes).encode()
        return outbox

    result = play(COHORT, lambda moment: note_owners(moment, told), to_clients=swapped)
    assert result.survivors == tuple(COHORT.ids)
    COHORT.check(result)
    both = {one for one in COHORT.ids if {a, b} <= set(holders(COHORT, one))}
    assert len(both) >= terms(COHORT).threshold
    assert not both & (told[a] | told[b])
