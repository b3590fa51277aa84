"""How to get the same report once more, and where its data came from."""

from collections.abc import Iterable

from folkmoot.report.document import Bullets, Command, Fact, Level, Part, Section
from folkmoot.report.story import Comparison, Story


def describe_reproduction(story: Story) -> Section:
    result = story.result
    plan = [] if result.why is None else [Fact("What it decided", result.why)]
    level = Level.DETAIL if result.method in story.title else Level.SUMMARY  # not twice in a summary
    return _describe(story, (Fact("Method", result.method, level=level), *plan, Fact("Seed", str(result.seed))))


def describe_rerun(comparison: Comparison) -> Section:
    return _describe(comparison, [Fact("Seeds", ", ".join(str(seed) for seed in comparison.seeds))])


def _describe(told: Story | Comparison, facts: Iterable[Fact]) -> Section:
    parts: list[Part] = [Command(told.command)] if told.command else []
    parts += facts
    parts += [Fact(name, version, level=Level.DETAIL) for name, version in told.versions]
    if told.notes:
        parts.append(Section("Notes on the data", (Bullets(told.notes, level=Level.SUMMARY),)))
    if told.credits:
        parts.append(Section("Credits", (Bullets(told.credits),)))
    return Section("How to reproduce it", tuple(parts))
