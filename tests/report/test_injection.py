"""Names come from outside: in HTML, in charts and in Markdown they are words and nothing else."""

import json
import re

import pytest

from folkmoot.report import compare_page, markdown, markdown_of, page, result_html
from folkmoot.report.describe import describe
from folkmoot.report.html import collect_charts
from folkmoot.report.markup import element
from folkmoot.report.palette import lighten
from folkmoot.report.text import clean, escape_markdown, isolate, shorten
from tests.report.stories import COMPARISON, HOSTILE, SHAPES
from tests.report.test_contract import Read

STORY = SHAPES["hostile"]
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "h1", "h2"),
    *("h3", "p", "dl", "dt", "dd", "div", "data", "figure", "figcaption", "strong", "small"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "button", "bdi", "ul", "ol"),
    *("li", "details", "summary", "pre", "code", "span", "script", "noscript", "br"),
}


@pytest.mark.parametrize("html", ["page", "compared", "fragment"])
def test_no_tag_and_no_attribute_comes_from_a_name(html: str) -> None:
    pytest.importorskip("vl_convert")
    make = {"page": lambda: page(STORY), "compared": lambda: compare_page(COMPARISON)}
    read = Read(make[html]() if html in make else result_html(STORY.result))
    assert {tag for tag, _ in read.tags} <= ALLOWED
    assert sum(tag == "script" for tag, _ in read.tags) == (4 if html in make else 0)
    assert not any(key.startswith("on") or key in ("src", "href") for _, given in read.tags for key in given)
    assert "<img src=x onerror=alert(1)>" in read.text  # as words


def test_nothing_ends_the_element_that_holds_the_data() -> None:
    pytest.importorskip("vl_convert")
    html = page(STORY)
    held = re.findall(r'<script type="application/json" id="\w+">(.*?)</script>', html, re.DOTALL)
    assert len(held) == 2
    assert not any(sign in text for text in held for sign in "<>&\u2028")
    assert tuple(json.loads(held[0])["names"]) == HOSTILE


def test_the_policy_forbids_the_network_and_code_made_from_text() -> None:
    pytest.importorskip("vl_convert")
    policy = next(
        given["content"] or ""
        for tag, given in Read(page(STORY)).tags
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    scripts = re.search(r"script-src ([^;]*)", policy)
    assert scripts
    assert "unsafe" not in scripts[1]
    assert len(re.findall(r"'sha256-[\w+/=]{44}'", scripts[1])) == 2


def test_names_are_no_part_of_an_expression() -> None:
    charts = collect_charts(describe(STORY))
    assert set(charts) == {"map", "baselines", "rounds"}
    for spec in charts.values():
        for found in re.findall(r'"(?:expr|test|filter|calculate|signal)": "([^"]*)"', json.dumps(spec)):
            assert "alert" not in found
            assert "onerror" not in found


def test_a_name_that_looks_like_a_colour_stays_a_name() -> None:
    assert lighten({"color": "var(--ink)", "values": ["var(--ink)"]}) == {"color": "#1b2430", "values": ["var(--ink)"]}


@pytest.mark.parametrize("text", [markdown(STORY), markdown_of(COMPARISON)], ids=["run", "comparison"])
def test_markdown_holds_no_markup_of_others(text: str) -> None:
    body = re.sub(r"(?ms)^(`{3,})\n.*?\n\1$", "", text)  # in a fence everything is code
    assert not re.search(r"<(?!/?(details|summary)>)", body)
    assert not re.search(r"(?<!\\)\]\(", body)
    assert not re.search(r"https?:", body)
    assert not re.search(r"@\w", body)
    assert "\u202e" not in body


def test_a_command_cannot_end_its_fence() -> None:
    assert "\n````\n" in markdown(STORY)


def test_names_are_cleaned_shortened_and_kept_apart() -> None:
    assert clean("line\nbreak\u2028and\ttab \u202eturned") == "line break and tab turned"
    assert shorten("a" * 100, 10) == "aaaaaaaaa…"
    assert isolate("שלום") == "\u2068שלום\u2069"
    assert isolate("plain") == "plain"
    assert escape_markdown("1. no list") == "1\\. no list"
    assert escape_markdown("- no list") == "\\- no list"
    assert escape_markdown("a|b<c>") == "a\\|b&lt;c&gt;"


def test_attributes_are_escaped() -> None:
    assert element("td", "<b>", title='"><script>') == '<td title="&quot;&gt;&lt;script&gt;">&lt;b&gt;</td>'
