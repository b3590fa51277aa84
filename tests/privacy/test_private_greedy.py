"""Private runs: what they spend, whom they ask, what they refuse, and that the best items are still found."""

from collections import Counter, defaultdict
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import folkmoot as fm
from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import ids_of
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.engines.simulate import bound_dropout
from folkmoot.privacy.accounting import combine_mus, find_epsilon
from folkmoot.privacy.forecast import MEASURED, expect, find_least, forecast
from folkmoot.privacy.noise import KeyedNoise
from folkmoot.questions.hidden import HiddenQuery
from folkmoot.secagg import Policy
from tests.conversation.around import Around


def tastes(clients: int = 2_000, items: int = 60, seed: int = 0, **options: Any) -> fm.Objective:
    """The first items are known to most, the last to few."""
    rng = np.random.default_rng(seed)
    knows = rng.random((clients, items)) < np.linspace(0.5, 0.02, items)
    return fm.FacilityLocation(rng.integers(1, 6, (clients, items)) * knows * 1.0, most=5.0, keep_empty=True, **options)


def simulate(objective: fm.Objective, key: str = "", **options: Any) -> fm.Simulation:
    return fm.Simulation(objective, noise=KeyedNoise(key.encode()), **options)


def run(objective: fm.Objective, constraint: Any = 5, engine: Engine | None = None, **options: Any) -> fm.Result:
    method = fm.PrivateGreedy(**options)
    return fm.solve(objective, constraint, method, engine=engine or simulate(objective), seed=1, progress=False)


class Server(Around):
    """Remembers all rounds, and calls some of them lost."""

    def __init__(self, engine: Engine, lost: tuple[int, ...] = (), *, spent: bool = True) -> None:
        super().__init__(engine)
        self.lost, self.spent = lost, spent
        self.view: list[tuple[Ask, Sum]] = []

    def add_up(self, ask: Ask, control: Control) -> Sum:
        said = super().add_up(ask, control)
        if ask.number in self.lost:
            said = Sum.lose(ask, said.clients, spent=self.spent)
        self.view.append((ask, said))
        return said


def sum_spent(server: Server) -> dict[int, float]:
    """Σμ² of every client, from what it was asked: those of whom nothing left pay nothing."""
    total = defaultdict[int, float](float)
    for ask, said in server.view:
        if not said.lost or said.spent:
            assert isinstance(ask.query, HiddenQuery)
            for client in ids_of(ask.cohort).tolist():
                total[client] += ask.query.mu**2
    return total


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 10.0])
@pytest.mark.parametrize("adjacency", ["zero-out", "replace-one"])
def test_nobody_spends_more_than_was_promised(epsilon: float, adjacency: str) -> None:
    objective = tastes()
    server = Server(simulate(objective))
    result = run(objective, engine=server, epsilon=epsilon, adjacency=adjacency)
    account = result.privacy
    assert account is not None
    assert max(sum_spent(server).values()) <= account.mu**2 * (1 + 1e-12)
    assert combine_mus([one.mu for one in account.spendings]) == pytest.approx(account.mu, rel=1e-9)  # and all of it
    assert find_epsilon(account.mu, account.delta) <= epsilon * (1 + 1e-9)
    assert account.delta == pytest.approx(2_000**-1.5)
    assert all(isinstance(ask.query, HiddenQuery) for ask, _ in server.view)  # nothing else is ever asked
    assert {getattr(ask.query, "adjacency", None) for ask, _ in server.view} == {adjacency}
    assert [one.label for one in account.spendings] == [ask.label for ask, _ in server.view]


@pytest.mark.parametrize("lost", [(0,), (1, 2), (3,), (0, 3, 5)])
def test_lost_rounds_cost_as_much_as_others(lost: tuple[int, ...]) -> None:
    """Answers had left: the server may have seen them. What is left is divided anew, and nothing goes beyond."""
    objective = tastes()
    server = Server(simulate(objective), lost)
    account = run(objective, engine=server, epsilon=3.0).privacy
    assert account is not None
    assert [one.lost for one in account.spendings].count(True) == len(lost)
    assert max(sum_spent(server).values()) <= account.mu**2 * (1 + 1e-12)
    whole = run(objective, engine=simulate(objective), epsilon=3.0).privacy
    assert whole is not None
    assert account.mu == whole.mu


def test_rounds_in_which_nobody_had_answered_cost_nothing() -> None:
    objective = tastes()
    server = Server(simulate(objective), (0, 1), spent=False)
    account = run(objective, engine=server, epsilon=3.0).privacy
    assert account is not None
    assert not any(one.lost for one in account.spendings)
    assert combine_mus([one.mu for one in account.spendings]) == pytest.approx(account.mu, rel=1e-9)


def test_a_server_that_keeps_losing_rounds_gets_no_more() -> None:
    objective = tastes()
    server = Server(simulate(objective), tuple(range(30)))
    with pytest.raises(fm.RoundFailed):
        run(objective, engine=server, epsilon=3.0)
    assert max(sum_spent(server).values()) < fm.Privacy(3.0).find_mu(2_000) ** 2


@pytest.mark.parametrize("lost", [(), (2,)])
def test_fresh_cohorts_answer_once(lost: tuple[int, ...]) -> None:
    """Each with all of its budget; also if a round is lost, when others are asked."""
    objective = tastes(6_000)
    server = Server(simulate(objective), lost)
    account = run(objective, engine=server, epsilon=3.0, cohort=300).privacy
    assert account is not None
    assert account.fresh
    asked = Counter(client for ask, _ in server.view for client in ids_of(ask.cohort).tolist())
    assert max(asked.values()) == 1
    assert {one.mu for one in account.spendings} == {account.mu}
    assert max(sum_spent(server).values()) == account.mu**2


def test_weights_change_no_budget() -> None:
    """Who weighs little says little; nobody's answer is multiplied."""
    objective = tastes(weights=np.random.default_rng(1).uniform(0.2, 1.0, 2_000))
    server = Server(simulate(objective))
    account = run(objective, engine=server, epsilon=3.0).privacy
    assert account is not None
    assert max(sum_spent(server).values()) <= account.mu**2 * (1 + 1e-12)
    assert {getattr(ask.query, "heaviest", None) for ask, _ in server.view} == {float(objective.client_weights.max())}


def test_a_forecast_knows_how_loud_all_weights_are_together() -> None:
    """Noise hides the heaviest: where it weighs as much as everybody else, nearly all is noise."""
    alike = run(tastes(), epsilon=3.0).privacy
    weights = np.ones(2_000)
    weights[0] = 100.0
    uneven = run(tastes(weights=weights), epsilon=3.0).privacy
    assert alike is not None
    assert uneven is not None
    assert uneven.signal == pytest.approx(alike.signal * 2_099 / 100 / 2_000)


@pytest.mark.parametrize(
    "matroid",
    [
        fm.Uniform(60, 5),
        fm.Partition(np.arange(60) % 4, [1, 2, 1, 1]),
        fm.Graphic([(e % 7, 7 + e % 9) for e in range(60)]),
    ],
    ids=lambda one: type(one).__name__,
)
def test_answers_are_bases(matroid: fm.Matroid) -> None:
    result = run(tastes(), matroid, epsilon=1.0)
    assert len(result.selected) == matroid.rank
    assert matroid.independent(result.selected)
    assert sorted(result.order or ()) == list(result.selected)


@pytest.mark.parametrize("matroid", [fm.Uniform(60, 60), fm.Free(60), fm.Partition(np.arange(60) % 4, 15)], ids=repr)
def test_where_everything_may_be_chosen_only_its_worth_is_asked(matroid: fm.Matroid) -> None:
    """Nothing is spent on a choice that is none, and no forecast is in the way."""
    objective = tastes(400)
    server = Server(simulate(objective))
    result = run(objective, matroid, engine=server, epsilon=1.0)
    assert result.selected == tuple(range(60))
    assert sorted(result.order or ()) == list(range(60))
    account, estimate = result.privacy, result.estimate
    assert account is not None
    assert estimate is not None
    (spending,) = account.spendings
    assert spending.label == "appraisal"
    assert spending.mu**2 == pytest.approx(0.05 * fm.Privacy(1.0).find_mu(400) ** 2)
    assert len(server.view) == 1
    assert estimate.low <= float(objective.mean_values(np.ones(60, dtype=bool))) <= estimate.high


@pytest.mark.parametrize("dropout", [0.25, 0.3, 0.35])
def test_many_may_drop_out(dropout: float) -> None:
    """Terms that allowed for half as many more could not be kept by any number of clients."""
    objective = tastes(400)
    account = run(objective, engine=simulate(objective, dropout=dropout), epsilon=10.0).privacy
    assert account is not None
    assert not any(one.lost for one in account.spendings)


def test_shares_of_dropouts_are_rounded_on_every_roll() -> None:
    objective = tastes(610)
    engine = simulate(objective, dropout=0.42, policy=Policy(corrupt=0.0, dropout=bound_dropout(0.42, 610, 0.0)))
    assert run(objective, engine=engine, epsilon=10.0).privacy is not None


def test_what_is_hopeless_is_said_before_what_is_missing() -> None:
    objective = fm.FacilityLocation(np.random.default_rng(0).random((40, 30)))  # without `most`
    with pytest.raises(fm.InputError, match="epsilon: noise would drown"):
        run(objective, engine=simulate(objective), epsilon=0.1)


def test_with_little_noise_the_answer_is_nearly_that_of_greedy() -> None:
    objective = tastes(20_000)
    greedy = fm.solve(objective, 5, fm.Greedy()).value
    values = [run(objective, engine=simulate(objective, str(key)), epsilon=10.0).value for key in range(3)]
    assert min(values) > 0.98 * greedy


def near_duplicates(seed: int = 1_000) -> fm.Objective:
    """30 % like all of 300 near-duplicates, the others one of 40 niches of five: popular items please the same."""
    rng = np.random.default_rng(seed)
    benefits = np.zeros((20_000, 500))
    benefits[:6_000, :300] = rng.uniform(0.9, 1.0, (6_000, 300))
    rest = np.arange(6_000, 20_000)[:, None]
    benefits[rest, 300 + 5 * rng.integers(0, 40, 14_000)[:, None] + np.arange(5)] = rng.uniform(0.5, 1.0, (14_000, 5))
    return fm.FacilityLocation(benefits, most=1.0, keep_empty=True)


@pytest.mark.slow
def test_where_popular_items_are_substitutes_everything_is_looked_at_again() -> None:
    """With little signal too: eight of eight runs above random choice, where all eight were below it before."""
    objective = near_duplicates()
    at_random = [objective.mean_values(np.random.default_rng(seed).permutation(500) < 20) for seed in range(50)]
    values = [run(objective, 20, engine=simulate(objective, f"again {key}"), epsilon=0.3).value for key in range(8)]
    assert min(values) > np.quantile(at_random, 0.95)


@pytest.mark.slow
def test_what_limits_forbid_does_not_count_against_a_list() -> None:
    """Popular items of full groups are not left out by mistake: no round is spent on looking at everything again."""
    rng = np.random.default_rng(0)
    appeal = rng.uniform(0.01, 0.06, 500)
    appeal[:60] = rng.uniform(0.1, 0.4, 60)
    values = (rng.random((20_000, 500)) < appeal) * rng.integers(1, 6, (20_000, 500)).astype(float)
    objective = fm.FacilityLocation(values, most=5.0, keep_empty=True)
    server = Server(simulate(objective))
    run(objective, fm.Partition(np.repeat(np.arange(25), 20), 1), engine=server, epsilon=0.3)
    assert max(ask.query.encoding.length for ask, _ in server.view[2:]) < 250


def test_few_are_served_as_long_as_they_are_heard() -> None:
    """Refused is who would have chosen no better than at random, however many items are wanted."""
    objective = tastes(200)
    account = run(objective, 30, engine=simulate(objective), epsilon=0.3).privacy
    assert account is not None
    assert account.signal < 1
    with pytest.raises(fm.InputError, match="noise would drown"):
        run(objective, 30, engine=simulate(objective), epsilon=0.02)


def test_runs_can_be_repeated_under_a_key_and_never_without() -> None:
    objective = tastes()
    first, again, other = (run(objective, engine=simulate(objective, key)) for key in ("a", "a", "b"))
    assert first == again
    assert first.estimate != other.estimate
    free = [run(objective, engine=fm.Simulation(objective)).estimate for _ in range(2)]
    assert free[0] != free[1]  # same seed, other noise


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clients": 40, "epsilon": 0.1}, "drown"),
        ({"secure": "plain"}, "secure"),
        ({"cohort": 1_000}, "answers once"),
        ({"epsilon": -1.0}, "epsilon: needs"),
        ({"delta": 0.7}, "below 0.5"),
        ({"confidence": 1.0}, "confidence"),
        ({"unknown": True}, "most"),
    ],
    ids=str,
)
def test_what_is_refused_is_refused_in_one_sentence(change: dict[str, Any], words: str) -> None:
    objective = tastes(change.pop("clients", 2_000))
    if change.pop("unknown", False):
        objective = fm.FacilityLocation(np.random.default_rng(0).random((2_000, 30)))
    engine = fm.Simulation(objective, change.pop("secure", "ideal"))
    with pytest.raises(fm.InputError, match=words):
        run(objective, engine=engine, **change)


# Forecasts.


def test_more_signal_is_never_worse() -> None:
    signals = np.geomspace(0.01, 1e5, 400)
    found = [expect(float(one)) for one in signals]
    assert all(a.low <= b.low for a, b in pairwise(found))
    assert all(0 <= one.low < one.high for one in found)
    for signal, low, high in MEASURED:
        assert [expect(signal).low, expect(signal).high] == pytest.approx([low, high])


@given(st.integers(3, 10**7), st.integers(1, 100), st.floats(1e-3, 5.0), st.floats(1.0, 4.0))
def test_signal_is_clients_in_deviations_of_noise_per_item(clients: int, chosen: int, mu: float, more: float) -> None:
    found = forecast(clients, chosen, mu, more)
    assert found.signal == pytest.approx(clients * mu / more / chosen)
    assert found.is_hopeless == (clients * mu / more < find_least(chosen))
    assert found.describe()


def test_the_forecast_counts_all_noise_there_is() -> None:
    """Of clients that may be corrupt or gone, and of the adjacency."""
    objective = tastes()
    honest = fm.Simulation(objective).policy.protection(2_000).honest
    one, two = (run(objective, epsilon=3.0, adjacency=name).privacy for name in ("zero-out", "replace-one"))
    assert one is not None
    assert two is not None
    assert one.signal == pytest.approx(2_000 * one.mu / sqrt(2_000 / honest) / 5)
    assert two.signal == pytest.approx(one.signal / sqrt(2))
