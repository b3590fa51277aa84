"""Tables: every site holds rows of features and a label; items are features, F is what they tell about the label."""

import shlex

import numpy as np
import polars
from numpy.typing import NDArray

from folkmoot.data.columns import find_column, list_words, require_column
from folkmoot.data.features import find_categories, list_features
from folkmoot.data.findings import SHOWN, DataFault, Findings, ValueSpread, name_places, say_count
from folkmoot.data.items import list_ids, match_items
from folkmoot.data.keys import number_cells
from folkmoot.data.loaded import MOST_CLIENT_NAMES, Request
from folkmoot.data.records import LoadedTable, Records, note_merging
from folkmoot.data.roles import refuse_missing_column
from folkmoot.data.source import Matrix, cast_numbers
from folkmoot.data.wording import describe_tables, name_many, name_one
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Ids, Mask
from folkmoot.objectives import Information
from folkmoot.objectives.sparse import ROUNDING

WHOLE = "all rows"  # a column, where all rows are of one site
NOTHING = ("", "?", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "None", ".")


def tables(request: Request) -> LoadedTable:
    """F(S): how many bits the chosen features tell about the target, averaged over sites."""
    source, settings, findings = request.source, request.settings, request.findings
    assert not isinstance(source, Matrix)
    bins = as_count(settings.bins, "bins", least=2)
    target = find_column(source.columns, "target", settings.target, source.file)
    if target is None:
        refuse_missing_column(source, "target", "what is to be predicted (the target)")
    site = find_column(source.columns, "site", settings.client, source.file, [target])
    whole = settings.client == ""  # all rows are of one site
    if site is None and not whole:
        refuse_missing_column(source, "client", "the client, who owns the row")
    if site == target:
        raise InputError(f"{site} cannot be both the client and the target", place=source.file)
    findings.record_columns(client=site, target=target)
    frame = cast_numbers(_blank_missing_words(source.read_typed(source.columns)))
    if site is None:
        site, frame = WHOLE, frame.with_columns(polars.lit(WHOLE).alias(WHOLE))
    lines = np.arange(frame.height) + source.first
    blank = frame.select(polars.all_horizontal(polars.all().is_null())).to_series().to_numpy()
    frame, lines = frame.filter(~blank), lines[~blank]
    findings.rows = frame.height
    weight = require_column(settings.weight, source.columns, source.file, "weight") if settings.weight else None
    listed = set() if request.about is None else list_ids(request.about, settings, findings)
    features = list_features(frame, [site, target, *([weight] if weight else [])], listed, request)
    items, features = match_items(features, request.about, settings, findings)
    frame = _handle_missing(frame, lines, site, target, features, request)
    pooled: list[str] = []
    labels = _categories(frame[target], bins, pooled)
    if labels.min() == labels.max():
        raise InputError(f"{target} is the same in every row; there is nothing to predict", place=source.file)
    named = find_categories(frame, features, bins, request)
    codes = np.column_stack([_categories(frame[one], bins, pooled, cut=one not in named) for one in features])
    if pooled:
        findings.note(
            f"Cut into {bins} bins at quantiles of the rows of all sites together: {list_words(pooled)}. Real sites "
            "must agree on such edges beforehand."
        )
    owners, names = number_cells(frame[site])
    order = np.argsort(owners, kind="stable")
    sizes = np.bincount(owners, minlength=len(names))
    records = Records(
        codes[order].astype(np.int32),
        labels[order],
        sizes,
        ~np.isin(features, pooled),
        _weights(frame, owners, sizes, weight),
        as_number(settings.smoothing, "smoothing"),
        tuple(features),
        items.names,
        tuple(names.texts()) if len(names) <= MOST_CLIENT_NAMES else None,
    )
    least = as_count(settings.merge_rare, "merge_rare", least=0)
    if least > 1:
        before, records = records, records.merge_rare(least)
        findings.notes += note_merging(least, records.list_changes(before))
    for said in records.list_chancy():
        findings.warn(said)
    objective = records.build()
    if settings.most is not None:
        objective.most = check_bits(objective, settings.most)
    if findings.measuring:
        findings.per_client, findings.values = ValueSpread.measure(sizes), ValueSpread.measure(labels)
    sites = name_many(None if whole else site, "clients")
    meaning = describe_tables(target, sites, weight or "their rows")
    called = name_one(None if whole else site, "client")
    return LoadedTable(request.kind, items, (), meaning, sites, "features", objective, records, called)


def check_bits(objective: Information, given: float) -> float:
    """What everybody knows of the target: how many bits it can have at most."""
    most, largest = as_number(given, "most", above=True), float(objective.find_ceilings().max())
    if largest > most * (1 + ROUNDING):
        raise InputError(f"is {most:g}, but the target has {largest:.4g} bits at a client", argument="most")
    return most


def _blank_missing_words(frame: polars.DataFrame) -> polars.DataFrame:
    """Blank out cells such as "?" and numbers that are not finite: they are missing."""
    text, number = polars.col(polars.String), polars.selectors.float()
    bare = text.str.strip_chars()
    frame = frame.with_columns(polars.when(~bare.is_in(NOTHING)).then(bare).name.keep())
    return frame.with_columns(polars.when(number.is_finite()).then(number).name.keep())


def _handle_missing(
    frame: polars.DataFrame, lines: Ids, site: str, target: str, features: list[str], request: Request
) -> polars.DataFrame:
    """The rows to use: those with a site and a target; the settings say what happens to missing features."""
    choice, file, unit = request.settings.missing, request.source.file, getattr(request.source, "unit", "row")
    kept = np.ones(frame.height, dtype=bool)
    for column in (site, target):
        lacking = frame[column].is_null().to_numpy()
        said = f"row has no {column}", f"rows have no {column}"
        fault = DataFault("missing", file, int(lacking.sum()), *said, name_places(unit, lines[lacking]))
        request.findings.report(fault, choice, "left out")
        kept &= ~lacking
    lacking = frame.select(polars.any_horizontal(polars.col(features).is_null())).to_series().to_numpy() & kept
    cells = sum(frame[feature].null_count() for feature in features)
    drop = choice == "drop"
    cells_said = say_count(cells, "missing feature")
    said = f"row has {cells_said}", f"rows have {cells_said}"
    fault = DataFault(
        "missing",
        file,
        int(lacking.sum()),
        *said,
        name_places(unit, lines[lacking]),
    )
    request.findings.report(fault, choice, "left out" if drop else "taken for a category of their own", category=True)
    kept &= ~lacking if drop else True
    if not kept.any():
        raise InputError("no row is left: each lacks something that is needed", place=file)
    if choice != "refuse":
        _warn_of_lost_sites(frame, kept, site, [target, *(features if drop else [])], request.findings)
    return frame.filter(kept)


def _warn_of_lost_sites(frame: polars.DataFrame, kept: Mask, site: str, needed: list[str], findings: Findings) -> None:
    """Say which sites have no row left, and which columns they never have."""
    left = frame.filter(kept)[site].unique()
    lost = frame.filter(frame[site].is_not_null() & ~frame[site].is_in(left.implode()))
    names = lost[site].unique(maintain_order=True)
    for name in names[:SHOWN]:
        rows = lost.filter(lost[site] == name)
        never = [column for column in needed if rows[column].null_count() == rows.height]
        ways = [column for column in never if column != needed[0]]
        why = (
            f"{list_words(never)} {'is' if len(never) == 1 else 'are'} missing in all of them"
            if never
            else "each lacks something"
        )
        drop = f" (--drop {shlex.quote(','.join(ways))})" if ways and ways == never else ""
        findings.warn(f"No row of {name} is left: {why}{drop}.")
    if len(names) > SHOWN:
        findings.warn(f"No row is left of {say_count(len(names) - SHOWN, 'other site')} either.")


def _categories(cells: polars.Series, bins: int, pooled: list[str], *, cut: bool = True) -> Ids:
    """Every value is a category; numbers with many values are cut into bins at quantiles; missing is one more."""
    missing = cells.is_null().to_numpy()
    if cut and cells.dtype.is_numeric() and cells.drop_nulls().n_unique() > bins:
        pooled.append(cells.name)
        numbers: NDArray[np.float64] = cells.cast(polars.Float64).to_numpy()
        edges = np.unique(np.quantile(numbers[~missing], np.arange(1, bins) / bins))
        codes = np.searchsorted(edges, numbers, side="right")
    else:
        codes = cells.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    return np.where(missing, codes.max(initial=0) + 1, codes)


def _weights(frame: polars.DataFrame, owners: NDArray[np.int32], sizes: Ids, column: str | None) -> NDArray[np.float64]:
    """How much each site counts: as its number of rows, unless a column says otherwise."""
    if column is None:
        return sizes.astype(np.float64)
    if not frame[column].dtype.is_numeric():
        raise InputError(f"{column} is not a column of numbers", argument="weight")
    said = frame[column].cast(polars.Float64).fill_null(float("nan")).to_numpy()
    weights = np.full(len(sizes), np.nan)
    weights[owners] = said
    if not ((weights[owners] == said).all() and (weights >= 0).all() and weights.any()):
        raise InputError(f"{column} must be one number per site, not negative, not all 0", argument="weight")
    return weights
