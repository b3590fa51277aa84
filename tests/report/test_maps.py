"""Maps: what is on them, how far a kilometre goes, and what is said beside them."""

from dataclasses import replace
from math import acos, cos, degrees, radians, sin

import pytest

from folkmoot.foundation.sphere import RADIUS
from folkmoot.report import markdown
from folkmoot.report.describe import describe
from folkmoot.report.document import Figure, walk_document
from folkmoot.report.geography import Place, Projection, fit_projection, make_scale_bar, shape, surround
from folkmoot.report.labels import find_corner, is_name
from folkmoot.report.maps import PHONE, map_of
from folkmoot.report.story import Story
from folkmoot.report.vega import Spec
from tests.report.stories import places

ROME, MILAN = (41.9, 12.5), (45.46, 9.19)
NEAR, FAR = (42.2, 12.3), (60.2, 24.9)


def with_reach(reach: float, others: list[Place] | None = None) -> Story:
    return replace(places([ROME, MILAN], others or [NEAR, FAR]), kind="places", reach=reach)


def find_layers(spec: Spec, kind: str) -> list[Spec]:
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == kind]


def project(spec: Spec, place: Place) -> tuple[float, float]:
    """Where a place is on a map, by the projection that Vega is given."""
    given = spec["projection"]
    across, along = given["translate"]
    return Projection(-given["rotate"][0], given["scale"], across, along)(*place)


def measure(one: Place, other: Place) -> float:
    """Kilometres along the great circle."""
    (a, b), (c, d) = ([radians(part) for part in place] for place in (one, other))
    return RADIUS * acos(min(sin(a) * sin(c) + cos(a) * cos(c) * cos(b - d), 1.0))


@pytest.mark.parametrize("reach", [5.0, 60.0, 150.0])
def test_a_map_is_cropped_to_the_chosen_places_and_their_reach(reach: float) -> None:
    drawn = map_of(with_reach(reach))
    assert drawn is not None
    assert [dot["name"] for dot in drawn.datasets["others"]] == ["Village 0"]
    assert drawn.outside == 1
    for spec in (drawn.wide, drawn.narrow):
        for latitude, longitude in (ROME, MILAN):
            up = degrees(reach / RADIUS)
            aside = up / cos(radians(latitude))
            ends = [(latitude + up, longitude), (latitude - up, longitude)]
            for end in (*ends, (latitude, longitude - aside), (latitude, longitude + aside)):
                x, y = project(spec, end)
                assert -1 <= x <= spec["width"] + 1
                assert -1 <= y <= spec["height"] + 1


def test_circles_are_as_wide_as_the_reach() -> None:
    drawn = map_of(with_reach(100.0))
    assert drawn is not None
    assert drawn.reach == 100.0
    for spec in (drawn.wide, drawn.narrow):
        circles = find_layers(spec, "circle")[0]
        assert circles["mark"]["clip"]
        for (latitude, longitude), row in zip((ROME, MILAN), circles["data"]["values"], strict=True):
            x, y = project(spec, (latitude, longitude))
            edge = latitude + degrees(100 / RADIUS)
            assert measure((latitude, longitude), (edge, longitude)) == pytest.approx(100)
            # Vega's circle of size s is √s wide. Mercator stretches by the latitude: the edge is a little off.
            assert row["area"] ** 0.5 / 2 == pytest.approx(y - project(spec, (edge, longitude))[1], rel=0.02)
            assert x == pytest.approx(project(spec, (edge, longitude))[0])


def test_no_circles_where_they_would_hide_behind_the_markers_or_have_no_unit() -> None:
    tiny = map_of(with_reach(0.5))
    assert tiny is not None
    assert tiny.reach is None
    assert map_of(replace(with_reach(100.0), kind="distances")).reach is None  # type: ignore[union-attr]
    assert "Circles" not in explain(replace(with_reach(100.0), kind="distances"))


def explain(story: Story) -> str:
    return next(
        part.caption for part in walk_document(describe(story)) if isinstance(part, Figure) and part.name == "map"
    )


def test_a_scale_bar_is_true_or_not_there() -> None:
    corners = surround([ROME, MILAN], [], 50.0)
    projection = fit_projection(corners, 500, 500 / shape(corners), 20)
    bar = make_scale_bar(projection, 500, 500 / shape(corners))
    assert bar is not None
    length = float(bar.text.removesuffix(" km"))
    assert str(int(length)).rstrip("0") in ("1", "2", "5")
    x, y = projection(43.7, 10.8)
    east = projection(43.7, 10.8 + degrees(length / RADIUS) / cos(radians(43.7)))
    assert east[0] - x == pytest.approx(bar.pixels, rel=0.03)
    assert east[1] == y
    assert bar.pixels <= 125
    world = surround([(70.0, 0.0), (-40.0, 100.0)], [], None)
    assert make_scale_bar(fit_projection(world, 500, 500, 20), 500, 500) is None
    street = fit_projection(surround([(41.9, 12.5), (41.901, 12.501)], [], 0.05), 340, 340, 20)
    small = make_scale_bar(street, 340, 340)
    assert small is not None
    assert small.text.endswith(" m")


def test_coordinates_and_numbers_are_no_labels() -> None:
    for text in ("41.9, 12.5", "-73.98,40.75", "40.7° N, 74.0° W", "17", "(1, 2)", ""):
        assert not is_name(text)
    for text in ("Rome", "Pier 39", "N Judah", "東京", "5th Avenue"):
        assert is_name(text)
    story = with_reach(100.0)
    numbered = tuple(
        replace(item, name=f"{item.latitude}, {item.longitude}" if at == 0 else item.name)
        for at, item in enumerate(story.chosen)
    )
    drawn = map_of(replace(story, chosen=numbered))
    assert drawn is not None
    assert drawn.unnamed == 0
    for spec in (drawn.wide, drawn.narrow):
        labels = [row.get("label") for row in find_layers(spec, "text")[0]["data"]["values"]]
        assert sorted(map(str, labels)) == ["None", "Town 1"]
        assert all(layer.get("encoding", {}).get("x", {}).get("axis") is None for layer in spec["layer"])  # no degrees


def test_names_on_a_phone_are_short() -> None:
    story = with_reach(100.0)
    long = tuple(replace(item, name="A town with a very long name") for item in story.chosen)
    drawn = map_of(replace(story, chosen=long))
    assert drawn is not None
    assert drawn.narrow["width"] == PHONE
    wide, narrow = (
        {row["label"] for row in find_layers(spec, "text")[0]["data"]["values"] if "label" in row}
        for spec in (drawn.wide, drawn.narrow)
    )
    assert wide == {"A town with a very long name"}
    assert all(len(label) <= 16 and label.endswith("…") for label in narrow)


def test_dots_are_shaded_by_what_they_are_worth_and_the_caption_says_by_what() -> None:
    story = with_reach(150.0, [NEAR, (44.5, 11.3)])
    assert "stronger" not in explain(story)
    worth = tuple(replace(item, alone=share) for item, share in zip(story.others, (1.0, 0.25), strict=True))
    shaded = replace(story, others=worth)
    drawn = map_of(shaded)
    assert drawn is not None
    assert drawn.shaded
    dots = find_layers(drawn.wide, "circle")[1]
    assert dots["encoding"]["opacity"]["field"] == "alone"
    assert {row["name"]: row["alone"] for row in drawn.datasets["others"]} == {"Village 0": 1.0, "Village 1": 0.25}
    assert "the stronger the more each is worth alone by the sums that the server knows" in explain(shaded)
    assert "server" not in explain(replace(shaded, secure="none"))
    assert "stronger" not in markdown(shaded)  # which has no map


def test_many_markers_have_no_numbers_and_the_caption_says_none() -> None:
    crowd = [(40 + 0.01 * at, 10.0) for at in range(61)]
    story = replace(places(crowd, []), kind="places", reach=1.0)
    drawn = map_of(story)
    assert drawn is not None
    assert not drawn.numbered
    assert "numbers" not in explain(story)
    assert "The numbers are those in the table." in explain(with_reach(100.0))


def test_the_scale_stands_where_no_marker_is() -> None:
    points = [(10.0, 290.0), (290.0, 290.0), (10.0, 10.0)]
    assert find_corner(points, 9.0, (80.0, 30.0), 300.0, 300.0) == (220.0, 0.0, 300.0, 30.0)
    assert find_corner([], 9.0, (80.0, 30.0), 300.0, 300.0) == (0.0, 270.0, 80.0, 300.0)
