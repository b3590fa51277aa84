"""Pages as a browser shows them: complete, without a network, on a phone, in the dark and on paper."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from folkmoot.report import compare_page, page, result_chart
from tests.report.stories import COMPARISON, SHAPES
from tests.report.test_contract import at

pytest.importorskip("vl_convert", reason="pages need vl-convert-python")
playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright: pip install playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="browser tests need chromium on the path"),
    pytest.mark.slow,
]

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
QUIET += ["--disable-background-networking", "--disable-component-update"]
TALL = "full", "country", "hostile", "many", "clipped", "central", "long names", "world", "noise"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield running
        running.close()


@contextmanager
def open_page(browser: Any, path: Path, html: str, width: int = 1400, dark: bool = False) -> Iterator[Any]:
    """The page, drawn. At the end: nothing was fetched but the file, and nothing was complained about."""
    path.write_text(html, encoding="utf-8")
    scheme = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    shown = context.new_page()
    fetched: list[str] = []
    complaints: list[str] = []
    shown.on("request", lambda request: fetched.append(request.url))
    shown.on("console", lambda message: complaints.append(message.text))
    shown.on("pageerror", lambda error: complaints.append(str(error)))

    def refuse(dialog: Any) -> None:
        complaints.append(dialog.message)
        dialog.dismiss()

    shown.on("dialog", refuse)
    try:
        shown.goto(path.as_uri())
        shown.wait_for_selector("html[data-charts=drawn]", timeout=30_000)
        yield shown
        assert fetched == [path.as_uri()]
        assert complaints == []
    finally:
        context.close()


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", TALL)
def test_a_page_is_drawn_and_fits(browser: Any, tmp_path: Path, name: str, width: int) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES[name]), width) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        shown.evaluate(UNFOLD)
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        charts = shown.evaluate("Object.keys(JSON.parse(document.getElementById('charts').textContent))")
        for chart in charts:
            marks = "svg .role-mark path, svg .role-mark text, svg .role-mark line"
            assert shown.locator(f"#chart-{chart}").locator(marks).count() > 0
            box = shown.locator(f"#chart-{chart} svg").bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            # No word is cut at the edge of its picture.
            assert shown.evaluate(WORDS_OUTSIDE, f"#chart-{chart} svg") == []


WORDS_OUTSIDE = """(path) => {
  const frame = document.querySelector(path).getBoundingClientRect();
  return [...document.querySelectorAll(path + " text")].filter((word) => {
    const box = word.getBoundingClientRect();
    return box.left < frame.left - 1.5 || box.right > frame.right + 1.5 || box.top < frame.top - 1.5;
  }).map((word) => word.textContent);
}"""


@pytest.mark.parametrize("name", ["full", "no value", "central", "tiny", "huge"])
def test_numbers_on_the_page_are_those_of_the_result(browser: Any, tmp_path: Path, name: str) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES[name])) as shown:
        document = json.loads(shown.evaluate("document.getElementById('result').textContent"))
        fields = shown.evaluate(
            "[...document.querySelectorAll('[data-field]')].map(e => [e.dataset.field, e.dataset.value])"
        )
        compared_with = [(field, raw) for field, raw in fields if field.split(".")[0] in document and raw]
        assert len(compared_with) >= 3
        for field, raw in compared_with:
            assert float(raw) == at(document, field)
    assert document == json.loads(SHAPES[name].result.to_json())


def test_a_press_on_a_head_sorts_and_the_keyboard_does_too(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["full"])) as shown:
        table = shown.locator("table.sortable").first
        names = "rows => rows.map(row => row.cells[1].textContent)"
        rows = table.locator("tbody tr")
        assert rows.evaluate_all(names) == ["Alien", "Brazil", "Clue"]
        table.get_by_role("button", name="Gain").click()
        assert rows.evaluate_all(names) == ["Clue", "Brazil", "Alien"]
        head = table.locator("th", has_text="Gain")
        assert head.get_attribute("aria-sort") == "ascending"
        table.get_by_role("button", name="Gain").focus()
        shown.keyboard.press("Enter")
        assert rows.evaluate_all(names) == ["Alien", "Brazil", "Clue"]
        assert head.get_attribute("aria-sort") == "descending"
        table.get_by_role("button", name="Name").press("Space")
        assert rows.evaluate_all(names) == ["Alien", "Brazil", "Clue"]
        assert head.get_attribute("aria-sort") is None


BAR = "#chart-baselines svg .mark-rect path"
UNFOLD = "for (const part of document.querySelectorAll('details')) part.open = true"


def colours(shown: Any) -> tuple[str, str, str]:
    fill = f"getComputedStyle(document.querySelector({BAR!r})).fill"
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.body).color"
    return shown.evaluate(fill), shown.evaluate(paper), shown.evaluate(ink)


def test_dark_is_dark_at_once_and_paper_is_light(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["country"])) as shown:
        light = colours(shown)
        shown.emulate_media(color_scheme="dark")
        dark = colours(shown)
        assert all(one != other for one, other in zip(light, dark, strict=True))
        shown.emulate_media(color_scheme="dark", media="print")
        assert colours(shown) == light
        assert shown.evaluate("document.documentElement.scrollWidth") <= 1400


def test_it_prints_unfolded_and_is_folded_again(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["full"]), dark=True) as shown:
        closed = "document.querySelectorAll('details:not([open])').length"
        before = shown.evaluate(closed)
        shown.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert before > 0 == shown.evaluate(closed)
        shown.evaluate("dispatchEvent(new Event('afterprint'))")
        assert shown.evaluate(closed) == before
        assert shown.pdf(format="A4").startswith(b"%PDF")


def test_hovering_tells_names_as_words(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["hostile"])) as shown:
        shown.evaluate(UNFOLD)
        shown.locator(BAR).nth(1).hover()
        tip = shown.locator("#vg-tooltip-element.visible")
        tip.wait_for()
        assert "<img src=x onerror=alert(1)>" in tip.inner_text()
        assert tip.locator("img").count() == 0


def test_a_marker_of_the_map_tells_its_name(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["city"])) as shown:
        shown.locator("#chart-map svg text", has_text="Town 0").last.hover()
        tip = shown.locator("#vg-tooltip-element.visible")
        tip.wait_for()
        assert "region: 09; population: 81,822" in tip.inner_text()


def test_a_phone_turned_redraws_the_map(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["country"]), 400) as shown:
        narrow = shown.locator("#chart-map svg").get_attribute("viewBox")
        shown.set_viewport_size({"width": 1000, "height": 600})
        shown.wait_for_function(
            "old => document.querySelector('#chart-map svg')?.getAttribute('viewBox') !== old", arg=narrow
        )
        assert shown.locator("#chart-map svg").count() == 1


def test_a_comparison_is_drawn_and_sorts(browser: Any, tmp_path: Path) -> None:
    for width in (400, 1400):
        with open_page(browser, tmp_path / "page.html", compare_page(COMPARISON), width) as shown:
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            assert shown.locator("#chart-spread svg .mark-symbol path").count() >= 14
            assert shown.evaluate(WORDS_OUTSIDE, "#chart-spread svg") == []
            shown.get_by_role("button", name="Seconds").click()
            first = shown.locator("table tbody tr").first
            assert first.inner_text().startswith("Random")


def test_a_chart_is_a_page_of_its_own(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "chart.html", result_chart(SHAPES["full"].result).to_html()) as shown:
        assert shown.locator("#chart-only svg .mark-rect path").count() == 3


def test_a_folded_section_shows_its_gist_and_its_warnings(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["few"])) as shown:
        section = shown.locator("section#what-was-revealed")
        assert section.locator("details").first.get_attribute("open") is None
        assert "sums over 3 users or more" in section.locator(".gist").inner_text()
        assert section.locator(".warning", has_text="hides little about each of them").is_visible()
        assert not section.get_by_text("What is not protected").is_visible()
        section.locator("summary").first.click()
        assert section.get_by_text("What is not protected").is_visible()


@pytest.mark.parametrize("width", [400, 1400])
def test_an_address_opens_the_section_that_it_names(browser: Any, tmp_path: Path, width: int) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["full"]), width) as shown:
        closed = shown.locator("section.folded > details:not([open])").count()
        shown.evaluate("location.hash = '#how-good-it-is'")
        shown.wait_for_selector("section#how-good-it-is > details[open]")
        assert shown.locator("section.folded > details:not([open])").count() == closed - 1
        for chart in ("baselines", "rounds"):  # as wide as their column, though they were drawn out of sight
            there, drawn = (shown.locator(path).bounding_box() for path in (f"#chart-{chart}", f"#chart-{chart} svg"))
            assert abs(there["width"] - drawn["width"]) < 6


def test_a_command_wraps_and_is_copied_whole(browser: Any, tmp_path: Path) -> None:
    command = "folkmoot run /a/long/path/to/a/file/with/ratings.csv --items movies.csv " + "--set name=value " * 30
    with open_page(browser, tmp_path / "page.html", page(replace(SHAPES["full"], command=command)), 400) as shown:
        shown.evaluate(UNFOLD)
        assert shown.evaluate("document.documentElement.scrollWidth") <= 400
        box = shown.locator(".command pre")
        assert box.evaluate("pre => pre.scrollWidth <= pre.clientWidth")
        button = shown.get_by_role("button", name="Copy")
        shown.evaluate("document.addEventListener('copy', () => (window.copied = getSelection().toString()))")
        # Without the clipboard that some browsers keep from files, what is selected is copied.
        shown.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        button.click()
        shown.get_by_role("button", name="Copied").wait_for()
        assert shown.evaluate("window.copied").split() == command.split()


def test_a_phone_has_the_details_under_the_name(browser: Any, tmp_path: Path) -> None:
    with open_page(browser, tmp_path / "page.html", page(SHAPES["country"]), 400) as shown:
        first = shown.locator("table tbody tr").first
        assert first.inner_text().startswith("1\tTown 0")
        assert "09" in first.locator("small.phone").inner_text()
        assert not first.locator("td.spare").first.is_visible()
        frame = shown.locator(".frame").first
        assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
