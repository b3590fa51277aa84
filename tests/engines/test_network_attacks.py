"""A server that works against its parties, together with one of them, while honest parties crash and come back."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.population import Cohort, Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import (
    Bundle,
    Census,
    FolderStore,
    InProcess,
    MemoryStore,
    PartyPolicy,
    PooledFederation,
    PooledParty,
    RoundJournal,
)
from folkmoot.engines.desk import Code, Desk, DeskSetup, MessageKind, write_request
from folkmoot.engines.enrolment import DOMAIN, PARTY_NAME
from folkmoot.engines.exchange import QUESTION
from folkmoot.engines.pooling import announce_pool, write_pooled_question
from folkmoot.engines.store import StoreUpdate
from folkmoot.questions import GainsAlong, Pair, Query, Values
from folkmoot.secagg import AggregationFailed, serve
from folkmoot.secagg.messages import Advertisement, Consents, MaskedVector, Sharers, Survivors, kind_of
from folkmoot.secagg.together import STAGES
from tests.coins import SIMULATED
from tests.engines.certificates import MOMENT, PARTIES, enrol, identity, make_registrar, public, state
from tests.engines.crowds import crowd, gradient, make_identities, make_party, make_roster, shards
from tests.engines.pools import (
    CLIENTS,
    ITEMS,
    POLICY,
    SIZES,
    TERMS,
    VICTIM,
    ask_all,
    make_engine,
    make_parties,
    reasons,
)

CROWD = crowd(CLIENTS)


def make_victim(store: Any) -> PooledParty:
    return make_parties(CROWD, store=lambda number: store if number == VICTIM else MemoryStore())[VICTIM]


# Repetition.


@dataclass
class Game:
    """A round that a server leads with the victim and with four others, all of whom are its own."""

    question: Bundle
    server: Any
    outbox: dict[int, bytes]
    others: dict[int, PooledParty]

    @classmethod
    def begin(cls, ask: Ask, session: bytes) -> "Game":
        others = make_parties(CROWD)
        first = others[0]
        question = Bundle({VICTIM: b""}, write_pooled_question(ask, session, first.census))
        for number, other in others.items():
            other.reply(Bundle({number: b""}, question.question))
        server = serve(
            announce_pool(ask, session, first.roster.digest, first.census), first.roster, list(others), TERMS
        )
        return cls(question, server, next(server), others)

    def step(self, said: bytes | None) -> bool:
        """Go on with the victim's reply, or without it; whether the round goes on."""
        inbox = {} if said is None else {VICTIM: said}
        for number, sent in self.outbox.items():
            if number != VICTIM:
                inbox |= self.others[number].reply(Bundle({number: sent})).letters
        with suppress(StopIteration, AggregationFailed):
            self.outbox = self.server.send(inbox)
            return VICTIM in self.outbox
        return False


@dataclass
class Walk:
    """A server that does whatever comes to its mind. The victim is killed before or after it stores something; other
    questions come in between; bits are changed; and everything that was ever sent is sent again.
    """

    folder: Path
    coins: Random
    sent: list[Bundle] = field(default_factory=list)
    heard: set[bytes] = field(default_factory=set)
    replies: dict[int, bytes] = field(default_factory=dict)  # by kind, since the victim's keys were fresh

    def __post_init__(self) -> None:
        self.party = make_victim(FolderStore(self.folder))

    def restart(self) -> None:
        self.party.store.close()  # type: ignore[attr-defined]
        self.party = make_victim(FolderStore(self.folder))

    def begin(self) -> Game:
        """Few questions, rounds and sessions, so that many are the same."""
        ask = ask_all(gradient(ITEMS, self.coins.randrange(3)), self.coins.randrange(3))
        return Game.begin(ask, bytes([self.coins.randrange(2)]) * 16)

    def say(self, sent: Bundle) -> bytes | None:
        self.sent.append(sent)
        fate = self.coins.random()
        if fate < 0.2:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(self.party.store, "save", self._die(stored=fate < 0.1))
                with suppress(OSError):
                    self.party.reply(sent)
            if fate < 0.15:  # otherwise the disk was full for a moment
                self.restart()
            return None
        letter = self.party.reply(sent).letters.get(VICTIM)
        if letter is not None and letter not in self.heard and not sent.question:
            self._look_at(letter)
        return letter

    def _die(self, stored: bool) -> Any:
        save = self.party.store.save

        def die(update: StoreUpdate) -> None:
            if stored:
                save(update)
            raise OSError

        return die

    def _look_at(self, letter: bytes) -> None:
        """No two different replies of one kind under the same keys, and no question that was answered twice."""
        self.heard.add(letter)
        kind = kind_of(letter)
        if kind == Advertisement.kind:
            self.replies = {}
        assert kind not in self.replies
        self.replies[kind] = letter
        if kind == MaskedVector.kind:
            questions = [entry.question for entry in self.party.ledger]
            assert len(set(questions)) == len(questions)

    def go(self, steps: int) -> Iterator[bool]:
        """Yields whether a round came to its end with the victim in it."""
        game = self.begin()
        self.say(game.question)
        for _ in range(steps):
            choice, letter = self.coins.random(), game.outbox.get(VICTIM, b"")
            if choice < 0.05:
                game = self.begin()
                self.say(game.question)
            elif choice < 0.1:
                self.restart()
            elif choice < 0.3:
                self.say(self.coins.choice(self.sent))
            elif choice < 0.35 and kind_of(letter) in (Sharers.kind, Survivors.kind):
                self.say(Bundle({VICTIM: letter[:-1] + bytes([letter[-1] ^ 1 << self.coins.randrange(5)])}))
            else:
                said = self.say(Bundle({VICTIM: letter})) or self.say(Bundle({VICTIM: letter}))
                last = kind_of(letter) == Consents.kind
                if not game.step(said):
                    yield last and said is not None
                    game = self.begin()
                    self.say(game.question)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_that_is_sent_again_gets_another_reply(seed: int, tmp_path: Path) -> None:
    walk = Walk(tmp_path, Random(seed))
    ended = list(walk.go(100))
    walk.party.store.close()  # type: ignore[attr-defined]
    assert any(ended)
    assert len(walk.heard) > len(STAGES)


def test_a_full_disk_does_not_mix_two_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second question could not be stored: the party is still in the round of the first, in memory and on disk."""
    first, second = (Game.begin(ask_all(gradient(ITEMS, key), key), bytes(16)) for key in (1, 2))
    with closing(FolderStore(tmp_path)) as store:
        party = make_victim(store)
        assert party.reply(first.question).letters

        def fail(*_args: Any) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(store, "save", fail)
            with pytest.raises(sqlite3.OperationalError):
                party.reply(second.question)
        assert not party.reply(Bundle({VICTIM: second.outbox[VICTIM]})).letters
        assert store.read_round().question == first.question.encode()
        assert party.reply(Bundle({VICTIM: first.outbox[VICTIM]})).letters
        assert party.reply(second.question).letters
        assert party.reply(Bundle({VICTIM: second.outbox[VICTIM]})).letters


@pytest.mark.parametrize("change", ["fewer", "others"])
def test_what_some_clients_answered_is_not_taken_for_others(change: str) -> None:
    """Where clients are masked one by one, too, a party knows by their places who has answered what."""
    store, ids = MemoryStore(), np.arange(20)
    make_party(crowd(20), ids, store=store)
    make_party(crowd(20), ids, store=store)
    worth, names = crowd(20).gains(()), [f"person {one}" for one in ids]
    others = fm.FacilityLocation(worth, keep_empty=True, client_names=names)
    with pytest.raises(fm.InputError, match=r"^store: holds what other clients answered"):
        make_party(*((crowd(20), ids[:9]) if change == "fewer" else (others, ids)), store=store)


# The server's own journal.


def lead_with(journal: Path, parties: dict[int, PooledParty], exchange: Any = None, **how: Any) -> Any:
    with closing(RoundJournal(journal)) as kept:
        return make_engine(parties, exchange, journal=kept, **how)(ask_all(gradient(ITEMS)))


def test_old_copies_of_a_journal_give_the_same_sum_or_none(tmp_path: Path) -> None:
    """Copies are put back when the round is over, and again when another round has begun."""
    parties, copies = make_parties(CROWD, store=lambda _: MemoryStore()), list[Path]()

    class Copying(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            copies.append(tmp_path / f"copy {len(copies)}")
            shutil.copy(tmp_path / "journal", copies[-1])
            return super().__call__(outbox, deadline)

    said = lead_with(tmp_path / "journal", parties, Copying(parties))
    assert len(copies) == 1 + len(STAGES)
    assert all(lead_with(copy, parties).equals(said) for copy in copies)
    later = make_engine(parties)(ask_all(gradient(ITEMS, 7), 1))
    assert not later.lost
    for copy in copies:
        again = lead_with(copy, parties)
        assert again.lost or again.equals(said)


def test_fewer_parties_in_an_old_copy_give_no_other_sum(tmp_path: Path) -> None:
    """A party missed the exchange of vectors. In the old copy it is there, and the others have said who is not."""
    parties = make_parties(CROWD, store=lambda _: MemoryStore())

    class Missing(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            if next(iter(outbox.values())).stage == "vector":
                shutil.copy(tmp_path / "journal", tmp_path / "copy")
                outbox = {party: sent for party, sent in outbox.items() if party != 1}
            return super().__call__(outbox, deadline)

    said = lead_with(tmp_path / "journal", parties, Missing(parties))
    assert said.made.parties == (0, 2, 3, 4)
    assert lead_with(tmp_path / "copy", parties).lost


@pytest.mark.parametrize("other", ["run", "census"])
def test_the_journal_of_somebody_else_is_not_continued(other: str, tmp_path: Path) -> None:
    """The same question was asked in another run, or of parties that held others."""
    lead_with(tmp_path / "journal", make_parties(CROWD, store=lambda _: MemoryStore()), run=b"one")
    sizes = SIZES if other == "run" else (12, 7, 9, 15, 17)
    parties = make_parties(CROWD, store=lambda _: MemoryStore(), sizes=sizes)
    with closing(RoundJournal(tmp_path / "journal")) as journal:
        engine = make_engine(parties, journal=journal, run=b"two" if other == "run" else b"one")
        assert not engine.can_continue(ask_all(gradient(ITEMS)))
        assert engine(ask_all(gradient(ITEMS))).equals(fm.Simulation(CROWD)(ask_all(gradient(ITEMS))))
    assert all(len(party.ledger) == 1 for party in parties.values())


def test_a_journal_that_was_cut_off_is_no_sum(tmp_path: Path) -> None:
    path, parties = tmp_path / "journal", make_parties(CROWD, store=lambda _: MemoryStore())
    said = lead_with(path, parties)
    whole = path.read_bytes()
    for share in (0.2, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        with suppress(fm.InputError, sqlite3.DatabaseError):
            again = lead_with(path, parties)
            assert again.lost or again.equals(said)


# Refusals that would say something about data.

FEATURES = 14


def make_site(values: list[int]) -> fm.Information:
    """One table, whose columns have so many different values."""
    rows = np.arange(200)
    return fm.Information([np.stack([*(rows % many for many in values), rows // 7 % 2], axis=1)], FEATURES)


def test_refusals_do_not_tell_how_many_values_a_column_has() -> None:
    """The victim's first column has seven values instead of four: with it, eleven columns have too many joint states.
    If only sets that hold it were refused, a server could find out column by column.
    """
    sites = [make_site([7 if number == VICTIM and not at else 4 for at in range(FEATURES)]) for number in range(5)]
    identities, roster = make_identities(5), make_roster(5)
    census = Census(Population(FEATURES, 5, closed_form=False), (1,) * 5)
    policy = PartyPolicy(TERMS, clients=3)
    parties = {
        number: PooledParty(site, number, identities[number], roster, census, policy, coins=SIMULATED)
        for number, site in enumerate(sites)
    }
    engine, stages = PooledFederation(census, roster, InProcess(parties), TERMS), set[str]()
    for number, items in enumerate((np.arange(1, 12), np.arange(11), np.arange(1, 11), np.arange(10))):
        query = Values(items=items, sets=np.ones((1, len(items)), dtype=bool), whole=1.0)
        said = engine(Ask(query, census.population.everyone, Purpose.SEARCH, "test", number))
        assert said.made is not None
        assert (VICTIM in (said.made.parties or ())) == (len(items) < 11)
        stages |= {refusal.stage for refusal in parties[VICTIM].refusals}
    assert stages == {QUESTION}
    assert reasons(parties) == {"this party's clients look at no sets of more than 10 items"}


def values(size: int) -> Values:
    return Values(items=np.arange(ITEMS), sets=np.arange(ITEMS) < np.array([[size], [1]]), whole=5.0)


def along(*marks: int) -> GainsAlong:
    items = np.arange(4, ITEMS)
    return GainsAlong(
        order=np.arange(4), marks=np.array(marks), items=items, others=items[:0], wide=marks[0], single=5.0, whole=5.0
    )


@pytest.mark.parametrize(
    ("query", "size"),
    [
        (gradient(ITEMS), 0),
        (values(3), 3),
        (along(1, 2), 2),
        (shards(CLIENTS, 3), 2),
        (Pair(first=gradient(ITEMS), second=values(4)), 4),
    ],
)
def test_the_largest_set_of_a_question_is_known(query: Query[Any], size: int) -> None:
    assert query.largest_set == size


# What a party says when it enrols.


def test_nothing_that_flare_has_signed_is_an_enrolment(tmp_path: Path) -> None:
    """A party's process signs the name of the party, followed by anything that a server wants. A name with which an
    enrolment begins would let the server enrol keys of its own.
    """
    said = DOMAIN + state("north").text
    assert not any(PARTY_NAME.fullmatch(said[:end].decode()) for end in range(1, 41))
    sent = enrol(tmp_path, state("north"))
    with pytest.raises(fm.InputError, match="has not signed"):
        type(sent)(state("north", clients=9), sent.certificate, sent.signature).check(
            make_registrar().root, make_registrar().charter, MOMENT
        )


def test_who_holds_the_root_is_stopped_by_the_fingerprint_alone(tmp_path: Path) -> None:
    """The server makes certificates in all other names. A party that accepts the first roster it is sent is alone among
    the server's own; one that expects the fingerprint that its people were told is not.
    """
    honest = [enrol(tmp_path / "honest", state(party)) for party in PARTIES]
    invented = [enrol(tmp_path / "own", state(party, key=public(50 + at))) for at, party in enumerate(PARTIES)]
    registrar, sizes = make_registrar(), (4,) * len(PARTIES)
    book = registrar.read_book([one.encode() for one in (honest[0], *invented[1:])], MOMENT)
    read_out = registrar.read_book([one.encode() for one in honest], MOMENT).fingerprint
    clients = crowd(sum(sizes), most=5.0)
    parties = {
        number: PooledParty(
            clients[4 * number : 4 * number + 4],
            number,
            key,
            book.roster,
            book.census,
            PartyPolicy(TERMS),
            coins=SIMULATED,
        )
        for number, key in enumerate([identity(0), *map(identity, range(51, 55))])
    }
    engine, everyone = make_engine(parties), fm.Simulation(clients)
    said = engine(Ask(gradient(ITEMS), book.population.everyone, Purpose.SEARCH, "test", 0))
    own, others = (
        everyone(Ask(gradient(ITEMS), Cohort.of(ids, None), Purpose.SEARCH, "test", 0))
        for ids in (np.arange(4), np.arange(4, 20))
    )
    np.testing.assert_array_equal(said.total - others.total, own.total)

    log = list[str]()
    setup = DeskSetup(honest[0].encode(), registrar, tmp_path / "pin", lambda _: parties[0], lambda _: None, read_out)
    desk = Desk(setup, log.append, clock=lambda: MOMENT)
    assert desk.answer(write_request(MessageKind.ROSTER, book.encode())) == bytes([Code.REFUSED])
    assert f"{read_out} is expected" in log[-1]


@pytest.mark.parametrize("weight", [1e101, 1e308, 1e-200])
def test_weights_that_cannot_be_added_up_are_refused(weight: float, tmp_path: Path) -> None:
    statements = [state(party, weights=(weight if party == "east" else 1.0,) * 4) for party in PARTIES]
    with pytest.raises(fm.InputError, match="east does not give one weight"):
        make_registrar().read_book([enrol(tmp_path, one).encode() for one in statements], MOMENT)


@pytest.mark.parametrize("weight", [1e90, 60.0, 1e-90], ids=["vanishing", "large", "small"])
def test_weights_by_which_others_would_vanish_are_not_answered(weight: float) -> None:
    """The last party works for the server. Whatever it says that its clients weigh, no sum is nearly one party's."""
    weights = np.ones(CLIENTS)
    weights[-SIZES[-1] :] = weight
    parties = {}
    census = Census(Population(ITEMS, CLIENTS, weights, True, 5.0), SIZES)
    for number, party in make_parties(CROWD, POLICY).items():
        identity = make_identities(len(SIZES))[number]
        parties[number] = PooledParty(party.clients, number, identity, party.roster, census, PartyPolicy(TERMS))
    ask = Ask(gradient(ITEMS), census.population.everyone, Purpose.SEARCH, "test", 0)
    assert make_engine(parties)(ask).lost
    assert all(why.startswith("one party could be ") for why in reasons(parties))


# Processes.


def test_processes_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody on the machine can start something that looks like a process of this kit."""
    processes = pytest.importorskip("folkmoot.engines.flare.processes")
    line = ["python", "-m", "nvflare.private.fed.app.client.worker_process", "-m", str(tmp_path.absolute())]

    def pretend(user: int | None) -> Any:
        users = None if user is None else SimpleNamespace(real=user)
        return SimpleNamespace(pid=-1, info={"pid": -1, "cmdline": line, "uids": users})

    mine, foreign, gone = pretend(1000), pretend(1001), pretend(None)
    monkeypatch.setattr(processes.psutil, "process_iter", lambda _: [foreign, mine, gone])
    monkeypatch.setattr(processes.os, "getuid", lambda: 1000)
    assert processes.list_jobs(tmp_path) == [mine]
