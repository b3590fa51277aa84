"""An owner deals shares that do not fit: of a seed it did not commit to, of a key it did not advertise, of no
polynomial at all, or wrong ones to a few. It could so decide, by who drops out, which secret comes back.
A recovered seed must match its commitment and a recovered key its public key, or there is no sum. Who of two lied,
the owner that dealt a wrong share or the holder that gave it, nobody can tell: `liars` names holders.
"""

import numpy as np
import pytest

from folkmoot.secagg import shamir
from folkmoot.secagg.primitives import SEED
from folkmoot.secagg.server import AggregationFailed
from folkmoot.secagg.state import State
from tests.secagg.attacks.client_tricks import (
    VECTOR,
    Deal,
    Moment,
    correctable,
    dealing,
    holders,
    lost,
    lying,
    play,
    terms,
)
from tests.secagg.cohorts import Federation

COHORT = Federation(12, length=8)
OWNER = COHORT.ids[5]


def split(secret: bytes, degree: int, threshold: int) -> shamir.Numbers:
    rng = np.random.default_rng(7)
    return shamir.split(secret, degree, threshold, rng.bytes(shamir.bytes_needed(SEED, threshold)))


def bad(secret: bytes, degree: int, threshold: int, fault: str) -> shamir.Numbers:
    if fault == "another seed":
        return split(bytes(SEED), degree, threshold)
    if fault == "too high a degree":
        return split(secret, degree, threshold + 1)
    if fault == "never bytes":  # a limb of more than seven bytes is no part of a seed
        return split(secret, degree, threshold) + np.uint64(2**60)
    return np.random.default_rng(8).integers(0, shamir.PRIME, (degree, 5), dtype=np.uint64)


def dealt_badly(secret: str, fault: str) -> Deal:
    def deal(state: State, degree: int, threshold: int) -> tuple[shamir.Numbers, shamir.Numbers]:
        own, masking = (split(seed, degree, threshold) for seed in (state.own_seed, state.mask_seed))
        if secret == "own seed":
            return bad(state.own_seed, degree, threshold, fault), masking
        return own, bad(state.mask_seed, degree, threshold, fault)

    return deal


@pytest.mark.parametrize("fault", ["another seed", "too high a degree", "never bytes", "no polynomial"])
@pytest.mark.parametrize("secret", ["own seed", "mask key"])
@pytest.mark.parametrize("dead", [False, True], ids=["alive", "gone"])
def test_a_secret_that_is_not_the_one_promised(fault: str, secret: str, dead: bool) -> None:
    """It ends the round where that secret is needed, and is never noticed where it is not."""
    dealt = dealing(COHORT, [OWNER], dealt_badly(secret, fault))

    def trick(moment: Moment) -> bytes | None:
        return lost({(VECTOR, OWNER)} if dead else ())(moment) and dealt(moment)

    if dead is (secret == "mask key"):
        with pytest.raises(AggregationFailed, match=f"shares of client {OWNER}'s secret do not bring it back"):
            play(COHORT, trick)
        return
    result = play(COHORT, trick)
    assert result.liars == ()
    COHORT.check(result)


@pytest.mark.parametrize("wrong", [1, correctable(COHORT), correctable(COHORT) + 1])
def test_wrong_shares_for_a_few_of_the_holders(wrong: int) -> None:
    victims = holders(COHORT, OWNER)[:wrong]

    def deal(state: State, degree: int, threshold: int) -> tuple[shamir.Numbers, shamir.Numbers]:
        own, masking = split(state.own_seed, degree, threshold), split(state.mask_seed, degree, threshold)
        own[:wrong] = np.random.default_rng(9).integers(0, shamir.PRIME, (wrong, 5), dtype=np.uint64)
        return own, masking

    trick = dealing(COHORT, [OWNER], deal)
    if wrong > correctable(COHORT):
        with pytest.raises(AggregationFailed, match="do not bring it back"):
            play(COHORT, trick)
        return
    result = play(COHORT, trick)
    assert result.liars == tuple(victims)  # honest holders of what a liar dealt
    COHORT.check(result)


def test_liars_that_agree_with_each_other_do_not_change_the_sum() -> None:
    """More holders than can be put right move their shares to another polynomial with the same secret,
    p + x·Π(x − h), on which honest holders h lie too. They get the other honest ones called liars, which is not
    prevented; but the secret that comes back is the right one.
    """
    chosen, threshold = holders(COHORT, OWNER), terms(COHORT).threshold
    point = {holder: place for place, holder in enumerate(chosen, start=1)}
    lying_on, framed, liars = chosen[-(threshold - 2) :], chosen[:2], chosen[2 : -(threshold - 2)]
    assert len(liars) > correctable(COHORT)

    def lie(moment: Moment, owner: int, share: bytes) -> bytes:
        if owner != OWNER:
            return share
        shift = x = point[moment.client]
        for other in lying_on:
            shift = shift * (x - point[other]) % shamir.PRIME
        moved = [(int(limb) + shift) % shamir.PRIME for limb in shamir.from_bytes([share])[0]]
        return shamir.to_bytes(np.array(moved, dtype=np.uint64))

    result = play(COHORT, lying(liars, lie))
    assert result.liars == tuple(framed)
    COHORT.check(result)
