"""Mutual information between chosen features and a label, from each client's own table.

Features are assumed to be independent given the label (naive Bayes); probabilities are estimated at each client
from its own rows. Under that model

    f_i(S) = I(X_S; Y) = H(X_S) − Σ_{e∈S} H(X_e | Y)

is monotone and submodular (Krause and Guestrin 2005). It is computed exactly over the joint states of S, as many as
the product of the numbers of values of its features. In bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.frames import is_frame, read_tables
from folkmoot.foundation.inputs import as_list, as_number
from folkmoot.foundation.kernels import ENTRIES_PER_BLOCK, blocks, kernel, run_on_threads
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, as_array, weigh
from folkmoot.objectives.objective import Objective

MOST_STATES = 1 << 22
MOST_NUMBERS = 1 << 25  # one per joint state and label: 256 MB
NAMED = 3  # features in an error
PAIRWISE = 8  # from so many numbers on, numpy's sum is pairwise


@dataclass(frozen=True)
class Width:
    """The most joint states that a number of features has at a client, and the features with most values there."""

    client: int
    states: float
    widest: tuple[tuple[int, int], ...]  # feature, values


class Information(Objective):
    """I(X_S; Y) of discrete features and a class label, features independent given the label.

    `tables`: one table per client, data points × features, of numbers or text; every different value of a
    column is a category. They may be DataFrames, whose columns name the items. `target`: the column that holds the
    label (its number, or its name in DataFrames; the same in every table; it is then not an item), or one array of
    labels per client. `smoothing` is added to every count.
    """

    by_construction = True

    def __init__(
        self,
        tables: Sequence[Any],
        target: int | str | Sequence[Any],
        *,
        smoothing: float = 0.0,
        weights: ArrayLike | None = None,
        item_names: Any = None,
        client_names: Any = None,
    ) -> None:
        extra = as_number(smoothing, "smoothing")
        if (given := as_list(tables, "tables")) and is_frame(given[0]):
            named = read_tables(given, "tables")
            tables, names = named.tables, named.columns
            if isinstance(target, str):
                if target not in names:
                    raise InputError(f"the tables have no column {target!r}", argument="target")
                target = names.index(target)
            if isinstance(target, int | np.integer) and 0 <= target < len(names):
                names = [name for at, name in enumerate(names) if at != target]
            item_names = names if item_names is None else item_names
        features, labels = _split(tables, target)
        self._describe(features[0].shape[1], len(features), weights, item_names, client_names)
        # One flat store: a client's P(y), then for each of its features the table P(value | y).
        owners = np.repeat(np.arange(self.n_clients), [len(label) for label in labels])
        y, self.classes = number_values(join(labels), owners, self.n_clients)
        rows = join(features)
        numbers = [number_values(rows[:, item], owners, self.n_clients) for item in range(self.n_items)]
        self.arity = np.column_stack([values for _, values in numbers])
        before = np.cumsum(self.arity, axis=1) - self.arity
        ends = np.cumsum(self.classes * (1 + self.arity.sum(axis=1)))
        self.prior_offset = ends - self.classes * (1 + self.arity.sum(axis=1))
        self.offset = self.prior_offset[:, None] + self.classes[:, None] * (1 + before)
        counts = np.bincount(self.prior_offset[owners] + y, minlength=int(ends[-1]))
        for at, (x, _) in enumerate(numbers):
            counts += np.bincount(self.offset[owners, at] + x * self.classes[owners] + y, minlength=len(counts))
        smooth: Array = counts.astype(np.float64) + extra
        self.store = smooth / self._total(smooth)
        for client in np.flatnonzero(self.classes >= PAIRWISE):  # numpy adds so many in another order: the last digit
            prior = slice(self.prior_offset[client], self.prior_offset[client] + self.classes[client])
            self.store[prior] = smooth[prior] / smooth[prior].sum()
        self._widest = np.log2(self.arity.max(axis=0))  # over all clients; a smaller batch keeps it
        self._room = log2(min(MOST_STATES, MOST_NUMBERS // int(self.classes.max())))
        self.largest_set = find_largest_set(self.arity, self.classes)

    def _total(self, counts: Array) -> Array:
        """For each number of the store, the sum of those that are to add up to 1 with it."""
        tables = np.column_stack((np.ones(self.n_clients, dtype=np.int64), self.arity)).ravel()
        classes = np.repeat(self.classes, 1 + self.n_items)
        tables[:: 1 + self.n_items], classes[:: 1 + self.n_items] = self.classes, 1  # P(y) is one column
        first = np.cumsum(classes) - classes  # the columns of all tables, numbered
        begin = np.cumsum(tables * classes) - tables * classes
        table = np.repeat(np.arange(len(tables)), tables * classes)
        column = first[table] + (np.arange(len(counts)) - begin[table]) % classes[table]
        return np.asarray(np.bincount(column, counts)[column])

    def _keep(self, clients: Ids) -> None:
        self.arity, self.offset = self.arity[clients], self.offset[clients]
        self.classes, self.prior_offset = self.classes[clients], self.prior_offset[clients]

    def narrow_sets(self, sets: Mask, seed: int) -> Mask:
        """Remove random items from a set until no client has too many joint states."""
        wide = weigh(self._widest, sets.T) > self._room
        if not wide.any():
            return sets
        rng, sets = np.random.default_rng(seed), sets.copy()
        for at in np.flatnonzero(wide):
            members = rng.permutation(np.flatnonzero(sets[at]))
            sets[at, members[np.cumsum(self._widest[members]) > self._room]] = False
        return sets

    def measure_width(self, size: int) -> Width:
        """The client at which so many features can have most joint states."""
        states = count_states(self.arity, size)
        client = int(states.argmax())
        order = np.argsort(-self.arity[client], kind="stable")[:NAMED].tolist()
        return Width(client, float(states[client]), tuple((item, int(self.arity[client, item])) for item in order))

    def describe_width(self, width: Width, client: str = "client") -> str:
        """Where there are too many joint states, and why: "1e+09 joint states at client 3 (age has 10 values, …)"."""
        place = f"{client} {self.client_names[width.client] if self.client_names else width.client}"
        names = self.item_names or tuple(f"feature {item}" for item in range(self.n_items))
        values = [f"{names[item]} has {count:,} values" for item, count in width.widest]
        return f"{width.states:.3g} joint states at {place} ({', '.join(values)})"

    def find_ceilings(self) -> Array:
        """H(Y): no features tell more about the label than the label itself."""
        return np.array([-float(weigh(p, np.log2(p))) for p in map(self._prior, range(self.n_clients))])

    def _prior(self, client: int) -> Array:
        start = self.prior_offset[client]
        return self.store[start : start + self.classes[client]]

    def values_at(self, sets: Mask) -> Array:
        out = np.zeros((self.n_clients, len(sets)))
        for s, members in enumerate(sets):
            values = np.zeros(self.n_clients)  # not the column itself: a kernel is compiled anew for arrays with gaps
            self._run(information, np.flatnonzero(members), values)
            out[:, s] = values
        return out

    def gains_at(self, members: Mask) -> Rows:
        outside = np.flatnonzero(~members)
        out = np.zeros((self.n_clients, self.n_items))
        out[:, outside] = self._gains_of(members, outside)
        return csr_array(out)

    def mean_gains_at(self, members: Mask, items: Ids) -> Array:
        return np.where(members[items], 0.0, weigh(self.weights, self._gains_of(members, items)))

    def _gains_of(self, members: Mask, items: Ids) -> Array:
        out = np.zeros((self.n_clients, len(items)))
        self._run(information_gains, np.flatnonzero(members), items, out)
        return out

    def _run(self, work: Any, inside: Ids, *rest: Any) -> None:
        states = np.exp2(np.log2(self.arity[:, inside]).sum(axis=1))
        if states.max(initial=1) > MOST_STATES or (states * self.classes).max(initial=1) > MOST_NUMBERS:
            client = int(states.argmax())
            order = inside[np.argsort(-self.arity[client, inside], kind="stable")][:NAMED].tolist()
            widest = tuple((item, int(self.arity[client, item])) for item in order)
            raise InputError(
                f"the {inside.size} chosen features have {self.describe_width(Width(client, states[client], widest))}, "
                f"more than {MOST_STATES:,}",
                remedy="choose fewer features or merge their rare values",
                argument="tables",
            )
        args = self.store, self.classes, self.prior_offset, self.arity, self.offset
        sizes = self.arity[:, inside].prod(axis=1) * self.classes

        def some(lo: int, hi: int) -> None:
            states = np.empty(sizes[lo:hi].max())
            for client in range(lo, hi):
                work(*args, inside, client, states, *rest)

        run_on_threads(some, blocks(ENTRIES_PER_BLOCK * np.arange(self.n_clients + 1)))


def count_states(arity: Ids, size: int) -> Array:
    """For each client, the most joint states that so many of its features can have."""
    widest: Array = -np.sort(-np.log2(arity), axis=1)[:, :size]
    with np.errstate(over="ignore"):
        return np.asarray(np.exp2(widest.sum(axis=1)))


def find_largest_set(arity: Ids, classes: Ids) -> int | None:
    """How many features can be looked at together at every client, whichever they are; None: all of them."""
    room = np.log2(np.minimum(MOST_STATES, MOST_NUMBERS // classes))
    fits = np.cumsum(-np.sort(-np.log2(arity), axis=1), axis=1) <= room[:, None]
    return None if fits.all() else int(fits.sum(axis=1).min())


def _split(tables: Sequence[Any], target: int | str | Sequence[Any]) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Features and labels of each client, checked."""
    given = [as_array(table, "tables", f"client {at}") for at, table in enumerate(as_list(tables, "tables"))]
    if not given:
        raise InputError("there are no clients (no table was given)", argument="tables")
    for client, table in enumerate(given):
        if table.ndim != 2 or table.shape[0] == 0:
            raise InputError(
                f"client {client} needs a table of data points × features, got {table.shape}", argument="tables"
            )
        if table.shape[1] != given[0].shape[1]:
            raise InputError(
                f"client {client} has {table.shape[1]} columns, client 0 has {given[0].shape[1]}", argument="tables"
            )
        _refuse_missing(table, client)
    if isinstance(target, int | np.integer):
        columns = given[0].shape[1]
        if not 0 <= target < columns:
            raise InputError(f"column {target} is not one of the columns 0..{columns - 1}", argument="target")
        labels = [table[:, target] for table in given]
        given = [np.delete(table, target, axis=1) for table in given]
    else:
        if isinstance(target, str):
            raise InputError(f"needs the number of a column, got {target!r}", argument="target")
        labels = [as_array(label, "target", f"client {at}") for at, label in enumerate(as_list(target, "target"))]
        if len(labels) != len(given):
            raise InputError(f"has {len(labels)} arrays of labels for {len(given)} tables", argument="target")
        for client, (label, table) in enumerate(zip(labels, given, strict=True)):
            if label.shape != (len(table),):
                raise InputError(
                    f"client {client} needs {len(table)} labels, got shape {label.shape}", argument="target"
                )
            _refuse_missing(label[:, None], client, "target")
    if given[0].shape[1] == 0:
        raise InputError("there are no items (no column except the label)", argument="tables")
    return given, labels


def _refuse_missing(table: NDArray[Any], client: int, name: str = "tables") -> None:
    if table.dtype.kind == "O":
        missing = np.vectorize(lambda value: value is None or value != value, otypes=[bool])(table)
    else:
        missing = table != table
    if missing.any():
        row, column = (int(at) for at in np.argwhere(missing)[0])
        raise InputError(
            f"client {client}, row {row}, column {column} is missing",
            remedy="drop the row or give missing values a category of their own",
            argument=name,
        )


def join(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The rows of all clients; as text, unless all are numbers or all are text."""
    kinds = {part.dtype.kind for part in parts}
    if "O" in kinds or (len(kinds) > 1 and not kinds <= set("biuf")):
        return np.concatenate([part.astype(str) for part in parts])
    return np.concatenate(parts)


def number_values(cells: NDArray[Any], owners: Ids, n_clients: int) -> tuple[Ids, Ids]:
    """The values of a column, numbered 0, 1, … at each client by itself; and how many each client has."""
    values, codes = np.unique(cells, return_inverse=True)
    pairs, place = np.unique(owners * len(values) + codes.reshape(-1), return_inverse=True)
    clients = pairs // len(values)
    counts = np.bincount(clients, minlength=n_clients)
    return place.reshape(-1) - (np.cumsum(counts) - counts)[owners], counts


@kernel
def joint_states(
    store: Array, classes: Ids, prior_offset: Ids, arity: Ids, offset: Ids, inside: Ids, client: int, states: Array
) -> int:
    """P(x_S, y) for the joint states of S, one number per state and class; returns the number of states.

    Each feature expands the states in place, from the last to the first, so that none is overwritten unread.
    """
    n_classes = classes[client]
    for y in range(n_classes):
        states[y] = store[prior_offset[client] + y]
    count = 1
    for k in range(len(inside)):
        values, at = arity[client, inside[k]], offset[client, inside[k]]
        for state in range(count - 1, -1, -1):
            for value in range(values - 1, -1, -1):
                for y in range(n_classes):
                    chance = store[at + value * n_classes + y]
                    states[(state * values + value) * n_classes + y] = states[state * n_classes + y] * chance
        count *= values
    return count


@kernel
def information(
    store: Array,
    classes: Ids,
    prior_offset: Ids,
    arity: Ids,
    offset: Ids,
    inside: Ids,
    client: int,
    states: Array,
    out: Array,
) -> None:
    """I(X_S; Y) = Σ P(s, y) log2 P(s, y) / (P(s) P(y))."""
    count = joint_states(store, classes, prior_offset, arity, offset, inside, client, states)
    n_classes, prior = classes[client], prior_offset[client]
    total = 0.0
    for state in range(count):
        p = 0.0
        for y in range(n_classes):
            p += states[state * n_classes + y]
        for y in range(n_classes):
            both = states[state * n_classes + y]
            if both > 0.0:
                total += both * np.log2(both / (p * store[prior + y]))
    out[client] = max(total, 0.0)


@kernel
def information_gains(
    store: Array,
    classes: Ids,
    prior_offset: Ids,
    arity: Ids,
    offset: Ids,
    inside: Ids,
    client: int,
    states: Array,
    items: Ids,
    out: Array,
) -> None:
    """I(X_e; Y | X_S) = Σ P(s, v, y) log2 P(v | y) / P(v | s)."""
    count = joint_states(store, classes, prior_offset, arity, offset, inside, client, states)
    n_classes = classes[client]
    for k in range(len(items)):
        values, at = arity[client, items[k]], offset[client, items[k]]
        total = 0.0
        for state in range(count):
            p = 0.0
            for y in range(n_classes):
                p += states[state * n_classes + y]
            if p == 0.0:
                continue
            for value in range(values):
                both = 0.0
                for y in range(n_classes):
                    both += states[state * n_classes + y] * store[at + value * n_classes + y]
                for y in range(n_classes):
                    chance, before = store[at + value * n_classes + y], states[state * n_classes + y]
                    if chance > 0.0 and before > 0.0:
                        total += before * chance * np.log2(chance * p / both)
        out[client, k] = max(total, 0.0)
