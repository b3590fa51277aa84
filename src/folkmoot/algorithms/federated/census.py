"""Where a map is public, one round says all: how many people live nearest to each place, with noise.

Whoever lives next to a place gains from the others about what the place itself would, and that follows from the map. So
everything after the count is computed from it, and costs nobody anything.
"""

import numpy as np

from folkmoot.algorithms.central import Greedy
from folkmoot.foundation.sets import Array, Ids, Mask
from folkmoot.foundation.sphere import find_benefits
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.facility import FacilityLocation

MOST_PLACES = 5_000  # on a map: each is compared with each


def choose_by_census(counts: Array, positions: Array, reach: float, matroid: Matroid) -> tuple[Mask, Ids]:
    """Greedy for people who live at the places, as many as were counted; and the order in which places were taken.

    Where noise made a count negative, nobody lives there. Where nobody is left, the map alone decides.
    """
    there = np.maximum(counts, 0.0)
    if not there.any():
        there = np.ones(len(counts))
    benefits = find_benefits(positions, reach)
    homes = FacilityLocation(benefits[there > 0], weights=there[there > 0], keep_empty=True)
    chosen = Greedy().choose(homes, matroid, 0)
    assert chosen.order is not None
    return chosen.members, np.array(chosen.order, dtype=np.int64)
