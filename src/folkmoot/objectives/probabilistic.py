"""Probabilistic coverage: each item in the set works for the row with a probability of its own."""

from typing import Any, Unpack

import numpy as np

from folkmoot.foundation.kernels import kernel, sum_blocks
from folkmoot.foundation.sets import Array, Rows
from folkmoot.objectives.accumulated import MISSES, AccumulatedRows
from folkmoot.objectives.sparse import LEAST_MISS, RowOptions, ScoredRows


class ProbabilisticCoverage(AccumulatedRows):
    """f_i(S) = 1 − Π_{e∈S} (1 − p_ie): monotone, submodular, gradient in closed form.

    `probabilities` is rows × items, in [0, 1]. f̂ is f with p_ie replaced by p_ie·x_e, so
    ∂f̂/∂x_e = p_ie · Π_{m≠e} (1 − p_im x_m), in time linear in the row's own items.
    """

    by_construction = True
    closed_form = True
    _argument = "probabilities"
    _most = _row_most = 1.0
    layout_kind = ScoredRows
    _kind = MISSES

    def __init__(self, probabilities: Any, **options: Unpack[RowOptions]) -> None:
        super().__init__(probabilities, **options)

    def extension_at(self, x: Array) -> Array:
        out = np.empty(len(self.row_weight))
        chance_of_any(self.layout, x, out)
        return self._sum_by_client(out)

    def gradients_at(self, x: Array) -> Rows:
        out = np.empty(len(self.layout.items))
        rows = len(self.row_weight)
        gradient(self.layout, np.ones(rows), 0, rows, x, out, True)
        return self._sum_entries_by_client(out)

    def mean_gradient_at(self, x: Array) -> Array:
        layout, weight = self.layout, self._mean_weight
        total: Array = sum_blocks(
            lambda lo, hi, into: gradient(layout, weight, lo, hi, x, into, False),
            layout.row_start,
            self.n_items,
        )
        mean: Array = total / self.client_weights.sum()
        return mean


@kernel
def chance_of_any(rows: ScoredRows, x: Array, out: Array) -> None:
    for row in range(len(rows.row_start) - 1):
        none = 1.0
        for at in range(rows.row_start[row], rows.row_start[row + 1]):
            none *= 1.0 - rows.scores[at] * x[rows.items[at]]
        out[row] = 1.0 - none


@kernel
def gradient(
    rows: ScoredRows,
    weight: Array,
    lo: int,
    hi: int,
    x: Array,
    out: Array,
    by_entry: bool,
) -> None:
    """∂f̂/∂x_e: the product of all factors, divided by the item's own."""
    for row in range(lo, hi):
        first, last = rows.row_start[row], rows.row_start[row + 1]
        none = weight[row]
        for at in range(first, last):
            none *= max(1.0 - rows.scores[at] * x[rows.items[at]], LEAST_MISS)
        for at in range(first, last):
            item = rows.items[at]
            term = rows.scores[at] * none / max(1.0 - rows.scores[at] * x[item], LEAST_MISS)
            if by_entry:
                out[at] = term
            else:
                out[item] += term
