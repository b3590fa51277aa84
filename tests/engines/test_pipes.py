"""Clients in two other processes give the simulator's sums, and a process that is killed costs only its own clients."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest

from folkmoot import DiscreteGreedy, FedCG, Simulation, solve
from folkmoot.conversation.engine import Control
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Federation
from folkmoot.engines.exchange import QUESTION
from folkmoot.questions import Appraisal, Gains, Gradient, Magnitude, Votes
from folkmoot.secagg.together import STAGES
from tests.coins import toss_for
from tests.engines.crowds import TERMS, Listener, ask_everyone, crowd, gradient, make_roster, voluntary
from tests.engines.pipes import DIE, IGNORE, PipeExchange, Shard

CLIENTS = 22
LARGE, SMALL = np.delete(np.arange(CLIENTS), np.s_[1:13:2]), np.arange(1, 13, 2)  # 16 and 6 clients


def begin(folder: Path, weights: Any = None) -> tuple[Federation, PipeExchange]:
    shards = {name: Shard(CLIENTS, ids, folder / str(name), weights) for name, ids in enumerate((LARGE, SMALL))}
    exchange = PipeExchange(shards)
    population = Population.of(crowd(CLIENTS, weights=weights))
    return Federation(population, make_roster(CLIENTS), {0: LARGE, 1: SMALL}, exchange, TERMS), exchange


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Federation, PipeExchange]]:
    """Two children for all tests that do not mind what was asked before."""
    federation, exchange = begin(tmp_path_factory.mktemp("parties"))
    yield federation, exchange
    assert set(exchange.close()) == {0}  # they end by themselves when their pipe is closed


METHODS = [FedCG(2, cohort=18), FedCG(2, cohort=18, answer="votes"), DiscreteGreedy(expected_answers=14)]


def test_every_sum_is_that_of_the_simulator(lasting: tuple[Federation, PipeExchange]) -> None:
    federation, _ = lasting
    objective, kinds = crowd(CLIENTS), set[tuple[type, bool]]()
    for method in METHODS:
        simulated = Listener(Simulation(objective))
        solve(objective, 2, method, engine=simulated, seed=5)
        for ask, expected in zip(simulated.asks, simulated.sums, strict=True):
            kind = type(ask.query), ask.query.voluntary
            if kind not in kinds:  # one of each kind
                said = federation(Ask(ask.query, ask.cohort, ask.purpose, ask.label, len(kinds)))
                assert said.equals(expected), ask.label
                assert (said.clients, said.asked) == (expected.clients, expected.asked)
                assert said.cost is not None
                assert said.cost.measured
            kinds.add(kind)
    everyone = {(kind, False) for kind in (Gradient, Votes, Magnitude, Appraisal)}
    assert kinds >= everyone | {(Gains, True)}


def test_a_whole_run_ends_as_in_the_simulator(tmp_path: Path) -> None:
    """Where clients do not weigh the same."""
    weights = np.random.default_rng(1).integers(1, 5, CLIENTS)
    federation, exchange = begin(tmp_path, weights)
    objective, method = crowd(CLIENTS, weights=weights), FedCG(2, cohort=30, polish=1)
    found, expected = (
        solve(objective, 2, method, engine=engine, seed=5) for engine in (federation, Simulation(objective))
    )
    exchange.close()
    assert found.selected == expected.selected
    assert found.estimate == expected.estimate
    assert found.rounds is not None
    assert all(one.measured and one.up > 0 for one in found.rounds)


@pytest.mark.parametrize("stage", [QUESTION, *STAGES])
def test_a_party_killed_in_an_exchange_costs_its_own_answers(
    stage: str, lasting: tuple[Federation, PipeExchange]
) -> None:
    federation, exchange = lasting
    objective, number = crowd(CLIENTS), 1_000 + 2 * [QUESTION, *STAGES].index(stage)
    exchange.orders[1, stage] = DIE
    said = federation(ask_everyone(CLIENTS, gradient(12, number), number))
    exchange.orders.clear()
    late = stage in STAGES[STAGES.index("vector") + 1 :]
    heard = np.arange(CLIENTS) if late else LARGE
    assert not said.lost
    query = gradient(12, number)
    expected = query.total(objective[heard], heard, np.ones(len(heard), dtype=np.int64), toss_for(query))
    np.testing.assert_array_equal(said.total, expected)
    assert (said.count, said.clients) == (len(heard), len(heard))
    # It is started again from its folder, and takes part in the next round.
    after = ask_everyone(CLIENTS, gradient(12, number + 1), number + 1)
    assert federation(after).equals(Simulation(objective)(after))


def test_volunteers_of_a_killed_party_do_not_count(lasting: tuple[Federation, PipeExchange]) -> None:
    federation, exchange = lasting
    exchange.orders[1, QUESTION] = DIE
    ask = ask_everyone(CLIENTS, voluntary(12), 2_000)
    said = federation(ask)
    exchange.orders.clear()
    ones = np.ones(len(LARGE), dtype=np.int64)
    willing = ask.query.takes_part(crowd(CLIENTS)[LARGE], LARGE, ones, toss_for(ask.query))
    assert willing is not None
    assert said.clients == willing.sum() < len(LARGE)
    some = LARGE[willing]
    expected = ask.query.total(crowd(CLIENTS)[some], some, ones[willing], toss_for(ask.query))
    np.testing.assert_array_equal(said.total, expected)


@pytest.mark.parametrize("stage", [QUESTION, *STAGES])
def test_where_most_clients_are_killed_the_round_is_lost(stage: str, lasting: tuple[Federation, PipeExchange]) -> None:
    """And says whether anybody had sent an answer by then."""
    federation, exchange = lasting
    exchange.orders[0, stage] = DIE
    number = 4_000 + [QUESTION, *STAGES].index(stage)
    said = federation(ask_everyone(CLIENTS, gradient(12, number), number))
    exchange.orders.clear()
    assert said.lost
    assert said.count == 0
    assert said.spent == (stage in STAGES[STAGES.index("vector") :])


def test_a_silent_party_does_not_outlast_the_deadline(lasting: tuple[Federation, PipeExchange]) -> None:
    federation, exchange = lasting
    exchange.orders[1, "shares"] = IGNORE
    exchange.seen.clear()
    said = federation.add_up(ask_everyone(CLIENTS, gradient(12, 5_000), 5_000), Control(deadline=monotonic() + 1.0))
    exchange.orders.clear()
    assert (said.lost, said.spent) == (True, False)
    assert not set(exchange.seen) - {QUESTION, *STAGES[:3]}  # nobody is asked anything after the deadline
