"""Parties that speak for their clients: the simulator's sums, and what parties refuse."""

from collections.abc import Callable, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
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
    Exchange,
    FolderStore,
    InProcess,
    MemoryStore,
    PartyPolicy,
    PooledFederation,
    PooledParty,
)
from folkmoot.engines.pooling import announce_pool, describe_ask, write_pooled_question
from folkmoot.engines.store import StateStore
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Ids
from folkmoot.objectives import Objective
from folkmoot.questions import Gains, Gradient, Pair, Participation, Query
from folkmoot.questions.query import FINEST
from folkmoot.secagg import Announcement, Policy, Roster
from folkmoot.secagg.together import STAGES
from tests.engines.crowds import crowd, gradient, make_identities, shards, voluntary
from tests.questions.kinds import KINDS

SIZES = (12, 7, 15, 9, 17)
CLIENTS, ITEMS = sum(SIZES), 12
TERMS = Policy(fewest=4, corrupt=0.2, dropout=0.2)
POLICY = PartyPolicy(TERMS)
OPEN = PartyPolicy(TERMS, uneven=True, volunteers=True)
VICTIM = 2


def make_parties(
    clients: Objective, policy: PartyPolicy = POLICY, store: Callable[[int], StateStore] | None = None
) -> dict[int, PooledParty]:
    census, identities = Census(Population.of(clients), SIZES), make_identities(len(SIZES))
    roster = Roster({one: key.public_key().public_bytes_raw() for one, key in identities.items()})
    parties = {}
    for number, (lo, hi) in enumerate(zip(census.ends, census.ends[1:], strict=False)):
        kept = None if store is None else store(number)
        parties[number] = PooledParty(
            clients[int(lo) : int(hi)], number, identities[number], roster, census, policy, kept
        )
    return parties


def make_engine(parties: dict[int, PooledParty], exchange: Exchange | None = None) -> PooledFederation:
    first = parties[0]
    return PooledFederation(first.census, first.roster, exchange or InProcess(parties), TERMS)


def ask_all(query: Query[Any], number: int = 0) -> Ask:
    return Ask(query, Cohort(None, None, CLIENTS, CLIENTS, everyone=True), Purpose.SEARCH, "test", number)


def ask_some(query: Query[Any], ids: Ids, times: Ids | None = None, number: int = 0) -> Ask:
    return Ask(query, Cohort.of(ids, times), Purpose.SEARCH, "test", number)


def reasons(parties: Mapping[int, PooledParty]) -> set[str]:
    return {refusal.why for party in parties.values() for refusal in party.refusals}


# Sums.


@pytest.mark.parametrize("name", KINDS)
def test_sums_are_those_of_a_simulation(name: str) -> None:
    clients = crowd(CLIENTS)
    query, simulation = KINDS[name](clients), fm.Simulation(clients)
    asks = [ask_all(query), ask_some(query, np.arange(1, CLIENTS, 2), number=1)]
    for ask in asks:
        said, expected = make_engine(make_parties(clients, OPEN))(ask), simulation(ask)
        np.testing.assert_array_equal(said.total, expected.total)
        assert said.equals(expected) or query.voluntary


@pytest.mark.parametrize(
    "method", [fm.Auto(cohort=20), fm.FedCG(3), fm.FedCG(3, cohort=30, juries=2, jury=20)], ids=repr
)
def test_a_whole_run_is_that_of_a_simulation(method: fm.Federated, tmp_path: Path) -> None:
    clients = crowd(CLIENTS)
    engine = make_engine(make_parties(clients, PartyPolicy(TERMS, largest_share=1.0)))  # of 20 clients, some have many
    result = fm.solve(None, 3, method, engine=engine, seed=2, transcript=tmp_path / "run")
    alone = fm.solve(clients, 3, method, seed=2)
    assert (result.selected, result.order) == (alone.selected, alone.order)
    assert result.estimate == alone.estimate
    assert fm.verify(tmp_path / "run").estimate == result.estimate
    assert all(one.measured for one in result.rounds or ())


def test_weights_are_public_and_need_trust() -> None:
    clients = crowd(CLIENTS, weights=np.arange(CLIENTS) % 3 + 1)
    ask = Ask(gradient(ITEMS), Population.of(clients).everyone, Purpose.SEARCH, "test", 0)
    assert make_engine(make_parties(clients, OPEN))(ask).equals(fm.Simulation(clients)(ask))
    parties = make_parties(clients)
    assert make_engine(parties)(ask).lost
    assert reasons(parties) == {"some clients would count more often than others"}


class Losing(InProcess):
    """One party is gone from some exchange on."""

    stage, gone = "", -1

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        inbox = super().__call__(outbox, deadline)
        if {sent.stage for sent in outbox.values()} == {self.stage}:
            inbox.pop(self.gone, None)
        return inbox


@pytest.mark.parametrize("stage", ["question", "keys", "choice", "shares", "receipt", "vector", "consent", "unmasking"])
def test_one_party_may_be_gone(stage: str) -> None:
    clients, query = crowd(CLIENTS), gradient(ITEMS)
    parties = make_parties(clients)
    exchange = Losing(parties)
    exchange.stage, exchange.gone = stage, VICTIM
    said = make_engine(parties, exchange)(ask_all(query))
    left = np.arange(CLIENTS)
    if stage not in ("consent", "unmasking"):  # by then its vector was sent
        left = np.delete(left, np.arange(sum(SIZES[:VICTIM]), sum(SIZES[: VICTIM + 1])))
    expected = query.total(clients[left], left, np.ones(len(left), dtype=np.int64))
    assert not said.lost
    np.testing.assert_array_equal(said.total, expected)
    assert (said.count, said.clients) == (len(left), len(left))


def test_parties_without_anybody_in_the_cohort_hide_the_others() -> None:
    """Only two of five parties hold anybody of the cohort; the others send nothing but masks."""
    clients = crowd(CLIENTS)
    query, ids = KINDS["drift"](clients), np.arange(sum(SIZES[:3]), CLIENTS)
    parties = make_parties(clients, PartyPolicy(TERMS, largest_share=1.0))
    ask = ask_some(query, ids)
    assert make_engine(parties)(ask).equals(fm.Simulation(clients)(ask))
    assert all(len(party.ledger) == 1 for party in parties.values())


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


def test_coins_that_leave_one_client_alone_are_refused() -> None:
    """The server looks for coins by which only one client takes part: the sum would be its answer."""
    clients = crowd(CLIENTS)
    tosses = PublicCoins(5).toss(np.arange(CLIENTS), ITEMS)
    alone, second = np.argsort(tosses)[:2]
    even = float(tosses[alone] + tosses[second]) / 2
    query = Gains(
        members=np.zeros(ITEMS, dtype=bool),
        items=np.arange(ITEMS),
        most=5.0 / even,
        coins=PublicCoins(5),
        who=Participation(even=even),
    )
    said = make_engine(make_parties(clients, OPEN))(ask_all(query))
    stars = np.rint(said.total * (query.most / FINEST) * even)
    np.testing.assert_array_equal(stars, clients.gains(())[[alone]].toarray()[0])  # who trusts the server is lost
    parties = make_parties(clients)
    assert make_engine(parties)(ask_all(query)).lost
    assert reasons(parties) == {"whoever chooses the coins could have one client answer alone"}


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
    assert reasons(parties) == {"the question is for groups of clients, and this party is one"}


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


# Wrong input.


def test_too_few_parties_are_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    clients = crowd(CLIENTS)
    census = Census(Population.of(clients), (30, 20, 10))
    identities = make_identities(3)
    roster = Roster({one: key.public_key().public_bytes_raw() for one, key in identities.items()})
    with pytest.raises(
        fm.InputError, match=r"^parties: 3 parties are too few if 20% .* drop out, at least one each; 5 are enough"
    ):
        PooledFederation(census, roster, InProcess({}), TERMS)
    with pytest.raises(fm.InputError, match=r"^roster: needs a key for each party"):
        PooledFederation(Census(Population.of(clients), SIZES), roster, InProcess({}), TERMS)
    with pytest.raises(fm.InputError, match=r"^sizes: needs the numbers of clients of all parties, 60 in total"):
        Census(Population.of(clients), (30, 20))
    make: Callable[..., PooledParty] = PooledParty
    for shard, number, whole, sentence in (
        (clients[:5], 0, census, "^census: does not count 5 clients at party 0"),
        (clients[:30], 3, census, "^census: does not count 30 clients at party 3"),
        (crowd(30, items=5), 0, census, "^census: is about 12 items, but this party's clients are about 5"),
        (clients[:12], 0, Census(Population.of(clients), SIZES), "^roster: needs as many parties as the census"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            make(shard, number, identities.get(number, identities[0]), roster, whole)
    with pytest.raises(fm.InputError, match="not on the roster"):
        make(clients[:30], 0, identities[1], roster, census)
    with closing(FolderStore(tmp_path)) as store:
        assert store.read_members("none") == b""


# A server that dies, and rounds that are lost.


class Dying(InProcess):
    """The server dies in some exchange of some round: before it, or when replies have come."""

    stage, number, after, seen = "", 0, False, 0

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        here = next(iter(outbox.values())).stage == self.stage
        self.seen += here
        if here and self.seen == self.number and not self.after:
            raise KeyboardInterrupt
        inbox = super().__call__(outbox, deadline)
        if here and self.seen == self.number:
            raise KeyboardInterrupt
        return inbox


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("stage", ["question", "keys", "choice", "shares", "receipt", "vector", "consent"])
def test_a_run_goes_on_after_the_server_died(stage: str, after: bool, tmp_path: Path) -> None:
    """Everybody is asked in every round. Where answers had been sent, the round is lost and asked with other coins."""
    clients, method = crowd(CLIENTS, most=5.0), fm.FedCG(3, polish=0)
    parties = make_parties(clients)
    exchange = Dying(parties)
    exchange.stage, exchange.number, exchange.after = stage, 2, after
    with pytest.raises(KeyboardInterrupt):
        fm.solve(None, 3, method, engine=make_engine(parties, exchange), seed=2, transcript=tmp_path / "run")
    result = fm.resume(tmp_path / "run", engine=make_engine(parties))
    lost = [one.answered == 0 for one in result.rounds or ()]
    again = stage in ("vector", "consent")  # answers had been sent, or were about to be
    assert sum(lost) == again
    assert fm.verify(tmp_path / "run").estimate == result.estimate
    if not again:
        assert result.estimate == fm.solve(clients, 3, method, seed=2).estimate
    answered = [entry.question for entry in parties[0].ledger]
    assert len(set(answered)) == len(answered)  # no question was answered twice


def test_a_round_whose_sum_may_be_known_is_not_asked_again(tmp_path: Path) -> None:
    clients, method = crowd(CLIENTS, most=5.0), fm.FedCG(3, polish=0)
    parties = make_parties(clients)
    exchange = Dying(parties)
    exchange.stage, exchange.number, exchange.after = "unmasking", 2, True
    with pytest.raises(KeyboardInterrupt):
        fm.solve(None, 3, method, engine=make_engine(parties, exchange), seed=2, transcript=tmp_path / "run")
    with pytest.raises(fm.RoundFailed, match="lost after clients had sent their answers, and everyone was asked"):
        fm.resume(tmp_path / "run", engine=make_engine(parties))


class Failing(InProcess):
    """Two parties are gone in some exchange of some rounds."""

    stage, seen = "", 0
    numbers: tuple[int, ...] = ()

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        here = next(iter(outbox.values())).stage == self.stage
        self.seen += here
        inbox = super().__call__(outbox, deadline)
        return (
            {name: reply for name, reply in inbox.items() if name > 1} if here and self.seen in self.numbers else inbox
        )


@pytest.mark.parametrize("stage", ["keys", "vector", "consent", "unmasking"])
def test_a_lost_round_is_asked_again_unless_its_sum_may_be_known(stage: str) -> None:
    clients, method = crowd(CLIENTS, most=5.0), fm.FedCG(3, polish=0)
    parties = make_parties(clients)
    exchange = Failing(parties)
    exchange.stage, exchange.numbers = stage, (2,)
    engine = make_engine(parties, exchange)
    if stage in ("consent", "unmasking"):  # those who are left are asked for their shares
        with pytest.raises(fm.RoundFailed, match="everyone was asked"):
            fm.solve(None, 3, method, engine=engine, seed=2)
        return
    result = fm.solve(None, 3, method, engine=engine, seed=2)
    assert [one.answered == 0 for one in result.rounds or ()] == [
        False,
        True,
        *[False] * (len(result.rounds or ()) - 2),
    ]
