"""Federated methods from related work, behind the same interface, for comparison."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from folkmoot.algorithms.federated.fedcg import BestBase, ask_gradient, walk
from folkmoot.algorithms.federated.method import Federated
from folkmoot.algorithms.federated.search import Point, SearchProblem
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import Ids
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.local import GroupBase, PartyBase, ShardBase


@dataclass(frozen=True, repr=False)
class FederatedFrankWolfe(Federated):
    """Stochastic Frank–Wolfe with partial participation: full-precision gradients, averaged over the rounds, with
    weight ρ_t = 4/(t + 8)^(2/3) for the newest (Mokhtari, Hassani and Karbasi 2018).

    Settings common to all federated methods: see `Federated`.
    """

    rounds: int = 10
    cohort: int | None = None

    def check(self, matroid: Matroid) -> None:
        super().check(matroid)
        as_count(self.rounds, "rounds")
        if self.cohort is not None:
            as_count(self.cohort, "cohort")

    @property
    def cohort_size(self) -> int | None:
        return self.cohort

    def count_search_rounds(self, matroid: Matroid) -> int:
        return self.rounds

    def search(self, problem: SearchProblem) -> Run[Point]:
        direction = BestBase(problem.matroid, lambda t: 4 / (t + 8) ** (2 / 3), problem.talk.coins(Stream.DIRECTION))
        way = yield from walk(problem, partial(ask_gradient, problem, None), self.cohort, self.rounds, direction)
        least = 4 / (self.rounds + 7) ** (2 / 3)
        memory = 1 - min(least, 1.0)
        promise = problem.make_promise(
            self.rounds, self.cohort, bases=False, memory=memory, reach=problem.ranges.single
        )
        return Point(way.x, way.merit, promise, way.lowest)


@dataclass(frozen=True, repr=False)
class RandGreeDi(Federated):
    """Two rounds of distributed greedy over shards (after Barbosa, Ene, Nguyen and Ward 2015).

    Clients and items are dealt to `shards` at random. Each shard, which must see its own clients' functions,
    answers with the greedy base of its items; then all shards choose from the union of these bases, and their votes are
    rounded to a set. The first sum shows the base of every shard, since it is known whose items are whose; in the
    second, a shard's base is hidden among those of the others.

    Where parties speak for their clients, the parties are the shards, whatever `shards` says: clients are not dealt at
    random, and a party's base counts once, however many clients it holds. Parties must agree to that
    (`PartyPolicy.apart`).

    Settings common to all federated methods: see `Federated`.
    """

    shards: int = 10

    def check(self, matroid: Matroid) -> None:
        super().check(matroid)
        as_count(self.shards, "shards", least=2)
        matroid.parameters()  # shards must know the matroid, so it must be storable

    def count_search_rounds(self, matroid: Matroid) -> int:
        return 2

    def search(self, problem: SearchProblem) -> Run[Point]:
        population, matroid = problem.talk.population, problem.matroid
        clients, sizes = population.n_clients, population.sizes
        shards = min(self.shards, clients) if sizes is None else len(sizes)

        def question(deal: bool, items: Ids | None, coins: PublicCoins) -> GroupBase:
            if sizes is not None:
                return PartyBase(
                    matroid=matroid, sizes=np.array(sizes, dtype=np.int64), deal=deal, items=items, coins=coins
                )
            return ShardBase(matroid=matroid, clients=clients, shards=shards, deal=deal, items=items, coins=coins)

        first = yield from problem.talk.ask(
            partial(question, True, problem.items), None, Purpose.SEARCH, "shards, own items"
        )
        union = np.flatnonzero(first.total)
        second = yield from problem.talk.ask(partial(question, False, union), None, Purpose.SEARCH, "shards, the union")
        votes = second.total / max(int(second.total.max()), 1, shards)
        x = np.minimum(votes, 1.0)
        return Point(x, first.total / shards + x, None)
