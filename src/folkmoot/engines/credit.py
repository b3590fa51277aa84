"""Rounds that were broken off and are forgiven: for each client one a day, however long it was left in peace.

A client that too many rounds were broken off with refuses all others (`secagg.ledger`), and accidents would lock it out
for good. Days are measured by a clock that nobody sets, such as `time.monotonic`, so that a wrong date earns nothing.
Such a clock begins anew with the machine: a reading below the last one earns nothing either, and counting begins again.
"""

from collections.abc import Callable, Container
from dataclasses import replace

from folkmoot.engines.store import StateStore
from folkmoot.secagg.state import State

DAY = 24 * 60 * 60.0


class Credits:
    """What clients are forgiven in one exchange. most: the excess at which a client refuses."""

    def __init__(self, store: StateStore, uptime: Callable[[], float], most: int) -> None:
        self.store, self.uptime, self.most = store, uptime, most
        self._begun = dict[int, float]()  # readings of clients whose days are counted from now on
        self._given = dict[int, float]()  # of clients that were forgiven a round

    def forgive(self, client: int, state: State) -> State:
        """The client's state, with one round less that was broken off if it would refuse and a day has passed."""
        if state.record.excess < self.most:
            return state
        now, last = self.uptime(), self.store.read_credit(client)
        if last is None or now < last:
            self._begun[client] = now
        elif now - last >= DAY:
            self._given[client] = now
            return replace(state, ledger=state.record.forgive(1).encode())
        return state

    def list_readings(self, replying: Container[int]) -> dict[int, float]:
        """What must be stored with the states of those who reply; whoever does not was forgiven nothing."""
        return self._begun | {client: now for client, now in self._given.items() if client in replying}


def forgive_all(state: State) -> State:
    """A client's state in no round, with no more rounds broken off than finished. What it answered stays."""
    record = state.record
    return State(ledger=record.forgive(record.excess).encode(), announced=state.announced)
