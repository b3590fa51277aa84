"""Where there are too many items to ask about each: a few cheap sums find candidates, and the rest is about those.

Sums of buckets (`Folded`) cost kilobytes, however many items there are. They find the items that are worth most alone;
later rounds ask about these candidates only, in numbers of their own (`Talk.narrow`). What all other items could add
is bounded by the same kind of sum, so the bound on the optimum holds for every allowed set. If it leaves room for an
item that was missed, such items are looked for again, next to the answer. Where few clients hold much of the value, a
method may let clients decide by coins of their scale who answers: an item that only an unasked client holds is no
candidate.
"""

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from folkmoot.algorithms.federated.search import (
    Point,
    SearchProblem,
    SearchResult,
    draw_random_bases,
    layer_bases,
    order_items,
)
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.conversation.streams import Stream
from folkmoot.conversation.talk import Talk
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.matroids.derived import Truncation, restrict
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.folded import Folded, FoldedReply, bound_items, estimate_items
from folkmoot.questions.magnitude import Ranges
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import spread_over

MOST_ITEMS = 10_000  # up to so many items, each is asked about: buckets would not cost less
CANDIDATES, PER_RANK = 2_000, 20  # the larger of so many in all, and so many per item to be chosen
MISSED = 500  # items that a second look may add
NEGLIGIBLE = 0.05  # of an item's mean share in the value: what a swap must be able to add for a second look
ROWS, BUCKETS = 2, 3_584  # of a sum of buckets
LOOKS = 3  # rounds, each with its own deal of the items, from which candidates are found


def is_wide(n_items: int) -> bool:
    """Whether there are too many items to ask about each."""
    return n_items > MOST_ITEMS


def count_candidates(matroid: Matroid) -> int:
    return max(CANDIDATES, PER_RANK * matroid.rank)


def find_candidates(
    talk: Talk, ranges: Ranges, jury: int | None, who: Participation | None, size: int
) -> Run[tuple[Talk, Array]]:
    """A conversation about the items that are worth most alone, and random ones that answers are compared with; and
    what each of all items is worth alone at most, to those who were asked.
    """
    nothing = np.zeros(talk.matroid.n_items)
    replies = yield from _ask_buckets(talk, nothing, ranges, jury, who, "finding items")
    worth, most = estimate_items(replies, talk.matroid.n_items), bound_items(replies, talk.matroid.n_items)
    order = order_items(worth, talk.coins(Stream.SHORTLIST))
    best, randoms = (
        _layer_pool(talk.matroid, order, size),
        draw_random_bases(talk.matroid, talk.coins(Stream.RANDOM_BASES)),
    )
    return talk.narrow(np.union1d(best, np.flatnonzero(randoms.any(axis=0)))), most


@dataclass(frozen=True)
class Outsiders:
    """What is known of all items that a conversation is not about; both are 0 for those that it is about."""

    alone: Array  # no item is worth more by itself
    beside: Array  # no item adds more to the answer


def find_missed(
    problem: SearchProblem, chosen: Mask, gains: Array, value: float, outsiders: Outsiders, who: Participation | None
) -> Run[Talk | None]:
    """A conversation about more items, if some that were left out may improve the answer or be among the most popular;
    None: none can. gains: what each chosen item adds to the others. value: of the chosen set.

    Swapping e' in for e changes the value by f(e'|S − e) − f(e|S − e), which may be positive although e' adds less next
    to S than e does. But it is at most f(e'|S), and at most f(e') − f(e|S − e). Where one of the two is below a
    twentieth of an item's mean share for every swap, the look is spared: no swap could add more than that to those who
    were asked, and bounds by buckets are far above what items add. Several swaps together have no such bound. Items
    that may be popular are those with the largest bounds: if there are no more of them than are added, popularity is
    then known.
    """
    talk = problem.talk
    assert talk.whole is not None
    assert talk.items is not None
    margin = NEGLIGIBLE * value / max(problem.matroid.rank, 1)
    improving = _find_entrants(
        talk, np.where(chosen, gains + margin, 0.0), np.where(outsiders.beside > margin, outsiders.alone, 0.0)
    )
    popular = _find_entrants(talk, problem.singletons, outsiders.alone)
    if not len(improving) and not len(popular):
        return None
    matroid, found = talk.whole.matroid, [talk.items]
    size = MISSED // (2 if len(improving) and len(popular) else 1)
    if len(improving):
        at_set = chosen.astype(np.float64)
        replies = yield from _ask_buckets(talk, at_set, problem.ranges, problem.jury, who, "finding more items")
        adding = estimate_items(replies, matroid.n_items)
        adding[talk.items] = 0.0
        found.append(_layer_pool(matroid, order_items(adding, talk.coins(Stream.SHORTLIST, talk.rounds)), size))
    if len(popular):
        order = order_items(outsiders.alone, talk.coins(Stream.SHORTLIST, talk.rounds))
        found.append(_layer_pool(matroid, order, size))
    return talk.narrow(reduce(np.union1d, found))


def _find_entrants(talk: Talk, inside: Array, outside: Array) -> Ids:
    """The items in the base of largest weight that a conversation is not about; with equal weights, the others come
    first. If there are none, no outsider can take the place of a lighter item.
    """
    assert talk.whole is not None
    assert talk.items is not None
    weights, known = outside.copy(), np.zeros(len(outside))
    weights[talk.items], known[talk.items] = inside, 1.0
    base = talk.whole.matroid.first_base(np.lexsort((-known, -weights)))
    entrants: Ids = base[(known[base] == 0) & (weights[base] > 0)]
    return entrants


def _ask_buckets(
    talk: Talk, x: Array, ranges: Ranges, jury: int | None, who: Participation | None, label: str
) -> Run[list[FoldedReply]]:
    """What buckets add at a point. who: how clients decide by coins who answers; None: a jury is drawn."""
    replies: list[FoldedReply] = []
    for at in range(LOOKS):
        question = ask_beyond(talk, x, ranges)
        if who is not None:
            question = replace(question, single=bound_answer(talk, ranges, who), who=who)
        size = jury if who is None else None
        replies.append((yield from talk.ask(question, size, Purpose.FINDING, f"{label} {at + 1}")))
    return replies


def bound_answer(talk: Talk, ranges: Ranges, who: Participation) -> float:
    """No client says more than this of an item, after dividing by its chance to answer."""
    times = talk.population.everyone.times
    return who.bound_own(1 if times is None else int(times.max()), ranges.single)


def ask_beyond(talk: Talk, x: Array, ranges: Ranges) -> Folded:
    """The question of what the items add that a conversation is not about, at a point of those that it is about."""
    coins = talk.coins(Stream.BUCKETS, talk.rounds)
    return Folded(x=x, single=ranges.single, rows=ROWS, buckets=BUCKETS, coins=coins)


def _layer_pool(matroid: Matroid, order: Ids, size: int) -> Ids:
    """`layer_bases`, first made small: no base takes more of a group than its capacity, so few of each can matter."""
    blocks = (matroid.matroid if isinstance(matroid, Truncation) else matroid).blocks
    layers = -(-size // max(matroid.rank, 1)) + 1
    if blocks is None:
        few = np.union1d(order[: 4 * size], matroid.first_base(order))
    else:
        group = blocks.group[order]
        by_group = np.argsort(group, kind="stable")
        place = np.arange(len(order)) - np.searchsorted(group[by_group], group[by_group])
        few = np.sort(order[by_group[place < layers * blocks.capacity[group[by_group]]]])
    rank_of = np.empty(matroid.n_items, dtype=np.int64)
    rank_of[order] = np.arange(len(order))
    return few[layer_bases(restrict(matroid, few), np.argsort(rank_of[few], kind="stable"), size)]


def renumber(found: SearchResult, place: Ids, n_items: int) -> SearchResult:
    """The same result over other items: item e has the number place[e] there."""
    if isinstance(found, Point):
        way = None if found.on_the_way is None else spread_over(n_items, place, found.on_the_way)
        x, merit = spread_over(n_items, place, found.x), spread_over(n_items, place, found.merit)
        return replace(found, x=x, merit=merit, on_the_way=way)
    known = None if found.merit is None else spread_over(n_items, place, found.merit)
    members = spread_over(n_items, place, found.members)
    return replace(found, members=members, order=place[found.order], merit=known, alone=None, others=None)
