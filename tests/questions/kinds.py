"""Every kind of question, listed once, as it would be put to any clients.

Limits are a little too small on purpose, so that the largest numbers are cut off.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from folkmoot import (
    FacilityLocation,
    Graphic,
    Matroid,
    Objective,
    Partition,
    ProbabilisticCoverage,
    Transversal,
    Uniform,
)
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.registry import find_kinds
from folkmoot.foundation.sets import Array, Ids, Mask, indicator
from folkmoot.objectives.restricted import restrict
from folkmoot.questions import (
    Appraisal,
    Differences,
    Drift,
    Folded,
    Gains,
    GainsAlong,
    Gradient,
    Importance,
    LocalBase,
    LocalWalk,
    Magnitude,
    Pair,
    Participation,
    PartyBase,
    Query,
    Ranges,
    ShardBase,
    Singletons,
    Values,
    Votes,
    WholeBase,
    WholeWalk,
    Within,
)
from folkmoot.questions.hidden import Direction, Favourite, Worth
from tests.objectives.families import CLIENTS, FAMILIES, LIFTED, Case, sparse_matrix, weights

Maker = Callable[[Objective], Query[Any]]
WIRE: dict[str, type] = find_kinds(Query, Matroid, Participation, PublicCoins)

KEY = 2**64 - 59
COINS = PublicCoins(KEY)
ITEMS = np.array([0, 2, 4, 5])  # a shortlist
FEW = 4  # sampled sets


def sampled(objective: Objective, samples: int | None = None) -> int | None:
    """Where there is no closed form, few sets are enough here."""
    return samples if objective.closed_form else FEW


def limits(objective: Objective) -> Ranges:
    alone, everything = objective.gains(()).toarray(), objective.values(np.ones(objective.n_items, dtype=bool))
    return Ranges(0.9 * alone.max(), 0.9 * everything.max(), 0.9 * alone.sum(axis=1).max())


def point(n: int) -> Array:
    """A point of the cube with items that are in, out, and between."""
    x = np.random.default_rng(11).random(n)
    x[0], x[1::3] = 1.0, 0.0
    return x


def some_sets(n: int, count: int) -> Mask:
    return np.random.default_rng(12).random((count, n)) < 0.4


def some_members(n: int) -> Mask:
    """One item of the shortlist, so that there is still something to gain in every family."""
    return indicator(n, ITEMS[3:])


def uniform(n: int) -> Matroid:
    return Uniform(n, 2)


def partition(n: int) -> Matroid:
    return Partition(np.arange(n) % 3, [1, 2, 1])


def graphic(n: int) -> Matroid:
    return Graphic([(e % 4, (e + 1 + e // 4) % 4) for e in range(n)])


def transversal(n: int) -> Matroid:
    return Transversal(n, [range(0, n, 2), range(1, n, 2), range(0, n, 3)])


def gradient(bits: int, *, stochastic: bool, items: Ids | None = None, samples: int | None = None) -> Maker:
    """In fixed point without a closed form: as many sets as there would be by themselves."""

    def make(objective: Objective) -> Query[Any]:
        most = limits(objective)
        return Gradient(
            x=point(objective.n_items),
            whole=most.whole,
            coins=COINS,
            items=items,
            samples=sampled(objective, samples) if stochastic else None,
            single=most.single,
            bits=bits,
            stochastic=stochastic,
        )

    return make


def votes(count: int, items: Ids | None = None) -> Maker:
    def make(objective: Objective) -> Query[Any]:
        most = limits(objective)
        return Votes(
            x=point(objective.n_items),
            whole=most.whole,
            coins=COINS,
            items=items,
            samples=sampled(objective),
            votes=count,
            sum=most.sum,
            bits=12,
        )

    return make


def base(matroid: Callable[[int], Matroid], items: Ids | None = None, kind: type[LocalBase] = LocalBase) -> Maker:
    def make(objective: Objective) -> Query[Any]:
        n, most = objective.n_items, limits(objective)
        return kind(
            x=point(n),
            whole=most.whole,
            coins=COINS,
            items=items,
            samples=sampled(objective),
            matroid=matroid(n),
            single=most.single,
        )

    return make


def walk(
    matroid: Callable[[int], Matroid],
    steps: int,
    items: Ids | None = None,
    samples: int | None = None,
    kind: type[LocalWalk] = LocalWalk,
) -> Maker:
    def make(objective: Objective) -> Query[Any]:
        n, most = objective.n_items, limits(objective)
        return kind(
            x=point(n),
            whole=most.whole,
            coins=COINS,
            items=items,
            samples=sampled(objective, samples),
            matroid=matroid(n),
            single=most.single,
            steps=steps,
        )

    return make


Takers = Callable[[Objective], Participation]


def evenly(_: Objective) -> Participation:
    return Participation.uniform(2.0, 18)


def by_scale(objective: Objective) -> Participation:
    return Participation.by_scale(2.0, 18, limits(objective).single / 2)


def by_whole(objective: Objective) -> Participation:
    return Participation.by_scale(2.0, 18, limits(objective).whole / 2, "whole")


def by_share(objective: Objective) -> Participation:
    return Participation.by_share(1.7, 0.01, shares(objective))


def gains(takers: Takers | None = None, *, worth: bool = False) -> Maker:
    def make(objective: Objective) -> Query[Any]:
        who = None if takers is None else takers(objective)
        most = limits(objective)
        single, whole = ((one if who is None else who.bound(1, one)) for one in (most.single, most.whole))
        members = some_members(objective.n_items)
        return Gains(members=members, items=ITEMS, most=single, draw=KEY, who=who, whole=whole if worth else None)

    return make


def drift(takers: Takers | None = None, *, grown: bool = True) -> Maker:
    """`grown`: items were taken between the two sets, and gains fell."""

    def make(objective: Objective) -> Query[Any]:
        who, most, n = None if takers is None else takers(objective), limits(objective), objective.n_items
        single, whole, standing = (one if who is None else who.bound(1, one) for one in (most.single, most.whole, 1.0))
        return Drift(
            members=some_members(n),
            before=np.zeros(n, dtype=bool) if grown else None,
            items=ITEMS,
            most=single,
            whole=whole,
            standing=standing,
            draw=KEY,
            who=who,
        )

    return make


def differences(takers: Takers | None = None) -> Maker:
    def make(objective: Objective) -> Query[Any]:
        who, whole = None if takers is None else takers(objective), limits(objective).whole
        most, standing = (one if who is None else who.bound(1, one) for one in (whole, 1.0))
        return Differences(items=ITEMS, sets=some_sets(len(ITEMS), 70), most=most, standing=standing, draw=KEY, who=who)

    return make


def along(objective: Objective) -> Query[Any]:
    """A sequence of which not every prefix is asked about, and items that are asked about at one prefix alone."""
    most, n = limits(objective), objective.n_items
    return GainsAlong(
        order=np.arange(n)[::-1][:3].copy(),
        marks=np.array([0, 1, 3]),
        items=ITEMS,
        others=np.setdiff1d(np.arange(n), ITEMS),
        wide=1,
        single=most.single,
        whole=most.whole,
    )


def singletons(objective: Objective) -> Query[Any]:
    n = objective.n_items
    return Singletons(members=np.zeros(n, dtype=bool), items=np.arange(n), most=limits(objective).single, draw=KEY)


def shares(objective: Objective) -> Array:
    """1/O_e, and 0 for an item that is not looked at."""
    sums = objective.gains(()).toarray().sum(axis=0)
    inverse: Array = np.divide(1.0, sums, out=np.zeros(len(sums)), where=sums > 0)
    inverse[3] = 0.0
    return inverse


def importance(objective: Objective) -> Query[Any]:
    return Importance(inverse=shares(objective))


def magnitude(_: Objective) -> Query[Any]:
    return Magnitude()


def values(objective: Objective) -> Query[Any]:
    return Values(items=ITEMS, sets=some_sets(len(ITEMS), 70), whole=limits(objective).whole)


def appraisal(objective: Objective) -> Query[Any]:
    most = limits(objective)
    return Appraisal(items=ITEMS, sets=some_sets(len(ITEMS), 5), whole=most.whole, single=most.single, draw=KEY)


def direction(*, centred: bool, adjacency: Literal["zero-out", "replace-one"] = "zero-out") -> Maker:
    """A largest value that is too small on purpose changes nothing: everybody speaks as loudly."""

    def make(objective: Objective) -> Query[Any]:
        members, most = some_members(objective.n_items), limits(objective).single
        hiding: dict[str, Any] = {"mu": 0.25, "sd": 1 << 16, "honest": 3, "adjacency": adjacency}
        return Direction(members=members, items=ITEMS, most=most, centred=centred, **hiding)

    return make


def worth(objective: Objective) -> Query[Any]:
    whole = limits(objective).whole
    return Worth(members=some_members(objective.n_items), whole=whole, mu=0.25, sd=1 << 16, honest=3)


def favourite(objective: Objective) -> Query[Any]:  # noqa: ARG001
    return Favourite(items=ITEMS, mu=0.25, sd=1 << 16, honest=3)


def pair(objective: Objective) -> Query[Any]:
    """What both the bound and the appraisal need."""
    return Pair(first=gradient(20, stochastic=False)(objective), second=appraisal(objective))


def folded(objective: Objective) -> Query[Any]:
    """At a set of one item; two deals of the items to three buckets."""
    x = some_members(objective.n_items).astype(np.float64)
    return Folded(x=x, single=limits(objective).single, rows=2, buckets=3, coins=COINS)


def folded_between(objective: Objective) -> Query[Any]:
    return Folded(x=point(objective.n_items) / 2, single=limits(objective).single, rows=1, buckets=4, coins=COINS)


def folded_by_coins(objective: Objective) -> Query[Any]:
    """Clients decide by coins of scale whether they say what the best of each bucket is worth."""
    single, none = limits(objective).single, np.zeros(objective.n_items)
    who = Participation.by_scale(CLIENTS / 2, CLIENTS, single / 2)
    return Folded(x=none, single=who.bound_own(1, single), rows=2, buckets=3, coins=COINS, who=who)


def folded_beside(objective: Objective) -> Query[Any]:
    """What a bound needs where there are many items: the gradient of some, and buckets of all others."""
    x, most = np.array([0.0, 0.5, 0.0, 1.0][: objective.n_items]), limits(objective)
    beside = Folded(x=x, single=most.single, rows=2, buckets=3, coins=COINS)
    own = Gradient(x=x, whole=most.whole, coins=COINS, single=most.single, bits=16, stochastic=False)
    return Pair(first=own, second=beside)


def within(make: Maker) -> Maker:
    """A question about the shortlist, of which clients know nothing else."""
    return lambda objective: Within(items=ITEMS, question=make(restrict(objective, ITEMS)))


def shards(*, deal: bool, items: Ids | None = None) -> Maker:
    """The party is the shard: what holds of clients alone does not hold of these."""
    return lambda objective: ShardBase(
        matroid=partition(objective.n_items), clients=SHARDED, shards=2, deal=deal, items=items, coins=COINS
    )


def parties(*, deal: bool, items: Ids | None = None) -> Maker:
    """The same where clients stay at their parties, of which two have a few of them."""
    sizes = np.array([20, SHARDED - 20])
    return lambda objective: PartyBase(
        matroid=partition(objective.n_items), sizes=sizes, deal=deal, items=items, coins=COINS
    )


SHARDED = 1_000_000  # clients in all, of whom a few are there
KINDS: dict[str, Maker] = {
    "folded": folded,
    "folded, between": folded_between,
    "folded, coins": folded_by_coins,
    "within, gradient and folded": within(folded_beside),
    "within, singletons": within(singletons),
    "within, base": within(base(uniform)),
    "gradient, fixed point": gradient(20, stochastic=False),
    "gradient, fixed point, shortlist": gradient(20, stochastic=False, items=ITEMS),
    "gradient, 1 bit": gradient(1, stochastic=True),
    "gradient, 4 bits": gradient(4, stochastic=True),
    "gradient, 4 bits, shortlist": gradient(4, stochastic=True, items=ITEMS),
    "gradient, 20 bits": gradient(20, stochastic=True),
    "gradient, sampled": gradient(4, stochastic=True, samples=FEW),
    "votes": votes(3),
    "votes, shortlist": votes(2, ITEMS),
    "base, uniform": base(uniform),
    "base, partition": base(partition),
    "base, partition, shortlist": base(partition, ITEMS),
    "base, graphic": base(graphic),
    "base, transversal, shortlist": base(transversal, ITEMS),
    "whole base, partition": base(partition, kind=WholeBase),
    "whole base, graphic": base(graphic, kind=WholeBase),
    "whole walk, partition, shortlist": walk(partition, 2, ITEMS, kind=WholeWalk),
    "walk, partition": walk(partition, 3),
    "walk, partition, shortlist": walk(partition, 2, ITEMS),
    "walk, graphic": walk(graphic, 2),
    "walk, sampled": walk(uniform, 3, samples=FEW),
    "gains": gains(),
    "gains, uniform chance": gains(evenly),
    "gains, by scale": gains(by_scale),
    "gains, by all items together": gains(by_whole),
    "gains, by importance": gains(by_share),
    "gains and value": gains(worth=True),
    "gains and value, uniform chance": gains(evenly, worth=True),
    "drift, one set": drift(grown=False),
    "drift": drift(),
    "drift, by scale": drift(by_scale),
    "differences": differences(),
    "differences, by scale": differences(by_scale),
    "gains along a sequence": along,
    "singletons": singletons,
    "importance": importance,
    "magnitude": magnitude,
    "values": values,
    "appraisal": appraisal,
    "bound and appraisal": pair,
    "direction": direction(centred=False),
    "direction, centred, replace-one": direction(centred=True, adjacency="replace-one"),
    "worth under noise": worth,
    "favourite under noise": favourite,
}
BY_TIMES = {
    "folded, coins",
    "gains, uniform chance",
    "gains, by scale",
    "gains, by all items together",
    "gains, by importance",
    "drift, by scale",
    "differences, by scale",
    "gains and value, uniform chance",
    "importance",
    "appraisal",
    "bound and appraisal",
    "direction",
    "direction, centred, replace-one",
    "worth under noise",
    "favourite under noise",
}  # whose numbers are not `times` what one would answer
# Whose sums are never the same twice.
NOISY = {"direction", "direction, centred, replace-one", "worth under noise", "favourite under noise"}
GENERAL = {
    "base, graphic",
    "whole base, graphic",
    "base, transversal, shortlist",
    "walk, graphic",
}  # client by client, in Python
SHARDS: dict[str, Maker] = {
    "shards": shards(deal=False),
    "shards, dealt": shards(deal=True),
    "shards, shortlist": shards(deal=False, items=ITEMS),
    "parties": parties(deal=False),
    "parties, dealt": parties(deal=True, items=ITEMS),
}


def probabilistic_owned(rng: np.random.Generator) -> Case:
    chances, owners = sparse_matrix(rng, rows=9), np.array([2, 0, 1, 1, 0, 2, 2, 3, 4])
    objective = ProbabilisticCoverage(chances, owners=owners, row_weights=rng.random(9), weights=weights(rng))
    return Case(objective, [])


def facility_weighted_rows(rng: np.random.Generator) -> Case:
    """One row a client, but rows that count differently: what fused kernels must not forget."""
    shares = rng.random(CLIENTS) * 3
    return Case(FacilityLocation(sparse_matrix(rng), row_weights=shares, weights=weights(rng)), [])


EVERY = {
    **FAMILIES,
    **LIFTED,
    "probabilistic, owned rows": probabilistic_owned,
    "facility, weighted rows": facility_weighted_rows,
}
