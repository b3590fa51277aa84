"""Holders change the shares they give back: a bit, all of it, or the same number written another way.
Masks from a wrong seed would turn the sum into noise without anybody noticing.
Up to (shares − threshold) / 2 wrong shares of a secret are put right and their holders named; with more there is no
sum, since a seed that comes out must be the one its owner committed to.
"""

import numpy as np
import pytest

from folkmoot.secagg import shamir
from folkmoot.secagg.messages import SHARE
from folkmoot.secagg.server import AggregationFailed
from tests.secagg.attacks.client_tricks import Lie, Moment, correctable, honest, lying, play, terms
from tests.secagg.cohorts import Federation

COHORT = Federation(12, length=8)
FEW, ONE = COHORT.ids[: correctable(COHORT)], COHORT.ids[1]


def flipped(bit: int) -> Lie:
    return lambda _moment, _owner, share: (int.from_bytes(share, "little") ^ (1 << bit)).to_bytes(SHARE, "little")


def written_another_way(_moment: Moment, _owner: int, share: bytes) -> bytes:
    """The same numbers modulo the prime, but not below it."""
    return shamir.to_bytes(shamir.from_bytes([share])[0] + shamir.P)


def random(moment: Moment, owner: int, _share: bytes) -> bytes:
    return np.random.default_rng([moment.client, owner]).bytes(SHARE)


def zeros(_moment: Moment, _owner: int, _share: bytes) -> bytes:
    return bytes(SHARE)


def primes(_moment: Moment, _owner: int, _share: bytes) -> bytes:
    return shamir.to_bytes(np.full(5, shamir.P))


LIES = [random, zeros, primes, flipped(0), flipped(64 * 4 + 63)]


@pytest.mark.parametrize("bit", [0, 30, 55, 56, 60, 61, 63])
@pytest.mark.parametrize("limb", [0, 4])
def test_one_bit(bit: int, limb: int) -> None:
    result = play(COHORT, lying([ONE], flipped(64 * limb + bit)))
    assert result.liars == (ONE,)
    assert result.survivors == tuple(COHORT.ids)
    COHORT.check(result)


@pytest.mark.parametrize("lie", [*LIES, written_another_way])
def test_as_many_liars_as_can_be_put_right(lie: Lie) -> None:
    result = play(COHORT, lying(FEW, lie))
    assert result.liars == tuple(FEW)
    COHORT.check(result)


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("more", [1, 4, 8])
def test_with_more_there_is_no_sum(lie: Lie, more: int) -> None:
    with pytest.raises(AggregationFailed, match="do not bring it back"):
        play(COHORT, lying(COHORT.ids[: len(FEW) + more], lie))


def test_a_lie_that_nobody_needs_does_no_harm() -> None:
    """The last holders' shares are not looked at where those before them are right."""
    spare = terms(COHORT).degree - terms(COHORT).threshold
    result = play(COHORT, lying(COHORT.ids[-spare + 1 :], random))
    assert result.liars == ()
    COHORT.check(result)


def test_nobody_is_called_a_liar_where_nobody_lies() -> None:
    assert play(COHORT, honest).liars == ()
