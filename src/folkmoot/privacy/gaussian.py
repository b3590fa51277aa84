"""Whole numbers with the discrete Gaussian distribution, P[x] ∝ exp(−x²/2σ²), from random bytes.

By inversion: thresholds are computed in whole numbers of 320 bits, and a draw of 127 random bits is compared with them.
So the distribution is right up to a total variation of about 2^-100, and no floating-point number is ever released.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.randomness import PrivateRandomness
from folkmoot.foundation.sets import Ids, freeze

BITS = 320  # of the whole numbers that weights are computed in
FIRST, SECOND = 63, 64  # bits of a draw: the second part only matters if the first meets a threshold
TAIL = 14  # standard deviations: beyond lie 2^-145 of the mass
GUIDE = 14  # bits by which a search begins
LARGEST, SHIFT = (1 << FIRST) - 1, FIRST - GUIDE
MOST_SD = 1 << 17  # larger tables take seconds to make
LEAST_SD = 4  # of shares: sums of finer ones are no longer as good as one discrete Gaussian


@dataclass(frozen=True, eq=False)
class DiscreteGaussian:
    """A table of thresholds for magnitudes; the sign is a coin of its own."""

    firsts: Ids  # FIRST bits of each threshold
    seconds: Ids  # the next SECOND bits, as signed numbers of the same bits
    guide: Ids  # where the search for a draw with these first bits begins

    @classmethod
    def of(cls, variance: Fraction) -> "DiscreteGaussian":
        """The table for a variance; the last few are kept."""
        return _make_table(variance.numerator, variance.denominator)

    def draw(self, count: int, random: PrivateRandomness) -> Ids:
        """`count` independent numbers."""
        bits = np.frombuffer(random.random(8 * count), dtype="<i8")
        found = np.empty(count, dtype=np.int64)
        for at in look_up(bits, self.firsts, self.guide, found).tolist():  # about once in 2^40 draws
            found[at] = self._settle(int(found[at]), int(bits[at]) >> 1 & LARGEST, random)
        return np.where(bits & 1, -found, found)

    def _settle(self, place: int, first: int, random: PrivateRandomness) -> int:
        """The magnitude of a draw whose first bits are those of a threshold."""
        second, last = int.from_bytes(random.random(8), "little"), len(self.firsts) - 1
        while place < last and int(self.firsts[place]) == first and int(self.seconds[place]) % (1 << SECOND) <= second:
            place += 1
        return place


@lru_cache(maxsize=8)
def _make_table(numerator: int, denominator: int) -> DiscreteGaussian:
    """Weights by recurrence: exp(−(x+1)²/2σ²) = exp(−x²/2σ²) · r^(2x+1) with r = exp(−1/2σ²)."""
    last = TAIL * int((numerator / denominator) ** 0.5 + 1)
    ratio = exponentiate(denominator, 2 * numerator)
    twice, weight = ratio * ratio >> BITS, 1 << BITS
    weights = [weight]
    for _ in range(last):
        weight = weight * ratio >> BITS
        ratio = ratio * twice >> BITS
        weights.append(2 * weight)
    inverse = (1 << (BITS + FIRST + SECOND)) // sum(weights)
    low = (1 << SECOND) - 1
    firsts, seconds = np.empty(last + 1, dtype=np.int64), np.empty(last + 1, dtype=np.uint64)
    total = 0
    for place, weight in enumerate(weights):
        total += weight
        threshold = total * inverse >> BITS
        firsts[place], seconds[place] = threshold >> SECOND & LARGEST, threshold & low
    firsts[-1], seconds[-1] = LARGEST, low  # whatever is left
    starts = np.searchsorted(firsts, np.arange(1 << GUIDE, dtype=np.int64) << SHIFT)
    guide = np.append(starts, last).astype(np.int64)
    return DiscreteGaussian(freeze(firsts), freeze(seconds.view(np.int64)), freeze(guide))


def exponentiate(numerator: int, denominator: int) -> int:
    """exp(−numerator/denominator) in units of 2^-BITS, for arguments from 0 to 1."""
    total = term = 1 << BITS
    count = 1
    while term:
        term = term * numerator // (denominator * count)
        total += -term if count % 2 else term
        count += 1
    return total


@kernel
def look_up(bits: Ids, firsts: Ids, guide: Ids, found: Ids) -> Ids:
    """For each draw, how many thresholds lie below its first bits; returns the draws that meet a threshold."""
    met = np.empty(len(bits), np.int64)
    count = 0
    last = len(firsts) - 1
    for at in range(len(bits)):
        first = (bits[at] >> 1) & LARGEST
        lo = guide[first >> SHIFT]
        hi = min(guide[(first >> SHIFT) + 1] + 1, last)
        while lo < hi:
            middle = (lo + hi) >> 1
            if firsts[middle] < first:
                lo = middle + 1
            else:
                hi = middle
        found[at] = lo
        if firsts[lo] == first:
            met[count] = at
            count += 1
    return met[:count]
