"""Linear matroids: sets of linearly independent columns."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array, Ids, Mask, as_array
from folkmoot.matroids.matroid import Matroid

TOLERANCE = 1e-9  # a column of length 1 lies in a span if its part outside the span is no longer than this


class Linear(Matroid):
    """Items are the columns of a matrix; a set is allowed when its columns are independent.

    Over the real numbers (field=None) or over the integers modulo a prime (exact). Real columns that agree to
    nine digits count as dependent. If many columns are about that close, rounding errors can break the axioms;
    `is_valid()` finds out.
    """

    by_construction = True

    def __init__(self, matrix: ArrayLike, field: int | None = None) -> None:
        given = as_array(matrix, "matrix")
        if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "biuf":
            raise InputError(
                f"needs numbers in rows × items, at least one item; got shape {given.shape}", argument="matrix"
            )
        if not np.isfinite(given).all():
            row, item = (int(at) for at in np.argwhere(~np.isfinite(given))[0])
            raise InputError(
                f"row {row}, item {item} is {given[row, item]}", remedy="fill or drop it", argument="matrix"
            )
        self.n_items, self.matrix = given.shape[1], given
        self.field = None if field is None else _as_prime(field)
        self.columns: NDArray[Any]
        if self.field is None:
            real = given.astype(np.float64)
            for size in (
                np.abs(real).max(axis=0, initial=0.0),
                None,
            ):  # divide by the largest entry first: squares may overflow
                length = np.linalg.norm(real, axis=0) if size is None else size
                real = real / np.where(length > 0, length, 1.0)
            self.columns = real
        else:
            if not (given == np.floor(given)).all():
                raise InputError("over a finite field it must hold whole numbers", argument="matrix")
            self.columns = (given % self.field).astype(np.int64)

    def _reduce(self, order: Ids) -> Ids:
        """Greedy in this order: each column that lies outside the span of the columns taken before."""
        rest = self.columns[:, order]
        taken: list[int] = []
        known = np.zeros((len(rest), 0))  # an orthonormal base of the span (real numbers only)
        while len(taken) < len(rest) and (outside := self._is_nonzero(rest)).any():
            taken.append(int(outside.argmax()))  # the first in the order
            rest, known = self._eliminate(rest, taken[-1], known)
        return order[taken]

    def _is_nonzero(self, columns: NDArray[Any]) -> Mask:
        if self.field is None:
            return np.asarray(np.linalg.norm(columns, axis=0) > TOLERANCE)
        return np.asarray(columns.any(axis=0))

    def _eliminate(self, columns: NDArray[Any], at: int, known: Array) -> tuple[NDArray[Any], Array]:
        """Take a column's direction out of all columns."""
        if self.field is None:
            direction: Array = columns[:, at] / np.linalg.norm(columns[:, at])
            for _ in range(2):  # the rest of a column may be mostly rounding errors: make it orthogonal again
                direction = direction - known @ (known.T @ direction)
                direction = direction / np.linalg.norm(direction)
            rest = columns - np.outer(direction, direction @ columns)
            rest[:, at] = 0.0
            return rest, np.column_stack((known, direction))
        row = int(columns[:, at].argmax())
        scaled = columns[row] * pow(int(columns[row, at]), -1, self.field) % self.field
        return np.asarray((columns - np.outer(columns[:, at], scaled) % self.field) % self.field), known

    def is_independent(self, members: Mask) -> bool:
        chosen = np.flatnonzero(members)
        if len(chosen) > len(self.columns):
            return False
        if self.field is None:  # the diagonal of R: the part of each column outside the span of the earlier ones
            left = np.diag(np.linalg.qr(self.columns[:, chosen], mode="r"))
            return bool((np.abs(left) > TOLERANCE).all())
        return len(self._reduce(chosen)) == len(chosen)

    def find_addable(self, members: Mask) -> Mask:
        rest = self.columns
        if self.field is None:
            span = np.linalg.qr(self.columns[:, members])[0]
            for _ in range(2):  # twice, to remove rounding errors
                rest = rest - span @ (span.T @ rest)
            return self._is_nonzero(rest) & ~members & (np.count_nonzero(members) < len(self.columns))
        for item in np.flatnonzero(members):
            rest = self._eliminate(rest, int(item), np.empty((0, 0)))[0]
        return self._is_nonzero(rest)

    def first_base(self, order: Ids) -> Ids:
        return np.sort(self._reduce(order))

    def parameters(self) -> dict[str, Any]:
        return {"matrix": self.matrix, "field": self.field}

    def __repr__(self) -> str:
        return f"Linear({self.columns.shape[0]} × {self.n_items}, field={self.field}, rank {self.rank})"


def _as_prime(number: Any) -> int:
    is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not is_whole or not 2 <= number < 2**31 or not all(number % d for d in range(2, int(number**0.5) + 1)):
        raise InputError(f"needs None (real numbers) or a prime below 2^31, got {number!r}", argument="field")
    return int(number)
