"""What was chosen, and what each item adds."""

from itertools import accumulate

from folkmoot.report.charts import MOST_BARS, answer_chart
from folkmoot.report.document import (
    Cell,
    Figure,
    Form,
    Halves,
    Header,
    Level,
    Name,
    Paragraph,
    Part,
    Quantity,
    Section,
    Table,
    Tone,
)
from folkmoot.report.facts import finite_or_none
from folkmoot.report.maps import Map, map_of
from folkmoot.report.numbers import NARROW, count, number
from folkmoot.report.sections.benefit import explain_benefits
from folkmoot.report.story import Item, Story
from folkmoot.report.text import capitalise, clean, count_many

MOST_DETAILS = 3  # columns; more details than that share one


def describe_answer(story: Story) -> Section:
    title = "The answer"
    if not story.chosen:
        return Section(title, (Paragraph(f"None of the {story.items_called} was chosen.", level=Level.SUMMARY),))
    order = explain_order(story)
    words = (
        *((Paragraph(order, Tone.FINE),) if order else ()),
        *explain_total(story),
        *explain_benefits(story),
    )
    listed: tuple[Part, ...] = (_list_items(story), *words, *_draw_bars(story))
    drawn = map_of(story)
    if drawn is None:
        return Section(title, listed)
    place = Figure(
        "map", "Where they are.", _explain_map(story, drawn), drawn.wide, drawn.narrow, drawn.datasets or None
    )
    if drawn.broad:
        return Section(title, (place, *listed))
    return Section(title, (Halves(listed, (place,)),))


def explain_order(story: Story) -> str:
    """What the order of the items and their gains mean."""
    e = story.result.estimate
    if story.result.gains is None and story.result.privacy is not None:
        first = "The most useful first, as far as the noisy sums tell. "
        known = first if len(story.chosen) < story.result.n_items else ""
        return f"{known}What each adds is not known: to ask would cost more of the budget."
    if story.result.gains is None:
        return ""
    if e is None:
        return "The most useful first. The gain is what an item adds to those above it."
    if e.everyone:
        return "The most useful first. The items down to a line are together worth its total, or a little more."
    first = "The most useful first, as far as the sums tell."
    return f"{first} Gains are estimates: about what an item adds to those above it."


def explain_total(story: Story) -> list[Paragraph]:
    """Why the last total is not the value, where it is not."""
    e, value = story.result.estimate, story.result.value
    if e is None or e.everyone or story.result.gains is None:
        return []
    told = f"Gains come from sums over {count_many(e.clients, story.clients_called)} and add up to the estimate, "
    if value is None:
        return [Paragraph(f"{told}{number(e.value)}.", Tone.FINE)]
    level = Level.SUMMARY if number(value) != number(e.value) else Level.DETAIL
    return [Paragraph(f"{told}{number(e.value)}, not to the exact value, {number(value)}.", Tone.FINE, level)]


def _draw_bars(story: Story) -> tuple[Figure, ...]:
    """For those who want pictures: on the page the table has bars."""
    spec = answer_chart(story.chosen)
    if spec is None:
        return ()
    some = f"The first {MOST_BARS} of {len(story.chosen)}." if len(story.chosen) > MOST_BARS else ""
    return (Figure("answer", "What each adds to those above it.", some, spec, on_page=False),)


def _explain_map(story: Story, drawn: Map) -> str:
    told = ["The numbers are those in the table."] if drawn.numbered else []
    if drawn.reach is not None:
        told.append(f"Circles: {drawn.reach:g} km around each.")
    if drawn.datasets:
        dots = f"Dots: other {story.items_called}"
        if drawn.shaded:
            dots += ", the stronger the more each is worth alone" + (
                "" if story.secure == "none" else " by the sums that the server knows"
            )
        if story.size_called and drawn.sized:
            dots += f"; the larger the {story.size_called}, the larger the dot"
        told.append(f"{dots}.")
    if drawn.outside:
        told.append(f"{count(drawn.outside)} more lie outside this map.")
    if drawn.left_out:
        told.append(f"{count(drawn.left_out)} of the smallest are left out.")
    if drawn.unnamed:
        whose = "shows its name" if drawn.unnamed == 1 else "show their names"
        told.append(f"{count(drawn.unnamed)} of the chosen {whose} only to a pointer.")
    return " ".join(told)


def _list_items(story: Story) -> Table:
    items = story.chosen
    gains = [item.gain for item in items if item.gain is not None]
    with_gains, totals = len(gains) == len(items), list(accumulate(gains))
    headers, columns = _list_details(items)
    rows: list[tuple[Cell, ...]] = []
    for place, item in enumerate(items):
        cells: tuple[Cell, ...] = (
            Quantity(place + 1, Form.COUNT),
            Name(item.name),
            *(texts[place] for texts in columns),
        )
        if with_gains:
            field = f"gains.{place}" if story.result.gains is not None else f"chosen.{place}.gain"
            cells += (Quantity(gains[place], field=field), Quantity(totals[place]))
        rows.append(cells)
    ends = (Header("Gain", aligned=True, bar=True), Header("Total", aligned=True, spare=True)) if with_gains else ()
    headers = (Header("No."), Header("Name"), *headers, *ends)
    return Table("The chosen items", headers, tuple(rows), level=Level.SUMMARY)


def _list_details(items: tuple[Item, ...]) -> tuple[tuple[Header, ...], list[list[Name]]]:
    """One column for each kind of detail, or one for all where there are many kinds."""
    keys = list(dict.fromkeys(key for item in items for key, _ in item.details))
    if len(keys) > MOST_DETAILS:
        joined = ["; ".join(f"{key}: {value}" for key, value in item.details) for item in items]
        return (Header("Details", spare=True),), [[Name(text) for text in joined]]
    columns = [
        _stress_counted(key, items) or _read_numbers([dict(item.details).get(key, "") for item in items])
        for key in keys
    ]
    return tuple(Header(capitalise(clean(key)), spare=True) for key in keys), columns


def _stress_counted(key: str, items: tuple[Item, ...]) -> list[Name]:
    """Of several values, the one that a limit counts, and the others beside it; nothing where no item has several."""
    counted = [dict(item.counted).get(key) for item in items]
    texts = [dict(item.details).get(key, "") for item in items]
    return (
        [
            Name(text) if first is None else Name(first, f"also {text.removeprefix(first).lstrip(', ')}", stressed=True)
            for text, first in zip(texts, counted, strict=True)
        ]
        if any(counted)
        else []
    )


def _read_numbers(texts: list[str]) -> list[Name]:
    """Names that sort as numbers, if all of a column are."""
    numbers = [_number_in(text) for text in texts]
    numeric = all(value is not None for value, text in zip(numbers, texts, strict=True) if text)
    return [Name(text, key=value if numeric else None) for text, value in zip(texts, numbers, strict=True)]


def _number_in(text: str) -> float | None:
    """None where it is none: what begins with zeros is a code."""
    plain = text.replace(",", "").replace(NARROW, "")
    try:
        return None if len(plain) > 1 and plain.startswith("0") and plain.isdigit() else finite_or_none(float(plain))
    except ValueError:
        return None
