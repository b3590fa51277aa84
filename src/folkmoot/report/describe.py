"""From a run to its document."""

from collections.abc import Callable
from dataclasses import replace

from folkmoot.conversation.result import Result
from folkmoot.report.document import Document, Section
from folkmoot.report.numbers import LITTLE
from folkmoot.report.sections.answer import describe_answer
from folkmoot.report.sections.costs import describe_costs
from folkmoot.report.sections.exposure import describe_exposure
from folkmoot.report.sections.headline import describe_headline
from folkmoot.report.sections.noise import describe_noise
from folkmoot.report.sections.quality import describe_quality
from folkmoot.report.sections.reproduction import describe_notes, describe_reproduction
from folkmoot.report.story import Item, Story

SHARES = ("memberships", "places")  # kinds of data whose value is at most 1

SECTIONS: tuple[Callable[[Story], Section | None], ...] = (
    describe_answer,
    describe_quality,
    describe_noise,
    describe_costs,
    describe_exposure,
    describe_notes,
    describe_reproduction,
)


def describe(story: Story) -> Document:
    """Everything that a report says of a run."""
    story = cut_bound(story)
    sections = (section(story) for section in SECTIONS)
    return Document(story.title, story.question, describe_headline(story), tuple(filter(None, sections)))


def cut_bound(story: Story) -> Story:
    """A share of all is at most all of them, however numbers were rounded on their way."""
    e = story.result.estimate
    if e is None or story.kind not in SHARES or e.range_from != "public" or not 1 < e.bound_high < 1 + LITTLE:
        return story
    cut = replace(e, bound_high=1.0, bound=min(e.bound, 1.0), high=min(e.high, 1.0))
    return replace(story, result=replace(story.result, estimate=cut))


def story_of(result: Result) -> Story:
    """A result by itself: a story in which nobody said who the clients are, nor how answers were added up."""
    items = items_of(result)
    title = f"{result.method}: {len(items):,} of {result.n_items:,} items"
    return Story(title, "", "", "clients", "items", 0, result, items, secure="")


def items_of(result: Result) -> tuple[Item, ...]:
    """The chosen items as a story has them."""
    names = result.names or tuple(f"item {item}" for item in result.chosen)
    gains = result.gains if result.gains and len(result.gains) == len(names) else (None,) * len(names)
    return tuple(Item(name, gain) for name, gain in zip(names, gains, strict=True))
