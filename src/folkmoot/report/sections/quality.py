"""How good the answer is: what was measured, what is proved, and what other ways to choose give."""

from folkmoot.conversation.result import Estimate, Result
from folkmoot.report.charts import baselines_chart, find_interval, is_answer, is_near, rounds_chart
from folkmoot.report.document import (
    Bullets,
    Cell,
    Fact,
    Figure,
    Fold,
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
from folkmoot.report.facts import bars_of, central_share, find_known, list_absent, was_simulated
from folkmoot.report.numbers import NARROW, count, number, percent, round_down, round_up
from folkmoot.report.story import Story
from folkmoot.report.text import count_many

LOOSE = 0.8  # a ratio below this is worth a word about why
LARGEST = {  # who said how large values are
    "public": "how large values can be is public knowledge",
    "everyone": "everyone was asked how large their values are",
    "present": "everyone was asked how large their values are; silent clients are assumed to hold none larger",
    "jury": "only the jury was asked how large their values are",
}


def describe_quality(story: Story) -> Section:
    result = story.result
    certificate = state_certificate(story)
    words: tuple[Part, ...] = (
        *_list_facts(story),
        Paragraph(" ".join(certificate[:2]), Tone.LEAD),
        *warn_of_absent(story),
        *(Paragraph(sentence) for sentence in certificate[2:]),
        Bullets(tuple(explain_proof(story))),
        Paragraph(explain_theory(result)),
        *_list_terms(result),
        *_list_exact_numbers(story),
    )
    figures = _draw_figures(story)
    parts = (*((Halves(words, figures),) if figures else words), *_list_ways_to_choose(story))
    return Section("How good it is", parts, gist=summarise_quality(story), folded=True)


def summarise_quality(story: Story) -> str:
    """How far the answer can be from the best, and how far it is from a method that sees everything."""
    known, central = find_known(story.result), central_share(story)
    told = []
    if known.ratio is not None:
        least = "The best possible" if known.ratio >= 1 else f"At least {percent(known.ratio)} of the best possible"
        told.append(f"{least} ({describe_confidence(story.result)})")
    else:
        told.append("How far it is from the best possible is not known")
    if central is not None:
        told.append(f"{percent(central.share)} of {central.name} (which sees all data)")
    return "; ".join(told) + "."


def count_asked(clients: int, who: str) -> str:
    return f"{count_many(clients, who)} {'was' if clients == 1 else 'were'} asked"


def warn_of_absent(story: Story) -> list[Paragraph]:
    """An estimate speaks for those who could be heard; a party that is away is not away by chance."""
    absent = list_absent(story)
    if not absent:
        return []
    missed = ", ".join(f"{one.name} from {(one.asked or 0) - (one.answered or 0)} of {one.asked}" for one in absent)
    told = (
        f"Not every party is in every sum (missing: {missed}). The estimate speaks for the parties that answered, and "
        "the choice was made for them. Interval and bound hold for everyone: what a missing party would have said is "
        "counted as unknown, so they are wider."
    )
    return [Paragraph(told, Tone.WARNING, Level.SUMMARY)]


def describe_confidence(result: Result) -> str:
    """What the ratio rests on, in a few words."""
    e = result.estimate
    if e is None:
        return "computed from all the data"
    return "everyone was asked" if e.everyone else f"with {number(e.confidence * 100, 3)}{NARROW}% confidence"


def explain_no_bound(result: Result) -> str:
    """Why nothing is known about the distance to the best, in a few words."""
    e = result.estimate
    if e is not None and e.clipped:
        return f"no bound holds: the values of {percent(e.clipped)} of the clients were cut at the public range"
    if e is not None and e.range_from == "jury":
        return "no bound holds: only the jury was asked how large values are (say what the most is, or ask everyone)"
    if e is not None and e.range_from == "present":
        return "no bound holds: a party did not say how large its values are (say what the most is)"
    return f"no bound holds: {result.broken}" if result.broken else "no bound holds"


def _list_facts(story: Story) -> list[Fact]:
    known, e = find_known(story.result), story.result.estimate
    facts = []
    if e is not None and not e.everyone:
        note = f"from sums over {count_many(e.clients, story.clients_called)}: {describe_interval(story)}"
        facts.append(Fact("Estimate", Quantity(e.value, field="estimate.value"), note))
    if known.bound is not None:
        reached = known.ratio is not None and known.ratio >= 1
        field = "upper_bound" if e is None else "estimate.bound_high"
        bound = Quantity(known.bound, Form.NUMBER if reached else Form.HIGH, field)
        sure = "" if e is None or e.everyone else f" ({describe_confidence(story.result)})"
        facts.append(Fact("Upper bound", bound, f"no allowed set is worth more{sure}"))
    if (theory := story.result.guarantee) is not None:
        promised = Quantity(
            None if theory.vacuous else theory.promised, Form.LOW, "guarantee.promised", missing="nothing"
        )
        point = "" if story.result.fractional is None else "of the point that is rounded to a set, "
        note = f"{point}before seeing any data" + (", as is usual at this size" if theory.vacuous else "")
        facts.append(Fact("Theory promises", promised, note))
    return facts


def describe_interval(story: Story) -> str:
    """The ends of the estimate, and how sure they are."""
    known = find_known(story.result)
    high = "or more" if known.high is None else f"to {round_up(known.high)}"
    return f"{round_down(known.low)} {high} {describe_confidence(story.result)}"


def state_certificate(story: Story) -> list[str]:
    """What the answer is worth, what no allowed set exceeds, and what else there is to say about that."""
    result, known, e = story.result, find_known(story.result), story.result.estimate
    who = story.clients_called
    told = []
    if e is None:
        if known.value is not None:
            told.append(f"The chosen set is worth {number(known.value)}, computed from the data of all {who}.")
    elif e.everyone:
        told.append(
            f"The chosen set is worth {number(e.value)}. Everyone was asked ({count_many(e.clients, who)}), so this "
            "does not depend on chance."
        )
    else:
        told.append(
            f"Judging by sums alone, the chosen set is worth {number(e.value)} ({describe_interval(story)}). "
            f"{count_asked(e.clients, who)} after the choice was made"
            + ("; the interval allows for the noise in their sum." if result.privacy is not None else ".")
        )
    if e is not None and e.clipped:
        told.append(
            f"The values of {percent(e.clipped)} of the {who} asked were cut at the public range, so no bound holds: "
            "the set may be worth more than its estimate, and how far it is from the best is not known."
        )
    elif known.bound is None or known.ratio is None:
        why = ""
        if e is not None and e.range_from == "jury":
            why = f" Only {count_asked(e.clients, who)} how large values are; say what the most is, or ask "
            why += "everyone, to get a bound."
        told.append(f"No bound holds for this answer, so how far it is from the best is not known.{why}")
    elif known.ratio >= 1:
        told.append(
            f"No allowed set is worth more than {number(known.bound)}, so the choice is the best possible "
            f"({describe_confidence(result)})."
        )
    else:
        told.append(
            f"No allowed set is worth more than {round_up(known.bound)}, so the choice is at least "
            f"{percent(known.ratio)} of the best possible ({describe_confidence(result)})."
        )
        told.append("It may be better than that: perhaps no allowed set reaches the bound.")
        if result.privacy is not None:
            pass  # more would cost more of the budget
        elif e is not None and not e.everyone and known.ratio < LOOSE:
            told.append(
                f"The bound is loose because it rests on {count_many(e.clients, who)}"
                + (f" of {count(story.n_clients)}" if story.n_clients else "")
                + ". A larger jury makes it tighter."
            )
    if was_simulated(result):
        told.append(
            f"Because this was a simulation, the exact value over all {who} is known too: {number(result.value)}. "
            "With real clients nobody could know it."
        )
    return told


def explain_proof(story: Story) -> list[str]:
    """What was measured and what is proved."""
    result, known, e = story.result, find_known(story.result), story.result.estimate
    others = " and of every other way to choose" if len(bars_of(story)) > 1 else ""
    by = "by sums" if e is not None and not was_simulated(result) else f"on the {story.clients_called} of this run"
    measured = f"Measured: the value of the chosen set{others}, {by}."
    if known.ratio is None:
        return [measured, "Proved: nothing about the distance to the best."]
    if result.privacy is not None and e is not None:
        return [
            measured,
            f"Proved: the bound. It is what all {story.items_called} together are worth, and no set is worth "
            f"more. Because it comes from a sum with noise, it holds {describe_confidence(result)}. "
            f"{explain_together(e)}",
        ]
    proof = (
        "Proved: the bound. It follows from diminishing returns alone (a set cannot add more than its items add one by "
        "one). It holds for this population and this constraint, and does not depend on the method"
    )
    if e is not None and not e.everyone:
        proof += f". Because it comes from a sample, it holds {describe_confidence(result)}, whatever the values are"
        proof += f" ({LARGEST[e.range_from]}). {explain_together(e)}"
        return [measured, proof]
    return [measured, proof + "."]


def explain_together(e: Estimate) -> str:
    """How sure both statements are together: three limits, each of which fails with half of 1 − confidence."""
    both = 1 - 1.5 * (1 - e.confidence)
    return (
        f"The interval of the estimate and the share of the best possible are each that sure by themselves; both "
        f"together hold with {number(both * 100, 3)}{NARROW}% confidence."
    )


def explain_theory(result: Result) -> str:
    """What theorems say before any data is seen."""
    theory = result.guarantee
    if theory is None and result.privacy is not None:
        return "No theorem says beforehand how much noise costs; the forecast below is what other runs have shown."
    if theory is None:
        return "No theorem was evaluated for this run. The bound is computed from the data and needs none."
    if theory.vacuous:
        return (
            f"Before seeing any data, theory promises nothing here ({theory.theorem}): its error terms are larger than "
            "the value itself, as is usual at this size. The bound does not depend on it."
        )
    delta = next((term.value for term in theory.terms if term.symbol == "delta"), None)
    of_what = "" if result.fractional is None else "for the point that is rounded to a set "
    chance = "" if delta is None else f" except with probability {round_up(delta)}"
    return (
        f"Before seeing any data, theory promises a value of at least {round_down(theory.promised)}{chance} {of_what}"
        f"({theory.theorem}: {round_down(theory.factor)} of the best, minus {round_up(theory.additive)})."
    )


def _list_terms(result: Result) -> list[Part]:
    theory = result.guarantee
    if theory is None:
        return []
    headers = [Header("Symbol"), Header("Value"), Header("Meaning")]
    rows: list[list[Cell]] = [[term.symbol, Quantity(term.value, digits=5), term.meaning] for term in theory.terms]
    told = list[Part]()
    if (measured := theory.promised_as_measured) is not None:
        promise = f"a value of at least {round_down(measured)}" if measured > 0 else "nothing either"
        told = [Paragraph(f"With what this simulation measured in place of bounds, theory promises {promise}.")]
        headers.append(Header("Measured"))
        for row, term in zip(rows, theory.terms, strict=True):
            row.append("" if term.measured is None else Quantity(term.measured, digits=5))
    terms = Table("Terms of the theorem", tuple(headers), tuple(map(tuple, rows)), sortable=False)
    return [*told, Fold(f"The terms of {theory.theorem}", (terms,))]


def _list_exact_numbers(story: Story) -> list[Fold]:
    """The numbers behind the sentences, in full."""
    result, e, known = story.result, story.result.estimate, find_known(story.result)
    listed = [("value", "value over every client", result.value)] if result.value is not None else []
    if e is not None:
        listed += [
            ("estimate.value", "estimate from sums", e.value),
            ("estimate.low", "interval, low end", e.low),
            ("estimate.high", "interval, high end", e.high),
            ("estimate.bound", "bound, as measured", e.bound),
            ("estimate.bound_high", "bound, with its error", e.bound_high),
            ("estimate.confidence", "confidence", e.confidence),
        ]
        if e.popularity is not None and e.random is not None and not story.baselines:  # else these have their own table
            listed += [
                ("estimate.popularity", "the most popular items", e.popularity),
                ("estimate.random", "a random choice", e.random),
            ]
    elif known.bound is not None:
        listed.append(("upper_bound", "bound", known.bound))
    if not listed:
        return []
    rows = tuple((name, Quantity(value, field=field, digits=8)) for field, name, value in listed)
    table = Table("Numbers in full", (Header("Quantity"), Header("Value")), rows, sortable=False)
    return [Fold("These numbers in full", (table,))]


def _list_ways_to_choose(story: Story) -> list[Part]:
    bars = bars_of(story)
    if len(bars) < 2:
        return []
    chosen = bars[0].value
    rows = tuple(
        (
            Name(bar.name, note=bar.about),
            Quantity(bar.value, field=bar.field or f"baselines.{bar.name}"),
            Quantity(bar.value / chosen if chosen > 0 else None, Form.SHARE),
        )
        for bar in bars
    )
    headers = (Header("Way to choose"), Header("Value", aligned=True), Header("Of the chosen"))
    table = Table("Ways to choose", headers, rows, level=Level.SUMMARY)
    if story.result.privacy is None or not story.baselines:
        return [table]
    told = (
        "The other ways to choose were computed from all the data, outside the conversation and its noise: a simulator "
    )
    return [table, Paragraph(told + "can do that, a server cannot.", Tone.FINE)]


def _explain_bound(story: Story, sure: str) -> str:
    known = find_known(story.result)
    if known.bound is None:
        return ""
    if is_near(known.bound, [bar.value for bar in bars_of(story)]):
        return f"The dashed line is the bound{sure}."
    return f"The bound{sure} is too far away to be drawn."


def _draw_figures(story: Story) -> tuple[Figure, ...]:
    result, known = story.result, find_known(story.result)
    figures = []
    if (spec := baselines_chart(story)) is not None:
        ends = "The whiskers are the interval of the estimate. " if find_interval(known) else ""
        sure = "" if result.estimate is None or result.estimate.everyone else f" ({describe_confidence(result)})"
        caption = ends + _explain_bound(story, sure)
        title = "Compared with other ways to choose." if len(bars_of(story)) > 1 else "The value and the bound."
        figures.append(Figure("baselines", title, caption.strip(), spec))
    if (spec := rounds_chart(story)) is not None:
        caption = ""
        if any(not is_answer(one) and one.value is not None for one in result.rounds or ()):
            caption = "Rounds that looked for the bound or scored many candidates are left out."
        if result.estimate is not None and not result.estimate.everyone:
            caption += " Every round asks other clients, so values go up and down."
        figures.append(Figure("rounds", "The value, round by round.", caption.strip(), spec))
    return tuple(figures)
