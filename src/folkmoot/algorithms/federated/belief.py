"""What a server believes about items from noisy sums: estimates, each with its variance.

Sums of one state of affairs are averaged by their precision. Once items were picked, the others gain less: all by
about one factor, which is found from the sums themselves, and each a little differently, which is the misfit.
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from folkmoot.foundation.sets import Array, Ids

MISFIT = 0.2  # how far one item's gain differs from what the others' decline says, as a share of it
LEAST_DECLINE, MOST_DECLINE = 0.1, 4.0
DOUBT = 4.0  # how many variances of noise hold the decline at 1


@dataclass(frozen=True, eq=False)
class Belief:
    """Estimates for some items."""

    items: Ids
    gains: Array
    variances: Array

    @property
    def sd(self) -> float:
        """Of a usual estimate."""
        return sqrt(float(np.median(self.variances)))

    def keep(self, places: Ids) -> "Belief":
        """Some of the items, in their order."""
        return Belief(self.items[places], self.gains[places], self.variances[places])

    def hear(self, found: Array, variance: float, *, picked: bool) -> "Belief":
        """After another sum over the same items; `picked`: items were picked since the last."""
        decline = find_decline(self.gains, self.variances, found, variance) if picked else 1.0
        before = decline * self.gains
        prior = decline**2 * self.variances + (MISFIT * np.maximum(before, 0.0)) ** 2
        share = prior / (prior + variance)
        return replace(self, gains=before + share * (found - before), variances=prior * (1 - share))


def find_decline(gains: Array, variances: Array, found: Array, variance: float) -> float:
    """The factor by which all gains fell: regression through the noise, drawn to 1 where noise prevails."""
    doubt = DOUBT * (variance + float(variances.mean()))
    signal = max(float((gains * gains - variances).sum()), 0.0)
    factor = (float((found * gains).sum()) + doubt) / (signal + doubt)
    return min(max(factor, LEAST_DECLINE), MOST_DECLINE)
