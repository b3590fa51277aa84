"""RandGreeDi where parties speak for their clients: the parties are the shards."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.population import Population
from folkmoot.engines import Bundle, PartyPolicy
from folkmoot.engines.pooling import write_pooled_question
from folkmoot.foundation.coins import PublicCoins
from folkmoot.questions import PartyBase
from tests.coins import toss_for
from tests.conversation.around import Around
from tests.engines.crowds import crowd, make_federation, make_party
from tests.engines.pools import (
    CLIENTS,
    ITEMS,
    SIZES,
    TERMS,
    VICTIM,
    ask_all,
    ask_some,
    make_engine,
    make_parties,
    reasons,
)
from tests.engines.test_pooling import Losing

WILLING = PartyPolicy(TERMS, apart=True)
METHOD = fm.RandGreeDi(3)


def bases(deal: bool = True, **other: Any) -> PartyBase:
    usual: dict[str, Any] = {"sizes": np.array(SIZES), "items": None, "coins": PublicCoins(3)}
    return PartyBase(matroid=fm.Uniform(ITEMS, 3), deal=deal, **(usual | other))


@pytest.mark.parametrize("deal", [False, True])
def test_sums_are_those_of_a_simulation(deal: bool) -> None:
    clients = crowd(CLIENTS)
    for ask in (ask_all(bases(deal)), ask_some(bases(deal), np.arange(1, CLIENTS, 2))):
        expected = fm.Simulation(clients)(ask)
        assert expected.total.sum() > 0
        assert make_engine(make_parties(clients, WILLING))(ask).equals(expected)
        assert fm.Simulation(clients, "real", policy=fm.secagg.Policy(fewest=3))(ask).equals(expected)


def test_a_party_that_is_gone_is_not_in_the_sum() -> None:
    clients, ask = crowd(CLIENTS), ask_all(bases(deal=False))
    parties = make_parties(clients, WILLING)
    exchange = Losing(parties)
    exchange.stage, exchange.gone = "vector", VICTIM
    said = make_engine(parties, exchange)(ask)
    left = np.flatnonzero(ask.query.group_clients() != VICTIM)
    np.testing.assert_array_equal(
        said.total,
        ask.query.total(clients[left], left, np.ones(len(left), dtype=np.int64), toss_for(ask.query)),
    )
    assert said.count == len(left)


class Divided(Around):
    """A simulation of clients that live at parties."""

    @property
    def population(self) -> Population:
        return replace(self.inside.population, sizes=SIZES)


def test_a_whole_run_is_that_of_a_simulation() -> None:
    clients = crowd(CLIENTS, most=5.0)
    engine = make_engine(make_parties(clients, WILLING))
    result = fm.solve(None, 3, METHOD, engine=engine, seed=2)
    alone = fm.solve(None, 3, METHOD, engine=Divided(fm.Simulation(clients)), seed=2)
    assert (result.selected, result.estimate) == (alone.selected, alone.estimate)
    dealt = [one for one in result.rounds or () if one.label.startswith("shards")]
    assert [(one.asked, one.answered) for one in dealt] == [(CLIENTS, CLIENTS)] * 2


def test_runs_are_stored_with_the_parties(tmp_path: Any) -> None:
    clients = crowd(CLIENTS, most=5.0)
    engine = make_engine(make_parties(clients, WILLING))
    result = fm.solve(None, 3, METHOD, engine=engine, seed=2, transcript=tmp_path / "run")
    assert fm.verify(tmp_path / "run") == result


def test_a_party_agrees_before_its_base_is_shown() -> None:
    """Items are dealt to the parties by public coins, so the sum says which of them each party chose."""
    clients, query = crowd(CLIENTS), bases()
    shown = make_engine(make_parties(clients, WILLING))(ask_all(query)).total
    owner = PublicCoins(3).generator().integers(0, len(SIZES), ITEMS)
    mine = np.flatnonzero(query.group_clients() == VICTIM)
    own = query.total(clients[mine], mine, np.ones(len(mine), dtype=np.int64), toss_for(query))
    np.testing.assert_array_equal(np.where(owner == VICTIM, shown, 0), own)
    parties = make_parties(clients)
    assert make_engine(parties)(ask_all(query)).lost
    assert reasons(parties) == {"the sum would show each party's answer apart from the others'"}
    assert not make_engine(make_parties(clients))(ask_all(bases(deal=False))).lost


def test_other_parties_than_those_of_the_census_are_refused() -> None:
    parties = make_parties(crowd(CLIENTS), WILLING)
    wrong = bases(sizes=np.array([*SIZES[:3], SIZES[3] + 1, SIZES[4] - 1]))
    with pytest.raises(fm.InputError, match="deals clients to groups"):
        make_engine(parties)(ask_all(wrong))
    question = write_pooled_question(ask_all(wrong), bytes(16), parties[0].census)
    assert not parties[0].reply(Bundle({0: b""}, question)).letters
    assert reasons(parties) == {"the question is for other groups of clients than the parties"}


@pytest.mark.parametrize(
    "sizes",
    [[], [0, CLIENTS], [-1, CLIENTS + 1], [CLIENTS + 1], [1] * (CLIENTS + 1), [2**62, 2**62, 2**62, 2**62], [1.0]],
)
def test_sizes_are_numbers_of_clients(sizes: list[Any]) -> None:
    made = np.array(sizes, dtype=None if sizes else np.int64)
    with pytest.raises(fm.InputError, match=r"^sizes: "):
        bases(sizes=made).check(ITEMS, CLIENTS)
    bases().check(ITEMS, CLIENTS)
    bases().check(ITEMS)


def test_a_party_of_single_clients_needs_whole_parties() -> None:
    clients, halves = crowd(CLIENTS), (np.arange(0, CLIENTS, 2), np.arange(1, CLIENTS, 2))
    parties = [make_party(clients, ids) for ids in halves]
    assert make_federation(clients, parties)(ask_some(bases(), np.arange(CLIENTS))).lost
    why = "this party does not hold all clients of this client's group"
    assert {refusal.why for party in parties for refusal in party.refusals} == {why}
