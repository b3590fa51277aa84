"""What a party stored is there when it comes back."""

from contextlib import closing
from pathlib import Path

import pytest

from folkmoot import InputError
from folkmoot.engines import FolderStore, MemoryStore
from folkmoot.engines.folder_store import FILE, open_logs
from folkmoot.engines.store import (
    REMEMBERED,
    GivenReply,
    LedgerEntry,
    OpenRound,
    Refusal,
    SentMessage,
    StateStore,
    StoreUpdate,
)
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.state import State

STATE = State(ledger=Ledger().begin().encode())


def entry(time: float) -> LedgerEntry:
    return LedgerEntry("vector", "Gradient", "ab" * 32, "cd" * 16, 7, time, 12)


def check_contract(store: StateStore) -> None:
    assert store.load(3) == State()
    store.save(StoreUpdate({3: STATE}))
    assert store.load(3) == STATE
    store.save(StoreUpdate({4: STATE}, entry(10.0)))
    store.save(StoreUpdate(entry=entry(20.0)))
    assert store.read_ledger() == [entry(10.0), entry(20.0)]
    assert store.read_ledger(since=15.0) == [entry(20.0)]
    store.save(StoreUpdate({3: State()}))
    assert (store.load(3), store.load(4)) == (State(), STATE)
    assert list(store.list_states()) == [(3, State()), (4, STATE)]
    check_credits(store)
    check_round(store)
    check_refusals(store)


def check_credits(store: StateStore) -> None:
    assert store.read_credit(3) is None
    store.save(StoreUpdate(credits={3: 1.5, 4: 0.0}))
    store.save(StoreUpdate({3: State()}, credits={3: 2.5}))
    assert [store.read_credit(client) for client in (3, 4, 5)] == [2.5, 0.0, None]


def check_round(store: StateStore) -> None:
    assert store.read_round() == OpenRound()
    store.save(StoreUpdate(round=OpenRound(b"one"), given=GivenReply(b"a", b"first")))
    store.save(StoreUpdate(round=OpenRound(b"one", b"announced", True), given=GivenReply(b"b", b"second")))
    assert store.read_round() == OpenRound(b"one", b"announced", True)
    assert [store.find_reply(message) for message in (b"a", b"b", b"c")] == [b"first", b"second", None]
    store.save(StoreUpdate(round=OpenRound(b"another"), given=GivenReply(b"c", b"third")))
    assert [store.find_reply(message) for message in (b"a", b"b", b"c")] == [None, None, b"third"]


def check_refusals(store: StateStore) -> None:
    refusals = [Refusal(float(time), "keys", "too few", None if time % 2 else time) for time in range(REMEMBERED + 3)]
    store.note_refusals(refusals[:5])
    assert store.read_refusals() == refusals[:5]
    store.note_refusals(refusals[5:])
    assert store.read_refusals() == refusals[3:]
    assert store.read_refusals(since=REMEMBERED + 2.0) == refusals[-1:]


def test_in_memory() -> None:
    check_contract(MemoryStore())


def test_in_a_folder(tmp_path: Path) -> None:
    with closing(FolderStore(tmp_path / "new" / "folder")) as store:
        check_contract(store)
    with closing(FolderStore(tmp_path / "new" / "folder")) as store:
        assert (store.load(3), store.load(4)) == (State(), STATE)
        assert (store.read_credit(3), store.read_credit(4)) == (2.5, 0.0)
        assert len(store.read_ledger()) == 2
    with open_logs(tmp_path / "new" / "folder") as logs:
        assert list(logs.list_states()) == [(3, State()), (4, STATE)]


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


def test_others_can_read_its_logs_while_it_is_in_use(tmp_path: Path) -> None:
    sent = SentMessage(3.0, "keys", "Gradient", 12, "ab" * 32)
    with closing(FolderStore(tmp_path)) as store:
        for times in range(1, 3):
            store.save(StoreUpdate({3: STATE}, entry(10.0)))
            store.note_sent(sent)
            store.note_refusals([Refusal(4.0, "keys", "too few", None)])
            with open_logs(tmp_path) as logs:
                assert logs.read_ledger() == [entry(10.0)] * times
                assert logs.read_outbox() == [sent] * times
                assert logs.read_refusals() == [Refusal(4.0, "keys", "too few", None)] * times
        with pytest.raises(InputError, match="is in use by another process"):
            FolderStore(tmp_path)
    with open_logs(tmp_path) as logs:
        assert len(logs.read_ledger()) == 2


def test_there_are_no_logs_where_there_is_no_party(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no party's file"), open_logs(tmp_path):
        pass
    assert not list(tmp_path.iterdir())
    (tmp_path / FILE).write_bytes(b"something else" * 100)
    with pytest.raises(InputError, match="is not a party's file"), open_logs(tmp_path):
        pass
