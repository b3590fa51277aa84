"""What every report keeps, whatever the shape of the run."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from folkmoot.conversation.result import Result
from folkmoot.report import compare_page, markdown, markdown_of, page, pictures, pictures_of, result_chart, result_html
from folkmoot.report.charts import MOST_BARS
from folkmoot.report.describe import describe
from folkmoot.report.document import Figure, walk_document
from folkmoot.report.page import replace_infinities
from folkmoot.report.story import Story
from tests.report.stories import COMPARISON, SHAPES, make_real

pytest.importorskip("vl_convert", reason="pages and pictures need vl-convert-python")

PNG = b"\x89PNG\r\n\x1a\n"
VOID = {"meta", "br"}


class Read(HTMLParser):
    """A page as its tags, its text and its numbers; fails where a tag is closed that is not open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: dict[str, str] = {}
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[self.tags[-1][1].get("id") or ""] = data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def refuse(sign: str) -> Any:
    raise AssertionError(f"{sign} is no JSON")


def at(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


@pytest.fixture(params=[*SHAPES, "a real run"])
def story(request: pytest.FixtureRequest) -> Story:
    return make_real() if request.param == "a real run" else SHAPES[request.param]


def test_a_page_is_whole(story: Story) -> None:
    html = page(story)
    read = Read(html)
    assert len(html.encode()) < 1_500_000
    assert [tag for tag, _ in read.tags].count("section") == 5 + (story.result.privacy is not None) + bool(story.notes)
    assert not re.search(r"\b(inf|nan|NaN|Infinity|None)\b", read.text.replace("None of the", ""))
    assert not any(key in ("src", "href", "onerror", "onclick") for _, given in read.tags for key in given)


def test_what_is_embedded_is_the_result_in_strict_json(story: Story) -> None:
    read = Read(page(story))
    document = json.loads(read.scripts["result"], parse_constant=refuse)
    assert document == replace_infinities(json.loads(story.result.to_json()))
    assert Result.from_json(read.scripts["result"]) == story.result
    json.loads(read.scripts["charts"], parse_constant=refuse)


def test_numbers_on_the_page_are_those_of_the_result(story: Story) -> None:
    read = Read(page(story))
    document = json.loads(read.scripts["result"])
    checked = 0
    for _, given in read.tags:
        field, raw = given.get("data-field"), given.get("data-value")
        if field and raw and field.split(".")[0] in document:
            assert float(raw) == at(document, field)
            checked += 1
    assert checked or not story.result.selected or story.result.value is None


def test_markdown_tells_the_same(story: Story) -> None:
    text = markdown(story)
    noise = ["## What noise promises to each one"] if story.result.privacy is not None else []
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        *("## The answer", "## How good it is", *noise),
        *("## What it cost", "## What was revealed", *(["## Notes on the data"] if story.notes else [])),
        "## How to reproduce it",
    ]
    assert not re.search(r"\b(inf|nan|infinity|None)\b", text.replace("None of the", ""))
    for block in text.split("\n\n"):
        rows = [re.sub(r"\\\\|\\\|", "", line) for line in block.splitlines() if line.startswith("| ")]
        assert len({row.count("|") for row in rows}) <= 1


@pytest.mark.slow
def test_pictures_are_pictures(story: Story) -> None:
    drawn = pictures(story)
    assert set(drawn) <= {"answer", "map", "rounds", "baselines", "budget"}
    assert all(picture.startswith(PNG) for picture in drawn.values())
    assert ("map" in drawn) == any(item.latitude is not None for item in story.chosen)


def test_a_result_shows_itself(story: Story) -> None:
    read = Read(result_html(story.result))
    assert not {"script", "img", "style"} & {tag for tag, _ in read.tags}
    assert not re.search(r"\b(inf|nan)\b", read.text)
    assert result_chart(story.result).to_png().startswith(PNG)


def test_a_comparison_has_them_all() -> None:
    html, text = compare_page(COMPARISON), markdown_of(COMPARISON)
    read = Read(html)
    document = json.loads(read.scripts["comparison"], parse_constant=refuse)
    assert [entry["name"] for entry in document["entries"]] == [entry.name for entry in COMPARISON.entries]
    assert document["entries"][4]["values"][0] is None
    means = {given["data-field"]: given["data-value"] for _, given in read.tags if given.get("data-field")}
    assert float(means["mean.FedCG(cohort=100)"] or 0) == pytest.approx(4.69)
    assert "99.5\u202f%" in read.text  # 4.69 / 4.71, rounded down
    assert "99.5\u202f%" in text
    assert "Bytes up" in text
    assert pictures_of(COMPARISON)["spread"].startswith(PNG)


def test_all_items_have_a_bar_on_the_page_and_the_first_on_the_picture() -> None:
    story = SHAPES["many"]
    read = Read(page(story))
    assert sum(given.get("class") == "bars" for _, given in read.tags) == 500
    assert "answer" not in json.loads(read.scripts["charts"])
    (figure,) = [one for one in walk_document(describe(story)) if isinstance(one, Figure) and one.name == "answer"]
    assert len(figure.wide["data"]["values"]) == MOST_BARS
    assert figure.caption == f"The first {MOST_BARS} of 500."


def test_the_page_says_what_holds() -> None:
    said = {
        name: Read(page(SHAPES[name])).text
        for name in ("full", "clipped", "few", "central", "no value", "theory", "theory, measured")
    }
    assert "at least 93.2\u202f% of the best possible (with 95\u202f% confidence)" in said["full"]  # 4.15 / 4.45
    assert "theory promises nothing here" in said["full"]
    assert "malicious server was run in full" in said["full"]
    assert "run again for this report" in said["full"]
    assert "no bound holds" in said["clipped"]
    assert "3\u202f%" in said["clipped"]
    assert "hides little about each of them" in said["few"]
    assert "the method had the data of all users in one place" in said["central"]
    assert "the choice is the best possible" in said["central"]
    assert "in the clear" in said["no value"]
    assert "theory promises a value of at least 1.2 except with probability 0.05" in said["theory"]
    found = "With what this simulation measured in place of bounds, theory promises"
    assert found not in said["theory"]
    assert f"{found} a value of at least 1.8" in said["theory, measured"]
    assert "Measured" in said["theory, measured"]
