"""Reports: a run or a comparison as one HTML page, as Markdown, as pictures.

Only pages and pictures need vl-convert, and it is not imported before one of them is made.
"""

from folkmoot.report.chart import Chart, result_chart
from folkmoot.report.reports import (
    compare_page,
    markdown,
    markdown_of,
    page,
    pictures,
    pictures_of,
    result_html,
    result_text,
)
from folkmoot.report.story import Baseline, Comparison, Entry, Item, LimitUse, PartyFacts, Story, View
from folkmoot.report.verdict import state_verdict

__all__ = [
    "Baseline",
    "Chart",
    "Comparison",
    "Entry",
    "Item",
    "LimitUse",
    "PartyFacts",
    "Story",
    "View",
    "compare_page",
    "markdown",
    "markdown_of",
    "page",
    "pictures",
    "pictures_of",
    "result_chart",
    "result_html",
    "result_text",
    "state_verdict",
]
