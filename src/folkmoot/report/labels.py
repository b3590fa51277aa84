"""Where the names on a map go, so that none lies on another or on a marker."""

import re
from dataclasses import dataclass
from unicodedata import east_asian_width

LETTER = 12 * 0.58  # pixels; of the text at 12 pixels, a little more than most fonts need
HEIGHT = 15
CLEAR = 4  # between a name and a marker that is not its own, or it would be read as that one's
COORDINATES = re.compile(r"[\s\d.,;:°'\"′″+\-−()/NSEWO]*\d[\s\d.,;:°'\"′″+\-−()/NSEWO]*")


@dataclass(frozen=True)
class Label:
    """The text's anchor next to its marker."""

    x: float
    y: float
    align: str


Box = tuple[float, float, float, float]


def is_name(text: str) -> bool:
    """Whether a text says something next to a marker: neither numbers nor coordinates do.

    >>> is_name("Rome"), is_name("41.9, 12.5"), is_name("40.7° N 74.0° W"), is_name("Pier 39")
    (True, False, False, True)
    """
    return bool(text.strip()) and not COORDINATES.fullmatch(text)


def text_width(name: str) -> float:
    return sum(LETTER * (1.75 if east_asian_width(sign) in "WF" else 1.0) for sign in name)


def place_labels(
    points: list[tuple[float, float]],
    names: list[str],
    radius: float,
    width: float,
    height: float,
    reserved: tuple[Box, ...] = (),
) -> list[Label | None]:
    """The first free place next to each marker, first come first served; None where there is none. `reserved`: where
    something else stands.
    """
    clear = radius + CLEAR
    taken: list[Box] = [(x - clear, y - clear, x + clear, y + clear) for x, y in points]
    taken += reserved
    labels: list[Label | None] = []
    for place, ((x, y), name) in enumerate(zip(points, names, strict=True)):
        found = None
        for label, box in _candidates(x, y, text_width(name), radius + 4) if name else ():
            inside = box[0] >= 2 and box[1] >= 2 and box[2] <= width - 2 and box[3] <= height - 2
            if inside and not any(_meet(box, other) for at, other in enumerate(taken) if at != place):
                found = label
                taken.append(box)
                break
        labels.append(found)
    return labels


def find_corner(
    points: list[tuple[float, float]], radius: float, size: tuple[float, float], width: float, height: float
) -> Box:
    """A corner of the map for something of this size, without a marker in it if there is such a corner."""
    across, along = size
    corners = [
        (left, top, left + across, top + along) for top in (height - along, 0.0) for left in (0.0, width - across)
    ]
    markers = [(x - radius, y - radius, x + radius, y + radius) for x, y in points]
    return next((one for one in corners if not any(_meet(one, other) for other in markers)), corners[0])


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
