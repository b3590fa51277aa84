"""Federated discrete greedy: Algorithm 3, with the importance factors of Algorithms 4 and 5."""

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.algorithms.federated.method import Federated
from folkmoot.algorithms.federated.search import ChosenSet, SearchProblem, ask_each_alone, layer_bases, order_items
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number, as_weights
from folkmoot.foundation.sets import Array, Ids, Mask, as_array
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.gains import Gains, Importance
from folkmoot.questions.participation import FLOOR, NO_FLOOR, Participation
from folkmoot.questions.query import FINEST
from folkmoot.theory.guarantee import Discrete, epsilon_in_theory, kappa_in_theory

SHORT = 10  # items per rank, over which "shortlist" computes importance
HEADROOM = 16  # factor on the range that a jury found: answers divided by a chance have bits to spare
Kind = Literal["paper", "uniform", "shortlist", "scale"]


@dataclass(frozen=True, repr=False)
class DiscreteGreedy(Federated):
    """Add the items with the largest summed gains, `batch` items per round (Algorithm 3).

    Every client is asked; client i answers with probability κ_i and divides its answer by κ_i. Either about
    `expected_answers` clients answer per round, or `epsilon` sets κ as the proof needs it
    (`guarantee.kappa_in_theory`), which makes nearly everyone answer, or `kappa` is given. κ_i follows from the
    importance of client i: "scale" (the default), what its best item is worth to it; "uniform", its weight alone;
    "paper" (the default with epsilon or kappa), the largest share that it has in an item; "shortlist", the same over
    the most popular items. All are mixed with "uniform", so that every client has a chance to answer: sums are
    unbiased, whatever the importance. With kappa they are not mixed: κ_i = min(κ·w_i, 1), as printed in Algorithm 3.
    The server sees who answers, and important clients answer often.

    sample: "fresh" (the default): new coins every round; "fixed" (the default with epsilon): the same clients with
    the same weights in all rounds, as Theorem 4 assumes. singletons: what each item is worth alone on average, where
    everybody knows it, as the average ratings of films: nobody is asked for it, which saves a round.

    Settings common to all federated methods: see `Federated`.
    """

    epsilon: float | None = None
    expected_answers: int | None = None
    importance: Kind | None = None
    batch: int = 1
    sample: Literal["fresh", "fixed"] | None = None
    kappa: float | None = None
    singletons: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.singletons is not None:  # a list or an array could be changed, and not be compared
            object.__setattr__(self, "singletons", tuple(as_array(self.singletons, "singletons").tolist()))

    def check(self, matroid: Matroid) -> None:
        super().check(matroid)
        given = [name for name in ("epsilon", "expected_answers", "kappa") if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) if given else "none"
            raise InputError(f"give one of epsilon, expected_answers and kappa; {said} given", argument="epsilon")
        if self.kappa is not None:
            as_number(self.kappa, "kappa", above=True)
            if self.importance not in (None, "paper"):
                raise InputError("is for the importance of the paper", argument="kappa")
        if self.singletons is not None:
            as_weights(self.singletons, matroid.n_items, "singletons", of="item")
        if self.epsilon is not None and not 1e-6 <= as_number(self.epsilon, "epsilon") < 1:
            raise InputError(f"needs a number between 0.000001 and 1, got {self.epsilon}", argument="epsilon")
        if self.expected_answers is not None:
            as_count(self.expected_answers, "expected_answers")
        if self.importance not in (None, *get_args(Kind)):
            raise InputError(
                f'needs "paper", "uniform", "shortlist" or "scale", got {self.importance!r}', argument="importance"
            )
        if self.sample not in (None, "fresh", "fixed"):
            raise InputError(f'needs "fresh" or "fixed", got {self.sample!r}', argument="sample")
        as_count(self.batch, "batch")

    @property
    def cohort_size(self) -> int | None:
        return self.expected_answers

    @property
    def public_singletons(self) -> Array | None:
        return None if self.singletons is None else np.array(self.singletons, dtype=np.float64)

    @property
    def _importance(self) -> str:
        """As in the paper if κ is given or follows from epsilon; otherwise what works best."""
        return self.importance or ("paper" if self.expected_answers is None else "scale")

    @property
    def _is_fixed(self) -> bool:
        return (self.sample or ("fresh" if self.epsilon is None else "fixed")) == "fixed"

    def count_search_rounds(self, matroid: Matroid) -> int:
        return -(-matroid.rank // self.batch) + (2 if self._importance in ("paper", "shortlist") else 0)

    def search(self, problem: SearchProblem) -> Run[ChosenSet]:
        matroid, talk, ranges = problem.matroid, problem.talk, problem.ranges
        alone, who = yield from self._participation(problem)
        everyone = talk.population.everyone
        heaviest = 1 if everyone.times is None else int(everyone.times.max())
        single, whole = ranges.single, ranges.whole
        if who is not None:
            single, whole = (HEADROOM * who.bound(heaviest, one) for one in (single, whole))
            if self.kappa is not None:  # there is no floor; f_i(S) ≤ Σ_{e∈S} f_i(e)
                single = HEADROOM * who.bound_own(heaviest, ranges.single)
                whole = matroid.rank * single
        error = problem.gain_error  # or, where answers are divided by chances, up to a unit from each client
        if who is not None:
            error += single / FINEST * everyone.size / everyone.weight
        fixed = talk.coins(Stream.FIXED_SAMPLE).key if self._is_fixed else None
        members = np.zeros(matroid.n_items, dtype=bool)
        taken: list[int] = []
        while (addable := np.flatnonzero(matroid.find_addable(members))).size:
            if problem.items is not None:
                addable = np.intersect1d(addable, problem.items)
                if not addable.size:
                    break
            at, items = members.copy(), addable

            def question(coins: PublicCoins, at: Mask = at, items: Ids = items) -> Gains:
                return Gains(members=at, items=items, most=single, who=who, draw=coins.key, sample=fixed, whole=whole)

            reply = yield from talk.ask(question, None, Purpose.SEARCH, f"item {int(members.sum()) + 1}")
            order = order_items(reply.mean, talk.coins(Stream.PICKS, talk.rounds), alone)
            order = order[np.isin(order, addable)]
            for item in order[: self.batch]:
                if matroid.find_addable(members)[item]:
                    members[item] = True
                    taken.append(int(item))
        promise = Discrete(
            matroid.rank,
            matroid.n_items,
            None if who is None else who.slope,
            self._epsilon(matroid),
            matroid.is_cardinality,
            self._importance == "paper" and self._is_fixed,
            self.batch,
            lost=2 * matroid.rank * error + problem.find_lost(1 + self.polish),
        )
        return ChosenSet(members, promise, np.array(taken, dtype=np.int64))

    def _epsilon(self, matroid: Matroid) -> float:
        """What sampling may cost, for Theorem 4: as given, or what κ is enough for."""
        if self.kappa is not None:
            return epsilon_in_theory(matroid.rank, matroid.n_items, self.kappa)
        return 0.1 if self.epsilon is None else self.epsilon

    def _participation(self, problem: SearchProblem) -> Run[tuple[Array, Participation | None]]:
        """Singleton means, and how clients decide who answers (None: everyone answers)."""
        talk, n_items, alone, answers = problem.talk, problem.matroid.n_items, problem.singletons, self.expected_answers
        everyone = talk.population.everyone
        if self._importance in ("uniform", "scale"):
            if answers is None or answers >= everyone.size:
                return alone, None
            mean = problem.ranges.mean_single if self._importance == "scale" else 0.0
            return alone, Participation.by_scale(answers, everyone.weight, mean)
        if problem.jury is not None and self.singletons is None:
            alone = (yield from ask_each_alone(talk, problem.ranges, None)).mean
        sums = alone * everyone.weight  # O: sums, in the same counts as each client's share
        looked_at = sums > 0  # nobody has a share in an item that is worth nothing to anyone
        if self._importance == "shortlist":
            size = self.shortlist if self.shortlist is not None else SHORT * problem.matroid.rank
            short = layer_bases(problem.matroid, order_items(alone, talk.coins(Stream.IMPORTANCE)), size)
            looked_at &= np.isin(np.arange(n_items), short)
        inverse = np.divide(1.0, sums, out=np.zeros(n_items), where=looked_at)
        if self.kappa is not None:
            return alone, Participation.by_share(self.kappa, NO_FLOOR, inverse)
        if answers is None:
            kappa = kappa_in_theory(problem.matroid.rank, n_items, self.epsilon or 0.1)
            return alone, Participation.by_share(kappa, FLOOR * kappa / everyone.weight, inverse)
        question = Importance(inverse=inverse)
        histogram = yield from talk.ask(question, None, Purpose.IMPORTANCE, "importance of clients")
        kappa = histogram.find_kappa((1 - FLOOR) * answers)
        if kappa == inf or answers >= everyone.size:
            return alone, None
        return alone, Participation.by_share(kappa, FLOOR * answers / everyone.weight, inverse)
