"""What other ways to choose would give, from all the data. Whoever shows such a number has it from here."""

from collections.abc import Collection
from statistics import fmean

import numpy as np

from folkmoot.algorithms import Greedy, Popularity
from folkmoot.algorithms.federated.search import RANDOM_BASES, draw_random_bases
from folkmoot.application.job import Job
from folkmoot.application.solve import solve
from folkmoot.conversation.streams import Stream
from folkmoot.foundation.coins import PublicCoins
from folkmoot.report.story import MOST_POPULAR, RANDOM, Baseline


def find_baselines(job: Job, chosen: Collection[int], *, central: bool) -> list[Baseline]:
    """What the most popular items and a random choice are worth; `central`: also what greedy finds, which takes longer.
    `chosen`: the answer, which may be the most popular items themselves.

    The first two need sums only.
    """
    objective, matroid = job.loaded.objective, job.matroid
    popular = Popularity().choose(objective, matroid, seed=0).members
    value, same = float(objective.mean_values(popular)), {*np.flatnonzero(popular).tolist()} == {*chosen}
    found = [
        Baseline(MOST_POPULAR, value, "the items that are worth most alone; sums are enough", same=same),
        Baseline(RANDOM, fmean(value_random_sets(job)), f"the mean of {RANDOM_BASES} random sets"),
    ]
    if central and not isinstance(job.method, Greedy):
        value = solve(objective, matroid, Greedy()).value
        found.insert(0, Baseline("central greedy", value, "a solver that sees all data", sees_everything=True))
    return found


def value_random_sets(job: Job) -> tuple[float, ...]:
    """What random allowed sets are worth: those that a federated run with the same seed asks about, too."""
    sets = draw_random_bases(job.matroid, PublicCoins.of(job.problem.seed, Stream.RANDOM_BASES))
    return tuple(job.loaded.objective.mean_values(sets).tolist())
