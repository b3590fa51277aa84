"""What a party stored is there when it comes back."""

from contextlib import closing
from pathlib import Path

import pytest

from folkmoot import InputError
from folkmoot.engines import FolderStore, MemoryStore
from folkmoot.engines.store import FILE, LedgerEntry, StateStore
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.state import State

STATE = State(ledger=Ledger().begin().encode())


def entry(time: float) -> LedgerEntry:
    return LedgerEntry("vector", "Gradient", "ab" * 32, "cd" * 16, 7, time, 12)


def check_contract(store: StateStore) -> None:
    assert store.load(3) == State()
    store.save({3: STATE})
    assert store.load(3) == STATE
    store.save({4: STATE}, entry(10.0))
    store.save({}, entry(20.0))
    assert store.read_ledger() == [entry(10.0), entry(20.0)]
    assert store.read_ledger(since=15.0) == [entry(20.0)]
    store.save({3: State()})
    assert (store.load(3), store.load(4)) == (State(), STATE)


def test_in_memory() -> None:
    check_contract(MemoryStore())


def test_in_a_folder(tmp_path: Path) -> None:
    with closing(FolderStore(tmp_path / "new" / "folder")) as store:
        check_contract(store)
    with closing(FolderStore(tmp_path / "new" / "folder")) as store:
        assert (store.load(3), store.load(4)) == (State(), STATE)
        assert len(store.read_ledger()) == 2


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    FolderStore(tmp_path).close()
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    """Else one would put back states that the other has gone beyond."""
    with closing(FolderStore(tmp_path)), pytest.raises(InputError, match="is in use by another process"):
        FolderStore(tmp_path)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"something else" * 100)
    with pytest.raises(InputError, match="is not a party's file"):
        FolderStore(tmp_path)
