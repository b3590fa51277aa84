"""Holders change the shares they give back: a bit, all of it, or the same number written another way.
Masks from a wrong seed would turn the sum into noise without anybody noticing.
Every share has a mark. One that does not fit its mark is left out and its giver named; so long as enough right ones
are left, the sum is right, and if not there is none.
"""

import numpy as np
import pytest

from folkmoot.secagg import shamir
from folkmoot.secagg.dealing import COLUMNS, SHARE
from folkmoot.secagg.faults import AggregationFailed, Fault
from tests.secagg.attacks.client_tricks import Lie, Moment, lie_about_shares, play, reply_honestly, spare
from tests.secagg.cohorts import Federation

COHORT = Federation(12, length=8)
FEW, ONE = COHORT.ids[: spare(COHORT)], COHORT.ids[1]


def flip(bit: int) -> Lie:
    return lambda _moment, _owner, share: (int.from_bytes(share, "little") ^ (1 << bit)).to_bytes(SHARE, "little")


def rewrite_share(_moment: Moment, _owner: int, share: bytes) -> bytes:
    """The same numbers modulo the prime, but not below it."""
    return shamir.to_bytes(shamir.from_bytes([share])[0] + shamir.P)


def random_share(moment: Moment, owner: int, _share: bytes) -> bytes:
    return np.random.default_rng([moment.client, owner]).bytes(SHARE)


def zeros(_moment: Moment, _owner: int, _share: bytes) -> bytes:
    return bytes(SHARE)


def primes(_moment: Moment, _owner: int, _share: bytes) -> bytes:
    return shamir.to_bytes(np.full(COLUMNS, shamir.P))


LIES = [random_share, zeros, primes, flip(0), flip(64 * 4 + 63), rewrite_share]


@pytest.mark.parametrize("bit", [0, 30, 55, 56, 60, 61, 63])
@pytest.mark.parametrize("column", [0, 4, COLUMNS - 1])
def test_one_bit(bit: int, column: int) -> None:
    result = play(COHORT, lie_about_shares([ONE], flip(64 * column + bit)))
    assert result.excluded == {ONE: Fault.SHARE}
    assert result.survivors == tuple(COHORT.ids)
    COHORT.check(result)


@pytest.mark.parametrize("lie", LIES)
def test_as_many_liars_as_can_be_done_without(lie: Lie) -> None:
    result = play(COHORT, lie_about_shares(FEW, lie))
    assert result.excluded == dict.fromkeys(FEW, Fault.SHARE)
    COHORT.check(result)


def test_liars_at_the_end_of_the_order_are_named_too() -> None:
    """Shares are all looked at, needed or not."""
    last = COHORT.ids[-len(FEW) :]
    result = play(COHORT, lie_about_shares(last, random_share))
    assert result.excluded == dict.fromkeys(last, Fault.SHARE)
    COHORT.check(result)


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("more", [4, 10])
def test_with_more_there_is_no_sum(lie: Lie, more: int) -> None:
    """And those who are named are liars all the same."""
    liars = COHORT.ids[: len(FEW) + more]
    with pytest.raises(AggregationFailed, match="came back") as failed:
        play(COHORT, lie_about_shares(liars, lie))
    assert failed.value.excluded
    assert set(failed.value.excluded) <= set(liars)
    assert set(failed.value.excluded.values()) == {Fault.SHARE}
    assert failed.value.answered


def test_nobody_is_called_a_liar_where_nobody_lies() -> None:
    assert play(COHORT, reply_honestly).excluded == {}
