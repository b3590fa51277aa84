"""Linear matroids: columns that are linearly independent."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from folkmoot.errors import InputError
from folkmoot.matroids.matroid import Matroid
from folkmoot.sets import Array, Ids, Mask

TOLERANCE = 1e-9  # a column this small against its own length, once the span is taken out, lies in it


class Linear(Matroid):
    """Items are the columns of a matrix; a set is allowed when its columns are independent.

    Over the real numbers (field=None, up to rounding) or over the integers modulo a prime (exact).
    """

    def __init__(self, matrix: ArrayLike, field: int | None = None) -> None:
        given = np.asarray(matrix)
        if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "biuf":
            raise InputError(f"matrix: needs numbers in rows × items, at least one item; got shape {given.shape}")
        if not np.isfinite(given).all():
            row, item = (int(at) for at in np.argwhere(~np.isfinite(given))[0])
            raise InputError(f"matrix: row {row}, item {item} is {given[row, item]}; fill or drop it")
        self.field = field
        self.n_items = given.shape[1]
        self.columns: NDArray[Any]
        if field is None:
            length = np.linalg.norm(given.astype(np.float64), axis=0)
            self.columns = given / np.where(length > 0, length, 1.0)
        else:
            if isinstance(field, bool) or not isinstance(field, int) or not _is_prime(field):
                raise InputError(f"field: needs None (real numbers) or a prime below 2^31, got {field!r}")
            if not (given == np.floor(given)).all():
                raise InputError("matrix: over a finite field it must hold whole numbers")
            self.columns = given.astype(np.int64) % field

    def _reduced(self, order: Ids) -> Ids:
        """Greedy in this order: each column that lies outside the span of those taken before."""
        rest = self.columns[:, order]
        taken: list[int] = []
        while (outside := self._nonzero(rest)).any():
            taken.append(int(outside.argmax()))  # the first in the order
            rest = self._eliminated(rest, taken[-1])
        return order[taken]

    def _nonzero(self, columns: NDArray[Any]) -> Mask:
        if self.field is None:
            return np.asarray(np.linalg.norm(columns, axis=0) > TOLERANCE)
        return np.asarray(columns.any(axis=0))

    def _eliminated(self, columns: NDArray[Any], at: int) -> NDArray[Any]:
        """Take a column's direction out of all columns."""
        if self.field is None:
            direction: Array = columns[:, at] / np.linalg.norm(columns[:, at])
            rest = columns - np.outer(direction, direction @ columns)
            rest -= np.outer(direction, direction @ rest)  # once more, for the digits
            rest[:, at] = 0.0
            return rest
        row = int(columns[:, at].argmax())
        scaled = columns[row] * pow(int(columns[row, at]), -1, self.field) % self.field
        return np.asarray((columns - np.outer(columns[:, at], scaled) % self.field) % self.field)

    def _independent(self, members: Mask) -> bool:
        chosen = np.flatnonzero(members)
        if len(chosen) > len(self.columns):
            return False
        if self.field is None:  # the diagonal of R: what is left of each column outside the earlier ones
            left = np.diag(np.linalg.qr(self.columns[:, chosen], mode="r"))
            return bool((np.abs(left) > TOLERANCE).all())
        return len(self._reduced(chosen)) == len(chosen)

    def _addable(self, members: Mask) -> Mask:
        rest = self.columns
        for item in np.flatnonzero(members):
            rest = self._eliminated(rest, int(item))
        return self._nonzero(rest)

    def _first_base(self, order: Ids) -> Ids:
        return np.sort(self._reduced(order))

    def __repr__(self) -> str:
        return f"Linear({self.columns.shape[0]} × {self.n_items}, field={self.field}, rank {self.rank})"


def _is_prime(number: int) -> bool:
    if not 2 <= number < 2**31:
        return False
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))
