"""Rows that clients own: where people are, or what they are like. A client may have several."""

from dataclasses import dataclass

import numpy as np
import polars

from folkmoot.data.findings import Fault, places
from folkmoot.data.keys import is_empty, number_cells
from folkmoot.data.loaded import MOST_CLIENT_NAMES, Request
from folkmoot.data.source import DataSource, How, NotWhole
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array, Ids
from folkmoot.objectives.sparse import RowOptions


@dataclass(frozen=True)
class Owned:
    """Numbers in rows, whose they are, and how much each row counts."""

    numbers: Array  # rows × columns
    lines: Ids  # where each row stands in the file
    owners: Ids | None  # None: a client a row
    names: list[str] | None
    weights: Array | None

    def options(self, item_names: tuple[str, ...]) -> RowOptions:
        """F is the weighted mean over all rows, whoever owns them; each lies between 0 and 1, as everybody knows."""
        options: RowOptions = {"weights": self.weights, "keep_empty": True, "item_names": item_names, "most": 1.0}
        if self.owners is None:
            return options
        weights = np.ones(len(self.owners)) if self.weights is None else self.weights
        totals = np.bincount(self.owners, weights)
        mine = totals[self.owners]
        rows = np.divide(weights, mine, out=1 / np.bincount(self.owners)[self.owners], where=mine > 0)
        names = self.names if self.names is not None and len(self.names) <= MOST_CLIENT_NAMES else None
        return {**options, "weights": totals, "owners": self.owners, "row_weights": rows, "client_names": names}


def read_owned(
    request: Request, source: DataSource, columns: list[str], client: str | None, weight: str | None
) -> Owned:
    """The rows of a file; those with missing numbers, and negative weights, as the settings say."""
    wanted: dict[str, How] = dict.fromkeys([*columns, *([weight] if weight else [])], "number")
    whole = client is not None and source.whole(client)
    if client is not None:
        wanted[client] = "whole" if whole else "text"
    try:
        frame = source.table(wanted)
    except NotWhole:
        frame = source.table({**wanted, str(client): "text"})
    lines = np.arange(frame.height) + source.first
    blank = frame.select(polars.all_horizontal(polars.all().is_null())).to_series().to_numpy()
    frame, lines = frame.filter(~blank), lines[~blank]
    if not frame.height:
        raise InputError(f"has no rows{' below its header' * source.header}", place=source.file)
    request.findings.rows = frame.height
    kept = np.ones(frame.height, dtype=bool)
    for column in wanted:
        if column == client:
            lacking, said = is_empty(frame[column]).to_numpy(), (f"row has no {column}", f"rows have no {column}")
        else:
            lacking = ~np.isfinite(frame[column].to_numpy())
            said = (
                f"cell of {column} is missing or no finite number",
                f"cells of {column} are missing or no finite number",
            )
        fault = Fault("missing", source.file, int(lacking.sum()), *said, places(source.unit, lines[lacking]))
        request.findings.report(fault, request.settings.missing, "left out")
        kept &= ~lacking
    if weight:
        below = kept & (frame[weight].to_numpy() < 0)
        where, said = (
            places(source.unit, lines[below]),
            (f"cell of {weight} is negative", f"cells of {weight} are negative"),
        )
        fault = Fault("negative", source.file, int(below.sum()), *said, where)
        drop = request.settings.negative == "drop"
        request.findings.report(fault, request.settings.negative, "left out" if drop else "counted as 0")
        kept &= ~below if drop else True
    if not kept.any():
        raise InputError("no row is left: each lacks something that is needed", place=source.file)
    frame, lines = frame.filter(kept), lines[kept]
    owners, names = None, None
    if client is not None:
        codes, ids = number_cells(frame[client])
        owners, names = codes.astype(np.int64), ids.texts()
    weights = np.maximum(frame[weight].to_numpy(), 0.0) if weight else None
    if weights is not None and not weights.any():
        raise InputError(f"every {weight} is 0; at least one row must count", place=source.file)
    return Owned(frame.select(columns).to_numpy(), lines, owners, names, weights)
