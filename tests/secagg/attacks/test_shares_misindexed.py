"""Holders give the share that belongs to another holder: a right value of the right polynomial, at another's point.
If the server let a holder say where it stands, one could stand in two places, and two could trade places unseen.
Where a holder stands follows from its number among those its owner chose, and its mark is of its share alone.
"""

import pytest

from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.messages import Unmasking
from tests.secagg.attacks.client_tricks import (
    MANY,
    Moment,
    Trick,
    holders,
    lie_about_shares,
    play,
    rehearsal,
    spare,
)
from tests.secagg.cohorts import UNMASKING, Federation

COHORT = Federation(12, length=8)
FEW = COHORT.ids[: spare(COHORT)]


def share_of(holder: int, owner: int) -> bytes | None:
    return Unmasking.decode(rehearsal(COHORT)[UNMASKING, holder].reply, MANY).shares.get(owner)


def trade(pairs: dict[int, int]) -> Trick:
    """Each gives what its partner holds, where it holds anything."""

    def lie(moment: Moment, owner: int, share: bytes) -> bytes:
        return share_of(pairs[moment.client], owner) or share

    return lie_about_shares(pairs, lie)


def test_the_rounds_of_a_rehearsal_are_the_same() -> None:
    """Or else the shares below would be wrong for another reason."""
    seen = dict[int, bytes]()

    def watching(moment: Moment) -> bytes:
        seen[moment.client] = moment.reply
        return moment.reply

    play(COHORT, watching)
    assert seen == {one: rehearsal(COHORT)[UNMASKING, one].reply for one in COHORT.ids}


@pytest.mark.parametrize("partner", [1, 5, 11])
def test_one_that_stands_at_anothers_point(partner: int) -> None:
    result = play(COHORT, trade({COHORT.ids[0]: COHORT.ids[partner]}))
    assert result.excluded == {COHORT.ids[0]: Fault.SHARE}
    COHORT.check(result)


def test_two_that_trade_places() -> None:
    a, b = FEW
    result = play(COHORT, trade({a: b, b: a}))
    assert result.excluded == {a: Fault.SHARE, b: Fault.SHARE}
    COHORT.check(result)


def test_with_more_there_is_no_sum() -> None:
    ids = COHORT.ids
    with pytest.raises(AggregationFailed, match="came back"):
        play(COHORT, trade({one: ids[(place + 1) % 6] for place, one in enumerate(ids[:6])}))


def test_shares_for_owners_that_chose_others_are_not_looked_at() -> None:
    """A holder offers a share of everybody, its own secrets too; what it does not hold is ignored."""
    liar = COHORT.ids[0]
    strangers = [one for one in COHORT.ids if liar not in holders(COHORT, one)]
    assert liar in strangers

    def trick(moment: Moment) -> bytes:
        if (moment.exchange, moment.client) != (UNMASKING, liar):
            return moment.reply
        told = Unmasking.decode(moment.reply, MANY)
        offered = dict.fromkeys(strangers, next(iter(told.shares.values())))
        return Unmasking(told.session, told.round, {**told.shares, **offered}).encode()

    result = play(COHORT, trick)
    assert result.excluded == {}
    COHORT.check(result)
