"""From ε and δ to the one number that adds up: μ of the Gaussian mechanism.

A sum that one client changes by at most Δ (in L2), with Gaussian noise of standard deviation σ, is μ-Gaussian-private
with μ = Δ/σ. Rounds add up as Σμ_r², also if each round is chosen by what the ones before it said (docs/privacy.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, isfinite, sqrt

import scipy

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_number
from folkmoot.foundation.settings import ADJACENCIES

LEAST_DELTA, MOST_EPSILON = 1e-14, 100.0
SMALLEST_MU, LARGEST_MU = 1e-7, 100.0
HALVINGS = 200


def find_delta(mu: float, epsilon: float) -> float:
    """The smallest δ for which μ-Gaussian privacy is (ε, δ)-privacy (Balle and Wang 2018)."""
    special = scipy.special  # by its full name: scipy loads it on first use
    return float(special.ndtr(mu / 2 - epsilon / mu) - exp(epsilon + float(special.log_ndtr(-mu / 2 - epsilon / mu))))


@lru_cache(maxsize=1024)
def find_mu(epsilon: float, delta: float) -> float:
    """The largest μ that is (ε, δ)-private."""
    if find_delta(SMALLEST_MU, epsilon) > delta:
        raise InputError(f"is so small, with δ = {delta:g}, that no noise would be enough", argument="epsilon")
    return _find_last(lambda mu: find_delta(mu, epsilon) <= delta, SMALLEST_MU, LARGEST_MU)


def find_epsilon(mu: float, delta: float) -> float:
    """The smallest ε for which μ-Gaussian privacy is (ε, δ)-privacy; 0 if any is."""
    if mu <= 0 or find_delta(mu, 0.0) <= delta:
        return 0.0
    high = mu * mu / 2 + mu * 9.0  # δ is below 1e-19 there
    return high - _find_last(lambda down: find_delta(mu, high - down) <= delta, 0.0, high)


def _find_last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The last number from `low` on for which something holds that holds up to some point."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class Privacy:
    """What everybody is promised: whatever the server sees, it could nearly as well have seen without any one person.

    epsilon, delta: for all rounds of a run together, per person; delta None: `choose_delta`. adjacency:
    "zero-out" compares with a person who takes part and has nothing to say; "replace-one" with any other person, at
    √2 times the noise (twice, where answers may be negative).
    """

    epsilon: float
    delta: float | None = None
    adjacency: str = "zero-out"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if self.delta is not None:
            check_delta(self.delta)
        if self.adjacency not in ADJACENCIES:
            raise InputError(f'needs "zero-out" or "replace-one", got {self.adjacency!r}', argument="adjacency")

    def find_delta(self, clients: int) -> float:
        return choose_delta(clients) if self.delta is None else self.delta

    def find_mu(self, clients: int) -> float:
        """The budget: Σμ_r² of all rounds is at most its square."""
        return find_mu(float(self.epsilon), self.find_delta(clients))


def choose_delta(clients: int) -> float:
    """δ unless it is given: the smaller of N^-1.5 and 1/(10 N), so that it is far below 1/N for few clients too."""
    return max(min(float(clients**-1.5), 0.1 / clients), LEAST_DELTA)


def find_reach(adjacency: str, *, signed: bool) -> float:
    """How far the answers of neighbours lie apart, if an answer's norm is at most 1.

    Two vectors without negative numbers have no obtuse angle between them, so √2; others can be opposite.
    """
    if adjacency == "zero-out":
        return 1.0
    return 2.0 if signed else sqrt(2.0)


def check_epsilon(epsilon: float) -> None:
    if isinstance(epsilon, str) or not 0 < as_number(epsilon, "epsilon", least=-inf) <= MOST_EPSILON:
        raise InputError(f"needs a number above 0 and up to {MOST_EPSILON:g}, got {epsilon}", argument="epsilon")


def check_delta(delta: float) -> None:
    if isinstance(delta, str) or not (isfinite(as_number(delta, "delta", least=-inf)) and LEAST_DELTA <= delta < 0.5):
        raise InputError(f"needs a number from {LEAST_DELTA:g} to below 0.5, got {delta}", argument="delta")


def combine_mus(mus: list[float]) -> float:
    """μ of several rounds together."""
    return sqrt(sum(mu * mu for mu in mus)) if mus else 0.0
