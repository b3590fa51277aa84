"""Charts: no line through a number, a gap where something is left out, and a scale that shows what is compared."""

from dataclasses import replace

import pytest

from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Round
from folkmoot.report.charts import FAR, baselines_chart, rounds_chart
from folkmoot.report.comparison import describe_comparison
from folkmoot.report.document import Fact, Paragraph
from folkmoot.report.spread import find_outside, spread_chart
from folkmoot.report.story import Entry
from folkmoot.report.vega import Spec
from tests.report.stories import BASELINES, COMPARISON, ESTIMATE, SHAPES, make_federated, make_story

NAMES, GAINS = ("Alien", "Brazil", "Clue"), (2.5, 1.25, 0.44)


def list_texts(spec: Spec) -> list[str]:
    """Words that a chart writes by itself."""
    return [layer["mark"]["text"] for layer in spec["layer"] if isinstance(layer["mark"].get("text"), str)]


def has_line(spec: Spec) -> bool:
    return any("strokeDash" in layer["mark"] for layer in spec["layer"])


def test_numbers_stand_beyond_the_line_of_the_bound() -> None:
    spec = baselines_chart(SHAPES["full"])
    assert spec is not None
    assert has_line(spec)
    numbers = next(layer for layer in spec["layer"] if layer.get("encoding", {}).get("text") == {"field": "shown"})
    assert numbers["mark"]["x"] == "width"
    assert numbers["mark"]["align"] == "right"
    scale = spec["layer"][0]["encoding"]["x"]["scale"]
    widest = max(len(row["shown"]) for row in spec["data"]["values"])
    # The scale, and with it the bound, ends before the column of numbers begins.
    assert scale["range"][1]["expr"] == f"max(width - {16 + 7 * widest}, 40)"
    assert scale["domain"][1] == pytest.approx(4.45)


def test_a_bound_that_is_far_away_is_named_and_does_not_set_the_scale() -> None:
    loose = replace(ESTIMATE, bound=19.0, bound_high=20.0)
    spec = baselines_chart(make_story(make_federated(NAMES, GAINS, estimate=loose), baselines=BASELINES))
    assert spec is not None
    assert not has_line(spec)
    assert "bound 20 →" in list_texts(spec)
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"][1] <= FAR * 4.25


def test_the_line_of_rounds_has_a_gap_where_rounds_are_left_out() -> None:
    kinds = (Purpose.SEARCH, Purpose.SEARCH, Purpose.BOUND, Purpose.SEARCH, Purpose.APPRAISAL, Purpose.POLISHING)
    rounds = tuple(Round(f"step {at}", 9, 9, 1, 1, float(at), purpose=kind) for at, kind in enumerate(kinds))
    spec = rounds_chart(make_story(make_federated(NAMES, GAINS, rounds=rounds)))
    assert spec is not None
    assert [(row["round"], row["stretch"]) for row in spec["data"]["values"]] == [(1, 0), (2, 0), (4, 1), (5, 1)]
    line = spec["layer"][0]
    assert line["mark"]["type"] == "line"
    assert line["encoding"]["detail"]["field"] == "stretch"


def test_a_comparison_is_scaled_to_the_methods_and_not_to_the_bound() -> None:
    entries = tuple(
        Entry(f"method {at}", True, (value, value + 0.01), 1.0) for at, value in enumerate((4.3, 4.25, 4.1))
    )
    near = replace(COMPARISON, entries=entries, seeds=(1, 2), bound=4.33)
    spec = spread_chart(near)
    assert spec is not None
    assert has_line(spec)
    spec = spread_chart(replace(near, bound=9.0))
    assert spec is not None
    assert not has_line(spec)
    assert list_texts(spec) == ["bound 9 →"]
    low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert 4.0 < low < 4.1
    assert 4.31 < high < 4.4


def test_a_method_far_below_does_not_press_the_others_together() -> None:
    assert find_outside([4.3, 4.25, 4.1, 0.4]) == {3}
    assert find_outside([4.3, 4.25, 4.1, 3.9]) == set()
    assert find_outside([4.3, 0.4]) == set()  # there is nothing else to tell apart
    assert find_outside([4.3, 3.3, 0.4]) == set()  # the others have room enough
    entries = tuple(Entry(f"method {at}", True, (value,), 1.0) for at, value in enumerate((4.3, 4.25, 4.1, 0.4)))
    spec = spread_chart(replace(COMPARISON, entries=entries, seeds=(1,), bound=None))
    assert spec is not None
    assert list_texts(spec) == ["← far below"]
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"][0] > 4.0
    numbers = next(layer for layer in spec["layer"] if layer.get("encoding", {}).get("text") == {"field": "text"})
    assert [row["text"] for row in numbers["data"]["values"]] == ["4.300", "4.250", "4.100", "0.400"]


def test_a_comparison_begins_with_what_to_take_away() -> None:
    def lead(*values: tuple[str, bool, float]) -> list[str]:
        entries = tuple(Entry(name, federated, (value,), 1.0) for name, federated, value in values)
        head = describe_comparison(replace(COMPARISON, entries=entries, seeds=(1,))).head
        return [part.text.replace("\u202f", " ") for part in head if isinstance(part, Paragraph)]

    best = lead(("greedy", False, 4.4), ("auto", True, 4.2), ("popularity", True, 4.0))
    assert best == ["Of the methods that see only sums, auto is best: 5 % above popularity."]
    assert lead(("auto", True, 3.9), ("popularity", True, 4.0)) == [
        "No method that sees only sums is better than popularity."
    ]
    assert lead(("auto", True, 4.001), ("popularity", True, 4.0)) == [
        "No method that sees only sums is more than 0.05 % better than popularity."
    ]
    assert lead(("auto", True, 3.9), ("greedy", False, 4.0)) == []


def test_under_noise_a_comparison_says_what_noise_costs() -> None:
    entries = (
        Entry("auto", True, (4.164,), 1.0, rounds=18),
        Entry("private", True, (4.16,), 1.0, rounds=15, epsilon=1.0, delta=1e-6),
        Entry("popularity", True, (4.1625,), 1.0),
    )
    lead, *facts = describe_comparison(replace(COMPARISON, entries=entries, seeds=(1,))).head
    assert isinstance(lead, Paragraph)
    said = "Under noise (ε = 1), private is 0.061 % below popularity and 0.097 % below auto, which adds no noise."
    assert lead.text.replace("\u202f", " ") == said
    best = facts[0]
    assert isinstance(best, Fact)
    assert (best.name, best.note) == ("Best under noise", "private")
