"""The same facts as GitHub Markdown. Needs nothing that is not installed with Folkmoot."""

import re
from collections.abc import Iterable, Sequence

from folkmoot.report import sentences
from folkmoot.report.facts import bars_of, cost_of, find_known, method_of, rank_entries
from folkmoot.report.numbers import NOTHING, column, count, fraction, number, percent, size, up
from folkmoot.report.sections import detail_keys
from folkmoot.report.story import Comparison, Story
from folkmoot.report.text import capitalise
from folkmoot.report.text import in_markdown as said


def markdown(story: Story) -> str:
    """The report of one run."""
    return _join(
        [
            f"# {said(story.title)}",
            said(story.question),
            _headline(story),
            "## The answer",
            _chosen(story),
            "## How good it is",
            *_quality(story),
            "## What it cost",
            *_costs(story),
            "## What was revealed",
            *_reveal(story),
            "## How to reproduce it",
            *_again(
                story.command,
                [*method_of(story.result), ("Seed", str(story.result.seed)), *story.versions],
                story.notes,
                story.credits,
            ),
        ]
    )


def markdown_of(comparison: Comparison) -> str:
    """The report of a comparison."""
    scored = rank_entries(comparison)
    means = column(one.mean if one.mean is not None else float("nan") for one in scored)
    rows = [
        [
            said(one.entry.name),
            mean,
            NOTHING if one.spread is None else number(one.spread, 2),
            NOTHING if one.ratio is None else fraction(one.ratio),
            count(one.entry.rounds) if one.entry.rounds else NOTHING,
            size(one.entry.bytes_up) if one.entry.rounds else NOTHING,
            count(one.entry.answers) if one.entry.rounds else NOTHING,
            count(one.entry.smallest),
            number(one.entry.seconds, 3),
        ]
        for one, mean in zip(scored, means, strict=True)
    ]
    heads = ["Method", "Mean value", "±", "To best central", "Rounds", "Bytes up", "Answers", "Smallest sum", "Seconds"]
    bound = f"No allowed set is worth more than {up(comparison.bound)}." if comparison.bound is not None else ""
    people = f"{count(comparison.n_clients)} {said(comparison.clients_called)}"
    things = f"{count(comparison.n_items)} {said(comparison.items_called)}"
    return _join(
        [
            f"# {said(comparison.title)}",
            said(comparison.question),
            f"{people}, {things}. Value: {said(comparison.meaning)}. ± is the standard deviation over "
            f"{sentences.seeds_of(comparison)}. {bound}".strip(),
            _table(heads, rows, "l" + "r" * 8),
            "## What each chose",
            "\n".join(f"- **{said(one.entry.name)}**: {_names(one.entry.selected)}" for one in scored),
            "## How to reproduce it",
            *_again(comparison.command, list(comparison.versions), comparison.notes, comparison.credits),
        ]
    )


def _names(selected: tuple[str, ...]) -> str:
    return ", ".join(said(name) or NOTHING for name in selected) or NOTHING


def _headline(story: Story) -> str:
    result, known, cost = story.result, find_known(story.result), cost_of(story.result)
    value = number(known.value) if known.value is not None else "not known"
    lines = [f"- **Value {value}**: {said(story.meaning)}"]
    if known.ratio is not None:
        lines.append(f"- **At least {percent(known.ratio)} of the best possible** ({sentences.confidence_of(result)})")
    else:
        lines.append(f"- Share of the best possible: not known ({sentences.NO_BOUND})")
    lines.append(f"- {count(story.n_clients)} {said(story.clients_called)}")
    if cost is not None:
        lines.append(f"- A client sends {size(cost.mean_up)} in a round, on average")
        lines.append(f"- The smallest sum is over {count(cost.smallest)}")
        if (apart := result.smallest_difference) is not None:
            lines.append(f"- The smallest difference of two comparable sums is {count(apart.clients)}")
    return "\n".join(lines)


def _chosen(story: Story) -> str:
    items = story.chosen
    if not items:
        return f"None of the {said(story.items_called)} was chosen."
    keys = detail_keys(items)
    gained = [item.gain for item in items if item.gain is not None]
    with_gains = len(gained) == len(items)
    heads = ["No.", "Name", *(said(capitalise(key)) for key in keys)]
    joint = not keys and any(item.details for item in items)
    heads += (["Details"] if joint else []) + (["Gain", "Total"] if with_gains else [])
    gains = column(gained)
    totals = column(sum(gained[: place + 1]) for place in range(len(gained)))
    rows = []
    for place, item in enumerate(items):
        details = dict(item.details)
        row = [str(place + 1), said(item.name) or NOTHING, *(said(details.get(key, "")) for key in keys)]
        row += [said("; ".join(f"{key}: {value}" for key, value in item.details))] if joint else []
        rows.append(row + ([gains[place], totals[place]] if with_gains else []))
    return _table(heads, rows, "rl" + "l" * (len(keys) + joint) + "rr" * with_gains)


def _quality(story: Story) -> list[str]:
    parts = [said(sentences.certificate(story))]
    parts += ["\n".join(f"- {said(line)}" for line in sentences.explain_measured_and_proved(story))]
    parts.append(said(sentences.promise(story.result)))
    bars = bars_of(story)
    if len(bars) > 1:
        texts = column(bar.value for bar in bars)
        rows = [[said(bar.name), text, said(bar.about)] for bar, text in zip(bars, texts, strict=True)]
        parts.append(_table(["Way to choose", "Value", "What it is"], rows, "lrl"))
    theory = story.result.guarantee
    if theory is not None:
        terms = [[said(term.symbol), number(term.value, 5), said(term.meaning)] for term in theory.terms]
        parts.append(_fold(f"The terms of {theory.theorem}", _table(["Symbol", "Value", "Meaning"], terms, "lrl")))
    return parts


def _costs(story: Story) -> list[str]:
    parts = [said(sentences.costs(story))]
    if story.result.rounds:
        rows = [
            [
                str(place + 1),
                said(one.label),
                *map(count, (one.asked, one.answered, one.down, one.up)),
                number(one.value),
            ]
            for place, one in enumerate(story.result.rounds)
        ]
        heads = ["Round", "What for", "Asked", "Answered", "Bytes down", "Bytes up", "Value"]
        parts.append(_fold("Every round", _table(heads, rows, "rlrrrrr")))
    return parts


def _reveal(story: Story) -> list[str]:
    parts = [said(sentences.threat(story))]
    for told, warns in (sentences.smallest(story), sentences.difference(story)):
        parts.append(f"> **Warning.** {said(told)}" if warns else said(told))
    view = story.view
    if view is not None and story.secure != "none":
        rows = [
            [said(item), *map(count, values)]
            for item, *values in zip(view.items, *(numbers for _, numbers in view.columns), strict=True)
        ]
        heads = ["Item", *(f"What {name}" for name, _ in view.columns)]
        parts += [
            "### One client, as the server sees it",
            said(sentences.seen(story, view)),
            _table(heads, rows, "l" + "r" * len(view.columns)),
        ]
    outside = sentences.warn_unprotected(story)
    if outside:
        parts += ["### What is not protected", "\n".join(f"- {said(line)}" for line in outside)]
    return parts


def _again(
    command: str, facts: Iterable[tuple[str, str]], notes: tuple[str, ...], credits: tuple[str, ...]
) -> list[str]:
    parts = []
    if command:
        # The fence is longer than any in the command.
        fence = "`" * max(3, 1 + max((len(found) for found in re.findall("`+", command)), default=0))
        parts.append(f"{fence}\n{command}\n{fence}")
    parts.append("\n".join(f"- {said(key)}: {said(value)}" for key, value in facts))
    for title, lines in (("Notes on the data", notes), ("Credits", credits)):
        if lines:
            parts += [f"### {title}", "\n".join(f"- {said(line)}" for line in lines)]
    return parts


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    marks = ["---:" if side == "r" else "---" for side in align]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, marks, *rows])


def _fold(title: str, inside: str) -> str:
    return f"<details><summary>{said(title)}</summary>\n\n{inside}\n\n</details>"


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
