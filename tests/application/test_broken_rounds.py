"""What an operator sees of rounds that were broken off, and how all are forgiven."""

from contextlib import closing
from pathlib import Path

import pytest

from folkmoot.application.federation.broken_rounds import (
    BrokenRounds,
    describe_broken_rounds,
    forgive_broken_rounds,
)
from folkmoot.application.federation.membership import STORE
from folkmoot.engines import FolderStore
from folkmoot.engines.store import StoreUpdate
from folkmoot.foundation.errors import InputError
from folkmoot.secagg.ledger import ENTRY, Ledger
from folkmoot.secagg.state import State
from tests.application.kits import make_party_kit

ANSWERED = bytes(ENTRY)


def fill(kit: Path, *ledgers: Ledger) -> None:
    states = {client: State(ledger=one.encode()) for client, one in enumerate(ledgers)}
    with closing(FolderStore(kit / STORE)) as store:
        store.save(StoreUpdate(states))


def read_ledgers(kit: Path) -> list[Ledger]:
    with closing(FolderStore(kit / STORE)) as store:
        return [state.record for _, state in store.list_states()]


def test_a_party_that_was_asked_nothing_yet(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    assert describe_broken_rounds(kit) == "0 of 16"
    none = BrokenRounds(0, 16)
    assert forgive_broken_rounds(kit) == (none, none)
    assert not (kit / STORE).exists()


def test_only_rounds_beyond_those_that_were_finished_are_told(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    fill(kit, Ledger(23, 10, ANSWERED))
    assert describe_broken_rounds(kit) == "3 of 16"
    fill(kit, Ledger(20, 20, ANSWERED))
    assert describe_broken_rounds(kit) == "0 of 16"


def test_a_party_that_refuses_is_told_what_to_do(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    fill(kit, Ledger(20, 2, ANSWERED))
    assert describe_broken_rounds(kit) == (
        "16 of 16, so this party takes part in no more. One is forgiven a day; find out why they were broken off, then "
        f"`folkmoot federation forgive {kit}` forgives all"
    )


def test_forgiving_forgets_nothing_that_was_answered(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    fill(kit, Ledger(16, 0, ANSWERED), Ledger(3), Ledger(18, 1, 2 * ANSWERED), Ledger(5, 5, 5 * ANSWERED), Ledger())
    assert forgive_broken_rounds(kit) == (BrokenRounds(16, 16), BrokenRounds(0, 16))
    kept = [Ledger(0, 0, ANSWERED), Ledger(), Ledger(2, 1, 2 * ANSWERED), Ledger(5, 5, 5 * ANSWERED), Ledger()]
    assert read_ledgers(kit) == kept
    assert forgive_broken_rounds(kit) == (BrokenRounds(0, 16), BrokenRounds(0, 16))
    assert read_ledgers(kit) == kept


def test_a_party_that_runs_is_left_alone(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    fill(kit, Ledger(16))
    with closing(FolderStore(kit / STORE)) as store:
        assert describe_broken_rounds(kit).startswith("16 of 16")
        with pytest.raises(InputError) as told:
            forgive_broken_rounds(kit)
        assert str(told.value) == f"{kit / STORE} is in use by another process; stop that first"
        assert store.load(0).record == Ledger(16)
