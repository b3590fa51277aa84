"""A client draws neighbours against the rules, or sends boxes to itself, to strangers, to too few or too many.
It could so hold its own shares, and decide alone whether its secrets ever come back.
The server takes draws of exactly the degree, and boxes for exactly the neighbours drawn; who sends others is out.
"""

import numpy as np
import pytest

from folkmoot.secagg.messages import Boxes, Choice
from folkmoot.secagg.wire import bitmap
from tests.secagg.attacks.client_tricks import CHOICE, EXCHANGES, MANY, SHARES, holders, play, rehearsal
from tests.secagg.cohorts import SESSION, Federation, Outbox

COHORT = Federation(12, length=8)
LIAR = COHORT.ids[3]
ORDER = np.array(COHORT.ids)
CHOSEN = holders(COHORT, LIAR)
LEFT = next(one for one in COHORT.ids if one not in CHOSEN and one != LIAR)
BOXES = Boxes.decode(rehearsal(COHORT)[SHARES, LIAR].reply, MANY).boxes
FIRST = CHOSEN[0]


def without(place: int) -> dict[int, bytes]:
    return {one: box for one, box in BOXES.items() if one != place}


WRONG_BOXES = {
    "to itself": {**without(FIRST), LIAR: BOXES[FIRST]},
    "to a neighbour it did not draw": {**without(FIRST), LEFT: BOXES[FIRST]},
    "to nobody": {**without(FIRST), 10_000: BOXES[FIRST]},
    "too few": without(FIRST),
    "too many": {**BOXES, LEFT: BOXES[FIRST]},
    "none": {},
    "too small": {one: box[1:] for one, box in BOXES.items()},
}
WRONG_CHOICES = {
    "itself": {*CHOSEN[1:], LIAR},
    "too few": set(CHOSEN[1:]),
    "too many": {*CHOSEN, LEFT},
    "everybody": set(COHORT.ids),
    "nobody": set[int](),
}


def check_out(message: bytes, exchange: int) -> None:
    sent: list[Outbox] = []
    told = (exchange, LIAR)
    result = play(COHORT, lambda now: message if (now.exchange, now.client) == told else now.reply, sent=sent)
    assert [LIAR in outbox for outbox in sent] == [number <= exchange for number in EXCHANGES]
    assert result.survivors == tuple(one for one in COHORT.ids if one != LIAR)
    COHORT.check(result)


@pytest.mark.parametrize("wrong", WRONG_BOXES)
def test_boxes_that_were_not_asked_for(wrong: str) -> None:
    check_out(Boxes(SESSION, 1, WRONG_BOXES[wrong]).encode(), SHARES)


@pytest.mark.parametrize("wrong", WRONG_CHOICES)
def test_neighbours_against_the_rules(wrong: str) -> None:
    check_out(Choice(SESSION, 1, bitmap(WRONG_CHOICES[wrong], ORDER)).encode(), CHOICE)


@pytest.mark.parametrize("bits", [b"", bytes(1), bytes(3), b"\xff\xff"], ids=bytes.hex)
def test_a_choice_that_is_no_bitmap_of_the_roll(bits: bytes) -> None:
    check_out(Choice(SESSION, 1, bits).encode(), CHOICE)
