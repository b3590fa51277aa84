"""What noisy rounds cost clients is counted at home, whatever a server does; beyond its budget nobody answers."""

import shutil
from collections.abc import Callable
from contextlib import closing
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot import InputError
from folkmoot.conversation.population import Population
from folkmoot.engines import Bundle, Federation, FolderStore, InProcess, MemoryStore, Party, PartyPolicy
from folkmoot.engines.folder_store import FILE, open_logs
from folkmoot.engines.odometer import Charge, Mileage, Odometer
from folkmoot.engines.odometer_mark import MARK
from folkmoot.engines.store import StoreUpdate
from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.privacy.noise import KeyedNoise, NoiseSource
from folkmoot.questions import Query
from folkmoot.secagg import Roster
from folkmoot.secagg.state import Stage
from tests.engines import crowds
from tests.engines.crowds import ask_everyone, crowd, gradient, make_federation, make_identities, make_party
from tests.engines.noisy import (
    BUDGET,
    EVERYONE,
    HALVES,
    KINDS,
    LIMIT,
    PAYABLE,
    PRICE,
    Site,
    ask_noise,
    close,
    find_paid,
    limit,
    make_site,
)
from tests.engines.pools import CLIENTS, ITEMS, SIZES, TERMS, VICTIM, ask_all, ask_some, make_parties

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


def test_an_older_copy_is_refused_though_nobody_paid_more(tmp_path: Path) -> None:
    with closing(FolderStore(tmp_path)) as store:
        store.save(StoreUpdate(charge=Charge((1.0, 2.0), b"\x01")))
        old = (tmp_path / FILE).read_bytes()
        store.save(StoreUpdate(charge=Charge((1.0, 2.0), b"\x02")))
    (tmp_path / FILE).write_bytes(old)
    with pytest.raises(InputError, match="a copy was restored"):
        FolderStore(tmp_path)


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

        monkeypatch.setattr("folkmoot.engines.odometer_mark.write_whole", fail)
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


@pytest.mark.parametrize("kind", KINDS)
def test_what_another_server_spends_in_the_middle_of_a_round_counts(kind: str) -> None:
    """The budget was enough when the question came, and is not when the vector would leave."""
    site = make_site(kind)

    class Interfering(InProcess):
        def __call__(self, outbox: Any, deadline: float | None) -> dict[int, Bundle]:
            if next(iter(outbox.values())).stage == "vector":
                two = Charge((2 * PRICE, 4 * PRICE), b"\x09")  # clients of one party
                site.stores[0].save(StoreUpdate(charge=two))
            return super().__call__(outbox, deadline)

    said = site.engine(Interfering(site.parties))(site.ask(ask_noise()))
    assert said.clients == CLIENTS - (SIZES[0] if kind == "pooled" else 2)
    assert all("beyond a client's budget" in why for why in site.reasons)
    assert close(np.array(site.paid)[[0, 3]].tolist(), 2 * PRICE)
    assert np.array(site.paid)[1] == pytest.approx(0.0 if kind == "pooled" else PRICE)


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
        party.bookkeeper.noise = KeyedNoise(b"k")
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


def test_a_budget_needs_a_store() -> None:
    with pytest.raises(InputError, match=r"^store: is needed: a budget must not be forgotten"):
        make_parties(crowd(CLIENTS), PartyPolicy(TERMS, budget=BUDGET))


def test_a_policy_is_checked() -> None:
    for wrong in ({"budget": 1.0}, {"honest": 0}, {"honest": 2.5}):
        with pytest.raises(InputError):
            PartyPolicy(**wrong)
