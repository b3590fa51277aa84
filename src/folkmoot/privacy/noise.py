"""The noise of one round: a share from everyone who speaks, so that the honest shares in any sum are enough.

A client, or a party that speaks for its clients, adds a discrete Gaussian share of variance σ²/h, where h is the fewest
honest shares that any sum can hold on the roll that it saw itself. So whoever drops out and whoever lies, what the
server sees has noise of at least σ.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from math import ceil, log2, sqrt

import numpy as np

from folkmoot.foundation.randomness import SYSTEM, PrivateRandomness
from folkmoot.foundation.sets import Ids
from folkmoot.privacy.gaussian import LEAST_SD, MOST_SD, DiscreteGaussian

COARSEST, USUAL, FINEST = 13, 16, 22  # bits of σ in units
FINE_NORM = 12  # bits of an answer's norm in units: its numbers are rounded towards 0
DEVIATIONS = 24  # of room beyond the limits; more occurs with probability 2^-400


@dataclass(frozen=True)
class Noise:
    """mu: what the round costs everyone who answers. sd: σ in units, of the honest shares together."""

    mu: float
    sd: int

    def find_share_sd(self, honest: int) -> float:
        return self.sd / sqrt(honest)

    def find_total_sd(self, speakers: int, honest: int) -> float:
        """The noise in a sum of so many shares: more than is needed, by those who may be corrupt or drop out."""
        return self.sd * sqrt(speakers / honest)

    def draw_share(self, length: int, honest: int, random: PrivateRandomness) -> Ids:
        """What one speaker adds to its vector."""
        return DiscreteGaussian.of(Fraction(self.sd * self.sd, honest)).draw(length, random)


def choose_sd(mu: float, honest: int) -> int:
    """σ in units, a power of two: fine enough that rounding does not matter, and shares that tables can hold."""
    wanted = max(USUAL, ceil(FINE_NORM - log2(mu)))
    largest = int(log2(MOST_SD * sqrt(honest)))
    least = ceil(log2(LEAST_SD * sqrt(honest)))
    return 1 << max(min(wanted, largest, FINEST), least, COARSEST)


class NoiseSource(ABC):
    """Where the randomness of shares comes from."""

    @abstractmethod
    def find_private(self, number: int, speaker: int) -> PrivateRandomness:
        """The randomness of one speaker's share in the round of this number."""

    @property
    def by_share(self) -> bool:
        """Whether a simulation draws every share; if not, it draws their sum at once."""
        return False

    @abstractmethod
    def find_generator(self, number: int) -> np.random.Generator:
        """For a simulation that draws the sum of all shares of a round at once."""


class SystemNoise(NoiseSource):
    """The operating system's: nothing is derived from any seed, and nothing is stored."""

    def find_private(self, number: int, speaker: int) -> PrivateRandomness:  # noqa: ARG002
        return SYSTEM

    def find_generator(self, number: int) -> np.random.Generator:  # noqa: ARG002
        return np.random.Generator(np.random.Philox(key=int.from_bytes(SYSTEM.random(16), "little")))


SYSTEM_NOISE = SystemNoise()


@dataclass(frozen=True)
class KeyedNoise(NoiseSource):
    """Noise that whoever knows the key can subtract: for tests and benchmarks, where nobody is to be protected."""

    key: bytes
    by_share: bool = False

    def find_private(self, number: int, speaker: int) -> PrivateRandomness:
        return PrivateRandomness.for_tests(self._derive(number, speaker).bytes)

    def find_generator(self, number: int) -> np.random.Generator:
        return self._derive(number)

    def _derive(self, *parts: int) -> np.random.Generator:
        start = self.key + b"".join(part.to_bytes(8, "little") for part in parts)
        return np.random.Generator(np.random.Philox(key=int.from_bytes(sha256(start).digest()[:16], "little")))
