"""Where the names on a map go, so that none lies on another or on a marker."""

from dataclasses import dataclass
from itertools import pairwise
from math import log, pi, radians, tan
from unicodedata import east_asian_width

LETTER = 12 * 0.58  # pixels; of the text at 12 pixels, a little more than most fonts need
HEIGHT = 15
CLEAR = 4  # between a name and a marker that is not its own, or it would be read as that one's
STEEPEST = 84.0  # degrees north or south: nearer to the poles Mercator grows without end


@dataclass(frozen=True)
class Projection:
    """Mercator, around the middle of the points, as large as the frame allows."""

    centre: float  # degrees east
    scale: float
    across: float
    along: float

    def __call__(self, latitude: float, longitude: float) -> tuple[float, float]:
        x, y = _flatten(latitude, longitude, self.centre)
        return self.across + self.scale * x, self.along - self.scale * y


def _flatten(latitude: float, longitude: float, centre: float) -> tuple[float, float]:
    east = (longitude - centre + 180.0) % 360.0 - 180.0
    return radians(east), log(tan(pi / 4 + radians(latitude) / 2))


def middle(longitudes: list[float]) -> float:
    """Opposite to the widest gap, so that no country is cut at the date line.

    >>> middle([170.0, -170.0]), middle([6.0, 18.0])
    (180.0, 12.0)
    """
    around = sorted({longitude % 360.0 for longitude in longitudes})
    gaps = [(after - before, after) for before, after in pairwise([*around, around[0] + 360.0])]
    gap, start = max(gaps)
    centre = (start + (360.0 - gap) / 2) % 360.0
    return centre if centre <= 180.0 else centre - 360.0


def shape(points: list[tuple[float, float]]) -> float:
    """How wide the map is for its height."""
    xs, ys = _extent(points, middle([longitude for _, longitude in points]))
    return (xs[1] - xs[0]) / (ys[1] - ys[0])


def fit_projection(points: list[tuple[float, float]], width: float, height: float, margin: float) -> Projection:
    centre = middle([longitude for _, longitude in points])
    xs, ys = _extent(points, centre)
    scale = min((width - 2 * margin) / (xs[1] - xs[0]), (height - 2 * margin) / (ys[1] - ys[0]))
    across, along = width / 2 - scale * sum(xs) / 2, height / 2 + scale * sum(ys) / 2
    return Projection(centre, scale, across, along)


def _extent(points: list[tuple[float, float]], centre: float) -> tuple[tuple[float, float], tuple[float, float]]:
    flat = [_flatten(latitude, longitude, centre) for latitude, longitude in points]
    sides = []
    for places in ([x for x, _ in flat], [y for _, y in flat]):
        low, high = min(places), max(places)
        least = radians(0.02)  # a single place, or a street: as if it were two kilometres
        room = max(least - (high - low), 0.0) / 2
        sides.append((low - room, high + room))
    return sides[0], sides[1]


@dataclass(frozen=True)
class Label:
    """The text's anchor next to its marker."""

    x: float
    y: float
    align: str


Box = tuple[float, float, float, float]


def text_width(name: str) -> float:
    return sum(LETTER * (1.75 if east_asian_width(sign) in "WF" else 1.0) for sign in name)


def place_labels(
    points: list[tuple[float, float]], names: list[str], radius: float, width: float, height: float
) -> list[Label | None]:
    """The first free place next to each marker, first come first served; None where there is none."""
    clear = radius + CLEAR
    taken: list[Box] = [(x - clear, y - clear, x + clear, y + clear) for x, y in points]
    labels: list[Label | None] = []
    for place, ((x, y), name) in enumerate(zip(points, names, strict=True)):
        found = None
        for label, box in _candidates(x, y, text_width(name), radius + 4):
            inside = box[0] >= 2 and box[1] >= 2 and box[2] <= width - 2 and box[3] <= height - 2
            if inside and not any(_meet(box, other) for at, other in enumerate(taken) if at != place):
                found = label
                taken.append(box)
                break
        labels.append(found)
    return labels


def _candidates(x: float, y: float, long: float, off: float) -> list[tuple[Label, Box]]:
    """Right and left first, then above and below, then the corners."""
    spots = [(off, 0.0, "left"), (-off, 0.0, "right"), (0.0, -off - 6, "center"), (0.0, off + 6, "center")]
    spots += [(off * 0.7, side * (off + 2), "left") for side in (-1, 1)]
    spots += [(-off * 0.7, side * (off + 2), "right") for side in (-1, 1)]
    found = []
    for across, along, align in spots:
        left = x + across - long * {"left": 0.0, "center": 0.5, "right": 1.0}[align]
        box = (left - 1, y + along - HEIGHT / 2, left + long + 1, y + along + HEIGHT / 2)
        found.append((Label(x + across, y + along, align), box))
    return found


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
