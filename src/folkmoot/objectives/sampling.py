"""The multilinear extension from sampled sets, for functions without a closed form.

f̂(x) = E f(R) with R ~ x, and ∂f̂/∂x_e = E[f(R + e) − f(R − e)]. If x has few fractional items, all
sets that can occur are listed with their probabilities instead, and the result is exact.
"""

from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse

from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import Array, Mask, Rows

if TYPE_CHECKING:
    from folkmoot.objectives.objective import Objective

DEFAULT_SAMPLES = 64


def draw_sets(objective: "Objective", x: Array, samples: int | None, seed: int) -> tuple[Mask, Array]:
    """Sets R ~ x and the weight of each; sets that are too large to evaluate are narrowed."""
    sets, chances = draw_candidates(x, samples, seed)
    return objective.narrow_sets(sets, seed), chances


def draw_candidates(x: Array, samples: int | None, seed: int) -> tuple[Mask, Array]:
    """Sets R ~ x and the weight of each: every possible set, if there are at most `samples`."""
    count = DEFAULT_SAMPLES if samples is None else as_count(samples, "samples")
    fractional = np.flatnonzero((x > 0) & (x < 1))
    if fractional.size < 63 and 1 << fractional.size <= count:
        sets = np.repeat((x >= 1)[None, :], 1 << fractional.size, axis=0)
        sets[:, fractional] = np.arange(len(sets))[:, None] >> np.arange(fractional.size) & 1
        chances = np.where(sets[:, fractional], x[fractional], 1 - x[fractional]).prod(axis=1)
        return sets, chances
    rng = np.random.default_rng(as_count(seed, "seed", least=0))
    sets = np.repeat((x >= 1)[None, :], count, axis=0)
    sets[:, fractional] = rng.random((count, fractional.size)) < x[fractional]
    return sets, np.full(count, 1 / count)


def extension(objective: "Objective", x: Array, samples: int | None, seed: int) -> Array:
    sets, chances = draw_sets(objective, x, samples, seed)
    values = objective.values_at(sets)
    total = np.zeros(len(values))
    for column, chance in zip(values.T, chances, strict=True):  # a matrix product could add in another order
        total += chance * column
    return total


def gradients(objective: "Objective", x: Array, samples: int | None, seed: int) -> Rows:
    """Mean over R of f(R + e) − f(R) outside R, and f(R) − f(R − e) inside."""
    total: Rows = sparse.csr_array((objective.n_clients, objective.n_items))
    for members, chance in zip(*draw_sets(objective, x, samples, seed), strict=True):
        outside = objective.gains_at(members)
        inside = np.flatnonzero(members)
        values = objective.values_at(_remove_each(members))
        losses = values[:, -1:] - values[:, :-1]
        objective.refuse_falling(members, inside, losses, values)
        lost = sparse.coo_array(losses)
        lost = sparse.coo_array((lost.data, (lost.row, inside[lost.col])), shape=total.shape)
        total = cast(Rows, total + chance * (outside + lost.tocsr()))
    return total


def mean_gradient(objective: "Objective", x: Array, samples: int | None, seed: int) -> Array:
    """The same for F, without building one row per client."""
    total = np.zeros(objective.n_items)
    everything = np.arange(objective.n_items)
    for members, chance in zip(*draw_sets(objective, x, samples, seed), strict=True):
        values = objective.mean_values_at(_remove_each(members))
        gains = objective.mean_gains_at(members, everything)
        gains[members] = values[-1] - values[:-1]
        total += chance * gains
    return total


def _remove_each(members: Mask) -> Mask:
    """R − e for each e in R, then R itself."""
    inside = np.flatnonzero(members)
    sets = np.repeat(members[None, :], inside.size + 1, axis=0)
    sets[np.arange(inside.size), inside] = False
    return sets
