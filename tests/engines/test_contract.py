"""What every engine must do, whatever lies behind it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import (
    Cancelled,
    Control,
    DiscreteGreedy,
    Engine,
    FacilityLocation,
    FedCG,
    InputError,
    Result,
    RoundFailed,
    Simulation,
    resume,
    solve,
    verify,
)
from folkmoot.conversation import Ask, Cohort, Cost, Purpose, Sum
from folkmoot.conversation.codec import pack
from folkmoot.conversation.rounds import check_sum
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Ids
from folkmoot.questions import Differences, Gains, Gradient, Magnitude, Participation, Query, Votes
from tests.coins import toss_for
from tests.engines.kinds import ENGINES, Wrapper

CLIENTS, ITEMS = 24, 8
HIDING = {"pooled"}  # nobody learns who volunteers: all who were asked count as present


def crowd(seed: int = 0, weights: Ids | None = None) -> FacilityLocation:
    rng = np.random.default_rng(seed)
    stars = rng.integers(1, 6, (CLIENTS, ITEMS)) * (rng.random((CLIENTS, ITEMS)) < 0.6)
    return FacilityLocation(stars, weights=weights, keep_empty=True)


def questions() -> dict[str, Query[Any]]:
    nothing, coins, items = np.zeros(ITEMS, dtype=bool), PublicCoins(3), np.arange(ITEMS)
    who = Participation.uniform(12, CLIENTS)
    sets = np.eye(3, ITEMS, dtype=bool)
    return {
        "gradient": Gradient(x=np.full(ITEMS, 0.1), whole=5.0, single=5.0, bits=4, stochastic=True, coins=coins),
        "votes": Votes(x=np.zeros(ITEMS), whole=5.0, votes=2, sum=40.0, bits=8, coins=coins),
        "ranges": Magnitude(),
        "gains": Gains(members=nothing, items=items, most=5.0, whole=5.0),
        "gains by coins": Gains(members=nothing, items=items, most=10.0, whole=10.0, draw=3, who=who),
        "signed": Differences(items=items, sets=sets, most=5.0, standing=1.0, draw=3),
    }


def ask(query: Query[Any], cohort: Cohort, number: int = 0) -> Ask:
    return Ask(query, cohort, Purpose.SEARCH, "a question", number)


def add_up_by_hand(query: Query[Any], clients: FacilityLocation, cohort: Cohort) -> tuple[Ids, Ids]:
    """Client by client: the total, and who is in it."""
    total, heard = np.zeros(query.length, dtype=np.int64), []
    for client, times in zip(*cohort.list_members(), strict=True):
        one, ids, often = clients[int(client)], np.array([client]), np.array([times])
        willing = query.takes_part(one, ids, often, toss_for(query))
        if willing is None or willing[0]:
            total += query.answers(one, ids, often, toss_for(query)).toarray()[0]
            heard.append(client)
    return total, np.array(heard)


@pytest.mark.parametrize("question", questions())
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
def test_a_sum_is_the_sum_of_the_answers(name: str, question: str, weighted: bool) -> None:
    weights = np.random.default_rng(1).integers(1, 4, CLIENTS) if weighted else None
    clients = crowd(weights=weights)
    engine, query = ENGINES[name](clients), questions()[question]
    cohort = engine.population.draw(16, PublicCoins(5))
    asked = ask(query, cohort)
    said = check_sum(asked, engine(asked))
    total, heard = add_up_by_hand(query, clients, cohort)
    if name in HIDING:
        heard = cohort.list_members()[0]
    assert not said.lost
    assert (said.total == total).all()
    assert said.clients == len(heard)
    assert said.asked == cohort.weight
    ids, times = cohort.list_members()
    present = np.ones(cohort.size, dtype=bool) if said.present is None else said.present
    assert (ids[present] == heard).all()
    assert said.count == times[present].sum()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("method", [FedCG(2, cohort=16, jury=20), DiscreteGreedy(expected_answers=16)], ids=repr)
def test_every_engine_leads_to_the_same_choice(name: str, method: Any, tmp_path: Path) -> None:
    clients = crowd()
    engine, path = ENGINES[name](clients), tmp_path / "run"
    found = solve(None, 2, method, engine=engine, seed=4, transcript=path)
    expected = solve(clients, 2, method, seed=4)
    assert found.selected == expected.selected
    assert found.estimate == expected.estimate

    def describe(result: Result) -> list[Any]:
        rounds = result.rounds or ()
        return [(r.label, r.asked, (r.voluntary and name in HIDING) or r.answered, r.value) for r in rounds]

    assert describe(found) == describe(expected)
    assert (found.value is not None) == (engine.everything is not None or found.estimate.everyone)  # type: ignore[union-attr]
    assert resume(path, engine=engine) == found
    assert verify(path, engine=engine) == found
    assert verify(path).estimate == found.estimate


@pytest.mark.parametrize("name", ENGINES)
def test_nobody_is_asked_to_verify_what_cannot_be_computed_again(name: str, tmp_path: Path) -> None:
    engine = Wrapper(ENGINES[name](crowd()))
    solve(None, 2, FedCG(1, cohort=16, jury=20), engine=engine, transcript=tmp_path / "run")
    before = len(engine.asked)
    verify(tmp_path / "run", engine=engine)
    assert len(engine.asked) == (2 * before if engine.can_recompute else before)


@pytest.mark.parametrize("name", ENGINES)
def test_what_it_says_of_itself_tells_clients_apart(name: str) -> None:
    same, again, other = (pack(dict(ENGINES[name](crowd(seed)).describe())) for seed in (0, 0, 1))
    assert same == again
    if ENGINES[name](crowd()).can_recompute:  # it would notice
        assert same != other


@pytest.mark.parametrize("name", ENGINES)
def test_a_cancelled_round_ends_at_once(name: str) -> None:
    engine = ENGINES[name](crowd())
    asked = ask(questions()["gradient"], engine.population.everyone)
    with pytest.raises(Cancelled):
        engine.add_up(asked, Control(cancelled=lambda: True))


@pytest.mark.parametrize("name", ENGINES)
def test_a_round_beyond_its_deadline_is_lost(name: str) -> None:
    engine = ENGINES[name](crowd())
    asked = ask(questions()["gradient"], engine.population.everyone)
    said = check_sum(asked, engine.add_up(asked, Control(deadline=0.0)))
    assert (said.lost, said.spent, said.count) == (True, False, 0)
    assert not said.total.any()


@pytest.mark.parametrize("name", ENGINES)
def test_progress_inside_a_round(name: str) -> None:
    engine, steps = ENGINES[name](crowd()), list[tuple[str, int, int]]()
    asked = ask(questions()["gradient"], engine.population.everyone)
    engine.add_up(asked, Control(progress=lambda *step: steps.append(step)))
    assert steps
    assert all(what and 0 <= done <= of for what, done, of in steps)
    assert steps[-1][1] == steps[-1][2]


@pytest.mark.parametrize("name", ENGINES)
def test_cost_is_measured_or_said_not_to_be(name: str) -> None:
    engine = ENGINES[name](crowd())
    result = solve(None, 2, FedCG(1, cohort=16, jury=20), engine=engine)
    assert result.rounds
    said = engine(ask(questions()["gradient"], engine.population.everyone, number=50))
    for one in result.rounds:
        assert one.measured == (said.cost is not None and said.cost.measured)
        assert one.seconds > 0
        assert one.down > 0
        assert one.up > 0


def test_a_wrapped_engine_is_billed_like_the_one_inside() -> None:
    clients = crowd()
    for inner in (Simulation(clients), Simulation(clients, "plain")):
        one, other = (solve(None, 2, FedCG(1), engine=engine) for engine in (inner, Wrapper(inner)))
        assert [r.up for r in one.rounds or ()] == [r.up for r in other.rounds or ()]


class Broken(Wrapper):
    """Says something that cannot be a sum."""

    def __init__(self, inner: Engine, change: dict[str, Any]) -> None:
        super().__init__(inner)
        self.change = change

    def add_up(self, ask: Ask, control: Control) -> Sum:
        said = super().add_up(ask, control)
        return replace(said, **{name: make(said) for name, make in self.change.items()})


@pytest.mark.parametrize(
    "change",
    [
        {"total": lambda said: said.total + 10**12},
        {"total": lambda said: said.total - 10**12},
        {"total": lambda said: said.total[:-1]},
        {"count": lambda said: said.count + 1},
        {"clients": lambda said: said.clients - 1},
        {"present": lambda _: np.zeros(3, dtype=bool)},
    ],
)
def test_what_cannot_be_a_sum_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RoundFailed, match=r"^range of values: (what )?the engine"):
        solve(None, 2, FedCG(1), engine=Broken(Simulation(crowd()), change))


def test_measured_bytes_and_seconds_reach_the_result(tmp_path: Path) -> None:
    engine = Broken(Simulation(crowd()), {"cost": lambda _: Cost(1_000.4, 77.6)})
    result = solve(None, 2, FedCG(1), engine=engine, transcript=tmp_path / "run")
    assert {(one.down, one.up, one.measured) for one in result.rounds or ()} == {(1_000, 78, True)}
    again = verify(tmp_path / "run", engine=engine)
    assert again.rounds == result.rounds, "a replayed round costs what it cost"


def test_what_is_no_engine_is_refused() -> None:
    for wrong in (None.__class__, object(), lambda ask: ask, Simulation):
        with pytest.raises(InputError, match=r"^engine: needs an engine such as Simulation"):
            solve(None, 2, FedCG(1), engine=wrong)  # type: ignore[arg-type]
