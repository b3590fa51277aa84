"""The discrete Gaussian, exactly: its thresholds, its ties, its draws, and sums of its shares.

Where chance decides, each test fails with a probability of at most CHANCE if all is right; seeds are fixed.
"""

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, pi, sqrt

import numpy as np
import pytest
from scipy.stats import chi2, norm

from folkmoot import InputError
from folkmoot.foundation.randomness import SYSTEM, PrivateRandomness
from folkmoot.foundation.sets import Array, Ids
from folkmoot.privacy.gaussian import FIRST, LARGEST, LEAST_SD, MOST_SD, SECOND, DiscreteGaussian, exponentiate

CHANCE = 1e-9
WHOLE = 1 << (FIRST + SECOND)
VARIANCES = [Fraction(1, 4), Fraction(1), Fraction(16), Fraction(1 << 32, 12_345_679), Fraction(300 * 300)]


def read_thresholds(table: DiscreteGaussian) -> list[int]:
    """P[|x| ≤ place], as whole numbers of 2^-127."""
    pairs = zip(table.firsts.tolist(), table.seconds.tolist(), strict=True)
    return [(first << SECOND) + second % (1 << SECOND) for first, second in pairs]


def weigh_exactly(variance: Fraction, last: int) -> list[Decimal]:
    """exp(−x²/2σ²) for x = 0, 1, …, last."""
    twice = 2 * Decimal(variance.numerator) / Decimal(variance.denominator)
    return [(-Decimal(x * x) / twice).exp() for x in range(last + 1)]


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_thresholds_are_those_of_the_distribution(variance: Fraction) -> None:
    """All of them, against 90 decimal digits: the whole distribution is off by less than 2^-100."""
    with localcontext() as context:
        context.prec = 90
        found = read_thresholds(DiscreteGaussian.of(variance))
        last = len(found) - 1
        weights = weigh_exactly(variance, 3 * last)
        total = weights[0] + 2 * sum(weights[1:], Decimal(0))
        below, off = Decimal(0), Decimal(0)
        for place, threshold in enumerate([*found[:-1], WHOLE]):
            mass = weights[place] / total * (1 if place == 0 else 2)
            off += abs(mass - (Decimal(threshold) / WHOLE - below))
            below = Decimal(threshold) / WHOLE
        assert off < Decimal(2) ** -100
        assert found == sorted(found)


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 1), (1, 2), (1, 10**20), (355, 1_000)])
def test_powers_of_e(numerator: int, denominator: int) -> None:
    with localcontext() as context:
        context.prec = 110
        truth = (-Decimal(numerator) / Decimal(denominator)).exp()
        assert abs(Decimal(exponentiate(numerator, denominator)) / 2**320 - truth) < Decimal(2) ** -300


class Scripted:
    """Bytes that a test has chosen, in order."""

    def __init__(self, words: Iterable[int]) -> None:
        self.words = list(words)

    def __call__(self, size: int) -> bytes:
        count = size // 8
        given, self.words = self.words[:count], self.words[count:]
        return b"".join(word.to_bytes(8, "little") for word in given)


def draw_scripted(table: DiscreteGaussian, draws: list[tuple[int, int, list[int]]]) -> list[int]:
    """Draws from (first bits, sign, further words)."""
    words = [first << 1 | sign for first, sign, _ in draws] + [more for *_, further in draws for more in further]
    source = Scripted(words)
    out = table.draw(len(draws), PrivateRandomness.for_tests(source))
    assert not source.words  # no more and no fewer bytes were needed
    return [int(one) for one in out]


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_draws_on_both_sides_of_every_threshold(variance: Fraction) -> None:
    """A draw whose first bits meet a threshold asks for more bits, and these decide; others ask for none."""
    table = DiscreteGaussian.of(variance)
    thresholds = read_thresholds(table)

    def count_below(number: int) -> int:
        return min(sum(one <= number for one in thresholds), len(thresholds) - 1)

    for place in range(0, len(thresholds) - 1, max(len(thresholds) // 40, 1)):
        first, second = divmod(thresholds[place], 1 << SECOND)
        for more in {0, max(second - 1, 0), second, min(second + 1, (1 << SECOND) - 1), (1 << SECOND) - 1}:
            for sign in (0, 1):
                magnitude = count_below((first << SECOND) + more)
                assert draw_scripted(table, [(first, sign, [more])]) == [-magnitude if sign else magnitude]
        met = set(table.firsts.tolist())
        for near in {first - 1, first + 1} - met:
            if 0 <= near <= LARGEST:
                assert draw_scripted(table, [(near, 0, [])]) == [count_below(near << SECOND)]
    assert draw_scripted(table, [(0, 0, [])]) == [0]


def test_ties_among_many_draws_are_settled_each_by_itself() -> None:
    table = DiscreteGaussian.of(Fraction(16))
    first, second = (int(one[3]) for one in (table.firsts, table.seconds))
    second %= 1 << SECOND
    draws = [(5, 0, []), (first, 0, [second]), (first, 1, [second - 1]), (first - 1, 1, []), (first, 1, [second])]
    assert draw_scripted(table, draws) == [0, 4, -3, -3, -4]


def draw_many(variance: Fraction, count: int, seed: int) -> Ids:
    rng = np.random.Generator(np.random.Philox(seed))
    return DiscreteGaussian.of(variance).draw(count, PrivateRandomness.for_tests(rng.bytes))


def find_masses(variance: float, reach: int) -> Array:
    x = np.arange(-reach, reach + 1.0)
    masses = np.exp(-x * x / (2 * variance))
    return np.asarray(masses / masses.sum())


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(16), Fraction(64 * 64), Fraction(1 << 32, 575)], ids=str)
def test_draws_by_chi_square(variance: Fraction) -> None:
    """A million draws in cells that each expect at least 50."""
    count, sd = 1_000_000, sqrt(variance)
    drawn = draw_many(variance, count, 5)
    reach = int(12 * sd) + 12
    masses = find_masses(float(variance), reach)
    edges, mass = [-reach], 0.0
    for at, one in enumerate(masses):
        mass += one
        if mass * count >= max(50.0, count / 400):
            edges.append(at - reach + 1)
            mass = 0.0
    edges[-1] = reach + 1
    ends = np.array(edges)
    expected = count * np.add.reduceat(masses, ends[:-1] + reach)
    found = np.histogram(drawn, ends)[0]
    assert found.sum() == count
    assert ((found - expected) ** 2 / expected).sum() < chi2.isf(CHANCE, len(expected) - 1)


@pytest.mark.parametrize("variance", [Fraction(16), Fraction(1 << 32, 575)], ids=str)
def test_moments(variance: Fraction) -> None:
    """Mean 0, variance σ², as often up as down; by the normal distribution of means of 10^6 numbers."""
    count, limit = 1_000_000, float(norm.isf(CHANCE / 8))
    drawn = draw_many(variance, count, 6).astype(np.float64) / sqrt(variance)
    assert abs(drawn.mean()) < limit / sqrt(count)
    assert abs((drawn**2).mean() - 1) < limit * sqrt(2 / count)
    assert abs((drawn**4).mean() - 3) < limit * sqrt(96 / count)
    assert abs((drawn > 0).mean() - (drawn < 0).mean()) < limit / sqrt(count)


def test_the_operating_system_is_asked_each_time() -> None:
    table = DiscreteGaussian.of(Fraction(10**8))
    assert not np.array_equal(table.draw(64, SYSTEM), table.draw(64, SYSTEM))  # fails with less than 2^-700


def test_bytes_that_fall_short_are_no_noise() -> None:
    with pytest.raises(InputError):
        DiscreteGaussian.of(Fraction(16)).draw(3, PrivateRandomness.for_tests(lambda _: b"short"))


# Sums of shares.


def find_distance(sd: Fraction, shares: int) -> Decimal:
    """The total variation between a sum of discrete Gaussians and one of the same variance, without any sampling:
    weights in whole numbers of 2^-500, and tails that weigh less than e^-450.
    """
    bits, reach = 500, int(30 * sd) + 1
    with localcontext() as context:
        context.prec = 170
        one = weigh_exactly(sd * sd, reach)
        half = [int(weight * (1 << bits)) for weight in one]
        masses = half[:0:-1] + half
        total = sum(masses)
        single = [mass * (1 << bits) // total for mass in masses]
        summed = single
        for _ in range(shares - 1):
            out = [0] * (len(summed) + len(single) - 1)
            for at, mass in enumerate(summed):
                for other, weight in enumerate(single):
                    out[at + other] += mass * weight >> bits
            summed = out
        middle = len(summed) // 2
        assert summed == summed[::-1]  # symmetric
        truth = weigh_exactly(shares * sd * sd, middle)
        whole = truth[0] + 2 * sum(truth[1:], Decimal(0))
        scale = Decimal(1 << bits)
        return (
            sum((abs(Decimal(m) / scale - truth[abs(at - middle)] / whole) for at, m in enumerate(summed)), Decimal(0))
            / 2
        )


def bound_distance(sd: float, shares: int) -> float:
    """What Kairouz, Liu and Steinke (2021) prove about logarithms of ratios of both distributions."""
    return 10 * sum(exp(-2 * pi**2 * sd**2 * k / (k + 1)) for k in range(1, shares))


@pytest.mark.parametrize("shares", [2, 3, 5])
@pytest.mark.parametrize("sd", [Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(2)], ids=str)
def test_sums_of_shares_are_nearly_one_discrete_gaussian(sd: Fraction, shares: int) -> None:
    """And the distance is not 0, or this would measure nothing."""
    found = find_distance(sd, shares)
    assert 0 < float(found) < bound_distance(float(sd), shares)
    assert float(found) > exp(-2 * pi**2 * float(sd) ** 2) / 100


def test_sums_of_the_coarsest_shares_that_are_allowed() -> None:
    """At LEAST_SD the distance is below 2^-200, so that nobody can ever tell them apart."""
    assert float(find_distance(Fraction(LEAST_SD), 2)) < 2.0**-200
    assert bound_distance(LEAST_SD, 10**6) < 2.0**-190
    assert MOST_SD >= 2**16


def test_a_discrete_gaussian_is_nearly_a_rounded_one() -> None:
    """TV(discrete Gaussian of σ², N(0, σ² − 1/12) rounded) < 0.001/σ⁴: rounding adds 1/12 to the variance and −1/120
    to the fourth cumulant, so what remains is φ''''/2880, and half of its absolute sum is about 0.0005/σ⁴.
    """
    for sd in (4.0, 8.0, 16.0, 32.0):
        reach = int(12 * sd)
        x, narrow = np.arange(0.0, reach), sqrt(sd * sd - 1 / 12)
        rounded = norm.sf((x - 0.5) / narrow) - norm.sf((x + 0.5) / narrow)
        masses = find_masses(sd * sd, reach)[reach : 2 * reach]
        apart = np.abs(rounded - masses)
        distance = (apart[0] + 2 * apart[1:].sum()) / 2
        assert 0.0004 < distance * sd**4 < 0.001
