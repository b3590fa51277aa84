"""The charts of a run, as Vega-Lite specifications. Names enter as data only, never as a part of an expression."""

from math import isfinite

from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import PrivacyAccount, Round
from folkmoot.report.facts import Known, bars_of, find_known, finite_or_none
from folkmoot.report.numbers import column, number, round_up
from folkmoot.report.palette import ACCENT, FONT, INK, LINE, MUTED, SOFT, WARM
from folkmoot.report.story import Item, Story
from folkmoot.report.text import capitalise, isolate, shorten
from folkmoot.report.vega import Spec

MOST_BARS = 40
APART = (Purpose.BOUND, Purpose.SCORING, Purpose.POLISHING)  # rounds that say little about what the answer is worth
ROW = 24  # pixels
FAR = 1.4  # times the largest value: a bound beyond is named, not drawn
WIDTH = 560  # of pictures; in a page a chart is as wide as its column
# Names get less room on a phone. Where there is no window (pictures), the comparison is false.
LABEL_LIMIT = "windowSize()[0] < 600 ? 116 : "
CONFIG: Spec = {
    "font": FONT,
    "background": "transparent",
    "padding": 4,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelPadding": 6,
    },
    "text": {"color": INK, "fontSize": 12},
}


def frame(spec: Spec, description: str) -> Spec:
    """What all charts have in common."""
    fits = {"autosize": {"type": "fit-x", "contains": "padding"}, "width": "container"}
    return {**fits, "description": description, "config": CONFIG, **spec}


def names_axis(order: list[str], limit: int = 250) -> Spec:
    room = {"expr": f"{LABEL_LIMIT}{limit}"}
    axis = {"title": None, "labelLimit": room, "domain": False, "ticks": False, "labelColor": INK}
    return {"field": "label", "type": "nominal", "sort": order, "axis": axis, "scale": {"paddingInner": 0.32}}


def ruler(values: list[float], texts: list[str]) -> Spec:
    """The scale of bars: from zero to the longest, which leaves room for the numbers."""
    low, high = min([*values, 0.0]), max([*values, 0.0])
    if low > -1e-9 * (high - low):  # less than zero by a rounding error only
        low = 0.0
    room = 16 + 7 * max((len(text) for text in texts), default=0)
    pixels = [0, {"expr": f"max(width - {room}, 40)"}]
    return {"domain": [low, high if high > low else low + 1.0], "range": pixels, "nice": False}


def answer_chart(chosen: tuple[Item, ...]) -> Spec | None:
    """What each item added to those above it, as bars."""
    listed = [(item, item.gain) for item in chosen[:MOST_BARS] if item.gain is not None and isfinite(item.gain)]
    if not listed:
        return None
    rows, total = [], 0.0
    for place, ((item, gain), text) in enumerate(zip(listed, column(gain for _, gain in listed), strict=True)):
        total += gain
        # The rank makes the label unique where two items have the same name.
        label = f"{place + 1}  {isolate(shorten(item.name, 40))}"
        row = {"label": label, "name": isolate(shorten(item.name)), "gain": gain, "shown": text, "total": number(total)}
        rows.append(row | {"details": "; ".join(f"{key}: {value}" for key, value in item.details)})
    details = [{"field": "details", "title": "Details", "type": "nominal"}]
    tooltip = [
        {"field": "name", "title": "Name", "type": "nominal"},
        {"field": "shown", "title": "Gain", "type": "nominal"},
        {"field": "total", "title": "Total so far", "type": "nominal"},
        *(details if any(row["details"] for row in rows) else []),
    ]
    scale = ruler([gain for _, gain in listed], [str(row["shown"]) for row in rows])
    place_of = {"field": "gain", "type": "quantitative", "axis": None, "scale": scale}
    spec: Spec = {
        "data": {"values": rows},
        "height": ROW * len(rows),
        "encoding": {"y": names_axis([str(row["label"]) for row in rows])},
        "layer": [
            {
                "mark": {"type": "bar", "color": ACCENT, "cornerRadiusEnd": 2},
                "encoding": {"x": place_of, "tooltip": tooltip},
            },
            {
                "transform": [{"calculate": "max(datum.gain, 0)", "as": "end"}],
                "mark": {"type": "text", "align": "left", "dx": 6, "aria": False},
                "encoding": {"x": place_of | {"field": "end"}, "text": {"field": "shown"}},
            },
        ],
    }
    return frame(spec, f"Bars: what each of the {len(rows)} items added to those above it")


def baselines_chart(story: Story) -> Spec | None:
    """The chosen set compared with other ways to choose, under the bound."""
    bars, known = bars_of(story), find_known(story.result)
    if not bars or (len(bars) == 1 and known.bound is None):
        return None
    between = find_interval(known)
    texts = column(bar.value for bar in bars)
    labels = make_distinct([isolate(shorten(bar.name, 40)) for bar in bars])
    rows = [
        {"label": label, "value": bar.value, "shown": text, "kind": bar.kind, "about": bar.about}
        for bar, text, label in zip(bars, texts, labels, strict=True)
    ]
    near = is_near(known.bound, [bar.value for bar in bars])
    limit = [known.bound or 0.0] * near
    scale = ruler([*(bar.value for bar in bars), *limit, between[1] if between else 0.0], texts)
    y = names_axis(labels)
    place = {"field": "value", "type": "quantitative", "axis": None, "scale": scale}
    colour = {
        "condition": [
            {"test": "datum.kind === 'chosen'", "value": ACCENT},
            {"test": "datum.kind === 'central'", "value": WARM},
        ],
        "value": MUTED,
    }
    tooltip = [
        {"field": "label", "title": "Choice", "type": "nominal"},
        {"field": "shown", "title": "Value", "type": "nominal"},
        {"field": "about", "title": "What it is", "type": "nominal"},
    ]
    bar_mark = {"type": "bar", "cornerRadiusEnd": 2}
    layers: list[Spec] = [{"mark": bar_mark, "encoding": {"x": place, "y": y, "color": colour, "tooltip": tooltip}}]
    if known.bound is not None:
        layers += draw_bound(known.bound, f"bound {_bound_text(known)}", place, near=near)
    if between:
        ends = {"x": place | {"field": "low"}, "x2": {"field": "high"}, "y": y}
        interval = {"label": labels[0], "low": between[0], "high": between[1]}
        whisker = {"type": "rule", "strokeWidth": 1.5, "color": INK}
        layers.append({"data": {"values": [interval]}, "mark": whisker, "encoding": ends})
        cap = {"type": "tick", "thickness": 1.5, "size": 12, "color": INK}
        for end in ("low", "high"):
            at = {"x": place | {"field": end}, "y": y}
            layers.append({"data": {"values": [interval]}, "mark": cap, "encoding": at})
    # Numbers stand in a column of their own, where no line runs through them.
    words = {"type": "text", "align": "right", "x": "width", "aria": False}
    layers.append({"mark": words, "encoding": {"y": y, "text": {"field": "shown"}}})
    spec: Spec = {"data": {"values": rows}, "height": (ROW + 8) * len(rows), "layer": layers}
    return frame(spec, "Bars: the value of the chosen set and of other ways to choose, and the bound")


def budget_chart(account: PrivacyAccount) -> Spec | None:
    """What each round cost, as a share of the budget."""
    if not account.spendings or account.mu <= 0:
        return None
    rows: list[Spec] = []
    for place, one in enumerate(account.spendings[:MOST_BARS]):
        share = (one.mu / account.mu) ** 2
        label = f"{place + 1}  {isolate(shorten(one.label.partition(',')[0], 40))}"  # a phone has room for a word
        shown = f"{100 * share:.1f} %"
        rows.append(
            {
                "label": label,
                "share": share,
                "shown": shown,
                "mu": number(one.mu, 3),
                "lost": one.lost,
                "whole": one.label,
            }
        )
    tooltip = [
        {"field": "whole", "title": "Round", "type": "nominal"},
        {"field": "shown", "title": "Of the budget", "type": "nominal"},
        {"field": "mu", "title": "μ", "type": "nominal"},
    ]
    scale = ruler([row["share"] for row in rows], [str(row["shown"]) for row in rows])
    place_of = {"field": "share", "type": "quantitative", "axis": None, "scale": scale}
    colour = {"condition": {"test": "datum.lost", "value": WARM}, "value": ACCENT}
    spec: Spec = {
        "data": {"values": rows},
        "height": ROW * len(rows),
        "encoding": {"y": names_axis([str(row["label"]) for row in rows])},
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {"x": place_of, "color": colour, "tooltip": tooltip},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "aria": False},
                "encoding": {"x": place_of, "text": {"field": "shown"}},
            },
        ],
    }
    whom = "those who were asked in it" if account.fresh else "everyone"
    return frame(spec, f"Bars: what each of the {len(rows)} rounds cost {whom}, as a share of the budget")


def make_distinct(labels: list[str]) -> list[str]:
    """Two bars of the same name stay two: the second has a sign that is not seen."""
    return [label + "\u200b" * labels[:place].count(label) for place, label in enumerate(labels)]


def find_interval(known: Known) -> tuple[float, float] | None:
    """Of the estimate, where it is wide enough to be seen."""
    if known.low is None or known.high is None or known.high - known.low <= 2e-3 * abs(known.high):
        return None
    return known.low, known.high


def _bound_text(known: Known) -> str:
    """Rounded up, unless it was reached: then as the value is."""
    return number(known.bound) if known.ratio is not None and known.ratio >= 1 else round_up(known.bound)


def is_near(bound: float | None, values: list[float]) -> bool:
    """Whether a bound is so close to the values that showing it leaves them large."""
    return bound is not None and bound <= FAR * max(values, default=0.0)


def draw_bound(bound: float, text: str, x: Spec, *, near: bool = True) -> list[Spec]:
    """A dashed line over all bars, with its name on top: to the left of it, where there is always room. One that is far
    away is only named, at the side where it is.
    """
    words: Spec = {"type": "text", "align": "right", "baseline": "bottom", "color": WARM, "y": -4, "aria": False}
    nothing: Spec = {"values": [{}]}
    if not near:
        return [{"data": nothing, "mark": words | {"text": f"{text} →", "x": "width"}}]
    place = {key: part for key, part in x.items() if key != "field"} | {"datum": bound}
    line = {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5, "color": WARM}
    return [
        {"data": nothing, "mark": line, "encoding": {"x": place}},
        {"data": nothing, "mark": words | {"text": text, "dx": 4}, "encoding": {"x": place}},
    ]


def is_answer(one: Round) -> bool:
    """Rounds about the bound look at points a little above all allowed ones; the best of many scores is so by luck."""
    return finite_or_none(one.value) is not None and one.purpose not in APART


def rounds_chart(story: Story) -> Spec | None:
    """How the value grew; the line is broken where rounds are left out."""
    rows: list[Spec] = []
    for turn, one in enumerate(story.result.rounds or (), start=1):
        if is_answer(one):
            stretch = rows[-1]["stretch"] + (rows[-1]["round"] < turn - 1) if rows else 0
            row = {"round": turn, "value": one.value, "shown": number(one.value), "label": one.label}
            rows.append(row | {"asked": one.answered, "stretch": stretch})
    if len(rows) < 2:
        return None
    whole = {"tickMinStep": 1, "format": "d", "grid": False, "title": "round"}
    place = {"field": "round", "type": "quantitative", "axis": whole, "scale": {"nice": False, "padding": 10}}
    axis = {"title": None, "domain": False, "ticks": False, "tickCount": 5}
    value = {"field": "value", "type": "quantitative", "axis": axis}
    tooltip = [
        {"field": "round", "title": "Round", "type": "nominal"},
        {"field": "label", "title": "What for", "type": "nominal"},
        {"field": "shown", "title": "Value", "type": "nominal"},
        {"field": "asked", "title": "Answers", "type": "nominal"},
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "color": ACCENT, "strokeWidth": 2},
            "encoding": {"x": place, "y": value, "detail": {"field": "stretch", "type": "nominal"}},
        },
        {
            "mark": {"type": "circle", "color": ACCENT, "size": 46, "opacity": 1},
            "encoding": {"x": place, "y": value, "tooltip": tooltip},
        },
    ]
    central = next((one for one in story.baselines if one.sees_everything and isfinite(one.value)), None)
    if central is not None:
        name = f"{shorten(capitalise(central.name), 40)}: {number(central.value)}"
        at = {"datum": central.value, "type": "quantitative"}
        layers += [
            {
                "data": {"values": [{}]},
                "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5, "color": WARM},
                "encoding": {"y": at},
            },
            {
                "data": {"values": [{"name": name}]},
                "mark": {
                    "type": "text",
                    "align": "left",
                    "baseline": "bottom",
                    "dx": 4,
                    "dy": -4,
                    "x": 0,
                    "color": WARM,
                },
                "encoding": {"y": at, "text": {"field": "name"}},
            },
        ]
    return frame({"data": {"values": rows}, "height": 240, "layer": layers}, "Line: the value, round by round")
