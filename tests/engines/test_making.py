"""A transcript says how every sum was made."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation import Making
from tests.engines.crowds import ask_everyone, crowd, gradient, make_federation, make_party
from tests.engines.pools import CLIENTS, ITEMS, SIZES, VICTIM, make_engine, make_parties
from tests.engines.test_pooling import Losing

METHOD = fm.FedCG(2, polish=0)


def test_parties_degree_threshold_and_session_are_stored(tmp_path: Path) -> None:
    clients = crowd(CLIENTS, most=5.0)
    parties = make_parties(clients)
    exchange = Losing(parties)
    exchange.stage, exchange.gone = "vector", VICTIM
    engine = make_engine(parties, exchange)
    result = fm.solve(None, 3, METHOD, engine=engine, seed=1, transcript=tmp_path / "run")
    left = tuple(party for party in range(len(SIZES)) if party != VICTIM)
    assert result.rounds
    for one in result.rounds:
        assert one.made == Making(len(SIZES), 4, 4, 3, engine._session.hex(), left)
    again = fm.verify(tmp_path / "run")
    assert [one.made for one in again.rounds or ()] == [one.made for one in result.rounds]
    assert [one.made for one in fm.Result.from_json(result.to_json()).rounds or ()] == [
        one.made for one in result.rounds
    ]


def test_it_cannot_be_changed_later(tmp_path: Path) -> None:
    clients = crowd(CLIENTS, most=5.0)
    fm.solve(None, 3, METHOD, engine=make_engine(make_parties(clients)), seed=1, transcript=tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run")) as file:
        (cost,) = file.execute("select cost from rounds where number = 1").fetchone()
        changed = json.dumps(json.loads(cost) | {"made": None})
        file.execute("update rounds set cost = ? where number = 1", (changed,))
        file.commit()
    with pytest.raises(fm.TranscriptError, match=r"the sum of round 1 .* was changed"):
        fm.verify(tmp_path / "run")


def test_results_without_it_are_read() -> None:
    result = fm.solve(crowd(CLIENTS), 3, METHOD, seed=1)
    assert all(one.made is None for one in result.rounds or ())
    document = json.loads(result.to_json())
    for one in document["rounds"]:
        del one["made"]
    assert fm.Result.from_json(json.dumps(document)) == result


def test_clients_that_are_masked_one_by_one_are_counted() -> None:
    clients = crowd(CLIENTS)
    engine = make_federation(clients, [make_party(clients, np.arange(CLIENTS))])
    made = engine(ask_everyone(CLIENTS, gradient(ITEMS))).made
    assert made is not None
    assert (made.members, made.survivors, made.parties) == (CLIENTS, CLIENTS, None)
    assert 0 < made.threshold < made.degree < CLIENTS
