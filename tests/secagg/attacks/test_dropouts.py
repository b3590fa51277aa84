"""Clients fall silent before a message reaches them, or their answers are lost, at any two moments of a round.
A server that mistook who is in the sum would take off masks that are not there, and give out noise as a sum.
The masks that are left follow from whose vectors arrived, and from nothing else.
"""

from dataclasses import replace
from itertools import combinations_with_replacement, product

import pytest

from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.member import Policy
from folkmoot.secagg.messages import Roll
from folkmoot.secagg.together import aggregate
from tests.secagg.attacks.client_tricks import Moment, lose, play
from tests.secagg.cohorts import KEYS, REGULAR, UNMASKING, VECTOR, Federation, Outbox

TERMS = Policy(fewest=5, dropout=0.25)
COHORT = Federation(8, length=8, policy=TERMS)
WAYS = list(product(REGULAR, ["before", "after"]))  # the message is lost, or the answer to it is
Dropout = tuple[int, str]


def check_round_without(federation: Federation, gone: dict[int, Dropout]) -> None:
    def to_clients(exchange: int, outbox: Outbox) -> Outbox:
        return {one: message for one, message in outbox.items() if gone.get(one) != (exchange, "before")}

    def trick(moment: Moment) -> bytes | None:
        return None if gone.get(moment.client) == (moment.exchange, "after") else moment.reply

    result = play(federation, trick, to_clients=to_clients)
    early = {one for one, (exchange, _) in gone.items() if exchange <= VECTOR}
    assert result.survivors == tuple(one for one in federation.ids if one not in early)
    assert result.excluded == {}
    federation.check(result)


@pytest.mark.parametrize("room", [0, 60])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_one_client_gone(way: Dropout, room: int) -> None:
    federation = Federation(8, length=60, room=room, policy=TERMS)
    check_round_without(federation, {federation.ids[5]: way})


@pytest.mark.parametrize(("first", "second"), list(combinations_with_replacement(WAYS, 2)), ids=str)
def test_two_clients_gone(first: Dropout, second: Dropout) -> None:
    check_round_without(COHORT, {COHORT.ids[2]: first, COHORT.ids[6]: second})


@pytest.mark.parametrize("exchange", REGULAR)
def test_where_nearly_all_are_gone_there_is_no_sum(exchange: int) -> None:
    with pytest.raises(AggregationFailed):
        play(COHORT, lose({(exchange, one) for one in COHORT.ids[4:]}))


@pytest.mark.parametrize("exchange", [KEYS, UNMASKING])
def test_where_all_are_gone_there_is_no_sum(exchange: int) -> None:
    with pytest.raises(AggregationFailed):
        play(COHORT, lose({(exchange, one) for one in COHORT.ids}))


def test_clients_gone_together_with_all_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody in the sum shares a mask with them: their keys are not asked for, and could not be brought back."""
    federation = Federation(16, length=8, policy=Policy(fewest=3, corrupt=0, dropout=0, security=1))
    halves = set(federation.ids[:8]), set(federation.ids[8:])

    def drawn(roll: Roll, client: int, _state: bytes, _seed: bytes) -> set[int]:
        (half,) = (half for half in halves if client in half)
        return set(sorted(half - {client})[: roll.degree])

    for side in ("client", "server"):
        monkeypatch.setattr(f"folkmoot.secagg.{side}.draw_neighbours", drawn)
    result = play(federation, lose({(VECTOR, one) for one in halves[1]}))
    assert result.survivors == tuple(federation.ids[:8])
    federation.check(result)


def test_a_client_that_refuses_is_gone() -> None:
    """One with stricter terms than the others stays away; so does nobody else."""
    strict = COHORT.ids[3]
    member = replace(COHORT.members[strict], policy=Policy(fewest=9))
    result = aggregate(COHORT.announcement, {**COHORT.members, strict: member}, COHORT.answer)
    assert result.survivors == tuple(one for one in COHORT.ids if one != strict)
    COHORT.check(result)
