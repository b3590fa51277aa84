"""What noise will cost, before anybody is asked.

Where only numbers are known, the forecast follows from how many there are, how many items are chosen, and ε: it spans
what was reached on data of many kinds. Where the data is at hand, the same run is tried on it with other noise, and
the forecast is an interval for one run more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor, log, sqrt

import numpy as np
import scipy

from folkmoot.privacy.accounting import Privacy, find_epsilon

POOR = 3.0  # signal per item to be chosen
# Deviations of noise that all clients' norms together must be, for so many items: one for each, but no more than six.
# Below, the most popular items under noise are hardly better than random ones (benchmarks/private_families.py).
HOPELESS, MOST_NEEDED = 1.0, 6.0
LOW = 0.8  # a share of a choice without noise below which much is lost
MOST_CLIENTS = 10**12  # that are looked for
FEWER_HONEST = 1.08  # how much noise grows, at most, as more are asked: a smaller share of many is surely honest
COVERED, STRETCH = 0.95, 0.15  # of runs; a limit is moved outwards by this share of the width, as trials are few
STEP = 1000  # an interval is rounded outwards to one in so many
# What private runs reached of greedy without noise, by signal per item: the least on the worst kind of data, and the
# most on the best (benchmarks/private_families.py).
MEASURED = ((1.0, 0.0, 1.02), (3.0, 0.1, 1.02), (10.0, 0.18, 1.02), (200.0, 0.22, 1.02), (500.0, 0.6, 1.02))


@dataclass(frozen=True)
class Forecast:
    """signal: A/k, the norm that all clients have together, in deviations of noise, per item to be chosen. low, high:
    what share of the value of a choice without noise is to be expected. trials: runs on the data that say so; 0: none
    was possible, and the limits are those of all kinds of data.
    """

    signal: float
    low: float
    high: float
    trials: int = 0
    is_hopeless: bool = False

    @property
    def is_poor(self) -> bool:
        """Whether a warning is due."""
        return self.signal < POOR or (self.trials > 0 and self.low < LOW)

    def describe(self) -> str:
        """One sentence, without its full stop."""
        if self.is_hopeless:
            return "noise would drown all answers"
        what = f"{self.span} of what a choice without noise is worth"
        if not self.trials:
            return f"{what}, by kind of data; of this data, nothing is known yet"
        lost = "much is lost in noise: " if self.is_poor else ""
        return f"{lost}{what}, by {self.trials} trials on this data with other noise"

    @property
    def span(self) -> str:
        """The interval in words."""
        return f"{self.low:.1%} to {self.high:.1%}"


def forecast(clients: int, chosen: int, mu: float, inflation: float) -> Forecast:
    """For this many clients, items to be chosen, budget μ, and noise that is `inflation` times what is needed."""
    strength = clients * mu / inflation
    return replace(expect(strength / chosen), is_hopeless=strength < find_least(chosen))


def find_least(chosen: int) -> float:
    """Deviations of noise that all clients together must be, so that something can be found."""
    return min(HOPELESS * chosen, MOST_NEEDED)


def predict(signal: float, shares: Sequence[float], margin: float = 0.0) -> Forecast:
    """From trials: an interval that holds one run more with probability 0.95 at least, if there are 39 or more.

    Of n trials and one run, each is as likely as any other to be the largest, or the smallest. So the run lies within
    the trials with probability (n - 1)/(n + 1), whatever the distribution. With fewer, the normal one is assumed.
    margin: by which the limits are moved outwards, besides.
    """
    found, count = np.array(shares), len(shares)
    low, high = float(found.min()), float(found.max())
    if (count - 1) / (count + 1) < COVERED:
        off = float(scipy.special.stdtrit(count - 1, (1 + COVERED) / 2) * found.std(ddof=1) * sqrt(1 + 1 / count))
        low, high = min(low, float(found.mean()) - off), max(high, float(found.mean()) + off)
    more = STRETCH * (high - low) + margin
    return Forecast(signal, max(floor(STEP * (low - more)) / STEP, 0.0), ceil(STEP * (high + more)) / STEP, count)


def find_enough_clients(privacy: Privacy, chosen: int, inflation: float) -> int | None:
    """How many clients are enough for noise not to drown their answers; where δ is not given, it shrinks as they become
    more, and so does the share of them that is surely honest. None: there cannot be as many.
    """

    def are_enough(clients: int) -> bool:
        return clients * privacy.find_mu(clients) >= find_least(chosen) * inflation * FEWER_HONEST

    high = 2
    while not are_enough(high):
        high *= 2
        if high > MOST_CLIENTS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if are_enough(middle) else (middle, high)
    return high


def find_enough_epsilon(clients: int, chosen: int, delta: float, inflation: float) -> float:
    """The smallest ε with which noise would not drown the answers of this many clients."""
    return find_epsilon(find_least(chosen) * inflation / clients, delta)


def expect(signal: float) -> Forecast:
    """Where nothing is known of the data: between what was measured, on a logarithmic scale."""
    at, low, high = MEASURED[0]
    if signal <= at:
        return Forecast(signal, low * sqrt(max(signal, 0.0) / at), high)
    for (less, *below), (more, *above) in pairwise(MEASURED):
        if signal <= more:
            share = log(signal / less) / log(more / less)
            low, high = (a + (b - a) * share for a, b in zip(below, above, strict=True))
            return Forecast(signal, low, high)
    return Forecast(signal, *MEASURED[-1][1:])
