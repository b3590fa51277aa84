"""Where there are too many items to ask about each: a few cheap sums find candidates, and the rest is about those.

Sums of buckets (`Folded`) cost kilobytes, however many items there are. They find the items that are worth most alone;
later rounds ask about these candidates only, in numbers of their own (`Talk.narrow`). What all other items could add
is bounded by the same kind of sum, so the bound on the optimum holds for every allowed set. If it leaves room for an
item that was missed, such items are looked for again, next to the answer.
"""

from dataclasses import replace

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
from folkmoot.questions.folded import Folded, FoldedReply, estimate_items
from folkmoot.questions.magnitude import Ranges
from folkmoot.questions.query import spread_over

MOST_ITEMS = 10_000  # up to so many items, each is asked about: buckets would not cost less
CANDIDATES, PER_RANK = 2_000, 20  # the larger of so many in all, and so many per item to be chosen
MISSED = 500  # items that a second look may add
ROWS, BUCKETS = 2, 3_584  # of a sum of buckets
LOOKS = 3  # rounds, each with its own deal of the items, from which candidates are found


def is_wide(n_items: int) -> bool:
    """Whether there are too many items to ask about each."""
    return n_items > MOST_ITEMS


def count_candidates(matroid: Matroid) -> int:
    return max(CANDIDATES, PER_RANK * matroid.rank)


def find_candidates(talk: Talk, ranges: Ranges, jury: int | None, size: int) -> Run[Talk]:
    """A conversation about the items that are worth most alone, and random ones that answers are compared with."""
    nothing = np.zeros(talk.matroid.n_items)
    replies = yield from _ask_buckets(talk, nothing, ranges, jury, "finding items")
    worth = estimate_items(replies, talk.matroid.n_items)
    order = order_items(worth, talk.coins(Stream.SHORTLIST))
    best, randoms = (
        _layer_pool(talk.matroid, order, size),
        draw_random_bases(talk.matroid, talk.coins(Stream.RANDOM_BASES)),
    )
    return talk.narrow(np.union1d(best, np.flatnonzero(randoms.any(axis=0))))


def find_missed(problem: SearchProblem, chosen: Mask, least: float, beyond: float) -> Run[Talk | None]:
    """A conversation about more items, if some that were left out may add more than the least of the chosen ones does;
    None: none can. `beyond`: no item that was left out adds more than this.
    """
    talk = problem.talk
    assert talk.whole is not None
    assert talk.items is not None
    if beyond <= least:
        return None
    n_items = talk.whole.matroid.n_items
    at_set = chosen.astype(np.float64)
    replies = yield from _ask_buckets(talk, at_set, problem.ranges, problem.jury, "finding more items")
    gains = estimate_items(replies, n_items)
    gains[talk.items] = 0.0
    order = order_items(gains, talk.coins(Stream.SHORTLIST, talk.rounds))
    return talk.narrow(np.union1d(talk.items, _layer_pool(talk.whole.matroid, order, MISSED)))


def _ask_buckets(talk: Talk, x: Array, ranges: Ranges, jury: int | None, label: str) -> Run[list[FoldedReply]]:
    replies: list[FoldedReply] = []
    for at in range(LOOKS):
        question = ask_beyond(talk, x, ranges)
        replies.append((yield from talk.ask(question, jury, Purpose.FINDING, f"{label} {at + 1}")))
    return replies


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
    return replace(found, members=spread_over(n_items, place, found.members), order=place[found.order], merit=known)
