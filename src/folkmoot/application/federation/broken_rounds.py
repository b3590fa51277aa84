"""Rounds that were broken off, as a party counts them: after too many it takes part in no more."""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from folkmoot.application.federation.agreement import Agreement
from folkmoot.application.federation.hosting import STORE
from folkmoot.application.federation.party_policy import read_policy
from folkmoot.engines.credit import forgive_all
from folkmoot.engines.folder_store import FILE, FolderStore, open_logs
from folkmoot.engines.store import StoreUpdate
from folkmoot.foundation.errors import InputError
from folkmoot.secagg.state import State


@dataclass(frozen=True)
class BrokenRounds:
    """How many more rounds were broken off than finished; with `limit` of them, a party takes part in no more."""

    count: int
    limit: int

    @classmethod
    def of(cls, states: Iterable[tuple[int, State]], limit: int) -> "BrokenRounds":
        return cls(max([0, *(state.record.excess for _, state in states)]), limit)

    def __str__(self) -> str:
        return f"{self.count} of {self.limit}"


def read_broken_rounds(kit: Path) -> BrokenRounds:
    """Those of a party, which may be running."""
    limit = _find_limit(kit)
    if not (kit / STORE / FILE).exists():
        return BrokenRounds.of([], limit)
    with open_logs(kit / STORE) as logs:
        return BrokenRounds.of(logs.list_states(), limit)


def describe_broken_rounds(kit: Path) -> str:
    """For people: how many there were, and what to do if they are too many."""
    found = read_broken_rounds(kit)
    if found.count < found.limit:
        return str(found)
    return (
        f"{found}, so this party takes part in no more. One is forgiven a day; find out why they were broken off, then "
        f"`folkmoot federation forgive {kit}` forgives all"
    )


def forgive_broken_rounds(kit: Path) -> tuple[BrokenRounds, BrokenRounds]:
    """Begin to count anew at a party that is not running; before and after. What was answered stays known."""
    limit = _find_limit(kit)
    if not (kit / STORE / FILE).exists():
        return BrokenRounds.of([], limit), BrokenRounds.of([], limit)
    try:
        store = FolderStore(kit / STORE)
    except InputError as why:
        raise why.rename(None) from None
    with closing(store):
        before = dict(store.list_states())
        states = {client: forgive_all(state) for client, state in before.items() if state.record.excess > 0}
        store.save(StoreUpdate(states))
        return BrokenRounds.of(before.items(), limit), BrokenRounds.of(store.list_states(), limit)


def _find_limit(kit: Path) -> int:
    return read_policy(kit, Agreement.load(kit)).terms.unfinished
