"""A message on its way is written in another way that says the same. Whoever signs, hashes or compares messages could
then be shown two that differ and mean one thing, or two that look alike to one reader only.
What is written is read again as it was, and what is read can be written in one way.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.secagg.dealing import CONTENT, MARKS, SHARE
from folkmoot.secagg.keys import FINGERPRINT
from folkmoot.secagg.ledger import ENTRY, Ledger
from folkmoot.secagg.messages import (
    BOX,
    PARCEL,
    Accusations,
    Advertisement,
    Announcement,
    Answers,
    Boxes,
    Choice,
    Complaints,
    Consent,
    Consents,
    Delivery,
    MaskedVector,
    Neighbours,
    Roll,
    Sharers,
    Survivors,
    Unmasking,
    masked_vector,
)
from folkmoot.secagg.parameters import MOST
from folkmoot.secagg.primitives import SIGNATURE, TAG
from folkmoot.secagg.wire import U32, Malformed
from tests.secagg.fuzz.targets import COHORT, DECODERS, TERMS, VECTOR_SIZE, Written, honest_inputs


def fixed_bytes(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


def listings(size: int) -> st.SearchStrategy[dict[int, bytes]]:
    return st.dictionaries(NUMBER, fixed_bytes(size), max_size=5)


NUMBER = st.integers(0, 2**32 - 1)
HEADS = (fixed_bytes(16), NUMBER)
IDS = st.sets(NUMBER, min_size=4, max_size=4).map(lambda ids: b"".join(map(U32.pack, sorted(ids))))
MADE: dict[str, st.SearchStrategy[Written]] = {
    "announcement": st.builds(
        Announcement,
        *HEADS,
        fixed_bytes(32),
        fixed_bytes(32),
        st.integers(0, MOST),
        st.integers(1, 2**31),
        st.integers(1, 2**63 - 1),
    ),
    "advertisement": st.builds(
        Advertisement, *HEADS, NUMBER, fixed_bytes(32), fixed_bytes(32), fixed_bytes(32), fixed_bytes(64)
    ),
    "roll": st.builds(Roll, *HEADS, st.just(3), st.integers(1, 3), IDS, fixed_bytes(4 * FINGERPRINT)),
    "choice": st.builds(Choice, *HEADS, fixed_bytes(2), fixed_bytes(32), fixed_bytes(32)),
    "neighbours": st.builds(Neighbours, *HEADS, listings(Advertisement.SIZE)),
    "boxes": st.builds(Boxes, *HEADS, fixed_bytes(16 * TERMS.threshold), listings(BOX + MARKS)),
    "delivery": st.builds(Delivery, *HEADS, listings(PARCEL)),
    "complaints": st.builds(Complaints, *HEADS, listings(SIGNATURE)),
    "accusations": st.builds(Accusations, *HEADS, listings(SIGNATURE)),
    "answers": st.builds(Answers, *HEADS, listings(CONTENT)),
    "sharers": st.builds(Sharers, *HEADS, fixed_bytes(2)),
    "maskedvector": st.builds(MaskedVector, *HEADS, fixed_bytes(SIGNATURE), listings(TAG), fixed_bytes(VECTOR_SIZE)),
    "survivors": st.builds(Survivors, *HEADS, fixed_bytes(2)),
    "consent": st.builds(Consent, *HEADS, listings(TAG)),
    "consents": st.builds(Consents, *HEADS, listings(TAG), listings(TAG + SIGNATURE)),
    "unmasking": st.builds(Unmasking, *HEADS, listings(SHARE)),
    "ledger": st.builds(
        Ledger,
        st.integers(9, 2**32 - 1),
        st.integers(0, 9),
        st.integers(0, 3).flatmap(lambda many: fixed_bytes(many * ENTRY)),
    ),
}


def test_who_looks_on_reads_the_vector_that_the_server_reads() -> None:
    size, honest = honest_inputs()["maskedvector"][0][0], honest_inputs()["maskedvector"][0][1:]
    read = DECODERS["maskedvector"](honest, size)
    assert isinstance(read, MaskedVector)
    assert masked_vector(honest, COHORT.announcement) == read.vector == honest[-VECTOR_SIZE:]


def test_everything_that_is_sent_is_tried() -> None:
    assert MADE.keys() == DECODERS.keys() - {"state"}


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_written_is_read_again(name: str, data: st.DataObject) -> None:
    message = data.draw(MADE[name])
    assert DECODERS[name](message.encode(), 13) == message


@settings(max_examples=200)
@given(name=st.sampled_from(sorted(DECODERS)), data=st.data())
def test_what_decodes_is_written_in_one_way(name: str, data: st.DataObject) -> None:
    """An honest message in which any few bytes are changed."""
    chosen = data.draw(st.sampled_from([one for one in honest_inputs()[name] if len(one) > 1]))
    size, honest = chosen[0], chosen[1:]
    changed = bytearray(honest)
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(honest) - 1), st.integers(0, 255)), max_size=4)
    ):
        changed[place] = value
    try:
        found = DECODERS[name](bytes(changed), size)
    except Malformed:
        assert changed != honest
        return
    assert found.encode() == bytes(changed)
    assert DECODERS[name](found.encode(), size) == found
