"""How many numbers of a sum rest on one client, or on few: a sum over a thousand clients hides nobody who is alone with
an item. Only a simulator knows: of a run, it counts the answers to what was asked; before one, it estimates the first
round from how many clients hold each item. Next to a set, fewer clients have something to add, so later rounds are
worse.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy

from folkmoot.algorithms.federated.discrete import SHORT, DiscreteGreedy
from folkmoot.algorithms.federated.search import layer_bases
from folkmoot.algorithms.federated.wide import BUCKETS, ROWS, count_candidates, is_wide
from folkmoot.application.contributors import count_in_rounds
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Result
from folkmoot.foundation.sets import Array, Ids
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective
from folkmoot.questions.participation import FLOOR
from folkmoot.report.story import RareNumbers

FEW = 5
ALONE, BUCKETED = "each item alone", "items in buckets"
SUMS = {Purpose.SINGLETONS: ALONE, Purpose.SEARCH: "the search", Purpose.FINDING: BUCKETED}


def count_holders(objective: Objective) -> Ids:
    """How many clients each item is worth something to."""
    nothing, held = np.zeros(objective.n_items, dtype=bool), np.zeros(objective.n_items, dtype=np.int64)
    for lo, hi in objective.client_blocks():
        part = objective if hi - lo == objective.n_clients else objective[lo:hi]
        gains = part.gains_at(nothing)
        gains.eliminate_zeros()  # of rows that do not count
        held += np.bincount(gains.indices, minlength=objective.n_items)
    return held


def list_rare_numbers(
    objective: Objective,
    matroid: Matroid,
    method: Conversation,
    clients: dict[str, int],
    by_coins: Collection[str] = (),
) -> tuple[RareNumbers, ...]:
    """Of sums over so many clients, by what they are for: the numbers that rest on few. Those items that most clients
    hold stand for the ones that are asked about. A shortlist follows from what each item is worth alone, so all are in
    that sum, unless there are too many: then they are found by sums of buckets. by_coins: the sums of which clients
    decided themselves whether to answer.
    """
    n, wide = objective.n_items, is_wide(objective.n_items)
    held = count_holders(objective)
    order = np.argsort(-held, kind="stable")
    size = getattr(method, "shortlist", None) or (count_candidates(matroid) if wide else n)
    found = []
    for what, among in clients.items():
        scales = find_scales(objective, matroid, method, order[:size] if wide else order) if what in by_coins else None
        if scales is None:
            known, everyone = draw_holders(objective, held, among)
        else:
            drawn = draw_by_scale(objective.weights, scales, among)
            known, everyone, among = count_holders(objective[drawn]), len(drawn), len(drawn)
        asked = known[order] if what == ALONE and not wide else known[order[:size]]
        asked = _fill_buckets(known[order[size:]], everyone) if what == BUCKETED else asked
        found.append(estimate_rare(what, asked, among, everyone))
    return tuple(found)


def draw_holders(objective: Objective, held: Ids, clients: int) -> tuple[Ids, int]:
    """How many of some clients hold each item, and how many these are: all of them, from whom any are equally likely to
    be asked; or where weights differ, as many as are asked, drawn once: whoever weighs more may also hold more.
    """
    weights = objective.weights
    if (weights == weights[0]).all() or clients >= np.count_nonzero(weights):
        return held, objective.n_clients
    drawn = np.random.default_rng(0).choice(objective.n_clients, clients, replace=False, p=weights)
    return count_holders(objective[np.sort(drawn)]), clients


def find_scales(objective: Objective, matroid: Matroid, method: Conversation, items: Ids) -> Array | None:
    """What, besides its weight, makes a client likely to answer, where clients toss coins about these items: what its
    best item is worth to it, or the largest share that it has in one. None: nothing.
    """
    kind, inverse = "scale", np.zeros(objective.n_items)
    if isinstance(method, DiscreteGreedy):
        kind = method.importance or ("scale" if method.epsilon is None else "paper")
    if kind == "uniform":
        return None
    if kind == "scale":
        inverse[items] = 1.0
        return objective.find_largest_shares(inverse)
    alone = objective.mean_gains(())
    if kind == "shortlist":
        size = getattr(method, "shortlist", None) or SHORT * matroid.rank
        items = np.intersect1d(items, layer_bases(matroid, np.argsort(-alone, kind="stable"), size))
    items = items[alone[items] > 0]
    inverse[items] = 1 / alone[items]
    return objective.find_largest_shares(inverse)


def draw_by_scale(weights: Array, scales: Array, clients: int) -> Ids:
    """So many clients, drawn once: each with the chance that `Participation` gives it, FLOOR of it by weight alone."""
    whole = float((weights * scales).sum())
    by_scale = weights * scales / whole if whole > 0 else weights / weights.sum()
    chances = spread_chances(FLOOR * weights / weights.sum() + (1 - FLOOR) * by_scale, clients)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(chances))
    ends = np.floor(np.cumsum(chances[order]) + rng.random())  # each by its own chance, and as many as are wanted
    return np.sort(order[np.diff(ends, prepend=0.0) > 0])


def spread_chances(odds: Array, clients: int) -> Array:
    """Chances in proportion to these odds, but none above 1, of which so many clients are expected to answer."""
    sure = np.zeros(len(odds), dtype=bool)
    while True:
        rest = float(odds[~sure].sum())
        if rest <= 0:
            return sure.astype(np.float64)
        chances: Array = np.where(sure, 1.0, odds * ((clients - int(sure.sum())) / rest))
        if not (chances > 1).any():
            return chances
        sure |= chances > 1


def _fill_buckets(held: Ids, everyone: int) -> Ids:
    """To how many clients something in each bucket is worth something, if nobody holds two items of a bucket."""
    dealt = np.random.default_rng(0).integers(0, BUCKETS, (ROWS, len(held))) + BUCKETS * np.arange(ROWS)[:, None]
    sums = np.bincount(dealt.reshape(-1), np.tile(held, ROWS), ROWS * BUCKETS)
    return np.minimum(sums, everyone).astype(np.int64)


def find_rare_numbers(
    objective: Objective, matroid: Matroid, method: Conversation, result: Result, transcript: Path | None = None
) -> tuple[RareNumbers, ...]:
    """The same for a run: of each kind of sum, the one in which most rest on one client, counted from the questions in
    its transcript. What cannot be counted is estimated, for the fewest clients. None under noise, which hides them.
    """
    if result.privacy is not None:
        return ()
    fewest: dict[str, int] = {}
    by_coins: set[str] = set()
    counted: dict[str, RareNumbers] = {}
    for one in result.rounds or ():
        if one.purpose in SUMS and one.answered:
            what = SUMS[one.purpose]
            fewest[what] = min(one.answered, fewest.get(what, one.answered))
            by_coins |= {what} if one.voluntary else set()
    if transcript is not None and transcript.exists():
        for purpose, what in SUMS.items():
            sums = [count_rare(what, *one) for one in count_in_rounds(objective, transcript, purpose)]
            counted |= {what: max(sums, key=lambda one: (one.one, one.few))} if sums else {}
    clients = {what: fewest[what] for what in SUMS.values() if what in fewest}
    unknown = {what: some for what, some in clients.items() if what not in counted}
    if unknown:
        estimated = list_rare_numbers(objective, matroid, method, unknown, by_coins)
        counted |= {one.what: replace(one, what=f"{one.what}, estimated") for one in estimated}
    return tuple(counted[what] for what in clients)


def count_rare(what: str, clients: int, held: Ids) -> RareNumbers:
    """What a sum over these clients has, if held[j] of them add something to number j."""
    some, one, two, few = (
        int(np.count_nonzero(part)) for part in (held, held == 1, held == 2, (held > 0) & (held <= FEW))
    )
    return RareNumbers(what, clients, some, one, two, few)


def estimate_rare(what: str, held: Ids, clients: int, everyone: int) -> RareNumbers:
    """What to expect of a sum over clients who are drawn at random, where item e is held by held[e] of everyone."""
    degrees, times = np.unique(held[held > 0], return_counts=True)
    chances = np.array([draw_chance(k, degrees, clients, everyone) for k in range(FEW + 1)])
    some, one, two, few = (
        round(float((times * part).sum())) for part in (1 - chances[0], chances[1], chances[2], chances[1:].sum(axis=0))
    )
    return RareNumbers(what, clients, some, one, two, few)


def draw_chance(k: int, degrees: Ids, clients: int, everyone: int) -> Array:
    """The chance that k of an item's holders are among so many clients, drawn without repeats from everyone."""
    others = everyone - degrees
    possible = (k <= degrees) & (k <= clients) & (clients - k <= others)

    def choose(of: Ids | int, some: Ids | int) -> Array:
        gammaln = scipy.special.gammaln  # by its full name: scipy loads it on first use
        return np.asarray(gammaln(of + 1.0) - gammaln(some + 1.0) - gammaln(np.maximum(of - some, 0) + 1.0))

    log = choose(degrees, k) + choose(others, clients - k) - choose(everyone, clients)
    return np.where(possible, np.exp(np.where(possible, log, 0.0)), 0.0)
