"""The map of a run: all places as dots that draw the country, the chosen ones numbered and named."""

from dataclasses import dataclass

from folkmoot.report.charts import CONFIG
from folkmoot.report.labels import STEEPEST, Projection, fit_projection, place_labels, shape
from folkmoot.report.numbers import number
from folkmoot.report.palette import ACCENT, DOTS, INK, PAPER
from folkmoot.report.story import Item, Story
from folkmoot.report.text import capitalise, isolate, shorten
from folkmoot.report.vega import Spec

MOST_DOTS = 4000
MOST_NUMBERED = 60  # more markers than that are small and without numbers
BROAD = 1.35  # a map that is so much wider than high gets the whole width of the page
PHONE = 340.0  # pixels wide
POSITION: Spec = {
    "longitude": {"field": "longitude", "type": "quantitative"},
    "latitude": {"field": "latitude", "type": "quantitative"},
}


@dataclass(frozen=True)
class Map:
    """The same map for a desk and for a phone; both draw the same dots."""

    wide: Spec
    narrow: Spec
    datasets: dict[str, list[Spec]]
    broad: bool
    unnamed: int  # chosen places whose names found no room on the wide map
    left_out: int  # dots beyond what a page can draw


def has_place(item: Item) -> bool:
    if item.latitude is None or item.longitude is None:
        return False
    return -90 <= item.latitude <= 90 and -360 <= item.longitude <= 360


def map_of(story: Story) -> Map | None:
    """None unless something that was chosen has a place."""
    chosen = [(place + 1, item) for place, item in enumerate(story.chosen) if has_place(item)]
    if not chosen:
        return None
    others = sorted((item for item in story.others if has_place(item)), key=lambda item: -(item.size or 0.0))
    shown = others[:MOST_DOTS]
    points = [_position(item) for item in [*(item for _, item in chosen), *shown]]
    ratio = shape(points)
    broad = ratio > BROAD
    width, low, high = (1060.0, 320.0, 620.0) if broad else (520.0, 380.0, 680.0)
    wide, unnamed = _draw(chosen, points, width, min(max(width / ratio, low), high), story)
    narrow, _ = _draw(chosen, points, PHONE, min(max(PHONE / ratio, 180.0), 480.0), story)
    return Map(wide, narrow, {"others": [_dot(item) for item in shown]}, broad, unnamed, len(others) - len(shown))


def _position(item: Item) -> tuple[float, float]:
    """Where it is drawn: Mercator has no poles, what is there stands at the edge."""
    assert item.latitude is not None
    assert item.longitude is not None
    return min(max(item.latitude, -STEEPEST), STEEPEST), item.longitude


def _dot(item: Item) -> Spec:
    latitude, longitude = _position(item)
    dot: Spec = {
        "name": isolate(shorten(item.name, 40)),
        "latitude": round(latitude, 4),
        "longitude": round(longitude, 4),
    }
    return dot if item.size is None else dot | {"size": item.size}


def _draw(
    chosen: list[tuple[int, Item]], points: list[tuple[float, float]], width: float, height: float, story: Story
) -> tuple[Spec, int]:
    numbered = len(chosen) <= MOST_NUMBERED
    radius = (9.0 if width > PHONE else 7.0) if numbered else 4.5
    projection = fit_projection(points, width, height, margin=radius + 10)
    spots = [projection(*_position(item)) for _, item in chosen]
    names = [isolate(shorten(item.name, 28)) for _, item in chosen]
    labels = place_labels(spots, names, radius, width, height)
    rows = []
    for (rank, item), spot, name, label in zip(chosen, spots, names, labels, strict=True):
        latitude, longitude = _position(item)
        row: Spec = {"rank": rank, "name": isolate(shorten(item.name)), "latitude": latitude, "longitude": longitude}
        row |= {"gain": number(item.gain), "details": "; ".join(f"{key}: {value}" for key, value in item.details)}
        if label is not None:
            row |= {"label": name, "dx": label.x - spot[0], "dy": label.y - spot[1], "align": label.align}
        rows.append(row)
    layers = [_dots(story, width, len(points)), *_markers(story, rows[::-1], radius, numbered)]
    spec: Spec = {
        "description": f"Map: the {len(chosen)} chosen among {len(points)} {story.items_called}",
        "width": width,
        "height": height,
        "config": CONFIG | {"padding": 0},
        "projection": _projection(projection),
        "layer": layers,
    }
    return spec, sum(label is None for label in labels)


def _projection(projection: Projection) -> Spec:
    """Given, not fitted by Vega: so that the labels are where they were placed."""
    turned = {"rotate": [-projection.centre, 0, 0], "translate": [projection.across, projection.along]}
    return {"type": "mercator", "scale": projection.scale, **turned}


def _dots(story: Story, width: float, crowd: int) -> Spec:
    """Small where there are many."""
    largest = 150.0 * min(width / 520.0, 1.4) * min(1.0, (600 / crowd) ** 0.4)
    title = capitalise(story.size_called) or "Size"
    tooltip: list[Spec] = [{"field": "name", "title": "Name", "type": "nominal"}]
    encoding: Spec = {**POSITION, "tooltip": tooltip}
    if any(item.size for item in story.others):
        scale = {"type": "sqrt", "range": [5, largest], "zero": True}
        encoding["size"] = {"field": "size", "type": "quantitative", "scale": scale, "legend": None}
        tooltip.append({"field": "size", "title": title, "type": "quantitative", "format": ",.6~g"})
    mark = {"type": "circle", "color": DOTS, "opacity": 0.8, "size": largest / 5, "aria": False}
    return {"data": {"name": "others"}, "mark": mark, "encoding": encoding}


def _markers(story: Story, rows: list[Spec], radius: float, numbered: bool) -> list[Spec]:
    """The first rank is drawn last, and lies on top."""
    tooltip: list[Spec] = [
        {"field": "rank", "title": "No.", "type": "nominal"},
        {"field": "name", "title": "Name", "type": "nominal"},
    ]
    if any(item.gain is not None for item in story.chosen):
        tooltip.append({"field": "gain", "title": "Gain", "type": "nominal"})
    if any(item.details for item in story.chosen):
        tooltip.append({"field": "details", "title": "Details", "type": "nominal"})
    data = {"values": rows}
    found: Spec = {**POSITION, "tooltip": tooltip}  # the words too: they lie on the markers, and would hide the hover
    area = 3.1416 * radius**2
    disc = {"type": "circle", "size": area, "color": ACCENT, "opacity": 1, "stroke": PAPER, "strokeWidth": 1.5}
    placing = {name: {"expr": f"datum.{name}"} for name in ("dx", "dy", "align")}
    named = {"type": "text", "baseline": "middle", "fontSize": 12, "fontWeight": 600, "aria": False, **placing}
    layers: list[Spec] = [
        {"data": data, "mark": disc, "encoding": found},
    ]
    if numbered:
        digits = {
            "type": "text",
            "fontSize": radius + 1,
            "fontWeight": 700,
            "color": PAPER,
            "baseline": "middle",
            "dy": 0.5,
        }
        words = {"field": "rank", "type": "nominal"}
        layers.append({"data": data, "mark": digits | {"aria": False}, "encoding": {**found, "text": words}})
    for style in ({"stroke": PAPER, "strokeWidth": 3.5, "strokeJoin": "round", "color": PAPER}, {"color": INK}):
        layers.append(
            {
                "data": data,
                "transform": [{"filter": "isValid(datum.label)"}],
                "mark": named | style,
                "encoding": {**found, "text": {"field": "label", "type": "nominal"}},
            }
        )
    return layers
