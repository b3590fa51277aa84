"""How to get the same report once more, and where its data came from."""

import re
from collections.abc import Iterable

from folkmoot.report.document import Bullets, Command, Fact, Level, Paragraph, Part, Section
from folkmoot.report.story import Comparison, Story

# What is told of every file: how much was read of it, and what it was taken for.
ROUTINE = re.compile(r"^Columns: | rows? (were|was) read\.$| was taken for .*: | was matched by | were read from ")


def describe_reproduction(story: Story) -> Section:
    result = story.result
    plan = [] if result.why is None else [Fact("What it decided", result.why.replace(" in 1 rounds", " in 1 round"))]
    level = Level.DETAIL if result.method in story.title else Level.SUMMARY  # not twice in a summary
    seed = Fact("Seed", str(result.seed), "" if result.privacy is None else "noise never follows from it")
    parts: list[Part] = [Fact("Method", result.method, level=level), *plan, seed]
    if result.privacy is not None:
        told = "Noise is drawn anew every time and never stored, so the same command leads to another answer. "
        told += "folkmoot verify replays this one from its sums."
        parts.append(Paragraph(told))
    again = "The same command gives the same answer" if result.privacy is None else "Noise is drawn anew every time"
    return _describe(story, parts, f"{again}; here is the command, and what the numbers depend on.")


def describe_notes(told: Story | Comparison) -> Section | None:
    """What was done about the data, and what is doubtful in it; then what was read. Nobody must open this."""
    if not told.notes:
        return None
    listed = sorted(told.notes, key=lambda note: bool(ROUTINE.search(note)))
    return Section("Notes on the data", (Bullets(tuple(listed), level=Level.SUMMARY),), short=True)


def describe_rerun(comparison: Comparison) -> Section:
    seeds = Fact("Seeds", ", ".join(str(seed) for seed in comparison.seeds))
    return _describe(comparison, [seeds], "The command, and what the numbers depend on.")


def _describe(told: Story | Comparison, facts: Iterable[Part], gist: str) -> Section:
    parts: list[Part] = [Command(told.command)] if told.command else []
    parts += facts
    if told.versions:
        versions = ", ".join(f"{name} {version}" for name, version in told.versions)
        parts.append(Fact("Versions", versions, level=Level.DETAIL))
    if told.credits:
        parts.append(Section("Credits", (Bullets(told.credits),)))
    return Section("How to reproduce it", tuple(parts), gist=gist, folded=True)
