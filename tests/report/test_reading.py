"""What a reader must not miss, and must not be misled by."""

import re
from dataclasses import replace
from io import StringIO

from rich.console import Console

from folkmoot.report import compare_page, page
from folkmoot.report.comparison import describe_comparison
from folkmoot.report.describe import describe
from folkmoot.report.document import Fact, Header, Name, Paragraph, Quantity, Table, walk_document
from folkmoot.report.html import render_table
from folkmoot.report.page import render_page
from folkmoot.report.sections.headline import describe_limit
from folkmoot.report.spread import LEAST_SPAN, spread_chart
from folkmoot.report.story import Benefit, Comparison, Entry, LimitUse
from folkmoot.report.terminal import print_document, print_parts
from tests.report.stories import COMPARISON, SHAPES, make_story

NEAR = replace(
    COMPARISON,
    entries=(
        Entry("fedcg+", True, (1.0134, 1.0133, 1.0132), 1.0, 21),
        Entry("auto", True, (1.0137, 1.0130, 1.0123), 1.0, 21),
        Entry("frank-wolfe", True, (1.0127, 1.0126, 1.0127), 1.0, 21),
        Entry("popularity", True, (1.0122, 1.0122, 1.0122), 1.0),
    ),
    bound=None,
)


def lead(comparison: Comparison) -> str:
    return next(part.text for part in describe_comparison(comparison).head if isinstance(part, Paragraph))


def test_chance_makes_no_winner() -> None:
    told = "There is no clear difference between fedcg+ and auto, the best of the methods that see only sums: up to"
    assert lead(NEAR).startswith(told)
    assert "fedcg+ (no clear difference to auto)" in compare_page(NEAR)
    clear = replace(NEAR, entries=(replace(NEAR.entries[0], values=(1.03, 1.03, 1.03)), *NEAR.entries[1:]))
    assert lead(clear).startswith("Of the methods that see only sums, fedcg+ is best: ")


def test_popularity_is_not_beaten_by_chance() -> None:
    noisy = replace(NEAR, entries=(replace(NEAR.entries[0], values=(1.10, 1.01, 0.95)), NEAR.entries[3]))
    assert lead(noisy) == "No method that sees only sums is clearly better than popularity."


def test_methods_that_are_almost_equal_look_so() -> None:
    spec = spread_chart(NEAR)
    assert spec is not None
    low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert high - low >= LEAST_SPAN * 1.01
    table = next(part for part in walk_document(describe_comparison(NEAR)) if isinstance(part, Table))
    assert [row[1] for row in table.texts()] == ["1.0133", "1.0130", "1.0127", "1.0122"]


def test_a_phone_is_told_of_the_columns_that_it_shows() -> None:
    html = compare_page(NEAR)
    assert re.search(r'<p class="fine spare">± is the standard deviation', html)
    assert "Bytes up" not in re.findall(r'<p class="fine">(Value: .*?)</p>', html)[0]
    assert '<bdi class="whole">frank-wolfe</bdi>' in html


def test_notes_are_seen_without_opening_anything_doubts_first() -> None:
    notes = (
        "a.csv: 30 rows were read.",
        "Columns: client is user.",
        "6 places of a.csv lie at exactly 0, 0: are they?",
    )
    html = page(replace(SHAPES["full"], notes=notes))
    shown = re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
    assert [note for note in re.findall(r"<li>(.*?)</li>", shown) if note in notes] == [notes[2], *notes[:2]]


def test_groups_that_are_numbers_are_sorted_and_named() -> None:
    used = (("1", 1), ("10", 1), ("2", 1), ("7", 2))
    told = describe_limit(LimitUse(2, "departments", used=used))
    assert told == (
        "At most 2 per department: department 7: 2 of 2, department 1: 1 of 2, department 2: 1 of 2, department 10: "
        "1 of 2."
    )


def test_tiles_stand_in_even_rows() -> None:
    facts = tuple(Fact(f"Fact {at}", Quantity(float(at))) for at in range(8))
    document = replace(describe_comparison(COMPARISON), head=facts)
    assert 'class="strip" style="--columns:4"' in render_page(document, "data", {})
    document = replace(document, head=facts[:6])
    assert 'class="strip"><div>' in render_page(document, "data", {})


def test_the_terminal_says_what_is_received_and_what_is_sent() -> None:
    out = Console(file=StringIO(), width=100)
    print_document(out, describe(make_story(SHAPES["full"].result)))
    assert isinstance(out.file, StringIO)
    text = out.file.getvalue()
    assert re.search(r"Received +\S+ \S+ +per client and round", text)
    assert re.search(r"Sent +\S+ \S+ +per client and round", text)


def test_one_long_name_does_not_pad_a_terminal() -> None:
    out = Console(file=StringIO(), width=200, force_terminal=True, color_system=None)
    table = Table("Films", (Header("Name"), Header("Gain")), ((Name("x" * 150), Quantity(1.0)),))
    print_parts(out, [table])
    assert isinstance(out.file, StringIO)
    assert max(map(len, out.file.getvalue().splitlines())) < 80
    assert "x" * 150 in render_table(table)


def test_a_mean_over_everybody_is_written_as_the_value_is() -> None:
    story = replace(SHAPES["full"], kind="ratings", benefit=Benefit(SHAPES["full"].n_clients, 1.0))
    mean, value = (
        next(one for one in walk_document(describe(story)) if isinstance(one, Fact) and one.name == name)
        for name in ("Mean best", "Value")
    )
    assert isinstance(mean.value, Quantity)
    assert isinstance(value.value, Quantity)
    assert mean.value.text() == value.value.text()
