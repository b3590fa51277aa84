"""Federated discrete greedy: Algorithm 3, with the importance factors of Algorithms 4 and 5."""

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from folkmoot.algorithms.federated import Federated
from folkmoot.algorithms.problem import Chosen, Problem, in_order, layered, singleton_means
from folkmoot.coding import key_of
from folkmoot.errors import InputError
from folkmoot.guarantee import Discrete, kappa_in_theory
from folkmoot.inputs import as_count, as_number
from folkmoot.matroids.matroid import Matroid
from folkmoot.matroids.simple import Uniform
from folkmoot.queries.gains import Gains, Importance
from folkmoot.rounds import Run
from folkmoot.sets import Array, Ids, Mask

SHORT = 10  # items a rank, over which importance is looked at with "shortlist"


@dataclass(frozen=True, repr=False)
class DiscreteGreedy(Federated):
    """Add the item of the largest summed gain, `batch` items a round (Algorithm 3).

    Every client is asked, and answers with probability κ_i = min(1, κ·w_i). Either `epsilon` gives κ as in
    theory, which makes nearly everybody answer, or `expected_answers` a round do. Importance w_i: "paper" (the
    default with epsilon), the largest share that the client has in an item; "shortlist" (the default otherwise),
    the same over the most popular items only, so that rare ones do not soak up the weight; "uniform", all alike.
    Who answers is visible: to be important is to answer often.

    Settings common to all federated methods: see `Federated`.
    """

    epsilon: float | None = None
    expected_answers: int | None = None
    importance: Literal["paper", "uniform", "shortlist"] | None = None
    batch: int = 1

    def check(self, matroid: Matroid) -> None:
        super().check(matroid)
        if (self.epsilon is None) == (self.expected_answers is None):
            given = "neither was" if self.epsilon is None else "both were"
            raise InputError(f"epsilon: give one of epsilon and expected_answers; {given} given")
        if self.epsilon is not None and not 1e-6 <= as_number(self.epsilon, "epsilon") < 1:
            raise InputError(f"epsilon: needs a number between 0.000001 and 1, got {self.epsilon}")
        if self.expected_answers is not None:
            as_count(self.expected_answers, "expected_answers")
        if self.importance not in (None, "paper", "uniform", "shortlist"):
            raise InputError(f'importance: needs "paper", "uniform" or "shortlist", got {self.importance!r}')
        as_count(self.batch, "batch")

    @property
    def asked(self) -> int | None:
        return self.expected_answers

    @property
    def _importance(self) -> str:
        """As the theorem has it where κ is the theorem's; else as it works best."""
        return self.importance or ("shortlist" if self.epsilon is None else "paper")

    def searching(self, matroid: Matroid) -> int:
        return -(-matroid.rank // self.batch) + (0 if self._importance == "uniform" else 2)

    def search(self, problem: Problem) -> Run[Chosen]:
        matroid = problem.matroid
        alone, kappa, inverse, most = yield from self._participation(problem)
        members = np.zeros(matroid.n_items, dtype=bool)
        taken: list[int] = []
        whole = most / problem.ranges.single * problem.ranges.whole
        while (addable := np.flatnonzero(matroid._addable(members))).size:
            if problem.items is not None:
                addable = np.intersect1d(addable, problem.items)
                if not addable.size:
                    break
            at, items = members.copy(), addable

            def question(key: int, at: Mask = at, items: Ids = items) -> Gains:
                return Gains(members=at, items=items, most=most, key=key, kappa=kappa, inverse=inverse, whole=whole)

            answer = yield from problem.talk.ask(question, None, f"item {int(members.sum()) + 1}")
            gains = question(0).mean(answer.total, answer.asked, matroid.n_items)
            order = in_order(gains, key_of(problem.talk.seed, -7, problem.talk.rounds), alone)
            order = order[np.isin(order, addable)]
            for item in order[: self.batch]:
                if matroid._addable(members)[item]:
                    members[item] = True
                    taken.append(int(item))
        promise = Discrete(
            matroid.rank,
            matroid.n_items,
            kappa,
            0.1 if self.epsilon is None else self.epsilon,
            isinstance(matroid, Uniform),
            self._importance == "paper",
            self.batch,
        )
        return Chosen(members, promise, np.array(taken, dtype=np.int64))

    def _participation(self, problem: Problem) -> Run[tuple[Array, float | None, Array | None, float]]:
        """Singleton means, κ, 1/O, and the largest number that an answer can hold."""
        talk, single, n_items = problem.talk, problem.ranges.single, problem.matroid.n_items
        everyone = talk.population.everyone
        heaviest = 1 if everyone.times is None else int(everyone.times.max())
        if self._importance == "uniform":
            alone = problem.singletons
            kappa = 1.0 if self.expected_answers is None else self.expected_answers / everyone.size
            return (alone, None, None, single) if kappa >= 1 else (alone, kappa, None, heaviest * single / kappa)
        alone = problem.singletons
        if problem.jury is not None:
            alone = yield from singleton_means(talk, problem.ranges, None)
        sums = alone * everyone.weight  # O: sums on both sides of a share, never a mean on one
        looked_at = sums > 0  # what is worth nothing to anybody is nobody's share
        if self._importance == "shortlist":
            size = self.shortlist if self.shortlist is not None else SHORT * problem.matroid.rank
            short = layered(problem.matroid, in_order(alone, key_of(talk.seed, -8)), size)
            looked_at &= np.isin(np.arange(n_items), short)
        inverse = np.divide(1.0, sums, out=np.zeros(n_items), where=looked_at)
        if self.expected_answers is None:
            kappa = kappa_in_theory(problem.matroid.rank, n_items, self.epsilon or 0.1)
        else:
            histogram = yield from talk.ask(Importance(inverse=inverse), None, "importance of clients")
            kappa = Importance.kappa(histogram.total, self.expected_answers)
        if kappa == inf:
            return alone, None, None, single
        # times_i·f_i(e)/κ_i ≤ O_e/κ by the definition of w_i; an item outside the shortlist may need more.
        most = max(heaviest * single, float(sums.max()) / kappa)
        return alone, kappa, inverse, most
