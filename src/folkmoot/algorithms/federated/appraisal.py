"""How good an answer is, from sums: its value, and an upper bound on the value of any allowed set."""

from math import inf
from typing import Any, NamedTuple, cast

import numpy as np

from folkmoot.algorithms.federated.search import (
    RANDOM_BASES,
    SearchProblem,
    draw_random_bases,
    layer_bases,
    order_items,
)
from folkmoot.algorithms.federated.wide import ask_beyond
from folkmoot.conversation.outcome import AppraisedSet
from folkmoot.conversation.population import Sample
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Estimate, describe_broken
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.foundation.coins import NO_COINS, PublicCoins
from folkmoot.foundation.sets import Array, Ids, Mask, indicator, weigh
from folkmoot.questions.gradient import Gradient, PointReply
from folkmoot.questions.pair import Pair, PairReply
from folkmoot.questions.query import FINE, FINE_BITS, Query, Reply, spread_over
from folkmoot.questions.values import Appraisal, compress_sets
from folkmoot.theory.certificate import bound_from_gains
from folkmoot.theory.confidence import Tail

MOST_LOOKS = 3  # points at which the bound is computed
WAYS = 2 * MOST_LOOKS  # ways to a bound: each look, the first two, all three, and the worth of all items together
BETWEEN = 0.6  # the bound is computed at BETWEEN·(x + set), a little above both: tighter than at either
ASIDE, LAYERS = 0.1, 3  # or this far from the set towards this many bases next to it
SPENT = (0.9, 0.1)  # shares of 1 − confidence: for the answer, and for the popular base, which may take its place
FEW_ITEMS = 11  # all subsets of so many are scored in one question
BROKEN = 1e-9  # by this share must a value exceed a bound, to show that functions are not what bounds need
BESIDE_BITS = 16  # of a gradient that stands beside buckets: all numbers of an answer are equally long


class Look(NamedTuple):
    """A bound from the gradient at one point: to the clients asked, no allowed set is worth more on average."""

    gradient: Array
    bound: float
    sample: Sample
    value: float = 0.0  # at the point
    beyond: Array | None = None  # of all items, what those add at most that the conversation is not about; else 0


def appraise(
    problem: SearchProblem,
    chosen: Mask,
    order: Ids,
    looks: list[Look],
    confidence: float,
    y: Array,
    *,
    doubt: bool,
    unsure: bool,
) -> Run[AppraisedSet]:
    """How good the answer is, from a last cohort that scores few other sets: its score is not the best of many.

    With `doubt`, the popular base becomes the answer if this cohort says that it is better, so that no answer is
    knowingly worse; then both get an interval and share the error probability 1 − confidence. Half of it goes to each
    end of an interval, and the half of the bound is shared by the ways that lead to one. `order`: all items, the most
    useful first. Where this is `unsure`, all subsets of few chosen items are scored, which settles it.

    If several juries are asked, the same answers also give the bound at y. The two are not independent then, but each
    still fails with at most its own probability (union bound).
    """
    talk, matroid, ranges = problem.talk, problem.matroid, problem.ranges
    n, whole = matroid.n_items, matroid if talk.whole is None else talk.whole.matroid
    randoms = draw_random_bases(whole, talk.coins(Stream.RANDOM_BASES))
    randoms = randoms if talk.items is None else randoms[:, talk.items]
    popular = find_popular_base(problem)
    doubt = doubt and bool((popular != chosen).any())
    orders = [order[members[order]] for members in (chosen, popular)]
    unsure = unsure and len(orders[0]) <= FEW_ITEMS
    firsts = [list_subsets(n, orders[0]) if unsure else list_prefixes(n, orders[0]), list_prefixes(n, orders[1])]
    items, masks = compress_sets(np.vstack([chosen, popular, *randoms, *firsts]))

    def question(coins: PublicCoins) -> Appraisal:
        return Appraisal(items=items, sets=masks, whole=ranges.whole, single=ranges.single, draw=coins.key)

    if problem.juries is None:
        reply = yield from talk.ask(question, problem.jury, Purpose.APPRAISAL, "appraisal")
    else:
        bound = ask_gradient_at(problem, y)
        both = yield from talk.ask_juries(
            lambda coins: Pair(first=bound, second=question(coins)),
            problem.jury,
            problem.juries,
            Purpose.APPRAISAL,
            "bound and appraisal",
        )
        reply = both.second
        looks = [*looks, make_look(problem, both.first, talk.sample(both))]
    sample, means, grid, coins = talk.sample(reply), reply.mean, reply.question.grid, talk.coins(Stream.INTERVAL)
    *worth, everything = reply.histograms
    best = int(doubt and means[1] > means[0])
    value, alpha = float(means[best]), 1 - confidence
    low, high = sample.interval(value, grid, worth[best], alpha * (SPENT[best] if doubt else 1.0), coins)
    mean = float(weigh(grid.points, everything)) / reply.count
    _, most = sample.interval(None, grid, everything, alpha / WAYS, coins)
    tail = ranges.tail if ranges.complete and ranges.tail is not None else Tail.at_most(ranges.whole)
    nothing = tail.top == 0 or (sample.complete and mean == 0)  # certainly, nobody gains anything
    least = 0.0 if nothing else ranges.whole * (0.5 / FINE + talk.population.slack)  # error of fixed point
    bound_high = min(bound_highest(looks, tail, alpha / 2 / WAYS), most + least, tail.mean + least)
    clipped = max(ranges.clipped, reply.cut)
    alike = ranges.surveyed and talk.population.missing_by_chance  # who is missing has no larger values than the others
    known = (ranges.public or ranges.complete or alike) and not clipped
    floor = max(low - least, 0.0)
    broken = describe_broken(floor, bound_high) if known and bound_high < floor * (1 - BROKEN) else None
    known = known and broken is None
    estimate = Estimate(
        value=value,
        low=floor,
        high=max(high + least, value) if known else inf,
        bound=max(min([look.bound for look in looks] + [mean + least]), value) if known else inf,
        bound_high=max(bound_high, value) if known else inf,
        confidence=confidence,
        clients=reply.clients,
        everyone=(ranges.complete or ranges.public)
        and all(look.sample.complete for look in looks)
        and sample.complete
        and not clipped,
        popularity=float(means[1]),
        random=float(means[2 : 2 + RANDOM_BASES].mean()),
        clipped=clipped,
        range_from=ranges.source,
    )
    values = np.split(means[2 + RANDOM_BASES :], [len(firsts[0])])[best]
    order, noise = orders[best], (1 - sample.heard) * ranges.single / max(reply.clients, 1)
    if unsure and not best:
        places = follow_greedy(values)
        order, values = order[places], values[np.cumsum(1 << places) - (1 << places)]
    order, gains = sort_by_gains(order, np.diff(values, append=value), noise)
    return AppraisedSet((chosen, popular)[best], estimate, order, gains, broken)


def list_prefixes(n_items: int, order: Ids) -> Mask:
    """Nothing, the first item, the first two, and so on; not all of them."""
    sets = np.zeros((len(order), n_items), dtype=bool)
    sets[:, order] = np.tri(len(order), k=-1, dtype=bool)
    return sets


def list_subsets(n_items: int, items: Ids) -> Mask:
    """All of them; bit j of the number of a set says whether item j is in it."""
    sets = np.zeros((1 << len(items), n_items), dtype=bool)
    sets[:, items] = np.arange(len(sets))[:, None] >> np.arange(len(items)) & 1
    return sets


def follow_greedy(values: Array) -> Ids:
    """The places of the items in the order in which greedy takes them, from the values of all their subsets."""
    order, at, left = list[int](), 0, list(range(len(values).bit_length() - 1))
    while left:
        best = max(left, key=lambda place: float(values[at | 1 << place]))
        order.append(best)
        left.remove(best)
        at |= 1 << best
    return np.array(order, dtype=np.int64)


def sort_by_gains(order: Ids, gains: Array, noise: float) -> tuple[Ids, Array]:
    """The items by what each added to those before it, and these gains, falling; their sum stays the same.

    By submodularity, the first items of the new order together are worth at least the sum of their gains in the old
    one. Gains from few clients are noisy: they are drawn towards the nearest falling sequence, the more, the larger
    the variance of a mean next to what is out of order. `noise`: that variance per gain, since an answer is at most
    `single`, and so its variance at most `single` times its mean.
    """
    falling = fit_falling(gains)
    off = gains - falling
    spread, chance = float(weigh(off, off)), noise * float(np.maximum(falling, 0.0).sum())
    if spread > 0:
        falling = falling + spread / (spread + chance) * off
    best = np.argsort(-falling, kind="stable")
    return order[best], falling[best]


def fit_falling(numbers: Array) -> Array:
    """The nearest sequence that never rises: neighbours that rise share their mean."""
    blocks = list[tuple[float, int]]()
    for number in numbers.tolist():
        total, count = number, 1
        while blocks and blocks[-1][0] * count <= total * blocks[-1][1]:
            before, more = blocks.pop()
            total, count = total + before, count + more
        blocks.append((total, count))
    return np.repeat([total / count for total, count in blocks], [count for _, count in blocks])


def find_popular_base(problem: SearchProblem) -> Mask:
    """The best base by what items are worth alone."""
    order = order_items(problem.singletons, problem.talk.coins(Stream.ITEM_ORDER))
    return indicator(problem.matroid.n_items, problem.matroid.first_base(order))


def bound_highest(looks: list[Look], tail: Tail, delta: float) -> float:
    """An upper bound on the value of any allowed set, except with probability delta per look and per mean of looks.

    The optimum is one set, whoever is asked. Its mean value to the clients asked is at most what a look says, so only
    the error of that one mean counts; and the error of the mean over several independent looks is smaller.
    """
    bounds = [look.sample.fill(look.bound, tail.top) for look in looks]
    found = [
        look.sample.bound_mean(bound, look.sample.draws, tail, delta) for look, bound in zip(looks, bounds, strict=True)
    ]
    for count in range(2, len(looks) + 1):
        some = looks[:count]
        draws = np.array([look.sample.draws for look in some])
        if draws.all():
            mean = float(weigh(draws, bounds[:count])) / int(draws.sum())
            found.append(max(look.sample.bound_mean(mean, int(draws.sum()), tail, delta) for look in some))
    return min(found)


def find_point_near(problem: SearchProblem, chosen: Mask, x: Array | None) -> Array:
    """A point a little above x and the set; the set itself if gradients are sampled or there is no x."""
    at_set = chosen.astype(np.float64)
    if x is None or not problem.talk.population.closed_form:
        return at_set
    return np.minimum(BETWEEN * (x + at_set), 1.0)


def find_point_beside(problem: SearchProblem, chosen: Mask, gains: Array | None) -> Array:
    """A point on the way from the set to bases of the items that gain most next to it: a little of each lowers the
    gains of all, so that the bound is lower than at the set. The set itself if gains are unknown or gradients sampled.
    """
    y = chosen.astype(np.float64)
    if gains is None or not problem.talk.population.closed_form:
        return y
    order, rank = (
        order_items(np.where(chosen, -1.0, gains), problem.talk.coins(Stream.BOUND_LAYERS)),
        problem.matroid.rank,
    )
    some = layer_bases(problem.matroid, order, LAYERS * rank)
    some = some[~chosen[some]]
    y *= 1 - ASIDE
    y[some] = min(ASIDE * rank / max(len(some), 1), 1.0)
    return y


def ask_look(problem: SearchProblem, y: Array) -> Run[Look]:
    """A look at y, by one jury."""
    reply = yield from problem.talk.ask(ask_gradient_at(problem, y), problem.jury, Purpose.BOUND, "bound, all items")
    return make_look(problem, reply, problem.talk.sample(reply))


def ask_gradient_at(problem: SearchProblem, y: Array) -> Query[Any]:
    """The question that a look at y asks: about every item, or about candidates and the best of all others."""
    ranges, narrow = problem.ranges, problem.talk.items is not None
    bits = BESIDE_BITS if narrow else FINE_BITS
    own = Gradient(x=y, whole=ranges.whole, single=ranges.single, bits=bits, stochastic=False, coins=NO_COINS)
    return Pair(first=own, second=ask_beyond(problem.talk, y, ranges)) if narrow else own


def make_look(problem: SearchProblem, said: Reply, sample: Sample) -> Look:
    """An upper bound on the value of any allowed set, from one sum of gradients at y over all items.

    For any allowed O, F(O) ≤ F̂(y) + Σ_{e∈O} (1 − y_e)·∂F̂/∂y_e, and the best base maximises the right side. This
    holds for the mean over any clients, and so for those asked. Of items that are not asked about by themselves, a
    bound on what they add takes the place of the gradient.
    """
    ranges, talk = problem.ranges, problem.talk
    reply: PointReply = said.first if isinstance(said, PairReply) else cast(PointReply, said)
    unit = 0.5 / reply.question.main.limit + talk.population.slack
    lost = (ranges.whole + problem.matroid.rank * ranges.single) * unit
    gradient = reply.mean
    gains, matroid, beyond = (1.0 - reply.question.x) * gradient, problem.matroid, None
    if isinstance(said, PairReply) and talk.whole is not None:
        matroid = talk.whole.matroid
        beyond = said.second.bound_items(matroid.n_items)
        beyond[talk.items] = 0.0
        gains = beyond + spread_over(matroid.n_items, talk.items, gains)
    return Look(gradient, bound_from_gains(reply.value, gains, matroid) + lost, sample, reply.value, beyond)
