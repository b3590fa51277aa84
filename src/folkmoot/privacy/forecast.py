"""What noise will cost, before anybody is asked: from how many there are, how many items are chosen, and ε alone."""

from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt

from folkmoot.privacy.accounting import Privacy, find_epsilon

HOPELESS, POOR, FAIR = 1.0, 3.0, 10.0  # signal per item to be chosen
MOST_CLIENTS = 10**12  # that are looked for
FEWER_HONEST = 1.08  # how much noise grows, at most, as more are asked: a smaller share of many is surely honest
# What private runs reached of greedy without noise, by signal per item (benchmarks/privacy.py).
MEASURED = (
    (1.0, 0.72),
    (1.3, 0.8),
    (1.7, 0.86),
    (3.0, 0.925),
    (10.0, 0.968),
    (50.0, 0.988),
    (200.0, 0.996),
    (1000.0, 0.999),
)
# The same by picks among places (the demo's towns), where items that are near replace each other.
MEASURED_NEAR = ((1.0, 0.6), (6.0, 0.72), (18.0, 0.79), (48.0, 0.89), (142.0, 0.92), (404.0, 0.957), (1200.0, 0.99))


@dataclass(frozen=True)
class Forecast:
    """signal: A/k, the norm that all clients have together, in deviations of noise, per item to be chosen. expected:
    what share of the value of a choice without noise is to be expected, about.
    """

    signal: float
    expected: float

    @property
    def is_hopeless(self) -> bool:
        return self.signal < HOPELESS

    @property
    def is_poor(self) -> bool:
        """Whether a warning is due."""
        return self.signal < POOR

    def describe(self) -> str:
        """One sentence, without its full stop."""
        what = f"about {self.expected:.0%} of what a choice without noise is worth"
        if self.is_hopeless:
            return "noise would drown all answers"
        if self.is_poor:
            return f"much is lost in noise: {what}, and it varies much"
        if self.signal < FAIR:
            return f"{what}: about as good as the most popular items"
        return what


def forecast(clients: int, chosen: int, mu: float, inflation: float) -> Forecast:
    """For this many clients, items to be chosen, budget μ, and noise that is `inflation` times what is needed."""
    signal = clients * mu / inflation / chosen
    return Forecast(signal, expect_ratio(signal))


def find_enough_clients(privacy: Privacy, chosen: int, inflation: float) -> int | None:
    """How many clients are enough for noise not to drown their answers; where δ is not given, it shrinks as they become
    more, and so does the share of them that is surely honest. None: there cannot be as many.
    """

    def are_enough(clients: int) -> bool:
        return clients * privacy.find_mu(clients) >= HOPELESS * chosen * inflation * FEWER_HONEST

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
    return find_epsilon(HOPELESS * chosen * inflation / clients, delta)


def expect_ratio(signal: float, measured: tuple[tuple[float, float], ...] = MEASURED) -> float:
    """Between what was measured, on a logarithmic scale."""
    if signal <= measured[0][0]:
        return measured[0][1] * sqrt(max(signal, 0.0) / measured[0][0])
    for (low, worse), (high, better) in pairwise(measured):
        if signal <= high:
            return worse + (better - worse) * log(signal / low) / log(high / low)
    return measured[-1][1]
