"""The map of a run: the chosen places, numbered and named, how far they reach, and the other places around them."""

from dataclasses import dataclass

from folkmoot.report.charts import CONFIG
from folkmoot.report.geography import (
    STEEPEST,
    Place,
    Projection,
    ScaleBar,
    fit_projection,
    make_scale_bar,
    shape,
    surround,
)
from folkmoot.report.labels import Box, find_corner, is_name, place_labels, text_width
from folkmoot.report.numbers import number, percent
from folkmoot.report.palette import ACCENT, DOTS, INK, PAPER, SOFT
from folkmoot.report.story import Item, Story
from folkmoot.report.text import capitalise, isolate, shorten
from folkmoot.report.vega import Spec

MOST_DOTS = 4000
MOST_NUMBERED = 60  # more markers than that are small and without numbers
BROAD = 1.35  # a map that is so much wider than high gets the whole width of the page
PHONE = 340.0  # pixels wide
LONGEST, LONGEST_ON_PHONE = 28, 16  # letters of a name
PALEST = 0.14  # opacity of a dot that is worth nothing
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
    outside: int  # other places that are too far away to be on it
    reach: float | None  # kilometres: of the circles; None: none are drawn
    shaded: bool  # whether dots are the darker, the more they are worth
    sized: bool  # whether dots are as large as what they stand for
    numbered: bool  # whether markers have numbers


@dataclass(frozen=True)
class MapFrame:
    """What is drawn where."""

    projection: Projection
    width: float
    height: float

    def shows(self, item: Item) -> bool:
        x, y = self.projection(*_position(item))
        return 0 <= x <= self.width and 0 <= y <= self.height


def has_place(item: Item) -> bool:
    if item.latitude is None or item.longitude is None:
        return False
    return -90 <= item.latitude <= 90 and -360 <= item.longitude <= 360


def map_of(story: Story) -> Map | None:
    """None unless something that was chosen has a place."""
    chosen = [(place + 1, item) for place, item in enumerate(story.chosen) if has_place(item)]
    if not chosen:
        return None
    others, reach = [item for item in story.others if has_place(item)], find_reach(story)
    here = [_position(item) for _, item in chosen]
    corners = surround(here, [_position(item) for item in others], reach)
    ratio = shape(corners)
    broad = ratio > BROAD
    width, low, high = (1060.0, 320.0, 620.0) if broad else (520.0, 380.0, 680.0)
    desk = _fit(corners, width, min(max(width / ratio, low), high), len(chosen))
    phone = _fit(corners, PHONE, min(max(PHONE / ratio, 180.0), 480.0), len(chosen))
    near = [item for item in others if desk.shows(item) or phone.shows(item)]
    shown = sorted(near, key=lambda item: -(item.size or item.alone or 0.0))[:MOST_DOTS]
    wide, unnamed = _draw(chosen, desk, shown, story)
    narrow, _ = _draw(chosen, phone, shown, story)
    return Map(
        wide=wide,
        narrow=narrow,
        datasets={"others": [_dot(item) for item in shown]} if shown else {},
        broad=broad,
        unnamed=unnamed,
        left_out=len(near) - len(shown),
        outside=len(others) - len(near),
        reach=reach if _has_circles(desk, here, reach, len(chosen)) else None,
        shaded=_is_shaded(shown),
        sized=any(item.size for item in shown),
        numbered=len(chosen) <= MOST_NUMBERED,
    )


def find_reach(story: Story) -> float | None:
    """In kilometres; of distances nobody knows the unit."""
    return story.reach if story.kind == "places" else None


def _fit(corners: list[Place], width: float, height: float, markers: int) -> MapFrame:
    return MapFrame(fit_projection(corners, width, height, _choose_radius(markers, width) + 10), width, height)


def _choose_radius(markers: int, width: float) -> float:
    """Of a marker, in pixels."""
    return (9.0 if width > PHONE else 7.0) if markers <= MOST_NUMBERED else 4.5


def _has_circles(frame: MapFrame, places: list[Place], reach: float | None, markers: int) -> bool:
    """Whether circles of this reach would be seen around the markers."""
    if reach is None:
        return False
    least = min(frame.projection.measure(reach, latitude) for latitude, _ in places)
    return least > _choose_radius(markers, frame.width) + 3


def _is_shaded(items: list[Item]) -> bool:
    return any(item.alone for item in items)


def _position(item: Item) -> Place:
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
    if item.size is not None:
        dot["size"] = item.size
    if item.alone is not None:
        dot |= {"alone": round(item.alone, 4), "worth": percent(item.alone)}
    return dot


def _draw(chosen: list[tuple[int, Item]], frame: MapFrame, others: list[Item], story: Story) -> tuple[Spec, int]:
    width, height, projection = frame.width, frame.height, frame.projection
    numbered, radius = len(chosen) <= MOST_NUMBERED, _choose_radius(len(chosen), width)
    spots = [projection(*_position(item)) for _, item in chosen]
    bar = make_scale_bar(projection, width, height)
    size = (0.0, 0.0) if bar is None else (max(bar.pixels, text_width(bar.text)) + 24, 34.0)
    corner = find_corner(spots, radius, size, width, height)
    longest = LONGEST if width > PHONE else LONGEST_ON_PHONE
    names = [isolate(shorten(item.name, longest)) if is_name(item.name) else "" for _, item in chosen]
    labels = place_labels(spots, names, radius, width, height, () if bar is None else (corner,))
    rows = []
    for (rank, item), spot, name, label in zip(chosen, spots, names, labels, strict=True):
        latitude, longitude = _position(item)
        row: Spec = {"rank": rank, "name": isolate(shorten(item.name)), "latitude": latitude, "longitude": longitude}
        row |= {"gain": number(item.gain), "details": "; ".join(f"{key}: {value}" for key, value in item.details)}
        if label is not None and name:
            row |= {"label": name, "dx": label.x - spot[0], "dy": label.y - spot[1], "align": label.align}
        rows.append(row)
    layers: list[Spec] = []
    reach = find_reach(story)
    if reach is not None and _has_circles(frame, [_position(item) for _, item in chosen], reach, len(chosen)):
        layers.append(_draw_circles(chosen, projection, reach))
    if others:
        layers.append(_draw_dots(others, story.size_called, width))
    layers += _draw_markers(story, rows[::-1], radius, numbered)
    if bar is not None:
        layers += _draw_scale_bar(bar, corner)
    spec: Spec = {
        "description": f"Map: the {len(chosen)} chosen among {story.result.n_items:,} {story.items_called}",
        "width": width,
        "height": height,
        "config": CONFIG | {"padding": 0},
        "projection": _write_projection(projection),
        "layer": layers,
    }
    return spec, sum(label is None and bool(name) for label, name in zip(labels, names, strict=True))


def _write_projection(projection: Projection) -> Spec:
    """Given, not fitted by Vega: so that the labels are where they were placed."""
    turned = {"rotate": [-projection.centre, 0, 0], "translate": [projection.across, projection.along]}
    return {"type": "mercator", "scale": projection.scale, **turned}


def _draw_circles(chosen: list[tuple[int, Item]], projection: Projection, reach: float) -> Spec:
    """How far each of the chosen reaches. Mercator keeps small circles round, and makes them larger near the poles."""
    rows = []
    for _, item in chosen:
        latitude, longitude = _position(item)
        across = 2 * projection.measure(reach, latitude)
        rows.append({"latitude": latitude, "longitude": longitude, "area": round(across**2, 1)})
    ring = {"type": "circle", "clip": True, "color": ACCENT, "fillOpacity": 0.09, "stroke": ACCENT, "strokeWidth": 1}
    ring |= {"strokeOpacity": 0.4, "opacity": 1, "size": {"expr": "datum.area"}, "aria": False, "tooltip": None}
    return {"data": {"values": rows}, "mark": ring, "encoding": POSITION}


def _draw_dots(others: list[Item], size_called: str, width: float) -> Spec:
    """Small where there are many; the darker, the more a place is worth alone."""
    largest = 150.0 * min(width / 520.0, 1.4) * min(1.0, (600 / len(others)) ** 0.4)
    title = capitalise(size_called) or "Size"
    shaded = _is_shaded(others)
    tooltip: list[Spec] = [{"field": "name", "title": "Name", "type": "nominal"}]
    encoding: Spec = {**POSITION, "tooltip": tooltip}
    if any(item.size for item in others):
        scale = {"type": "sqrt", "range": [5, largest], "zero": True}
        encoding["size"] = {"field": "size", "type": "quantitative", "scale": scale, "legend": None}
        tooltip.append({"field": "size", "title": title, "type": "quantitative", "format": ",.6~g"})
    if shaded:
        pale = {"domain": [0, 1], "range": [PALEST, 1]}
        encoding["opacity"] = {"field": "alone", "type": "quantitative", "scale": pale, "legend": None}
        tooltip.append({"field": "worth", "title": "Alone, of the best", "type": "nominal"})
    mark = {"type": "circle", "clip": True, "color": SOFT if shaded else DOTS, "size": largest / 5, "aria": False}
    return {
        "data": {"name": "others"},
        "mark": mark if shaded else mark | {"opacity": 0.8},
        "encoding": encoding,
    }


def _draw_scale_bar(bar: ScaleBar, corner: Box) -> list[Spec]:
    left, bottom = corner[0] + 12, corner[3] - 10
    right = left + bar.pixels
    lines = [(left, bottom, right, bottom), (left, bottom - 4, left, bottom), (right, bottom - 4, right, bottom)]
    rows = [dict(zip(("x", "y", "x2", "y2"), line, strict=True)) for line in lines]
    raw = {"type": "quantitative", "scale": None, "axis": None}
    ends = {"x": {"field": "x", **raw}, "y": {"field": "y", **raw}, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    rule = {"type": "rule", "color": SOFT, "strokeWidth": 1.5, "strokeCap": "square", "aria": False}
    words = {"type": "text", "align": "left", "baseline": "bottom", "fontSize": 11, "color": SOFT}
    words |= {"x": left, "y": bottom - 5, "text": bar.text, "aria": False}
    return [
        {"data": {"values": rows}, "mark": rule, "encoding": ends},
        {"data": {"values": [{}]}, "mark": words},
    ]


def _draw_markers(story: Story, rows: list[Spec], radius: float, numbered: bool) -> list[Spec]:
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
    disc = {"type": "circle", "size": (1.8 * radius) ** 2, "color": ACCENT, "opacity": 1}
    disc |= {"stroke": PAPER, "strokeWidth": 1.5}
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
