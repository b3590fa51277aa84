"""Clients in files on many machines of one organisation: Dask workers read them, and add up in a tree.

This protects nothing from the organisation itself: its workers see every client's data. What it gives is size.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.engines.dask.shards import (
    Shard,
    StoredShard,
    add_partial_sums,
    describe_shard,
    probe_shard,
    sum_shard,
)
from folkmoot.engines.simulate import draw_probes
from folkmoot.foundation.errors import InputError, RoundFailed
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Array
from folkmoot.objectives.objective import Objective, as_objective

if TYPE_CHECKING:
    from distributed import Client, Future

TICK = 0.1  # seconds between looks at the caller's wishes
SILENT = 5.0  # seconds without a sign of life after which a worker counts as frozen
RETRIES = 3  # of a task whose worker died

PathLike = str | os.PathLike[str]
Job = tuple[Any, ...]  # the arguments of a task


@dataclass(frozen=True)
class ShardRange:
    """A shard, and the numbers of its clients in the population."""

    shard: Shard
    first: int
    last: int


class DaskCluster(Engine):
    """Sums over clients in files, computed by the workers of a Dask cluster.

    client: a `distributed.Client`. shards: a file that `folkmoot.store` wrote, which is cut into `parts` (one
    per thread of the cluster unless given); or several files or shards, whose clients are numbered one after the
    other. Workers read the files themselves, under the same names.
    patience: seconds after which the tasks of frozen workers are given to others. everything: the whole population,
    where this process can hold it (or map it); results then have the true value.
    """

    def __init__(
        self,
        client: "Client",
        shards: PathLike | Sequence[PathLike | Shard],
        *,
        parts: int | None = None,
        patience: float = 30.0,
        fan: int = 8,
        everything: Objective | None = None,
    ) -> None:
        self.client = as_client(client)
        self.patience, self.fan = as_number(patience, "patience", above=True), as_count(fan, "fan", least=2)
        self._everything = None if everything is None else as_objective(everything)
        one_file = shards if isinstance(shards, str | os.PathLike) else None
        listed = [as_shard(one) for one in (shards if one_file is None else [one_file])]  # type: ignore[union-attr]
        if not listed:
            raise InputError("there are none", argument="shards")
        facts = self._survey(listed)
        self._population = join_populations(facts)
        if one_file is not None:
            wanted = max(1, sum(self.client.nthreads().values())) if parts is None else as_count(parts, "parts")
            self.ranges = cut_file(os.path.abspath(one_file), self._population.n_clients, wanted)
        elif parts is not None:
            raise InputError("is for one file; several are read as they are", argument="parts")
        else:
            ends = pairwise(np.cumsum([0, *(one.n_clients for one in facts)]).tolist())
            self.ranges = [ShardRange(shard, lo, hi) for shard, (lo, hi) in zip(listed, ends, strict=True)]
        self._data = self._fingerprint()

    @property
    def population(self) -> Population:
        return self._population

    @property
    def can_recompute(self) -> bool:
        return True

    @property
    def everything(self) -> Objective | None:
        return self._everything

    def describe(self) -> Mapping[str, Any]:
        """The same as of a simulation without dropouts: what ran on a cluster can be verified in one process."""
        return {"dropout": 0.0, "least": 0.5, "seed": 0, "data": self._data}

    def __repr__(self) -> str:
        return f"DaskCluster({self._population.n_clients:,} clients in {len(self.ranges)} shards)"

    def add_up(self, ask: Ask, control: Control) -> Sum:
        query, cohort = ask.query, ask.cohort
        ask.ring_bits  # noqa: B018 - refuses what does not fit
        if query.group_clients() is not None:
            raise InputError(
                "deals clients to groups at random, but on a cluster clients stay in their files",
                remedy="use a method whose clients answer by themselves, such as Auto()",
                argument="method",
            )
        control.check()
        jobs = self._divide(ask)
        said = None if control.is_over() else self._compute(sum_shard, jobs, control, add_partial_sums)
        if said is None:
            return Sum.lose(ask, 0)
        whole = add_partial_sums(*said)
        if whole.willing is None:
            return Sum(whole.total, whole.count, cohort.size, cohort.weight)
        heard = np.arange(cohort.size) if cohort.ids is None else cohort.ids
        heard = heard[whole.willing]
        return Sum(whole.total, whole.count, len(heard), cohort.weight, present=cohort.mark_present(heard))

    def _divide(self, ask: Ask) -> list[Job]:
        """Who of the cohort is in each shard."""
        cohort, jobs = ask.cohort, list[Job]()
        for one in self.ranges:
            if cohort.ids is None:
                jobs.append((one.shard, ask.query, one.first, None, None))
                continue
            lo, hi = np.searchsorted(cohort.ids, [one.first, one.last]).tolist()
            if lo < hi:
                all_of_them = hi - lo == one.last - one.first
                times = None if cohort.times is None else cohort.times[lo:hi]
                jobs.append((one.shard, ask.query, one.first, None if all_of_them else cohort.ids[lo:hi], times))
        return jobs

    def _survey(self, shards: list[Shard]) -> list[Population]:
        found: list[Population] = self._compute(describe_shard, [(shard,) for shard in shards], Control()) or []
        return found

    def _fingerprint(self) -> str:
        """That of a simulation of the same clients."""
        clients, sets = draw_probes(self._population)
        jobs: list[Job] = []
        for one in self.ranges:
            mine = clients[(clients >= one.first) & (clients < one.last)] - one.first
            if mine.size:
                jobs.append((one.shard, mine, sets))
        parts: list[Array] = self._compute(probe_shard, jobs, Control()) or []
        return sha256(np.concatenate(parts).tobytes()).hexdigest()

    def _compute(
        self, work: Callable[..., Any], jobs: list[Job], control: Control, join: Callable[..., Any] | None = None
    ) -> list[Any] | None:
        """What `work` gives for each job, joined in a tree if it is said how; None if the deadline has passed.

        Sums do not depend on who computes them: a task whose worker dies is done by another. Workers that are frozen
        when patience is at an end get no more tasks, and what they had is done again elsewhere.
        """
        frozen: set[str] = set()
        while True:
            tasks = self._submit(work, jobs, frozen)
            tops = tasks if join is None else self._submit_tree(tasks, join, frozen)
            done = None
            try:
                done = self._wait(tasks, tops, control)
            finally:
                if done is None:  # nobody waits for what is left of it
                    self.client.cancel([*tops, *tasks])
            if done is not None or control.is_over():
                return done
            frozen |= self._find_frozen()

    def _submit(self, work: Callable[..., Any], jobs: Iterable[Job], frozen: set[str]) -> "list[Future]":
        return [self._send(work, job, frozen) for job in jobs]

    def _send(self, work: Callable[..., Any], arguments: Sequence[Any], frozen: set[str]) -> "Future":
        allowed = None
        if frozen:
            allowed = [one for one in self.client.nthreads() if one not in frozen]
            if not allowed:
                raise RoundFailed("all workers of the cluster are frozen", remedy="start others")
        return self.client.submit(work, *arguments, workers=allowed, pure=False, retries=RETRIES)

    def _submit_tree(self, tasks: "list[Future]", join: Callable[..., Any], frozen: set[str]) -> "list[Future]":
        """What is left of the tree is few enough to be joined here."""
        while len(tasks) > self.fan:
            parts = [tasks[at : at + self.fan] for at in range(0, len(tasks), self.fan)]
            tasks = [self._send(join, part, frozen) if len(part) > 1 else part[0] for part in parts]
        return tasks

    def _wait(self, tasks: "list[Future]", tops: "list[Future]", control: Control) -> list[Any] | None:
        """What came out; None if the deadline has passed, or frozen workers keep it."""
        from distributed import KilledWorker, wait

        until = monotonic() + self.patience
        while True:
            with suppress(TimeoutError):
                wait(tops, timeout=TICK)
            control.progress("adding up", sum(task.done() for task in tasks), len(tasks))
            control.check()
            if all(top.done() for top in tops):
                try:
                    return [top.result(timeout=max(until - monotonic(), TICK)) for top in tops]
                except TimeoutError:
                    pass
                except KilledWorker:
                    raise RoundFailed(
                        "workers died again and again over the same clients, perhaps for want of memory",
                        remedy="cut the population into more parts, or give workers more memory",
                    ) from None
            if control.is_over():
                return None
            if monotonic() >= until:
                if self._find_frozen():
                    return None
                until = monotonic() + self.patience  # slow, but alive

    def _find_frozen(self) -> set[str]:
        silent: dict[str, float] = self.client.run_on_scheduler(measure_silence)
        return {worker for worker, seconds in silent.items() if seconds > SILENT}


def measure_silence(dask_scheduler: Any) -> dict[str, float]:
    """Seconds since each worker was heard of, by the scheduler's own clock."""
    from time import time

    return {address: time() - worker.last_seen for address, worker in dask_scheduler.workers.items()}


def as_client(given: Any) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise InputError("Dask is not installed", remedy="pip install 'folkmoot[cluster]'", argument="client") from None
    if not isinstance(given, Client) or given.asynchronous:
        raise InputError(f"needs a distributed.Client that is not asynchronous, got {given!r}", argument="client")
    return given


def as_shard(given: PathLike | Shard) -> Shard:
    """Files are named in full: a worker's current folder may be another."""
    if isinstance(given, str | os.PathLike):
        return StoredShard(os.path.abspath(os.fspath(given)))
    if not hasattr(given, "read"):
        raise InputError(f"needs files or shards, got {given!r}", argument="shards")
    return given


def cut_file(path: str, clients: int, parts: int) -> list[ShardRange]:
    """About equally many clients each."""
    ends = np.linspace(0, clients, min(parts, clients) + 1).astype(int).tolist()
    return [ShardRange(StoredShard(path, lo, hi), lo, hi) for lo, hi in pairwise(ends)]


def join_populations(parts: list[Population]) -> Population:
    """All clients together."""
    first = parts[0]
    for number, one in enumerate(parts):
        if (one.n_items, one.closed_form, one.most) != (first.n_items, first.closed_form, first.most):
            raise InputError(
                f"shard {number} has {one.n_items:,} items and a public limit of {one.most}, shard 0 has "
                f"{first.n_items:,} and {first.most}; they must be the same kind of function over the same items",
                argument="shards",
            )
    if len(parts) > 1 and any(one.weights is not None for one in parts):
        raise InputError(
            "clients have weights, which are not comparable between files",
            remedy="store all clients in one file",
            argument="shards",
        )
    return replace(first, n_clients=sum(one.n_clients for one in parts))
