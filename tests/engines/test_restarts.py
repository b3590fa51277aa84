"""A party whose process dies in the middle of a round: another one continues it, and says nothing new."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import Engine, Simulation
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Bundle, FolderStore, InProcess, MemoryStore
from folkmoot.engines.answering import digest_question, write_question, write_times
from folkmoot.engines.pooling import write_pooled_question
from folkmoot.engines.store import OpenRound, StoreUpdate
from folkmoot.secagg import Announcement
from folkmoot.secagg.together import STAGES
from tests.engines.crowds import ask_everyone, crowd, gradient, make_federation, make_party, voluntary
from tests.engines.pools import CLIENTS, ITEMS, VICTIM, ask_all, make_engine, make_parties, reasons

HALF = np.arange(0, CLIENTS, 2)


def make_pool(store: FolderStore) -> dict[int, Any]:
    return make_parties(crowd(CLIENTS), store=lambda number: store if number == VICTIM else MemoryStore())


def make_half(store: FolderStore) -> dict[int, Any]:
    """The first of two parties keeps its states in a folder."""
    clients = crowd(CLIENTS)
    return {0: make_party(clients, HALF, store=store), 1: make_party(clients, HALF + 1)}


@dataclass
class Dying:
    """One party's process is killed in some exchange: before it is sent a message, or after it stored its reply, which
    is lost. Another process takes its place, and is sent the message again.
    """

    folder: Path
    make: Callable[[FolderStore], dict[int, Any]]
    name: int
    stage: str
    after: bool

    def __post_init__(self) -> None:
        self.parties = self.make(FolderStore(self.folder))

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        sent = outbox.get(self.name)
        if sent is None or self.stage not in (sent.stage, "all"):
            return InProcess(self.parties)(outbox, deadline)
        lost = self.parties[self.name].reply(sent) if self.after else None
        self.parties[self.name].store.close()
        self.parties[self.name] = self.make(FolderStore(self.folder))[self.name]
        inbox = InProcess(self.parties)(outbox, deadline)
        assert lost is None or inbox[self.name].encode() == lost.encode()
        return inbox


def build(kind: str, folder: Path, stage: str, after: bool) -> tuple[Engine, Dying]:
    if kind == "pooled":
        pool = Dying(folder, make_pool, VICTIM, stage, after)
        return make_engine(pool.parties, pool), pool
    each = Dying(folder, make_half, 0, stage, after)
    return make_federation(crowd(CLIENTS), list(each.parties.values()), each), each


def ask_of(kind: str) -> Ask:
    return ask_all(gradient(ITEMS)) if kind == "pooled" else ask_everyone(CLIENTS, voluntary(ITEMS))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("stage", ["question", *STAGES, "all"])
@pytest.mark.parametrize("kind", ["pooled", "each"])
def test_another_process_continues_the_round(kind: str, stage: str, after: bool, tmp_path: Path) -> None:
    engine, exchange = build(kind, tmp_path, stage, after)
    ask = ask_of(kind)
    assert engine(ask).equals(Simulation(crowd(CLIENTS))(ask))
    party = exchange.parties[exchange.name]
    with closing(party.store):
        assert not party.store.read_refusals()
        assert [entry.stage for entry in party.ledger] == (["vector"] if kind == "pooled" else ["question", "vector"])
        again = {one.stage for one in party.outbox if one.why.endswith("(again)")}
        assert again == (set() if not after else {"question", *STAGES} if stage == "all" else {stage})


def test_what_is_sent_again_must_be_the_same(tmp_path: Path) -> None:
    """A message to a stage that is over gets the old reply if it is the old message; otherwise none."""
    sent: list[Bundle] = []

    class Watching(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            sent.append(outbox[VICTIM])
            return super().__call__(outbox, deadline)

    with closing(FolderStore(tmp_path)) as store:
        parties = make_pool(store)
        party = parties[VICTIM]
        assert not make_engine(parties, Watching(parties))(ask_all(gradient(ITEMS))).lost
        ledger, state = party.ledger, store.load(VICTIM)
        said = [one.digest for one in party.outbox]
        for message in (sent[0], *reversed(sent)):  # in any order
            assert party.reply(message).letters
        assert {one.digest for one in party.outbox} == set(said)
        assert not party.refusals
        for message in sent[1:]:
            letter = message.letters[VICTIM]
            changed = letter[:-1] + bytes([letter[-1] ^ 1])
            assert not party.reply(Bundle({VICTIM: changed})).letters
        assert len(party.refusals) == len(STAGES)
        assert store.read_refusals() == list(party.refusals)
        assert (party.ledger, store.load(VICTIM)) == (ledger, state)


def test_a_new_question_ends_the_round(tmp_path: Path) -> None:
    with closing(FolderStore(tmp_path)) as store:
        parties = make_pool(store)
        engine, party = make_engine(parties), parties[VICTIM]
        first, second = (
            Bundle({VICTIM: b""}, write_pooled_question(ask_all(gradient(ITEMS, key), key), bytes(16), engine.census))
            for key in (1, 2)
        )
        assert party.reply(first) == party.reply(first) != Bundle({})
        assert party.reply(second).letters
        assert store.read_round().question == second.encode()
        assert not party.reply(Bundle({VICTIM + 1: b""}, second.question)).letters  # refused: it is in no round
        assert not store.read_round().question


def test_questions_that_cannot_be_read_any_more_are_left(tmp_path: Path) -> None:
    with closing(FolderStore(tmp_path)) as store:
        party = make_pool(store)[VICTIM]
        question = write_pooled_question(ask_all(gradient(ITEMS)), bytes(16), party.census)
        assert party.reply(Bundle({VICTIM: b""}, question)).letters
        store.save(StoreUpdate(round=OpenRound(Bundle({VICTIM: b""}, b"other").encode())))
        again = make_pool(store)
        assert not again[VICTIM].reply(Bundle({VICTIM: b"x"})).letters
        assert reasons({VICTIM: again[VICTIM]}) == {"this client is in no round"}


def test_whoever_had_answered_before_is_not_asked_after_a_restart(tmp_path: Path) -> None:
    """Half of the clients have answered, and are left out; another process does not let them in."""
    clients, query = crowd(CLIENTS), gradient(ITEMS)
    with closing(FolderStore(tmp_path)) as store:
        party = make_party(clients, np.arange(CLIENTS), store=store)
        first = Ask(query, Cohort.of(HALF, None), Purpose.SEARCH, "test", 0)
        assert not make_federation(clients, [party], run=b"one")(first).lost
        question = write_question(ask_everyone(CLIENTS, query), bytes(16), b"two")
        letters = write_times(np.arange(CLIENTS), np.ones(CLIENTS, dtype=np.int64))
        assert sorted(party.reply(Bundle(letters, question)).letters) == (HALF + 1).tolist()
        again = make_party(clients, np.arange(CLIENTS), store=store)
        announced = Announcement(
            session=bytes(16),
            round=0,
            question=digest_question(query, b"two"),
            roster=again.roster.digest,
            clients=CLIENTS,
            length=query.length,
            most=first.span * 2,
            largest=first.largest_answer,
        )
        reply = again.reply(Bundle(dict.fromkeys(range(CLIENTS), announced.encode())))
        assert sorted(reply.letters) == (HALF + 1).tolist()
