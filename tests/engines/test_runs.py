"""Several runs over the same parties: what they answer again, and what they do not."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.codec import pack
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Bundle, FolderStore, InProcess, MemoryStore, PartyPolicy
from folkmoot.engines.folder_store import FILE
from folkmoot.engines.past_cohorts import PastCohort
from folkmoot.engines.pooling import describe_ask
from folkmoot.engines.store import LedgerEntry, StateStore, StoreUpdate
from tests.engines.crowds import TERMS as CLIENT_TERMS
from tests.engines.crowds import ask_everyone, crowd, gradient, make_federation, make_party
from tests.engines.pools import CLIENTS, ITEMS, POLICY, TERMS, ask_all, make_engine, make_parties, reasons

AGAIN = PartyPolicy(TERMS, again=True, largest_share=1.0)
METHOD = fm.FedCG(2, polish=0)
ANSWERED = "some of these clients have already answered this question"


@pytest.mark.parametrize("pooled", [True, False])
def test_a_second_run_needs_parties_that_allow_it(pooled: bool) -> None:
    clients = crowd(CLIENTS, most=5.0)
    for again in (True, False):
        if pooled:
            parties: Any = make_parties(clients, replace(AGAIN, again=again))
            engines: list[fm.Engine] = [make_engine(parties, run=run) for run in (b"one", b"two", b"two")]
        else:
            parties = {0: make_party(clients, np.arange(CLIENTS), PartyPolicy(CLIENT_TERMS, again=again))}
            engines = [make_federation(clients, [parties[0]], run=run) for run in (b"one", b"two", b"two")]
        alone = fm.solve(clients, 3, METHOD, seed=1)
        assert fm.solve(None, 3, METHOD, engine=engines[0], seed=1).estimate == alone.estimate
        if again:
            assert fm.solve(None, 3, METHOD, engine=engines[1], seed=1).estimate == alone.estimate
            assert {entry.run for entry in parties[0].ledger} == {b"one".hex(), b"two".hex()}
        assert not reasons(parties)
        with pytest.raises(fm.RoundFailed, match="too few clients answered"):  # a question is answered once in a run
            fm.solve(None, 3, METHOD, engine=engines[2], seed=1)
        assert reasons(parties) == ({ANSWERED} if pooled else {"this client has already answered this question"})


def test_a_strict_party_knows_what_it_answered_when_it_was_not() -> None:
    clients, stores = crowd(CLIENTS), [MemoryStore() for _ in range(5)]
    for policy, run, lost in ((AGAIN, b"one", False), (AGAIN, b"two", False), (POLICY, b"three", True)):
        parties = make_parties(clients, policy, stores.__getitem__)
        assert make_engine(parties, run=run)(ask_all(gradient(ITEMS))).lost == lost
    assert reasons(parties) == {ANSWERED}


def test_all_parties_see_the_same_run() -> None:
    """A server cannot tell one party of another run, to have it answer what it answered before."""

    class Lying(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            if outbox[0].question:
                question = pack(describe_ask(ask, engine._session, engine.census, b"other"))
                outbox = {**outbox, 2: Bundle(outbox[2].letters, question)}
            return super().__call__(outbox, deadline)

    parties, ask = make_parties(crowd(CLIENTS), AGAIN), ask_all(gradient(ITEMS))
    engine = make_engine(parties, Lying(parties), run=b"one")
    assert engine(ask).count < CLIENTS
    assert not parties[2].ledger
    assert reasons(parties) == {"what is announced is not what was asked"}


def test_a_client_signs_the_run() -> None:
    clients, party = crowd(CLIENTS), make_party(crowd(CLIENTS), np.arange(CLIENTS))
    federation = make_federation(clients, [party], run=b"one")
    poll = federation._poll

    def poll_another(*what: Any) -> Any:
        federation.run = b"two"
        said = poll(*what)
        federation.run = b"one"
        return said

    federation._poll = poll_another  # type: ignore[assignment, method-assign]
    assert federation(ask_everyone(CLIENTS, gradient(ITEMS))).lost
    assert {refusal.why for refusal in party.refusals} == {"the announced question is not the one that was sent"}


@pytest.mark.parametrize("run", ["one", b"x" * 33, None])
def test_a_run_has_a_short_name(run: Any) -> None:
    with pytest.raises(fm.InputError, match=r"^run: needs at most 32 bytes"):
        make_engine(make_parties(crowd(CLIENTS)), run=run)
    parties = make_parties(crowd(CLIENTS))
    sent = pack(describe_ask(ask_all(gradient(ITEMS)), bytes(16), parties[0].census) | {"run": "00" * 33})
    assert not parties[0].reply(Bundle({0: b""}, sent)).letters


def test_a_run_is_resumed_under_its_name(tmp_path: Path) -> None:
    clients = crowd(CLIENTS, most=5.0)
    engine = make_engine(make_parties(clients), run=b"one")
    fm.solve(None, 3, METHOD, engine=engine, seed=1, transcript=tmp_path / "run")
    with pytest.raises(fm.TranscriptError, match="the engine was"):
        fm.resume(tmp_path / "run", engine=make_engine(make_parties(clients), run=b"two"))


def test_stores_know_who_answered_in_which_run(tmp_path: Path) -> None:
    with closing(FolderStore(tmp_path)) as folder:
        stores: list[StateStore] = [MemoryStore(), folder]
        for store in stores:
            for run, members in (("a", b"\x01"), ("a", b"\x02"), ("b", b"\x10\x01"), ("", b"\x20")):
                entry = LedgerEntry("vector", "Gradient", "q", "s", 1, 0.0, 3, run)
                store.save(StoreUpdate(entry=entry, members=members))
            found = [store.read_members("q", run) for run in ("a", "b", "", "c", None)]
            assert found == [b"\x03", b"\x10\x01", b"\x20", b"", b"\x33\x01"]
            assert store.read_members("other") == b""


def test_files_of_the_last_version_are_read(tmp_path: Path) -> None:
    columns = "stage text, kind text, question text, session text, round integer, time real, clients integer"
    with closing(sqlite3.connect(tmp_path / FILE)) as file:
        file.execute(f"create table ledger ({columns})")
        file.execute("insert into ledger values ('vector', 'Gradient', 'q', 's', 1, 2.0, 3)")
        file.commit()
    for drawn in (b"first", b"second"):
        with closing(FolderStore(tmp_path)) as store:
            assert store.read_ledger() == [LedgerEntry("vector", "Gradient", "q", "s", 1, 2.0, 3)]
            assert not list(store.list_cohorts(PastCohort("", 3, True, b""), 3))
            assert store.keep_secret(drawn) == b"first"


def test_another_run_over_all_but_one_client_is_refused() -> None:
    """Runs may ask again, but not of nearly the same clients: the difference would be what one of them said."""
    clients, query = crowd(CLIENTS), gradient(ITEMS)
    parties = make_parties(clients, AGAIN)
    engine = make_engine(parties, run=b"one")
    assert not engine(ask_all(query)).lost
    engine.run = b"two"
    assert engine(Ask(query, Cohort.of(np.arange(1, CLIENTS), None), Purpose.SEARCH, "test", 0)).lost
    assert {why.partition(" by ")[0] for why in reasons(parties)} == {"the clients asked differ"}
