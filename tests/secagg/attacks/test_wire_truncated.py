"""Messages are cut short, made longer, given another head, or announce more than they hold. A reader that goes past
the end, asks for memory by an announced count or takes one message for another would crash or be led astray.
Every decoder says Malformed and nothing else.
"""

from dataclasses import replace
from struct import Struct

import pytest

from folkmoot.secagg.dealing import CONTENT, MARKS, SHARE
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.messages import BOX, HEAD, PARCEL, Advertisement, Announcement, Message
from folkmoot.secagg.parameters import MOST
from folkmoot.secagg.primitives import DIGEST, SIGNATURE, TAG
from folkmoot.secagg.state import PARTS, Stage, State
from folkmoot.secagg.wire import U32, Malformed
from tests.secagg.cohorts import EXCHANGES, RECEIPT, UNMASKING
from tests.secagg.fuzz.targets import CLIENT, COHORT, DECODERS, STORED, TERMS, Decoder, honest_inputs, honest_round

MESSAGES = [name for name in DECODERS if name not in STORED]
HONEST = {name: (honest_inputs()[name][0][0], honest_inputs()[name][0][1:]) for name in MESSAGES}  # size, content
STATES = [honest_round()[exchange, CLIENT][0] for exchange in EXCHANGES[1:]]
LISTS = {
    "neighbours": (HEAD, Advertisement.SIZE),
    "boxes": (HEAD + 16 * TERMS.threshold, BOX + MARKS),
    "delivery": (HEAD, PARCEL),
    "complaints": (HEAD, SIGNATURE),
    "accusations": (HEAD, SIGNATURE),
    "answers": (HEAD, CONTENT),
    "maskedvector": (HEAD + SIGNATURE, TAG),
    "consent": (HEAD, TAG),
    "consents": (HEAD, TAG),
    "unmasking": (HEAD, SHARE),
    "roll": (HEAD + 8, 0),
}  # where the count stands, and how much comes with each number


def check_malformed(decode: Decoder, data: bytes, size: int) -> None:
    with pytest.raises(Malformed):
        decode(data, size)


@pytest.mark.parametrize("name", MESSAGES)
def test_too_short_and_too_long(name: str) -> None:
    size, honest = HONEST[name]
    assert DECODERS[name](honest, size).encode() == honest
    for end in range(len(honest)):
        check_malformed(DECODERS[name], honest[:end], size)
    for more in (b"\0", b"\1", b"\xff" * 40, honest):
        check_malformed(DECODERS[name], honest + more, size)
    check_malformed(DECODERS[name], b"\0" + honest, size)


@pytest.mark.parametrize("name", MESSAGES)
def test_another_head(name: str) -> None:
    size, honest = HONEST[name]
    for place in range(6):  # protocol, version, kind
        for flip in range(1, 256):
            check_malformed(DECODERS[name], flip_byte(honest, place, flip), size)
    for place in range(6, HEAD):  # session and round: well-formed, but of another time or place
        other = DECODERS[name](flip_byte(honest, place, 1), size)
        assert isinstance(other, Message)
        with pytest.raises(Malformed):
            other.check_round(COHORT.announcement)


def flip_byte(data: bytes, place: int, by: int) -> bytes:
    return data[:place] + bytes([data[place] ^ by]) + data[place + 1 :]


@pytest.mark.parametrize("name", MESSAGES)
def test_one_kind_is_not_taken_for_another(name: str) -> None:
    for other in MESSAGES:
        if other != name:
            size, honest = HONEST[other]
            check_malformed(DECODERS[name], honest, size)


@pytest.mark.parametrize("name", LISTS)
def test_counts_and_order(name: str) -> None:
    (size, honest), (at, each) = HONEST[name], LISTS[name]
    (count,) = U32.unpack_from(honest, at)
    for wrong in (0, count - 1, count + 1, 2 * count + 1, 2**16, 2**31, 2**32 - 1):
        if wrong != count:
            check_malformed(DECODERS[name], honest[:at] + U32.pack(wrong) + honest[at + 4 :], size)
    first, second = (honest[at + 4 + k * (4 + each) :][: 4 + each] for k in (0, 1))
    for start in (second + first, first + first, second + second) if count > 1 else ():
        check_malformed(DECODERS[name], honest[: at + 4] + start + honest[at + 4 + len(start) :], size)
    if each:
        check_malformed(DECODERS[name], honest, count - 1)  # more than there may be


@pytest.mark.parametrize("state", STATES, ids=lambda state: State.decode(state).stage.name)
def test_states(state: bytes) -> None:
    assert State.decode(state).encode() == state
    for end in range(1, len(state)):
        check_malformed(DECODERS["state"], state[:end], 0)
    for more in (b"\0", state):
        check_malformed(DECODERS["state"], state + more, 0)
    for stage in (len(Stage), len(Stage) + 1, 128, 255):
        check_malformed(DECODERS["state"], bytes([stage]) + state[1:], 0)
    at = 1
    for _ in PARTS:
        size = U32.unpack_from(state, at)[0]
        for wrong in (size + 1, size + 2**16, 2**32 - 1):
            check_malformed(DECODERS["state"], state[:at] + U32.pack(wrong) + state[at + 4 :], 0)
        at += 4


BASE = State.decode(honest_round()[RECEIPT, CLIENT][0])
LAST = State.decode(honest_round()[UNMASKING, CLIENT][0])
WRONG_PARTS: list[State] = [
    replace(BASE, roll_hash=b""),
    replace(BASE, seed=bytes(31)),
    replace(BASE, advert=BASE.advert[:-1]),
    replace(BASE, packed_threshold=bytes(5)),
    replace(BASE, packed_threshold=U32.pack(0)),
    replace(BASE, packed_threshold=U32.pack(len(BASE.sealed) + 1)),
    replace(BASE, roll=BASE.roll[:-1]),
    replace(BASE, prints=BASE.prints[:-16]),
    replace(BASE, sealed={3: bytes(BOX)}),
    replace(BASE, mask_keys={3: bytes(31)}),
    replace(BASE, holders={3: bytes(31)}),
    replace(BASE, dealers={3: bytes(31)}),
    replace(BASE, held={3: bytes(95)}),
    replace(BASE, sharing=bytes(2)),
    replace(BASE, survivors=b"\xff"),
    replace(BASE, chosen=b"\0"),
    replace(BASE, announced=BASE.announced[:-1]),
    replace(BASE, ledger=BASE.ledger[:-1]),
    replace(LAST, survivors=b""),
    replace(LAST, held=dict(list(LAST.held.items())[1:])),  # shares and keys that are not of the same dealers
    replace(LAST, dealers=dict(list(LAST.dealers.items())[1:])),
    replace(LAST, stage=Stage.SHARED),
]


@pytest.mark.parametrize("state", WRONG_PARTS, ids=range(len(WRONG_PARTS)))
def test_a_state_with_a_part_that_cannot_be(state: State) -> None:
    check_malformed(DECODERS["state"], state.encode(), 0)


def test_a_client_that_was_never_asked_has_a_state() -> None:
    assert State.decode(b"") == State.decode(State().encode()) == State()
    assert Ledger.decode(b"") == Ledger()


ASKED = HEAD + 2 * DIGEST  # where an announcement's numbers begin: clients, length, most, room, largest
NUMBERS = Struct("<IIQIQ")
FINE = (6, 8, 600, 0, 0)
IMPOSSIBLE = [
    (MOST + 1, 8, 600, 0, 0),
    (6, 0, 600, 0, 0),
    (6, 2**31 + 1, 600, 0, 0),
    (6, 8, 0, 0, 0),
    (6, 8, 2**63, 0, 0),
    (6, 8, 600, 9, 0),
    (6, 2**20, 2**33, 5, 0),  # no bits are left to check items by
    (6, 8, 600, 0, 601),
]


@pytest.mark.parametrize("numbers", IMPOSSIBLE, ids=str)
def test_an_announcement_of_what_cannot_be(numbers: tuple[int, ...]) -> None:
    start = HONEST["announcement"][1][:ASKED]
    assert Announcement.decode(start + NUMBERS.pack(*FINE)).most == 600
    check_malformed(DECODERS["announcement"], start + NUMBERS.pack(*numbers), 0)
