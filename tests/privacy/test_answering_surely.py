"""Whether somebody answers under noise must not depend on what they hold: who cannot answer says nothing at all."""

from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.engines import PartyPolicy
from folkmoot.foundation.errors import RoundFailed
from folkmoot.foundation.sets import Array
from folkmoot.questions.hidden import Direction, HiddenQuery, Worth
from tests.coins import toss_for
from tests.engines.pools import CLIENTS, ITEMS, SIZES, TERMS, VICTIM, ask_all, make_engine, make_parties, reasons

FIRST = sum(SIZES[:VICTIM])  # a client of the victim
HIDING: dict[str, Any] = {"mu": 0.5, "sd": 1 << 16, "honest": 2}


def fail(_: Any) -> float:
    raise RuntimeError("a secret")


def like(client: int, broken: bool) -> Any:
    worth: Array = np.random.default_rng(client).random(ITEMS)

    def value(members: Any) -> float:
        if broken and len(list(members)):
            return float("nan") if client % 2 else fail(members)
        return float(worth[list(members)].max(initial=0.0))

    return value


def make_functions(broken: bool) -> fm.Functions:
    functions = [like(client, broken and client in (FIRST, FIRST + 1)) for client in range(CLIENTS)]
    made = fm.Functions(functions, ITEMS)
    made.most = 1.0
    return made


def questions() -> dict[str, HiddenQuery[Any]]:
    members = np.arange(ITEMS) < 3
    return {
        "direction": Direction(members=members, items=np.arange(3, ITEMS), most=1.0, **HIDING),
        "worth": Worth(members=members, whole=1.0, **HIDING),
    }


@pytest.mark.parametrize("name", ["direction", "worth"])
def test_a_client_that_fails_is_not_missed(name: str) -> None:
    """Its party answers as ever, and the others' answers are in the sum."""
    query = questions()[name]
    for broken in (False, True):
        parties = make_parties(make_functions(broken), PartyPolicy(TERMS))
        said = make_engine(parties)(ask_all(query))
        assert (said.lost, said.clients) == (False, CLIENTS)
        assert not reasons(parties)
    whole, ids, once = make_functions(False), np.arange(CLIENTS), np.ones(CLIENTS, dtype=np.int64)
    kept = query.answers(whole, ids, once, toss_for(query)).toarray()
    kept[[FIRST, FIRST + 1]] = 0
    np.testing.assert_array_equal(query.answer_surely(make_functions(True), ids, once, toss_for(query)).toarray(), kept)
    np.testing.assert_array_equal(
        query.total_surely(make_functions(True), ids, once, toss_for(query)), kept.sum(axis=0)
    )


def test_how_large_sets_tables_can_look_at_is_not_told() -> None:
    rng, replies, rows = np.random.default_rng(1), [], 40
    for arity in (2, 30):  # with 30 values each, a few columns have more joint states than a client looks at
        held = [rng.integers(0, arity, (rows, ITEMS)) for _ in range(CLIENTS)]
        tables = fm.Information(held, [rng.integers(0, 2, rows) for _ in range(CLIENTS)])
        members = np.arange(ITEMS) < ITEMS - 2
        query = Direction(members=members, items=np.arange(ITEMS - 2, ITEMS), most=1.0, **HIDING)
        parties = make_parties(tables, PartyPolicy(TERMS))
        said = make_engine(parties)(ask_all(query))
        replies.append((said.lost, said.clients, reasons(parties)))
        limit = tables.largest_set
    assert limit is not None
    assert limit < ITEMS - 2
    assert replies[0] == replies[1] == (False, CLIENTS, set())


class Forgetful(fm.Simulation):
    """An engine that adds no noise, or too little."""

    noise_said = 0.0

    def add_up(self, ask: Ask, control: fm.Control) -> Sum:
        said = super().add_up(ask, control)
        object.__setattr__(said, "noise", self.noise_said)
        object.__setattr__(said, "honest", 1)
        return said


@pytest.mark.parametrize("noise", [0.0, 1e6])
def test_an_engine_without_noise_is_not_believed(noise: float) -> None:
    objective = fm.FacilityLocation(np.random.default_rng(0).random((2_000, 30)), most=1.0)
    engine = Forgetful(objective)
    engine.noise_said = noise
    with pytest.raises(RoundFailed, match="the engine did not add the noise that the question says"):
        fm.solve(None, 3, privacy=fm.Privacy(1.0), engine=engine, progress=False)
