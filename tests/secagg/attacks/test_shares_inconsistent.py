"""An owner deals shares that do not fit: of a seed it did not commit to, of a key it did not advertise, of no
polynomial at all, or wrong ones to a few. It could so decide, by who drops out, which secret comes back.
Shares of no polynomial miss the line, their holders complain, and the owner is left out before anybody relies on it.
Shares of another secret fit until they are put together: then there is no sum, since a seed must match its commitment
and a key its public key, and the owner is named with certainty.
"""

from dataclasses import replace

import numpy as np
import pytest

from folkmoot.secagg import shamir
from folkmoot.secagg.dealing import COLUMNS, CONTENT, SHARE, Dealing, count_coins, deal, polynomials
from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.keys import mask_seed, own_seed
from folkmoot.secagg.messages import Complaints, Unmasking
from folkmoot.secagg.primitives import SEED
from folkmoot.secagg.shamir import PRIME
from tests.secagg.attacks.client_tricks import (
    MANY,
    Moment,
    Table,
    Trick,
    dealing,
    holders,
    lose,
    play,
    rubbish,
    say,
    shift,
    spare,
    terms,
)
from tests.secagg.cohorts import ANSWERS, RECEIPT, SESSION, SHARES, UNMASKING, VECTOR, Federation, Outbox

COHORT = Federation(12, length=8)
OWNER, CHOSEN, SPARE = COHORT.ids[5], holders(COHORT, COHORT.ids[5]), spare(COHORT)
DEGREE, THRESHOLD = terms(COHORT).degree, terms(COHORT).threshold
FAULTS = ["another seed", "never bytes", "too high a degree", "no polynomial"]


def make_bad_dealing(secret: bytes, fault: str, which: int, table: Table) -> Dealing:
    """An honest dealing but for one of both secrets."""
    state = table.state
    seeds = [own_seed(state.seed), mask_seed(state.seed)]
    assert seeds[which] == secret
    coins = rubbish(1, size=count_coins(THRESHOLD))
    if fault == "another seed":
        seeds[which] = bytes(SEED)
    fine = deal(seeds[0], seeds[1], DEGREE, THRESHOLD, coins)
    if fault == "another seed":
        return fine
    shares = np.frombuffer(b"".join(fine.contents), dtype="<u8").reshape(DEGREE, 2, COLUMNS).copy()
    coefficients = [half.copy() for half in fine.coefficients]
    if fault == "never bytes":  # a limb of more than seven bytes is no part of a seed
        shares[:, which, 0] = (shares[:, which, 0] + np.uint64(2**60)) % np.uint64(PRIME)
        coefficients[which][0, 0] += np.uint64(2**60)
    elif fault == "too high a degree":
        higher = polynomials(secret, THRESHOLD + 1, rubbish(2, size=count_coins(THRESHOLD + 1) // 2))
        out = np.empty((DEGREE, COLUMNS), dtype=np.uint64)
        shamir.evaluate(higher, out)
        shares[:, which] = out
        coefficients[which] = higher[:-1]
    else:
        shares[:, which] = np.random.default_rng(8).integers(0, PRIME, (DEGREE, COLUMNS), dtype=np.uint64)
    data = shares.tobytes()
    contents = [data[at : at + CONTENT] for at in range(0, len(data), CONTENT)]
    return Dealing(contents, (coefficients[0], coefficients[1]))


def deal_badly(which: int, fault: str) -> Trick:
    def badly(table: Table) -> bytes:
        secret = (own_seed, mask_seed)[which](table.state.seed)
        made = make_bad_dealing(secret, fault, which, table)
        boxes = {one: table.seal_box(one, content) for one, content in zip(CHOSEN, made.contents, strict=True)}
        return table.dealing(boxes, made.lines)

    return dealing([OWNER], badly)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("which", [0, 1], ids=["own seed", "mask key"])
@pytest.mark.parametrize("dead", [False, True], ids=["alive", "gone"])
def test_a_secret_that_is_not_the_one_promised(fault: str, which: int, dead: bool) -> None:
    """One that is no polynomial's is found at once. One of another secret ends the round where that secret is needed,
    and is never noticed where it is not.
    """
    dealt = deal_badly(which, fault)

    def trick(moment: Moment) -> bytes | None:
        return lose({(VECTOR, OWNER)} if dead else ())(moment) and dealt(moment)

    if fault in ("another seed", "never bytes") and dead is bool(which):
        with pytest.raises(
            AggregationFailed, match=f"client {OWNER} dealt shares of a secret that is not its own"
        ) as failed:
            play(COHORT, trick)
        assert failed.value.excluded == {OWNER: Fault.SECRET}
        assert failed.value.answered
        return
    result = play(COHORT, trick)
    certain = fault in ("too high a degree", "no polynomial")
    assert result.excluded == ({OWNER: Fault.DEALING} if certain else {})
    assert (OWNER in result.survivors) is not (certain or dead)
    COHORT.check(result)


@pytest.mark.parametrize("which", [0, 1], ids=["own seed", "mask key"])
@pytest.mark.parametrize("wrong", [1, SPARE, SPARE + 1, THRESHOLD])
@pytest.mark.parametrize("dead", [False, True], ids=["alive", "gone"])
def test_wrong_shares_for_a_few_of_the_holders(wrong: int, which: int, dead: bool) -> None:
    """Their marks fit. The owner can show the holders nothing better, and is not asked where they are too many to be
    shown anything; honest holders are not blamed for it.
    """
    victims = CHOSEN[:wrong]

    def few(table: Table) -> bytes:
        contents = {one: shift(text, which) if one in victims else text for one, text in table.contents.items()}
        return table.dealing({one: table.seal_box(one, content) for one, content in contents.items()})

    dealt, sent = dealing([OWNER], few), dict[int, Outbox]()

    def trick(moment: Moment) -> bytes | None:
        return lose({(VECTOR, OWNER)} if dead else ())(moment) and dealt(moment)

    result = play(COHORT, trick, sent=sent)
    assert list(sent.get(ANSWERS, ())) == ([OWNER] if wrong < THRESHOLD else [])
    assert OWNER not in result.survivors
    assert result.excluded == ({OWNER: Fault.DEALING} if wrong >= THRESHOLD else {})
    COHORT.check(result)


@pytest.mark.parametrize("wrong", [SPARE, SPARE + 1])
def test_wrong_shares_for_accomplices_who_do_not_complain(wrong: int) -> None:
    """They fit their marks, so that nobody who gives them back is blamed; but not the line, and so are left out."""
    accomplices, contents = CHOSEN[:wrong], dict[int, bytes]()

    def few(table: Table) -> bytes:
        contents.update({one: shift(text) if one in accomplices else text for one, text in table.contents.items()})
        return table.dealing({one: table.seal_box(one, content) for one, content in contents.items()})

    def trick(moment: Moment) -> bytes | None:
        if moment.client not in accomplices:
            return dealing([OWNER], few)(moment)
        if moment.exchange == RECEIPT:
            return Complaints(SESSION, 1, {}).encode()
        if moment.exchange == UNMASKING:
            told = Unmasking.decode(moment.reply, MANY)
            return replace(told, shares={**told.shares, OWNER: contents[moment.client][:SHARE]}).encode()
        return moment.reply

    if wrong > SPARE:
        with pytest.raises(AggregationFailed, match=f"{DEGREE - wrong} shares of client {OWNER}'s secret") as failed:
            play(COHORT, trick)
        assert failed.value.excluded == {}
        return
    result = play(COHORT, trick)
    assert OWNER in result.survivors
    assert result.excluded == {}
    COHORT.check(result)


def test_an_honest_dealing_by_hand_is_the_clients_own() -> None:
    """Or else the dealings above would be wrong for another reason."""
    seen = list[bytes]()

    def same(table: Table) -> bytes:
        boxes = {one: table.seal_box(one, content) for one, content in table.contents.items()}
        seen.append(table.dealing(boxes))
        assert seen[-1] == table.moment.reply
        return seen[-1]

    COHORT.check(play(COHORT, dealing([OWNER], same)))
    COHORT.check(play(COHORT, say(OWNER, SHARES, seen[0])))
