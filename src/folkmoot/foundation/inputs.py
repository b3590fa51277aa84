"""Turn what people pass into arrays that can be trusted, or raise one sentence that says what is wrong and where."""

from collections.abc import Mapping, Sequence, Set
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import blocks, kernel, run_on_threads
from folkmoot.foundation.sets import Array, Ids, Rows, as_array

Names = tuple[str, ...] | None

# What a pass over the entries can find; `_refuse` has a sentence for each.
FINE, HAS_ZEROS, NOT_FINITE, NEGATIVE, TOO_LARGE, NOT_WHOLE, NOT_AN_ITEM, TWICE = range(8)

TINIEST, LARGEST = 5e-324, float(np.finfo(np.float64).max)


def as_number(value: Any, name: str, *, least: float = 0.0, above: bool = False) -> float:
    """A finite number of at least `least` (with `above`: larger than `least`)."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"needs a number, got {value!r}", argument=name) from None
    if not np.isfinite(number):
        raise InputError(f"needs a finite number, got {value}", argument=name)
    if number < least or (above and number == least):
        raise InputError(f"needs a number {'above' if above else 'of at least'} {least:g}, got {value}", argument=name)
    return number


def as_share(value: Any, name: str) -> float:
    """A share of at least 0 and below 1."""
    share = as_number(value, name)
    if share >= 1:
        raise InputError(f"needs a share below 1, got {value}", argument=name)
    return share


def as_count(value: Any, name: str, *, least: int = 1, most: int | None = None, within: str | None = None) -> int:
    """A whole number within its range."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"needs a whole number, got {value!r}", argument=name, within=within)
    if value < least or (most is not None and value > most):
        span = f"of at least {least}" if most is None else f"between {least} and {most}"
        raise InputError(f"needs a whole number {span}, got {value}", argument=name, within=within)
    return int(value)


def as_path(given: Any, name: str) -> Path:
    """A path that a file can have."""
    if not isinstance(given, str | PathLike) or not str(given) or "\0" in str(given):
        raise InputError(f"needs the name of a file, got {given!r}", argument=name)
    path = Path(given)
    try:
        path.exists()
    except OSError as error:
        raise InputError(f"{error.strerror}: {str(path)[:60]}…", argument=name) from None
    return path


def as_list(given: Any, name: str, within: str | None = None) -> list[Any]:
    """A list of anything that can be iterated."""
    try:
        return list(given)
    except TypeError:
        raise InputError(f"needs a list, got {given!r}", argument=name, within=within) from None


def as_names(names: Sequence[Any] | None, count: int, argument: str) -> Names:
    """`count` names as text; None stays None."""
    if names is None:
        return None
    if isinstance(names, str | Mapping | Set):
        raise InputError(f"needs a list of {count} names in order, got a {type(names).__name__}", argument=argument)
    kept = tuple(str(name) for name in as_list(names, argument))
    if len(kept) != count:
        what = argument.removesuffix("_names")
        raise InputError(
            f"{len(kept)} names were given for {count} {what}s (a matrix has one row per client, one column per item)",
            argument=argument,
        )
    return kept


def as_weights(weights: ArrayLike | None, count: int, name: str = "weights", of: str = "client") -> Array:
    """Weights as given (not yet normalised): finite, none negative, not all zero."""
    if weights is None:
        return np.ones(count)
    given = as_array(weights, name)
    if given.dtype.kind not in "biuf" or given.shape != (count,):
        raise InputError(f"needs one number per {of} ({count}), got shape {given.shape}", argument=name)
    given = given.astype(np.float64)
    wrong = ~(np.isfinite(given) & (given >= 0))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise InputError(f"{of} {at} has {given[at]}; weights must be finite and not negative", argument=name)
    if not given.any():
        raise InputError(f"every {of} has weight 0; at least one must be above 0", argument=name)
    return given


def as_owners(owners: ArrayLike | None, n_rows: int) -> Ids | None:
    """Which client owns each row: clients are 0..N-1, and each owns at least one row."""
    if owners is None:
        return None
    given = as_array(owners, "owners")
    if given.dtype.kind not in "iu" or given.shape != (n_rows,):
        raise InputError(
            f"needs one client number per row ({n_rows}), got {given.dtype} {given.shape}", argument="owners"
        )
    given = given.astype(np.int64)
    if given.min() < 0:
        row = int(given.argmin())
        raise InputError(f"row {row} has owner {given[row]}; clients are numbered from 0", argument="owners")
    clients = np.unique(given)
    if clients[-1] != len(clients) - 1:
        gap = int(np.flatnonzero(clients != np.arange(len(clients)))[0])
        raise InputError(
            f"client {gap} owns no row", remedy="number the clients 0..N-1 without gaps", argument="owners"
        )
    return given


def as_matrix(matrix: Any, name: str, *, least: float = 0.0, most: float = np.inf, keep_empty: bool = False) -> Rows:
    """A clients × items matrix as clean CSR: positive entries from `least` to `most`, each item once per row.

    Takes any scipy sparse type, any real dtype, and dense arrays. Explicit zeros are dropped. A row without
    entries is refused unless `keep_empty`.
    """
    rows = _as_csr(matrix, name)
    fault, at = _find_first_fault(rows, least, most)
    if fault == HAS_ZEROS:
        rows = rows.copy()
        rows.eliminate_zeros()
    elif fault != FINE:
        row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
        _refuse(fault, name, row, int(rows.indices[at]), float(rows.data[at]), most, rows.shape[1])
    if not keep_empty:
        empty = np.flatnonzero(np.diff(rows.indptr) == 0)
        if empty.size:
            raise InputError(
                f"row {empty[0]} has no entry above 0 ({empty.size} such rows)",
                remedy="drop them, or pass keep_empty=True to count them as clients who gain nothing",
                argument=name,
            )
    return rows


def _as_csr(matrix: Any, name: str) -> Rows:
    rows: Rows
    given: Any = matrix  # any of scipy's sparse types, or anything that numpy turns into an array
    if sparse.issparse(matrix):
        if given.ndim != 2:
            raise InputError(f"needs two dimensions (rows × items), got {given.ndim}", argument=name)
        rows = sparse.csr_array(given)
        if given.format == "coo" and rows.nnz < given.nnz:
            _refuse_repeat(name, given)
    else:
        dense = as_array(matrix, name)
        if dense.ndim != 2:
            kind = type(matrix).__name__
            raise InputError(f"needs two dimensions (rows × items), got {dense.ndim} (a {kind})", argument=name)
        _refuse_kind(name, dense.dtype)
        rows = sparse.csr_array(dense.astype(np.float32) if dense.dtype == np.float16 else dense)
    _refuse_kind(name, rows.dtype)
    if rows.dtype.itemsize > 8:  # before looking for zeros: a number too small for a double becomes 0
        rows = rows.astype(np.float64)
    n_rows, n_items = rows.shape
    if n_rows == 0:
        raise InputError("there are no clients (0 rows)", argument=name)
    if n_items == 0:
        raise InputError("there are no items (0 columns)", argument=name)
    if n_items >= 2**31:
        raise InputError(f"has {n_items} items, more than 2^31 - 1", argument=name)
    starts = rows.indptr
    if starts[0] != 0 or np.any(starts[1:] < starts[:-1]) or starts[-1] > min(rows.indices.size, rows.data.size):
        raise InputError("its row pointers (indptr) are damaged", argument=name)
    return rows


def _refuse_kind(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        raise InputError(f"holds {dtype}; real numbers are needed", argument=name)


def _refuse_repeat(name: str, matrix: Any) -> NoReturn:
    keys = matrix.row.astype(np.int64) * matrix.shape[1] + matrix.col
    unique, counts = np.unique(keys, return_counts=True)
    row, item = divmod(int(unique[counts > 1][0]), matrix.shape[1])
    _refuse(TWICE, name, row, item, 0.0, np.inf, matrix.shape[1])


def _find_first_fault(rows: Rows, least: float, most: float) -> tuple[int, int]:
    """The first thing wrong with the entries, and the number of that entry."""
    starts = rows.indptr.astype(np.int64, copy=False)

    def one(lo: int, hi: int) -> tuple[int, int]:
        first, last = int(starts[lo]), int(starts[hi])
        here, ids, values = starts[lo : hi + 1] - first, rows.indices[first:last], rows.data[first:last]
        if _is_rising(here, ids, rows.shape[1]) and _is_within(values, max(least, TINIEST), min(most, LARGEST)):
            return FINE, 0
        fault, at = _find_fault(here, ids, values, rows.shape[1], least, most)
        return fault, first + at

    faults = run_on_threads(one, blocks(starts, most=len(starts)))
    serious = [fault for fault in faults if fault[0] not in (FINE, HAS_ZEROS)]
    return serious[0] if serious else max(faults)


def _is_within(values: NDArray[Any], least: float, most: float) -> bool:
    """Whether all values lie in a range; NaN lies in none."""
    if least == most:
        return bool((values == most).all())
    return not values.size or (float(values.min()) >= least and float(values.max()) <= most)


def _is_rising(starts: Ids, ids: NDArray[Any], n_items: int) -> bool:
    """Whether the ids of every row lie in 0..n-1 and rise, as they do in nearly all data: then no item is repeated.
    They rise if they fall only between the end of one row and the start of the next.
    """
    some = starts[:-1] < starts[1:]
    edges = starts if some.all() else starts[np.append(True, some)]  # empty rows have no first or last entry
    if len(edges) < 2:
        return True
    firsts, lasts = ids[edges[:-1]], ids[edges[1:] - 1]
    falls, allowed = np.count_nonzero(ids[1:] <= ids[:-1]), np.count_nonzero(firsts[1:] <= lasts[:-1])
    return bool(falls == allowed and firsts.min() >= 0 and lasts.max() < n_items)


def _find_fault(
    starts: Ids, ids: NDArray[Any], values: NDArray[Any], n_items: int, least: float, most: float
) -> tuple[int, int]:
    """The first fault and the number of its entry, row by row, entry by entry."""
    numbers = values.astype(np.float64, copy=False)
    kind = np.zeros(len(ids), dtype=np.int8)
    for fault, wrong in (  # where an entry has two faults, the later in this list is reported
        (NOT_WHOLE, (numbers > 0.0) & (numbers < least)),
        (TOO_LARGE, numbers > most),
        (NEGATIVE, numbers < 0.0),
        (NOT_FINITE, ~np.isfinite(numbers)),
        (NOT_AN_ITEM, (ids < 0) | (ids >= n_items)),
    ):
        kind[wrong] = fault
    faulty = np.flatnonzero(kind)
    until = int(faulty[0]) if faulty.size else len(ids)
    again = find_first_repeat(starts, ids[:until].astype(np.int32), np.full(n_items, -1))
    if again >= 0:
        return TWICE, int(again)
    if faulty.size:
        return int(kind[until]), until
    return (FINE if numbers.all() else HAS_ZEROS), 0


def _refuse(what: int, name: str, row: int, item: int, value: float, most: float, n_items: int) -> NoReturn:
    problem, remedy = {
        NOT_FINITE: (f"is {value}", "fill or drop it"),
        NEGATIVE: (f"is {value:g}; values must not be negative", None),
        TOO_LARGE: (f"is {value:g}; values must lie in [0, {most:g}]", None),
        NOT_WHOLE: (f"is {value:g}; membership is 0 or 1", "use FacilityLocation for degrees in between"),
        NOT_AN_ITEM: (f"is not one of the items 0..{n_items - 1}", None),
        TWICE: ("appears twice", "keep one of them, or add them up first"),
    }[what]
    raise InputError(f"row {row}, item {item} {problem}", argument=name, remedy=remedy)


@kernel
def find_first_repeat(starts: Ids, ids: NDArray[np.int32], seen: Ids) -> int:
    """The first entry whose item appeared earlier in its row, or -1. `seen` has one place per item."""
    for row in range(len(starts) - 1):
        for at in range(starts[row], min(starts[row + 1], len(ids))):
            if seen[ids[at]] == row:
                return at
            seen[ids[at]] = row
    return -1
