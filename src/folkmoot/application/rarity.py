"""How many numbers of a sum rest on one client, or on few: a sum over a thousand clients hides nobody who is alone with
an item. Estimated from how many clients hold each item, which only a simulator knows.
"""

import numpy as np
import scipy

from folkmoot.algorithms.federated.wide import BUCKETS, ROWS, count_candidates, is_wide
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Result
from folkmoot.foundation.sets import Array, Ids
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective
from folkmoot.report.story import RareNumbers

FEW = 5
ALONE, OTHERS = "each item alone", "all other items, in buckets"
SUMS = {Purpose.SINGLETONS: ALONE, Purpose.SEARCH: "the search", Purpose.FINDING: OTHERS}


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
    objective: Objective, matroid: Matroid, method: Conversation, clients: dict[str, int]
) -> tuple[RareNumbers, ...]:
    """Of sums over so many clients, by what they are for: the numbers that rest on few. Those items that most clients
    hold stand for the ones that are asked about. A shortlist follows from what each item is worth alone, so all are in
    that sum, unless there are too many: then they are found by sums of buckets.
    """
    n, wide = objective.n_items, is_wide(objective.n_items)
    held = count_holders(objective)
    order = np.argsort(-held, kind="stable")
    size = getattr(method, "shortlist", None) or (count_candidates(matroid) if wide else n)
    found = []
    for what, among in clients.items():
        known, everyone = draw_holders(objective, held, among)
        asked = known[order] if what == ALONE and not wide else known[order[:size]]
        asked = _fill_buckets(known[order[size:]], everyone) if what == OTHERS else asked
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


def _fill_buckets(held: Ids, everyone: int) -> Ids:
    """To how many clients something in each bucket is worth something, if nobody holds two items of a bucket."""
    dealt = np.random.default_rng(0).integers(0, BUCKETS, (ROWS, len(held))) + BUCKETS * np.arange(ROWS)[:, None]
    sums = np.bincount(dealt.reshape(-1), np.tile(held, ROWS), ROWS * BUCKETS)
    return np.minimum(sums, everyone).astype(np.int64)


def find_rare_numbers(
    objective: Objective, matroid: Matroid, method: Conversation, result: Result
) -> tuple[RareNumbers, ...]:
    """The same for a run: of each kind of sum, the one over the fewest clients. None under noise, which hides them."""
    if result.privacy is not None:
        return ()
    fewest: dict[str, int] = {}
    for one in result.rounds or ():
        if one.purpose in SUMS and one.answered:
            what = SUMS[one.purpose]
            fewest[what] = min(one.answered, fewest.get(what, one.answered))
    return list_rare_numbers(
        objective, matroid, method, {what: fewest[what] for what in SUMS.values() if what in fewest}
    )


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
