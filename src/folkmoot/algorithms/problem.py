"""What a federated search is given, and what it leaves behind."""

from dataclasses import dataclass

import numpy as np

from folkmoot.coding import coins, key_of
from folkmoot.guarantee import Continuous, Promise
from folkmoot.matroids.matroid import Matroid
from folkmoot.queries.gains import singletons
from folkmoot.queries.magnitude import Ranges
from folkmoot.rounds import Run, Talk
from folkmoot.sets import Array, Ids, Mask


@dataclass(frozen=True)
class Problem:
    """A conversation, the range of its numbers, and the items that are asked about."""

    talk: Talk
    ranges: Ranges
    jury: int | None
    items: Ids | None = None  # the shortlist; None: all items
    singletons: Array | None = None

    @property
    def matroid(self) -> Matroid:
        return self.talk.matroid

    def continuous(
        self,
        rounds: int,
        cohort: int | None,
        *,
        bases: bool,
        memory: float = 0.0,
        local_steps: int = 1,
        samples: int | None = None,
    ) -> Continuous:
        """What the theorems on continuous greedy need to know."""
        sampled = cohort if cohort is not None and cohort < self.talk.population.n_clients else None
        return Continuous(self.matroid.rank, self.matroid.n_items, rounds, sampled, bases, local_steps, samples, memory)


@dataclass(frozen=True)
class Found:
    """What a search ends with."""

    x: Array | None  # a point to round; else the set is in `candidates`
    candidates: Mask  # sets to score besides the roundings of x
    merit: Array  # what items looked worth on the way: ties, gaps and the polishing shortlist go by it
    singletons: Array | None  # what each item is worth alone, if the search asked that
    promise: Promise | None = None
    on_the_way: Array | None = None  # a point short of x from which the bound on the optimum promises to be low

    @classmethod
    def at(
        cls,
        x: Array,
        merit: Array,
        singletons: Array | None,
        promise: Promise | None,
        on_the_way: Array | None = None,
    ) -> "Found":
        """A point, with no set yet."""
        return cls(x, np.zeros((0, len(x)), dtype=bool), merit, singletons, promise, on_the_way)


def in_order(weights: Array, key: int) -> Ids:
    """Items by weight, largest first; equal ones by coins, so that ties favour nobody."""
    return np.lexsort((coins(np.uint64(key), np.arange(len(weights)), 0), -weights))


def singleton_means(problem: Problem) -> Run[Array]:
    """What each item is worth alone, from the jury."""
    n_items = problem.matroid.n_items
    query = singletons(n_items, problem.ranges.single, 0)
    answer = yield from problem.talk.ask(lambda _: query, problem.jury, "each item alone")
    return query.mean(answer.total, answer.count, n_items)


def shortlisted(problem: Problem, size: int) -> Run[Problem]:
    """The best items alone, and always a whole base."""
    alone = yield from singleton_means(problem)
    best = in_order(alone, key_of(problem.talk.seed, -2))
    base = problem.matroid._first_base(best)
    others = best[~np.isin(best, base)]
    kept = np.sort(np.concatenate((base, others[: max(size - len(base), 0)])))
    return Problem(problem.talk, problem.ranges, problem.jury, kept, alone)
