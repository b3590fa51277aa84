"""What a server believes about items from noisy sums: an estimate of each item's gain, with its variance.

Sums of one state of affairs are averaged by their precision. Once items were picked, the others gain less: those on the
list that was asked about by one factor, those outside it by another (they are seldom substitutes of what was picked),
and each a little differently, which is the misfit. Both factors are found from the sums themselves; the second only as
far as it is surely another than the first.
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from folkmoot.foundation.sets import Array, Ids, Mask, indicator, weigh

MISFIT = 0.2  # how far one item's gain differs from what its factor says, as a share of it
LEAST_FACTOR, MOST_FACTOR = 0.1, 4.0
DOUBT = 4.0  # how many variances of noise hold a factor where it was expected
FOREMOST = 5  # items by which those from outside are compared with the others
SURELY = 2.0  # deviations that estimates are lowered by, where they are to hold

LEAST_LIKES, MOST_LIKES = 0.5, 1_000.0  # for which the usual share counts, beside what was heard of an item itself
COMPARED = 800  # items that gain most, from which it follows how much shares differ
MOSTLY = 0.5  # of its worth must an item still add, for a sum to say something about its worth alone
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Belief:
    """About all items. inside: those on the list that was last asked about; what is believed of the others is older."""

    gains: Array
    variances: Array
    inside: Mask
    rivalry: float | None = None  # how the best newcomers of the last list compared with its best; None: it had none

    @classmethod
    def begin(cls, found: Array, variance: float, items: Ids | None = None, n_items: int = 0) -> "Belief":
        """After the first sum, over all items, or these."""
        if items is None:
            return cls(found, np.full(len(found), variance), np.ones(len(found), dtype=bool))
        gains = np.zeros(n_items)
        gains[items] = found
        return cls(gains, np.full(n_items, variance), indicator(n_items, items))

    @property
    def sd(self) -> float:
        """Of a usual estimate on the list."""
        return sqrt(float(np.median(self.variances[self.inside])))

    @property
    def least(self) -> Array:
        """What gains surely are, nearly."""
        return self.gains - SURELY * np.sqrt(self.variances)

    @property
    def cautious(self) -> Array:
        """Estimates; of items outside the list, one deviation less: the best of many guesses are guessed too high."""
        return np.where(self.inside, self.gains, self.gains - np.sqrt(self.variances))

    def drop(self, members: Mask) -> "Belief":
        """After these were picked: they are on no list any more."""
        return replace(self, inside=self.inside & ~members)

    def hear(self, items: Ids, found: Array, variance: float, *, picked: bool) -> "Belief":
        """After another sum, over these items; `picked`: some were picked since the last."""
        count = len(self.gains)
        heard, sums = indicator(count, items), np.zeros(count)
        sums[items] = found
        known, new = heard & self.inside, heard & ~self.inside
        factors = np.ones(count)
        if picked:
            near, _ = self._find_factor(sums, known, variance, 1.0)
            factors = np.where(self.inside, near, draw_near(near, *self._find_factor(sums, new, variance, near)))
        before = factors * self.gains
        prior = factors**2 * self.variances + np.where(heard, (MISFIT * np.maximum(before, 0.0)) ** 2, 0.0)
        share = np.where(heard, prior / (prior + variance), 0.0)
        rivalry = compare_best(sums[new], sums[known]) if picked and new.any() and known.any() else None
        return Belief(before + share * (sums - before), prior * (1 - share), heard, rivalry)

    def _find_factor(self, sums: Array, some: Mask, variance: float, expected: float) -> tuple[float, float]:
        """The factor by which these gains changed, and its deviation: regression through the noise, held where it was
        expected as far as noise prevails.
        """
        if not some.any():
            return expected, 0.0
        gains, variances = self.gains[some], self.variances[some]
        doubt = DOUBT * (variance + float(variances.mean()))
        signal = max(float((gains * gains - variances).sum()), 0.0)
        factor = (float((sums[some] * gains).sum()) + doubt * expected) / (signal + doubt)
        noise = gains**2 * (variance + factor**2 * variances) + (factor * variances) ** 2  # of the sum, and of gains
        return min(max(factor, LEAST_FACTOR), MOST_FACTOR), sqrt(float(noise.sum())) / (signal + doubt)


def draw_near(expected: float, found: float, deviation: float) -> float:
    """What was found, two deviations nearer to what was expected."""
    return expected + float(np.sign(found - expected)) * max(abs(found - expected) - SURELY * deviation, 0.0)


@dataclass(frozen=True, eq=False)
class KnownGains:
    """What every item adds to a set that grows, and is worth alone, as sums over cohorts told.

    The variances are those of means over one client: 1 / 500 is the precision of 500 answers, and 0 is exact.
    """

    gains: Array
    variance: Array
    alone: Array
    variance_alone: Array
    left: Array  # which share of what it is worth alone an item still adds

    @classmethod
    def begin(cls, alone: Array, variance: float) -> "KnownGains":
        same = np.full(len(alone), variance)
        return cls(alone, same, alone, same, np.ones(len(alone)))

    def hear(self, gains: Array, variance: float) -> "KnownGains":
        """After another sum about the same set."""
        share = self.variance / (self.variance + variance)
        left = np.where(self.left >= MOSTLY, self.left, 0.0)
        weight = self.variance_alone * left / (self.variance_alone * left + variance)
        return replace(
            self,
            gains=self.gains + share * (gains - self.gains),
            variance=self.variance * (1 - share),
            alone=self.alone + weight * (gains / np.maximum(left, MOSTLY) - self.alone),
            variance_alone=self.variance_alone * (1 - weight),
        )

    def grow(self, earlier: Array, now: Array, members: Mask, answers: int, like: float) -> "KnownGains":
        """After the set has grown to these members: so many clients said what items added before and add now. like:
        what an item is usually worth to a client that likes it.

        The share of its gain that an item keeps is a quotient, held near the usual quotient for as many likes as the
        shares of items differ little: a beta distribution whose spread is what likes that come and go by chance do not
        explain.
        """
        had, kept = (np.maximum(one, 0.0) * answers / like for one in (earlier, now))
        weights = np.where(members, 0.0, self.gains)
        usual = min(float(weigh(weights, kept)) / max(float(weigh(weights, had)), TINY), 1.0)
        top = np.argsort(-weights, kind="stable")[:COMPARED]
        chance = usual * (1 - usual)
        spread = float(((kept - usual * had)[top] ** 2).sum()) - chance * float(had[top].sum())
        doubt = chance * float((had[top] ** 2).sum()) / max(spread, TINY)
        doubt = min(max(doubt, LEAST_LIKES), MOST_LIKES)
        share = (kept + doubt * usual) / (had + doubt)
        gains = share * self.gains
        heard = share * (answers + doubt * like / np.maximum(self.gains, TINY))
        variance = self.variance + (1 - share) / np.maximum(heard, TINY)
        return replace(self, gains=gains, variance=variance, left=np.where(members, 0.0, share * self.left))


def compare_best(newcomers: Array, others: Array) -> float:
    """The best of the newcomers over the best of the others: 1 or more if it was wrong to leave them out."""
    new, old = (float(np.sort(some)[-FOREMOST:].mean()) for some in (newcomers, others))
    return min(max(new / old, 0.0), 1.5) if old > 0 else 1.0
