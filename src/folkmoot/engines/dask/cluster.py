"""Clients in files on many machines of one organisation: Dask workers read them, and add up in a tree.

This protects nothing from the organisation itself: its workers see every client's data. What it gives is size.
"""

import os
from asyncio import CancelledError as TaskCancelled
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum, find_coins
from folkmoot.engines.dask.shards import (
    PartialSum,
    Shard,
    StoredShard,
    add_partial_sums,
    attempt,
    close_shards,
    describe_shard,
    probe_shard,
    sum_shard,
)
from folkmoot.engines.simulate import draw_probes, fingerprint
from folkmoot.foundation.errors import InputError, RoundFailed
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.private_coins import SIMULATED
from folkmoot.foundation.sets import Array
from folkmoot.objectives.objective import Objective, as_objective

if TYPE_CHECKING:
    from distributed import Client, Future

TICK = 0.1  # seconds between looks at the caller's wishes
SILENT = 5.0  # seconds without a sign of life after which a worker counts as frozen; more in large clusters
HEARTBEAT = 200  # so many workers make the time between two signs of life a second longer
LOSSES = (FutureCancelled, TaskCancelled, OSError)  # how it shows that a scheduler is gone
GATHERING = 1.0  # seconds that fetching a result may take before the caller's wishes are looked at again

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
        self._frozen: set[str] = set()  # workers that get no tasks until they are heard of again
        one_file = shards if isinstance(shards, str | os.PathLike) else None
        listed = list_shards(shards)
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
        if self._everything is not None and fingerprint(self._everything) != self._data:
            raise InputError("is not what the files hold", argument="everything")

    def close(self) -> None:
        """Let workers forget what they keep open of these files."""
        with suppress(*LOSSES, TimeoutError):
            self.client.run(close_shards, [one.shard for one in self.ranges])

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
        if query.added_noise is not None:
            raise InputError("a cluster adds up in the clear, where noise would hide nobody", argument="query")
        if query.group_clients() is not None:
            raise InputError(
                "deals clients to groups at random, but on a cluster clients stay in their files",
                remedy="use a method whose clients answer by themselves, such as Auto()",
                argument="method",
            )
        control.check()
        jobs = self._divide(ask)
        try:
            said = None if control.is_over() else self._compute(sum_shard, jobs, control, add_partial_sums)
        except InputError as error:  # of the files: nothing is wrong with what the caller asked
            raise RoundFailed(f"a worker cannot read its clients: {error}", place=ask.label) from None
        if said is None:
            return Sum.lose(ask, 0)
        whole = add_partial_sums(*said)
        assert isinstance(whole, PartialSum)
        if whole.willing is None:
            return Sum(whole.total, whole.count, cohort.size, cohort.weight)
        heard = np.arange(cohort.size) if cohort.ids is None else cohort.ids
        heard = heard[whole.willing]
        return Sum(whole.total, whole.count, len(heard), cohort.weight, present=cohort.mark_present(heard))

    def _divide(self, ask: Ask) -> list[Job]:
        """Who of the cohort is in each shard."""
        cohort, jobs = ask.cohort, list[Job]()
        own = find_coins(SIMULATED, ask.query)
        for one in self.ranges:
            if cohort.ids is None:
                jobs.append((one.shard, ask.query, own, one.first, None, None))
                continue
            lo, hi = np.searchsorted(cohort.ids, [one.first, one.last]).tolist()
            if lo < hi:
                all_of_them = hi - lo == one.last - one.first
                times = None if cohort.times is None else cohort.times[lo:hi]
                jobs.append((one.shard, ask.query, own, one.first, None if all_of_them else cohort.ids[lo:hi], times))
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
        try:
            self._frozen &= self._find_silent() if self._frozen else self._frozen
            while True:
                done = self._attempt(work, jobs, control, join)
                if done is not None or control.is_over():
                    return done
                self._frozen |= self._find_silent()
        except LOSSES as error:
            raise RoundFailed(
                f"the connection to the cluster was lost ({type(error).__name__})",
                remedy="a stored run can be resumed on another one",
            ) from None

    def _attempt(
        self, work: Callable[..., Any], jobs: list[Job], control: Control, join: Callable[..., Any] | None
    ) -> list[Any] | None:
        allowed = self._list_workers() if self._frozen else None
        tasks = [self._send(attempt, (work, *job), allowed) for job in jobs]
        tops = tasks if join is None else self._submit_tree(tasks, join, allowed)
        done = None
        try:
            done = self._wait(tasks, tops, control, allowed)
        finally:
            if done is None:  # nobody waits for what is left of it
                with suppress(*LOSSES):
                    self.client.cancel([*tops, *tasks])
        if done is not None:
            for one in done:
                if isinstance(one, InputError):
                    raise one
        return done

    def _list_workers(self) -> list[str]:
        """Those that can be given tasks."""
        workers = [one for one in self.client.nthreads() if one not in self._frozen]
        if not workers:
            state = "all workers of the cluster are frozen" if self._frozen else "the cluster has no workers"
            raise RoundFailed(state, remedy="start some; a stored run can be resumed")
        return workers

    def _send(self, work: Callable[..., Any], arguments: Sequence[Any], allowed: list[str] | None) -> "Future":
        return self.client.submit(work, *arguments, workers=allowed, pure=False)

    def _submit_tree(
        self, tasks: "list[Future]", join: Callable[..., Any], allowed: list[str] | None
    ) -> "list[Future]":
        """What is left of the tree is few enough to be joined here."""
        while len(tasks) > self.fan:
            parts = [tasks[at : at + self.fan] for at in range(0, len(tasks), self.fan)]
            tasks = [self._send(join, part, allowed) if len(part) > 1 else part[0] for part in parts]
        return tasks

    def _wait(
        self, tasks: "list[Future]", tops: "list[Future]", control: Control, allowed: list[str] | None
    ) -> list[Any] | None:
        """What came out; None if the deadline has passed, or workers that are frozen or gone keep it."""
        from distributed import KilledWorker, wait

        until = monotonic() + self.patience
        while True:
            with suppress(TimeoutError):
                wait(tops, timeout=TICK)
            control.progress("adding up", sum(task.done() for task in tasks), len(tasks))
            control.check()
            if all(top.done() for top in tops):
                try:
                    return [top.result(timeout=GATHERING) for top in tops]
                except TimeoutError:
                    pass  # it is large, or a worker froze that holds it
                except KilledWorker:
                    raise RoundFailed(
                        "workers died again and again over the same clients, perhaps for want of memory",
                        remedy="cut the population into more parts, or give workers more memory",
                    ) from None
            if control.is_over():
                return None
            if monotonic() >= until:
                workers = self._list_workers()  # raises an error if there are none
                if self._find_silent() - self._frozen or not set(allowed or workers) & set(workers):
                    return None
                until = monotonic() + self.patience  # slow, but alive

    def _find_silent(self) -> set[str]:
        silent: dict[str, float] = self.client.run_on_scheduler(measure_silence)
        most = SILENT * (1 + len(silent) / HEARTBEAT)
        return {worker for worker, seconds in silent.items() if seconds > most}


def measure_silence(dask_scheduler: Any) -> dict[str, float]:
    """Seconds since each worker was heard of, by the scheduler's own clock."""
    from time import time

    return {address: time() - worker.last_seen for address, worker in dask_scheduler.workers.items()}


def list_shards(given: Any) -> list[Shard]:
    """Files and shards, one or several."""
    if isinstance(given, str | os.PathLike) or hasattr(given, "read"):
        given = [given]
    if not isinstance(given, Sequence):
        raise InputError(f"needs files or shards, got {given!r}", argument="shards")
    listed = [as_shard(one) for one in given]
    if not listed:
        raise InputError("there are none", argument="shards")
    for number, one in enumerate(listed):
        if one in listed[:number]:
            raise InputError(f"{one.path} is given twice", argument="shards")
    return listed


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
    if not hasattr(given, "read") or not hasattr(given, "path"):
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
                f"{first.n_items:,} and {first.most} (or only one of them has exact gradients); they must be of "
                "the same kind, and over the same items",
                argument="shards",
            )
    if len(parts) > 1 and any(one.weights is not None for one in parts):
        raise InputError(
            "clients have weights, which are not comparable between files",
            remedy="store all clients in one file",
            argument="shards",
        )
    return replace(first, n_clients=sum(one.n_clients for one in parts))
