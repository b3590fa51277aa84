"""How many neighbours a client needs, and how many of them must answer: computed, not tabulated.

A client shares its secrets with `degree` neighbours drawn at random; any `threshold` of them can reconstruct a secret.
Out of N clients up to A = ⌊corrupt·N⌋ may work for the server, and up to D = ⌊dropout·N⌋ may fall silent. Wanted,
except with probability 2^-security: twice the threshold exceeds the degree and the corrupt neighbours of any client
together (then no two sets of neighbours can be talked into giving away both secrets of one client), and any sum that
can be brought out holds more than half of the honest clients (`honest_in_any_sum`: then there is one sum, not
several). Wanted, except with probability 2^-correctness: everybody keeps enough neighbours.

Tails of the hypergeometric distribution and a union over clients, as in Bell et al. (2020) and in the parameter finder
of Google's federated-compute, which bound other graphs than ours; that there is one sum is our own argument.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import floor, log
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_share

SECURITY, CORRECTNESS = 64, 20
FEWEST, MOST = 3, 1 << 22  # clients: a sum of two is no secret to either; more than four million are several rounds
EXACTLY = 1_000  # clients up to which chances are computed exactly; beyond, bounded


@dataclass(frozen=True)
class Parameters:
    """A choice of degree and threshold, and what it holds against."""

    clients: int
    degree: int
    threshold: int
    bad: int  # clients that may work for the server: a share `corrupt` of those asked
    corrupt: float
    dropout: float
    security: int = SECURITY
    correctness: int = CORRECTNESS

    @property
    def honest(self) -> int:
        """Clients in any sum that the server can learn, not counting those that work for it."""
        return fewest_honest(self.clients, self.bad, self.degree, self.threshold, self.security)

    def __str__(self) -> str:
        return (
            f"{self.clients:,} clients with {self.degree} neighbours each, any {self.threshold} of which can "
            f"reconstruct a secret: safe against a malicious server with {self.corrupt:.0%} of the clients except with "
            f"probability 2^-{self.security} (it learns one sum, over {self.honest:,} honest clients or more), "
            f"works with {self.dropout:.0%} gone except with probability 2^-{self.correctness}"
        )


def choose(
    clients: int,
    *,
    corrupt: float = 0.1,
    dropout: float = 0.1,
    asked: int | None = None,
    security: int = SECURITY,
    correctness: int = CORRECTNESS,
) -> Parameters:
    """The smallest even degree for which a threshold exists; all others as neighbours, if it takes that.

    `clients` are those that are there, of so many `asked` (None: all are there); `corrupt` is a share of those asked.
    """
    n = as_count(clients, "clients", least=FEWEST)
    if n > MOST:
        raise InputError(f"a round has at most {MOST:,}, got {n:,}", argument="clients")
    shares = as_share(corrupt, "corrupt"), as_share(dropout, "dropout")
    as_count(security, "security"), as_count(correctness, "correctness")
    bad = count_share(shares[0], n if asked is None else as_count(asked, "asked", least=n))
    return _search(n, bad, *shares, security, correctness)


def count_share(share: float, clients: int) -> int:
    """So many clients a share of them is; 29 % of 100 are 29, whatever 0.29 is in binary."""
    return floor(share * clients + 1e-9)


@lru_cache(maxsize=1024)
def _search(n: int, bad: int, corrupt: float, dropout: float, security: int, correctness: int) -> Parameters:
    gone = count_share(dropout, n)
    for degree in chain(range(2, n - 1, 2), [n - 1]):
        least = _least_threshold(n, bad, degree, security)
        # So many neighbours are left, or more, unless more than the others are gone.
        enough = degree - int(np.argmax(_upper_tails(n - 1, gone, degree) <= 2.0**-correctness / n))
        if least > enough or not _has_one_sum(n, bad, degree, enough, security):
            continue
        thresholds = range(least, enough)
        best = least + bisect_left(thresholds, True, key=lambda t: _has_one_sum(n, bad, degree, t, security))
        return Parameters(n, degree, best, bad, corrupt, dropout, security, correctness)
    raise InputError(
        f"{n} are too few to bear {corrupt:.0%} corrupt and {dropout:.0%} dropped out",
        remedy="ask more clients, or allow for less",
        argument="clients",
    )


def _least_threshold(n: int, bad: int, degree: int, security: int) -> int:
    """The smallest of which two exceed the degree and anybody's corrupt neighbours together."""
    most = int(np.argmax(_upper_tails(n - 1, bad, degree) <= 2.0 ** -(security + 1) / n))
    return (degree + most) // 2 + 1


def fewest_honest(n: int, bad: int, degree: int, threshold: int, security: int = SECURITY) -> int:
    """The fewest honest clients that any sum can hold, whatever a malicious server claims about dropouts.

    In a sum that can be unmasked every honest client has `threshold` of its chosen neighbours in the sum or in the
    server's pay (docs/secagg.md). Clients choose neighbours independently, so the chance that any s of them have is
    at most C(honest, s) · P[Hypergeometric(n − 1, bad + s − 1, degree) ≥ threshold]^s, summed over small s.
    """
    sizes = np.arange(1, n - bad + 1)
    inside = bad + sizes - 1
    if n <= EXACTLY:
        chance = _log2_upper_tail(n - 1, inside, degree, threshold)
    else:
        chance = -degree * _divergence(threshold / degree, inside / (n - 1))
    choices = (gammaln(n - bad + 1) - gammaln(sizes + 1) - gammaln(n - bad - sizes + 1)) / log(2)
    likely = np.logaddexp2.accumulate(choices + sizes * chance) > -(security + 1)
    return int(sizes[np.argmax(likely)] if likely.any() else sizes[-1])


def gammaln(n: Any) -> NDArray[np.float64]:
    """log Γ of each. (A part of scipy is loaded when it is first used, and this one takes a while.)"""
    return np.asarray(scipy.special.gammaln(n))


def _log2_mass(n: int, special: NDArray[np.int64], drawn: int, hits: NDArray[np.int64]) -> NDArray[np.float64]:
    """log2 of the chance that so many of the special ones are among `drawn` of n; −∞ where that cannot be."""

    def ways(total: NDArray[np.int64], some: NDArray[np.int64]) -> NDArray[np.float64]:
        possible = (some >= 0) & (some <= total)
        logs = gammaln(total + 1) - gammaln(np.maximum(some, 0) + 1) - gammaln(np.maximum(total - some, 0) + 1)
        return np.where(possible, logs, -np.inf)

    whole = ways(np.array(n), np.array(drawn))
    return np.asarray((ways(special, hits) + ways(n - special, drawn - hits) - whole) / log(2))


def _upper_tails(n: int, special: int, drawn: int) -> NDArray[np.float64]:
    """P[more than h of the special ones among `drawn` of n], for h = 0, 1, …, drawn."""
    mass = np.exp2(_log2_mass(n, np.array(special), drawn, np.arange(drawn + 1)))
    return np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)


def _log2_upper_tail(n: int, special: NDArray[np.int64], drawn: int, hits: int) -> NDArray[np.float64]:
    """log2 of the chance of so many hits or more, for each number of special ones."""
    masses = _log2_mass(n, special[:, None], drawn, np.arange(hits, drawn + 1))
    return np.asarray(np.logaddexp2.reduce(masses, axis=1))


def _divergence(share: float, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """In bits, between coins of two biases; 0 where the mean is not below the share (Hoeffding's exponent)."""
    q = np.clip(mean, 1e-300, share)
    return np.asarray(share * np.log2(share / q) + (scipy.special.xlogy(1 - share, (1 - share) / (1 - q)) / log(2)))


def _has_one_sum(n: int, bad: int, degree: int, threshold: int, security: int) -> bool:
    return 2 * fewest_honest(n, bad, degree, threshold, security) > n - bad


@lru_cache(maxsize=1024)
def is_safe(clients: int, degree: int, threshold: int, bad: int, security: int = SECURITY) -> bool:
    """Whether these hold against so many corrupt clients; what a client checks before it takes part."""
    if not FEWEST <= degree + 1 <= clients or threshold > degree:
        return False
    if threshold < _least_threshold(clients, bad, degree, security):
        return False
    return _has_one_sum(clients, bad, degree, threshold, security)
