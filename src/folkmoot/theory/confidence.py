"""What a sample proves about a mean, at any sample size and for any tails, as long as values have a known range.

Two claims, both for values between 0 and `top` of clients drawn at random, without repeats from a population of
known size or independently. `mean_interval` encloses a mean whose sample is known value by value (as a histogram):
a bettor who may not see ahead bets against every candidate mean, and the candidates against which it would have grown
rich are out (Waudby-Smith and Ramdas 2024). `highest_mean` bounds a mean from above of which no more is known than a
bound on its sample's mean and on its spread.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, log1p, sqrt

import numpy as np

from folkmoot.foundation.sets import Array, Ids, freeze

STEPS, OCTAVES = 32, 12  # of a grid: so many points between a number and its double, so many doublings
ORDERS = 4  # in which a sample is bet on; the mean of the fortunes is a fortune
MOST_BETS = 16_384  # of a sample larger than this, only one order is looked at
BOLDEST = 0.9  # of what one has: nobody who bets all of it comes back from a rare large value
PRIOR = 4  # clients' worth of belief, before any is seen, in a deviation of half the range, the largest there is
HALVINGS = 48


@dataclass(frozen=True)
class Grid:
    """Numbers from 0 to `top`, at equal distances in each octave: a value is told as one of its two neighbours."""

    top: float

    @property
    def points(self) -> Array:
        octave = 1 + np.arange(STEPS) / STEPS
        scale = 2.0 ** np.arange(-OCTAVES, 0)
        return np.concatenate(([0.0], self.top * (scale[:, None] * octave).reshape(-1), [self.top]))

    def neighbours(self, values: Array) -> tuple[Ids, Array]:
        """The place below each value, and how far it is on the way to the one above."""
        points = self.points
        values = np.clip(values, 0.0, self.top)
        below = np.clip(np.searchsorted(points, values, side="right") - 1, 0, len(points) - 2)
        return below, (values - points[below]) / (points[below + 1] - points[below])

    @property
    def coarsest(self) -> float:
        """The widest gap."""
        return self.top / (2 * STEPS)


def mean_interval(
    values: Array, counts: Ids, top: float, *, population: int | None, alpha: float, key: int
) -> tuple[float, float]:
    """Limits between which the mean of a population lies except with probability alpha.

    The sample holds each of the values so often as counts says, all of them between 0 and top; `population`: how many
    clients it was drawn from without repeats (None: independent draws). The order of the bets is drawn from the key.
    """
    n = int(counts.sum())
    if not n:
        return 0.0, top
    rng = np.random.default_rng(key)
    drawn = np.repeat(values / top, counts)
    orders = ORDERS if n * ORDERS <= MOST_BETS else 1
    bets = Bets.on(np.array([rng.permutation(drawn) for _ in range(orders)]), population, alpha / 2)
    middle = float(drawn.mean())
    low = _find_last_kept(lambda mean: bets.fortune(mean, +1), middle, 0.0, bets.rich)
    high = _find_last_kept(lambda mean: bets.fortune(mean, -1), middle, 1.0, bets.rich)
    return low * top, high * top


def _find_last_kept(fortune: Callable[[float], float], kept: float, out: float, rich: float) -> float:
    """The last mean on the way from `kept` to `out` against which nobody grows rich, or one a hair beyond it."""
    if fortune(out) < rich:
        return out
    for _ in range(HALVINGS):
        middle = (kept + out) / 2
        kept, out = (kept, middle) if fortune(middle) >= rich else (middle, out)
    return out


@dataclass(frozen=True, eq=False)
class Bets:
    """Samples (orders × clients, between 0 and 1), and how boldly each value is bet on, by what came before it."""

    sample: Array
    before: Array  # the sum of what came before
    left: Array | None  # clients not yet seen at each bet; None: draws are independent
    stakes: Array
    rich: float  # the logarithm of the fortune that refutes a mean

    @classmethod
    def on(cls, sample: Array, population: int | None, alpha: float) -> "Bets":
        orders, n = sample.shape
        before = np.concatenate((np.zeros((orders, 1)), np.cumsum(sample, axis=1)[:, :-1]), axis=1)
        squares = np.concatenate((np.zeros((orders, 1)), np.cumsum(sample**2, axis=1)[:, :-1]), axis=1)
        seen = np.arange(n)
        means = (before + PRIOR / 2) / (seen + PRIOR)
        spread = np.maximum(squares - 2 * means * before + seen * means**2, 0.0)
        variance = np.maximum((PRIOR / 4 + spread) / (seen + PRIOR), 1e-12)
        rich = -log(alpha)
        left = None if population is None else (population - seen).astype(np.float64)
        share = 1.0 if population is None else max(1.0 - n / population, 1e-3)
        return cls(sample, before, left, np.sqrt(2 * rich / (n * variance * share)), rich)

    def fortune(self, mean: float, side: int) -> float:
        """The logarithm of what betting that values lie above (side 1) or below this mean would have made of 1.

        If the mean is the true one, every bet is fair: E of the fortune is 1, and it is rich with probability alpha
        at most.
        """
        now = mean
        if self.left is not None:  # what is left must make up for what has gone
            now = (mean * self.left[0] - self.before) / self.left
            if (now < -1e-12).any() or (now > 1 + 1e-12).any():
                return inf
            now = np.clip(now, 0.0, 1.0)
        room = now if side > 0 else 1 - np.asarray(now)
        stakes = np.minimum(self.stakes, BOLDEST / np.maximum(room, 1e-12))
        logs = np.log1p(side * stakes * (self.sample - now)).sum(axis=1)
        most = float(logs.max())
        return most + log(np.exp(logs - most).mean())


@dataclass(frozen=True, eq=False)
class Tail:
    """How large clients' values can be: a share of them can reach up to each of some tops, none of them more."""

    tops: Array  # rising
    shares: Array  # of the clients (by weight); together 1

    def __post_init__(self) -> None:
        freeze(self.tops)
        freeze(self.shares)

    @classmethod
    def at_most(cls, top: float) -> "Tail":
        """Nothing is known but the range."""
        return cls(np.array([top]), np.ones(1))

    @property
    def top(self) -> float:
        return float(self.tops[-1])

    @property
    def mean(self) -> float:
        """No mean of values below the tops is higher."""
        return float(self.tops @ self.shares)

    def variance(self, mean: float) -> float:
        """No values below the tops that have this mean have a larger variance.

        E[X²] is largest where X is all or nothing, and all where the tops are highest.
        """
        worth = (self.tops * self.shares)[::-1]
        taken = np.clip(mean - np.concatenate(([0.0], np.cumsum(worth)[:-1])), 0.0, worth)
        return max(float(taken @ self.tops[::-1]) - mean**2, 0.0)


def highest_mean(sampled: float, draws: int, tail: Tail, delta: float) -> float:
    """No mean is higher of which a sample has a mean of at most `sampled`, except with probability delta.

    For values between 0 and their tops, drawn independently or without repeats. Two tests of every candidate share
    the same delta, since for the true mean each is a threshold fixed beforehand and the lower one plays no part: that
    of Bernstein, for whom no value lies further below the mean than the mean itself, and that of Chernoff, for whom
    values are 0 or the top.
    """
    proof = log(1 / delta)
    low, high = min(max(sampled, 0.0), tail.mean), tail.mean

    def possible(mean: float) -> bool:
        off = mean - sampled
        if off <= 0:
            return True
        bernstein = sqrt(2 * tail.variance(mean) * proof / draws) + mean * proof / (3 * draws)
        return off < bernstein and draws * divergence(sampled / tail.top, mean / tail.top) < proof

    if possible(high):
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return high


def divergence(p: float, q: float) -> float:
    """Of a coin that shows p from one that shows q (Kullback and Leibler), for p below q."""
    p = min(max(p, 0.0), 1.0)
    if q >= 1:
        return 0.0 if p >= 1 else inf
    rare = p * log(p / q) if p > 0 else 0.0
    return rare + ((1 - p) * (log1p(-p) - log1p(-q)) if p < 1 else 0.0)


def highest_share(counted: int, draws: int, delta: float) -> float:
    """No share of a population is higher of which so many draws found so many, except with probability delta."""
    return highest_mean(counted / draws, draws, Tail.at_most(1.0), delta)


def bound_thinning(weights: Array | None, clients: int, chance: float, delta: float) -> float:
    """By how much a weighted mean of values between 0 and 1 may move when every client is missing by a coin of its
    own with this chance, whoever is left standing for all; except with probability delta.

    (F_A − F)·P_A = Σ p_i (y_i − F)(A_i − q) for those present, A, of weight P_A: a sum of independent terms of
    variance at most q(1 − q)Σp_i² and size at most max p_i (Bernstein); so is P_A − q.
    """
    p = np.full(clients, 1 / clients) if weights is None else weights / weights.sum()
    proof, most = log(4 / delta), min(chance, 0.5)
    off = sqrt(2 * most * (1 - most) * float(p @ p) * proof) + float(p.max()) * proof / 3
    present = 1 - chance - off
    return off / present if present > off else 1.0
