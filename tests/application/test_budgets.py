"""Budgets in kits: parties stop answering when they are spent, say so to their own people, and do not forget them."""

from contextlib import closing
from gc import collect
from pathlib import Path

import pytest

import folkmoot as fm
from folkmoot.application.federation import networked
from folkmoot.application.federation.agreement import Agreement
from folkmoot.application.federation.membership import STORE, open_store, renew
from folkmoot.application.federation.party_policy import FILE as POLICY
from folkmoot.application.federation.party_policy import describe_budget
from folkmoot.application.outlook import Outlook
from folkmoot.application.run import FinishedRun, RunStopped, begin_run, continue_run
from folkmoot.application.verification import verify_run
from folkmoot.engines import FolderStore, PooledFederation
from folkmoot.engines.desk import MessageKind
from folkmoot.engines.folder_store import FILE, open_logs
from folkmoot.engines.gathering import PartyLine
from folkmoot.engines.odometer import Charge
from folkmoot.engines.odometer_mark import MARK
from folkmoot.engines.store import StoreUpdate
from folkmoot.foundation.errors import InputError
from folkmoot.privacy.accounting import find_mu
from folkmoot.privacy.forecast import expect
from tests.application.kits import make_party_kit
from tests.application.networks import USERS, Network, make_network
from tests.application.test_membership import call, check, open_now
from tests.cli.calling import folkmoot
from tests.engines.certificates import PARTIES
from tests.engines.test_gathering import ScriptedLine, Site

BUDGET = "epsilon = 9.0\ndelta = 1e-3\n"
LIMIT = find_mu(9.0, 1e-3) ** 2
PEOPLE = 20


def open_engine(folder: Path, run: bytes) -> tuple[PooledFederation, Agreement, dict[str, Path]]:
    kits = {name: folder / name for name in PARTIES}
    if not kits["north"].exists():
        for name in PARTIES:
            (make_party_kit(folder, name) / POLICY).write_text(BUDGET)
    line = ScriptedLine({name: Site(open_now(kit).answer) for name, kit in kits.items()})
    book, agreement = call(line, kits["north"]), Agreement.load(kits["north"])
    exchange = PartyLine(line, dict(enumerate(PARTIES)), 4, fingerprint=book.fingerprint, timing=line.timing)
    return PooledFederation(book.census, book.roster, exchange, agreement.terms, run=run), agreement, kits


def test_parties_with_a_budget_answer_one_run(tmp_path: Path) -> None:
    engine, agreement, kits = open_engine(tmp_path, b"one")
    result = fm.solve(None, 1, privacy=fm.Privacy(9.0, 1e-3), engine=engine, seed=3, transcript=tmp_path / "run")
    assert result.privacy is not None
    assert fm.verify(tmp_path / "run").selected == result.selected
    spent = sum(one.mu**2 for one in result.privacy.spendings)
    for kit in kits.values():
        with open_logs(kit / STORE) as logs:
            assert logs.read_mileage().largest[0] == pytest.approx(spent)
            assert [entry.mu > 0 for entry in logs.read_ledger()] == [True] * len(result.privacy.spendings)
        told = describe_budget(kit, agreement, PEOPLE)["Budget"]
        assert told.startswith("ε = 9 of 9 spent at most (δ = 0.001, zero-out) in ")
        assert told.endswith("rounds with noise; 0% of μ² is left")
        assert check(kit).budget == told
    del engine
    collect()  # processes end; what was spent stays
    engine, _, _ = open_engine(tmp_path, b"two")
    with pytest.raises(fm.RoundFailed):
        fm.solve(None, 1, privacy=fm.Privacy(9.0, 1e-3), engine=engine, seed=4)
    with open_logs(kits["north"] / STORE) as logs:
        assert "budget of ε = 9" in logs.read_refusals()[-1].why
        assert logs.read_mileage().largest[0] == pytest.approx(spent)


def test_whoever_joins_is_told_the_budget(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    assert check(kit).budget == ""
    (kit / POLICY).write_text(BUDGET)
    assert check(kit).budget == "ε = 9 for each client"


def test_parties_with_a_budget_answer_nothing_without_noise(tmp_path: Path) -> None:
    engine, _, kits = open_engine(tmp_path, b"one")
    with pytest.raises(fm.RoundFailed):
        fm.solve(None, 1, fm.FedCG(1, polish=0), engine=engine, seed=3)
    with open_logs(kits["east"] / STORE) as logs:
        assert not logs.read_ledger()
        assert logs.read_refusals()[0].why.startswith("this party answers only under noise")


def test_whoever_begins_anew_has_spent_what_was_spent(tmp_path: Path) -> None:
    """Clients may be the same people: all of them are taken for the one who paid most."""
    kit = make_party_kit(tmp_path, "north")
    with closing(open_store(kit)) as store:
        assert store.read_mileage().largest == (0.0, 0.0)
        store.save(StoreUpdate(charge=Charge((1.0, 2.0), b"\x01")))
        store.save(StoreUpdate(charge=Charge((0.5, 1.0), b"\x03")))
    assert renew(kit) == kit / "former-1"
    with closing(open_store(kit)) as store:
        assert store.read_mileage().largest == pytest.approx((1.5, 3.0))
        assert store.read_mileage().before == pytest.approx((1.5, 3.0))
    with closing(open_store(kit)) as store:  # once
        store.save(StoreUpdate(charge=Charge((0.25, 0.5), b"\x01")))
    assert renew(kit) == kit / "former-2"
    with closing(open_store(kit)) as store:
        assert store.read_mileage().largest == pytest.approx((1.75, 3.5))


def test_an_older_store_begins_anew_with_what_was_spent_since(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    with closing(open_store(kit)) as store:
        store.save(StoreUpdate(charge=Charge((1.0, 2.0), b"\x01")))
        old = (kit / STORE / FILE).read_bytes()
        store.save(StoreUpdate(charge=Charge((1.0, 2.0), b"\x01")))
    (kit / STORE / FILE).write_bytes(old)
    for look in (open_store, check):
        with pytest.raises(InputError, match=r"party.sqlite: is older .* copy was restored.*; put the newest back"):
            look(kit)
    renew(kit)
    check(kit)
    with closing(open_store(kit)) as store:
        assert store.read_mileage().largest == pytest.approx((2.0, 4.0))
    assert (kit / STORE / MARK).stat().st_mode & 0o077 == 0
    with closing(FolderStore(kit / "former-1" / STORE, restored=True)) as store:
        assert store.read_mileage().largest == pytest.approx((1.0, 2.0))


# Whole runs of a server's kit.

NOISY = """seed = 3
[choose]
count = 3
[privacy]
federation = "server"
epsilon = 12.0
delta = 1e-3
"""


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Network:
    made = make_network(tmp_path)
    monkeypatch.setattr(networked, "connect", made.connect)
    (tmp_path / "films.toml").write_text(NOISY)
    return made


def begin(network: Network) -> FinishedRun:
    return fm.Problem.load(network.folder / "films.toml", folder=network.folder / "run").run(report=True)


def test_a_run_under_noise_is_one_like_any_other(network: Network) -> None:
    run = begin(network)
    assert run.result.privacy is not None
    assert run.result.privacy.spent == pytest.approx(find_mu(12.0, 1e-3), rel=1e-9)
    assert continue_run(run.folder.path).result == run.result
    network.sent.clear()
    assert verify_run(run.folder.path) == run.result
    assert not network.sent


def test_what_to_expect_is_said_before_anybody_is_asked(network: Network) -> None:
    """By then parties have enrolled, and said how many clients they have."""
    heard: list[tuple[Outlook, set[MessageKind]]] = []

    def announce(outlook: Outlook) -> None:
        heard.append((outlook, {kind for _, kind in network.sent}))

    problem = fm.Problem.load(network.folder / "films.toml", folder=network.folder / "run")
    run = begin_run(problem, announce=announce)
    ((outlook, asked),) = heard
    assert MessageKind.BUNDLE not in asked
    assert outlook.clients == len(PARTIES) * USERS
    account = run.result.privacy
    assert account is not None
    assert outlook.forecast == expect(account.signal)  # of the data, nothing is known
    said = folkmoot(network.folder, "run", str(network.folder / "films.toml"), "--folder", "again", "--no-report")
    assert said.out.startswith("Forecast for ε = 12, δ = 0.001: "), said


@pytest.mark.parametrize("after", [12, 34, 61, 90])
def test_a_run_under_noise_is_continued(network: Network, after: int) -> None:
    """Wherever it was broken off; the budget of the run is not exceeded, and sums that were known stay as they are."""

    def stop(_name: str, _sent: bytes) -> bool:
        if len(network.sent) > after:
            raise KeyboardInterrupt
        return False

    network.fault = stop
    with pytest.raises(RunStopped):
        begin(network)
    network.fault = lambda _name, _sent: False
    run = continue_run((network.folder / "run").absolute())
    assert run.result.privacy is not None
    assert run.result.privacy.spent <= find_mu(12.0, 1e-3) * (1 + 1e-9)
    assert verify_run(run.folder.path) == run.result
