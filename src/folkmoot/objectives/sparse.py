"""Clients own rows, and rows hold a few items: what the sparse families share.

clients → rows → entries. Rows are stored in the order of their owners, so a client is a range of rows. A family
arranges the entries of a row as it likes (its `layout`) and defines kernels; ownership, weights, slicing and
sums are here.

Gains of F are kept in fixed point: each row's term is rounded to a 64-bit integer, and when the set grows, old
terms are replaced by new ones. Sums of integers do not depend on their order and never drift, and a zero gain
is exactly 0.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypedDict, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.frames import is_frame, read_matrix
from folkmoot.foundation.inputs import as_matrix, as_number, as_owners, as_weights
from folkmoot.foundation.kernels import blocks, kernel, run_on_threads
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze, weigh
from folkmoot.objectives.columns import ItemColumns, ItemEntries
from folkmoot.objectives.objective import Objective

SETS_PER_WORD = 64
WORK_PER_CLIENT = 32  # what a client costs besides its entries, in entries: keeps blocks of tiny clients small
DERIVED = ("_mean_weight", "_largest_terms", "_entries")  # computed from the rest when first needed
# 1 − x is kept at or above this, so that it can be divided out again where x_e = 1; the error is at most
# 2^-50 of a benefit.
LEAST_MISS = 2.0**-50
ROUNDING = 1e-9
LayoutT = TypeVar("LayoutT", bound="Layout")


class Layout(Protocol):
    """How the entries of the rows are stored: a tuple of arrays."""

    def __iter__(self) -> Iterator[NDArray[Any]]: ...

    @property
    def items(self) -> NDArray[Any]: ...
    @property
    def row_start(self) -> Ids: ...
    def take(self, rows: Ids) -> Self: ...
    def cut(self, lo: int, hi: int) -> Self:
        """Rows lo..hi; the entries are not copied."""
        ...

    def relabel(self, items: Ids, n_items: int) -> Self: ...
    def filter(self, slots: Ids, n_items: int) -> Self:
        """The entries of some items, which are renumbered; slots are below 0 for all others."""
        ...


class RowOptions(TypedDict, total=False):
    """What every sparse family takes besides its matrix."""

    weights: ArrayLike | None  # how much each client counts; equally unless given
    owners: ArrayLike | None  # which client owns each row; one row per client unless given
    row_weights: ArrayLike | None  # how much each row counts within its client
    keep_empty: bool  # allow rows without entries
    most: float | None  # publicly known: no set is worth more to a client (five stars)
    item_names: Any
    client_names: Any


class SparseRows(Registered, Objective):
    """A client's function is the weighted sum of the functions of its rows.

    A family that can be kept in a file has a `layout_kind`, and says what else it needs by `store_settings`.
    """

    layout_kind: ClassVar[type[Any] | None] = None  # of its layout; None: it cannot be stored

    layout: Layout
    row_weight: Array  # how much each row counts within its client
    client_rows: Ids | None  # first row of each client and the end; None: one row each

    def __init__(
        self,
        matrix: Any,
        *,
        weights: ArrayLike | None = None,
        owners: ArrayLike | None = None,
        row_weights: ArrayLike | None = None,
        keep_empty: bool = False,
        most: float | None = None,
        item_names: Any = None,
        client_names: Any = None,
    ) -> None:
        if is_frame(matrix):
            named = read_matrix(matrix, self._argument)
            matrix = named.numbers
            item_names = named.columns if item_names is None else item_names
            client_names = named.rows if client_names is None and owners is None else client_names
        rows = as_matrix(matrix, self._argument, least=self._least, most=self._most, keep_empty=keep_empty)
        self.row_weight = as_weights(row_weights, rows.shape[0], "row_weights", of="row")
        owner = as_owners(owners, rows.shape[0])
        if owner is not None:
            order = np.argsort(owner, kind="stable")
            if np.any(owner[1:] < owner[:-1]):
                rows, self.row_weight = rows[order], self.row_weight[order]
            self.client_rows = np.searchsorted(owner[order], np.arange(owner.max() + 2))
            n_clients = int(owner.max()) + 1
        else:
            self.client_rows = None
            n_clients = rows.shape[0]
        self._describe(rows.shape[1], n_clients, weights, item_names, client_names)
        freeze(self.row_weight)
        self.layout = seal(self._arrange(rows))
        if most is not None:
            self.most = self._check_most(as_number(most, "most"))
        elif owner is None and row_weights is None and np.isfinite(self._row_most):
            self.most = self._row_most

    def _check_most(self, most: float) -> float:
        largest = float(self.find_ceilings().max())
        if not largest <= most * (1 + ROUNDING) or not np.isfinite(most):
            raise InputError(
                f"is {most:g}, but a set is worth {largest:g} to a client; most is the largest possible value",
                argument="most",
            )
        return most

    def store_settings(self) -> dict[str, Any]:
        """What a file must hold besides arrays and names."""
        return {}

    def restore_settings(self, about: Mapping[str, Any]) -> None:
        """Set what `store_settings` wrote down."""

    # What a family defines: its argument, the range of an entry, its layout and its kernels.

    _argument: str
    _least: float = 0.0
    _most: float = np.inf
    _row_most: float = np.inf  # no set is worth more to a row

    @abstractmethod
    def _arrange(self, rows: Rows) -> Layout: ...

    @abstractmethod
    def _row_values(self, words: NDArray[np.uint64], count: int, lo: int, hi: int) -> Array:
        """f_row(S) for rows lo..hi and up to 64 sets; bit s of words[e] says whether set s holds item e."""

    @abstractmethod
    def _row_gains(self, members: Mask) -> Array:
        """f_row(S + e) − f_row(S) for each entry of the layout."""

    @property
    @abstractmethod
    def _largest_terms(self) -> Array:
        """The largest singleton value of each row."""

    @abstractmethod
    def _start(self, members: Mask, weight: Array, scale: float) -> tuple[Any, Ids]:
        """The state of every row at S, and the fixed-point sums of the gains."""

    @abstractmethod
    def _grow(self, entries: Ids, weight: Array, scale: float, state: Any, sums: Ids) -> None:
        """Add an item to S, given its entries from `ItemColumns`: update the state of their rows, and the sums."""

    def _reach(self, state: Any) -> Ids | None:
        """Where the entries that can still matter as S grows end in each row; None: at the end of the row."""
        return None

    # Ownership and weights.

    @cached_property
    def _mean_weight(self) -> Array:
        """The weight of each row in Σ p_i f_i, before division by the sum of the client weights."""
        if self.client_rows is None:
            return self.row_weight * self.client_weights
        return self.row_weight * np.repeat(self.client_weights, np.diff(self.client_rows))

    @property
    def _client_rows(self) -> Ids:
        """First row of each client and the end."""
        return np.arange(self.n_clients + 1) if self.client_rows is None else self.client_rows

    def reweight(self, weights: ArrayLike) -> Self:
        other = super().reweight(weights)
        other.__dict__.pop("_mean_weight", None)
        return other

    def _keep(self, clients: Ids) -> None:
        for cached in DERIVED:
            self.__dict__.pop(cached, None)
        if clients[-1] - clients[0] + 1 == len(clients) and (np.diff(clients) == 1).all():
            self._cut(int(clients[0]), int(clients[-1]) + 1)
            return
        rows = clients
        if self.client_rows is not None:
            counts = np.diff(self.client_rows)[clients]
            rows = ranges(self.client_rows[clients], counts)
            self.client_rows = np.concatenate(([0], np.cumsum(counts)))
        self.row_weight = freeze(self.row_weight[rows])
        self.layout = seal(self.layout.take(rows))

    def _cut(self, lo: int, hi: int) -> None:
        """Neighbouring clients are stored together: only the starts of the rows are copied."""
        if self.client_rows is not None:
            rows = self.client_rows[lo : hi + 1]
            lo, hi = int(rows[0]), int(rows[-1])
            self.client_rows = rows - lo
        self.row_weight = self.row_weight[lo:hi]
        self.layout = seal(self.layout.cut(lo, hi))

    def _sum_by_client(self, by_row: Array) -> Array:
        """From one number (or one vector) per row to one per client."""
        weighted = by_row * self.row_weight.reshape(-1, *[1] * (by_row.ndim - 1))
        return weighted if self.client_rows is None else np.add.reduceat(weighted, self.client_rows[:-1], axis=0)

    def _sum_entries_by_client(self, by_entry: Array) -> Rows:
        """From one number per entry to one sparse row per client."""
        starts = self.layout.row_start
        rows = sparse.csr_array(
            (by_entry, self.layout.items.astype(np.int32), starts.copy()), shape=(len(starts) - 1, self.n_items)
        )
        rows.eliminate_zeros()
        if self.client_rows is None:
            rows.data *= np.repeat(self.row_weight, np.diff(rows.indptr))
        else:
            owning = sparse.csr_array(
                (self.row_weight, np.arange(len(self.row_weight)), self.client_rows),
                shape=(self.n_clients, len(self.row_weight)),
            )
            rows = cast(Rows, owning @ rows)
        return rows

    def __getstate__(self) -> dict[str, Any]:
        """What can be computed again is not stored."""
        return {name: value for name, value in self.__dict__.items() if name not in DERIVED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        seal(self.layout)
        for array in (self.row_weight, self.client_weights):
            freeze(array)

    # Answers.

    def values_at(self, sets: Mask) -> Array:
        rows = len(self.layout.row_start) - 1
        parts = [self._row_values(word, count, 0, rows) for word, count in pack_sets(sets)]
        return self._sum_by_client(np.concatenate(parts, axis=1))

    def mean_values_at(self, sets: Mask) -> Array:
        words = pack_sets(sets)

        def one(lo: int, hi: int) -> Array:
            weight = self._mean_weight[lo:hi]
            return np.concatenate([weigh(weight, self._row_values(word, count, lo, hi)) for word, count in words])

        parts = run_on_threads(one, blocks(self.layout.row_start, most=len(self.row_weight)))
        return np.asarray(np.sum(parts, axis=0) / self.client_weights.sum())

    def client_blocks(self) -> list[tuple[int, int]]:
        starts = self.layout.row_start
        starts = starts if self.client_rows is None else starts[self.client_rows]
        return blocks(starts + WORK_PER_CLIENT * np.arange(len(starts)), most=self.n_clients)

    def find_largest_shares(self, of: Array) -> Array:
        """Faster where every client has one row: no sparse matrix is built."""
        if self.client_rows is not None:
            return super().find_largest_shares(of)
        nothing = np.zeros(self.n_items, dtype=bool)
        out = np.empty(self.n_clients)

        def one(lo: int, hi: int) -> None:
            part = self[lo:hi]
            largest_shares(part.layout.items, part.layout.row_start, part._row_gains(nothing), of, out[lo:hi])

        run_on_threads(one, self.client_blocks())
        return out * self.row_weight

    def gains_at(self, members: Mask) -> Rows:
        return self._sum_entries_by_client(self._row_gains(members))

    def mean_gains_at(self, members: Mask, items: Ids) -> Array:
        return SparseWalk(self, members).gains(items)

    def make_walk(self, members: Mask) -> "SparseWalk":
        return SparseWalk(self, members)

    @cached_property
    def _entries(self) -> ItemEntries:
        return ItemEntries(self.layout.items, self.layout.row_start, self.n_items)

    def _restrict(self, items: Ids) -> Self:
        """The same clients with these items only, which are renumbered."""
        slots = np.full(self.n_items, -1)
        slots[items] = np.arange(len(items))
        part = self._copy()
        for cached in DERIVED:
            part.__dict__.pop(cached, None)
        part.n_items = len(items)
        part.item_names = None if self.item_names is None else tuple(self.item_names[item] for item in items.tolist())
        part.layout = seal(self.layout.filter(slots, part.n_items))
        return part

    def _lift(self) -> Self:
        """The same clients over (item, client) pairs: client i sees item e as pair e·N + i."""
        owner = np.arange(self.n_clients)
        if self.client_rows is not None:
            owner = np.repeat(owner, np.diff(self.client_rows))
        of_entry = np.repeat(owner, np.diff(self.layout.row_start))
        pairs = self.layout.items.astype(np.int64) * self.n_clients + of_entry
        lifted = self._copy()
        lifted.__dict__.pop("_entries", None)
        lifted.n_items = self.n_items * self.n_clients
        lifted.layout = seal(self.layout.relabel(pairs, lifted.n_items))
        return lifted


class SparseWalk:
    """A growing set whose gains are all kept up to date, in fixed point."""

    current = True

    def __init__(self, objective: SparseRows, members: Mask) -> None:
        self.objective, self.members = objective, members
        self.weight = objective._mean_weight
        # No item gains more than the largest terms of all rows together: that must fit into 62 bits.
        with np.errstate(over="ignore"):
            most = float((self.weight * objective._largest_terms).sum())
        if most > 0 and not 1e-200 < most < 1e200:
            raise InputError(
                f"all values together come to {most:.3g}, too far from 1 for accurate sums",
                remedy="rescale the values",
                argument=objective._argument,
            )
        self.scale = 2.0 ** (62 - np.ceil(np.log2(most))) if most > 0 else 1.0
        self.unit = 1 / self.scale / float(objective.client_weights.sum())
        self.state, self.sums = objective._start(members, self.weight, self.scale)
        self.grown = bool(members.any())  # at the empty set every entry matters

    def gains(self, items: Ids | None = None) -> Array:
        gains = self.sums * self.unit
        gains[self.members] = 0.0
        return gains if items is None else gains[items]

    @cached_property
    def columns(self) -> ItemColumns:
        return ItemColumns(self.objective._entries)

    def add(self, item: int) -> None:
        if self.members[item]:
            return
        self.members[item] = True
        if not self.columns.knows(item):
            self.columns.gather(item, self.sums, self.objective._reach(self.state) if self.grown else None)
        self.grown = True
        self.objective._grow(self.columns.entries_of(item), self.weight, self.scale, self.state, self.sums)


class ScoredRows(NamedTuple):
    """A row as a list of items with one score each, in the order given."""

    items: NDArray[Any]
    row_start: Ids
    scores: Array

    @classmethod
    def from_matrix(cls, rows: Rows) -> "ScoredRows":
        return cls(rows.indices.astype(np.int32), rows.indptr.astype(np.int64), rows.data.astype(np.float64))

    def take(self, rows: Ids) -> "ScoredRows":
        counts = np.diff(self.row_start)[rows]
        entries = ranges(self.row_start[rows], counts)
        return ScoredRows(self.items[entries], np.concatenate(([0], np.cumsum(counts))), self.scores[entries])

    def cut(self, lo: int, hi: int) -> "ScoredRows":
        first, last = self.row_start[lo], self.row_start[hi]
        return ScoredRows(self.items[first:last], self.row_start[lo : hi + 1] - first, self.scores[first:last])

    def relabel(self, items: Ids, n_items: int) -> "ScoredRows":
        return self._replace(items=items.astype(np.int32))

    def filter(self, slots: Ids, n_items: int) -> "ScoredRows":
        at = slots[self.items]
        kept = at >= 0
        before = np.concatenate(([0], np.cumsum(kept)))
        return ScoredRows(at[kept].astype(np.int32), before[self.row_start], self.scores[kept])


def seal(layout: LayoutT) -> LayoutT:
    """The same layout, read-only: kernels get the same type of array whether in memory or mapped from a file."""
    for array in layout:
        freeze(array)
    return layout


def ranges(starts: Ids, counts: Ids) -> Ids:
    """start, start + 1, …, start + count − 1 for each pair, concatenated."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1])


def pack_sets(sets: Mask) -> list[tuple[NDArray[np.uint64], int]]:
    """Sets in groups of 64: one word per item, one bit per set."""
    words = []
    for first in range(0, len(sets), SETS_PER_WORD):
        group = sets[first : first + SETS_PER_WORD]
        bits = np.left_shift(np.uint64(1), np.arange(len(group), dtype=np.uint64))
        words.append((np.where(group, bits[:, None], np.uint64(0)).sum(axis=0, dtype=np.uint64), len(group)))
    return words


@kernel
def to_fixed_point(value: float, scale: float) -> int:
    """Fixed point, rounded to the nearest."""
    return int(np.floor(value * scale + 0.5))


@kernel
def largest_shares(items: NDArray[Any], row_start: Ids, values: Array, of: Array, out: Array) -> None:
    for row in range(len(row_start) - 1):
        best = 0.0
        for at in range(row_start[row], row_start[row + 1]):
            best = max(best, values[at] * of[items[at]])
        out[row] = best
