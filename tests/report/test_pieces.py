"""Charts that stand alone, maps and their labels, and what happens without vl-convert."""

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from folkmoot.foundation.errors import InputError
from folkmoot.report import (
    Chart,
    compare_page,
    markdown,
    markdown_of,
    page,
    pictures,
    pictures_of,
    result_chart,
    result_html,
)
from folkmoot.report.chart import MIME
from folkmoot.report.document import Tone
from folkmoot.report.facts import cost_of, find_known, rank_entries
from folkmoot.report.geography import fit_projection, middle
from folkmoot.report.labels import HEIGHT, place_labels, text_width
from folkmoot.report.maps import map_of
from folkmoot.report.sections.exposure import explain_difference, list_unprotected
from folkmoot.report.vega import bundle
from tests.report.stories import COMPARISON, SHAPES


def test_without_vl_convert_words_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    bundle.cache_clear()
    story = SHAPES["full"]
    chart = result_chart(story.result)
    for make in (
        *(lambda: page(story), lambda: compare_page(COMPARISON), lambda: pictures(story)),
        *(lambda: pictures_of(COMPARISON), chart.to_png, chart.to_html),
    ):
        with pytest.raises(InputError, match=r"pip install 'folkmoot\[report\]'"):
            make()
    assert markdown(story)
    assert markdown_of(COMPARISON)
    assert result_html(story.result)
    assert set(chart._repr_mimebundle_()) == {MIME, "text/plain"}


def test_a_chart_shows_itself_and_saves_itself(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    chart = result_chart(SHAPES["full"].result)
    shown = chart._repr_mimebundle_()
    assert set(shown) == {MIME, "text/plain", "image/png"}
    assert shown[MIME]["$schema"].endswith("/v5.json")
    assert "var(--" not in json.dumps(chart.spec)
    assert set(chart._repr_mimebundle_(include={MIME})) == {MIME}
    assert MIME not in chart._repr_mimebundle_(exclude={MIME})
    assert chart.save(tmp_path / "gains.png").read_bytes() == chart.to_png()
    assert chart.save(str(tmp_path / "gains.html")).read_text() == chart.to_html()
    assert json.loads(chart.save(tmp_path / "gains.json").read_text()) == chart.spec
    with pytest.raises(InputError, match="path: a chart is saved as"):
        chart.save(tmp_path / "gains.gif")


def describe_chart(name: str) -> str:
    chart: Chart = result_chart(SHAPES[name].result)
    return repr(chart)


def test_a_result_is_drawn_by_what_it_knows() -> None:
    assert "what each of the 3 items added" in describe_chart("full")
    assert "the value, round by round" in describe_chart("no gains")
    assert "The 2 chosen items" in describe_chart("no names")


@pytest.mark.parametrize("name", [name for name, story in SHAPES.items() if map_of(story) is not None])
def test_a_map_shows_all_of_its_places(name: str) -> None:
    drawn = map_of(SHAPES[name])
    assert drawn is not None
    for spec in (drawn.wide, drawn.narrow):
        assert np.isfinite([spec["projection"]["scale"], *spec["projection"]["translate"]]).all()
        assert spec["width"] > 0 < spec["height"]
    if name == "date line":
        assert abs(abs(drawn.wide["projection"]["rotate"][0]) - 179) < 2


def test_the_middle_is_opposite_to_the_widest_gap() -> None:
    assert middle([6.0, 18.0]) == 12.0
    assert middle([170.0, -170.0]) == 180.0
    assert middle([12.5]) == 12.5


def test_projected_points_are_in_the_frame() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        centre, reach = rng.uniform(-180, 180), rng.choice([0.01, 1.0, 20.0, 180.0])
        points = [
            (float(rng.uniform(-60, 60)), float((centre + rng.uniform(-reach, reach) + 180) % 360 - 180))
            for _ in range(int(rng.integers(1, 30)))
        ]
        project = fit_projection(points, 500, 400, 20)
        for x, y in (project(*point) for point in points):
            assert 19.99 <= x <= 480.01
            assert 19.99 <= y <= 380.01


def test_labels_do_not_meet() -> None:
    rng = np.random.default_rng(4)
    points = [(float(x), float(y)) for x, y in rng.uniform(20, 480, (40, 2))]
    names = [f"Town {'x' * int(rng.integers(0, 12))}" for _ in points]
    boxes = []
    for label, name in zip(place_labels(points, names, 9, 500, 500), names, strict=True):
        if label is not None:
            left = label.x - text_width(name) * {"left": 0.0, "center": 0.5, "right": 1.0}[label.align]
            boxes.append((left, label.y - HEIGHT / 2, left + text_width(name), label.y + HEIGHT / 2))
    assert len(boxes) > 20
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    for box in boxes:
        assert min(box) >= 0
        assert max(box) <= 500


def test_costs_add_up() -> None:
    cost = cost_of(SHAPES["full"].result)
    assert cost is not None
    assert (cost.rounds, cost.answers, cost.smallest) == (12, 4 * 1950 + 8 * 98, 98)
    assert cost.up == 1950 * (15865 + 20444 + 23137 + 15418) + 8 * 98 * 5989
    assert cost_of(SHAPES["central"].result) is None
    failed = cost_of(SHAPES["failed round"].result)
    assert failed is not None
    assert failed.smallest == 98


def test_what_subtracting_two_sums_shows() -> None:
    (said,) = explain_difference(SHAPES["one apart"])
    assert "differ by 1 client (rounds 4 and 5): subtracting them shows what that client answered" in said.text
    assert said.tone is Tone.WARNING
    assert "closest sums of this run differ by 1 client." in " ".join(list_unprotected(SHAPES["one apart"]))
    (said,) = explain_difference(SHAPES["far apart"])
    assert "differ by at least 190 clients (rounds 2 and 9)" in said.text
    assert said.tone is Tone.PLAIN
    assert "isolates nobody" in explain_difference(SHAPES["full"])[0].text
    for name in ("three apart, plain", "central"):  # nothing was hidden there
        assert explain_difference(SHAPES[name]) == []
    for name, shown in (
        ("one apart", "**Warning.** Two of the sums differ by 1"),
        ("far apart", "| Smallest difference | **190** |"),
    ):
        assert shown in markdown(SHAPES[name])


def test_what_is_known_is_never_infinite() -> None:
    assert find_known(SHAPES["clipped"].result).ratio is None
    assert find_known(SHAPES["central, no bound"].result).bound is None
    assert find_known(SHAPES["no value"].result).field == "estimate.value"
    assert find_known(SHAPES["no names"].result).value is None


def test_methods_are_listed_best_first() -> None:
    scored = rank_entries(COMPARISON)
    assert [one.entry.name for one in scored][:2] == ["Greedy()", "FedCG(cohort=100)"]
    assert scored[0].ratio == 1.0
    assert scored[1].spread == pytest.approx(0.01)
