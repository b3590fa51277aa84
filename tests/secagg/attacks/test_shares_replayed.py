"""Holders give back the shares that they held for the same owners in an earlier round of the session.
They were right once; if seeds or polynomials lived longer than a round, they would still be, and the server would
have shares of two rounds to combine. Every round has fresh seeds, under fresh commitments and marks.
"""

import pytest

from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.messages import Unmasking
from tests.secagg.attacks.client_tricks import (
    MANY,
    Moment,
    lie_about_shares,
    play,
    rehearsal,
    reply_honestly,
    spare,
)
from tests.secagg.cohorts import UNMASKING, Federation

COHORT = Federation(12, length=8)
FEW = COHORT.ids[: spare(COHORT)]


def old_share(moment: Moment, owner: int, share: bytes) -> bytes:
    """An owner that did not choose this holder then has no old share with it."""
    old = Unmasking.decode(rehearsal(COHORT, seed=1)[UNMASKING, moment.client].reply, MANY)
    return old.shares.get(owner, share)


def test_old_shares_are_left_out() -> None:
    result = play(COHORT, lie_about_shares(FEW, old_share), announcement=COHORT.announce_later())
    assert result.excluded == dict.fromkeys(FEW, Fault.SHARE)
    COHORT.check(result)


def test_of_old_shares_alone_there_is_no_sum() -> None:
    with pytest.raises(AggregationFailed, match="came back"):
        play(COHORT, lie_about_shares(COHORT.ids, old_share), announcement=COHORT.announce_later())


def test_an_old_message_as_a_whole_counts_as_none() -> None:
    """So many are left out that too few shares remain."""

    def old(moment: Moment) -> bytes:
        return rehearsal(COHORT)[UNMASKING, moment.client].reply if moment.exchange == UNMASKING else moment.reply

    with pytest.raises(AggregationFailed, match="0 shares of client"):
        play(COHORT, old, announcement=COHORT.announce_later())
    COHORT.check(play(COHORT, reply_honestly, announcement=COHORT.announce_later()))
