"""One document, many renderings: a fact is written once, and every renderer shows it."""

import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import folkmoot.report.html
from folkmoot.cli.show import show_comparison, show_story
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Result
from folkmoot.report import markdown, page, result_html
from folkmoot.report.charts import is_answer
from folkmoot.report.comparison import describe_comparison
from folkmoot.report.describe import SECTIONS, describe, story_of
from folkmoot.report.document import (
    Bullets,
    Document,
    Fact,
    Form,
    Halves,
    Header,
    Level,
    Name,
    Paragraph,
    Quantity,
    Section,
    Table,
    select,
    walk_document,
)
from folkmoot.report.html import render_html
from folkmoot.report.markdown import render_markdown
from folkmoot.report.notebook import render_notebook
from folkmoot.report.plain import render_plain
from folkmoot.report.story import Story
from folkmoot.report.terminal import print_document, print_parts
from folkmoot.report.text import clean, escape_markdown
from tests.report.stories import COMPARISON, ROUNDS, SHAPES
from tests.report.test_contract import Read
from tests.test_architecture import find_imports

WIDE = 100_000  # no line is broken


def open_terminal(width: int) -> Console:
    """A terminal without colours."""
    return Console(file=StringIO(), width=width, force_terminal=True, color_system=None, highlight=False, markup=False)


def render_terminal(document: Document) -> str:
    out = open_terminal(WIDE)
    print_document(out, document)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


Renderer = Callable[[Document], str]
# How a renderer is called, how it writes words, how much it shows and with how many digits.
RENDERERS: dict[str, tuple[Renderer, Callable[[str], str], Level, int]] = {
    "html": (lambda document: Read(render_html(document)).text, clean, Level.DETAIL, 4),
    "markdown": (render_markdown, escape_markdown, Level.DETAIL, 4),
    "terminal": (render_terminal, clean, Level.SUMMARY, 4),
    "notebook": (lambda document: Read(render_notebook(document)).text, clean, Level.SUMMARY, 6),
    "plain": (render_plain, clean, Level.SUMMARY, 6),
}
DOCUMENTS = {
    **{name: describe(story) for name, story in SHAPES.items()},
    **{f"only the result: {name}": describe(story_of(story.result)) for name, story in SHAPES.items()},
    "comparison": describe_comparison(COMPARISON),
}


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_fact_is_shown(name: str, renderer: str) -> None:
    render, dress, level, digits = RENDERERS[renderer]
    document = DOCUMENTS[name]
    shown = render(document)
    facts = [part for part in walk_document(document) if isinstance(part, Fact) and part.level <= level]
    assert len(facts) >= 4
    for fact in facts:
        value = fact.value.text(digits) if isinstance(fact.value, Quantity) else dress(fact.value)
        assert dress(fact.name) in shown
        assert value in shown
        assert dress(fact.note) in shown


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_paragraph_and_table_is_shown(name: str, renderer: str) -> None:
    render, dress, level, digits = RENDERERS[renderer]
    document = DOCUMENTS[name]
    shown = render(document)
    for part in walk_document(document):
        if part.level > level:
            continue
        if isinstance(part, Paragraph):
            assert dress(part.text) in shown
        if isinstance(part, Bullets):
            assert all(dress(line) in shown for line in part.lines if isinstance(line, str))
        if isinstance(part, Table):
            cut = part if level is Level.DETAIL else part.shorten(30)[0]
            for row, texts in zip(cut.rows, cut.texts(digits), strict=True):
                words = [text for cell, text in zip(row, texts, strict=True) if not isinstance(cell, Name)]
                assert all(dress(word) in shown for word in words)


def describe_orchard(story: Story) -> Section:
    """A section as one would add it: a fact that summaries show, and one that they do not."""
    trees = Quantity(len(story.title) + 1234.5, field="story.trees")
    return Section(
        "The orchard",
        (
            Fact("Apple trees", trees, "planted by hand"),
            Fact("Bees <b>", Quantity(0.4321, Form.SHARE), "of them asleep", Level.DETAIL),
        ),
    )


def test_a_new_fact_needs_no_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert", reason="pages need vl-convert-python")
    monkeypatch.setattr("folkmoot.report.describe.SECTIONS", (*SECTIONS, describe_orchard))
    story = SHAPES["full"]
    out = Console(file=StringIO(), width=WIDE)
    show_story(out, story)
    assert isinstance(out.file, StringIO)
    whole = {"page": Read(page(story)).text, "markdown": markdown(story)}
    summaries = {
        "terminal": out.file.getvalue(),
        "notebook": Read(result_html(story.result)).text,
        "print": str(story.result),
    }
    for shown in (whole | summaries).values():
        assert "The orchard" in shown
        assert "Apple trees" in shown
        assert "planted by hand" in shown
    assert "1,253" in whole["page"]  # four digits; 18 letters in the title
    assert 'data-field="story.trees" data-value="1252.5"' in page(story)
    assert all("of them asleep" in shown for shown in whole.values())
    assert not any("of them asleep" in shown for shown in summaries.values())


@pytest.mark.parametrize("name", ["html", "markdown", "terminal", "notebook", "plain"])
def test_renderers_know_nothing_of_runs(name: str) -> None:
    imports = find_imports(Path(folkmoot.report.html.__file__).with_name(f"{name}.py"))
    own = {found.removeprefix("folkmoot.report.") for found in imports if found.startswith("folkmoot.")}
    assert own <= {"document", "markup", "numbers", "text", "vega"}


def test_printing_a_result_needs_no_more_than_the_library() -> None:
    code = """
import sys
for name in ("vl_convert", "polars", "rich"):
    sys.modules[name] = None
import folkmoot as fm
result = fm.solve(fm.Coverage([[1, 0, 1], [0, 1, 1]]), 2)
assert "Coverage" not in str(result) and "of the best possible" in str(result)
assert "of the best possible" in result._repr_html_()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_comparison_fits_a_terminal() -> None:
    out = open_terminal(80)
    show_comparison(out, COMPARISON)
    assert isinstance(out.file, StringIO)
    lines = out.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("4.690" in line and "99.5" in line and "15 kB" in line for line in lines)  # numbers are kept whole
    assert "central" in " ".join(lines)
    assert "…" not in " ".join(lines)


def test_what_is_left_empty_goes() -> None:
    detail = Paragraph("in full")
    fact = Fact("Rounds", Quantity(3, Form.COUNT))
    tree = (Section("a", (Halves((detail,), (fact,)), Section("b", (detail,)))), Section("c", (detail,)))
    assert select(tree, Level.SUMMARY) == (Section("a", (fact,)),)
    assert select(tree, Level.DETAIL) == tree


def test_a_column_may_have_gaps() -> None:
    rows = tuple((Quantity(value),) for value in (12.5, None, float("inf"), 0.25))
    assert Table("", (Header("x", aligned=True),), rows).texts() == [["12.50"], ["–"], ["–"], ["0.25"]]
    assert Table("", (Header("x"),), rows).texts(2) == [["13"], ["–"], ["–"], ["0.25"]]


def test_long_tables_are_cut_in_summaries_and_whole_on_pages() -> None:
    document = DOCUMENTS["many"]
    for renderer in ("terminal", "notebook", "plain"):
        assert "… and 470 more" in RENDERERS[renderer][0](document)
    assert "item 499" in RENDERERS["html"][0](document)
    assert "| 500 |" in RENDERERS["markdown"][0](document)


def test_charts_go_by_the_purpose_of_a_round() -> None:
    assert [is_answer(one) for one in ROUNDS] == [False, *[True] * 8, False, False, True]
    again = Result.from_json(SHAPES["full"].result.to_json())
    assert again.rounds is not None
    assert [one.purpose for one in again.rounds] == [one.purpose for one in ROUNDS]
    assert all(isinstance(one.purpose, Purpose) for one in again.rounds)


def test_a_pipe_gets_every_row_on_a_line_of_its_own() -> None:
    out = Console(file=StringIO(), width=80)
    names = tuple(f"A film with a long name, number {at}, no terminal has room for it {'x' * 40}" for at in range(70))
    rows = tuple((Name(name), Quantity(1.0)) for name in names)
    print_parts(out, [Table("Films", (Header("Name"), Header("Gain", spare=True)), rows)])
    assert isinstance(out.file, StringIO)
    lines = out.file.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == list(names)
    assert out.width == 80


def test_a_narrow_terminal_leaves_out_what_can_be_spared() -> None:
    headers = (Header("Name"), Header("Gain"), Header("Total", spare=True), Header("Kind", spare=True))
    rows = ((Name("Brazil"), Quantity(1.25), Quantity(3.75), Name("comedy")),)
    shown = {}
    for width in (80, 20, 12):
        out = open_terminal(width)
        print_parts(out, [Table("Films", headers, rows)])
        assert isinstance(out.file, StringIO)
        shown[width] = out.file.getvalue().split()
    assert shown[80] == ["Name", "Gain", "Total", "Kind", "Brazil", "1.25", "3.75", "comedy"]
    assert shown[20] == ["Name", "Gain", "Total", "Brazil", "1.25", "3.75"]
    assert shown[12] == ["Name", "Gain", "Brazil", "1.25"]
