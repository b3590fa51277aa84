"""Holders give a share that is genuine, but of another client, or of the other of a client's two secrets.
Each is a right value of some polynomial, so it could be taken for right; and both kinds of share together would
unmask the vector. A share counts for the owner and the secret that its mark names; any other is left out.
"""

import pytest

from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.state import State
from tests.secagg.attacks.client_tricks import Lie, Moment, lie_about_shares, lose, play, spare
from tests.secagg.cohorts import VECTOR, Federation

COHORT = Federation(12, length=8)
FEW = COHORT.ids[: spare(COHORT)]
DEAD = COHORT.ids[7]


def share_of_other_secret(moment: Moment, owner: int, share: bytes) -> bytes:
    own, masking = State.decode(moment.before).shares[owner]
    return masking if share == own else own


def share_of_next_owner(moment: Moment, owner: int, _share: bytes) -> bytes:
    shares = State.decode(moment.before).shares
    owners = sorted(shares)
    following = owners[(owners.index(owner) + 1) % len(owners)]
    return shares[following][following == DEAD]


def share_of_one_owner(moment: Moment, _owner: int, _share: bytes) -> bytes:
    shares = State.decode(moment.before).shares
    return shares[max(shares)][1]


LIES = [share_of_other_secret, share_of_next_owner, share_of_one_owner]


@pytest.mark.parametrize("dead", [False, True], ids=["own seeds", "and a mask key"])
@pytest.mark.parametrize("lie", LIES)
def test_as_many_liars_as_can_be_done_without(lie: Lie, dead: bool) -> None:
    liars = FEW if not dead else FEW[:1]  # whoever is gone gives no shares: fewer can be done without
    told = lie_about_shares(liars, lie)
    result = play(COHORT, told if not dead else lambda moment: lose({(VECTOR, DEAD)})(moment) and told(moment))
    assert result.excluded == dict.fromkeys(liars, Fault.SHARE)
    COHORT.check(result)


@pytest.mark.parametrize("lie", LIES)
def test_with_more_there_is_no_sum(lie: Lie) -> None:
    with pytest.raises(AggregationFailed, match="came back"):
        play(COHORT, lie_about_shares(COHORT.ids[: len(FEW) + 4], lie))
