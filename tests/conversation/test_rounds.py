"""One round: who is asked, what fits into the ring, what happens when too few answer; and the simulator.

Tests that toss coins fail by chance with probability below 1e-9 (Hoeffding, with a union over all clients).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from folkmoot import Coverage, FacilityLocation, InputError, Objective, Uniform
from folkmoot.conversation.codec import digest_of
from folkmoot.conversation.population import WEIGHT_BITS, Cohort, Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import RING_BITS, Ask, Run, Sum, drive
from folkmoot.conversation.talk import Talk
from folkmoot.engines.simulate import Simulation
from folkmoot.foundation.coins import NO_COINS, PublicCoins
from folkmoot.foundation.errors import RoundFailed
from folkmoot.foundation.sets import Array, Ids
from folkmoot.questions import Gains, Gradient, Magnitude, Participation, Query
from folkmoot.questions.gradient import PointReply
from tests.coins import toss_for

CHANCE = 1e-9
WEIGHTS = np.array([0.3, 0.0, 5.0, 1.0, 0.25, 0.0, 2.0, 0.07, 0.4])  # one counts for more than all others together


def within(trials: int, compared: int) -> float:
    return float(np.sqrt(np.log(2 * compared / CHANCE) / (2 * trials)))


def named(cohort: Cohort, population: Population) -> tuple[Ids, Ids]:
    """Who is asked, and how often they count, written out."""
    ids = np.arange(population.n_clients) if cohort.ids is None else cohort.ids
    return ids, np.ones(len(ids), dtype=np.int64) if cohort.times is None else cohort.times


# Whom to ask.


@pytest.mark.parametrize("weights", [None, WEIGHTS, np.linspace(1.0, 2.0, 9)], ids=["alike", "uneven", "nearly alike"])
@pytest.mark.parametrize("size", [1, 4, 8])
def test_clients_are_asked_as_often_as_they_weigh(weights: Array | None, size: int) -> None:
    population = Population(n_items=3, n_clients=9, weights=weights)
    p = np.full(9, 1 / 9) if weights is None else weights / weights.sum()
    draws, sums, together = 6000, np.zeros(9), np.zeros((9, 9))
    for key in range(draws):
        cohort = population.draw(size, PublicCoins(key))
        ids, times = named(cohort, population)
        assert (np.diff(ids) > 0).all()
        assert (times > 0).all()
        assert cohort.size == len(ids)
        assert cohort.weight == times.sum() == size
        counted = np.zeros(9)
        counted[ids] = times
        assert weights is not None or counted.max() == 1  # without repeats where all weigh the same
        sums += counted
        together[np.ix_(ids, ids)] += 1
    assert np.abs(sums / draws - size * p).max() <= size * within(draws, 9)
    assert not sums[p == 0].any()
    assert size == 1 or together[np.ix_(p > 0, p > 0)].all() or weights is WEIGHTS  # no two exclude each other


def test_a_draw_is_decided_by_its_key() -> None:
    for weights in (None, np.arange(1.0, 101.0)):
        population = Population(n_items=3, n_clients=100, weights=weights)
        drawn = [population.draw(10, PublicCoins(key)) for key in (1, 1, 2, 2**64 - 1)]
        digests = [digest_of(cohort) for cohort in drawn]
        assert digests[0] == digests[1]
        assert len(set(digests)) == 3
        for cohort in drawn:
            assert cohort.ids is not None
            assert not cohort.ids.flags.writeable
            assert not cohort.everyone


@pytest.mark.parametrize("size", [None, 9, 10, 1000])
def test_everyone_is_asked_when_there_are_no_more(size: int | None) -> None:
    alike = Population(n_items=3, n_clients=9)
    cohort = alike.draw(size, PublicCoins(5))
    assert (cohort.ids, cohort.times, cohort.size, cohort.weight, cohort.everyone) == (None, None, 9, 9, True)
    uneven = Population(n_items=3, n_clients=9, weights=WEIGHTS)
    cohort = uneven.draw(size, PublicCoins(5))
    assert cohort.everyone
    ids, times = named(cohort, uneven)
    assert ids.tolist() == np.flatnonzero(WEIGHTS).tolist()  # who counts nothing is not asked
    assert np.abs(times / 2**WEIGHT_BITS - (WEIGHTS / WEIGHTS.sum())[ids]).max() <= 0.5 / 2**WEIGHT_BITS
    assert np.abs(times / cohort.weight - (WEIGHTS / WEIGHTS.sum())[ids]).sum() <= uneven.slack
    assert (cohort.size, cohort.weight) == (len(ids), times.sum())


def test_a_population_is_what_the_server_may_know() -> None:
    objective = Coverage(np.eye(4), weights=[2.0, 2.0, 2.0, 2.0])
    population = Population.of(objective)
    assert (population.n_items, population.n_clients, population.weights, population.closed_form) == (4, 4, None, True)
    uneven = Population.of(objective.reweight([1.0, 2.0, 0.0, 1.0]))
    assert uneven.weights is not None
    np.testing.assert_allclose(uneven.weights / uneven.weights.sum(), [0.25, 0.5, 0.0, 0.25])


# What fits into the ring.


def gradient(bits: int, n: int = 3) -> Gradient:
    return Gradient(x=np.zeros(n), whole=1.0, coins=NO_COINS, single=1.0, bits=bits, stochastic=True)


def weighing(query: Query[Any], weight: int) -> Ask:
    return Ask(query, Cohort(None, None, 5, weight), Purpose.SEARCH, "a round", 0)


@pytest.mark.parametrize(("query", "bound"), [(Magnitude(), 1), (gradient(1), 1), (gradient(20), 2**20 - 1)])
def test_the_ring_is_as_small_as_can_be(query: Query[Any], bound: int) -> None:
    assert query.encoding.limit == bound
    assert weighing(query, 1).ring_bits == bound.bit_length()
    for weight in (2, 3, 1000, 2**30, 2**30 + 1):
        bits = weighing(query, weight).ring_bits
        assert 2 ** (bits - 1) <= bound * weight < 2**bits
    most = (2**RING_BITS - 1) // bound
    assert weighing(query, most).ring_bits == RING_BITS
    with pytest.raises(InputError, match=r"^a round: .* need 64 bits, but the ring has 63; ask fewer"):
        _ = weighing(query, most + 1).ring_bits


def asking(*asks: Ask) -> Run[list[Sum]]:
    answers = []
    for ask in asks:
        answers.append((yield ask))
    return answers


def test_sums_go_through_as_they_are() -> None:
    asks = [weighing(Magnitude(), weight) for weight in (3, 4)]
    sums = [Sum(np.minimum(np.arange(Magnitude().length), k), k, 5, k) for k in (1, 2)]
    heard: list[Ask] = []

    def engine(ask: Ask) -> Sum:
        heard.append(ask)
        return sums[len(heard) - 1]

    answers = drive(asking(*asks), engine)
    assert [id(one) for one in answers] == [id(one) for one in sums]
    assert [id(one) for one in heard] == [id(one) for one in asks]
    assert not answers[0].total.flags.writeable
    assert drive(asking(), engine) == []


def test_nobody_is_asked_what_does_not_fit() -> None:
    heard: list[Ask] = []

    def engine(ask: Ask) -> Sum:
        heard.append(ask)
        return Sum(np.zeros(ask.query.length, dtype=np.int64), 1, 5, 1)

    with pytest.raises(InputError, match="need 64 bits"):
        drive(asking(weighing(Magnitude(), 2**63)), engine)
    assert not heard
    with pytest.raises(InputError, match="need 64 bits"):
        drive(asking(weighing(Magnitude(), 5), weighing(Magnitude(), 2**63)), engine)
    assert len(heard) == 1


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Sum(np.zeros(3, dtype=np.int64), 1, 1, 5),
        Sum(np.zeros(Magnitude().length), 1, 1, 5),  # type: ignore[arg-type]
        Sum(np.full(Magnitude().length, 2), 1, 1, 5),
        Sum(np.full(Magnitude().length, -1), 1, 1, 5),
        Sum(np.zeros(Magnitude().length, dtype=np.int64), 6, 1, 5),
    ],
    ids=["nothing", "too short", "no whole numbers", "too large", "negative", "too many"],
)
def test_what_cannot_be_a_sum_is_refused(answer: Any) -> None:
    with pytest.raises(RoundFailed, match="is not a sum of answers to this question"):
        drive(asking(weighing(Magnitude(), 5)), lambda _: answer)


@pytest.mark.parametrize("present", [None, [1, 1, 1, 0, 0], [1, 1], np.array([1, 1, 0, 0, 0])])
def test_a_sum_says_who_is_in_it(present: Any) -> None:
    marks = np.array(present, dtype=bool) if isinstance(present, list) else present
    answer = Sum(np.zeros(Magnitude().length, dtype=np.int64), 2, 2, 5, present=marks)
    with pytest.raises(RoundFailed, match="the engine does not say which 2 clients are in its sum"):
        drive(asking(weighing(Magnitude(), 5)), lambda _: answer)


# Asking again.


class Deaf:
    """Nobody answers the first so many rounds; in some of those, clients had sent their answers."""

    def __init__(self, rounds: int, spent: tuple[int, ...] = ()) -> None:
        self.rounds, self.spent = rounds, spent
        self.heard: list[Ask] = []

    def __call__(self, ask: Ask) -> Sum:
        self.heard.append(ask)
        count = 0 if len(self.heard) <= self.rounds else ask.cohort.weight
        lost, spent = count == 0, len(self.heard) - 1 in self.spent
        total = np.zeros(ask.query.length, dtype=np.int64)
        return Sum(total, count, ask.cohort.size, ask.cohort.weight, lost=lost, spent=spent)


def toss(coins: PublicCoins) -> Gradient:
    return Gradient(x=np.zeros(3), whole=1.0, coins=coins, single=1.0, bits=4, stochastic=True)


def talk(seed: int = 7) -> Talk:
    return Talk(Population(n_items=3, n_clients=1000), Uniform(3, 1), seed)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_round_that_fails_is_asked_of_others(lost: int) -> None:
    engine, server = Deaf(lost), talk()
    answer = drive(server.ask(toss, 10, Purpose.SEARCH, "a step"), engine)
    assert answer.count == 10
    assert len(engine.heard) == server.rounds == lost + 1
    assert [ask.number for ask in engine.heard] == list(range(lost + 1))
    assert {ask.label for ask in engine.heard} == {"a step"}
    assert len({digest_of(ask.cohort) for ask in engine.heard}) == lost + 1  # fresh clients,
    assert len({digest_of(ask.query) for ask in engine.heard}) == lost + 1  # and fresh coins


@pytest.mark.parametrize(
    ("spent", "more"), [((), "resumed once more clients are available"), ((0, 1, 2), r"\(.* of 10\)$")]
)
def test_three_times_in_a_row_is_enough(spent: tuple[int, ...], more: str) -> None:
    engine, server = Deaf(99, spent), talk()
    with pytest.raises(RoundFailed, match=rf"^a step: too few clients answered, 3 times in a row.*{more}"):
        drive(server.ask(toss, 10, Purpose.SEARCH, "a step"), engine)
    assert len(engine.heard) == 3


@pytest.mark.parametrize("spent", [(0,), (1,), (0, 1)])
def test_whoever_sent_an_answer_is_not_asked_the_same_again(spent: tuple[int, ...]) -> None:
    """Cohorts are so large that two draws would meet but for a chance below 1e-60."""
    engine, server = Deaf(2, spent), talk()
    assert drive(server.ask(toss, 330, Purpose.SEARCH, "a step"), engine).count == 330
    asked = [named(ask.cohort, server.population)[0] for ask in engine.heard]
    for earlier, later in ((0, 1), (0, 2), (1, 2)):
        assert bool(np.isin(asked[earlier], asked[later]).any()) == (earlier not in spent)
    drive(server.ask(toss, 800, Purpose.SEARCH, "the next"), engine)  # another question may be asked of anybody


ALONE: dict[str, tuple[Talk, int | None, str]] = {
    "everyone": (talk(), None, "everyone was asked"),
    "as many as there are": (talk(), 1000, "everyone was asked"),
    "more than half": (talk(), 501, "only 499 others are left"),
    "weights": (
        Talk(Population(n_items=3, n_clients=9, weights=WEIGHTS), Uniform(3, 1), 1),
        2,
        "where weights differ, leaving them out would bias the sum",
    ),
}


@pytest.mark.parametrize("name", ALONE)
def test_where_nobody_else_can_be_asked_the_run_ends(name: str) -> None:
    server, size, why = ALONE[name]
    engine = Deaf(1, (0,))
    with pytest.raises(RoundFailed, match=f"^a step: the round was lost after clients .*, and {why}; asking the same"):
        drive(server.ask(toss, size, Purpose.SEARCH, "a step"), engine)
    assert len(engine.heard) == 1


def test_draws_without_some_are_as_even_as_others() -> None:
    population, without = Population(n_items=3, n_clients=12), np.array([0, 3, 4])
    draws, sums = 6000, np.zeros(12)
    for key in range(draws):
        cohort = population.draw(4, PublicCoins(key), without)
        assert cohort.ids is not None
        sums[cohort.ids] += 1
    assert not sums[without].any()
    assert np.abs(np.delete(sums, without) / draws - 4 / 9).max() <= within(draws, 9)


def test_a_conversation_is_decided_by_its_seed() -> None:
    def conversation(seed: int) -> list[str]:
        engine, server = Deaf(1), talk(seed)
        for label in ("one", "two"):
            drive(server.ask(toss, 10, Purpose.SEARCH, label), engine)
        return [digest_of(ask) for ask in engine.heard]

    assert conversation(1) == conversation(1)
    assert len(set(conversation(1) + conversation(2))) == 6


# Several juries, their sums added up.


def juries_of(
    server: Talk, engine: Any, size: int | None, count: int, *, some_suffice: bool = False
) -> tuple[PointReply, list[Ask]]:
    heard: list[Ask] = []

    def answer(ask: Ask) -> Sum:
        heard.append(ask)
        said: Sum = engine(ask)
        return said

    asked = server.ask_juries(toss, size, count, Purpose.SCORING, "a jury", some_suffice=some_suffice)
    return drive(asked, answer), heard


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("clients", [100, 300])  # of 100, everyone is asked
@pytest.mark.parametrize("alike", [True, False])
def test_juries_together_are_one_large_jury(alike: bool, clients: int, dropout: float) -> None:
    objective = town(clients).reweight(np.ones(clients)) if alike else town(clients)
    server, engine = Talk(Population.of(objective), Uniform(3, 1), 5), Simulation(objective, dropout=dropout, seed=1)
    said: list[Sum] = []

    def remember(ask: Ask) -> Sum:
        said.append(engine(ask))
        return said[-1]

    answer, heard = juries_of(server, remember, 30, 4)
    whole = server.population.draw(120, PublicCoins.of(5, 0).branch(1))
    assert whole.everyone == server.cohort.everyone == (clients == 100)
    parts = [named(ask.cohort, server.population) for ask in heard]
    ids, times = named(whole, server.population)
    order = np.argsort(np.concatenate([part[0] for part in parts]))
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts])[order], ids)  # everybody once
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts])[order], times)
    np.testing.assert_array_equal(named(server.cohort, server.population)[0], ids)
    assert len({digest_of(ask.query) for ask in heard}) == 1
    assert max(ask.cohort.size for ask in heard) <= 30
    assert [ask.label for ask in heard] == [f"a jury, jury {at + 1} of {len(heard)}" for at in range(len(heard))]
    assert [ask.number for ask in heard] == list(range(server.rounds))
    assert (server.cohort.size, answer.asked) == (whole.size, whole.weight)
    there = [slice(None) if one.present is None else one.present for one in said]
    stayed = np.sort(np.concatenate([part[0][marks] for part, marks in zip(parts, there, strict=True)]))
    assert answer.clients == len(stayed)
    weights = times[np.isin(ids, stayed)]
    assert answer.count == weights.sum()
    own = toss_for(heard[0].query)
    np.testing.assert_array_equal(answer.total, heard[0].query.total(objective[stayed], stayed, weights, own))
    if not dropout:
        np.testing.assert_array_equal(
            answer.total, engine(Ask(heard[0].query, whole, Purpose.SCORING, "at once", 0)).total
        )
        assert server.sample(answer).complete == whole.everyone


@pytest.mark.parametrize(("size", "count"), [(None, 3), (10, 1), (1000, 2)])
def test_what_fits_one_round_is_asked_in_one(size: int | None, count: int) -> None:
    one, several = talk(), talk()
    _, heard = juries_of(several, Deaf(0), size, count)
    engine = Deaf(0)
    drive(one.ask(toss, size, Purpose.SCORING, "a jury"), engine)
    assert [digest_of(ask) for ask in heard] == [digest_of(ask) for ask in engine.heard]


def test_a_jury_that_said_nothing_is_asked_again() -> None:
    server = talk()
    answer, heard = juries_of(server, Deaf(2), 10, 3)
    assert len({digest_of(ask.cohort) for ask in heard[:3]}) == 1
    assert [ask.label[-6:] for ask in heard] == ["1 of 3"] * 3 + ["2 of 3", "3 of 3"]
    assert (answer.count, answer.clients, answer.asked, server.rounds) == (30, 30, 30, 5)


def test_others_take_the_place_of_a_jury_that_was_lost() -> None:
    """Of 1,000 clients 300 are drawn; two juries of 100 are lost after they had sent their answers."""
    server = talk()
    answer, heard = juries_of(server, Deaf(2, (0, 1)), 100, 3)
    asked = [named(ask.cohort, server.population)[0] for ask in heard]
    assert len(np.unique(np.concatenate(asked))) == 500  # nobody is asked twice
    np.testing.assert_array_equal(named(server.cohort, server.population)[0], np.sort(np.concatenate(asked[2:])))
    assert (answer.count, server.sample(answer).draws, server.cohort.everyone) == (300, 300, False)


@pytest.mark.parametrize(
    ("server", "size", "why"),
    [
        (talk(), 300, "only 100 others are left"),
        (talk(), 400, "only 0 others are left"),
        (Talk(Population(3, 900, np.linspace(1, 2, 900)), Uniform(3, 1), 1), 50, "where weights differ"),
    ],
)
def test_where_no_others_are_left_a_lost_jury_ends_the_run(server: Talk, size: int, why: str) -> None:
    with pytest.raises(RoundFailed, match=f"^a jury, jury 1 of 3: the round was lost after .*{why}"):
        juries_of(server, Deaf(1, (0,)), size, 3)


@pytest.mark.parametrize("lost", [(0,), (1,), (2,), (0, 1), (0, 2)])
@pytest.mark.parametrize("by_chance", [True, False])
def test_where_some_juries_suffice_a_lost_one_counts_as_silent(by_chance: bool, lost: tuple[int, ...]) -> None:
    """Of 90 clients all are asked, by 30. Where they are missing by chance, those who answered are drawn from everyone;
    otherwise all are, and what the lost ones would have said is unknown.
    """
    objective = town(90).reweight(np.ones(90))
    server = Talk(replace(Population.of(objective), missing_by_chance=by_chance), Uniform(3, 1), 5)
    engine = Simulation(objective)

    def lose(ask: Ask) -> Sum:
        return Sum.lose(ask, 20, spent=True) if ask.number in lost else engine(ask)

    answer, heard = juries_of(server, lose, 30, 3, some_suffice=True)
    assert [ask.number for ask in heard] == [0, 1, 2]  # nobody is asked twice
    there = np.sort(
        np.concatenate([named(ask.cohort, server.population)[0] for ask in heard if ask.number not in lost])
    )
    once = np.ones(len(there), dtype=np.int64)
    expected = heard[0].query.total(objective[there], there, once, toss_for(heard[0].query))
    np.testing.assert_array_equal(answer.total, expected)
    heard_of, sample = 90 - 30 * len(lost), server.sample(answer)
    assert (answer.count, answer.clients, answer.asked, server.cohort.size) == (heard_of, heard_of, 90, 90)
    assert (sample.heard, sample.complete) == (heard_of / 90, False)
    assert (sample.draws, sample.unknown) == ((heard_of, 0) if by_chance else (90, 90 - heard_of))


def test_where_weights_differ_a_lost_jury_is_missing_too() -> None:
    server = Talk(Population.of(town(90)), Uniform(3, 1), 5)
    engine = Simulation(town(90))
    answer, _ = juries_of(
        server, lambda ask: engine(ask) if ask.number else Sum.lose(ask, 20, spent=True), 30, 3, some_suffice=True
    )
    sample = server.sample(answer)
    assert (sample.missing, sample.asked, sample.draws) == (30, 90, 0)
    assert sample.shift(0.05) > 0.1  # they may be any third of the weight


def test_others_are_asked_first_even_if_some_juries_suffice() -> None:
    """Of 1,000 clients 900 are drawn: one jury of 100 can be replaced, not two."""
    server = talk()
    answer, heard = juries_of(server, Deaf(1, (0,)), 100, 9, some_suffice=True)
    assert (len(heard), answer.count, answer.asked) == (10, 900, 900)
    server, engine = talk(), Deaf(2, (0, 1))
    answer, heard = juries_of(server, engine, 100, 9, some_suffice=True)
    assert (len(heard), answer.count, answer.asked, server.cohort.size) == (10, 800, 900, 900)
    asked = np.concatenate([named(ask.cohort, server.population)[0] for ask in heard])
    assert len(np.unique(asked)) == 1000


def test_one_jury_must_answer() -> None:
    with pytest.raises(RoundFailed, match=r"^a jury, jury 3 of 3: the round was lost after .*only 100 others are left"):
        juries_of(talk(), Deaf(3, (0, 1, 2)), 300, 3, some_suffice=True)


def test_three_times_in_a_row_is_enough_for_a_jury() -> None:
    with pytest.raises(RoundFailed, match=r"^a jury, jury 1 of 3: too few clients answered, 3 times in a row"):
        juries_of(talk(), Deaf(99), 10, 3)


# The simulator.


def town(clients: int = 300) -> FacilityLocation:
    rng = np.random.default_rng(2)
    return FacilityLocation(rng.random((clients, 3)), weights=rng.random(clients))


def a_gradient(objective: Objective, size: int | None, number: int = 0) -> Ask:
    return Ask(
        toss(PublicCoins.of(3, number)),
        Population.of(objective).draw(size, PublicCoins.of(4, number)),
        Purpose.SEARCH,
        "a step",
        number,
    )


@pytest.mark.parametrize("size", [None, 40])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_plain_sums_are_ideal_sums(size: int | None, dropout: float) -> None:
    objective = town()
    for number in range(5):
        ask = a_gradient(objective, size, number)
        ideal, plain = (Simulation(objective, secure, dropout=dropout)(ask) for secure in ("ideal", "plain"))
        np.testing.assert_array_equal(ideal.total, plain.total)
        assert (ideal.count, ideal.clients, ideal.asked) == (plain.count, plain.clients, plain.asked)
        assert ideal.asked == ask.cohort.weight
        if not dropout:
            assert (ideal.count, ideal.clients) == (ask.cohort.weight, ask.cohort.size)
        np.testing.assert_array_equal(Simulation(objective, threads=1, dropout=dropout)(ask).total, ideal.total)


@pytest.mark.parametrize("clients", [1, 255, 256, 300])
def test_the_largest_sum_fits(clients: int) -> None:
    """Everybody answers the bound: no bit of the ring is too few."""
    objective = Coverage(np.ones((clients, 3)))
    ask = a_gradient(objective, None)
    for secure in ("ideal", "plain"):
        total = Simulation(objective, secure)(ask).total
        assert total[:3].tolist() == [ask.query.encoding.limit * clients] * 3


@pytest.mark.parametrize("size", [None, 40])
def test_coins_say_who_drops_out(size: int | None) -> None:
    """By (seed, round, client) and nothing else."""
    objective, gone = town(), []
    for seed, number in ((0, 0), (0, 1), (9, 0)):
        ask = a_gradient(objective, size, number)
        ids, times = named(ask.cohort, Population.of(objective))
        stay = PublicCoins.of(seed, number, 2).toss(ids) >= 0.3
        gone.append(frozenset(ids[~stay].tolist()))
        answer = Simulation(objective, dropout=0.3, seed=seed)(ask)
        own = toss_for(ask.query)
        expected = ask.query.total(objective[ids[stay]], ids[stay], times[stay], own)
        np.testing.assert_array_equal(answer.total, expected)
        assert (answer.count, answer.clients) == (times[stay].sum(), stay.sum())
    assert len(set(gone)) == 3


def test_so_many_drop_out() -> None:
    objective = Coverage(np.ones((2000, 2)))
    ask = Ask(Magnitude(), Population.of(objective).everyone, Purpose.SEARCH, "a step", 0)
    clients = [Simulation(objective, dropout=0.3, seed=seed)(ask).clients for seed in range(10)]
    assert abs(np.mean(clients) / 2000 - 0.7) <= within(20_000, 1)


def test_too_few_answers_are_no_sum() -> None:
    objective = town()
    ask = a_gradient(objective, None)
    clients = Simulation(objective, dropout=0.3, least=0.0)(ask).clients
    for least in (clients / ask.cohort.size, (clients + 0.5) / ask.cohort.size, 1.0):
        answer = Simulation(objective, dropout=0.3, least=least)(ask)
        enough = least * ask.cohort.size <= clients
        assert (answer.count > 0, answer.lost, answer.clients) == (enough, not enough, clients)
        assert answer.total.any() == enough
        assert answer.total.shape == (ask.query.length,)
        assert answer.asked == ask.cohort.weight
    assert Simulation(objective, dropout=0.9999, least=0.0, seed=1)(a_gradient(objective, 3)).count == 0
    server = Talk(Population.of(objective), Uniform(3, 1), 0)
    with pytest.raises(RoundFailed):
        drive(server.ask(toss, 40, Purpose.SEARCH, "a step"), Simulation(objective, dropout=0.9))


def test_who_is_not_willing_is_not_in_the_sum() -> None:
    objective = town()
    nothing = np.zeros(3, dtype=bool)
    for kappa in (0.3, 1e-9):
        query = Gains(members=nothing, items=np.arange(3), most=1 / kappa, draw=5, who=Participation(even=kappa))
        ask = Ask(query, Cohort.of(np.arange(10, 200), None), Purpose.SEARCH, "a step", 0)
        willing = np.arange(10, 200)[toss_for(query).toss(np.arange(10, 200), 3) < kappa]
        answer = Simulation(objective)(ask)
        assert (answer.clients, answer.count, answer.asked) == (len(willing), len(willing), 190)
        once = np.ones(len(willing), dtype=np.int64)
        expected = query.total(objective[willing], willing, once, toss_for(query)) if len(willing) else np.zeros(3)
        np.testing.assert_array_equal(answer.total, expected)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "certain dropout": (lambda: Simulation(town(2), dropout=1.0), "^dropout: needs a chance below 1, got 1.0"),
    "negative dropout": (lambda: Simulation(town(2), dropout=-0.1), "^dropout: needs a number of at least 0"),
    "no number": (lambda: Simulation(town(2), dropout=float("nan")), "^dropout: needs a finite number"),
    "least": (lambda: Simulation(town(2), least=1.01), "^least: needs a share of at most 1, got 1.01"),
    "negative least": (lambda: Simulation(town(2), least=-1), "^least: needs a number of at least 0"),
    "secure": (lambda: Simulation(town(2), "masked"), '^secure: needs "ideal", "plain" or "real", got \'masked\''),  # type: ignore[arg-type]
    "no threads": (lambda: Simulation(town(2), threads=0), "^threads: needs a whole number of at least 1, got 0"),
    "half a thread": (lambda: Simulation(town(2), threads=1.5), "^threads: needs a whole number"),  # type: ignore[arg-type]
    "seed": (lambda: Simulation(town(2), seed=-1), "^seed: needs a whole number of at least 0"),
    "objective": (lambda: Simulation(np.eye(2)), "^objective: needs an objective such as"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_settings_that_cannot_work_are_refused_in_one_sentence(name: str) -> None:
    make, sentence = REFUSED[name]
    with pytest.raises(InputError, match=sentence) as refusal:
        make()
    assert "\n" not in str(refusal.value)
