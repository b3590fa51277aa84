"""What subtracting two sums shows of a client, and that a run says so."""

from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot import Auto, Coverage, DiscreteGreedy, FedCG, Simulation, resume, solve, verify
from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.exposure import SumMembers, smallest_difference
from folkmoot.conversation.population import Cohort, Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Difference, Result, Round
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.foundation.coins import NO_COINS, PublicCoins
from folkmoot.questions import Gains, Gradient, Magnitude, Query, Votes
from folkmoot.questions.gains import ask_singletons
from tests.conversation.around import Around

CLIENTS, ITEMS = 60, 200


def homes(clients: int = CLIENTS, items: int = ITEMS) -> np.ndarray:
    """Which items each client holds: six or so."""
    return np.random.default_rng(8).random((clients, items)) < 6 / items


class Server(Around):
    """Keeps to the protocol, and remembers what it was told: questions, sums, and who is in them."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.view: list[tuple[Ask, Sum]] = []

    def add_up(self, ask: Ask, control: Control) -> Sum:
        self.view.append((ask, super().add_up(ask, control)))
        return self.view[-1][1]

    def deduced(self) -> set[tuple[int, int]]:
        """(client, item) pairs: the client surely holds the item.

        Gains only fall as a set grows. So where v is in the later of two sums and else they are over the same clients,
        their difference is at most v's answer: if it is a whole 1, v holds the item.
        """
        found = set()
        gains = [(ask.query, answer) for ask, answer in self.view if isinstance(ask.query, Gains)]
        for (before, earlier), (after, later) in combinations(gains, 2):
            there = [np.ones(CLIENTS, dtype=bool) if one.present is None else one.present for one in (earlier, later)]
            apart = np.flatnonzero(there[0] != there[1])
            if len(apart) == 1 and there[1][apart[0]]:
                old, new = (
                    query.make_reply(one.total, 1, 1, 1).mean for query, one in ((before, earlier), (after, later))
                )  # sums: a client that holds an item adds 1
                found |= {(int(apart[0]), int(item)) for item in np.flatnonzero(np.abs(new - old - 1) < 1e-3)}
        return found


def test_subtracting_sums_shows_what_single_clients_hold() -> None:
    """Everybody asked in every round, and one client in fifty missing by chance: nobody has to break any rule."""
    held = homes()
    server = Server(Simulation(Coverage(held, keep_empty=True), dropout=0.02, seed=1))
    result = solve(None, 12, DiscreteGreedy(expected_answers=CLIENTS), engine=server, seed=1)
    stolen = server.deduced()
    assert len(stolen) >= 10
    assert len({client for client, _ in stolen}) >= 3
    assert all(held[pair] for pair in stolen)  # every one of them is right
    assert result.smallest_difference is not None
    assert result.smallest_difference.clients == 1
    assert "Warning. Two of the sums differ by 1 client (rounds " in str(result)
    assert "subtracting them shows what that client answered" in str(result)


def test_fresh_cohorts_of_many_clients_differ_by_most_of_them() -> None:
    objective = Coverage(homes(20_000), keep_empty=True)
    engine = Simulation(objective, dropout=0.02, seed=1)
    result = solve(objective, 6, Auto(cohort=100, jury=200), engine=engine, seed=1)
    assert result.smallest_difference is not None
    assert result.smallest_difference.clients > 150
    assert "subtracting" not in str(result)


def test_where_everybody_answers_every_time_nothing_differs() -> None:
    objective = Coverage(homes(), keep_empty=True)
    result = solve(objective, 4, FedCG(3))
    assert result.smallest_difference is None
    assert "differ by" not in str(result)


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, 30])
def test_every_way_to_add_up_says_the_same(size: int | None) -> None:
    objective = Coverage(homes(), keep_empty=True)
    engines = [Simulation(objective, secure, dropout=0.05, seed=2) for secure in ("plain", "ideal", "real")]
    told = [solve(None, 4, FedCG(3, cohort=size), engine=engine, seed=3).smallest_difference for engine in engines]
    assert told[0] is not None
    assert told[0] == told[1] == told[2]


def test_it_is_the_same_after_a_stop_and_when_it_is_checked(tmp_path: Path) -> None:
    objective = Coverage(homes(), keep_empty=True)
    engine = Simulation(objective, dropout=0.05, seed=2)

    class Stopped(Exception):
        pass

    def stop(done: int, _: int, __: Round) -> None:
        if done == 7:
            raise Stopped

    whole = solve(objective, 8, Auto(cohort=None), engine=engine, transcript=tmp_path / "whole")
    with pytest.raises(Stopped):
        solve(objective, 8, Auto(cohort=None), engine=engine, transcript=tmp_path / "stopped", progress=stop)
    apart = whole.smallest_difference
    assert apart is not None
    again = [
        resume(tmp_path / "stopped", engine=engine),
        verify(tmp_path / "stopped", engine=engine),
        verify(tmp_path / "whole"),  # by the sums alone
        Result.from_json(whole.to_json()),
    ]
    assert [one.smallest_difference for one in again] == [apart] * 4


# The definition.


def counted(one: SumMembers) -> Counter[int]:
    """How often each client counts."""
    ids = range(one.cohort.size) if one.cohort.ids is None else one.cohort.ids.tolist()
    times = [1] * one.cohort.size if one.cohort.times is None else one.cohort.times.tolist()
    present = np.broadcast_to(one.present, one.cohort.size).tolist()
    return Counter({who: often for who, often, there in zip(ids, times, present, strict=True) if there})


def by_definition(sums: list[SumMembers]) -> Difference | None:
    found = []
    for a, b in combinations(sums, 2):
        first, second = counted(a), counted(b)
        apart = sum(first[client] != second[client] for client in first | second)
        if a.question == b.question and apart:
            found.append(Difference(apart, (a.number, b.number)))
    return min(found, key=lambda one: (one.clients, one.rounds), default=None)


@given(st.data(), st.integers(1, 150), st.booleans())
def test_it_is_the_fewest_clients_by_which_two_sums_differ(data: st.DataObject, clients: int, weighted: bool) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    weights = rng.integers(1, 4, clients).astype(float) if weighted else None
    population = Population(5, clients, weights)
    sums = []
    for number in range(data.draw(st.integers(0, 8))):
        cohort = population.draw(data.draw(st.sampled_from([None, 1, clients // 2 or 1, clients])), PublicCoins(number))
        marks = None if rng.random() < 0.3 else np.packbits(rng.random(cohort.size) < 0.8)
        sums.append(SumMembers(data.draw(st.sampled_from(["worth", "Magnitude"])), number, cohort, marks))
    assert smallest_difference(sums, clients) == by_definition(sums)


def test_which_sums_can_be_compared() -> None:
    """All that tell what items are worth, from whatever set, with however many of them; else only like with like."""
    nothing = np.zeros(5, dtype=bool)
    gains = Gains(members=nothing, items=np.array([0, 2]), most=1.0)
    point = np.full(5, 0.1)
    gradient = Gradient(x=point, whole=1.0, coins=NO_COINS, single=1.0, bits=4, stochastic=True)
    votes = Votes(x=point, whole=1.0, coins=NO_COINS, votes=2, sum=1.0, bits=4)

    queries: list[Query[Any]] = [gains, ask_singletons(5, 1.0), gradient, votes, Magnitude()]

    def question(query: Query[Any]) -> str:
        return SumMembers.of(
            Ask(query, Cohort(None, None, 9, 9), Purpose.SEARCH, "", 0), Sum(np.zeros(1, dtype=np.int64), 9, 9, 9)
        ).question

    asked = [question(one) for one in queries]
    assert [one == other for one, other in pairwise(asked)] == [True, True, False, False]
