"""What a party answers, what it refuses and why, and what it remembers."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import InputError, Simulation
from folkmoot.conversation.codec import pack
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Bundle, FolderStore, InProcess, MemoryStore, Party, PartyPolicy
from folkmoot.engines.answering import NOBODY, TIMES, digest_question, write_question, write_times
from folkmoot.engines.exchange import QUESTION
from folkmoot.engines.store import StoreUpdate
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Ids
from folkmoot.questions import Gradient, Magnitude, Query, Votes
from folkmoot.secagg import Announcement, Policy
from folkmoot.secagg.state import Stage
from folkmoot.secagg.together import STAGES
from tests.coins import toss_for
from tests.engines.crowds import (
    TERMS,
    ask_everyone,
    crowd,
    gradient,
    make_federation,
    make_identities,
    make_party,
    make_roster,
    shards,
    voluntary,
    votes,
)

CLIENTS = 16
EVERYONE = np.arange(CLIENTS)
ONES = np.ones(CLIENTS, dtype=np.int64)
SESSION = bytes(16)


def put(query: Query[Any], ids: Ids = EVERYONE, number: int = 0) -> Bundle:
    ask = Ask(query, ask_everyone(CLIENTS, query).cohort, ask_everyone(CLIENTS, query).purpose, "test", number)
    return Bundle(write_times(ids, np.ones(len(ids), dtype=np.int64)), write_question(ask, SESSION))


def announce(query: Query[Any], **other: Any) -> Announcement:
    ask = ask_everyone(CLIENTS, query)
    honest = Announcement(
        session=SESSION,
        round=0,
        question=digest_question(query),
        roster=make_roster(CLIENTS).digest,
        clients=CLIENTS,
        length=query.length,
        most=ask.span,
        largest=ask.largest_answer,
    )
    return replace(honest, **other)


def send(party: Party, announcement: Announcement) -> Bundle:
    return party.reply(Bundle(dict.fromkeys(party.ids.tolist(), announcement.encode())))


def reasons(party: Party) -> set[str]:
    return {refusal.why for refusal in party.refusals}


def test_it_says_who_takes_part_and_nothing_else() -> None:
    party = make_party(crowd(CLIENTS), EVERYONE)
    query = voluntary(12)
    willing = query.takes_part(crowd(CLIENTS), EVERYONE, ONES, toss_for(query))
    assert willing is not None
    assert 0 < willing.sum() < CLIENTS
    reply = party.reply(put(query))
    assert sorted(reply.letters) == EVERYONE.tolist()
    own = {client: client.to_bytes(4, "little") for client in EVERYONE[willing].tolist()}
    assert reply.letters == dict.fromkeys(EVERYONE[~willing].tolist(), NOBODY) | own
    assert not reply.question


def test_an_honest_round_is_taken_part_in() -> None:
    party = make_party(crowd(CLIENTS), EVERYONE)
    assert len(party.reply(put(gradient(12))).letters) == CLIENTS
    assert len(send(party, announce(gradient(12))).letters) == CLIENTS
    assert not party.refusals
    assert party.store.load(0).stage is Stage.ADVERTISED


ATTACKS: dict[str, tuple[dict[str, Any], str]] = {
    "another question": ({"question": digest_question(gradient(12, 2))}, "is not the one that was sent"),
    "another round": ({"round": 1}, "for another session or round"),
    "another session": ({"session": bytes([1] * 16)}, "for another session or round"),
    "longer vectors": ({"length": 1_000}, "the announced size of vectors does not fit"),
    "numbers cut off": ({"largest": 1}, "the announced size of vectors does not fit"),
    "another roster": ({"roster": bytes(32)}, "roster"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_server_that_shows_one_thing_and_announces_another_is_refused(name: str) -> None:
    other, why = ATTACKS[name]
    party = make_party(crowd(CLIENTS), EVERYONE)
    party.reply(put(gradient(12)))
    assert not send(party, announce(gradient(12), **other)).letters
    assert len(party.refusals) == CLIENTS
    assert all(why in reason for reason in reasons(party))
    assert party.store.load(0).stage is Stage.IDLE


def test_without_a_question_no_round_begins() -> None:
    party = make_party(crowd(CLIENTS), EVERYONE)
    assert not send(party, announce(gradient(12))).letters
    assert reasons(party) == {"this client is in no round"}


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (put(gradient(12, 2)), "the announced question is not the one that was sent"),
        (put(gradient(12), number=1), "the question was asked for another session or round"),
    ],
)
def test_a_question_that_is_replaced_in_the_middle_ends_the_round(other: Bundle, why: str) -> None:
    """A server cannot show another question, or the same for another round, once clients have begun."""

    class Swapping(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            if next(iter(outbox.values())).stage == "vector":
                super().__call__(dict.fromkeys(outbox, other), deadline)
            return super().__call__(outbox, deadline)

    party = make_party(crowd(CLIENTS), EVERYONE)
    said = make_federation(crowd(CLIENTS), [party], Swapping({0: party}))(ask_everyone(CLIENTS, gradient(12)))
    assert (said.lost, said.spent) == (True, False)
    assert reasons(party) == {why}
    assert not party.ledger


def strange(query: Query[Any], **other: Any) -> bytes:
    return pack({"query": query, "session": SESSION.hex(), "round": 0} | other)


BAD = {
    "no bytes": Bundle({0: TIMES.pack(1)}, b"x"),
    "no question": Bundle({0: TIMES.pack(1)}, pack({"query": 3, "session": SESSION.hex(), "round": 0})),
    "other items": Bundle({0: TIMES.pack(1)}, strange(gradient(13))),
    "items beyond": Bundle({0: TIMES.pack(1)}, strange(replace(gradient(12), items=np.array([3, 12])))),
    "items below": Bundle({0: TIMES.pack(1)}, strange(replace(gradient(12), items=np.array([-1, 3])))),
    "texts for numbers": Bundle({0: TIMES.pack(1)}, strange(replace(gradient(12), bits="4"))),  # type: ignore[arg-type]
    "a short session": Bundle({0: TIMES.pack(1)}, strange(gradient(12), session="00")),
    "a round below 0": Bundle({0: TIMES.pack(1)}, strange(gradient(12), round=-1)),
    "never": Bundle({0: TIMES.pack(0)}, strange(gradient(12))),
    "too often": Bundle({0: TIMES.pack(2**63)}, strange(gradient(12))),
    "half a number": Bundle({0: b"1"}, strange(gradient(12))),
    "nobody": Bundle({}, strange(gradient(12))),
    "others": Bundle({0: TIMES.pack(1), CLIENTS: TIMES.pack(1)}, strange(gradient(12))),
    "other shards": Bundle({0: TIMES.pack(1)}, strange(shards(10**12, 3))),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_a_question_to_its_clients_is_refused(name: str) -> None:
    party = make_party(crowd(CLIENTS), EVERYONE)
    assert party.reply(BAD[name]) == Bundle({})
    assert [refusal.stage for refusal in party.refusals] == [QUESTION]
    assert party.reply(put(gradient(12))).letters  # it is there for the next


@pytest.mark.parametrize(
    "letter", [b"", b"nonsense", announce(gradient(12)).encode()[:-1], b"FMSA\x02\x03" + bytes(30)]
)
def test_messages_that_cannot_be_read_are_refused(letter: bytes) -> None:
    party = make_party(crowd(CLIENTS), EVERYONE)
    party.reply(put(gradient(12)))
    assert party.reply(Bundle({0: letter, 1: announce(gradient(12)).encode()})).letters.keys() <= {1}
    assert 0 in {refusal.client for refusal in party.refusals}


def test_its_policy_says_which_questions_it_answers() -> None:
    party = make_party(crowd(CLIENTS), EVERYONE, PartyPolicy(TERMS, questions=(Votes, Magnitude)))
    assert not party.reply(put(gradient(12))).letters
    assert reasons(party) == {"this party does not answer questions of the kind Gradient"}
    assert party.reply(put(votes(12))).letters
    with pytest.raises(InputError, match="needs kinds of questions, got 'Votes'"):
        PartyPolicy(questions=("Votes",))  # type: ignore[arg-type]


def test_its_policy_says_how_often_it_answers_a_day() -> None:
    now = [0.0]
    party = make_party(crowd(CLIENTS), EVERYONE, PartyPolicy(TERMS, per_day=2), clock=lambda: now[0])
    federation = make_federation(crowd(CLIENTS), [party])
    hours = [0, 1, 2, 23, 24.5, 24.6, 25.5]
    answered = []
    for number, hour in enumerate(hours):
        now[0] = hour * 3600.0
        answered.append(not federation(ask_everyone(CLIENTS, gradient(12, number), number)).lost)
    assert answered == [True, True, False, False, True, False, True]
    assert "2 rounds were answered in the last 24 hours, and no more are allowed" in reasons(party)
    assert [entry.round for entry in party.ledger] == [0, 1, 4, 6]


def test_who_volunteers_counts_as_an_answer() -> None:
    """Else a server could ask who would take part without end, and learn how large their values are."""
    party = make_party(crowd(CLIENTS), EVERYONE, PartyPolicy(TERMS, per_day=3, volunteers=True))
    replies = [party.reply(put(voluntary(12))) for _ in range(5)]
    assert [bool(reply.letters) for reply in replies] == [True, True, True, False, False]
    assert {entry.stage for entry in party.ledger} == {QUESTION}


def test_volunteers_who_answer_have_answered_once() -> None:
    party = make_party(crowd(CLIENTS), EVERYONE, PartyPolicy(TERMS, per_day=2, volunteers=True))
    federation = make_federation(crowd(CLIENTS), [party])
    said = [federation(ask_everyone(CLIENTS, voluntary(12, key=key), key)) for key in range(3)]
    assert [one.clients > 0 for one in said] == [True, True, False]
    assert [entry.stage for entry in party.ledger] == [QUESTION, "vector"] * 2


def test_its_terms_are_those_of_secure_aggregation() -> None:
    party = make_party(crowd(CLIENTS), EVERYONE, PartyPolicy(Policy(fewest=CLIENTS + 1)))
    party.reply(put(gradient(12)))
    assert not send(party, announce(gradient(12))).letters
    assert len(party.refusals) == CLIENTS


def test_the_ledger_says_what_was_answered() -> None:
    party = make_party(crowd(CLIENTS), EVERYONE, clock=lambda: 5.0)
    federation = make_federation(crowd(CLIENTS), [party])
    ask = ask_everyone(CLIENTS, gradient(12), 3)
    assert not federation(ask).lost
    (entry,) = party.ledger
    assert (entry.stage, entry.kind, entry.round, entry.time, entry.clients) == ("vector", "Gradient", 3, 5.0, CLIENTS)
    assert entry.question == digest_question(ask.query).hex()


def test_a_party_refuses_shards_that_it_does_not_hold_whole() -> None:
    clients, query = crowd(CLIENTS), shards(CLIENTS, 5)
    groups = query.group_clients()
    split = [EVERYONE[EVERYONE % 2 == 0], EVERYONE[EVERYONE % 2 == 1]]
    parties = [make_party(clients, ids) for ids in split]
    assert make_federation(clients, parties)(ask_everyone(CLIENTS, query)).lost
    why = "this party does not hold all clients of this client's group"
    assert all(reasons(party) == {why} for party in parties)
    whole = [make_party(clients, np.flatnonzero(np.isin(groups, some))) for some in ([0, 2], [1, 3, 4])]
    said = make_federation(clients, whole)(ask_everyone(CLIENTS, query))
    assert said.equals(Simulation(clients)(ask_everyone(CLIENTS, query)))
    assert not any(party.refusals for party in whole)


def test_a_party_that_comes_back_from_its_folder_remembers(tmp_path: Path) -> None:
    clients, asks = crowd(CLIENTS), [ask_everyone(CLIENTS, gradient(12, key), key) for key in range(3)]
    for number in range(2):
        with closing(FolderStore(tmp_path)) as store:
            party = make_party(clients, EVERYONE, store=store)
            federation = make_federation(clients, [party])
            assert federation(asks[number]).equals(Simulation(clients)(asks[number]))
    with closing(FolderStore(tmp_path)) as store:
        party = make_party(clients, EVERYONE, store=store)
        assert [entry.clients for entry in party.ledger] == [CLIENTS, CLIENTS]
        again = make_federation(clients, [party])(Ask(asks[0].query, asks[0].cohort, asks[0].purpose, "again", 7))
        assert (again.lost, again.spent) == (True, False)
        assert all("answered this question" in reason for reason in reasons(party))


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_leaves_before_it_is_stored(stage: str) -> None:
    class Full(MemoryStore):
        def save(self, update: StoreUpdate) -> None:
            if saved[-1] == stage:
                raise OSError("no space left")
            super().save(update)

    class Noting(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            saved.append(next(iter(outbox.values())).stage)
            return super().__call__(outbox, deadline)

    saved: list[str] = []
    party = make_party(crowd(CLIENTS), EVERYONE, store=Full())
    federation = make_federation(crowd(CLIENTS), [party], Noting({0: party}))
    with pytest.raises(OSError, match="no space left"):
        federation(ask_everyone(CLIENTS, gradient(12)))
    assert saved[-1] == stage


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        (EVERYONE[:-1], "ids: needs 16 numbers in increasing order"),
        (EVERYONE[::-1], "ids: needs 16 numbers in increasing order"),
        (EVERYONE + 1, "ids: needs clients that are on the roster and have an identity"),
    ],
)
def test_clients_are_those_of_the_roster(ids: Ids, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{sentence}"):
        Party(crowd(CLIENTS), ids, make_identities(CLIENTS), make_roster(CLIENTS))


def test_an_identity_that_is_not_on_the_roster_is_refused_at_once() -> None:
    keys = make_identities(CLIENTS)
    with pytest.raises(InputError, match="client 0 is not on the roster with this identity's key"):
        Party(crowd(CLIENTS), EVERYONE, keys | {0: keys[1]}, make_roster(CLIENTS))


def test_a_user_s_own_question_is_known_once_it_is_imported() -> None:
    class Mine(Gradient):
        """Registered when its class is made."""

    query = Mine(x=np.full(12, 0.1), whole=5.0, coins=PublicCoins(1), single=5.0, bits=4, stochastic=True)
    party = make_party(crowd(CLIENTS), EVERYONE)
    assert len(party.reply(put(query)).letters) == CLIENTS
