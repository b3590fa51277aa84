"""The multilinear extension F̂(x) = E F(R), R holding each item e with probability x_e independently.

Exact if every function has a closed form (facility location, coverage, probabilistic coverage and their
mixtures); otherwise, or if `samples` is given, estimated from sampled sets.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Array, weigh
from folkmoot.objectives.objective import Objective


def value(objective: Objective, x: ArrayLike, *, samples: int | None = None, seed: int = 0) -> float:
    """F̂(x)."""
    return float(weigh(objective.weights, objective.extension(x, samples=samples, seed=seed)))


def gradient(objective: Objective, x: ArrayLike, *, samples: int | None = None, seed: int = 0) -> Array:
    """∇F̂(x), where ∂F̂/∂x_e = E[F(R + e) − F(R − e)]."""
    return objective.mean_gradient(x, samples=samples, seed=seed)


def samples_needed(sigma: float, delta: float, n_items: int, *, largest: float = 1.0) -> int:
    """How many sampled sets are needed for all n partial derivatives to be right to ±sigma, except with probability
    delta.

    A sample of ∂f̂/∂x_e lies in [0, f({e})], so in [0, m] with m = `largest` ≥ every singleton value.
    Hoeffding for one item and the union bound over n items give P[any |error| ≥ σ] ≤ 2n·exp(−2sσ²/m²),
    hence s = ⌈m²·ln(2n/δ) / (2σ²)⌉. (The paper's Appendix writes log(1/δ)/σ²: one item, scale one.)

    >>> samples_needed(0.1, 0.01, 1000)
    611
    """
    error, scale = as_number(sigma, "sigma", above=True), as_number(largest, "largest", above=True)
    chance = as_number(delta, "delta", above=True)
    if chance >= 1:
        raise InputError(f"needs a probability below 1, got {delta}", argument="delta")
    items = as_count(n_items, "n_items")
    samples = (scale / error) * (scale / error) * math.log(2 * items / chance) / 2
    if not samples < 2**63:
        raise InputError(f"{sigma} at a scale of {largest} needs more than 2^63 samples", argument="sigma")
    return math.ceil(samples)


def largest_singleton(objective: Objective) -> float:
    """max_e F({e}): the scale of F's partial derivatives, for `samples_needed(…, largest=…)`."""
    return float(np.max(objective.mean_gains(())))
