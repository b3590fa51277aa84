"""Where a map is public, one round says all: how many people live nearest to each place, with noise.

Whoever lives next to a place gains from the others about what the place itself would, and that follows from the map. So
everything after the count is computed from it, and costs nobody anything.
"""

from math import sqrt

import numpy as np

from folkmoot.algorithms.central import Greedy
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.foundation.sphere import find_benefits
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.facility import FacilityLocation

MOST_PLACES = 5_000  # on a map: each is compared with each


def choose_by_census(counts: Array, sd: float, positions: Array, reach: float, matroid: Matroid) -> tuple[Mask, Ids]:
    """Greedy for people who live at the places, as many as were counted; and the order in which places were taken.

    The more of the differences between counts is noise, the smaller they are made. Where noise made a count negative,
    nobody lives there. Where nobody is left, the map alone decides: as many people live at every place.
    """
    there = np.maximum(soften(counts, sd), 0.0)
    if not there.any():
        there = np.ones(len(counts))
    benefits = find_benefits(positions, reach)
    homes = FacilityLocation(benefits[there > 0], weights=there[there > 0], keep_empty=True)
    chosen = Greedy().choose(homes, matroid, 0)
    assert chosen.order is not None
    return chosen.members, np.array(chosen.order, dtype=np.int64)


def soften(counts: Array, sd: float) -> Array:
    """Counts nearer to their mean: by the root of the share of their variance that is not noise, between the counts as
    they are, which is best where places are unlike people, and that share, which is best where places follow people.
    """
    variance, mean = float(counts.var()), float(counts.mean())
    real = max(1 - sd**2 / variance, 0.0) if variance > 0 else 0.0
    return np.asarray(mean + sqrt(real) * (counts - mean))
