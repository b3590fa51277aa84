"""How many neighbours a client needs, and how many of them must answer: computed, not tabulated.

A client shares its secrets with `degree` neighbours drawn at random; any `threshold` of them can reconstruct a secret.
Out of N clients up to A = ⌊corrupt·N⌋ may work for the server, and up to D = ⌊dropout·N⌋ may drop out. Required:

- 2·threshold > degree + c for every client, where c is the number of its corrupt neighbours: then no two sets of
  neighbours can be tricked into giving away both secrets of one client.
- Any sum that can be unmasked holds more than half of the honest clients (`fewest_honest`): then there is only one.
- Every client has `threshold` neighbours left at the end.

The first two hold except with probability 2^-security, the third except with probability 2^-correctness.

Hypergeometric tails and a union bound over clients, as in Bell et al. (2020) and in the parameter finder of Google's
federated-compute, whose graphs differ from ours; the argument that there is only one sum is our own.
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
from folkmoot.foundation.settings import SECURITY

CORRECTNESS = 20
FEWEST, MOST = 3, 1 << 22  # clients in a round; of two, each could compute the other's vector from the sum
EXACTLY = 1_000  # clients up to which probabilities are computed exactly; beyond, they are bounded


@dataclass(frozen=True)
class Parameters:
    """Degree and threshold, and what they protect against."""

    clients: int
    degree: int
    threshold: int
    bad: int  # how many clients may work for the server: a share `corrupt` of those asked
    corrupt: float
    dropout: float
    security: int = SECURITY
    correctness: int = CORRECTNESS

    @property
    def honest(self) -> int:
        """The fewest honest clients in any sum that the server can learn."""
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
    """The smallest even degree for which a threshold exists; if there is none, everybody is everybody's neighbour.

    `clients` are present, out of `asked` (None: all of them are); `corrupt` is a share of those asked.
    """
    n = as_count(clients, "clients", least=FEWEST)
    if n > MOST:
        raise InputError(f"a round has at most {MOST:,}, got {n:,}", argument="clients")
    shares = as_share(corrupt, "corrupt"), as_share(dropout, "dropout")
    as_count(security, "security"), as_count(correctness, "correctness")
    bad = count_share(shares[0], n if asked is None else as_count(asked, "asked", least=n))
    return _search(n, bad, *shares, security, correctness)


def count_share(share: float, clients: int) -> int:
    """A share of the clients, rounded down: 29 % of 100 are 29, though 0.29 · 100 < 29 in binary."""
    return floor(share * clients + 1e-9)


def is_hopeless(clients: int, bad: int, dropout: float) -> bool:
    """Whether no threshold can do, at any degree: with 2·threshold > degree + c, too few neighbours would be left."""
    return bad + 2 * count_share(dropout, clients) >= clients - 1


@lru_cache(maxsize=1024)
def _search(n: int, bad: int, corrupt: float, dropout: float, security: int, correctness: int) -> Parameters:
    gone = count_share(dropout, n)
    for degree in () if is_hopeless(n, bad, dropout) else chain(range(2, n - 1, 2), [n - 1]):
        least = _least_threshold(n, bad, degree, security)
        # P[fewer than t survive] = P[more than degree − t drop out]: the largest t for which that is small enough.
        most = degree - int(np.argmax(_upper_tails(n - 1, gone, degree) <= 2.0**-correctness / n))
        if least > most or not _has_one_sum(n, bad, degree, most, security):
            continue
        thresholds = range(least, most)
        best = least + bisect_left(thresholds, True, key=lambda t: _has_one_sum(n, bad, degree, t, security))
        return Parameters(n, degree, best, bad, corrupt, dropout, security, correctness)
    never = corrupt + 2 * dropout >= 1
    raise InputError(
        f"{n} are too few to withstand {corrupt:.0%} corrupt clients and {dropout:.0%} dropouts"
        + (", and so is any number" if never else ""),
        remedy="lower the shares" if never else "ask more clients, or lower the shares",
        argument="clients",
    )


def _least_threshold(n: int, bad: int, degree: int, security: int) -> int:
    """The smallest t with 2t > degree + c, where c bounds the corrupt neighbours of every client."""
    most = int(np.argmax(_upper_tails(n - 1, bad, degree) <= 2.0 ** -(security + 1) / n))
    return (degree + most) // 2 + 1


@lru_cache(maxsize=1024)
def fewest_honest(n: int, bad: int, degree: int, threshold: int, security: int = SECURITY) -> int:
    """The fewest honest clients that any sum can hold, whatever a malicious server claims about dropouts.

    In a sum that can be unmasked, `threshold` of the neighbours that an honest client chose are in the sum or corrupt
    (docs/secagg.md). Clients choose independently, so the probability that s honest clients form such a set is at
    most C(honest, s) · P[Hypergeometric(n − 1, bad + s − 1, degree) ≥ threshold]^s; this is summed over small s.
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
    """log Γ. (Called by its full name, since scipy loads a submodule on first use, and this one is slow to load.)"""
    return np.asarray(scipy.special.gammaln(n))


def _log2_mass(n: int, special: NDArray[np.int64], drawn: int, hits: NDArray[np.int64]) -> NDArray[np.float64]:
    """log2 P[exactly `hits` of the special ones are among `drawn` out of n]; −∞ if that is impossible."""

    def ways(total: NDArray[np.int64], some: NDArray[np.int64]) -> NDArray[np.float64]:
        possible = (some >= 0) & (some <= total)
        logs = gammaln(total + 1) - gammaln(np.maximum(some, 0) + 1) - gammaln(np.maximum(total - some, 0) + 1)
        return np.where(possible, logs, -np.inf)

    whole = ways(np.array(n), np.array(drawn))
    return np.asarray((ways(special, hits) + ways(n - special, drawn - hits) - whole) / log(2))


def _upper_tails(n: int, special: int, drawn: int) -> NDArray[np.float64]:
    """P[more than h of the special ones are among `drawn` out of n], for h = 0, 1, …, drawn."""
    mass = np.exp2(_log2_mass(n, np.array(special), drawn, np.arange(drawn + 1)))
    return np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)


def _log2_upper_tail(n: int, special: NDArray[np.int64], drawn: int, hits: int) -> NDArray[np.float64]:
    """log2 P[at least `hits` hits], for each number of special ones."""
    masses = _log2_mass(n, special[:, None], drawn, np.arange(hits, drawn + 1))
    return np.asarray(np.logaddexp2.reduce(masses, axis=1))


def _divergence(share: float, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Relative entropy of two coins in bits; 0 where the mean is not below the share (Hoeffding's exponent)."""
    q = np.clip(mean, 1e-300, share)
    return np.asarray(share * np.log2(share / q) + (scipy.special.xlogy(1 - share, (1 - share) / (1 - q)) / log(2)))


def _has_one_sum(n: int, bad: int, degree: int, threshold: int, security: int) -> bool:
    """Whether any sum holds more than half of the honest clients."""
    return 2 * fewest_honest(n, bad, degree, threshold, security) > n - bad


@lru_cache(maxsize=1024)
def is_safe(clients: int, degree: int, threshold: int, bad: int, security: int = SECURITY) -> bool:
    """Whether degree and threshold protect against so many corrupt clients; a client checks it before it takes part."""
    if not FEWEST <= degree + 1 <= clients or threshold > degree:
        return False
    if threshold < _least_threshold(clients, bad, degree, security):
        return False
    return _has_one_sum(clients, bad, degree, threshold, security)
