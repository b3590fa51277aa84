"""Just as many of a client's neighbours fall silent at the end as it can bear, or one more.
One too few shares must not pass for enough: what they interpolate to is a number like any other.
The server counts the shares before it combines them, and checks what comes out.
"""

import pytest

from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.messages import Unmasking
from tests.secagg.attacks.client_tricks import MANY, Moment, holders, play, spare
from tests.secagg.cohorts import UNMASKING, VECTOR, Federation

COHORT = Federation(60, length=4)
OWNER = COHORT.ids[20]


def drop_shares(owner: int, message: bytes) -> bytes:
    told = Unmasking.decode(message, MANY)
    left = {one: share for one, share in told.shares.items() if one != owner}
    return Unmasking(told.session, told.round, left).encode()


@pytest.mark.parametrize("missing", [0, 1], ids=["threshold left", "one fewer"])
@pytest.mark.parametrize("dead", [False, True], ids=["own seed", "mask key"])
@pytest.mark.parametrize("way", ["gone", "one share withheld"])
def test_exactly_the_threshold_is_enough(missing: int, dead: bool, way: str) -> None:
    silent = holders(COHORT, OWNER)[: spare(COHORT) + missing]

    def trick(moment: Moment) -> bytes | None:
        if dead and (moment.exchange, moment.client) == (VECTOR, OWNER):
            return None
        if moment.exchange == UNMASKING and moment.client in silent:
            return None if way == "gone" else drop_shares(OWNER, moment.reply)
        return moment.reply

    if missing:
        with pytest.raises(AggregationFailed, match=f"shares of client {OWNER}'s secret came back") as failed:
            play(COHORT, trick)
        assert failed.value.answered
        assert failed.value.excluded == {}
        return
    result = play(COHORT, trick)
    assert (OWNER in result.survivors) is not dead
    COHORT.check(result)
