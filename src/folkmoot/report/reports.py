"""What others call: a run or a comparison as a page, Markdown or pictures; a result for notebooks and `print`."""

import json
from dataclasses import asdict

from folkmoot.conversation.result import Result
from folkmoot.report.comparison import describe_comparison
from folkmoot.report.describe import describe, story_of
from folkmoot.report.markdown import render_markdown
from folkmoot.report.notebook import render_notebook
from folkmoot.report.page import render_page
from folkmoot.report.pictures import draw_pictures
from folkmoot.report.plain import render_plain
from folkmoot.report.story import Comparison, Story


def page(story: Story) -> str:
    """The report of one run."""
    return render_page(describe(story), "result", json.loads(story.result.to_json()))


def compare_page(comparison: Comparison) -> str:
    """The report of a comparison."""
    return render_page(describe_comparison(comparison), "comparison", asdict(comparison))


def markdown(story: Story) -> str:
    return render_markdown(describe(story))


def markdown_of(comparison: Comparison) -> str:
    return render_markdown(describe_comparison(comparison))


def pictures(story: Story) -> dict[str, bytes]:
    """The charts "answer", "map", "rounds" and "baselines": those that there is something to show in."""
    return draw_pictures(describe(story))


def pictures_of(comparison: Comparison) -> dict[str, bytes]:
    return draw_pictures(describe_comparison(comparison))


def result_html(result: Result) -> str:
    """For notebooks."""
    return render_notebook(describe(story_of(result)))


def result_text(result: Result) -> str:
    """For `print`."""
    return render_plain(describe(story_of(result)))
