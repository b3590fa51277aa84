"""Sets of items, points of the cube, and the types of the arrays that hold them.

Inside Folkmoot a set is a boolean mask over the items (`Mask`), many sets are the rows of a boolean
matrix, and a short list of items is an array of ids (`Ids`). People may also pass plain lists of ids.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from folkmoot.foundation.errors import InputError

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Ids: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = "csr_array[Any, tuple[int, int]]"
ItemSet: TypeAlias = Mask | Iterable[int]
AnyArray = TypeVar("AnyArray", bound=NDArray[Any])


def add_each(members: Mask, items: Ids) -> Mask:
    """S + e for each of the items, then S itself."""
    sets = np.repeat(members[None, :], len(items) + 1, axis=0)
    sets[np.arange(len(items)), items] = True
    return sets


def add_in_order(numbers: Iterable[float]) -> float:
    """The sum, rounded after every number. The built-in `sum` does so until Python 3.11; results are the same later."""
    total: float = 0
    for number in numbers:
        total += number
    return total


def weigh(weights: NDArray[Any], numbers: ArrayLike) -> Any:
    """Σ_i weights_i · numbers_i, for each column of the numbers: the same to the last bit on every processor.

    `weights @ numbers` adds up in the order that suits the processor's own BLAS kernel, so its last bits differ between
    machines; a run could then not be verified on another one.
    """
    terms = np.asarray(numbers)
    return (terms * weights.reshape(-1, *[1] * (terms.ndim - 1))).sum(axis=0)


def as_array(given: Any, name: str, within: str | None = None) -> NDArray[Any]:
    """A numpy array of whatever numpy can turn into one."""
    try:
        return np.asarray(given)
    except (ValueError, TypeError):
        raise InputError("its parts differ in length", argument=name, within=within) from None


def freeze(array: AnyArray) -> AnyArray:
    """The same array, read-only from here on."""
    array.setflags(write=False)
    return array


def share(array: AnyArray) -> AnyArray:
    """A read-only view of the array. A kernel is compiled anew for arrays that it may write to: what it only reads is
    passed to it in this form.
    """
    return freeze(array.view())


def indicator(n_items: int, items: Ids | Sequence[int]) -> Mask:
    """The mask of a list of item ids that was checked before."""
    mask = np.zeros(n_items, dtype=bool)
    mask[items] = True
    return mask


def as_members(n_items: int, items: ItemSet, name: str = "members", within: str | None = None) -> Mask:
    """A mask over the items, from a mask or from item ids without repeats."""
    try:
        given = as_array(items if isinstance(items, np.ndarray) else list(items), name, within)
    except TypeError:
        raise InputError(
            f"needs a boolean mask over the items or a list of item ids, got {items!r}", argument=name, within=within
        ) from None
    if given.dtype == bool:
        if given.shape != (n_items,):
            raise InputError(f"has a mask of shape {given.shape} for {n_items} items", argument=name, within=within)
        return given
    if given.size == 0:
        return np.zeros(n_items, dtype=bool)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InputError(
            f"needs a boolean mask over the items or a list of item ids, got {given.dtype} of shape {given.shape}",
            remedy="for many sets give a boolean matrix with one row per set",
            argument=name,
            within=within,
        )
    outside = (given < 0) | (given >= n_items)
    if outside.any():
        raise InputError(
            f"item {given[outside][0]} is not one of the items 0..{n_items - 1}", argument=name, within=within
        )
    mask = indicator(n_items, given)
    if np.count_nonzero(mask) < given.size:
        ids, counts = np.unique(given, return_counts=True)
        raise InputError(f"item {ids[counts > 1][0]} is listed twice", argument=name, within=within)
    return mask


def as_sets(n_items: int, sets: ItemSet | Mask, name: str = "sets") -> tuple[Mask, bool]:
    """Sets as the rows of a boolean matrix, and whether a single set was given."""
    if isinstance(sets, np.ndarray) and sets.ndim == 2:
        if sets.dtype != bool or sets.shape[1] != n_items:
            raise InputError(
                f"needs a boolean matrix with one row per set and one column per item, "
                f"got {sets.dtype} of shape {sets.shape} for {n_items} items",
                argument=name,
            )
        if not len(sets):
            raise InputError("there are none (0 rows)", argument=name)
        return sets, False
    return as_members(n_items, sets, name)[None, :], True


def as_point(n_items: int, x: ArrayLike, name: str = "x") -> Array:
    """A point of the cube [0, 1]^n."""
    point = as_array(x, name)
    if point.dtype.kind not in "biuf" or point.shape != (n_items,):
        raise InputError(f"needs one number per item ({n_items}), got shape {point.shape}", argument=name)
    point = point.astype(np.float64, copy=False)
    outside = ~((point >= 0) & (point <= 1))
    if outside.any():
        item = int(np.flatnonzero(outside)[0])
        raise InputError(f"item {item} has {point[item]}; every coordinate must lie in [0, 1]", argument=name)
    return point


def as_items(n_items: int, items: ArrayLike | None, name: str = "items") -> Ids:
    """Item ids in the order given; None: all items."""
    if items is None:
        return np.arange(n_items)
    given = np.atleast_1d(as_array(items, name))
    mask = as_members(n_items, given, name)
    return np.flatnonzero(mask) if given.dtype == bool else given.astype(np.int64)
