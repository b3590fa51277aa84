"""A client advertises keys that agree on a known secret with everybody, keys that stand there twice, somebody else's
keys, or keys that it did not sign. Honest clients refuse such a neighbour, so one liar could empty the round.
The server checks what every client will check, leaves the liar off the roll, names it, and the others go on. Of two
with the same keys one may be honest: both stay away, and neither is named.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from folkmoot.secagg.faults import Fault
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import Advertisement, Roll
from folkmoot.secagg.primitives import sign
from tests.secagg.attacks.client_tricks import play, rehearsal, say
from tests.secagg.cohorts import CHOICE, KEYS, Federation, Outbox

COHORT = Federation(12, length=8, policy=Policy(fewest=5, dropout=0.2))
LIAR, VICTIM = COHORT.ids[3], COHORT.ids[8]
ANNOUNCED = COHORT.announcement.encode()
P = 2**255 - 19
ORDER_8 = (
    0x00B8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
    0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
)
LOW_ORDER = [number.to_bytes(32, "little") for number in (0, 1, *ORDER_8, P - 1, P, P + 1)]
TOP_BIT = [bytes((*key[:31], key[31] | 0x80)) for key in LOW_ORDER]  # the same points: the top bit does not count


def advert(client: int) -> Advertisement:
    return Advertisement.decode(rehearsal(COHORT)[KEYS, client].reply)


def add_signature(entry: Advertisement, client: int = LIAR, announced: bytes = ANNOUNCED) -> bytes:
    identity = COHORT.identities[client]
    return replace(entry, signature=sign(identity, "advertisement", announced, *entry.content())).encode()


def check_left_off(message: bytes, fault: Fault | None = Fault.KEYS, also: int | None = None) -> None:
    sent: dict[int, Outbox] = {}
    result = play(COHORT, say(LIAR, KEYS, message), sent=sent)
    others = [one for one in COHORT.ids if one not in (LIAR, also)]
    assert Roll.decode(sent[CHOICE][others[0]]).ids.tolist() == others
    assert result.survivors == tuple(others)
    assert result.excluded == ({LIAR: fault} if fault else {})
    COHORT.check(result)


@pytest.mark.parametrize("key", [*LOW_ORDER, *TOP_BIT], ids=bytes.hex)
def test_keys_of_low_order(key: bytes) -> None:
    check_left_off(add_signature(replace(advert(LIAR), mask_key=key)))
    check_left_off(add_signature(replace(advert(LIAR), channel_key=key)))


def test_one_key_for_both_purposes() -> None:
    mine = advert(LIAR)
    check_left_off(add_signature(replace(mine, channel_key=mine.mask_key)))


Forge = Callable[[Advertisement, Advertisement], Advertisement]  # of (its own, the victim's)
COPIES: dict[str, Forge] = {
    "mask key": lambda mine, other: replace(mine, mask_key=other.mask_key),
    "channel key": lambda mine, other: replace(mine, channel_key=other.channel_key),
    "crosswise": lambda mine, other: replace(mine, channel_key=other.mask_key, mask_key=other.channel_key),
}


@pytest.mark.parametrize("copy", COPIES)
def test_keys_of_another_client(copy: str) -> None:
    check_left_off(add_signature(COPIES[copy](advert(LIAR), advert(VICTIM))), fault=None, also=VICTIM)


UNSIGNED = {
    "not signed": replace(advert(LIAR), signature=bytes(64)).encode(),
    "signed for other keys": replace(advert(LIAR), signature=advert(VICTIM).signature).encode(),
    "signed before a change": replace(advert(LIAR), commitment=bytes(32)).encode(),
    "signed by another": add_signature(advert(LIAR), client=VICTIM),
    "for another round": add_signature(advert(LIAR), announced=COHORT.announce_later().encode()),
    "another's own": advert(VICTIM).encode(),
}
UNREADABLE = {
    "of another round": add_signature(replace(advert(LIAR), round=2)),
    "of another session": add_signature(replace(advert(LIAR), session=bytes(16))),
    "nothing": b"",
}


@pytest.mark.parametrize("wrong", UNSIGNED)
def test_keys_that_are_not_signed(wrong: str) -> None:
    check_left_off(UNSIGNED[wrong], Fault.UNSIGNED)


@pytest.mark.parametrize("wrong", UNREADABLE)
def test_what_are_no_keys_of_this_round(wrong: str) -> None:
    check_left_off(UNREADABLE[wrong], Fault.UNREADABLE)


def test_keys_in_anothers_name() -> None:
    check_left_off(add_signature(replace(advert(LIAR), id=VICTIM)))
