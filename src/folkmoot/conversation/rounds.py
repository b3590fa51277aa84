"""One round: the server asks a cohort a question and learns the sum of the answers, nothing else.

A method is a generator of `Ask`s that is sent `Sum`s; an engine turns an `Ask` into a `Sum`. `drive` brings the
two together.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, sqrt
from typing import Any, Protocol, TypeVar

import numpy as np

from folkmoot.foundation.coding import key_of
from folkmoot.foundation.errors import InputError, RoundFailed
from folkmoot.foundation.sets import Array, Ids, Mask, freeze
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective
from folkmoot.questions.query import Query
from folkmoot.theory.confidence import Grid, Tail, bound_thinning, highest_mean, highest_share, mean_interval

T = TypeVar("T")

RING_BITS = 63  # sums are kept in signed 64-bit integers
WEIGHT_BITS = 36  # of all weights together, when everybody answers and weights are not alike
ATTEMPTS = 3  # a round that loses too many clients is asked again, of others


@dataclass(frozen=True, eq=False)
class Cohort:
    """Who is asked: client numbers (None: everyone) and how often each counts (None: once)."""

    ids: Ids | None
    times: Ids | None
    size: int  # distinct clients
    weight: int  # how often they count together
    everyone: bool = False

    @classmethod
    def of(cls, ids: Ids, times: Ids | None) -> "Cohort":
        weight = len(ids) if times is None else int(times.sum())
        return cls(freeze(ids), None if times is None else freeze(times), len(ids), weight)

    def dealt(self, size: int, key: int) -> list["Cohort"]:
        """All clients, in parts of at most so many each, at random and about equally large."""
        ids, order = ids_of(self), np.random.default_rng(key).permutation(self.size)
        hands = (np.sort(hand) for hand in np.array_split(order, -(-self.size // size)))
        return [Cohort.of(ids[hand], None if self.times is None else self.times[hand]) for hand in hands]

    def mark_present(self, ids: Ids) -> Mask | None:
        """Which of the cohort these are, in its order; None: all of it."""
        if len(ids) == self.size:
            return None
        marks = np.zeros(self.size, dtype=bool)
        marks[ids if self.ids is None else np.searchsorted(self.ids, ids)] = True
        return freeze(marks)

    def parameters(self) -> dict[str, Any]:
        """Everyone is who they are by the population; others are named."""
        named = {} if self.everyone else {"ids": self.ids, "times": self.times}
        return {"size": self.size, "weight": self.weight, "everyone": self.everyone, **named}


@dataclass(frozen=True, eq=False)
class Population:
    """What the server knows beforehand: how many clients and items there are, and how much each client counts."""

    n_items: int
    n_clients: int
    weights: Array | None = None  # None: all alike
    closed_form: bool = True  # whether clients have exact gradients
    most: float | None = None  # no set is worth more to a client, as everybody knows; None: nobody knows

    @classmethod
    def of(cls, objective: Objective) -> "Population":
        weights = objective.client_weights
        alike = bool((weights == weights[0]).all())
        return cls(
            objective.n_items, objective.n_clients, None if alike else weights, objective.closed_form, objective.most
        )

    def parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("n_items", "n_clients", "weights", "closed_form", "most")}

    @cached_property
    def everyone(self) -> Cohort:
        """All clients, each as often as it weighs (in whole numbers)."""
        if self.weights is None:
            return Cohort(None, None, self.n_clients, self.n_clients, everyone=True)
        times = np.rint(self.weights * (2.0**WEIGHT_BITS / self.weights.sum())).astype(np.int64)
        ids = np.flatnonzero(times)
        return replace(Cohort.of(ids, times[ids]), everyone=True)

    @property
    def alike(self) -> float:
        """1/Σp_i²: as many clients of equal weight would make means as steady."""
        if self.weights is None:
            return float(self.n_clients)
        return float(self.weights.sum()) ** 2 / float(self.weights @ self.weights)

    @property
    def slack(self) -> float:
        """How much of the weight whole numbers may misplace, when everybody answers."""
        return 0.0 if self.weights is None else self.n_clients * 2.0**-WEIGHT_BITS

    def asks_everyone(self, size: int | None) -> bool:
        """Whether a cohort of this size is everybody there is."""
        return size is None or size >= self.n_clients

    def draw(self, size: int | None, key: int, without: Ids | None = None) -> Cohort:
        """`size` clients at random, each expected size · p_i times; everyone, if there are no more than that.

        Where all weigh the same this is a sample without repeats, whose means vary less than those of
        independent draws; else they are `size` independent draws from p, and who is drawn twice counts twice.
        `without`: clients to leave out, where all weigh the same.
        """
        if self.asks_everyone(size):
            return self.everyone
        assert size is not None
        rng = np.random.default_rng(key)
        if self.weights is None:
            if without is None:
                return Cohort.of(np.sort(rng.choice(self.n_clients, size, replace=False, shuffle=False)), None)
            others = np.setdiff1d(np.arange(self.n_clients), without)
            return Cohort.of(np.sort(rng.choice(others, size, replace=False, shuffle=False)), None)
        assert without is None
        some = np.flatnonzero(self.weights)
        ends = np.cumsum(self.weights[some])
        drawn = np.searchsorted(ends, rng.random(size) * ends[-1], side="right")
        ids, times = np.unique(some[np.minimum(drawn, len(some) - 1)], return_counts=True)
        return Cohort.of(ids, times)

    def sample(self, cohort: Cohort, answer: "Sum") -> "Sample":
        """How those who answered stand for everyone."""
        everyone = self.everyone
        if self.weights is None:  # who answers is as good as drawn without repeats
            return Sample(self, answer.clients, self.n_clients, answer.clients / self.n_clients)
        lost = cohort.size - answer.clients, cohort.size, answer.asked - answer.count
        if cohort.everyone:
            return Sample(self, 0, None, answer.count / everyone.weight, *lost)
        return Sample(self, answer.count, None, 0.0, *lost)


@dataclass(frozen=True, eq=False)
class Sample:
    """How the clients behind a sum stand for everyone, if who is missing is so by chance."""

    population: Population
    draws: int  # by chance; 0: only who is missing is
    among: int | None  # drawn without repeats from so many; None: draws are independent
    heard: float  # the share of everybody's weight that is in the sum for certain
    missing: int = 0  # clients, where weights differ: some take more out of the sum than others
    asked: int = 1  # those and the ones who answered
    unanswered: int = 0  # draws that went to them

    @property
    def complete(self) -> bool:
        """Whether everybody is in it."""
        return self.heard == 1.0

    def shift(self, delta: float) -> float:
        """By how much, of the range, missing clients may move a mean where weights differ; except with
        probability delta. A client that is drawn thirty times is missing thirty times at once.
        """
        if not self.missing:
            return 0.0
        chance = highest_share(self.missing, self.asked, delta / 3)
        off = bound_thinning(self.population.weights, self.population.n_clients, chance, delta / 3)
        if self.draws:  # nor by more than their weight, which the draws that went to them tell
            off = min(off, highest_share(self.unanswered, self.draws + self.unanswered, delta / 3))
        return off

    def interval(self, mean: float, grid: Grid, counts: Ids, alpha: float, key: int) -> tuple[float, float]:
        """Limits of the mean over everyone, from the mean over the sample and the histogram of its values by coins
        on a grid; except with probability alpha.
        """
        if self.complete:
            return mean, mean
        top, spent = grid.top, alpha / 50
        off = grid.coarsest * sqrt(log(2 / spent) / (2 * self.population.alike))  # all coins together (Hoeffding)
        if self.missing:
            off, spent = off + top * self.shift(alpha / 4), spent + alpha / 4
        low = high = mean
        if self.draws:
            low, high = mean_interval(grid.points, counts, top, population=self.among, alpha=alpha - spent, key=key)
        return max(low - off, self.heard * mean), min(high + off, self.heard * mean + (1 - self.heard) * top)

    def highest(self, mean: float, draws: int, tail: Tail, delta: float) -> float:
        """No mean over everyone is higher of which the mean over these draws (a sample like this, or several) is at
        most `mean`; except with probability delta.
        """
        certain = self.heard * mean + (1 - self.heard) * tail.top
        if self.complete:
            return mean
        spent = delta / 4 if self.missing else 0.0
        off = tail.top * self.shift(spent) if self.missing else 0.0
        by_chance = highest_mean(mean, draws, tail, delta - spent) if draws else mean
        return min(by_chance + off, certain, max(tail.mean, mean))


@dataclass(frozen=True, eq=False)
class Ask:
    """A question to a cohort."""

    query: Query
    cohort: Cohort
    label: str  # for people: what this round is for
    number: int  # of the round, from 0

    def parameters(self) -> dict[str, Any]:
        return {"query": self.query, "cohort": self.cohort, "label": self.label, "number": self.number}

    @property
    def can_be_repeated(self) -> bool:
        """Whether others can be asked if the round is lost: not if all are asked, or some count more than others."""
        return not self.cohort.everyone and self.cohort.times is None

    @property
    def span(self) -> int:
        """How far the largest sum of these answers lies above the smallest."""
        return (self.query.bound - self.query.lowest) * self.cohort.weight

    @property
    def ring_bits(self) -> int:
        """The smallest ring that holds any sum of these answers; refused where none does.

        Numbers below 0 are sent as what they are above the lowest, and that is taken off the sum again.
        """
        bits = self.span.bit_length()
        if bits > RING_BITS:
            raise InputError(
                f"{self.label}: {self.cohort.weight:,} answers of up to {self.query.bound:,} need {bits} bits, "
                f"the ring has {RING_BITS}",
                remedy="ask fewer clients or fewer bits",
            )
        return bits


@dataclass(frozen=True, eq=False)
class Sum:
    """What the server learns: the sum, how often clients counted in it, how many they were, and who.

    A round that is lost has no sum: zeros, and a count of 0. It is spent if clients had sent their answers by then;
    else too few were there to begin with, and nobody had said anything.
    """

    total: Ids
    count: int
    clients: int
    asked: int  # what the count would be had everyone asked answered
    lost: bool = False
    present: Mask | None = None  # who of the cohort is in the sum, in its order; None: all of them
    spent: bool = False

    def __post_init__(self) -> None:
        freeze(self.total)
        if self.present is not None:
            freeze(self.present)

    def same(self, other: "Sum") -> bool:
        """Whether both are the same sum, over the same clients."""
        alike = (self.present is None) == (other.present is None)
        if alike and self.present is not None and other.present is not None:
            alike = np.array_equal(self.present, other.present)
        return alike and self.count == other.count and np.array_equal(self.total, other.total)


Run = Generator[Ask, Sum, T]


class Engine(Protocol):
    """Turns a question into the sum of the answers."""

    @property
    def population(self) -> Population: ...

    def __call__(self, ask: Ask) -> Sum: ...


def drive(run: Run[T], engine: Callable[[Ask], Sum]) -> T:
    """Ask the engine whatever the method asks, until it has its result."""
    answer: Sum | None = None
    while True:
        try:
            ask = next(run) if answer is None else run.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        ask.ring_bits  # noqa: B018 - refuses before anyone is asked
        answer = check_sum(ask, engine(ask))


def check_sum(ask: Ask, answer: Sum) -> Sum:
    """An engine's answer, if it can be one."""
    fits = isinstance(answer, Sum) and answer.total.shape == (ask.query.length,) and answer.total.dtype == np.int64
    if fits and not answer.lost:
        fits = 0 <= answer.count <= ask.cohort.weight and answer.clients <= ask.cohort.size
        fits = fits and int(answer.total.min()) >= ask.query.lowest * answer.count
        fits = fits and int(answer.total.max()) <= ask.query.bound * answer.count
    if not fits:
        raise RoundFailed(f"{ask.label}: the engine's answer is not a sum of answers to this question")
    if not answer.lost and not _names_clients(ask.cohort, answer):
        raise RoundFailed(f"{ask.label}: the engine does not say which {answer.clients:,} clients are in its sum")
    return answer


def _names_clients(cohort: Cohort, answer: Sum) -> bool:
    """Whether a sum says who is in it."""
    if answer.present is None:
        return answer.clients == cohort.size
    fits = answer.present.shape == (cohort.size,) and answer.present.dtype == bool
    return fits and int(answer.present.sum()) == answer.clients


def ids_of(cohort: Cohort) -> Ids:
    """The numbers of all its clients, written out."""
    return np.arange(cohort.size) if cohort.ids is None else cohort.ids


def join_sums(cohorts: list[Cohort], sums: list[Sum]) -> tuple[Cohort, Sum]:
    """Cohorts that have nobody in common as one, and the sum of their sums."""
    ids = np.concatenate([ids_of(one) for one in cohorts])
    order = np.argsort(ids)
    times = [one.times for one in cohorts if one.times is not None]
    present = [
        np.broadcast_to(True if said.present is None else said.present, one.size)
        for one, said in zip(cohorts, sums, strict=True)
    ]
    return Cohort.of(ids[order], np.concatenate(times)[order] if times else None), Sum(
        np.sum([said.total for said in sums], axis=0),
        count=sum(said.count for said in sums),
        clients=sum(said.clients for said in sums),
        asked=sum(said.asked for said in sums),
        present=np.concatenate(present)[order],
    )


class Talk:
    """The server's side of a conversation: whom it asks, and the keys of the coins."""

    def __init__(self, population: Population, matroid: Matroid, seed: int) -> None:
        self.population, self.matroid, self.seed = population, matroid, seed
        self.rounds = 0
        self.cohort = population.everyone  # who was asked last

    def ask(self, question: Query | Callable[[int], Query], size: int | None, label: str) -> Run[Sum]:
        """Ask `size` fresh clients; if too few answer, ask others. A question with coins is made with their key.

        Whoever sent an answer to a round that was lost is not asked the same again: two sums over nearly the same
        clients would show the answers of those who are in only one of them.
        """
        sent: Ids | None = None
        for _ in range(ATTEMPTS):
            number, key = self.rounds, key_of(self.seed, self.rounds)
            self.rounds += 1
            query = question if isinstance(question, Query) else question(key)
            self.cohort = self.population.draw(size, key_of(key, 1), without=sent)
            ask = Ask(query, self.cohort, label, number)
            answer = yield ask
            if not answer.lost:
                return answer
            if answer.spent:
                sent = self._spent(size, label, sent)
        raise self._explain_failure(ask, answer)

    def ask_juries(
        self, question: Query | Callable[[int], Query], size: int | None, count: int, label: str
    ) -> Run[Sum]:
        """Ask `count` juries of `size` clients each, in a round each, and add up their sums.

        They are drawn as one large jury, and stand for everyone as it would: nobody is in two of them. A jury that is
        lost is asked again if nobody had sent an answer; else others take its place.
        """
        if size is None:
            return (yield from self.ask(question, None, label))
        key = key_of(self.seed, self.rounds)
        whole = self.population.draw(count * size, key_of(key, 1))
        dealt = whole.dealt(size, key_of(key, 2))
        if len(dealt) == 1:
            return (yield from self.ask(question, count * size, label))
        query = question if isinstance(question, Query) else question(key)
        drawn = ids_of(whole)  # and whoever takes a place
        juries, sums = list[Cohort](), list[Sum]()
        for at, jury in enumerate(dealt):
            self.cohort, part = jury, f"{label}, jury {at + 1} of {len(dealt)}"
            for _ in range(ATTEMPTS):
                number, key = self.rounds, key_of(self.seed, self.rounds)
                self.rounds += 1
                ask = Ask(query, self.cohort, part, number)
                answer = yield ask
                if not answer.lost:
                    break
                if answer.spent:
                    drawn = self._spent(jury.size, part, drawn)
                    self.cohort = self.population.draw(jury.size, key_of(key, 1), without=drawn)
            else:
                raise self._explain_failure(ask, answer)
            juries.append(self.cohort)
            sums.append(answer)
            drawn = drawn if self.cohort is jury else np.union1d(drawn, ids_of(self.cohort))
        cohort, answer = join_sums(juries, sums)
        self.cohort = replace(cohort, everyone=whole.everyone)
        return answer

    def _explain_failure(self, ask: Ask, answer: Sum) -> RoundFailed:
        again = "" if answer.spent else "; a stored run can be resumed when more are there"
        return RoundFailed(
            f"{ask.label}: too few clients answered, {ATTEMPTS} times in a row (the last time {answer.clients:,} of "
            f"{ask.cohort.size:,}){again}"
        )

    def _spent(self, size: int | None, label: str, sent: Ids | None) -> Ids:
        """Everybody who is not to be asked again; refused where no others can be."""
        ids, population = self.cohort.ids, self.population
        if population.asks_everyone(size):
            nobody_else = "everyone was asked"
        elif population.weights is not None:
            nobody_else = "where weights differ, leaving them out would bias the sum"
        else:
            assert size is not None
            assert ids is not None
            sent = ids if sent is None else np.union1d(sent, ids)
            if population.n_clients - len(sent) >= size:
                return sent
            nobody_else = f"only {population.n_clients - len(sent):,} others are left"
        raise RoundFailed(
            f"{label}: the round was lost after clients had sent their answers, and {nobody_else}; asking the same "
            "clients again, over other survivors, could show one client's answer by subtraction (ask smaller cohorts)"
        )

    def sample(self, answer: Sum) -> Sample:
        """How those who answered last stand for everyone."""
        return self.population.sample(self.cohort, answer)
