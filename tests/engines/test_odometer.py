"""What noisy rounds cost clients is counted at home, whatever a server does; beyond its budget nobody answers."""

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm
from folkmoot import InputError
from folkmoot.conversation.engine import Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines import Bundle, Federation, FolderStore, InProcess, MemoryStore, Party, PartyPolicy
from folkmoot.engines.odometer import Charge, Mileage, Odometer, find_costs
from folkmoot.engines.pooling import announce_pool, write_pooled_question
from folkmoot.engines.store import FILE, MARK, StateStore, open_logs
from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.foundation.sets import Ids, Rows
from folkmoot.objectives import Objective
from folkmoot.privacy.accounting import find_mu
from folkmoot.privacy.noise import KeyedNoise, Noise, NoiseSource, choose_sd
from folkmoot.questions import Pair, Query
from folkmoot.questions.encoding import Encoding, Part
from folkmoot.questions.hidden import Direction, Worth
from folkmoot.questions.query import Reply
from folkmoot.secagg import Roster
from folkmoot.secagg.state import Stage
from tests.engines import crowds
from tests.engines.crowds import ask_everyone, crowd, gradient, make_federation, make_identities, make_party
from tests.engines.pools import CLIENTS, ITEMS, SIZES, TERMS, VICTIM, ask_all, ask_some, make_engine, make_parties

EVERYONE = np.arange(CLIENTS)
HALVES = [EVERYONE[::2], EVERYONE[1::2]]
KINDS = ("pooled", "each")
MU = 0.5
BUDGET = fm.Privacy(1.0, 1e-3)
LIMIT = find_mu(1.0, 1e-3) ** 2
PRICE = 0.4 * LIMIT  # μ² of a round, of which two can be paid
PAYABLE = sqrt(PRICE)


def ask_noise(mu: float = PAYABLE, honest: int = 2, **given: Any) -> Direction:
    """How much every item is worth, under noise."""
    fixed = {"members": np.zeros(ITEMS, dtype=bool), "items": np.arange(ITEMS), "most": 5.0}
    hiding = {"mu": mu, "sd": given["sd"] if "sd" in given else choose_sd(mu, honest), "honest": honest}
    return Direction(**{**fixed, **hiding, **given})


@dataclass
class Site:
    """Parties of either sort, and the engine that asks them. stores: one per party, which outlives it."""

    kind: str
    policy: PartyPolicy
    stores: list[StateStore]
    noise: NoiseSource | None = None
    clients: fm.FacilityLocation | None = None

    def __post_init__(self) -> None:
        self.crowd = crowd(CLIENTS, most=5.0) if self.clients is None else self.clients
        self.parties: dict[int, Any]
        if self.kind == "pooled":
            self.parties = make_parties(self.crowd, self.policy, self.stores.__getitem__)
        else:
            made = zip(HALVES, self.stores, strict=False)
            self.parties = {one: make_party(self.crowd, ids, self.policy, kept) for one, (ids, kept) in enumerate(made)}
        if self.noise is not None:
            for party in self.parties.values():
                party.noise = self.noise

    def engine(self, exchange: Any = None, **how: Any) -> Engine:
        if self.kind == "pooled":
            return make_engine(self.parties, exchange, **how)
        return make_federation(self.crowd, list(self.parties.values()), exchange, **how)

    def ask(self, query: Query[Any], number: int = 0) -> Ask:
        return ask_all(query, number) if self.kind == "pooled" else ask_everyone(CLIENTS, query, number)

    @property
    def paid(self) -> list[float]:
        """Σμ² of every client, by party and place."""
        sizes = SIZES if self.kind == "pooled" else [len(ids) for ids in HALVES]
        found = zip(self.stores, sizes, strict=False)
        return [one for store, size in found for one in find_paid(store, np.arange(size)).tolist()]

    @property
    def reasons(self) -> set[str]:
        return {refusal.why for party in self.parties.values() for refusal in party.refusals}


def find_paid(store: StateStore, places: Ids) -> Any:
    return store.read_mileage().find("zero-out", places)


def make_site(kind: str, policy: PartyPolicy | None = None, **more: Any) -> Site:
    return Site(kind, limit(kind) if policy is None else policy, [MemoryStore() for _ in SIZES], **more)


def limit(kind: str, **given: Any) -> PartyPolicy:
    """A policy with a budget, on the terms of the engine."""
    terms = TERMS if kind == "pooled" else crowds.TERMS
    return PartyPolicy(terms, **{"again": True, "budget": BUDGET, "honest": 2, "largest_share": 1.0, **given})


def close(paid: list[float], what: float) -> bool:
    return bool(np.allclose(paid, what, rtol=1e-12, atol=0))


# What is counted.


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_add_up_over_runs_sessions_and_servers(kind: str) -> None:
    """Every engine is another server with a session of its own; parties are made anew, and their stores remain."""
    site = make_site(kind)
    assert not site.engine(run=b"one")(site.ask(ask_noise(), 7)).lost
    assert close(site.paid, PRICE)
    site = Site(kind, site.policy, site.stores)
    assert not site.engine(run=b"two")(site.ask(ask_noise(), 0)).lost
    assert close(site.paid, 2 * PRICE)
    site = Site(kind, site.policy, site.stores)
    for number, mu in enumerate((PAYABLE, 0.9 * PAYABLE, sqrt(0.2 * LIMIT) * (1 + 1e-6))):
        said = site.engine(run=b"three")(site.ask(ask_noise(mu), number))
        assert (said.lost, said.spent) == (True, False)
    (why,) = site.reasons
    assert why.startswith("the answer would go beyond a client's budget of ε = 1 (δ = 0.001, μ = ")
    assert close(site.paid, 2 * PRICE)
    assert not site.engine(run=b"three")(site.ask(ask_noise(sqrt(0.2 * LIMIT)), 3)).lost  # all that is left
    assert close(site.paid, LIMIT)
    ledger = next(iter(site.parties.values())).ledger
    assert [entry.mu for entry in ledger] == pytest.approx([PAYABLE, PAYABLE, sqrt(0.2 * LIMIT)])


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_budget_rounds_are_counted_too(kind: str) -> None:
    site = make_site(kind, limit(kind, budget=None))
    engine = site.engine()
    queries: list[Query[Any]] = [ask_noise(5.0), gradient(ITEMS), ask_noise(7.0)]
    for number, query in enumerate(queries):
        assert not engine(site.ask(query, number)).lost
    assert close(site.paid, 25.0 + 49.0)


def test_only_those_who_are_asked_pay() -> None:
    for kind in KINDS:
        site = make_site(kind)
        few = np.arange(5, 45)
        assert not site.engine()(ask_some(ask_noise(), few)).lost
        paid = np.array(site.paid)
        who = paid > 0 if kind == "pooled" else np.isin(np.argsort(np.concatenate(HALVES)), np.flatnonzero(paid > 0))
        assert np.flatnonzero(who).tolist() == few.tolist()


def test_clients_who_cannot_pay_are_left_out_and_parties_stay_away() -> None:
    """A client is missing by itself. A party cannot leave clients out of its sum unseen, so all of it is missing."""
    site, spent = make_site("each"), np.arange(20, 30)
    engine = site.engine()
    for number in range(2):
        assert not engine(ask_some(ask_noise(PAYABLE * (1 - number * 1e-3)), spent, number=number)).lost
    said = engine(ask_everyone(CLIENTS, ask_noise(0.9 * PAYABLE), 2))
    assert said.clients == CLIENTS - len(spent)
    assert not np.asarray(said.present)[spent].any()
    site = make_site("pooled")
    engine, first = site.engine(), np.arange(SIZES[0])
    for number in range(2):
        assert not engine(ask_some(ask_noise(PAYABLE * (1 - number * 1e-3)), np.arange(10, 60), number=number)).lost
    assert engine(ask_all(ask_noise(0.9 * PAYABLE), 2)).lost
    assert close(find_paid(site.stores[0], first[:10]).tolist(), 0.0)


class Losing(InProcess):
    """A server that says that a round is lost, after vectors were sent."""

    stage = "consent"

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        here = next(iter(outbox.values())).stage == self.stage
        return {} if here else super().__call__(outbox, deadline)


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_that_are_called_lost_cost_as_much(kind: str) -> None:
    site = make_site(kind)
    exchange = Losing(site.parties)
    engine = site.engine(exchange)
    for number, (stage, cost) in enumerate((("vector", 0.0), ("consent", PRICE), ("unmasking", 2 * PRICE))):
        exchange.stage = stage
        assert engine(site.ask(ask_noise(PAYABLE, cap=4.0 + number), number)).lost
        assert close(site.paid, cost), stage
    exchange.stage = ""
    assert engine(site.ask(ask_noise(PAYABLE, cap=9.0), 3)).lost
    assert close(site.paid, 2 * PRICE)


# Replays, crashes, copies.


class Repeating(InProcess):
    """A server that sends every message three times, and the vector's to another process as well."""

    def __init__(self, parties: dict[int, Any], renew: Callable[[], dict[int, Any]] | None = None) -> None:
        super().__init__(parties)
        self.here, self.renew = parties, renew

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        inbox = super().__call__(outbox, deadline)
        for _ in range(2):
            if self.renew is not None:
                self.here.update(self.renew())
            again = super().__call__(outbox, deadline)
            assert {one: reply.encode() for one, reply in again.items()} == {
                one: reply.encode() for one, reply in inbox.items()
            }
        return inbox


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bytes_are_paid_once(kind: str, restart: bool, tmp_path: Path) -> None:
    """Noise comes from the operating system: if it were drawn again, the bytes would differ."""
    stores: list[Any] = [FolderStore(tmp_path / str(number)) for number in range(len(SIZES))]
    site = Site(kind, limit(kind), stores)

    def renew() -> dict[int, Any]:
        for store in stores:
            store.close()
        stores[:] = [FolderStore(tmp_path / str(number)) for number in range(len(SIZES))]
        return Site(kind, limit(kind), stores).parties

    assert not site.engine(Repeating(site.parties, renew if restart else None))(site.ask(ask_noise())).lost
    assert close(site.paid, PRICE)
    for store in stores:
        store.close()


def test_nobody_says_two_vectors_in_one_round() -> None:
    """Other sharers than before, after the vector has left: nothing leaves, and nothing is paid."""
    site = make_site("pooled")

    class Asking(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            if outbox[VICTIM].stage == "vector":
                letter = outbox[VICTIM].letters[VICTIM]
                for other in (letter[:-1] + bytes([letter[-1] & 0x0F]), letter[:-1] + bytes([0x17])):
                    if other != letter:
                        assert not site.parties[VICTIM].reply(Bundle({VICTIM: other})).letters
            return inbox

    assert not site.engine(Asking(site.parties))(site.ask(ask_noise())).lost
    assert close(site.paid, PRICE)


def test_two_servers_share_one_budget() -> None:
    """The same clients on two rosters, at two servers, with one store: what one of them spends, the other cannot."""
    clients, store = crowd(CLIENTS, most=5.0), MemoryStore()
    policy = limit("each")
    one = make_party(clients, EVERYONE, policy, store)
    assert not make_federation(clients, [one], run=b"one")(ask_everyone(CLIENTS, ask_noise())).lost
    strangers = make_identities(CLIENTS + 3)
    roster = Roster({at: key.public_key().public_bytes_raw() for at, key in strangers.items()})
    other = Party(clients, EVERYONE + 3, strangers, roster, policy, store)
    population = Population.of(crowd(CLIENTS + 3, most=5.0))
    engine = Federation(population, roster, {0: EVERYONE + 3}, InProcess({0: other}), crowds.TERMS, run=b"two")
    assert not engine(ask_some(ask_noise(), EVERYONE + 3)).lost
    assert close(find_paid(store, EVERYONE).tolist(), 2 * PRICE)
    assert engine(ask_some(ask_noise(0.99 * PAYABLE), EVERYONE + 3, number=1)).lost


def fill(folder: Path, number: int) -> None:
    """A round that the party of this store answers."""
    stores: list[Any] = [FolderStore(folder), *(MemoryStore() for _ in SIZES)]
    with closing(stores[0]):
        site = Site("pooled", limit("pooled", budget=None), stores)
        assert site.engine(run=bytes([number]))(site.ask(ask_noise(), number)).clients == CLIENTS


def test_an_older_copy_of_a_store_is_refused(tmp_path: Path) -> None:
    here, kept = tmp_path / "store", tmp_path / "backup"
    fill(here, 1)
    shutil.copytree(here, kept)
    fill(here, 2)
    shutil.copy(kept / FILE, here / FILE)
    with pytest.raises(InputError, match=r"sqlite: is older than party\.odometer beside it: a copy was restored"):
        FolderStore(here)
    with closing(FolderStore(here, restored=True)) as store:  # what `join --renew` looks at
        assert store.read_mileage().charges == 1
        assert store.read_most_paid()[0] == pytest.approx(2 * PRICE)
    (here / FILE).unlink()
    with pytest.raises(InputError, match="is older than"):
        FolderStore(here)
    (here / MARK).write_bytes(b"{")
    with pytest.raises(InputError, match=r"party\.odometer: is damaged"):
        FolderStore(here)


def test_a_copy_of_the_whole_folder_cannot_be_told_from_the_folder(tmp_path: Path) -> None:
    """docs/deployment.md says so: no file that goes back together with the store can know."""
    here, kept = tmp_path / "store", tmp_path / "backup"
    fill(here, 1)
    shutil.copytree(here, kept)
    fill(here, 2)
    shutil.rmtree(here)
    shutil.copytree(kept, here)
    with closing(FolderStore(here)) as store:
        assert store.read_mileage().charges == 1


def test_a_crash_before_the_second_file_is_no_older_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 1)
    before = (tmp_path / MARK).read_bytes()
    fill(tmp_path, 2)
    (tmp_path / MARK).write_bytes(before)  # as if the process had died in between
    with closing(FolderStore(tmp_path)) as store:
        assert store.read_mileage().charges == 2

        def fail(*_: Any) -> None:
            raise OSError("full")

        monkeypatch.setattr("folkmoot.engines.store.write_whole", fail)
        site = Site("pooled", limit("pooled", budget=None), [store, *(MemoryStore() for _ in SIZES)])
        with pytest.raises(OSError, match="full"):  # it does not leave
            site.engine(run=b"more")(site.ask(ask_noise(), 9))
        assert store.read_mileage().charges == 3


def test_what_was_paid_before_counts_for_everybody(tmp_path: Path) -> None:
    with closing(FolderStore(tmp_path)) as store:
        store.begin_mileage((PRICE, 2 * PRICE))
        stores: list[Any] = [store, *(MemoryStore() for _ in SIZES)]
        site = Site("pooled", limit("pooled"), stores)
        assert not site.engine(run=b"one")(site.ask(ask_noise())).lost
        assert store.read_mileage().largest == pytest.approx((2 * PRICE, 4 * PRICE))
        said = site.engine(run=b"two")(site.ask(ask_noise(), 1))
        assert said.clients == CLIENTS - SIZES[0]
    with open_logs(tmp_path) as logs:
        assert logs.read_mileage().largest == pytest.approx((2 * PRICE, 4 * PRICE))


def test_a_stricter_policy_holds_in_the_middle_of_a_round() -> None:
    """A question that was accepted before is refused when its vector would leave."""
    tight = fm.Privacy(0.05, 1e-3)
    for query, policy in ((ask_noise(), limit("pooled", budget=tight)), (gradient(ITEMS), limit("pooled"))):
        site = make_site("pooled", limit("pooled", budget=None))
        stricter = Site("pooled", policy, site.stores).parties[VICTIM]

        class Changing(InProcess):
            def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
                if next(iter(outbox.values())).stage == "vector":
                    stricter._restore()  # noqa: B023 - as it does when a process begins
                    site.parties[VICTIM] = stricter  # noqa: B023
                return super().__call__(outbox, deadline)

        said = site.engine(Changing(site.parties))(site.ask(query))
        assert said.clients == CLIENTS - SIZES[VICTIM]
        assert len(site.parties[VICTIM].refusals) == 1
        assert not site.parties[VICTIM].ledger
        assert close(find_paid(site.stores[VICTIM], np.arange(SIZES[VICTIM])).tolist(), 0.0)


class Broken(NoiseSource):
    """Randomness that fails at some speakers, with something private in its message."""

    def __init__(self, *speakers: int) -> None:
        self.speakers, self.calls = speakers, 0

    def find_private(self, number: int, speaker: int) -> PrivateRandomness:
        self.calls += 1
        if speaker in self.speakers:
            raise ZeroDivisionError("4.0, a client's own number")
        return KeyedNoise(b"k").find_private(number, speaker)

    def find_generator(self, number: int) -> np.random.Generator:
        return KeyedNoise(b"k").find_generator(number)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_fails_leaves_nothing_behind(kind: str) -> None:
    """Some had made their vectors when another failed: none of them leaves, is stored, or is paid."""
    site = make_site(kind, noise=Broken(VICTIM, 40))
    said = site.engine()(site.ask(ask_noise()))
    if kind == "pooled":
        assert said.clients == CLIENTS - SIZES[VICTIM]
        assert close(find_paid(site.stores[VICTIM], np.arange(SIZES[VICTIM])).tolist(), 0.0)
    else:
        assert said.lost
        assert close(find_paid(site.stores[0], np.arange(len(HALVES[0]))).tolist(), 0.0)
    failed = site.parties[VICTIM if kind == "pooled" else 0]
    assert {one.why for one in failed.refusals} == {"answering failed with ZeroDivisionError"}
    assert {failed.store.load(client).stage for client in failed.identities} == {Stage.CHECKED}  # as before it
    for party in site.parties.values():
        party.noise = KeyedNoise(b"k")
    assert not site.engine()(site.ask(ask_noise(0.99 * PAYABLE), 1)).lost


def test_neither_noise_nor_answer_is_stored(tmp_path: Path) -> None:
    """At no moment: neither as numbers nor as what is masked. Secrets of masks go when the vector leaves."""
    site_noise, query = KeyedNoise(b"test"), ask_noise()
    stores: list[Any] = [FolderStore(tmp_path), *(MemoryStore() for _ in SIZES[1:])]
    site = Site("pooled", limit("pooled"), stores, noise=site_noise)
    drawn = query.added_noise.draw_share(ITEMS, 3, site_noise.find_private(0, 0))
    inquiry = site.parties[0]
    sought = set[bytes]()

    class Looking(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            if inquiry._inquiry is not None:
                vector = inquiry._inquiry.write_vector(0)
                for numbers in (drawn, vector, vector + drawn):
                    for kind in ("<i8", "<u4"):
                        sought.add(numbers.astype(kind)[:3].tobytes())
            kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
            assert not [one for one in sought if one in kept]
            if outbox[0].stage in ("vector", "consent", "unmasking"):
                assert stores[0].load(0).seed == b""
            return inbox

    assert not site.engine(Looking(site.parties))(site.ask(query)).lost
    assert len(sought) == 6
    stores[0].close()


# What is refused.


@dataclass(frozen=True, eq=False, kw_only=True)
class Claiming(Query[Reply]):
    """Says that it has noise, and what it costs next to nothing."""

    mu: float = 1e-6

    @property
    def encoding(self) -> Encoding:
        return Encoding((Part(1, 1.0, 5),), noise=1.0)

    @property
    def added_noise(self) -> Noise:
        return Noise(self.mu, 1 << 13)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids) -> Rows:  # noqa: ARG002
        return sparse.csr_array(np.full((len(ids), 1), 5, dtype=np.int64))


@dataclass(frozen=True, eq=False, kw_only=True)
class LoudDirection(Direction):
    """One of Folkmoot's own, with longer answers."""

    def write_rows(self, clients: Objective, ids: Ids, times: Ids) -> Rows:
        return super().write_rows(clients, ids, times) * 1000


REFUSED: dict[str, tuple[Query[Any], str]] = {
    "no noise": (gradient(ITEMS), "this party answers only under noise, and how much a Gradient shows"),
    "no noise, after some": (
        Pair(first=ask_noise(), second=gradient(ITEMS)),
        "this party answers only under noise, and how much a Pair shows",
    ),
    "two of which each has noise": (
        Pair(first=ask_noise(), second=ask_noise(0.1)),
        "this party answers only under noise, and how much a Pair shows",
    ),
    "another kind that claims noise": (
        Claiming(),
        "this party answers only under noise, and how much a tests.engines.test_odometer:Claiming shows",
    ),
    "a kind below Folkmoot's own": (
        LoudDirection(**ask_noise().parameters()),
        "this party answers only under noise, and how much a tests.engines.test_odometer:LoudDirection shows",
    ),
    "a floor of one": (ask_noise(honest=1), "1 honest shares of noise are promised for any sum; 2 are needed"),
    "too large a price": (ask_noise(1.01 * sqrt(LIMIT)), "one round would cost μ = "),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("kind", KINDS)
def test_questions_without_a_price_or_a_crowd_are_refused(kind: str, what: str) -> None:
    site = make_site(kind)
    query, why = REFUSED[what]
    said = site.engine()(site.ask(query))
    assert (said.lost, said.spent) == (True, False)
    assert {one[: len(why)] for one in site.reasons} == {why}
    assert close(site.paid, 0.0)
    for party in site.parties.values():
        assert not party.ledger


@pytest.mark.parametrize("kind", KINDS)
def test_adjacency_is_the_policys(kind: str) -> None:
    strict = limit(kind, budget=fm.Privacy(1.0, 1e-3, "replace-one"))
    site = make_site(kind, strict)
    assert site.engine()(site.ask(ask_noise())).lost
    assert site.reasons == {"this party hides its clients by replace-one, not by zero-out alone"}
    site = make_site(kind, strict)
    assert not site.engine(run=b"one")(site.ask(ask_noise(adjacency="replace-one"))).lost
    assert close(site.paid, PRICE / 2)  # with as much noise, less is seen than whether one has anything to say
    strict = limit(kind, budget=fm.Privacy(1.0, 1e-3))
    site = Site(kind, strict, site.stores)
    assert not site.engine(run=b"two")(site.ask(ask_noise(adjacency="replace-one"), 1)).lost


def test_what_was_paid_is_known_in_every_adjacency() -> None:
    """A party that changes its mind about adjacency finds what earlier rounds cost in the new one."""
    assert find_costs(ask_noise(MU)) == pytest.approx((MU**2, 2 * MU**2))
    assert find_costs(ask_noise(MU, centred=True)) == pytest.approx((MU**2, 4 * MU**2))
    assert find_costs(ask_noise(MU, adjacency="replace-one")) == pytest.approx((MU**2 / 2, MU**2))
    assert find_costs(ask_noise(MU, centred=True, adjacency="replace-one")) == pytest.approx((MU**2 / 4, MU**2))
    site = make_site("pooled", limit("pooled", budget=fm.Privacy(1.0, 1e-3)))
    assert not site.engine(run=b"one")(site.ask(ask_noise())).lost
    site = Site("pooled", limit("pooled", budget=fm.Privacy(1.0, 1e-3, "replace-one")), site.stores)
    assert site.engine(run=b"two")(site.ask(ask_noise(adjacency="replace-one"), 1)).lost  # 0.8 + 0.4 of it
    assert not site.engine(run=b"two")(site.ask(ask_noise(sqrt(0.2 * LIMIT), adjacency="replace-one"), 2)).lost


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_honest_on_the_roll_is_a_refusal_when_it_is_seen(kind: str) -> None:
    """A server promises more honest shares than the terms can. Nobody speaks, and nobody is stuck."""
    site = make_site(kind)
    claimed = 4 if kind == "pooled" else 50
    said = site.engine()(site.ask(ask_noise(honest=claimed)))
    assert said.lost
    (why,) = site.reasons
    actual = 3 if kind == "pooled" else int(why.split()[3])
    assert why == f"any sum holds {actual} honest shares of noise, and {claimed} are needed"
    assert actual < claimed
    assert close(site.paid, 0.0)
    assert not site.engine()(site.ask(ask_noise(), 1)).lost
    without = make_site(kind, limit(kind, budget=None))  # the share would not fit its room: also without a budget
    assert without.engine()(without.ask(ask_noise(honest=claimed))).lost


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_may_want_more_honest_shares(kind: str) -> None:
    site = make_site(kind, limit(kind, honest=4 if kind == "pooled" else 50))
    assert site.engine()(site.ask(ask_noise(honest=4 if kind == "pooled" else 50))).lost
    assert {why.partition(",")[0] for why in site.reasons} <= {
        *("any sum holds 3 honest shares of noise", *(f"any sum holds {n} honest shares of noise" for n in range(60)))
    }


def test_a_few_clients_are_no_crowd() -> None:
    """Clients require five honest shares unless they say otherwise; a cohort of six has four."""
    site = make_site("each", PartyPolicy(crowds.TERMS, budget=BUDGET))
    few = np.arange(0, 12, 2)
    assert site.engine()(ask_some(ask_noise(honest=5), few)).lost
    assert site.engine()(ask_some(ask_noise(honest=2), few, number=1)).lost
    assert site.reasons == {
        "any sum holds 4 honest shares of noise, and 5 are needed",
        "2 honest shares of noise are promised for any sum; 5 are needed",
    }
    assert not site.engine()(site.ask(ask_noise(honest=5), 2)).lost


def test_answers_do_not_grow_with_how_often_one_counts() -> None:
    """A server that lets one client count a thousand times gets the same sum, and it costs the same."""
    for kind in KINDS:
        sums = []
        for times in (None, np.where(EVERYONE == 30, 1000, 1)):
            site = make_site(kind, limit(kind, uneven=True, clients=1), noise=KeyedNoise(b"test"))
            said = site.engine()(ask_some(ask_noise(), EVERYONE, times))
            assert not said.lost
            assert close(site.paid, PRICE)
            sums.append(said.total)
        assert np.array_equal(sums[0], sums[1])


HOSTILE: dict[str, dict[str, Any]] = {
    "no price": {"mu": 0.0},
    "a negative price": {"mu": -0.1},
    "a price that is no number": {"mu": nan},
    "an infinite price": {"mu": inf},
    "a price that cannot be": {"mu": 101.0},
    "a price as a whole number": {"mu": 1},
    "coarse noise": {"sd": (1 << 13) - 1},
    "no noise": {"sd": 0},
    "negative noise": {"sd": -(1 << 16)},
    "noise as a number with a point": {"sd": 65536.0},
    "tables that fill the memory": {"sd": 1 << 32, "honest": 2},
    "shares that are just too wide": {"sd": (1 << 17) + 1, "honest": 1},
    "no honest clients": {"honest": 0},
    "fewer than none": {"honest": -3},
    "true honest clients": {"honest": True},
    "a norm of 0": {"mu": 1e-7, "sd": 1 << 13},
    "another adjacency": {"adjacency": "none"},
    "no adjacency": {"adjacency": None},
    "weights that are no numbers": {"heaviest": nan},
    "no weight": {"heaviest": 0.0},
    "negative weights": {"heaviest": -1.0},
    "a cap that is no number": {"cap": nan},
    "an infinite cap": {"cap": inf},
    "a largest value of 0": {"most": 0.0},
    "a largest value that is no number": {"most": nan},
    "a tiny largest value": {"most": 1e-300},
    "items twice": {"items": np.array([1, 1])},
    "items that are not there": {"items": np.array([0, ITEMS])},
    "no items": {"items": np.array([], dtype=np.int64)},
    "members of another length": {"members": np.zeros(ITEMS + 1, dtype=bool)},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_party_checks_all_that_noise_depends_on(what: str) -> None:
    """Also a party without a budget; nothing is computed from it."""
    for policy in (limit("pooled"), limit("pooled", budget=None)):
        party = make_site("pooled", policy).parties[0]
        query = ask_noise(**{"sd": 1 << 16, **HOSTILE[what]})
        question = write_pooled_question(ask_all(query), bytes(16), party.census)
        assert not party.reply(Bundle({0: b""}, question)).letters
        (refusal,) = party.refusals
        assert refusal.stage == "question"
        assert "answering failed" not in refusal.why


@pytest.mark.parametrize("whole", [0.0, nan, inf, -1.0, 1e-300])
def test_a_worth_needs_a_largest_value(whole: float) -> None:
    party = make_site("pooled").parties[0]
    query = Worth(members=np.ones(ITEMS, dtype=bool), whole=whole, mu=0.1, sd=1 << 16, honest=2)
    question = write_pooled_question(ask_all(query), bytes(16), party.census)
    assert not party.reply(Bundle({0: b""}, question)).letters


def test_noisy_answers_are_not_sketched() -> None:
    """A server announces a sketch of a few numbers in place of the whole vector."""
    site = make_site("each")
    engine: Any = site.engine()
    announce = engine._announce

    def sketch(*what: Any) -> Any:
        return replace(announce(*what), room=4)

    engine._announce = sketch
    assert engine(site.ask(ask_noise())).lost
    assert site.reasons == {"noisy answers are sent in full, not in a sketch"}


def test_what_is_announced_cannot_cut_noise_off() -> None:
    """The largest number of a vector is announced: a smaller one would cut noise off, and show who has much."""
    site = make_site("pooled")
    party, ask = site.parties[0], site.ask(ask_noise())
    assert party.reply(Bundle({0: b""}, write_pooled_question(ask, bytes(16), party.census))).letters
    right = announce_pool(ask, bytes(16), party.roster.digest, party.census)
    room = ask.query.encoding.find_room(0, 1)
    assert right.largest >= 2 * room + ask_noise().norm
    assert room >= 24 * ask_noise().added_noise.find_share_sd(2) >= 24 * ask_noise().added_noise.find_share_sd(3)


# How much noise there is.


def test_any_pooled_sum_has_the_noise_that_was_promised() -> None:
    """Nobody has anything to say, so sums are noise. Without one party that is gone and one that tells its own share,
    at least σ is left. 4,000 numbers: an estimate is within 6 % except with probability 10^-7.
    """
    items, noise = 4_000, KeyedNoise(b"test")
    nothing = fm.FacilityLocation(sparse.csr_array((CLIENTS, items)), keep_empty=True, most=1.0)
    fields: dict[str, Any] = {"members": np.zeros(items, dtype=bool), "items": np.arange(items), "most": 1.0}
    query = ask_noise(MU, **fields)
    for gone in (set[int](), {4}):
        site = make_site("pooled", limit("pooled", budget=None), noise=noise, clients=nothing)

        class Leaving(InProcess):
            def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
                late = gone if next(iter(outbox.values())).stage == "vector" else set()  # noqa: B023
                inbox = super().__call__(outbox, deadline)
                return {one: reply for one, reply in inbox.items() if one not in late}

        ask = Ask(query, Population.of(nothing).everyone, Purpose.SEARCH, "test", 0)
        said = site.engine(Leaving(site.parties))(ask)
        assert not said.lost
        assert said.honest == 3
        left = 5 - len(gone)
        assert said.noise == pytest.approx(query.sd * sqrt(left / 3))
        assert np.std(said.total) == pytest.approx(said.noise, rel=0.06)
        share = query.added_noise.draw_share(items, 3, noise.find_private(0, 1))
        assert np.std(said.total - share) == pytest.approx(query.sd * sqrt((left - 1) / 3), rel=0.06)
        assert np.std(said.total - share) >= 0.94 * query.sd
        assert abs(np.corrcoef(said.total, share)[0, 1] - sqrt(1 / left)) < 0.1


def test_every_client_of_a_pool_is_scaled_by_itself() -> None:
    """One client with a hundred times the values of all others adds no more than they do."""
    worth = np.zeros((CLIENTS, ITEMS))
    worth[:, 0], worth[7] = 1.0, 0.0
    worth[7, 1] = 100.0
    clients = fm.FacilityLocation(sparse.csr_array(worth), keep_empty=True, most=100.0)
    site = make_site("pooled", limit("pooled", budget=None), noise=KeyedNoise(b"k"), clients=clients)
    query = ask_noise(50.0, most=1.0)
    said = site.engine()(site.ask(query))
    found = said.total / query.norm
    assert found[0] == pytest.approx(CLIENTS - 1, abs=1.0)
    assert found[1] == pytest.approx(1.0, abs=0.2)


# The odometer by itself.


def test_mileage_is_kept_by_place() -> None:
    one = Mileage().add(Charge((1.0, 2.0), b"\x05")).add(Charge((0.5, 1.0), b"\x04\x01"))
    assert one.charges == 2
    assert one.find("zero-out", np.array([0, 1, 2, 8, 50])).tolist() == pytest.approx([1.0, 0.0, 1.5, 0.5, 0.0])
    assert one.find("replace-one", np.array([2])).tolist() == pytest.approx([3.0])
    assert one.largest == pytest.approx((1.5, 3.0))
    assert one.largest > (1.5, 3.0)
    again = Mileage.decode(one.charges, one.encode(), one.before)
    assert np.array_equal(again.squares, one.squares)
    assert Mileage().find("zero-out", np.array([], dtype=np.int64)).tolist() == []


def test_nothing_is_too_small_to_be_counted() -> None:
    """A thousand rounds at a price that floating-point numbers would swallow."""
    spent = Mileage().add(Charge((1e6, 2e6), b"\x01"))
    for _ in range(1000):
        spent = spent.add(Charge((1e-14, 2e-14), b"\x01"))
    assert spent.largest[0] - 1e6 >= 1000 * 1e-14
    assert spent.largest[0] < 1e6 * (1 + 1e-12)


def test_people_are_told_what_is_spent() -> None:
    spent = Mileage().add(Charge((PRICE, 2 * PRICE), b"\x01"))
    told = Odometer(BUDGET, CLIENTS, 2).describe(spent)
    assert told == "ε = 0.58 of 1 spent at most (δ = 0.001, zero-out) in 1 rounds with noise; 60% of μ² is left"
    assert Odometer(None, CLIENTS, 2).describe(Mileage()).startswith("no limit; ")


def test_a_policy_is_checked() -> None:
    for wrong in ({"budget": 1.0}, {"honest": 0}, {"honest": 2.5}):
        with pytest.raises(InputError):
            PartyPolicy(**wrong)


# Whole runs.


GENEROUS = fm.Privacy(8.0, 1e-3)


def run_privately(site: Site, exchange: Any = None, run: bytes = b"run", **how: Any) -> fm.Result:
    return fm.solve(None, 3, privacy=GENEROUS, engine=site.engine(exchange, run=run), seed=3, **how)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_spends_what_it_says_and_verifies(kind: str, tmp_path: Path) -> None:
    """Parties whose budget is that of the run answer all of it, and nothing after it."""
    site = make_site(kind, limit(kind, budget=GENEROUS))
    result = run_privately(site, transcript=tmp_path / "run")
    assert result.privacy is not None
    assert close(site.paid, sum(one.mu**2 for one in result.privacy.spendings))
    assert max(site.paid) <= find_mu(8.0, 1e-3) ** 2 * (1 + 1e-9)
    assert fm.verify(tmp_path / "run").selected == result.selected
    again = Site(kind, limit(kind, budget=GENEROUS), site.stores)
    with pytest.raises(fm.RoundFailed):
        run_privately(again, run=b"another")
    assert all("the answer would go beyond a client's budget of ε = 8" in why for why in again.reasons)


class Dying(InProcess):
    """The server dies in the vector exchange of the third round, when replies have come or before."""

    stage, number, after, seen = "vector", 3, True, 0

    def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
        self.seen += next(iter(outbox.values())).stage == self.stage
        if self.seen < self.number:
            return super().__call__(outbox, deadline)
        if self.after:
            super().__call__(outbox, deadline)
        raise KeyboardInterrupt


@pytest.mark.parametrize(("stage", "after"), [("vector", True), ("vector", False), ("keys", True), ("consent", True)])
def test_a_run_goes_on_after_a_crash_and_all_that_left_was_paid(stage: str, after: bool, tmp_path: Path) -> None:
    site = make_site("pooled", limit("pooled", budget=GENEROUS))
    exchange = Dying(site.parties)
    exchange.stage, exchange.after = stage, after
    with pytest.raises(KeyboardInterrupt):
        run_privately(site, exchange, transcript=tmp_path / "run")
    before = site.paid
    result = fm.resume(tmp_path / "run", engine=site.engine(run=b"run"))
    assert result.privacy is not None
    assert max(site.paid) > max(before)
    spent = sum(one.mu**2 for one in result.privacy.spendings)
    assert max(site.paid) <= spent * (1 + 1e-9) <= find_mu(8.0, 1e-3) ** 2 * (1 + 2e-9)
    left = (stage, after) in (("vector", True), ("consent", True))
    assert (max(site.paid) == pytest.approx(spent)) or not left
    assert fm.verify(tmp_path / "run").selected == result.selected
    digests = [entry.question for entry in site.parties[0].ledger]
    assert len(set(digests)) == len(digests)


def test_a_round_that_is_lost_in_a_run_is_paid_by_all(tmp_path: Path) -> None:
    """The run divides what is left; together it stays within its budget, and within that of the parties."""
    site = make_site("pooled", limit("pooled", budget=GENEROUS))

    class Failing(InProcess):
        seen = 0

        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            here = next(iter(outbox.values())).stage == "vector"
            Failing.seen += here
            return {one: reply for one, reply in inbox.items() if one > 1} if here and Failing.seen == 2 else inbox

    result = run_privately(site, Failing(site.parties), transcript=tmp_path / "run")
    assert result.privacy is not None
    assert [one.lost for one in result.privacy.spendings].count(True) == 1
    assert close(site.paid, sum(one.mu**2 for one in result.privacy.spendings))
    assert max(site.paid) <= find_mu(8.0, 1e-3) ** 2 * (1 + 1e-9)
    assert fm.verify(tmp_path / "run").selected == result.selected


@pytest.mark.parametrize("kind", KINDS)
def test_answers_that_never_arrive_are_paid_on_both_sides(kind: str) -> None:
    """The server cannot know that they left, and counts them; otherwise it would ask for more than is left."""
    site = make_site(kind, limit(kind, budget=GENEROUS))

    class Forgetting(InProcess):
        seen = 0

        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            inbox = super().__call__(outbox, deadline)
            here = next(iter(outbox.values())).stage == "vector"
            Forgetting.seen += here
            return {} if here and Forgetting.seen == 2 else inbox

    result = run_privately(site, Forgetting(site.parties))
    assert result.privacy is not None
    assert [one.lost for one in result.privacy.spendings].count(True) == 1
    assert close(site.paid, sum(one.mu**2 for one in result.privacy.spendings))
    assert not site.reasons
