"""Servers that try to learn one client's answer from what parties reply, and questions made to break a party."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import InputError, Simulation, Uniform
from folkmoot.conversation.codec import pack
from folkmoot.conversation.engine import Control
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Bundle, FolderStore, InProcess, MemoryStore, Party, PartyPolicy
from folkmoot.engines.answering import NOBODY, TIMES, write_question, write_times
from folkmoot.engines.folder_store import FILE
from folkmoot.engines.store import StoreUpdate
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.randomness import PrivateRandomness, as_private
from folkmoot.foundation.sets import Ids, Mask, Rows
from folkmoot.objectives.objective import Objective
from folkmoot.questions import Gains, GainsAlong, Importance, LocalBase, Participation, Query, Values
from folkmoot.questions.encoding import Encoding, Part
from folkmoot.questions.query import Reply, write_dense
from folkmoot.secagg.state import State
from tests.coins import toss_for
from tests.engines.crowds import TERMS, ask_everyone, crowd, gradient, make_federation, make_party, shards, voluntary

CLIENTS, ITEMS, VICTIM = 16, 12, 5
EVERYONE = np.arange(CLIENTS)
ONES = np.ones(CLIENTS, dtype=np.int64)
SESSION = bytes(16)
OPEN = PartyPolicy(TERMS, uneven=True, volunteers=True)


def put(query: Any, times: Ids = ONES, ids: Ids = EVERYONE, **other: Any) -> Bundle:
    question = pack({"query": query, "session": SESSION.hex(), "round": 0} | other)
    return Bundle(write_times(ids, times[: len(ids)]), question)


def reasons(party: Party) -> set[str]:
    return {refusal.why for refusal in party.refusals}


def gains(**other: Any) -> Gains:
    usual: dict[str, Any] = {
        "members": np.zeros(ITEMS, dtype=bool),
        "items": np.arange(ITEMS),
        "most": 5.0,
        "draw": 1,
    }
    return Gains(**(usual | other))


# How often clients count


def local_base() -> LocalBase:
    return LocalBase(x=np.zeros(ITEMS), whole=5.0, coins=PublicCoins(9), matroid=Uniform(ITEMS, 3), single=5.0)


COUNTS: dict[str, tuple[Query[Any], int, int, Callable[[Ids], Ids]]] = {
    "the victim's answer in the first digits": (gradient(ITEMS), 2**40, 1, lambda total: total >> 40),
    "the victim's answer in the remainder": (local_base(), 1, 2, lambda total: total % 2),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_that_would_show_one_answer_are_refused(name: str) -> None:
    query, own, others, read = COUNTS[name]
    clients, times = crowd(CLIENTS), np.where(EVERYONE == VICTIM, own, others)
    ask = Ask(query, Cohort.of(EVERYONE, times), Purpose.SEARCH, "test", 0)
    answer = query.answers(clients, EVERYONE, ONES, toss_for(query)).toarray()[VICTIM]
    trusting, party = (make_party(clients, EVERYONE, policy) for policy in (OPEN, None))
    np.testing.assert_array_equal(read(make_federation(clients, [trusting])(ask).total), answer)
    said = make_federation(clients, [party])(ask)
    assert said.lost or not np.asarray(said.present)[VICTIM]
    assert not np.array_equal(read(said.total), answer)
    assert reasons(party) == {"the announced size of vectors does not fit the question"}


def test_counts_cannot_change_between_the_poll_and_the_sum() -> None:
    class Again(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            if outbox[0].stage == "vector":
                times = np.where(EVERYONE == VICTIM, 3, 1)
                question = write_question(ask, federation._session)
                super().__call__({0: Bundle(write_times(EVERYONE, times), question)}, deadline)
            return super().__call__(outbox, deadline)

    party, ask = make_party(crowd(CLIENTS), EVERYONE), ask_everyone(CLIENTS, gradient(ITEMS))
    federation = make_federation(crowd(CLIENTS), [party], Again({0: party}))
    said = federation(ask)
    assert said.lost or not np.asarray(said.present)[VICTIM]
    assert {refusal.client for refusal in party.refusals} == {VICTIM}


# Who takes part


def test_data_decide_who_takes_part_only_where_the_party_agrees() -> None:
    by_data, by_coins = voluntary(ITEMS), gains(who=Participation(even=0.5))
    party = make_party(crowd(CLIENTS), EVERYONE, PartyPolicy(TERMS))
    assert not party.reply(put(by_data)).letters
    assert reasons(party) == {"this party does not let its clients' data decide who takes part"}
    assert not party.ledger
    assert len(party.reply(put(by_coins)).letters) == CLIENTS


def test_other_counts_do_not_show_more_of_who_would_take_part() -> None:
    """A search over counts would find a client's best item; the same counts again show nothing new."""
    party = make_party(crowd(CLIENTS), EVERYONE)
    first = party.reply(put(voluntary(ITEMS)))
    assert set(first.letters) == set(EVERYONE.tolist())
    for times in (2, 3, 2**40):
        assert not party.reply(put(voluntary(ITEMS), ONES * times)).letters
    assert reasons(party) == {"who takes part is said only where everyone counts once"}
    assert party.reply(put(voluntary(ITEMS))) == first


@pytest.mark.parametrize(
    "wrong",
    [
        {"even": 0.0},
        {"even": -1.0},
        {"even": float("nan")},
        {"even": "x"},
        {"even": None},
        {"even": True},
        {"slope": -0.1},
        {"slope": float("inf")},
        {"own": "all"},
        {"own": "share"},
        {"own": "share", "inverse": np.array([1])},
        {"own": "share", "inverse": np.full(ITEMS, np.nan)},
        {"own": "share", "inverse": np.full(ITEMS, -1.0)},
    ],
)
def test_chances_are_numbers(wrong: dict[str, Any]) -> None:
    good: dict[str, Any] = {"even": 0.1, "slope": 0.1}
    assert Participation(**good).even == 0.1
    with pytest.raises(InputError):
        Participation(**(good | wrong))


def test_a_party_that_refuses_does_not_bias_a_sum_of_volunteers() -> None:
    """Its clients would count as if they had decided not to answer."""
    clients, ask = crowd(CLIENTS), ask_everyone(CLIENTS, voluntary(ITEMS))
    halves = EVERYONE[:12], EVERYONE[12:]
    for last, lost in ((OPEN, False), (PartyPolicy(TERMS), True)):
        parties = [make_party(clients, ids, policy) for ids, policy in zip(halves, (OPEN, last), strict=True)]
        said = make_federation(clients, parties)(ask)
        assert (said.lost, said.spent) == (lost, False)
        assert not any(entry.stage == "vector" for party in parties for entry in party.ledger) or not lost
    assert Simulation(clients)(ask).clients > 0


def test_a_party_where_nobody_volunteers_has_considered_the_question() -> None:
    clients, query = crowd(CLIENTS), voluntary(ITEMS)
    willing = query.takes_part(clients, EVERYONE, ONES, toss_for(query))
    assert willing is not None
    parties = [make_party(clients, EVERYONE[mask]) for mask in (willing, ~willing)]
    assert set(parties[1].reply(put(query, ids=EVERYONE[~willing])).letters.values()) == {NOBODY}
    ask = ask_everyone(CLIENTS, query)
    assert make_federation(clients, parties)(ask).equals(Simulation(clients)(ask))


# Questions made to break a party

WRONG: dict[str, Callable[[], Any]] = {
    "members of one number": lambda: gains(members=np.array([0])),
    "members that are numbers": lambda: gains(members=np.zeros(ITEMS)),
    "items that are fractions": lambda: gains(items=np.arange(ITEMS).astype(float)),
    "a point of one number": lambda: replace(gradient(ITEMS), x=np.array([0]), items=np.arange(1)),
    "a point of whole numbers": lambda: replace(gradient(ITEMS), x=np.arange(ITEMS)),  # type: ignore[arg-type]
    "a point that is a mask": lambda: replace(gradient(ITEMS), x=np.zeros(ITEMS, dtype=bool)),
    "a point that is no number": lambda: replace(gradient(ITEMS), x=np.full(ITEMS, np.nan)),
    "shares of one item": lambda: Importance(inverse=np.array([1])),
    "shares that are no numbers": lambda: Importance(inverse=np.full(ITEMS, np.nan)),
    "sets of fractions": lambda: Values(items=np.arange(ITEMS), sets=np.zeros((2, ITEMS)), whole=5.0),  # type: ignore[arg-type]
    "a sequence of fractions": lambda: along(order=np.array([0.5, 1.0, 2.0])),
    "items in a square": lambda: along(items=np.zeros((2, 2), dtype=np.int64)),
    "marks of fractions": lambda: along(marks=np.array([1.0])),
}


def along(**other: Any) -> GainsAlong:
    usual: dict[str, Any] = {
        "order": np.arange(3),
        "marks": np.array([1]),
        "items": np.arange(2),
        "others": np.array([2]),
    }
    return GainsAlong(**(usual | {"wide": 1, "single": 5.0, "whole": 5.0} | other))


@pytest.mark.parametrize("name", WRONG)
def test_arrays_that_a_kernel_would_read_beyond_are_refused(name: str) -> None:
    party = make_party(crowd(CLIENTS), EVERYONE)
    assert party.reply(put(along())).letters
    assert not party.reply(put(WRONG[name]())).letters
    assert all(why.startswith("the question cannot be answered: ") for why in reasons(party))
    assert len(reasons(party)) == 1


def unchecked(kind: type, **fields: Any) -> Any:
    """What a server can write that does not check what it writes."""
    made: Any = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def chances(**other: Any) -> Any:
    return unchecked(Participation, **({"even": 0.1, "slope": 0.0, "own": "nothing", "inverse": None} | other))


def toss(key: Any) -> Callable[[], Bundle]:
    return lambda: put(gains(draw=key, who=chances()))


def decide(even: Any) -> Callable[[], Bundle]:
    return lambda: put(gains(who=chances(even=even)))


ESCAPES: dict[str, Callable[[], Bundle]] = {
    **{f"draw {key!r}": toss(key) for key in (-1, "x", 2**64, True, None)},
    **{f"even {even!r}": decide(even) for even in ("x", None, 0.0)},
    "shares of nothing": lambda: put(gains(who=chances(slope=0.1, own="share"))),
    "who is coins": lambda: put(gains(who=PublicCoins(1))),
    "who is a text": lambda: put(gains(who="x")),
    "no draw": lambda: put(gains(draw=None, who=chances(even=0.5))),
    "no coins for shards": lambda: put(replace(shards(CLIENTS, 3), coins=None)),  # type: ignore[arg-type]
    "shards in parts": lambda: put(replace(shards(CLIENTS, 3), shards=2.5)),  # type: ignore[arg-type]
    "round 2^40": lambda: put(gradient(ITEMS), round=2**40),
    "round 2^70": lambda: put(voluntary(ITEMS), round=2**70),
    "round True": lambda: put(gradient(ITEMS), round=True),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_no_question_makes_a_party_raise(name: str, tmp_path: Path) -> None:
    with closing(FolderStore(tmp_path)) as store:
        party = make_party(crowd(CLIENTS), EVERYONE, OPEN, store)
        party.reply(ESCAPES[name]())
        assert len(party.refusals) == 1 or name == "shards in parts"
        assert party.reply(put(gradient(ITEMS))).letters  # it is there for the next


class Faulty(MemoryStore):
    """A store that fails in some way."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def load(self, client: int) -> State:  # noqa: ARG002
        raise self.error


def test_errors_are_kept_by_name_and_those_of_the_store_are_raised() -> None:
    ask = ask_everyone(CLIENTS, gradient(ITEMS))
    party = make_party(crowd(CLIENTS), EVERYONE, store=Faulty(ZeroDivisionError("5.0, a client's own number")))
    said = make_federation(crowd(CLIENTS), [party])(ask)
    assert (said.lost, said.spent) == (True, False)
    assert reasons(party) == {"answering failed with ZeroDivisionError"}
    for error in (sqlite3.OperationalError("full"), OSError("full")):
        party = make_party(crowd(CLIENTS), EVERYONE, store=Faulty(error))
        with pytest.raises(type(error), match="full"):
            make_federation(crowd(CLIENTS), [party])(ask)


@pytest.mark.parametrize("key", [-1, 2**64, True, "1", 1.0, None])
def test_coins_have_a_key_of_64_bits(key: Any) -> None:
    assert PublicCoins(2**64 - 1).key == 2**64 - 1
    with pytest.raises(InputError, match=r"^key: needs a whole number of 64 bits"):
        PublicCoins(key)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mood(Query[Reply]):
    """A number below or above 0, which one client says for its group."""

    n_clients: int
    counts_times = True

    @property
    def encoding(self) -> Encoding:
        return Encoding((Part(1, 1.0, 3, signed=True),))

    def group_clients(self) -> Ids:
        return np.arange(self.n_clients) % 8

    def speakers(self, ids: Ids) -> Mask:
        return np.asarray(ids < 8)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:  # noqa: ARG002
        return write_dense(np.where(self.speakers(ids), 6, 0)[:, None])


def test_nobody_speaks_for_others_in_signed_numbers() -> None:
    """A sum of them is cut off at what one client can say."""
    clients = crowd(CLIENTS)
    federation = make_federation(clients, [make_party(clients, EVERYONE)])
    assert not federation(ask_everyone(CLIENTS, shards(CLIENTS, 8))).lost
    with pytest.raises(InputError, match=r"^query: where one client speaks for a group"):
        federation(ask_everyone(CLIENTS, Mood(n_clients=CLIENTS), 1))


# What is kept, and how often is answered


class Remembering(FolderStore):
    """A store that remembers every secret it was given."""

    secrets: set[bytes]

    def save(self, update: StoreUpdate) -> None:
        for state in update.states.values():
            self.secrets |= {state.seed, *state.held.values()} - {b""}
        super().save(update)


def test_no_secret_is_left_in_any_file_when_a_round_is_over(tmp_path: Path) -> None:
    with closing(Remembering(tmp_path)) as store:
        store.secrets = set()
        party = make_party(crowd(CLIENTS), EVERYONE, store=store)
        assert not make_federation(crowd(CLIENTS), [party])(ask_everyone(CLIENTS, gradient(ITEMS))).lost
        assert len(store.secrets) > CLIENTS
        kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert kept
        assert not [secret for secret in store.secrets if secret in kept]


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    os.chmod(tmp_path / FILE, 0o644)
    FolderStore(tmp_path).close()
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("polls", ["once", "again"])
def test_every_sum_counts_towards_those_of_a_day(polls: str) -> None:
    """One question, round and session, put to four parts of the clients."""

    class Splitting(InProcess):
        polled = False

        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            if outbox[0].stage == "question":
                if self.polled and polls == "once":
                    return {0: Bundle({client: client.to_bytes(4, "little") for client in outbox[0].letters})}
                self.polled = True
                everyone = Bundle(dict.fromkeys(range(40), TIMES.pack(1)), outbox[0].question)
                return super().__call__({0: everyone}, deadline)
            return super().__call__(outbox, deadline)

    clients, sums = crowd(40), 0
    party = make_party(clients, np.arange(40), PartyPolicy(TERMS, per_day=1))
    federation = make_federation(clients, [party], Splitting({0: party}))
    for part in np.array_split(np.arange(40), 4):
        federation._last = -2  # the same session
        said = federation.lead_round(Ask(gradient(ITEMS), Cohort.of(part, None), Purpose.SEARCH, "test", 0), Control())
        sums += not said.lost
    assert sums == 1
    assert len(party.ledger) == 1


def test_only_private_randomness_is_taken() -> None:
    class Own(PrivateRandomness):  # type: ignore[misc]
        def random(self, size: int) -> bytes:
            return bytes(size)

    for wrong in (Own(), PublicCoins(1)):
        with pytest.raises(InputError, match=r"^random: needs PrivateRandomness"):
            as_private(wrong)
        with pytest.raises(InputError, match=r"^random: needs PrivateRandomness"):
            make_party(crowd(CLIENTS), EVERYONE, random=wrong)
    test_source = PrivateRandomness.for_tests(bytes)
    assert make_party(crowd(CLIENTS), EVERYONE, random=test_source).random is test_source
