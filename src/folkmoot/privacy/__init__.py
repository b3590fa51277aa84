"""Noise that hides single people in sums: how much of it, where it comes from, and what it costs."""

from folkmoot.privacy.accounting import Privacy, find_delta, find_epsilon, find_mu
from folkmoot.privacy.noise import KeyedNoise, Noise, NoiseSource, SystemNoise

__all__ = [
    "KeyedNoise",
    "Noise",
    "NoiseSource",
    "Privacy",
    "SystemNoise",
    "find_delta",
    "find_epsilon",
    "find_mu",
]
