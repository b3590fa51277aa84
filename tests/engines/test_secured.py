"""The whole protocol gives the sums of the ideal one, bit for bit, whoever drops out and whenever."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from folkmoot import (
    Auto,
    DiscreteGreedy,
    FedCG,
    FedCGPlus,
    InputError,
    RandGreeDi,
    RoundFailed,
    Simulation,
    Uniform,
    solve,
)
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Sum, drive
from folkmoot.conversation.talk import Talk
from folkmoot.engines import Federation
from folkmoot.engines.simulate import bound_dropout, can_bear, find_most_bearable
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Ids
from folkmoot.secagg import Announcement, Policy
from folkmoot.secagg.sketch import Sketch, SketchFailed
from tests.engines.crowds import Listener, ask_everyone, crowd, gradient, votes

METHODS = {
    "gradient": FedCG(2, cohort=12, answer="gradient"),
    "quantized": FedCG(2, cohort=12),
    "base": FedCG(2, cohort=12, answer="base"),
    "votes": FedCG(2, cohort=12, answer="votes"),
    "norm, a whole number": FedCG(2, cohort=12, norm=2),
    "walk": FedCGPlus(4, 2, cohort=12),
    "discrete": DiscreteGreedy(expected_answers=12),
    "shards": RandGreeDi(6),
}


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [{}, {"dropout": 0.1, "late": 0.05}], ids=["all there", "some gone"])
@pytest.mark.parametrize("name", METHODS)
def test_sums_and_result_are_those_of_the_ideal(name: str, dropout: dict[str, Any]) -> None:
    objective = crowd(16)
    terms = Policy(fewest=3, dropout=0.3)
    real = Listener(Simulation(objective, "real", policy=terms, **dropout))
    ideal = Listener(Simulation(objective, "ideal", **dropout))
    found, expected = (solve(objective, 2, METHODS[name], engine=engine, seed=5) for engine in (real, ideal))
    assert replace(found, seconds=0) == replace(expected, seconds=0)
    assert len(real.sums) == len(ideal.sums)
    for one, other in zip(real.sums, ideal.sums, strict=True):
        np.testing.assert_array_equal(one.total, other.total)
        assert (one.count, one.clients, one.asked, one.lost) == (other.count, other.clients, other.asked, other.lost)
        assert one.equals(other)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_juries_add_up_to_the_ideal(dropout: float) -> None:
    objective, terms = crowd(60), Policy(fewest=3, dropout=0.3)
    method = Auto(20, 2, jury=20, juries=2, polish=0)
    engines = [Listener(Simulation(objective, secure, dropout=dropout, policy=terms)) for secure in ("real", "ideal")]
    found, expected = (solve(objective, 2, method, engine=engine, seed=5) for engine in engines)
    assert replace(found, seconds=0) == replace(expected, seconds=0)
    assert found.estimate is not None
    assert found.estimate.clients == sum(one.clients for one in engines[0].sums[-2:]) <= 40
    assert all(one.equals(other) for one, other in zip(engines[0].sums, engines[1].sums, strict=True))


def test_an_engine_serves_one_run_after_another() -> None:
    """The same questions to the same clients: in a simulation each run has clients who have answered nothing yet."""
    objective = crowd(16)
    engine = Simulation(objective, "real", policy=Policy(fewest=3))
    runs = [solve(objective, 2, METHODS["gradient"], engine=engine, seed=5) for _ in range(2)]
    assert replace(runs[0], seconds=0) == replace(runs[1], seconds=0)


def test_within_a_run_nobody_answers_the_same_question_twice() -> None:
    objective = crowd(16)
    engine = Simulation(objective, "real", policy=Policy(fewest=3))
    assert not engine(ask_everyone(16, gradient(12), 0)).lost
    again = engine(ask_everyone(16, gradient(12), 1))
    assert (again.lost, again.spent) == (True, False)


def test_clients_that_count_several_times() -> None:
    weights = np.random.default_rng(1).integers(1, 5, 30)
    objective = crowd(30, weights=weights)
    asked = Ask(gradient(12), Simulation(objective).population.draw(25, PublicCoins(3)), Purpose.SEARCH, "test", 0)
    assert asked.cohort.times is not None
    assert asked.cohort.times.max() > 1
    real, ideal = (Simulation(objective, secure, policy=Policy(fewest=3))(asked) for secure in ("real", "ideal"))
    np.testing.assert_array_equal(real.total, ideal.total)
    assert real.count == ideal.count


def note_announcements(monkeypatch: pytest.MonkeyPatch) -> list[Announcement]:
    """What is announced from now on."""
    seen: list[Announcement] = []
    make = Federation._announce

    def note(self: Federation, *about: Any) -> Announcement:
        seen.append(make(self, *about))
        return seen[-1]

    monkeypatch.setattr(Federation, "_announce", note)
    return seen


def test_the_smaller_form_is_taken_and_both_give_the_same_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = note_announcements(monkeypatch)
    objective = crowd(20, items=5_000)
    for query, sketched in ((votes(5_000), True), (gradient(5_000), False)):
        total = Simulation(objective, "real")(ask_everyone(20, query)).total
        np.testing.assert_array_equal(total, Simulation(objective)(ask_everyone(20, query)).total)
        assert bool(seen[-1].room) == sketched


def test_after_a_sketch_that_does_not_decode_the_next_vectors_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = note_announcements(monkeypatch)
    objective = crowd(20, items=5_000)
    engine = Simulation(objective, "real")

    with monkeypatch.context() as patch:
        patch.setattr(Sketch, "decode", Mock(side_effect=SketchFailed("no room")))
        assert engine(ask_everyone(20, votes(5_000))).lost
    for number in (1, 2):
        assert not engine(ask_everyone(20, votes(5_000, 1 + number), number)).lost
    assert [bool(one.room) for one in seen] == [True, False, True]


def test_rounds_that_lose_too_many_are_lost_and_not_asked_of_the_same_again() -> None:
    objective = crowd(20)
    engine = Listener(Simulation(objective, "real", dropout=0.5, least=0.1, policy=Policy(fewest=3)))
    with pytest.raises(RoundFailed, match="lost after clients had sent their answers, and everyone was asked"):
        solve(objective, 3, FedCG(2), engine=engine)
    assert [(one.lost, one.spent) for one in engine.sums] == [(True, True)]


def test_after_a_sketch_that_does_not_decode_others_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = crowd(60, items=5_000)
    engine = Listener(Simulation(objective, "real"))
    talk, asked, decode = Talk(engine.population, Uniform(5_000, 1), 3), list[Ids](), Sketch.decode

    def fails_once(sketch: Sketch, *about: Any) -> Any:
        if len(engine.sums) == 0:
            raise SketchFailed("no room")
        return decode(sketch, *about)

    def noted(ask: Ask) -> Sum:
        assert ask.cohort.ids is not None
        asked.append(ask.cohort.ids)
        return engine(ask)

    monkeypatch.setattr(Sketch, "decode", fails_once)
    answer = drive(talk.ask(votes(5_000), 20, Purpose.SEARCH, "votes"), noted)
    assert [(one.lost, one.spent) for one in engine.sums] == [(True, True), (False, False)]
    assert answer.clients == 20
    assert not np.isin(asked[0], asked[1]).any()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {},
            "^clients: 8 clients are asked per round, but real secure aggregation needs at least 10, among",
        ),
        ({"policy": Policy(fewest=3, corrupt=0.4, dropout=0.4)}, "^clients: 8 are too few to withstand 40% corrupt"),
        ({"late": 1.0}, "^late: needs a chance below 1, got 1.0"),
    ],
)
def test_what_cannot_be_protected_is_refused(settings: dict[str, Any], sentence: str) -> None:
    objective = crowd(8)
    with pytest.raises(InputError, match=sentence):
        solve(objective, 2, FedCG(2), engine=Simulation(objective, "real", **settings))


@pytest.mark.parametrize("clients", [12, 30, 100, 610, 2_000])
@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.25, 0.3, 0.35])
def test_terms_allow_for_as_many_dropouts_as_any_terms_can(clients: int, dropout: float) -> None:
    bound = bound_dropout(dropout, clients)
    assert bound > dropout
    assert can_bear(Policy(dropout=bound), clients)


@pytest.mark.parametrize("corrupt", [0.0, 0.1, 0.3])
def test_beyond_what_terms_can_bear_there_are_none(corrupt: float) -> None:
    """What was asked for is kept, so that whoever refuses it names the number that was given."""
    limit = find_most_bearable(corrupt)
    assert bound_dropout(limit + 0.05, 100, corrupt) == limit + 0.05
    assert not can_bear(Policy(corrupt=corrupt, dropout=limit + 0.05), 100)
    assert can_bear(Policy(corrupt=corrupt, dropout=limit - 0.05), 100)
