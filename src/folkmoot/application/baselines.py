"""What other ways to choose would give, from all the data. Whoever shows such a number has it from here."""

from collections.abc import Collection
from statistics import fmean

import numpy as np

from folkmoot.algorithms import Greedy, Popularity
from folkmoot.application.job import Job
from folkmoot.application.solve import solve
from folkmoot.conversation.streams import Stream
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import indicator
from folkmoot.report.story import MOST_POPULAR, RANDOM, Baseline

RANDOM_SETS = 8  # as many as federated runs ask about


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
        Baseline(RANDOM, fmean(value_random_sets(job)), f"the mean of {RANDOM_SETS} random sets"),
    ]
    if central and not isinstance(job.method, Greedy):
        value = solve(objective, matroid, Greedy()).value
        found.insert(0, Baseline("central greedy", value, "a solver that sees all data", sees_everything=True))
    return found


def value_random_sets(job: Job) -> tuple[float, ...]:
    """What random allowed sets are worth: those that a federated run with the same seed asks about, too."""
    matroid = job.matroid
    rng, n = PublicCoins.of(job.problem.seed, Stream.RANDOM_BASES).generator(), matroid.n_items
    sets = np.array([indicator(n, matroid.first_base(rng.permutation(n))) for _ in range(RANDOM_SETS)])
    return tuple(job.loaded.objective.mean_values(sets).tolist())
