"""Rounds that were broken off, as a party's clients count them: after too many they take part in no more."""

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
    """How many more rounds were broken off than finished, at the client of a party that has most of them.

    limit: with so many, a client takes part in no more. refusing: how many clients do not.
    """

    most: int
    limit: int
    refusing: int

    @classmethod
    def count(cls, states: Iterable[tuple[int, State]], limit: int) -> "BrokenRounds":
        excess = [state.record.excess for _, state in states]
        return cls(max([0, *excess]), limit, sum(one >= limit for one in excess))

    def __str__(self) -> str:
        return f"{self.most} of {self.limit}"


def read_broken_rounds(kit: Path) -> BrokenRounds:
    """Those of a party, which may be running."""
    limit = _find_limit(kit)
    if not (kit / STORE / FILE).exists():
        return BrokenRounds.count([], limit)
    with open_logs(kit / STORE) as logs:
        return BrokenRounds.count(logs.list_states(), limit)


def describe_broken_rounds(kit: Path) -> str:
    """For people: how many there were, and what to do if they are too many."""
    found = read_broken_rounds(kit)
    if not found.refusing:
        return str(found)
    who = "1 client takes" if found.refusing == 1 else f"{found.refusing:,} clients take"
    if not Agreement.load(kit).per_client:
        who = "this party takes"
    return (
        f"{found}, so {who} part in no more. One is forgiven a day; find out why they were broken off, then "
        f"`folkmoot federation forgive {kit}` forgives all"
    )


def forgive_broken_rounds(kit: Path) -> tuple[BrokenRounds, BrokenRounds]:
    """Begin to count anew at a party that is not running; before and after. What was answered stays known."""
    limit = _find_limit(kit)
    if not (kit / STORE / FILE).exists():
        return BrokenRounds.count([], limit), BrokenRounds.count([], limit)
    try:
        store = FolderStore(kit / STORE)
    except InputError as why:
        raise why.rename(None) from None
    with closing(store):
        before = dict(store.list_states())
        states = {client: forgive_all(state) for client, state in before.items() if state.record.excess > 0}
        store.save(StoreUpdate(states))
        return BrokenRounds.count(before.items(), limit), BrokenRounds.count(store.list_states(), limit)


def _find_limit(kit: Path) -> int:
    return read_policy(kit, Agreement.load(kit)).terms.unfinished
