"""The page of several methods on one problem: one table, one plot, and what each of them chose."""

from dataclasses import asdict
from math import isfinite

from folkmoot.report.charts import ROW, frame, names_axis, upright
from folkmoot.report.facts import RankedEntry, rank_entries
from folkmoot.report.markup import Cell, Markup, Part, element, fold, join, show_name, show_number, strip, table
from folkmoot.report.numbers import NOTHING, column, count, fraction, number, percent, size, up
from folkmoot.report.page import document
from folkmoot.report.palette import ACCENT, INK, WARM
from folkmoot.report.sections import again, bound_note, figure, section
from folkmoot.report.sentences import seeds_of
from folkmoot.report.story import Comparison
from folkmoot.report.text import clean, isolate, short
from folkmoot.report.vega import Spec, bundle

HOLDS = "This page is one file and loads nothing. All of its facts are in it, as JSON under the id “comparison”."
HEADS = ("Method", "Mean value", "±", "To best central", "Rounds", "Bytes up", "Answers", "Smallest sum", "Seconds")


def compare_page(comparison: Comparison) -> str:
    """The report of a comparison."""
    library = bundle()
    spec = spread_chart(comparison)
    charts = {} if spec is None else {"spread": {"wide": spec}}
    facts = [("Seeds", ", ".join(str(seed) for seed in comparison.seeds)), *comparison.versions]
    picture = None
    if spec is not None:
        words = (
            "A dot is a seed, the short upright line the mean. Blue methods see sums only, orange ones see everything. "
            + bound_note(comparison.bound)
        )
        picture = figure("spread", "Values by method.", words.strip())
    body = join(
        [
            _head(comparison),
            section("The methods, best first", _list_methods(comparison), _explain(comparison), picture),
            section("What each chose", _chosen(comparison)),
            again(comparison.command, facts, comparison.notes, comparison.credits, HOLDS),
        ]
    )
    return document(comparison.title, body, charts, ("comparison", asdict(comparison)), library)


def _head(comparison: Comparison) -> Markup:
    cells: list[tuple[Part, Part, str]] = []
    scored = rank_entries(comparison)
    best = next((one for one in scored if one.entry.federated and one.mean is not None), None)
    if best is not None and best.mean is not None:
        value = show_number(number(best.mean), "best.mean", best.mean)
        cells.append(("Best that sees only sums", value, clean(best.entry.name)))
    if best is not None and best.ratio is not None:
        cells.append(
            ("That is", show_number(percent(best.ratio), "best.ratio", best.ratio), "of the best that sees everything")
        )
    called = clean(comparison.clients_called)
    cells.append(
        (
            called.capitalize(),
            count(comparison.n_clients),
            f"{count(comparison.n_items)} {clean(comparison.items_called)}",
        )
    )
    cells.append(("Seeds", count(len(comparison.seeds)), "the same for every method"))
    return element(
        "header",
        element("p", "Folkmoot", class_="kicker"),
        element("h1", clean(comparison.title)),
        element("p", clean(comparison.question), class_="question"),
        strip(cells),
    )


def _explain(comparison: Comparison) -> Markup:
    words = f"Value: {clean(comparison.meaning)}. ± is the standard deviation over {seeds_of(comparison)}. "
    words += "The ratio is to the best mean of a method that sees everything, rounded down. "
    words += "Bytes are those that a client sends in a round."
    return element("p", words, class_="fine")


def _list_methods(comparison: Comparison) -> Markup:
    scored = rank_entries(comparison)
    means = column(one.mean if one.mean is not None else float("nan") for one in scored)
    rows = [_row(one, mean) for one, mean in zip(scored, means, strict=True)]
    return table("The methods", HEADS, rows)


def _row(one: RankedEntry, mean: str) -> list[Cell]:
    entry = one.entry
    talked = entry.rounds > 0
    ratio = NOTHING if one.ratio is None else fraction(one.ratio)
    return [
        Cell(show_name(entry.name), entry.name.casefold()),
        Cell(show_number(mean, f"mean.{entry.name}", one.mean), one.mean, numeric=True),
        Cell(NOTHING if one.spread is None else number(one.spread, 2), one.spread, numeric=True),
        Cell(ratio, one.ratio, numeric=True),
        Cell(count(entry.rounds) if talked else NOTHING, entry.rounds),
        Cell(size(entry.bytes_up) if talked else NOTHING, entry.bytes_up),
        Cell(count(entry.answers) if talked else NOTHING, entry.answers),
        Cell(count(entry.smallest), entry.smallest, numeric=True),
        Cell(number(entry.seconds, 3), entry.seconds),
    ]


def _chosen(comparison: Comparison) -> Markup:
    parts: list[Markup] = []
    for one in rank_entries(comparison):
        names = one.entry.selected
        items = element("ol", *(element("li", show_name(name)) for name in names), class_="chosen") if names else None
        nothing = None if names else element("p", "Its items were not kept.")
        parts.append(
            fold(f"{clean(one.entry.name)}: {count(len(names))} {clean(comparison.items_called)}", items, nothing)
        )
    return join(parts)


def spread_chart(comparison: Comparison) -> Spec | None:
    """Every seed's value as a dot, the mean as a line, one row a method."""
    scored = [one for one in rank_entries(comparison) if one.mean is not None]
    if not scored:
        return None
    labels = [f"{place + 1}  {isolate(short(one.entry.name, 44))}" for place, one in enumerate(scored)]
    values: list[Spec] = []
    means: list[Spec] = []
    for one, label in zip(scored, labels, strict=True):
        kind = "sees sums only" if one.entry.federated else "sees everything"
        base: Spec = {"label": label, "name": isolate(short(one.entry.name)), "kind": kind}
        for seed, value in zip(comparison.seeds, one.entry.values, strict=False):
            if isfinite(value):
                values.append(base | {"value": value, "shown": number(value, 6), "seed": seed})
        known = [value for value in one.entry.values if isfinite(value)]
        means.append(base | {"mean": one.mean, "low": min(known), "high": max(known), "text": number(one.mean)})
    everything = [float(row["value"]) for row in values]
    if comparison.bound is not None and isfinite(comparison.bound):
        everything.append(comparison.bound)
    low, high = min(everything), max(everything)
    room = 0.06 * ((high - low) or abs(high) or 1.0)
    domain = {"domain": [low - room, high + 1.5 * room], "nice": False}
    axis = {"title": "value", "domain": False, "ticks": False, "tickCount": 5}
    x = {"type": "quantitative", "axis": axis, "scale": domain}
    colour = {"condition": {"test": "datum.kind === 'sees sums only'", "value": ACCENT}, "value": WARM}
    tooltip = [{"field": field, "title": title, "type": "nominal"} for field, title in TOLD]
    y = names_axis(labels, limit=330)
    y["axis"] = y["axis"] | {"grid": True}
    layers: list[Spec] = [
        {
            "data": {"values": means},
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.28, "strokeCap": "round"},
            "encoding": {"y": y, "x": x | {"field": "low"}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "data": {"values": values},
            "mark": {"type": "circle", "size": 50, "opacity": 0.85},
            "encoding": {"y": y, "x": x | {"field": "value"}, "color": colour, "tooltip": tooltip},
        },
        {
            "data": {"values": means},
            "mark": {"type": "tick", "thickness": 2.5, "size": 18, "color": INK},
            "encoding": {"y": y, "x": x | {"field": "mean"}},
        },
    ]
    if comparison.bound is not None and isfinite(comparison.bound):
        layers += upright(comparison.bound, f"bound {up(comparison.bound)}", x)
    spec: Spec = {"height": (ROW + 6) * len(scored), "layer": layers}
    return frame(spec, "Dots: the value of every method with every seed, and the bound")


TOLD = (("name", "Method"), ("kind", "It"), ("shown", "Value"), ("seed", "Seed"))
