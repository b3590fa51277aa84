"""What a server may not do to parties that speak for their clients, and what they refuse."""

from collections.abc import Callable, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.conversation.population import Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import (
    Bundle,
    Census,
    FolderStore,
    InProcess,
    MemoryStore,
    PartyPolicy,
    PooledParty,
)
from folkmoot.engines.pooling import announce_pool, describe_ask, write_pooled_question
from folkmoot.foundation.coins import PublicCoins
from folkmoot.questions import Gains, Gradient, Pair, Participation
from folkmoot.questions.query import FINEST
from folkmoot.secagg import Announcement
from folkmoot.secagg.together import STAGES
from tests.engines.crowds import crowd, gradient, make_identities, shards, voluntary
from tests.engines.pools import (
    CLIENTS,
    ITEMS,
    OPEN,
    POLICY,
    SIZES,
    TERMS,
    VICTIM,
    ask_all,
    ask_some,
    make_engine,
    make_parties,
    reasons,
)
from tests.questions.kinds import KINDS

# What a server may not do.


def test_counts_cannot_be_used_to_read_one_client() -> None:
    """Everyone else counts 1,000,000 times less; where parties trust the server with counts, they look at the size."""
    clients, times = crowd(CLIENTS), np.ones(CLIENTS, dtype=np.int64)
    times[30] = 10**6
    ask = ask_some(gradient(ITEMS), np.arange(CLIENTS), times)
    parties = make_parties(clients, OPEN)
    assert make_engine(parties)(ask).lost
    assert {why.partition(" as good as ")[0] for why in reasons(parties)} == {"the clients asked are"}
    parties = make_parties(clients)
    assert make_engine(parties)(ask).lost
    assert reasons(parties) == {"some clients would count more often than others"}


class Lying(InProcess):
    """A server that tells one party something else than the others."""

    edit: Callable[[Bundle], Bundle] = staticmethod(lambda sent: sent)

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        told = {party: self.edit(sent) if party == VICTIM else sent for party, sent in outbox.items()}
        return super().__call__(told, deadline)


@pytest.mark.parametrize("what", ["fewer clients", "another query", "another label", "times of 0"])
def test_all_parties_are_asked_the_same(what: str) -> None:
    """The victim never masks a vector for a question that the others did not see."""
    clients = crowd(CLIENTS)
    parties, session = make_parties(clients), list[bytes]()
    first = sum(SIZES[:VICTIM])
    honest = ask_all(gradient(ITEMS))
    others = {
        "fewer clients": ask_some(gradient(ITEMS), np.delete(np.arange(CLIENTS), np.arange(first + 1, first + 15))),
        "another query": ask_all(gradient(ITEMS, key=7)),
        "another label": Ask(honest.query, honest.cohort, Purpose.SEARCH, "another", 0),
        "times of 0": ask_some(gradient(ITEMS), np.arange(CLIENTS), (np.arange(CLIENTS) == first).astype(np.int64)),
    }
    exchange = Lying(parties)
    engine = make_engine(parties, exchange)

    def edit(sent: Bundle) -> Bundle:
        session.append(engine._session)
        return (
            Bundle(sent.letters, write_pooled_question(others[what], session[-1], engine.census))
            if sent.question
            else sent
        )

    exchange.edit = edit
    said = engine(honest)
    assert not parties[VICTIM].ledger
    assert said.lost or not np.asarray(said.present)[first]
    refused = {"what is announced is not what was asked", "what was sent is no question"}
    assert reasons(parties) <= refused | {"one party could be 94% of the sum; at most 75% are allowed"}
    assert len(parties[VICTIM].refusals) >= 1


def test_what_is_announced_is_what_was_asked() -> None:
    """A server that announces another question, session, size or range to everybody gets nothing."""
    clients = crowd(CLIENTS)
    ask, session = ask_all(gradient(ITEMS)), bytes(range(16))
    for change in FIELDS:
        party = make_parties(clients)[0]
        assert party.reply(Bundle({0: b""}, write_pooled_question(ask, session, party.census))).letters
        right = announce_pool(ask, session, party.roster.digest, party.census)
        old = getattr(right, change)
        new = bytes(len(old)) if isinstance(old, bytes) else old - 1 if change == "largest" else old + 1
        wrong = Announcement(**{**{name: getattr(right, name) for name in FIELDS}, change: new})
        assert not party.reply(Bundle({0: wrong.encode()})).letters, change
        assert reasons({0: party}) == {"what is announced is not what was asked"}, change
        assert party.reply(Bundle({0: right.encode()})).letters


FIELDS = ("session", "round", "question", "roster", "clients", "length", "most", "room", "largest")


@pytest.mark.parametrize("kept", ["memory", "folder"])
def test_no_client_answers_a_query_twice(kept: str, tmp_path: Path) -> None:
    """Juries without a common client may be asked the same; anyone who was in a sum may not be in another."""
    clients, query = crowd(CLIENTS), gradient(ITEMS)
    stores = [FolderStore(tmp_path / str(number)) for number in range(len(SIZES))]
    parties = make_parties(clients, store=None if kept == "memory" else stores.__getitem__)
    engine, everyone = make_engine(parties), np.arange(CLIENTS)
    odd, even = everyone[1::2], everyone[::2]
    for number, ids in enumerate((odd, even)):
        assert not engine(ask_some(query, ids, number=number)).lost
    assert not reasons(parties)
    if kept == "folder":  # what was answered survives the process
        for store in stores:
            store.close()
        stores[:] = [FolderStore(tmp_path / str(number)) for number in range(len(SIZES))]
        parties = make_parties(clients, store=stores.__getitem__)
        engine = make_engine(parties)
    said = engine(ask_some(query, np.append(odd[:-1], CLIENTS - 1), number=2))
    assert (said.lost, said.spent) == (True, False)
    assert reasons(parties) == {"some of these clients have already answered this question"}
    assert not engine(ask_some(gradient(ITEMS, key=9), odd, number=3)).lost
    for store in stores:
        store.close()


def test_a_party_that_is_most_of_the_sum_does_not_take_part() -> None:
    clients, strict = crowd(CLIENTS), PartyPolicy(TERMS, largest_share=0.3)
    parties = make_parties(clients, strict)
    ids = np.arange(sum(SIZES[:4]) - 4, CLIENTS)  # 4 of the fourth, 17 of the fifth
    few = np.concatenate([[0, 1, SIZES[0], SIZES[0] + 1, 19, 20], ids])
    said = make_engine(parties)(ask_some(gradient(ITEMS), few))
    assert said.lost
    assert reasons(parties) == {"one party could be 89% of the sum; at most 30% are allowed"}


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (PartyPolicy(TERMS, questions=()), "this party does not answer questions of the kind Gradient"),
        (PartyPolicy(TERMS, per_day=0), "0 rounds were answered in the last 24 hours, and no more are allowed"),
        (PartyPolicy(TERMS, clients=100), "the clients asked are as good as 60.0 that count alike; 100 are needed"),
    ],
)
def test_a_party_has_its_policy(policy: PartyPolicy, why: str) -> None:
    parties = make_parties(crowd(CLIENTS), policy)
    said = make_engine(parties)(ask_all(gradient(ITEMS)))
    assert (said.lost, said.spent) == (True, False)
    assert reasons(parties) == {why}


def test_who_volunteers_stays_at_home() -> None:
    """Nothing that leaves a party says who took part: a reply is the same whoever volunteers."""
    clients = crowd(CLIENTS)
    seen: list[Mapping[int, bytes]] = []

    class Watching(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            if any(sent.question for sent in outbox.values()):
                seen.append({party: reply.encode() for party, reply in inbox.items()})
            return inbox

    for share in (0.9, 1e-9):
        parties = make_parties(clients, OPEN)
        query = voluntary(ITEMS, share)
        said = make_engine(parties, Watching(parties))(ask_all(query))
        np.testing.assert_array_equal(said.total, fm.Simulation(clients)(ask_all(query)).total)
    assert seen[0] == seen[1]


def test_chances_that_leave_one_client_alone_are_refused() -> None:
    """Where each of 60 answers with probability 1/60, one is alone in every third sum: e⁻¹ of all, or 0.37. Of 60
    sums, at least ten hold one client's own numbers, except with probability 2e-4. The server does not know whose.
    """
    clients = crowd(CLIENTS)
    parties, alone = make_parties(clients, OPEN), 0
    trusting, own = make_engine(parties), clients.gains(()).toarray()
    even = 1 / CLIENTS
    for draw in range(60):
        query = Gains(
            members=np.zeros(ITEMS, dtype=bool),
            items=np.arange(ITEMS),
            most=5.0 / even,
            draw=draw,
            who=Participation(even=even),
        )
        stars = np.rint(trusting(ask_all(query, draw)).total * (query.most / FINEST) * even)
        alone += bool(stars.any() and (own == stars).all(axis=1).any())
    assert alone >= 10
    parties = make_parties(clients)
    assert make_engine(parties)(ask_all(query)).lost
    assert reasons(parties) == {"clients would decide by chance who answers: by chance, one could be alone in a sum"}


def test_all_parties_count_the_same_clients() -> None:
    """A server that tells one party of other parties' sizes, so that it believes itself well hidden."""
    clients = crowd(CLIENTS)
    parties = make_parties(clients)
    other = Census(Population.of(clients), (12, 7, 8, 16, 17))
    last = len(SIZES) - 1
    parties[last] = PooledParty(
        clients[-SIZES[last] :], last, make_identities(len(SIZES))[last], parties[0].roster, other, POLICY
    )
    said = make_engine(parties)(ask_all(gradient(ITEMS)))
    assert not said.lost
    assert np.asarray(said.present).sum() == CLIENTS - SIZES[last]
    assert reasons(parties) == {"the server counts other clients at the parties than this party does"}


def test_a_question_within_a_question_is_of_its_own_kind() -> None:
    clients = crowd(CLIENTS)
    parties = make_parties(clients, PartyPolicy(TERMS, questions=(Pair, Gradient)))
    assert make_engine(parties)(ask_all(KINDS["bound and appraisal"](clients))).lost
    assert reasons(parties) == {"this party does not answer questions of the kind Appraisal"}


def test_a_store_belongs_to_its_clients() -> None:
    """What was answered is kept by the clients' places: in another order it would be others who answered."""
    clients = crowd(CLIENTS)
    store = MemoryStore()
    make_parties(clients, store=lambda number: store if number == 0 else MemoryStore())
    named = fm.FacilityLocation(clients.gains(()), keep_empty=True, client_names=[f"p{one}" for one in range(CLIENTS)])
    with pytest.raises(fm.InputError, match=r"^store: holds what other clients answered"):
        make_parties(named, store=lambda number: store if number == 0 else MemoryStore())


def test_all_that_leaves_is_written_down(tmp_path: Path) -> None:
    """What a party has in its outbox is what came to the server, byte for byte, and nothing else."""
    came: list[tuple[str, int, str]] = []

    class Watching(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            for party, reply in inbox.items():
                if party == 0 and reply.letters:
                    data = reply.encode()
                    came.append((outbox[party].stage, len(data), sha256(data).hexdigest()))
            return inbox

    clients = crowd(CLIENTS)
    with closing(FolderStore(tmp_path)) as store:
        parties = make_parties(clients, store=lambda number: store if number == 0 else MemoryStore())
        engine = make_engine(parties, Watching(parties))
        assert not engine(ask_all(gradient(ITEMS))).lost
        assert engine(ask_all(gradient(ITEMS), number=1)).lost  # answered before: nothing leaves
        sent = parties[0].outbox
    assert [(one.stage, one.bytes, one.digest) for one in sent] == came
    assert [one.stage for one in sent] == ["question", *STAGES]
    assert {one.why for one in sent} == {"Gradient: test"}
    assert not parties[1].outbox
    with closing(FolderStore(tmp_path)) as again:
        assert again.read_outbox() == sent
        assert again.read_outbox(sent[-1].time + 1.0) == []


def test_questions_for_groups_are_refused_on_both_sides() -> None:
    clients = crowd(CLIENTS)
    parties = make_parties(clients)
    with pytest.raises(fm.InputError, match=r"^query: deals clients to groups"):
        make_engine(parties)(ask_all(shards(CLIENTS, 3)))
    question = write_pooled_question(ask_all(shards(CLIENTS, 3)), bytes(16), parties[0].census)
    assert not parties[0].reply(Bundle({0: b""}, question)).letters
    assert reasons(parties) == {"the question is for other groups of clients than the parties"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"everyone": 1},
        {"everyone": False, "ids": np.array([3, 2]), "times": None},
        {"everyone": False, "ids": np.array([-1, 2]), "times": None},
        {"everyone": False, "ids": np.array([1, CLIENTS]), "times": None},
        {"everyone": False, "ids": np.zeros(0, dtype=np.int64), "times": None},
        {"everyone": False, "ids": np.array([1.0, 2.0]), "times": None},
        {"everyone": False, "ids": np.arange(5), "times": np.array([1, 1, 1, 1, 0])},
        {"everyone": False, "ids": np.arange(5), "times": np.full(5, 2**62)},
        {"everyone": False, "ids": np.arange(5), "times": np.ones(4, dtype=np.int64)},
        {"round": -1},
        {"round": True},
        {"session": "00"},
        {"session": "x"},
        {"purpose": "curiosity"},
        {"label": 5},
        {"query": 5},
        {"query": PublicCoins(1)},
    ],
    ids=str,
)
def test_what_is_no_question_is_refused(wrong: dict[str, Any]) -> None:
    from folkmoot.conversation.codec import pack

    parties = make_parties(crowd(CLIENTS), OPEN)
    sent = pack(describe_ask(ask_all(gradient(ITEMS)), bytes(16), parties[0].census) | wrong)
    assert not parties[0].reply(Bundle({0: b""}, sent)).letters
    assert len(parties[0].refusals) == 1
    honest = write_pooled_question(ask_all(gradient(ITEMS)), bytes(16), parties[0].census)
    assert parties[0].reply(Bundle({0: b""}, honest)).letters
    assert not parties[0].reply(Bundle({1: b""}, honest)).letters
