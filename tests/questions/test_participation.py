"""Coins of one's own: whatever decides who answers, sums are right on average and nobody is never heard."""

import numpy as np
import pytest

from folkmoot import Coverage, DiscreteGreedy, FacilityLocation, Greedy, Objective, Simulation, Uniform, solve
from folkmoot.algorithms.federated.belief import KnownGains
from folkmoot.algorithms.federated.discrete import Kind
from folkmoot.conversation.engine import Control
from folkmoot.conversation.population import Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Sum, read_reply
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.questions import Drift, Gains, Participation
from folkmoot.questions.differences import Differences
from tests.conversation.around import Around
from tests.questions.measures import within

IMPORTANCE: tuple[Kind, ...] = ("paper", "uniform", "shortlist", "scale")


def decoys(clients: int = 1_500, seed: int = 0) -> FacilityLocation:
    """30 % of the clients like all of 120 near-duplicates; the rest like two items of one of 10 niches, which
    popularity, and a shortlist made of it, never sees.
    """
    rng = np.random.default_rng(seed)
    benefits = np.zeros((clients, 140))
    crowd = rng.random(clients) < 0.3
    benefits[crowd, :120] = rng.uniform(0.9, 1.0, (crowd.sum(), 120))
    rest = np.flatnonzero(~crowd)
    niche = 120 + 2 * rng.integers(0, 10, len(rest))
    for item in (0, 1):
        benefits[rest, niche + item] = rng.uniform(0.5, 1.0, len(rest))
    return FacilityLocation(benefits)


def questions(objective: Objective, importance: Kind, seeds: range) -> list[tuple[Gains, Sum]]:
    """What discrete greedy asked about the first item, with these seeds, and what it heard."""
    engine, found = Simulation(objective), []

    class Listening(Around):
        def add_up(self, ask: Ask, control: Control) -> Sum:
            answer = super().add_up(ask, control)
            if isinstance(ask.query, Gains) and ask.label == "item 1":
                found.append((ask.query, answer))
            return answer

    method = DiscreteGreedy(expected_answers=100, importance=importance, polish=0, jury=200)
    for seed in seeds:
        solve(None, 5, method, engine=Listening(engine), seed=seed)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("importance", IMPORTANCE)
def test_every_importance_is_unbiased_for_every_item(importance: Kind) -> None:
    """Chances are above 0 for everybody; and the mean over 40 runs is right to what Hoeffding allows, but for 10^-9."""
    objective = decoys()
    exact = objective.mean_gains(())
    runs = questions(objective, importance, range(40))
    assert len(runs) == 40
    ids = np.arange(objective.n_clients)
    times = np.ones_like(ids)
    for query, _ in runs[:1]:
        assert query.who is not None
        chances = query.who.chances(objective, times)
        assert chances.min() > 0
        np.testing.assert_allclose(query.who.factors(objective, times) * chances, times)
        spread = float((query.who.factors(objective, times) ** 2 * chances).sum()) ** 0.5 / objective.n_clients
    means = np.mean([read_reply(query, answer).mean for query, answer in runs], axis=0)
    # Items off the shortlist came out at less than 0.7 of their worth when clients with nothing on it stayed silent.
    assert np.abs(means[120:] - exact[120:]).max() < 5 * spread / np.sqrt(len(runs))
    assert means[120:].sum() == pytest.approx(exact[120:].sum(), rel=0.15)


@pytest.mark.parametrize("importance", IMPORTANCE)
def test_no_importance_is_blind_to_niches(importance: Kind) -> None:
    """As good as uniform, within 0.05: with nobody from the niches heard it was 0.5."""
    objective = decoys()
    greedy = solve(objective, 8, Greedy()).value

    def reached(kind: Kind) -> float:
        method = DiscreteGreedy(expected_answers=200, importance=kind, polish=0, jury=200)
        return float(np.mean([solve(objective, 8, method, seed=seed).value for seed in range(3)]) / greedy)

    assert reached(importance) > reached("uniform") - 0.05


def test_coins_of_scale_are_as_written() -> None:
    """κ_i = min(1, K·p_i·(0.3 + 0.7·m_i/M))."""
    objective = FacilityLocation(np.diag([1.0, 2.0, 4.0, 100.0]))
    times = np.array([1, 2, 3, 4])
    who = Participation.by_scale(2.0, 10, 5.0)
    expected = np.minimum(1, 2 * times / 10 * (0.3 + 0.7 * np.array([1, 2, 4, 100]) / 5))
    np.testing.assert_allclose(who.chances(objective, times), expected)
    assert expected[-1] == 1
    assert Participation.by_scale(2.0, 10, 0.0).own == "nothing"  # nothing is known of scales
    assert (who.factors(objective, times) <= who.bound(4, 1.0)).all()
    assert (who.factors(objective, times) * [1, 2, 4, 100] <= who.bound_own(4, 100.0) * (1 + 1e-12)).all()


def test_the_same_key_is_the_same_sample() -> None:
    objective = decoys(400)
    ids, times = np.arange(400), np.ones(400, dtype=np.int64)
    who = Participation.uniform(100, 400)
    first, again, other = (who.takes_part(objective, ids, times, PrivateCoins.derive(key)) for key in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
    assert abs(first.mean() - 0.25) < within(400, 1)


def test_a_cohort_knows_which_share_of_a_gain_is_left_better_than_the_gain() -> None:
    """From exact gains at S', the share that is left at S follows from 60 clients. Items lose a tenth, more or less:
    the mean square error is below a tenth of that of what the clients say of S (seeds are fixed).
    """
    rng = np.random.default_rng(0)
    objective = Coverage((rng.random((600, 140)) < 0.05).astype(float), keep_empty=True)
    population, nothing = Population.of(objective), np.zeros(140, dtype=bool)
    members = nothing.copy()
    members[[3, 121]] = True
    start, right = KnownGains.begin(objective.mean_gains(()), 0.0), objective.mean_gains(members)
    known, said = [], []
    for key in range(50):
        query = Drift(
            members=members,
            before=nothing,
            items=np.arange(140),
            most=1.0,
            whole=1.0,
            standing=1.0,
            draw=key,
        )
        answer = Simulation(objective)(Ask(query, population.draw(60, PublicCoins(key)), Purpose.SEARCH, "a step", 0))
        reply = read_reply(query, answer)
        assert (reply.now <= reply.earlier).all()
        known.append(start.grow(reply.earlier, reply.now, members, 60, 1.0).gains)
        said.append(reply.now)
    others = ~members
    off, by_them = (np.array(one)[:, others] - right[others] for one in (known, said))
    assert (off**2).mean() < 0.1 * (by_them**2).mean()
    assert abs(off.mean()) < 0.05 * right.mean()
    assert Uniform(140, 2).independent(members)


def test_sums_about_one_set_are_weighed_by_how_many_said_them() -> None:
    """1,000 answers, then 500 and 500, are as good as their mean; and nothing that few say changes what all said."""
    first, second, third = np.array([0.4, 0.0]), np.array([0.0, 0.4]), np.array([0.2, 0.4])
    known = KnownGains.begin(first, 1 / 1_000).hear(second, 1 / 500).hear(third, 1 / 500)
    np.testing.assert_allclose(known.gains, (2 * first + second + third) / 4)
    np.testing.assert_allclose(known.alone, known.gains)
    np.testing.assert_allclose(1 / known.variance, 2_000)
    np.testing.assert_array_equal(KnownGains.begin(first, 0.0).hear(second, 1 / 500).gains, first)


def test_where_nobody_answers_no_difference_is_known() -> None:
    """Before, the square of how many the sum stands for was 0, and a run ended with a division by it."""
    who = Participation.by_scale(4, 100, 1e12)
    sets = np.array([[True, False], [False, True]])
    query = Differences(items=np.arange(2), sets=sets, most=1e30, standing=1e12, draw=0, who=who)
    reply = query.make_reply(np.zeros(query.encoding.length, dtype=np.int64), 0, 0, 100, 0.0)
    assert reply.mean.tolist() == reply.variance.tolist() == [0.0]
