"""How kernels are compiled and run: without the GIL, cached on disk, over blocks of rows in a few threads.

A sum over rows is cut into blocks that depend on the data alone, and the blocks are added in order. So a
result does not depend on the number of threads.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache, update_wrapper
from itertools import pairwise
from threading import local
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from folkmoot.foundation.sets import AnyArray, Ids

Function = TypeVar("Function", bound=Callable[..., Any])
T = TypeVar("T")

ENTRIES_PER_BLOCK = 250_000
MOST_BLOCKS = 8


def kernel(function: Function) -> Function:
    """Compile on first use, cache the machine code on disk, release the GIL.

    Arithmetic stays strict (no fastmath): fixed-point terms must round alike in every kernel.
    """
    return cast(Function, update_wrapper(Kernel(function), function))


class Kernel:
    """A function that is loaded from disk, or compiled, when it is first called (or another kernel calls it)."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    @cached_property
    def _function(self) -> Any:
        from folkmoot.foundation.compiled import make_function  # imports numba, which is slow and not always needed

        return make_function(self.py_func)

    @cached_property
    def _part(self) -> Any:
        from folkmoot.foundation.compiled import make_part

        return make_part(self.py_func)

    @property
    def _numba_type_(self) -> Any:  # numba reads this where one kernel calls another
        return self._part._numba_type_


_threads: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Inside this context kernels use `count` threads (None: as many as outside)."""
    before = _threads.set(_threads.get() if count is None else count)
    try:
        yield
    finally:
        _threads.reset(before)


def thread_count() -> int:
    """How many threads kernels use: set by `threads`, by FOLKMOOT_THREADS, or one per core this process may use."""
    given = _threads.get()
    if given is not None:
        return given
    wanted = os.environ.get("FOLKMOOT_THREADS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):  # Linux knows which cores are ours
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _pool(owner: tuple[int, int]) -> ThreadPoolExecutor:
    """One pool per process (a forked child must not wait for its parent's threads) and number of threads."""
    return ThreadPoolExecutor(owner[1], thread_name_prefix="folkmoot")


def blocks(row_start: Ids, *, most: int = MOST_BLOCKS) -> list[tuple[int, int]]:
    """Cut rows into blocks of about equally many entries. Use a small `most` where each block has a sum of its own,
    a large one where each block needs memory to work in.
    """
    rows, entries = len(row_start) - 1, int(row_start[-1] - row_start[0])
    count = max(1, min(most, entries // ENTRIES_PER_BLOCK, rows))
    goals = row_start[0] + entries * np.arange(1, count) // count
    cuts = [0, *np.searchsorted(row_start, goals).tolist(), rows]
    return [(lo, hi) for lo, hi in pairwise(cuts) if lo < hi]


def run_on_threads(work: Callable[[int, int], T], cuts: list[tuple[int, int]]) -> list[T]:
    """work(lo, hi) for every block, in threads; the results in the order of the blocks."""
    count = min(thread_count(), len(cuts))
    if count == 1 or _thread.busy:  # blocks within a block are worked through by the thread of the outer block
        return [work(lo, hi) for lo, hi in cuts]
    queue = BlockQueue(work, cuts)
    helpers = [_pool((os.getpid(), thread_count())).submit(queue.take_all) for _ in range(count - 1)]
    try:
        queue.take_all()  # this thread works too
    finally:
        queue.waiting = iter(range(0))  # after an error or Ctrl-C no thread takes another block
    for helper in helpers:
        helper.result()
    return queue.results


class BlockQueue(Generic[T]):
    """Blocks waiting to be taken by whichever thread is free."""

    def __init__(self, work: Callable[[int, int], T], cuts: list[tuple[int, int]]) -> None:
        self.work, self.cuts = work, cuts
        self.waiting: Iterator[int] = iter(range(len(cuts)))  # next() on a range iterator is atomic
        self.results: list[T] = [cast(T, None)] * len(cuts)

    def take_all(self) -> None:
        _thread.busy = True
        try:
            while (block := next(self.waiting, None)) is not None:
                self.results[block] = self.work(*self.cuts[block])
        finally:
            _thread.busy = False


class ThreadState(local):
    """Whether this thread is working on a block."""

    busy = False


_thread = ThreadState()


def sum_blocks(
    work: Callable[[int, int, AnyArray], None], row_start: Ids, size: int, dtype: DTypeLike = np.float64
) -> AnyArray:
    """The sum over the blocks of what work(lo, hi, into) adds to a zeroed vector."""

    def one(lo: int, hi: int) -> AnyArray:
        into = cast(AnyArray, np.zeros(size, dtype=dtype))
        work(lo, hi, into)
        return into

    parts = run_on_threads(one, blocks(row_start))
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
