"""Parties in processes of their own, behind pipes: an exchange that is not in this process.

A child answers what comes through its pipe, and ends when the pipe is closed. It can be told to be killed in an
exchange, after it has stored what it was going to say, or to say nothing.
"""

import os
import signal
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from struct import Struct
from time import monotonic

from folkmoot.engines import Bundle, FolderStore, Party, PartyPolicy
from folkmoot.foundation.sets import Ids
from tests.coins import SIMULATED
from tests.engines.crowds import TERMS, crowd, make_identities, make_roster

HEAD = Struct("<QB")  # the number of the exchange, and what to do in it
ANSWER, DIE, IGNORE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Shard:
    """What a child needs to know."""

    clients: int  # in the whole population
    ids: Ids
    folder: Path
    weights: Ids | None = None


def answer_pipe(pipe: Connection, shard: Shard) -> None:
    """The life of a child."""
    identities = make_identities(shard.clients)
    objective = crowd(shard.clients, weights=shard.weights)[shard.ids]
    own = {one: identities[one] for one in shard.ids.tolist()}
    policy = PartyPolicy(TERMS, uneven=shard.weights is not None, volunteers=True)
    with closing(FolderStore(shard.folder)) as store:
        party = Party(objective, shard.ids, own, make_roster(shard.clients), policy, store, coins=SIMULATED)
        with suppress(EOFError, ConnectionError):  # the pipe was closed, perhaps before a reply was read
            while True:
                data = pipe.recv_bytes()
                number, how = HEAD.unpack_from(data)
                reply = party.reply(Bundle.decode(data[HEAD.size :]))
                if how == DIE:
                    os.kill(os.getpid(), signal.SIGKILL)
                if how == ANSWER:
                    pipe.send_bytes(HEAD.pack(number, how) + reply.encode())


@dataclass
class PipeExchange:
    """Starts children when they are needed, and reaches them through pipes."""

    shards: Mapping[int, Shard]
    orders: dict[tuple[int, str], int] = field(default_factory=dict)  # by child and exchange: what to do in it
    seen: list[str] = field(default_factory=list)
    _children: dict[int, tuple[BaseProcess, Connection]] = field(default_factory=dict)
    _number: int = 0

    def __call__(self, outbox: Mapping[int, Bundle], deadline: float | None) -> dict[int, Bundle]:
        self._number += 1
        self.seen += sorted({sent.stage for sent in outbox.values()})
        waiting: dict[Connection, int] = {}
        for name, sent in outbox.items():
            pipe = self._find_child(name)
            how = self.orders.get((name, sent.stage), ANSWER)
            pipe.send_bytes(HEAD.pack(self._number, how) + sent.encode())
            waiting[pipe] = name
        inbox: dict[int, Bundle] = {}
        while waiting:
            ready = wait(list(waiting), None if deadline is None else max(deadline - monotonic(), 0.0))
            if not ready:
                break
            for pipe, name in [(pipe, name) for pipe, name in waiting.items() if pipe in ready]:
                try:
                    data = pipe.recv_bytes()
                except (EOFError, ConnectionResetError):  # the child is dead
                    self.stop(name)
                    del waiting[pipe]
                    continue
                if HEAD.unpack_from(data)[0] == self._number:  # not one that comes too late
                    inbox[name] = Bundle.decode(data[HEAD.size :])
                    del waiting[pipe]
        return inbox

    def _find_child(self, name: int) -> Connection:
        if name not in self._children:
            context = get_context("spawn")
            mine, theirs = context.Pipe()
            process = context.Process(target=answer_pipe, args=(theirs, self.shards[name]), daemon=True)
            process.start()
            theirs.close()  # the child has the only other end: when it dies, this one says so
            self._children[name] = process, mine
        return self._children[name][1]

    def stop(self, name: int) -> int | None:
        """How it ended."""
        process, pipe = self._children.pop(name)
        pipe.close()
        process.join()
        code = process.exitcode
        process.close()
        return code

    def close(self) -> list[int | None]:
        return [self.stop(name) for name in list(self._children)]
