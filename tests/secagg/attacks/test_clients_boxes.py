"""A client draws neighbours against the rules, or sends boxes to itself, to strangers, to too few or too many.
It could so hold its own shares, and decide alone whether its secrets ever come back.
The server takes draws by the coins that were committed to, and boxes for exactly the neighbours drawn; others are out.
"""

from dataclasses import replace

import numpy as np
import pytest

from folkmoot.secagg.faults import Fault
from folkmoot.secagg.messages import Boxes, Choice
from folkmoot.secagg.wire import bitmap
from tests.secagg.attacks.client_tricks import holders, play, read_boxes, rehearsal, say
from tests.secagg.cohorts import CHOICE, REGULAR, SESSION, SHARES, Federation, Outbox

COHORT = Federation(12, length=8)
LIAR = COHORT.ids[3]
ORDER = np.array(COHORT.ids)
CHOSEN = holders(COHORT, LIAR)
LEFT = next(one for one in COHORT.ids if one not in CHOSEN and one != LIAR)
DEALT = read_boxes(COHORT, rehearsal(COHORT)[SHARES, LIAR].reply)
BOXES, LINES = DEALT.boxes, DEALT.lines
FIRST = CHOSEN[0]
DRAWN = Choice.decode(rehearsal(COHORT)[CHOICE, LIAR].reply, COHORT.clients)


def drop_box(place: int) -> dict[int, bytes]:
    return {one: box for one, box in BOXES.items() if one != place}


WRONG_BOXES = {
    "to itself": {**drop_box(FIRST), LIAR: BOXES[FIRST]},
    "to a neighbour it did not draw": {**drop_box(FIRST), LEFT: BOXES[FIRST]},
    "to nobody": {**drop_box(FIRST), 10_000: BOXES[FIRST]},
    "too few": drop_box(FIRST),
    "too many": {**BOXES, LEFT: BOXES[FIRST]},
    "none": {},
}
WRONG_CHOICES = {
    "itself": {*CHOSEN[1:], LIAR},
    "too few": set(CHOSEN[1:]),
    "too many": {*CHOSEN, LEFT},
    "everybody": set(COHORT.ids),
    "nobody": set[int](),
}


def check_out(message: bytes, exchange: int, fault: Fault) -> None:
    sent: dict[int, Outbox] = {}
    result = play(COHORT, say(LIAR, exchange, message), sent=sent)
    assert {now: LIAR in outbox for now, outbox in sent.items()} == {now: now <= exchange for now in REGULAR}
    assert result.excluded == {LIAR: fault}
    assert result.survivors == tuple(one for one in COHORT.ids if one != LIAR)
    COHORT.check(result)


@pytest.mark.parametrize("wrong", WRONG_BOXES)
def test_boxes_that_were_not_asked_for(wrong: str) -> None:
    too_many = len(WRONG_BOXES[wrong]) > len(BOXES)  # than fit into a message
    fault = Fault.UNREADABLE if too_many else Fault.DEALING
    check_out(Boxes(SESSION, 1, LINES, WRONG_BOXES[wrong]).encode(), SHARES, fault)


def test_boxes_of_another_size() -> None:
    smaller = {one: box[1:] for one, box in BOXES.items()}
    check_out(Boxes(SESSION, 1, LINES, smaller).encode(), SHARES, Fault.UNREADABLE)


@pytest.mark.parametrize("size", [-8, 8])
def test_lines_of_another_size(size: int) -> None:
    lines = LINES + bytes(size) if size > 0 else LINES[:size]
    check_out(Boxes(SESSION, 1, lines, BOXES).encode(), SHARES, Fault.UNREADABLE)


@pytest.mark.parametrize("number", [2**61 - 1, 2**61, 2**64 - 1])
@pytest.mark.parametrize("place", [0, -1])
def test_lines_of_numbers_that_are_not_of_the_field(number: int, place: int) -> None:
    numbers = np.frombuffer(LINES, dtype="<u8").copy()
    numbers[place] = number
    check_out(Boxes(SESSION, 1, numbers.tobytes(), BOXES).encode(), SHARES, Fault.DEALING)


@pytest.mark.parametrize("wrong", WRONG_CHOICES)
def test_neighbours_against_the_rules(wrong: str) -> None:
    check_out(replace(DRAWN, bits=bitmap(WRONG_CHOICES[wrong], ORDER)).encode(), CHOICE, Fault.CHOICE)


@pytest.mark.parametrize("bits", [b"", bytes(1), bytes(3)], ids=bytes.hex)
def test_a_choice_that_is_no_bitmap_of_the_roll(bits: bytes) -> None:
    check_out(replace(DRAWN, bits=bits).encode(), CHOICE, Fault.UNREADABLE)


def test_a_choice_with_bits_left_over() -> None:
    check_out(replace(DRAWN, bits=b"\xff\xff").encode(), CHOICE, Fault.CHOICE)
