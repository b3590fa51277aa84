"""Federated continuous greedy: Algorithms 1 and 2 of the paper, and kinds of answers that improve the first."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from folkmoot.algorithms.federated.method import Federated
from folkmoot.algorithms.federated.search import Point, SearchProblem, order_items
from folkmoot.conversation.outcome import Outcome
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Array, indicator
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.checking import COUNTS, MOST_WORK
from folkmoot.questions.gradient import Gradient, PointQuery, Votes
from folkmoot.questions.local import LocalBase, LocalWalk, WholeBase, WholeWalk
from folkmoot.questions.query import FINE_BITS
from folkmoot.theory.certificate import bound_from_gains
from folkmoot.theory.guarantee import DELTA
from folkmoot.theory.multilinear import samples_needed

VOTE_BITS = 12  # in which the worth of a vote is written
Answer = Literal["quantized", "gradient", "base", "votes"]
Question = Callable[[Array, PublicCoins], PointQuery]  # from x and the coins of its round


Direction = Callable[[Array, int], Array]  # from the mean of a round, and its number


def ask_gradient(
    problem: SearchProblem, bits: int | None, x: Array, coins: PublicCoins, norm: float | None = None
) -> Gradient:
    """The question for the gradient, rounded to `bits` bits by a coin; None: in fixed point."""
    ranges, fine = problem.ranges, bits is None
    return Gradient(
        x=x,
        whole=ranges.whole,
        coins=coins,
        items=problem.items,
        single=ranges.single,
        bits=FINE_BITS if bits is None else bits,
        stochastic=not fine,
        norm=None if norm is None else float(norm),
    )


@dataclass(frozen=True)
class Way:
    """Where continuous greedy ended, and what it learned."""

    x: Array
    merit: Array  # the mean answer over the rounds
    lowest: Array  # the point before x at which the bound on the optimum was lowest
    asked: tuple[PointQuery, ...]


def walk(problem: SearchProblem, question: Question, cohort: int | None, rounds: int, direction: Direction) -> Run[Way]:
    """Algorithm 1: x ← x + Δ/T, where Δ follows from the sum of the answers."""
    x = np.zeros(problem.matroid.n_items)
    merit = np.zeros_like(x)
    bounds: list[tuple[float, Array]] = []
    asked: list[PointQuery] = []
    for t in range(rounds):
        reply = yield from problem.talk.ask(partial(question, x), cohort, Purpose.SEARCH, f"step {t + 1}")
        bounds.append((bound_from_gains(reply.value, (1 - x) * reply.mean, problem.matroid), x))
        x = np.minimum(x + direction(reply.mean, t) / rounds, 1.0)
        merit += reply.mean / rounds
        asked.append(reply.question)
    lowest = min(range(rounds), key=lambda t: bounds[t][0])
    return Way(x, merit, bounds[lowest][1], tuple(asked))


def take_mean(mean: Array, _: int) -> Array:
    """The paper's Δ: the mean of the clients' own bases."""
    return mean


@dataclass
class BestBase:
    """The best base by the gradient averaged over the rounds so far, with weight rho(t) for the newest.

    Old gradients are a little too large (gradients fall as x grows), but their average is far less noisy. Only items
    with a positive gain are taken, and ties are broken by coins.
    """

    matroid: Matroid
    rho: Callable[[int], float]
    coins: PublicCoins
    average: Array | float = 0.0

    def __call__(self, mean: Array, t: int) -> Array:
        self.average = (1 - self.rho(t)) * self.average + self.rho(t) * mean
        order = order_items(self.average, self.coins.branch(t))
        base = indicator(self.matroid.n_items, self.matroid.first_base(order))
        return (base & (self.average > 0)).astype(np.float64)


@dataclass(frozen=True, repr=False)
class FedCG(Federated):
    """Federated continuous greedy (Algorithm 1): `rounds` rounds, each with `cohort` clients (None: everyone).

    What a client answers: "quantized", its gradient at x rounded to `bits` bits by a coin; "gradient", the
    same in fixed point; "votes", a handful of items drawn in proportion to it; "base", as in the paper, the
    client's own best base. With the first three the server takes the best base of the sum, so that different tastes
    do no harm; it averages over rounds, and `memory` is the weight of earlier ones. With "base" the
    result can be poor where tastes differ (docs/methods.md): use it for comparison.

    norm: the largest L2 norm of a client's gradient, so that no client can move the sum further; clients scale longer
    ones down ("quantized" and "gradient" only). No theorem covers such runs.

    whole_bases: with "base", clients name r items even where some of them add nothing, as the paper has it; otherwise
    they leave those out. measure: a simulation also measures what the theorem bounds (γ_t and D), over all clients and
    rounds, which takes about as long as asking everyone once a round.

    Settings common to all federated methods: see `Federated`.
    """

    rounds: int = 10
    cohort: int | None = None
    answer: Answer = "quantized"
    bits: int = 4
    memory: float = 0.5
    norm: float | None = None
    whole_bases: bool = False
    measure: bool = False

    def check(self, matroid: Matroid) -> None:
        super().check(matroid)
        as_count(self.rounds, "rounds")
        if self.cohort is not None:
            as_count(self.cohort, "cohort")
        if self.answer not in ("quantized", "gradient", "base", "votes"):
            raise InputError(
                f'needs "quantized", "gradient", "base" or "votes", got {self.answer!r}', argument="answer"
            )
        as_count(self.bits, "bits", most=32)
        if self.answer == "base":
            matroid.parameters()  # clients must know the matroid, so it must be storable
        check_switches(self)
        if self.whole_bases and self.answer != "base":
            raise InputError(f'is for the answer "base", not for {self.answer!r}', argument="whole_bases")
        if not 0 <= as_number(self.memory, "memory") < 1:
            raise InputError(f"needs a number from 0 to below 1, got {self.memory}", argument="memory")
        if self.norm is not None:
            as_number(self.norm, "norm", above=True)
            if self.answer not in ("quantized", "gradient"):
                raise InputError(f"is for gradients only, not for the answer {self.answer!r}", argument="norm")

    @property
    def cohort_size(self) -> int | None:
        return self.cohort

    @property
    def needs_sums(self) -> bool:
        return self.answer == "votes"

    def count_search_rounds(self, matroid: Matroid) -> int:
        return self.rounds

    def search(self, problem: SearchProblem) -> Run[Point]:
        direction: Direction = take_mean
        if self.answer != "base":
            least = 1 - self.memory
            direction = BestBase(
                problem.matroid, lambda t: max(least, 1 / (t + 1)), problem.talk.coins(Stream.DIRECTION)
            )
        way = yield from walk(problem, self._question(problem), self.cohort, self.rounds, direction)
        ranges, unit = problem.ranges, 1 / (2**self.bits - 1)
        reach, coin = {
            "quantized": (ranges.single, ranges.single * unit),
            "gradient": (ranges.single, 0.0),
            "votes": (ranges.single + ranges.sum / problem.matroid.rank, ranges.sum / problem.matroid.rank),
            "base": (1.0, 0.0),
        }[self.answer]
        base = self.answer == "base"
        memory = 0.0 if base else self.memory
        promise = problem.make_promise(self.rounds, self.cohort, bases=base, memory=memory, reach=reach, coin=coin)
        asked = way.asked if self.measure else ()
        return Point(way.x, way.merit, promise if self.norm is None else None, None if base else way.lowest, asked)

    def _question(self, problem: SearchProblem) -> Question:
        ranges, items = problem.ranges, problem.items

        def question(x: Array, coins: PublicCoins) -> PointQuery:
            if self.answer == "base":
                kind = WholeBase if self.whole_bases else LocalBase
                return kind(
                    x=x, whole=ranges.whole, coins=coins, items=items, matroid=problem.matroid, single=ranges.single
                )
            if self.answer == "votes":
                votes = problem.matroid.rank
                return Votes(
                    x=x, whole=ranges.whole, coins=coins, items=items, votes=votes, sum=ranges.sum, bits=VOTE_BITS
                )
            return ask_gradient(problem, self.bits if self.answer == "quantized" else None, x, coins, self.norm)

        return question


@dataclass(frozen=True, repr=False)
class FedCGPlus(Federated):
    """Practical federated continuous greedy (Algorithm 2): clients take `local_steps` local steps per round.

    `rounds` is the paper's T, the number of steps in total; there are T / local_steps rounds of communication (the
    paper's loop header stops short of that). Local gradients are exact, or estimated from `samples` sets (the paper's
    m), or from as many as `sigma` and `delta` need. Walks leave the cube; gradients are taken at min(x, 1). Like
    FedCG(answer="base"), it does worse where tastes differ.

    sigma: how far a number of a sampled gradient may be off, as a share of the most that an item is worth to any
    client. delta: the chance that the theorem's promise fails. whole_bases: clients name r items in every step, as in
    the paper, even where some of them add nothing. measure: a simulation also measures what the theorem bounds (γ_t, D,
    L_t, Q and σ), over all clients and rounds, which takes about twice as long as asking everyone once a round.

    Settings common to all federated methods: see `Federated`.
    """

    rounds: int = 50
    local_steps: int = 5
    cohort: int | None = None
    samples: int | None = None
    sigma: float | None = None
    delta: float = DELTA
    whole_bases: bool = False
    measure: bool = False

    def check(self, matroid: Matroid) -> None:
        super().check(matroid)
        check_switches(self)
        if self.sigma is not None:
            as_number(self.sigma, "sigma", above=True)
            if self.samples is not None:
                raise InputError("follows from sigma and delta; give either", argument="samples")
        if not 0 < as_number(self.delta, "delta") < 1:
            raise InputError(f"needs a probability between 0 and 1, got {self.delta}", argument="delta")
        as_count(self.rounds, "rounds")
        as_count(self.local_steps, "local_steps")
        if self.rounds % self.local_steps:
            raise InputError(
                f"{self.local_steps} steps per round do not divide the {self.rounds} steps in total",
                remedy=f"try rounds={self.local_steps * max(round(self.rounds / self.local_steps), 1)}",
                argument="local_steps",
            )
        matroid.parameters()  # clients must know the matroid, so it must be storable
        for name in ("cohort", "samples"):
            if getattr(self, name) is not None:
                as_count(getattr(self, name), name)

    @property
    def cohort_size(self) -> int | None:
        return self.cohort

    def count_search_rounds(self, matroid: Matroid) -> int:
        return self.rounds // self.local_steps

    def count_samples(self, n_items: int, n_clients: int) -> int | None:
        """The paper's m = O(log(TK/δ)/σ²), with the constant of Hoeffding's inequality and a union bound over all n
        numbers of all T·K gradients (docs/mathematics.md). Half of δ is left for the drawing of clients.
        """
        if self.sigma is None:
            return self.samples
        gradients = self.rounds * (self.cohort or n_clients)
        samples = samples_needed(self.sigma, self.delta / 2 / gradients, n_items)
        if samples * self.local_steps > MOST_WORK or samples > COUNTS["samples"][1]:
            raise InputError(f"{self.sigma:g} needs {samples:,} sets per gradient, which is too much", argument="sigma")
        return samples

    def run(self, talk: Talk) -> Run[Outcome]:
        self.count_samples(talk.matroid.n_items, talk.population.n_clients)  # refuses too many before anybody is asked
        return (yield from super().run(talk))

    def search(self, problem: SearchProblem) -> Run[Point]:
        ranges = problem.ranges
        samples = self.count_samples(problem.matroid.n_items, problem.talk.population.n_clients)
        kind = WholeWalk if self.whole_bases else LocalWalk

        def question(x: Array, coins: PublicCoins) -> PointQuery:
            return kind(
                x=x,
                whole=ranges.whole,
                coins=coins,
                items=problem.items,
                samples=samples,
                matroid=problem.matroid,
                single=ranges.single,
                steps=self.local_steps,
            )

        talks = self.rounds // self.local_steps
        way = yield from walk(problem, question, self.cohort, talks, take_mean)
        promise = problem.make_promise(
            talks, self.cohort, bases=True, local_steps=self.local_steps, samples=samples, delta=self.delta
        )
        return Point(way.x, way.merit, promise, asked=way.asked if self.measure else ())


def check_switches(method: FedCG | FedCGPlus) -> None:
    """Refuse what is neither true nor false."""
    for name in ("whole_bases", "measure"):
        if not isinstance(getattr(method, name), bool):
            raise InputError(f"needs true or false, got {getattr(method, name)!r}", argument=name)
