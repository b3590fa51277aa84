"""What a federated search is given, and what it returns."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Array, Ids, Mask, indicator
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.gains import GainsReply, ask_singletons
from folkmoot.questions.gradient import PointQuery
from folkmoot.questions.magnitude import Ranges
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import FINE
from folkmoot.theory.guarantee import Continuous, Promise

RANDOM_BASES = 8  # their mean value is shown as "random"


@dataclass(frozen=True)
class SearchProblem:
    """A conversation, the range of its numbers, and the items that are asked about."""

    talk: Talk
    ranges: Ranges
    jury: int | None
    singletons: Array  # what each item is worth alone, according to the jury
    items: Ids | None = None  # the shortlist; None: all items
    juries: int | None = None  # how many juries appraise the answer; None: one its bound, another its value
    jurors: Participation | None = None  # how clients decide by coins who compares sets; None: a jury is drawn
    variance: float = 1.0  # of the singletons, for values of variance 1: one over the answers; 0: those of everyone

    @property
    def matroid(self) -> Matroid:
        return self.talk.matroid

    @property
    def gain_error(self) -> float:
        """How far fixed point, and weights as whole numbers, may move the mean of a gain if everyone answers."""
        return float(self.ranges.single * (0.5 / FINE + self.talk.population.slack))

    def find_lost(self, comparisons: int) -> float:
        """What so many comparisons of sets by everyone may lose for the same reason."""
        return float(comparisons * self.ranges.whole * (1 / FINE + 2 * self.talk.population.slack))

    @property
    def exact(self) -> bool:
        """Whether the singletons are certainly those of everyone."""
        return self.variance == 0

    @property
    def like(self) -> float:
        """About what an item is worth to a client that likes it."""
        return self.ranges.mean_single or self.ranges.single

    def count_likes(self, variance: float) -> float:
        """In how many answers of such a mean an item of the most popular base is liked, on average."""
        base = self.matroid.first_base(np.argsort(-self.singletons, kind="stable"))
        if not len(base) or not variance:
            return inf
        return float(self.singletons[base].mean()) / self.like / variance

    def make_promise(self, rounds: int, cohort: int | None, *, bases: bool, **settings: Any) -> Continuous:
        """The guarantee of continuous greedy, with what the theorems need to know."""
        population = self.talk.population
        sampled = None if population.asks_everyone(cohort) else cohort
        rank, n_items = self.matroid.rank, self.matroid.n_items
        off = 0.0 if bases else self.gain_error
        known = rank, n_items, rounds, sampled, population.n_clients, population.alike, bases
        return Continuous(*known, off=off, **settings)


@dataclass(frozen=True)
class Point:
    """The result of a search that ends at a point of the polytope."""

    x: Array
    merit: Array  # what items seemed to be worth during the search: decides ties and gaps
    promise: Promise | None
    on_the_way: Array | None = None  # a point before x at which the bound on the optimum is likely to be low
    asked: tuple[PointQuery, ...] = ()  # the questions of all rounds, where a simulation is to measure what they found


@dataclass(frozen=True)
class ChosenSet:
    """The result of a search that ends with a set."""

    members: Mask
    promise: Promise | None
    order: Ids  # in which items were taken
    merit: Array | None = None  # what items gain next to the set, as last known
    greedy: bool = False  # whether each was certainly the best of them when it was taken
    alone: Array | None = None  # what items are worth alone, if that is known better than before the search
    others: Mask | None = None  # other sets that may be better

    @property
    def candidates(self) -> Mask:
        """All sets, the one found first."""
        return self.members[None, :] if self.others is None else np.vstack((self.members[None, :], self.others))


SearchResult = Point | ChosenSet


def draw_random_bases(matroid: Matroid, coins: PublicCoins) -> Mask:
    """Random allowed sets that answers are compared with."""
    n, rng = matroid.n_items, coins.generator()
    return np.array([indicator(n, matroid.first_base(rng.permutation(n))) for _ in range(RANDOM_BASES)])


def order_items(weights: Array, coins: PublicCoins, then: Array | None = None) -> Ids:
    """Items by weight, largest first; ties are broken by `then`, and then by coins, so that no item is favoured."""
    second = np.zeros_like(weights) if then is None else then
    return np.lexsort((coins.toss(np.arange(len(weights))), -second, -weights))


def ask_each_alone(talk: Talk, ranges: Ranges, size: int | None, items: Ids | None = None) -> Run[GainsReply]:
    """What each item is worth alone, which decides popularity and the shortlist; `items`: of these only."""
    question = ask_singletons(talk.population.n_items, ranges.single)
    question = question if items is None else replace(question, items=items)
    return (yield from talk.ask(question, size, Purpose.SINGLETONS, "each item alone"))


def shortlist_items(problem: SearchProblem, size: int) -> Ids:
    """The items that are worth most alone; always includes a whole base."""
    return layer_bases(problem.matroid, order_items(problem.singletons, problem.talk.coins(Stream.SHORTLIST)), size)


def layer_bases(matroid: Matroid, order: Ids, size: int) -> Ids:
    """The first base in this order, then the first of what is left, and so on: it has the best items of every group,
    and always a whole base.
    """
    nothing = np.zeros(matroid.n_items, dtype=bool)
    return layer_additions(matroid, order, nothing, max(size, matroid.rank))


def layer_additions(matroid: Matroid, order: Ids, members: Mask, size: int) -> Ids:
    """The first items that can be added to the members, then the first of what is left, and so on; at most `size`."""
    found = list[Ids]()
    while size > 0 and len(layer := find_additions(matroid, order, members)[:size]):
        found.append(layer)
        size -= len(layer)
        order = order[~indicator(matroid.n_items, layer)[order]]
    return np.sort(np.concatenate(found)) if found else order[:0]


def find_additions(matroid: Matroid, order: Ids, members: Mask) -> Ids:
    """Items in this order that can be added to the members, one after the other, as long as the matroid allows."""
    fixed = np.flatnonzero(members)
    first = np.concatenate((fixed, order[~members[order]])) if len(fixed) else order
    rest = np.flatnonzero(~indicator(matroid.n_items, first))  # a matroid wants all items; these come last
    base = matroid.first_base(np.concatenate((first, rest)))
    return order[indicator(matroid.n_items, base[~members[base]])[order]]
