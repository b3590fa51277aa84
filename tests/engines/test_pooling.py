"""Parties that speak for their clients: the simulator's sums, whoever is gone; and wrong input."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.population import Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import (
    Bundle,
    Census,
    FolderStore,
    InProcess,
    PartyPolicy,
    PooledFederation,
    PooledParty,
)
from folkmoot.foundation.coins import PublicCoins
from folkmoot.secagg import Roster
from tests.coins import toss_for
from tests.engines.crowds import crowd, gradient, make_identities
from tests.engines.pools import (
    CLIENTS,
    ITEMS,
    OPEN,
    SIZES,
    TERMS,
    VICTIM,
    ask_all,
    ask_some,
    make_engine,
    make_parties,
    reasons,
)
from tests.questions.kinds import KINDS, NOISY

# Sums.


@pytest.mark.parametrize("name", [name for name in KINDS if name not in NOISY])
def test_sums_are_those_of_a_simulation(name: str) -> None:
    clients = crowd(CLIENTS)
    query, simulation = KINDS[name](clients), fm.Simulation(clients)
    asks = [ask_all(query), ask_some(query, np.arange(1, CLIENTS, 2), number=1)]
    for ask in asks:
        said, expected = make_engine(make_parties(clients, OPEN))(ask), simulation(ask)
        np.testing.assert_array_equal(said.total, expected.total)
        assert said.equals(expected) or query.voluntary


@pytest.mark.parametrize(
    "method", [fm.Auto(cohort=20), fm.FedCG(3), fm.FedCG(3, cohort=30, juries=2, jury=20)], ids=repr
)
def test_a_whole_run_is_that_of_a_simulation(method: fm.Federated, tmp_path: Path) -> None:
    clients = crowd(CLIENTS)
    engine = make_engine(make_parties(clients, PartyPolicy(TERMS, largest_share=1.0)))  # of 20 clients, some have many
    result = fm.solve(None, 3, method, engine=engine, seed=2, transcript=tmp_path / "run")
    alone = fm.solve(clients, 3, method, seed=2)
    assert (result.selected, result.order) == (alone.selected, alone.order)
    assert result.estimate == alone.estimate
    assert fm.verify(tmp_path / "run").estimate == result.estimate
    assert all(one.measured for one in result.rounds or ())


def test_weights_are_public_and_counts_that_a_server_chooses_need_trust() -> None:
    clients = crowd(CLIENTS, weights=np.arange(CLIENTS) % 3 + 1)
    ask = Ask(gradient(ITEMS), Population.of(clients).everyone, Purpose.SEARCH, "test", 0)
    parties = make_parties(clients)
    assert make_engine(parties)(ask).equals(fm.Simulation(clients)(ask))  # as the census says, which all have signed
    drawn = Ask(gradient(ITEMS, 2), Population.of(clients).draw(40, PublicCoins(3)), Purpose.SEARCH, "test", 1)
    assert make_engine(parties)(drawn).lost
    assert reasons(parties) == {"some clients would count more often than others"}
    assert make_engine(make_parties(clients, OPEN))(drawn).equals(fm.Simulation(clients)(drawn))


class Losing(InProcess):
    """One party is gone from some exchange on."""

    stage, gone = "", -1

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        inbox = super().__call__(outbox, deadline)
        if {sent.stage for sent in outbox.values()} == {self.stage}:
            inbox.pop(self.gone, None)
        return inbox


@pytest.mark.parametrize("stage", ["question", "keys", "choice", "shares", "receipt", "vector", "consent", "unmasking"])
def test_one_party_may_be_gone(stage: str) -> None:
    clients, query = crowd(CLIENTS), gradient(ITEMS)
    parties = make_parties(clients)
    exchange = Losing(parties)
    exchange.stage, exchange.gone = stage, VICTIM
    said = make_engine(parties, exchange)(ask_all(query))
    left = np.arange(CLIENTS)
    if stage not in ("consent", "unmasking"):  # by then its vector was sent
        left = np.delete(left, np.arange(sum(SIZES[:VICTIM]), sum(SIZES[: VICTIM + 1])))
    expected = query.total(clients[left], left, np.ones(len(left), dtype=np.int64), toss_for(query))
    assert not said.lost
    np.testing.assert_array_equal(said.total, expected)
    assert (said.count, said.clients) == (len(left), len(left))


def test_parties_without_anybody_in_the_cohort_hide_the_others() -> None:
    """Only two of five parties hold anybody of the cohort; the others send nothing but masks."""
    clients = crowd(CLIENTS)
    query, ids = KINDS["drift"](clients), np.arange(sum(SIZES[:3]), CLIENTS)
    parties = make_parties(clients, PartyPolicy(TERMS, largest_share=1.0))
    ask = ask_some(query, ids)
    assert make_engine(parties)(ask).equals(fm.Simulation(clients)(ask))
    assert all(len(party.ledger) == 1 for party in parties.values())


@pytest.mark.parametrize("most", [1.0, None])
@pytest.mark.parametrize("cohort", [None, 40])
def test_an_answer_without_one_party_is_doubted_by_as_much_as_it_might_say(
    cohort: int | None, most: float | None
) -> None:
    """The party that is away gains nothing from what the others like, and has larger values than they."""
    apart = np.repeat(np.arange(len(SIZES)), SIZES) == VICTIM
    values = np.where(apart[:, None], np.arange(ITEMS) >= 9, np.arange(ITEMS) < 3).astype(float)
    clients = fm.FacilityLocation(values * np.linspace(0.5, 1, ITEMS), most=most)
    parties = make_parties(clients, PartyPolicy(TERMS, largest_share=1.0))
    exchange = Losing(parties)
    exchange.stage, exchange.gone = "question", VICTIM
    result = fm.solve(None, 3, fm.Auto(cohort=cohort), engine=make_engine(parties, exchange), seed=1)
    truth, estimate = clients.mean_values(result.selected), result.estimate
    assert estimate is not None
    assert estimate.value > truth + 0.05  # those who answered are not like everyone
    assert estimate.low <= truth < estimate.high
    best = fm.solve(clients, 3, fm.Greedy()).value
    assert truth / best >= estimate.ratio
    assert best <= estimate.bound_high
    assert (estimate.ratio > 0.4) == (most is not None)  # nobody knows how large the values of a missing party are


# Wrong input.


def test_too_few_parties_are_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    clients = crowd(CLIENTS)
    census = Census(Population.of(clients), (30, 20, 10))
    identities = make_identities(3)
    roster = Roster({one: key.public_key().public_bytes_raw() for one, key in identities.items()})
    with pytest.raises(
        fm.InputError, match=r"^parties: 3 parties are too few if 20% .* drop out, at least one each; 5 are enough"
    ):
        PooledFederation(census, roster, InProcess({}), TERMS)
    with pytest.raises(fm.InputError, match=r"^roster: needs a key for each party"):
        PooledFederation(Census(Population.of(clients), SIZES), roster, InProcess({}), TERMS)
    with pytest.raises(fm.InputError, match=r"^sizes: needs the numbers of clients of all parties, 60 in total"):
        Census(Population.of(clients), (30, 20))
    make: Callable[..., PooledParty] = PooledParty
    for shard, number, whole, sentence in (
        (clients[:5], 0, census, "^census: does not count 5 clients at party 0"),
        (clients[:30], 3, census, "^census: does not count 30 clients at party 3"),
        (crowd(30, items=5), 0, census, "^census: is about 12 items, but this party's clients are about 5"),
        (clients[:12], 0, Census(Population.of(clients), SIZES), "^roster: needs as many parties as the census"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            make(shard, number, identities.get(number, identities[0]), roster, whole)
    with pytest.raises(fm.InputError, match="not on the roster"):
        make(clients[:30], 0, identities[1], roster, census)
    with closing(FolderStore(tmp_path)) as store:
        assert store.read_members("none") == b""
