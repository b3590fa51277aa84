"""What a sample proves about a mean, at any sample size and for any tails, as long as values have a known range.

There are two claims, both for values between 0 and `top` of clients drawn at random, either without repeats from a
population of known size or independently. `mean_interval` encloses a mean whose sample is known value by value (as a
histogram): a bettor who cannot see ahead bets against every candidate mean, and candidates against which the bettor
would have become rich are ruled out (Waudby-Smith and Ramdas 2024). `highest_mean` bounds a mean from above when only
a bound on the mean of the sample and a bound on the spread are known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, log1p, sqrt

import numpy as np

from folkmoot.foundation.sets import Array, Ids, freeze, weigh

STEPS, OCTAVES = 32, 12  # of a grid: points between a number and its double, and how many doublings
ORDERS = 4  # orders in which a sample is bet on; the mean of the fortunes is a fortune too
MOST_BETS = 16_384  # for samples larger than this only one order is used
BOLDEST = 0.9  # the largest share of a fortune that is staked: staking all of it could lose everything at once
PRIOR = 4  # the prior, a standard deviation of half the range (the largest possible), weighs as much as 4 clients
HALVINGS = 48


@dataclass(frozen=True)
class Grid:
    """Numbers from 0 to `top`, equally spaced in each octave: a value is reported as one of its two neighbours."""

    top: float

    @property
    def points(self) -> Array:
        octave = 1 + np.arange(STEPS) / STEPS
        scale = 2.0 ** np.arange(-OCTAVES, 0)
        return np.concatenate(([0.0], self.top * (scale[:, None] * octave).reshape(-1), [self.top]))

    def neighbours(self, values: Array) -> tuple[Ids, Array]:
        """The index of the point below each value, and how far the value is on the way to the point above (0 to 1)."""
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
    """Limits between which the mean of a population lies, except with probability alpha.

    The sample holds values[j] counts[j] times, all between 0 and top; `population`: how many clients it was drawn
    from without repeats (None: independent draws). The order of the bets is drawn from the key.
    """
    n = int(counts.sum())
    if not n:
        return 0.0, top
    rng = np.random.default_rng(key)
    drawn = np.repeat(values / top, counts)
    orders = ORDERS if n * ORDERS <= MOST_BETS else 1
    bets = Bets.from_sample(np.array([rng.permutation(drawn) for _ in range(orders)]), population, alpha / 2)
    middle = float(drawn.mean())
    low = _find_last_kept(lambda mean: bets.fortune(mean, +1), middle, 0.0, bets.rich)
    high = _find_last_kept(lambda mean: bets.fortune(mean, -1), middle, 1.0, bets.rich)
    return low * top, high * top


def _find_last_kept(fortune: Callable[[float], float], kept: float, out: float, rich: float) -> float:
    """The last mean on the way from `kept` to `out` against which betting does not make rich, or one just beyond."""
    if fortune(out) < rich:
        return out
    for _ in range(HALVINGS):
        middle = (kept + out) / 2
        kept, out = (kept, middle) if fortune(middle) >= rich else (middle, out)
    return out


@dataclass(frozen=True, eq=False)
class Bets:
    """Samples (orders × clients, between 0 and 1), and the stake on each value, which depends on the values before."""

    sample: Array
    before: Array  # the sum of what came before
    left: Array | None  # clients not yet seen at each bet; None: draws are independent
    stakes: Array
    rich: float  # the logarithm of the fortune that refutes a mean

    @classmethod
    def from_sample(cls, sample: Array, population: int | None, alpha: float) -> "Bets":
        """The stakes for samples drawn from this population, when a mean is ruled out with error probability alpha."""
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
        """The logarithm of the fortune after betting, with 1 to start, that values lie above this mean (side 1) or
        below it (side −1).

        If this is the true mean, every bet is fair: the expected fortune is 1, and it reaches `rich` with probability
        at most alpha.
        """
        now = mean
        if self.left is not None:  # without repeats: the mean of the clients not yet seen, given those seen
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
    """How large clients' values can be: shares[j] of the clients have values of at most tops[j]."""

    tops: Array  # rising
    shares: Array  # of the clients (by weight); together 1

    def __post_init__(self) -> None:
        freeze(self.tops)
        freeze(self.shares)

    @classmethod
    def at_most(cls, top: float) -> "Tail":
        """Only the range is known."""
        return cls(np.array([top]), np.ones(1))

    @property
    def top(self) -> float:
        return float(self.tops[-1])

    @property
    def mean(self) -> float:
        """The highest mean that values below the tops can have."""
        return float(weigh(self.tops, self.shares))

    def variance(self, mean: float) -> float:
        """The largest variance that values below the tops can have if this is their mean.

        E[X²] is largest if every X is either 0 or its top, and the X at their tops are those with the highest tops.
        """
        worth = (self.tops * self.shares)[::-1]
        taken = np.clip(mean - np.concatenate(([0.0], np.cumsum(worth)[:-1])), 0.0, worth)
        return max(float(weigh(taken, self.tops[::-1])) - mean**2, 0.0)


def highest_mean(sampled: float, draws: int, tail: Tail, delta: float) -> float:
    """An upper bound on a mean whose sample has a mean of at most `sampled`; wrong with probability at most delta.

    For values between 0 and their tops, drawn independently or without repeats. Every candidate is tested twice: by
    Bernstein's inequality (no value lies further below the mean than the mean itself) and by Chernoff's (the worst
    case has values of 0 or the top). Both tests may use the whole delta: for the true mean each is a threshold fixed
    beforehand, and only the higher threshold matters.
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
    """The Kullback–Leibler divergence of a coin with probability p from one with probability q, for p below q."""
    p = min(max(p, 0.0), 1.0)
    if q >= 1:
        return 0.0 if p >= 1 else inf
    rare = p * log(p / q) if p > 0 else 0.0
    return rare + ((1 - p) * (log1p(-p) - log1p(-q)) if p < 1 else 0.0)


def highest_share(counted: int, draws: int, delta: float) -> float:
    """An upper bound on a share of the population of which `counted` of `draws` draws were; wrong with probability
    at most delta.
    """
    return highest_mean(counted / draws, draws, Tail.at_most(1.0), delta)


def bound_thinning(weights: Array | None, clients: int, chance: float, delta: float) -> float:
    """How far a weighted mean of values between 0 and 1 can move when every client is missing independently with this
    chance and the mean is taken over the others; wrong with probability at most delta.

    (F_A − F)·P_A = Σ p_i (y_i − F)(A_i − q), where A are those present and P_A is their weight: a sum of independent
    terms with variance at most q(1 − q)Σp_i² and size at most max p_i (Bernstein). The same holds for P_A − q.
    """
    p = np.full(clients, 1 / clients) if weights is None else weights / weights.sum()
    proof, most = log(4 / delta), min(chance, 0.5)
    off = sqrt(2 * most * (1 - most) * float((p * p).sum()) * proof) + float(p.max()) * proof / 3
    present = 1 - chance - off
    return off / present if present > off else 1.0
