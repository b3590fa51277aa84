"""How many neighbours a client needs, and how many of them must answer: computed, not tabulated.

A client shares its secrets with `degree` neighbours drawn at random; `threshold` of them can bring a secret back.
Out of N clients up to A = ⌊corrupt·N⌋ may work for the server, and up to D = ⌊dropout·N⌋ may fall silent. Wanted,
but for a chance of 2^-security: corrupt neighbours never reach the threshold, and the honest survivors hang
together (Bell et al. 2020). Wanted, but for a chance of 2^-correctness: enough neighbours survive.

Against a malicious server twice the threshold must exceed the degree and the corrupt neighbours together: then
no two sets of neighbours can be talked into giving away both secrets of one client.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, lgamma, log, log2

import numpy as np
from scipy.stats import hypergeom

from folkmoot.errors import InputError
from folkmoot.inputs import as_count, as_number

SECURITY, CORRECTNESS = 40, 20
FEWEST = 3  # clients: a sum of two is no secret to either


@dataclass(frozen=True)
class Parameters:
    """A choice of degree and threshold, and what it holds against."""

    clients: int
    degree: int
    threshold: int
    corrupt: float
    dropout: float
    malicious: bool
    security: int = SECURITY
    correctness: int = CORRECTNESS

    def __str__(self) -> str:
        server = "a malicious server" if self.malicious else "a curious server"
        return (
            f"{self.clients:,} clients, {self.degree} neighbours each, {self.threshold} of them bring a secret back: "
            f"safe against {server} with {self.corrupt:.0%} of the clients but for 2^-{self.security}, "
            f"works with {self.dropout:.0%} gone but for 2^-{self.correctness}"
        )


def choose(
    clients: int,
    *,
    corrupt: float = 0.1,
    dropout: float = 0.1,
    malicious: bool = True,
    security: int = SECURITY,
    correctness: int = CORRECTNESS,
) -> Parameters:
    """The smallest even degree for which a threshold exists; all others as neighbours, if it takes that."""
    n = as_count(clients, "clients", least=FEWEST)
    for name, share in (("corrupt", corrupt), ("dropout", dropout)):
        if as_number(share, name) >= 1:
            raise InputError(f"{name}: needs a share below 1, got {share}")
    bad, gone = floor(corrupt * n), floor(dropout * n)
    for degree in [*range(2, n - 1, 2), n - 1]:
        if degree < n - 1 and _falls_apart(n, bad + gone, degree) > -(security + 1):
            continue
        least = _threshold(n, bad, degree, malicious, security)
        counts = np.arange(degree + 1)
        enough = np.flatnonzero(hypergeom(n, n - gone, degree).cdf(counts - 1) <= 2.0**-correctness / n)
        if least <= enough[-1]:
            return Parameters(n, degree, least, corrupt, dropout, malicious, security, correctness)
    raise InputError(
        f"clients: {n} are too few to bear {corrupt:.0%} corrupt and {dropout:.0%} dropped out; "
        "ask more clients, or allow for less"
    )


def _falls_apart(n: int, missing: int, degree: int) -> float:
    """log2 of a bound on the chance that all neighbours of somebody are corrupt or gone, over all pairs."""
    if n - degree - 1 <= 0 or degree > missing:
        return -np.inf
    choices = lgamma(missing + 1) - lgamma(missing - degree + 1) - lgamma(n + 1) + lgamma(n - degree + 1)
    return log2(n) + log2(n - degree - 1) - 1 + choices / log(2)


def _threshold(n: int, bad: int, degree: int, malicious: bool, security: int) -> int:
    """The smallest safe threshold at this degree."""
    counts = np.arange(degree + 1)
    most = int(np.flatnonzero(hypergeom(n, bad, degree).sf(counts) <= 2.0 ** -(security + 1) / n)[0])
    return (ceil((most + degree - 1.25) / 2) if malicious else most) + 1


@lru_cache(maxsize=1024)
def is_safe(clients: int, degree: int, threshold: int, corrupt: float, malicious: bool) -> bool:
    """Whether these hold against so many corrupt clients; what a client checks before it takes part."""
    bad = floor(corrupt * clients)
    if not FEWEST <= degree + 1 <= clients or threshold > degree:
        return False
    if degree < clients - 1 and _falls_apart(clients, bad, degree) > -(SECURITY + 1):
        return False
    return threshold >= _threshold(clients, bad, degree, malicious, SECURITY)
