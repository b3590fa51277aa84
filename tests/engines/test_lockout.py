"""A server that breaks rounds off, or accidents that do, until a client refuses every server for ever. One round a day
is forgiven, by a clock that nobody sets; the operator may forgive all.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from folkmoot.engines import Bundle, FolderStore, InProcess, MemoryStore, PartyPolicy, PooledParty
from folkmoot.engines.credit import DAY, forgive_all
from folkmoot.engines.pooling import announce_pool, write_pooled_question
from folkmoot.engines.store import StateStore, StoreUpdate
from folkmoot.questions import Query
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.state import State
from folkmoot.secagg.together import STAGES
from tests.engines import crowds
from tests.engines.crowds import crowd, gradient
from tests.engines.noisy import KINDS, Site, ask_noise, limit
from tests.engines.pools import CLIENTS, ITEMS, POLICY, SIZES, TERMS, VICTIM, ask_all, make_parties

BROKEN = "rounds were broken off"
YEAR = 365 * DAY
LIMIT = TERMS.unfinished
FEW = 2  # that may be broken off, where 16 would only take longer


@dataclass
class Clocks:
    """What a party takes the time from."""

    date: float = 1e9
    uptime: float = 5e5

    @property
    def how(self) -> dict[str, Any]:
        return {"clock": lambda: self.date, "uptime": lambda: self.uptime}


def choose_terms(kind: str, **changes: Any) -> Any:
    return replace(TERMS if kind == "pooled" else crowds.TERMS, **changes)


class Server:
    """Leads rounds with all parties, asks something else each time, and breaks rounds off where it likes."""

    def __init__(self, kind: str, policy: PartyPolicy, stores: list[StateStore] | None = None) -> None:
        self.clocks, self.asked, self.draws = Clocks(), 0, 0
        self.stores: list[StateStore] = stores or [MemoryStore() for _ in SIZES]
        self.site = Site(kind, policy, self.stores, how=self.clocks.how)
        self.until = ""

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        stage = next(iter(outbox.values())).stage
        if stage == self.until:
            return {}
        replies = InProcess(self.site.parties)(outbox, deadline)
        self.draws += stage == "choice" and any(reply.letters for reply in replies.values())
        return replies

    def ask(self, until: str = "", query: Query[Any] | None = None) -> bool:
        """A round, up to an exchange; whether clients took part, and so showed their neighbours."""
        self.asked, self.until, before = self.asked + 1, until, self.draws
        query = gradient(ITEMS, self.asked) if query is None else query
        said = self.site.engine(self)(self.site.ask(query, self.asked))
        assert said.lost == (bool(until) or self.draws == before)
        return self.draws > before

    @property
    def ledgers(self) -> list[Ledger]:
        return [state.record for store in self.stores for _, state in store.list_states()]


def count(server: Server, until: str) -> int:
    """How many more rounds clients begin that are all broken off."""
    rounds = 0
    while server.ask(until):
        rounds += 1
    return rounds


# The server's attack.


@pytest.mark.parametrize(
    ("kind", "until"),
    [*(("pooled", until) for until in STAGES[STAGES.index("shares") :]), ("each", "shares"), ("each", "unmasking")],
)
def test_wherever_rounds_are_broken_off_the_server_sees_one_more_draw_a_day(kind: str, until: str) -> None:
    server = Server(kind, PartyPolicy(choose_terms(kind, unfinished=FEW)))
    assert count(server, until) == FEW
    assert {why for why in server.site.reasons if BROKEN in why} == {f"{FEW} {BROKEN} and only 0 finished"}
    for day in (1, 2):
        server.clocks.uptime += DAY
        assert count(server, until) == 1
        assert server.draws == FEW + day
    server.clocks.uptime += DAY
    assert server.ask()  # this one is not broken off
    assert {ledger.excess for ledger in server.ledgers} == {FEW - 2}
    assert count(server, until) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_that_are_broken_off_before_anybody_drew_do_not_count(kind: str) -> None:
    server = Server(kind, PartyPolicy(choose_terms(kind)))
    for until in ("keys", "choice") * (LIMIT + 1):
        server.ask(until)
    assert set(server.ledgers) <= {Ledger()}
    assert server.ask()


def test_a_day_is_a_day_of_uptime_and_no_date() -> None:
    server = Server("pooled", PartyPolicy(choose_terms("pooled", unfinished=FEW)))
    assert count(server, "shares") == FEW  # the last refusal began the count
    server.clocks.uptime += DAY - 1
    assert not server.ask()
    server.clocks.date += YEAR
    assert not server.ask()
    server.clocks.date -= 3 * YEAR
    assert not server.ask()
    server.clocks.uptime += 1
    assert count(server, "shares") == 1


# Credit.


def fill(store: StateStore, rounds: int = LIMIT) -> None:
    """So many rounds were broken off."""
    state = store.load(VICTIM)
    ledger = Ledger(rounds, 0, state.record.entries)
    store.save(StoreUpdate({VICTIM: State(ledger=ledger.encode(), announced=state.announced)}))


class Visitor:
    """Asks a single party, and announces a round to it; whoever answers that will draw neighbours next."""

    def __init__(self, store: StateStore, clocks: Clocks) -> None:
        self.store, self.clocks, self.asked = store, clocks, 0
        self.open()

    def open(self) -> None:
        """The party in another process."""
        made = make_parties(
            crowd(CLIENTS),
            POLICY,
            store=lambda number: self.store if number == VICTIM else MemoryStore(),
            **self.clocks.how,
        )
        self.party: PooledParty = made[VICTIM]

    def write_messages(self) -> tuple[Bundle, Bundle]:
        self.asked += 1
        ask, party = ask_all(gradient(ITEMS, self.asked), self.asked), self.party
        question = Bundle({VICTIM: b""}, write_pooled_question(ask, bytes(16), party.census))
        announced = announce_pool(ask, bytes(16), party.roster.digest, party.census)
        return question, Bundle({VICTIM: announced.encode()})

    def ask(self) -> bool:
        """Whether the party takes part."""
        question, announced = self.write_messages()
        assert self.party.reply(question).letters
        return bool(self.party.reply(announced).letters)

    @property
    def begun(self) -> int:
        return self.store.load(VICTIM).record.begun


@pytest.fixture(params=["memory", "folder"])
def visitor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Visitor]:
    """A party that refuses, and counts the days since it first did."""
    store: Any = MemoryStore() if request.param == "memory" else FolderStore(tmp_path)
    fill(store)
    visitor = Visitor(store, Clocks())
    assert not visitor.ask()
    assert visitor.store.read_credit(VICTIM) == visitor.clocks.uptime
    yield visitor
    if request.param == "folder":
        store.close()


def test_a_store_without_a_reading_begins_to_count(visitor: Visitor) -> None:
    """However long the machine has run."""
    assert (visitor.begun, visitor.clocks.uptime > DAY) == (LIMIT, True)
    assert not visitor.ask()


def test_credit_is_given_once_a_day(visitor: Visitor) -> None:
    for _ in range(3):
        visitor.clocks.uptime += DAY - 0.5
        assert not visitor.ask()
        visitor.clocks.uptime += 0.5
        assert visitor.ask()
        assert visitor.begun == LIMIT - 1
        assert visitor.ask()  # nothing was drawn yet, so that is no other round
        assert visitor.begun == LIMIT - 1
        fill(visitor.store)  # now it was
        assert not visitor.ask()


def test_a_year_of_uptime_earns_one(visitor: Visitor) -> None:
    visitor.clocks.uptime += YEAR
    assert visitor.ask()
    fill(visitor.store)
    assert not visitor.ask()


def test_a_date_put_forward_earns_nothing(visitor: Visitor) -> None:
    visitor.clocks.date += YEAR
    assert not visitor.ask()


def test_a_machine_that_starts_again_begins_to_count_again(visitor: Visitor) -> None:
    visitor.clocks.uptime = 10.0
    assert not visitor.ask()
    visitor.clocks.uptime = DAY + 9.0
    assert not visitor.ask()
    visitor.clocks.uptime = DAY + 10.0
    assert visitor.ask()


def test_who_would_not_refuse_is_forgiven_nothing(visitor: Visitor) -> None:
    visitor.clocks.uptime += DAY
    fill(visitor.store, LIMIT - 1)
    assert visitor.ask()
    assert visitor.begun == LIMIT - 1
    fill(visitor.store, LIMIT + 1)  # one more than is forgiven
    assert not visitor.ask()
    assert visitor.begun == LIMIT + 1


def test_who_refuses_for_another_reason_keeps_its_credit(visitor: Visitor) -> None:
    """The round is one that was before: keys of an older round of the session are used up."""
    visitor.clocks.uptime += DAY
    assert visitor.ask()
    fill(visitor.store)
    visitor.clocks.uptime += DAY
    last, visitor.asked = visitor.store.read_credit(VICTIM), 0
    assert not visitor.ask()
    assert (visitor.begun, visitor.store.read_credit(VICTIM)) == (LIMIT, last)
    visitor.asked = 50
    assert visitor.ask()


@contextmanager
def die_on_save(store: Any, *, stored: bool) -> Iterator[None]:
    """The process ends when it stores something, just before or just after."""
    save = store.save

    def die(update: StoreUpdate) -> None:
        if stored:
            save(update)
        raise OSError("killed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "save", die)
        with pytest.raises(OSError, match=r"^killed$"):
            yield


@pytest.mark.parametrize("stored", [False, True])
def test_credit_survives_a_crash_and_is_not_given_twice(stored: bool, tmp_path: Path) -> None:
    """In processes that live for one message each."""
    clocks = Clocks()
    with closing(FolderStore(tmp_path)) as store:
        fill(store)
        visitor = Visitor(store, clocks)
        assert not visitor.ask()
    clocks.uptime += DAY
    with closing(FolderStore(tmp_path)) as store:
        visitor.store = store
        visitor.open()
        question, announced = visitor.write_messages()
        assert visitor.party.reply(question).letters
        with die_on_save(store, stored=stored):
            visitor.party.reply(announced)
        assert (visitor.begun, store.read_credit(VICTIM) == clocks.uptime) == (LIMIT - stored, stored)
    for _ in range(2):
        with closing(FolderStore(tmp_path)) as store:
            visitor.store = store
            visitor.open()
            assert visitor.party.reply(announced).letters  # the same message: the same bytes, or the first
            assert (visitor.begun, store.read_credit(VICTIM)) == (LIMIT - 1, clocks.uptime)
    with closing(FolderStore(tmp_path)) as store:
        visitor.store = store
        visitor.open()
        fill(store)
        clocks.uptime += DAY - 1
        assert not visitor.ask()


# The operator.


@pytest.mark.parametrize(("kind", "until"), [("pooled", "consent"), ("pooled", "unmasking"), ("each", "consent")])
def test_who_is_forgiven_all_still_knows_what_it_answered(kind: str, until: str) -> None:
    server = Server(kind, PartyPolicy(choose_terms(kind, unfinished=FEW)))
    assert count(server, until) == FEW
    before = server.ledgers
    for store in server.stores:
        store.save(StoreUpdate({client: forgive_all(state) for client, state in store.list_states()}))
    assert [ledger.entries for ledger in server.ledgers] == [ledger.entries for ledger in before]
    assert {(ledger.excess, bool(ledger.entries)) for ledger in server.ledgers} == {(0, True)}
    for key in range(1, FEW + 1):
        assert not server.ask(query=gradient(ITEMS, key))
    assert any("already answered this question" in why for why in server.site.reasons)
    assert server.ask()
    assert count(server, until) == FEW + 1


def test_a_round_under_way_ends_when_all_is_forgiven() -> None:
    """Its keys are gone: no message of it is answered any more but by the bytes that left before."""
    server = Server("pooled", PartyPolicy(TERMS))
    server.ask("consent")
    store = server.stores[VICTIM]
    ((_, state),) = store.list_states()
    after = forgive_all(state)
    assert after == State(ledger=after.ledger, announced=state.announced)
    assert State.decode(after.encode()) == after
    assert (after.record.begun, after.record.finished) == (0, 0)
    store.save(StoreUpdate({VICTIM: after}))
    assert server.ask()


# An honest mistake.

MISTAKES = {
    # Five parties of which one may be corrupt while another is gone: no sum is sure to hold four honest ones.
    ("pooled", "question"): ({}, 4),
    # Of which nobody may be gone: a server could make it so, but this one does not.
    ("pooled", "choice"): ({"dropout": 0.0}, 4),
    ("each", "question"): ({}, 50),
    ("each", "choice"): ({"dropout": 0.0}, 50),
}


@pytest.mark.parametrize(("kind", "stage"), MISTAKES)
def test_a_policy_that_no_round_can_satisfy_locks_nobody_out(kind: str, stage: str) -> None:
    """It is seen before anybody draws neighbours: as early as the question where it is certain, else on the roll."""
    changes, honest = MISTAKES[kind, stage]
    terms = choose_terms(kind, **changes)
    server = Server(kind, limit(kind, terms=terms, honest=honest))
    for _ in range(100):
        assert not server.ask(query=ask_noise(honest=honest))
    assert {refusal.stage for party in server.site.parties.values() for refusal in party.refusals} == {stage}
    assert all(why.endswith(f"honest shares of noise, and {honest} are needed") for why in server.site.reasons)
    assert set(server.ledgers) <= {Ledger()}
    mended = Server(kind, limit(kind, terms=terms), server.stores)
    mended.asked = server.asked
    assert mended.ask(query=ask_noise())
    assert {ledger.finished for ledger in mended.ledgers} == {1}


def test_one_party_with_such_a_policy_does_not_stop_the_others() -> None:
    stores: list[StateStore] = [MemoryStore() for _ in SIZES]
    strict = Site("pooled", limit("pooled", honest=4), stores)
    server = Server("pooled", limit("pooled", budget=None, largest_share=1.0), stores)
    server.site.parties[VICTIM] = strict.parties[VICTIM]
    for _ in range(LIMIT + 1):
        assert server.ask(query=ask_noise(0.01 + 1e-4 * server.asked))
    assert [ledger.finished for ledger in server.ledgers] == [LIMIT + 1] * 4
    server.site.parties = Site("pooled", limit("pooled"), stores).parties
    assert server.ask(query=ask_noise())
    assert [ledger.finished for ledger in server.ledgers] == [LIMIT + 2, LIMIT + 2, 1, LIMIT + 2, LIMIT + 2]
