"""The chart of a comparison: what every method is worth with every seed."""

from math import isfinite

from folkmoot.report.charts import ROW, draw_bound, frame, names_axis
from folkmoot.report.facts import RankedEntry, rank_entries
from folkmoot.report.numbers import column, find_digits, number, round_up
from folkmoot.report.palette import ACCENT, INK, WARM
from folkmoot.report.story import Comparison
from folkmoot.report.text import isolate, shorten
from folkmoot.report.vega import Spec

CLOSE = 0.5  # of the span of the values: a bound further above them is named, not drawn
POOR = 0.75  # of the best mean: a method below this may lie outside the chart,
LEAST_SPAN = 0.04  # of the largest value: an axis that spans less makes much of nothing
LITTLE = 0.25  # if the others would have less of its width than this
TOLD = (("name", "Method"), ("kind", "It"), ("shown", "Value"), ("seed", "Seed"))


def spread_chart(comparison: Comparison) -> Spec | None:
    """Every seed's value as a dot, the mean as a line, one row per method; scaled to the methods."""
    scored = [one for one in rank_entries(comparison) if one.mean is not None]
    if not scored:
        return None
    values, means, labels = _list_rows(comparison, scored)
    aside = find_outside([one.mean for one in scored if one.mean is not None])
    inside = [float(row["value"]) for row in values if row["place"] not in aside]
    low, high = _widen(min(inside), max(inside))
    room = 0.06 * ((high - low) or abs(high) or 1.0)
    bound = comparison.bound if comparison.bound is not None and isfinite(comparison.bound) else None
    near = bound is not None and bound <= high + CLOSE * (high - low)
    top = max(high, bound or high) if near else high
    widest = max(len(str(row["text"])) for row in means)
    ends = [0, {"expr": f"max(width - {16 + 7 * widest}, 40)"}]
    scale = {"domain": [low - room, top + 1.5 * room], "range": ends, "nice": False}
    axis = {"title": "value", "domain": False, "ticks": False, "tickCount": 5}
    x = {"type": "quantitative", "axis": axis, "scale": scale}
    layers = _draw_methods(
        [row for row in values if row["place"] not in aside],
        [row for row in means if row["place"] not in aside],
        x,
        labels,
    )
    y = names_axis(labels, limit=330)
    words = {"type": "text", "align": "right", "x": "width", "aria": False}
    layers.append({"data": {"values": means}, "mark": words, "encoding": {"y": y, "text": {"field": "text"}}})
    if aside:
        far = [row for row in means if row["place"] in aside]
        arrow = {"type": "text", "align": "left", "x": 2, "text": "← far below", "color": WARM, "aria": False}
        layers.append({"data": {"values": far}, "mark": arrow, "encoding": {"y": y}})
    if bound is not None:
        layers += draw_bound(bound, f"bound {round_up(bound)}", x, near=near)
    return frame(
        {"height": (ROW + 6) * len(scored), "layer": layers}, "Dots: the value of every method with every seed"
    )


def _widen(low: float, high: float) -> tuple[float, float]:
    """So far apart that what is almost the same looks so."""
    missing = LEAST_SPAN * max(abs(low), abs(high)) - (high - low)
    return (low - missing / 2, high + missing / 2) if missing > 0 else (low, high)


def find_outside(means: list[float]) -> set[int]:
    """Of means in falling order, the places of those so far below that the others could not be told apart."""
    good = [mean for mean in means if mean >= POOR * means[0]]
    if len(good) < 2 or means[0] - good[-1] >= LITTLE * (means[0] - means[-1]):
        return set()
    return set(range(len(good), len(means)))


def _list_rows(comparison: Comparison, scored: list[RankedEntry]) -> tuple[list[Spec], list[Spec], list[str]]:
    """A row per seed, a row per method, and the methods' labels."""
    labels = [f"{place + 1}  {isolate(shorten(one.entry.name, 44))}" for place, one in enumerate(scored)]
    known = [one.mean for one in scored if one.mean is not None]
    texts = column(known, find_digits(known))
    values: list[Spec] = []
    means: list[Spec] = []
    for place, (one, label, text) in enumerate(zip(scored, labels, texts, strict=True)):
        kind = "sees sums only" if one.entry.federated else "sees all data"
        name = isolate(shorten(one.entry.name))
        base: Spec = {"label": label, "name": name, "place": place, "kind": kind}
        by_seed = len(one.entry.values) == len(comparison.seeds)
        for at, value in enumerate(one.entry.values):
            if isfinite(value):
                seed = comparison.seeds[at] if by_seed else "–"  # random sets are as many as they are
                values.append(base | {"value": value, "shown": number(value, 6), "seed": seed})
        known = [value for value in one.entry.values if isfinite(value)]
        means.append(base | {"mean": one.mean, "low": min(known), "high": max(known), "text": text})
    return values, means, labels


def _draw_methods(values: list[Spec], means: list[Spec], x: Spec, labels: list[str]) -> list[Spec]:
    colour = {"condition": {"test": "datum.kind === 'sees sums only'", "value": ACCENT}, "value": WARM}
    tooltip = [{"field": field, "title": title, "type": "nominal"} for field, title in TOLD]
    y = names_axis(labels, limit=330)
    y["axis"] = y["axis"] | {"grid": True}
    return [
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
