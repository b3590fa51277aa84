"""A server that dies: another process continues its round, with the parties it finds, and no round is lost."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.conversation.transcript import Transcript
from folkmoot.engines import Bundle, Exchange, InProcess, MemoryStore, RoundJournal
from folkmoot.engines.journal import read_inbox, write_inbox
from folkmoot.secagg.together import STAGES
from tests.engines.crowds import ask_everyone, crowd, gradient, make_federation, make_party, voluntary
from tests.engines.pools import CLIENTS, ITEMS, SIZES, ask_all, make_engine, make_parties
from tests.engines.test_pooling_crashes import Dying

METHOD = fm.FedCG(3, polish=0)
CLIENT = crowd(CLIENTS, most=5.0)


class Pool:
    """Parties whose stores outlive their processes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.stores = folder, [MemoryStore() for _ in SIZES]

    def restart(self) -> dict[int, Any]:
        return make_parties(CLIENT, store=self.stores.__getitem__)

    def solve(self, how: Callable[[Any], Any], exchange: Callable[[dict[int, Any]], Exchange] = InProcess) -> Any:
        """One process of the server, and of every party."""
        parties = self.restart()
        with closing(RoundJournal(self.folder / "journal")) as journal:
            return how(make_engine(parties, exchange(parties), journal=journal))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("stage", ["question", *STAGES])
def test_no_round_is_lost_with_the_server(stage: str, after: bool, tmp_path: Path) -> None:
    pool, run = Pool(tmp_path), tmp_path / "run"

    def die(parties: dict[int, Any]) -> Dying:
        exchange = Dying(parties)
        exchange.stage, exchange.number, exchange.after = stage, 2, after
        return exchange

    with pytest.raises(KeyboardInterrupt):
        pool.solve(lambda engine: fm.solve(None, 3, METHOD, engine=engine, seed=2, transcript=run), die)
    result = pool.solve(lambda engine: fm.resume(run, engine=engine))
    whole = fm.solve(None, 3, METHOD, engine=make_engine(make_parties(CLIENT)), seed=2)
    assert (result.selected, result.estimate) == (whole.selected, whole.estimate)
    assert [one.answered for one in result.rounds or ()] == [one.answered for one in whole.rounds or ()]
    assert [one.up for one in result.rounds or ()] == [one.up for one in whole.rounds or ()]
    assert fm.verify(run).estimate == result.estimate
    for party in pool.restart().values():
        assert not party.store.read_refusals()
        assert len(party.ledger) == len(result.rounds or ())


def test_no_round_is_lost_however_often_the_server_dies(tmp_path: Path) -> None:
    """Every process dies in its third exchange, when the replies have come."""

    def die(parties: dict[int, Any]) -> Exchange:
        exchange, calls = InProcess(parties), iter(range(2))

        def carry(outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = exchange(outbox, deadline)
            if next(calls, None) is None:
                raise KeyboardInterrupt
            return inbox

        return carry

    pool, said = Pool(tmp_path), None
    for _ in range(1 + len(STAGES)):
        try:
            said = pool.solve(lambda engine: engine(ask_all(gradient(ITEMS))), die)
        except KeyboardInterrupt:
            continue
        break
    assert said is not None
    assert said.equals(fm.Simulation(CLIENT)(ask_all(gradient(ITEMS))))


def test_a_sum_that_was_not_stored_comes_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server dies between the sum and the transcript."""
    pool, run, note = Pool(tmp_path), tmp_path / "run", Transcript.note

    def die(self: Transcript, ask: Ask, said: Sum) -> None:
        if ask.number == 1:
            raise KeyboardInterrupt
        note(self, ask, said)

    monkeypatch.setattr(Transcript, "note", die)
    with pytest.raises(KeyboardInterrupt):
        pool.solve(lambda engine: fm.solve(None, 3, METHOD, engine=engine, seed=2, transcript=run))
    monkeypatch.undo()
    result = pool.solve(lambda engine: fm.resume(run, engine=engine))
    assert result.estimate == fm.solve(CLIENT, 3, METHOD, seed=2).estimate
    assert all(one.answered for one in result.rounds)


@pytest.mark.parametrize("stage", ["question", "keys", "vector", "unmasking"])
def test_clients_one_by_one(stage: str, tmp_path: Path) -> None:
    """Volunteers say once who takes part; sketches are made of the same room."""
    clients, halves = crowd(CLIENTS), (np.arange(0, CLIENTS, 2), np.arange(1, CLIENTS, 2))
    parties = [make_party(clients, ids, store=MemoryStore()) for ids in halves]
    ask = ask_everyone(CLIENTS, voluntary(ITEMS))
    with closing(RoundJournal(tmp_path / "journal")) as journal:
        exchange = Dying(dict(enumerate(parties)))
        exchange.stage, exchange.number, exchange.after = stage, 1, True
        dying = make_federation(clients, parties, exchange, journal=journal)
        dying._written_out = True  # after a sketch that could not be decoded; the next process does not know of it
        with pytest.raises(KeyboardInterrupt):
            dying(ask)
        assert make_federation(clients, parties, journal=journal)(ask).equals(fm.Simulation(clients)(ask))
    assert all([entry.stage for entry in party.ledger] == ["question", "vector"] for party in parties)


def test_a_round_that_nobody_answered_is_asked_from_the_start(tmp_path: Path) -> None:
    parties, ask = make_parties(CLIENT, store=lambda _: MemoryStore()), ask_all(gradient(ITEMS))
    with closing(RoundJournal(tmp_path / "journal")) as journal:
        assert make_engine(parties, InProcess({}), journal=journal)(ask).lost
        engine = make_engine(parties, journal=journal)
        assert not engine.can_continue(ask)
        assert not engine(ask).lost
        assert engine.can_continue(ask)  # until another is begun
        assert not engine(ask_all(gradient(ITEMS, 2), 1)).lost
        assert not engine.can_continue(ask)


def test_other_engines_cannot_continue() -> None:
    assert not make_engine(make_parties(CLIENT)).can_continue(ask_all(gradient(ITEMS)))
    assert not fm.Simulation(CLIENT).can_continue(ask_all(gradient(ITEMS)))


def test_replies_are_kept_in_their_order() -> None:
    inbox = {5: Bundle({2: b"x", 1: b"x"}), 1: Bundle({}), 3: Bundle({9: b""})}
    back = read_inbox(write_inbox(inbox))
    assert (back, list(back)) == (inbox, list(inbox))


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(b"something else" * 100)
    for path, why in ((tmp_path / "journal", "is not the journal of a round"), (tmp_path / "a" / "b", "no folder")):
        with pytest.raises(fm.InputError, match=why):
            RoundJournal(path)


def test_what_was_asked_before_a_broken_round_is_not_asked_again(tmp_path: Path) -> None:
    """A round was lost, and the server died in the next when its sum may have been known."""
    parties = make_parties(CLIENT)
    seen: list[str] = []

    class Cut(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            seen.append(next(iter(outbox.values())).stage)
            inbox = super().__call__(outbox, deadline)
            if seen.count("keys") == 2 and seen[-1] == "keys":
                return {}
            if seen.count("keys") == 3 and seen[-1] == "unmasking":
                raise KeyboardInterrupt
            return inbox

    with pytest.raises(KeyboardInterrupt):
        fm.solve(None, 3, METHOD, engine=make_engine(parties, Cut(parties)), seed=2, transcript=tmp_path / "run")
    before = len(parties[0].ledger)
    with pytest.raises(fm.RoundFailed, match="everyone was asked"):
        fm.resume(tmp_path / "run", engine=make_engine(parties))
    assert len(parties[0].ledger) == before
