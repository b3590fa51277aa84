"""Some clients of a population in a file, and what a worker computes from it.

All of this runs on workers: a shard travels as the name of its file, and the worker reads the file itself.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from folkmoot.conversation.population import Population
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.kernels import threads
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.objectives import store
from folkmoot.objectives.objective import Objective
from folkmoot.questions.query import Query

SHARE = 0.5  # of a worker's memory, for shards that it keeps open


class Shard(Protocol):
    """Some clients, in a file that every worker can read. Hashable: a worker keeps shards open by them."""

    @property
    def path(self) -> str: ...

    def read(self) -> Objective: ...


@dataclass(frozen=True)
class StoredShard:
    """Clients first … last − 1 of a file that `folkmoot.store` wrote; last None: up to its end."""

    path: str
    first: int = 0
    last: int | None = None

    def read(self) -> Objective:
        """The whole file is mapped, and takes no memory of its own; a part of it is copied."""
        whole = store.load(self.path)
        last = whole.n_clients if self.last is None else self.last
        return whole if (self.first, last) == (0, whole.n_clients) else whole[self.first : last]


@dataclass(frozen=True)
class ParquetShard:
    """Clients in a Parquet file with a row per client and item: the columns say who, which item (0 … n_items − 1) and
    what it is worth (None: 1). Clients are numbered in the order of their ids.
    """

    path: str
    n_items: int
    family: str = "FacilityLocation"
    client: str = "client"
    item: str = "item"
    value: str | None = "value"
    most: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", os.path.abspath(os.fspath(self.path)))  # a worker may be in another folder
        as_count(self.n_items, "n_items")

    def read(self) -> Objective:
        import polars  # slow to load, and seldom needed

        names = [name for name in (self.client, self.item, self.value) if name is not None]
        family = store.find_families().get(self.family)
        if family is None:
            raise InputError(f"is not one of {', '.join(store.find_families())}", argument="family")
        try:
            table = polars.read_parquet(self.path, columns=names)
        except (OSError, polars.exceptions.PolarsError) as error:
            raise InputError(f"cannot be read ({str(error).splitlines()[0]})", place=self.path) from None
        if not table.height or table.null_count().sum_horizontal().item():
            raise InputError("has missing values, or no rows", place=self.path)
        items, clients = table[self.item], table[self.client]
        if not items.dtype.is_integer() or not 0 <= items.min() <= items.max() < self.n_items:  # type: ignore[operator]
            raise InputError(f"{self.item}: needs numbers from 0 to {self.n_items - 1:,}", place=self.path)
        if clients.dtype.is_float():
            raise InputError(f"{self.client}: needs whole numbers or text, not fractions", place=self.path)
        rows = clients.rank("dense").to_numpy().astype(np.int64) - 1
        worth = np.ones(len(rows))
        if self.value is not None:
            if not (table[self.value].dtype.is_numeric() or table[self.value].dtype == polars.Boolean):
                raise InputError(f"{self.value}: needs numbers", place=self.path)
            worth = table[self.value].to_numpy().astype(np.float64)
        shape = int(rows.max()) + 1, self.n_items
        try:
            return family(coo_array((worth, (rows, items.to_numpy())), shape=shape), most=self.most)
        except InputError as error:
            raise error.rename(error.argument, place=self.path) from None


@dataclass(frozen=True, eq=False)
class PartialSum:
    """The sum over some clients of a cohort, in its order."""

    total: Ids
    count: int  # how often they count
    willing: Mask | None  # which of them answered, where they decide that themselves; None: all


def describe_shard(shard: Shard) -> Population:
    return Population.of(open_shard(shard))


def probe_shard(shard: Shard, clients: Ids, sets: Mask) -> Array:
    """What some sets are worth to some of its clients."""
    return open_shard(shard)[clients].values_at(sets)


def sum_shard(
    shard: Shard, query: Query[Any], own: PrivateCoins, first: int, ids: Ids | None, times: Ids | None
) -> PartialSum:
    """The sum over a shard's clients of a cohort, by the same kernels as in one process, on one thread.

    first: the number of the shard's first client. ids: who is asked; None: all of them. times: None: each counts once.
    """
    clients = open_shard(shard)
    numbers = np.arange(first, first + clients.n_clients) if ids is None else ids
    clients = clients if ids is None else clients[ids - first]
    often = np.ones(len(numbers), dtype=np.int64) if times is None else times
    with threads(1):
        total, willing = query.total_of_willing(clients, numbers, often, own)
    return PartialSum(total, int(often.sum() if willing is None else often[willing].sum()), willing)


def add_partial_sums(*parts: PartialSum | InputError) -> PartialSum | InputError:
    """One node of the tree: parts that follow each other; the first error, if there is one."""
    sums: list[PartialSum] = []
    for part in parts:
        if isinstance(part, InputError):
            return part
        sums.append(part)
    return _add(sums)


def _add(parts: list[PartialSum]) -> PartialSum:
    total = parts[0].total.copy()
    for part in parts[1:]:
        total += part.total
    marks = [part.willing for part in parts if part.willing is not None]
    return PartialSum(total, sum(part.count for part in parts), np.concatenate(marks) if marks else None)


def find_stamp(path: str) -> tuple[int, int, int]:
    """What changes when a file is written anew."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", place=path) from None
    return found.st_ino, found.st_size, found.st_mtime_ns


class OpenShards:
    """The shards that a worker keeps open, those used last; together they take no more than a share of its memory.

    A file that was written anew since it was opened is opened anew.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[Shard, tuple[tuple[int, int, int], Objective]] = OrderedDict()
        self._lock = Lock()

    def find(self, shard: Shard, room: float) -> Objective:
        with self._lock:
            stamp = find_stamp(shard.path)
            if shard in self._open and self._open[shard][0] != stamp:
                del self._open[shard]
            if shard not in self._open:
                self._make_room(room)  # before it is read, so that two shards are not in memory for one
                self._open[shard] = stamp, shard.read()
                self._make_room(room, but=shard)
            self._open.move_to_end(shard)
            return self._open[shard][1]

    def close(self, shards: list[Shard]) -> None:
        with self._lock:
            for shard in shards:
                self._open.pop(shard, None)

    def _make_room(self, room: float, but: Shard | None = None) -> None:
        sizes = {shard: measure(objective) for shard, (_, objective) in self._open.items()}
        expected = 0 if but is not None else max(sizes.values(), default=0)
        for shard in list(self._open):
            if sum(sizes.values()) + expected <= room:
                break
            if shard != but:
                del self._open[shard], sizes[shard]


OPEN = OpenShards()


def open_shard(shard: Shard) -> Objective:
    return OPEN.find(shard, SHARE * find_memory())


def close_shards(shards: list[Shard]) -> None:
    OPEN.close(shards)


def attempt(work: Callable[..., Any], *arguments: Any) -> Any:
    """What `work` gives, or the error of its input: an expected error, which a worker need not log."""
    try:
        return work(*arguments)
    except InputError as error:
        return error


def find_memory() -> float:
    """Bytes that this worker may use."""
    from distributed import get_worker

    try:
        limit = get_worker().memory_manager.memory_limit
    except ValueError:  # not on a worker
        limit = None
    return float(limit or np.inf)


def measure(thing: Any) -> int:
    """Bytes of all arrays of an objective, mapped ones too: the system counts them as memory once they are read."""
    return sum(array.nbytes for array in _list_arrays(thing))


def _list_arrays(thing: Any) -> Iterator[NDArray[Any]]:
    for part in vars(thing).values() if hasattr(thing, "__dict__") else thing:
        if isinstance(part, np.ndarray):
            yield part
        elif isinstance(part, tuple):
            yield from _list_arrays(part)
