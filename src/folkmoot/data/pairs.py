"""Rows that say what an item is worth to a client, read in one pass and arranged as a matrix."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray

from folkmoot.data.columns import list_words
from folkmoot.data.entries import Entries, collect_weights, count_repeats, list_repeats, place_column, row_starts
from folkmoot.data.findings import SHOWN, DataFault, Findings, ValueSpread, name_places, say_count
from folkmoot.data.keys import Codes, GrowingColumn, IdNames, is_empty, make_keys
from folkmoot.data.repeats import find_kinds
from folkmoot.data.source import CellType, DataSource, Matrix, NotWhole
from folkmoot.data.values import is_added, read_flags
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array, Ids
from folkmoot.foundation.settings import Data


@dataclass(frozen=True)
class PairColumns:
    """Which columns of a table are read."""

    client: str
    item: str
    value: str | None = None
    weight: str | None = None
    weight_given: bool = False  # False: only found by its name, and ignored if it is no weight after all
    yes_no: bool = False  # whether the value is a word for yes or no


@dataclass
class Pairs:
    """A matrix of clients × items, and who they are."""

    entries: Entries
    clients: IdNames | None
    items: IdNames | None
    weights: Array | None = None

    @property
    def n_clients(self) -> int:
        return len(self.entries.starts) - 1


@dataclass
class Tally:
    """How often something was found, and its first few rows (counted from 0)."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, rows: NDArray[Any]) -> None:
        self.count += len(rows)
        self.first += rows[: SHOWN - len(self.first)].tolist()


@dataclass
class LooseEntries:
    """Entries in the order of the file. Each column is freed as soon as it was moved to the rows."""

    clients: Codes
    items: Codes
    values: NDArray[Any] | None  # None: entries have no values

    def drop(self, void: Ids) -> "LooseEntries":
        """The other entries."""
        if not len(void):
            return self
        values = None if self.values is None else np.delete(self.values, void)
        return LooseEntries(np.delete(self.clients, void), np.delete(self.items, void), values)


class RowReader:
    """The rows of a file as they are read: ids, values, and what is wrong with them."""

    def __init__(self, columns: PairColumns, whole: dict[str, bool]) -> None:
        self.columns = columns
        self.clients, self.items = make_keys(whole[columns.client]), make_keys(whole[columns.item])
        self.values, self.weights = GrowingColumn(np.float32, np.float64), GrowingColumn(np.float32, np.float64)
        self.missing = {column: Tally() for column in (columns.client, columns.item, columns.value) if column}
        self.negative, self.bad_weight = Tally(), Tally()
        self.skipped: list[Ids] = []  # rows without client or item, including blank lines
        self.void: list[Ids] = []  # places among the other rows where the value is missing
        self.below: list[Ids] = []  # … or negative
        self.rows = self.blank = self.kept = 0

    def add(self, frame: polars.DataFrame) -> None:
        at = np.arange(self.rows, self.rows + frame.height)
        self.rows += frame.height
        empty = {column: is_empty(frame[column]).to_numpy() for column in (self.columns.client, self.columns.item)}
        no_client, no_item = empty.values()
        lacking = no_client | no_item
        if lacking.any():
            blank = frame.select(polars.all_horizontal(polars.all().is_null())).to_series().to_numpy()
            self.blank += int(blank.sum())
            for column, cells in empty.items():
                self.missing[column].add(at[cells & ~blank])
            self.skipped.append(at[lacking])
            frame, at = frame.filter(~lacking), at[~lacking]
        self.clients.add(frame[self.columns.client])
        self.items.add(frame[self.columns.item])
        if self.columns.value:
            self._add_values(frame[self.columns.value].to_numpy(writable=True), at)
        if self.columns.weight:
            weights = frame[self.columns.weight].to_numpy(writable=True)
            self.bad_weight.add(at[~(np.isfinite(weights) & (weights >= 0))])
            self.weights.add(weights)
        self.kept += frame.height

    def _add_values(self, values: Array, at: Ids) -> None:
        assert self.columns.value is not None
        missing = ~np.isfinite(values)
        if missing.any():
            self.missing[self.columns.value].add(at[missing])
            self.void.append(np.flatnonzero(missing) + self.kept)
            values[missing] = 0.0
        negative = values < 0
        if negative.any():
            self.negative.add(at[negative])
            self.below.append(np.flatnonzero(negative) + self.kept)
            values[negative] = 0.0
        self.values.add(values)


def read_pairs(source: DataSource, columns: PairColumns, settings: Data, findings: Findings) -> Pairs:
    """All rows of a table as a matrix. If ids turn out not to be whole numbers, they are read again as text."""
    whole = {column: source.is_whole(column) for column in (columns.client, columns.item)}
    while True:
        wanted: dict[str, CellType] = {column: "whole" if is_whole else "text" for column, is_whole in whole.items()}
        wanted |= {column: "number" for column in (columns.value, columns.weight) if column}
        if columns.value and columns.yes_no:
            wanted[columns.value] = "text"
        rows = RowReader(columns, whole)
        try:
            for frame in source.frames(wanted):
                rows.add(_read_yes_no(frame, columns))
        except NotWhole as column:
            whole[str(column)] = False
            continue
        return _arrange(source, rows, settings, findings)


def _read_yes_no(frame: polars.DataFrame, columns: PairColumns) -> polars.DataFrame:
    """The frame with 1 for yes and 0 for no."""
    if not columns.yes_no or columns.value is None:
        return frame
    return frame.with_columns(read_flags(frame[columns.value]))


def _arrange(source: DataSource, rows: RowReader, settings: Data, findings: Findings) -> Pairs:
    findings.rows = rows.rows - rows.blank
    if not findings.rows:
        raise InputError("has no rows" + (" below its header" if source.header else ""), place=source.file)
    _report(source, rows, settings, findings)
    if not rows.kept:
        raise InputError(f"no row is left: each lacks {rows.columns.client} or {rows.columns.item}", place=source.file)
    (clients, client_names), (items, item_names) = rows.clients.number(), rows.items.number()
    void = np.concatenate([*rows.void, *(rows.below if settings.negative == "drop" else ()), np.empty(0, np.int64)])
    weights = _weights(source, rows, clients, client_names, findings)
    loose = LooseEntries(clients, items, rows.values.release() if rows.columns.value else None).drop(void)
    del clients, items  # only `loose` refers to them now, and frees them

    def fault(count: int, of: Ids) -> DataFault:
        skipped = np.concatenate([*rows.skipped, np.empty(0, np.int64)])
        kept = np.delete(np.delete(np.arange(rows.rows), skipped), void)
        pair = f"the {rows.columns.client} and {rows.columns.item} of an earlier row"
        said = f"row has {pair}", f"rows have {pair}"
        where = name_places(source.unit, kept[of] + source.first)
        return DataFault("duplicates", source.file, count, *said, where, *_explain_repeats(source, rows, settings))

    entries = _sort(loose, len(client_names), len(item_names), fault, settings, findings)
    return Pairs(entries, client_names, item_names, weights)


def _explain_repeats(source: DataSource, rows: RowReader, settings: Data) -> tuple[str, str]:
    """Why rows repeat earlier ones, where that can be seen; and how to merge them, where nobody says it: amounts add
    up, but not those of different things.
    """
    value = rows.columns.value
    if value is None or settings.duplicates != "refuse":
        return "", ""
    kinds = find_kinds(source, rows.columns.client, rows.columns.item, value)
    if kinds is not None:
        return str(kinds), "largest"
    return "", "sum" if is_added(value) else "first"


def convert_matrix(matrix: Matrix, settings: Data, findings: Findings) -> Pairs:
    """The entries of a matrix file as pairs; rows and columns are counted from 1 in messages."""
    values = matrix.values
    loose = LooseEntries(matrix.clients, matrix.items, values)
    findings.rows = len(matrix.items)

    def where(of: NDArray[Any]) -> str:
        at = np.column_stack((matrix.clients[of[:SHOWN]], matrix.items[of[:SHOWN]])) + 1
        return list_words([f"row {row:,} column {column:,}" for row, column in at.tolist()])

    void = np.empty(0, dtype=np.int64)
    if values is not None:
        missing = np.flatnonzero(~np.isfinite(values))
        negative = np.flatnonzero((values < 0) & np.isfinite(values))
        found = (len(missing), where(missing)), (len(negative), where(negative))
        _report_values(matrix.file, "entry", "entries", found, settings, findings)
        void = np.union1d(missing, negative) if settings.negative == "drop" else missing
        if len(negative):
            loose.values = np.maximum(values, 0.0)

    def fault(count: int, of: Ids) -> DataFault:
        kept = np.delete(np.arange(len(matrix.items)), void)
        said = "entry repeats an earlier one", "entries repeat earlier ones"
        return DataFault("duplicates", matrix.file, count, *said, where(kept[of]))

    entries = _sort(loose.drop(void), matrix.n_clients, matrix.n_items, fault, settings, findings)
    return Pairs(entries, None, None)


def _sort(
    loose: LooseEntries,
    n_clients: int,
    n_items: int,
    fault: Callable[[int, Ids], DataFault],
    settings: Data,
    findings: Findings,
) -> Entries:
    """The entries as rows; `fault` describes repeated ones."""
    starts = row_starts(loose.clients, n_clients)
    items: Codes = place_column(loose.clients, starts, loose.items)
    count = count_repeats(starts, items, np.full(n_items, -1, dtype=np.int32))
    rule = "first" if settings.duplicates == "refuse" else settings.duplicates
    if count:
        twice = fault(count, _find_repeats(loose, starts, items, count, n_items))
        if loose.values is None:  # repeated memberships do no harm
            findings.faults.append(twice)
            findings.note(f"{twice}: each pair counts once.")
        else:
            rule = twice.mend or rule
            findings.report(twice, settings.duplicates, f"merged, by the {rule}")
    findings.refuse()
    loose.items = np.empty(0, dtype=np.int32)
    entries = Entries(starts, items, None, n_items)
    if loose.values is not None:
        # Numbers that fit into four bytes exactly stay there, unless they are added up.
        narrow = loose.values.dtype == np.float32 and not (count and rule in ("mean", "sum"))
        entries.values = place_column(loose.clients, starts, loose.values, np.float32 if narrow else np.float64)
        loose.values = None
    loose.clients = loose.items
    entries.merge(rule)
    if findings.measuring:
        findings.per_client = ValueSpread.measure(np.diff(entries.starts))
        findings.values = None if entries.values is None else ValueSpread.measure(entries.values)
    return entries


def _find_repeats(loose: LooseEntries, starts: Ids, items: Codes, count: int, n_items: int) -> Ids:
    """The first few entries that have an earlier one of the same client and item."""
    pairs = np.empty(count, dtype=np.int64)
    list_repeats(starts, items, np.full(n_items, -1, dtype=np.int32), pairs)
    at = loose.clients.astype(np.int64) * n_items + loose.items
    again = np.flatnonzero(np.isin(at, pairs))
    first = np.unique(at[again], return_index=True)[1]
    return np.delete(again, first)[:SHOWN]


def _weights(source: DataSource, rows: RowReader, clients: Codes, names: IdNames, findings: Findings) -> Array | None:
    """How much each client counts: all rows of a client must agree."""
    column = rows.columns.weight
    if column is None:
        return None
    if rows.bad_weight.count:
        where = name_places(source.unit, np.array(rows.bad_weight.first) + source.first)
        cells = say_count(rows.bad_weight.count, f"cell of {column} is no weight", f"cells of {column} are no weights")
        raise InputError(
            f"{cells} (numbers, not negative), first in {where}",
            remedy="correct them, or leave weight out",
            place=source.file,
        )
    weights = np.full(len(names), np.nan)
    said = rows.weights.release().astype(np.float64)
    differs = collect_weights(clients, said, weights)
    if differs >= 0 and not rows.columns.weight_given:
        del findings.taken["weight"]
        findings.note(
            f"{column} differs between rows of the same {rows.columns.client}, so it is not used as a weight."
        )
        return None
    if differs >= 0:
        client = int(clients[differs])
        raise InputError(
            f"{rows.columns.client} {names.text_at(client)} has the {column} {weights[client]:g} in one row "
            f"and {said[differs]:g} in another; a client has one weight",
            place=source.file,
        )
    if not weights.any():
        raise InputError(f"every {column} is 0; at least one must be above 0", place=source.file)
    return weights


def _report(source: DataSource, rows: RowReader, settings: Data, findings: Findings) -> None:
    def where(tally: Tally) -> str:
        return name_places(source.unit, np.array(tally.first) + source.first)

    for column in (rows.columns.client, rows.columns.item):
        tally = rows.missing[column]
        fault = DataFault(
            "missing", source.file, tally.count, f"row has no {column}", f"rows have no {column}", where(tally)
        )
        findings.report(fault, settings.missing, "left out")
    if rows.columns.value:
        missing = rows.missing[rows.columns.value]
        found = (missing.count, where(missing)), (rows.negative.count, where(rows.negative))
        of = f" of {rows.columns.value}"
        if rows.columns.yes_no:
            findings.note(f"{rows.columns.value}: yes counts as 1, no as 0.")
        _report_values(source.file, f"cell{of}", f"cells{of}", found, settings, findings, yes_no=rows.columns.yes_no)


def _report_values(
    file: str,
    one: str,
    many: str,
    found: tuple[tuple[int, str], tuple[int, str]],
    settings: Data,
    findings: Findings,
    *,
    yes_no: bool = False,
) -> None:
    """Report missing values and negative values: how many, and where."""
    (missing, no_number), (negative, below) = found
    said = f"{one} is missing or not a finite number", f"{many} are missing or not finite numbers"
    if yes_no:
        said = f"{one} is neither yes nor no", f"{many} are neither yes nor no"
    findings.report(DataFault("missing", file, missing, *said, no_number), settings.missing, "left out")
    said = f"{one} is negative", f"{many} are negative"
    done = "left out" if settings.negative == "drop" else "counted as 0"
    findings.report(DataFault("negative", file, negative, *said, below), settings.negative, done)
