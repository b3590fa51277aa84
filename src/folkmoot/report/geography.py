"""From the Earth to a picture: Mercator, how far a reach goes, and a bar that says how long a kilometre is."""

from dataclasses import dataclass
from itertools import pairwise
from math import atan, cos, degrees, exp, floor, log, log10, pi, radians, sqrt, tan

from folkmoot.foundation.sphere import RADIUS

STEEPEST = 84.0  # degrees north or south: nearer to the poles Mercator grows without end
TWISTED = 1.3  # where a kilometre is so much longer at one edge than at the other, no bar is true
Place = tuple[float, float]  # latitude, longitude


@dataclass(frozen=True)
class Projection:
    """Mercator, around the middle of the points, as large as the frame allows."""

    centre: float  # degrees east
    scale: float  # pixels per radian at the equator
    across: float
    along: float

    def __call__(self, latitude: float, longitude: float) -> tuple[float, float]:
        x, y = _flatten(latitude, longitude, self.centre)
        return self.across + self.scale * x, self.along - self.scale * y

    def measure(self, kilometres: float, latitude: float) -> float:
        """How many pixels a distance is at this latitude."""
        return self.scale * kilometres / RADIUS / cos(radians(latitude))


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


def shape(points: list[Place]) -> float:
    """How wide the map is for its height."""
    xs, ys = _extent(points, middle([longitude for _, longitude in points]))
    return (xs[1] - xs[0]) / (ys[1] - ys[0])


def fit_projection(points: list[Place], width: float, height: float, margin: float) -> Projection:
    centre = middle([longitude for _, longitude in points])
    xs, ys = _extent(points, centre)
    scale = min((width - 2 * margin) / (xs[1] - xs[0]), (height - 2 * margin) / (ys[1] - ys[0]))
    across, along = width / 2 - scale * sum(xs) / 2, height / 2 + scale * sum(ys) / 2
    return Projection(centre, scale, across, along)


def _extent(points: list[Place], centre: float) -> tuple[tuple[float, float], tuple[float, float]]:
    flat = [_flatten(latitude, longitude, centre) for latitude, longitude in points]
    sides = []
    for places in ([x for x, _ in flat], [y for _, y in flat]):
        low, high = min(places), max(places)
        least = radians(0.02)  # a single place, or a street: as if it were two kilometres
        room = max(least - (high - low), 0.0) / 2
        sides.append((low - room, high + room))
    return sides[0], sides[1]


def surround(chosen: list[Place], others: list[Place], reach: float | None) -> list[Place]:
    """What a map of the chosen places has to show: each of them and, up to its reach, what is around. Where that goes
    far beyond all places, about as far as there are any; without a reach, the other places that are not further away
    than the chosen are from each other.
    """
    if reach is not None:
        off = min(reach, _measure_extent([*chosen, *others]) / 2)
        return [corner for place in chosen for corner in _step_around(place, off)]
    around = [corner for place in chosen for corner in _step_around(place, _measure_extent(chosen))]
    return [*chosen, *_keep_within(others, around)]


def _keep_within(places: list[Place], corners: list[Place]) -> list[Place]:
    """Those in the rectangle around the corners."""
    centre = middle([longitude for _, longitude in corners])
    (west, east), (south, north) = _extent(corners, centre)
    flat = ((place, _flatten(*place, centre)) for place in places)
    return [place for place, (x, y) in flat if west <= x <= east and south <= y <= north]


def _measure_extent(places: list[Place]) -> float:
    """Kilometres, about, from one end of the places to the other; some, if there is only one."""
    centre = middle([longitude for _, longitude in places])
    xs, ys = _extent(places, centre)
    latitude = sum(latitude for latitude, _ in places) / len(places)
    diagonal = sqrt((xs[1] - xs[0]) ** 2 + (ys[1] - ys[0]) ** 2)
    return max(diagonal * RADIUS * cos(radians(latitude)), 5.0)


def _step_around(place: Place, kilometres: float) -> list[Place]:
    """The points so far to the north, the south, the east and the west."""
    latitude, longitude = place
    up = degrees(kilometres / RADIUS)
    aside = min(up / max(cos(radians(latitude)), 1e-6), 90.0)
    north, south = min(latitude + up, STEEPEST), max(latitude - up, -STEEPEST)
    return [(north, longitude), (south, longitude), (latitude, longitude - aside), (latitude, longitude + aside)]


@dataclass(frozen=True)
class ScaleBar:
    """So many pixels are so many kilometres."""

    text: str
    pixels: float


def make_scale_bar(projection: Projection, width: float, height: float) -> ScaleBar | None:
    """A round number of kilometres, at most a quarter of the map; None where a kilometre is not as long everywhere."""
    top, half, bottom = (_find_latitude(projection, y) for y in (0.0, height / 2, height))
    longest, shortest = (f(1 / cos(radians(one)) for one in (top, half, bottom)) for f in (max, min))
    if longest > TWISTED * shortest:
        return None
    most = width / 4 / projection.measure(1.0, half)
    power = 10.0 ** floor(log10(most))
    length = power * next(times for times in (5, 2, 1) if times * power <= most)
    text = f"{length:,.0f} km" if length >= 1 else f"{1000 * length:,.0f} m"
    return ScaleBar(text, projection.measure(length, half))


def _find_latitude(projection: Projection, y: float) -> float:
    """Of a height in the picture."""
    return degrees(2 * atan(exp((projection.along - y) / projection.scale)) - pi / 2)
