"""What a server learns of one client from sums over nearly the same clients, and from three that differ by many.

Each party sees the whole cohort of a question, so it can refuse one that nearly repeats an earlier one.
"""

from contextlib import closing
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.population import Cohort, Population, count_apart
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, read_reply
from folkmoot.engines import FolderStore, PartyPolicy
from folkmoot.engines.past_cohorts import PastCohort
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, Ids
from folkmoot.privacy.noise import choose_sd
from folkmoot.questions import Gains, Gradient
from folkmoot.questions.hidden import Direction
from tests.engines.crowds import crowd
from tests.engines.pools import CLIENTS, ITEMS, SIZES, TERMS, ask_all, ask_some, make_engine, make_parties, reasons

POLICY = PartyPolicy(TERMS, largest_share=1.0)
CARELESS = PartyPolicy(TERMS, largest_share=1.0, clients=1)
TARGET = 30
EVERYONE = np.arange(CLIENTS)
REST = np.delete(EVERYONE, TARGET)


def worth(draw: int, items: Ids | None = None) -> Gains:
    """What each item is worth alone, in the same numbers whatever the draw."""
    named = np.arange(ITEMS) if items is None else items
    return Gains(members=np.zeros(ITEMS, dtype=bool), items=named, most=5.0, draw=draw)


def add_up(parties: Any, asks: list[Ask]) -> list[Array | None]:
    """For each question the sum of all answers, in the data's units; None: there was no sum."""
    engine, sums = make_engine(parties), list[Array | None]()
    for number, ask in enumerate(asks):
        said = engine(Ask(ask.query, ask.cohort, ask.purpose, ask.label, number))
        sums.append(None if said.lost else read_reply(ask.query, said).mean * said.count)
    return sums


def test_everyone_and_then_everyone_but_one() -> None:
    """The difference is one client's exact row. Parties that ask for no more than one client give it away."""
    clients, asks = crowd(CLIENTS, ITEMS), [ask_all(worth(1)), ask_some(worth(2), REST)]
    whole, rest = add_up(make_parties(clients, CARELESS), asks)
    assert whole is not None
    assert rest is not None
    np.testing.assert_allclose(whole - rest, clients.gains(()).toarray()[TARGET], atol=1e-6)
    for order in (asks, asks[::-1]):
        parties = make_parties(clients, POLICY)
        assert add_up(parties, order)[1] is None
        assert reasons(parties) == {
            "the clients asked differ by 1 from those of an earlier round; 10 are needed, or none"
        }


@pytest.mark.parametrize("fewer", range(1, 11))
def test_ten_clients_must_differ(fewer: int) -> None:
    parties = make_parties(crowd(CLIENTS, ITEMS), POLICY)
    rest = add_up(parties, [ask_all(worth(1)), ask_some(worth(2), EVERYONE[fewer:])])[1]
    assert (rest is None) == (fewer < 10)


def test_as_many_clients_but_others() -> None:
    """Five are exchanged for five others: ten differ. Four for four are too few."""
    for exchanged in (4, 5):
        asks = [ask_some(worth(1), EVERYONE[exchanged:]), ask_some(worth(2), EVERYONE[:-exchanged])]
        parties = make_parties(crowd(CLIENTS, ITEMS), POLICY)
        assert (add_up(parties, asks)[1] is None) == (exchanged < 5)


def test_items_in_another_order_are_no_other_question() -> None:
    """Parties answer a question once; lists of items that mean the same in any order have one order."""
    parties = make_parties(crowd(CLIENTS, ITEMS), POLICY)
    with pytest.raises(fm.InputError, match="items: needs numbers in increasing order"):
        make_engine(parties)(ask_all(worth(1, np.arange(ITEMS)[::-1].copy())))


def test_another_process_remembers_whom_it_was_asked_about(tmp_path: Path) -> None:
    clients = crowd(CLIENTS, ITEMS)
    for ask in (ask_all(worth(1)), ask_some(worth(2), REST)):
        stores = [FolderStore(tmp_path / str(number)) for number in range(len(SIZES))]
        parties = make_parties(clients, POLICY, stores.__getitem__)
        sums = add_up(parties, [ask])
        for store in stores:
            with closing(store):
                pass
    assert sums == [None]


def test_counts_that_differ_by_one_client() -> None:
    """Where clients may count unequally, one that counts more often in one of two sums is in their difference."""
    times = np.ones(CLIENTS, dtype=np.int64)
    times[:2] = 2
    more = times.copy()
    more[TARGET] = 2
    policy = PartyPolicy(TERMS, uneven=True, largest_share=1.0)
    parties = make_parties(crowd(CLIENTS, ITEMS), policy)
    asks = [ask_some(worth(one), EVERYONE, often) for one, often in enumerate((times, more, np.ones_like(times)))]
    assert [said is None for said in add_up(parties, asks)] == [
        False,
        True,
        True,
    ]  # the last differs by 2 from the first


def test_three_sums_still_isolate_one_client() -> None:
    """What docs/secagg.md says remains: two sums over halves without the target, one over everyone. All pairs differ by
    29 clients or more, no party refuses, and the target's row is exact. Only noise prevents this.
    """
    clients = crowd(CLIENTS, ITEMS)
    parties = make_parties(clients, POLICY)
    asks = [ask_some(worth(1), REST[::2]), ask_some(worth(2), REST[1::2]), ask_all(worth(3))]
    first, second, whole = add_up(parties, asks)
    assert not reasons(parties)
    assert first is not None
    assert second is not None
    assert whole is not None
    np.testing.assert_allclose(whole - first - second, clients.gains(()).toarray()[TARGET], atol=1e-6)


@pytest.mark.parametrize("cohort", [30, 59, None])
def test_honest_runs_ask_cohorts_that_no_party_refuses(cohort: int | None) -> None:
    """30 of 60 clients are drawn so that they differ; instead of 59, which cannot differ enough, all are asked."""
    clients = crowd(CLIENTS, ITEMS, most=5.0)
    for seed in range(5):
        parties = make_parties(clients, POLICY)
        engine = make_engine(parties)
        fm.solve(None, 3, fm.FedCG(4, cohort=cohort, polish=0), engine=engine, seed=seed)
        assert not reasons(parties)
        assert engine.population.asks_everyone(cohort) == (cohort != 30)


@pytest.mark.parametrize(("clients", "size"), [(24, 16), (40, 20), (60, 30), (60, 5), (12, 4), (1_000, 3)])
def test_everyone_is_asked_where_cohorts_would_be_too_much_alike(clients: int, size: int) -> None:
    """Two cohorts of `size` that share all but j clients differ by 2j."""
    population = Population(ITEMS, clients, apart=10)
    ways = sum(comb(size, j) * comb(clients - size, j) for j in range(1, 5))
    assert population._find_chance_alike(size) == pytest.approx(ways / comb(clients, size), rel=1e-9)
    assert population.asks_everyone(size) == (ways / comb(clients, size) > 1e-6)
    assert not Population(ITEMS, clients).asks_everyone(size)


def test_cohorts_are_compared_client_by_client() -> None:
    """Bits and counts alike, against the definition: 400 random pairs, of which many share most clients, and some are
    multiples of each other.
    """
    rng = np.random.default_rng(3)

    def draw() -> Cohort:
        ids = np.flatnonzero(rng.random(50) < rng.choice([0.1, 0.9]))
        return Cohort.of(ids, rng.integers(1, 3, len(ids)) if rng.random() < 0.5 else None)

    def count(cohort: Cohort) -> Ids:
        times = np.zeros(50, dtype=np.int64)
        times[cohort.ids] = 1 if cohort.times is None else cohort.times
        return times

    def leave(one: Ids, other: Ids) -> int:
        """Who is left at the best multiple."""
        return min(int((times * one != often * other).sum()) for times in range(1, 3) for often in range(1, 3))

    for one, other in ((draw(), draw()) for _ in range(400)):
        apart = leave(count(one), count(other))
        assert count_apart(one, other) == apart
        assert PastCohort.of("", one, 50).count_apart(PastCohort.of("", other, 50)) == apart
        population = Population(ITEMS, 50, apart=10)
        assert population.is_apart(one, [other]) == (apart == 0 or apart >= 10)


def test_a_question_of_another_kind_is_no_way_around() -> None:
    direction = Gradient(x=np.zeros(ITEMS), whole=5.0, single=5.0, bits=20, stochastic=False, coins=PublicCoins(1))
    parties = make_parties(crowd(CLIENTS, ITEMS), POLICY)
    assert add_up(parties, [ask_all(worth(1)), ask_some(direction, REST)])[1] is None


def test_noise_of_the_servers_choice_is_no_way_around() -> None:
    """With μ = 100, the most that a question can ask for, noise is 2 % of an answer. A party without a budget answers
    it, and compares cohorts all the same.
    """

    def direction(cap: float) -> Direction:
        hiding: dict[str, Any] = {"mu": 100.0, "sd": choose_sd(100.0, 2), "honest": 2}
        nothing, everything = np.zeros(ITEMS, dtype=bool), np.arange(ITEMS)
        return Direction(members=nothing, items=everything, most=1.0, cap=cap, **hiding)

    clients, asks = crowd(CLIENTS, ITEMS), [ask_all(direction(1e6)), ask_some(direction(2e6), REST, number=1)]
    engine = make_engine(make_parties(clients, CARELESS))
    whole, rest = (read_reply(ask.query, engine(ask)).found for ask in asks)
    row = clients.gains(()).toarray()[TARGET]
    np.testing.assert_allclose(whole - rest, row / np.linalg.norm(row), atol=0.15)  # 8 deviations
    parties = make_parties(clients, POLICY)
    engine = make_engine(parties)
    assert [engine(ask).lost for ask in asks] == [False, True]
    assert "the clients asked differ by 1 from those of an earlier round; 10 are needed, or none" in reasons(parties)


@pytest.mark.parametrize("uneven", [0.0, 0.05])
def test_weights_that_are_nearly_equal_are_no_way_around(uneven: float) -> None:
    """Everybody by weight, then everybody but one, each once: from a multiple of one sum follows the target's row, and
    what clients weigh otherwise. One party can see to it that weights are not all the same.
    """
    weights = 1.0 + uneven * np.random.default_rng(3).random(CLIENTS)
    weights[-1] = 0.5
    clients = crowd(CLIENTS, ITEMS).reweight(weights)
    everyone = Population.of(clients).everyone
    assert everyone.times is not None
    asks = [Ask(worth(1), everyone, Purpose.SEARCH, "test", 0), ask_some(worth(2), REST, number=1)]
    whole, rest = add_up(make_parties(clients, CARELESS), asks)
    assert whole is not None
    assert rest is not None
    if not uneven:
        rows = clients.gains(()).toarray()
        np.testing.assert_allclose(whole / everyone.times[0] - rest, rows[TARGET] - rows[-1] / 2, atol=1e-5)
    for order in (asks, asks[::-1]):
        parties = make_parties(clients, POLICY)
        assert add_up(parties, order)[1] is None
        assert reasons(parties) == {
            "the clients asked differ by 2 from those of an earlier round; 10 are needed, or none"
        }


def test_clients_that_a_party_made_up_count_like_others() -> None:
    """What docs/secagg.md says remains: two sums differ by the target and nine clients of a party that works with the
    server. What these say it knows, so the target's row is exact, and no party refuses.
    """
    clients = crowd(CLIENTS, ITEMS)
    made_up, parties = EVERYONE[-9:], make_parties(clients, POLICY)
    whole, rest = add_up(parties, [ask_all(worth(1)), ask_some(worth(2), np.setdiff1d(REST, made_up))])
    assert not reasons(parties)
    assert whole is not None
    assert rest is not None
    rows = clients.gains(()).toarray()
    np.testing.assert_allclose(whole - rest - rows[made_up].sum(axis=0), rows[TARGET], atol=1e-6)
