"""The six parts of a run's page, the answer first."""

from folkmoot.conversation.result import Result
from folkmoot.report import sentences
from folkmoot.report.charts import MOST_BARS, interval_of, is_answer
from folkmoot.report.facts import bars_of, beside_central, cost_of, find_known, finite
from folkmoot.report.maps import Map
from folkmoot.report.markup import Cell, Markup, Part, element, fold, join, show_name, show_number, strip, table
from folkmoot.report.numbers import NARROW, NOTHING, column, count, number, percent, size, up
from folkmoot.report.story import Item, Story, View
from folkmoot.report.text import capitalise, clean

MOST_COLUMNS = 3  # of details; more are put into one


def section(title: str, *inside: Part, class_: str | None = None) -> Markup:
    return element("section", element("h2", title), *inside, class_=class_)


def paragraphs(*texts: str) -> Markup:
    return join(element("p", text) for text in texts if text)


def figure(chart: str, title: str, caption: str = "", class_: str = "") -> Markup:
    """A place that the page's script draws the chart of this name into."""
    words = element("figcaption", element("strong", title), f" {caption}" if caption else None)
    return element("figure", words, element("div", id=f"chart-{chart}", class_="chart"), class_=class_ or None)


def head(story: Story) -> Markup:
    return element(
        "header",
        element("p", "Folkmoot", class_="kicker"),
        element("h1", clean(story.title)),
        element("p", clean(story.question), class_="question"),
        strip(_headline(story)),
    )


def _headline(story: Story) -> list[tuple[Part, Part, str]]:
    result, known, cost = story.result, find_known(story.result), cost_of(story.result)
    value = show_number(number(known.value), known.field, known.value) if known.value is not None else "not known"
    cells: list[tuple[Part, Part, str]] = [("Value", value, clean(story.meaning))]
    if known.ratio is not None:
        sure = f"of the best possible ({sentences.confidence_of(result)})"
        cells.append(("At least", show_number(percent(known.ratio), "ratio", result.ratio), sure))
    else:
        cells.append(("Share of the best", "not known", sentences.NO_BOUND))
    share = beside_central(story)
    if share is not None:
        of = "of what central greedy reaches, which sees everything"
        cells.append(("Beside central", show_number(percent(share), "story.beside_central", share), of))
    asked = "whose data were read" if cost is None else f"who gave {count(cost.answers)} answers"
    called = clean(story.clients_called)
    cells.append((called.capitalize(), show_number(count(story.n_clients), "story.n_clients", story.n_clients), asked))
    if cost is not None:
        sent = show_number(size(cost.mean_up), "cost.mean_up", cost.mean_up)
        cells.append(("Sent by a client", sent, "in a round it takes part in, on average"))
        hides = f"{called} in the sum that hides least"
        if (apart := result.smallest_difference) is not None:
            hides += f"; the smallest difference of two sums is {count(apart.clients)}"
        cells.append(("Smallest sum", show_number(count(cost.smallest), "cost.smallest", cost.smallest), hides))
    else:
        of = f"of {count(result.n_items)} {clean(story.items_called)}"
        cells.append(("Chosen", show_number(count(len(result.selected)), "story.chosen", len(result.selected)), of))
    return cells


def answer(story: Story, charts: set[str], drawn: Map | None) -> Markup:
    if not story.chosen:
        return section("The answer", paragraphs(f"None of the {clean(story.items_called)} was chosen."))
    listed = element(
        "div", chosen_table(story), element("p", sentences.explain_order(story), class_="fine"), class_="block"
    )
    bars = None
    if "answer" in charts:
        some = f"The first {MOST_BARS} of {len(story.chosen)}." if len(story.chosen) > MOST_BARS else ""
        bars = figure("answer", "What each adds to those above it.", some)
    if drawn is None:
        return section("The answer", element("div", listed, bars, class_="columns" if bars else None))
    place = figure("map", "Where they are.", _legend(story, drawn), "map")
    if drawn.broad:
        return section("The answer", place, element("div", listed, bars, class_="columns" if bars else None))
    return section("The answer", element("div", element("div", listed, bars), place, class_="columns"))


def _legend(story: Story, drawn: Map) -> str:
    called = clean(story.items_called)
    told = f"Numbers are those of the table; grey dots are the other {called}"
    if story.size_called and any(item.size for item in story.others):
        told += f", larger for a larger {clean(story.size_called)}"
    if drawn.left_out:
        told += f" ({count(drawn.left_out)} smaller ones are left out)"
    if drawn.unnamed:
        told += f". {count(drawn.unnamed)} chosen are named only when pointed at, for lack of room"
    return told + "."


def chosen_table(story: Story) -> Markup:
    items = story.chosen
    keys = detail_keys(items)
    gains = [item.gain for item in items]
    gained = [gain for gain in gains if gain is not None]
    with_gains = len(gained) == len(gains)
    texts = column(gained) if with_gains else []
    totals = [sum(gained[: place + 1]) for place in range(len(gained))] if with_gains else []
    total_texts = column(totals)
    rows = [
        [Cell(str(place + 1), place + 1), Cell(show_name(item.name), clean(item.name).casefold())]
        for place, item in enumerate(items)
    ]
    for cells in _details(items, keys):
        rows = [[*row, cell] for row, cell in zip(rows, cells, strict=True)]
    if with_gains:
        for place, row in enumerate(rows):
            field = f"gains.{place}" if story.result.gains is not None else f"chosen.{place}.gain"
            row.append(Cell(show_number(texts[place], field, gained[place]), gained[place]))
            row.append(Cell(total_texts[place], totals[place]))
    heads = [
        "No.",
        "Name",
        *(map(capitalise, keys) if keys else ["Details"] if any(one.details for one in items) else []),
    ]
    return table("The chosen items", heads + (["Gain", "Total"] if with_gains else []), rows)


def detail_keys(items: tuple[Item, ...]) -> list[str]:
    """The details as columns, if they are few; else none, and they share one."""
    keys = list(dict.fromkeys(key for item in items for key, _ in item.details))
    return keys if len(keys) <= MOST_COLUMNS else []


def _details(items: tuple[Item, ...], keys: list[str]) -> list[list[Cell]]:
    """A column a key, or one for all; numbers to the right if all of a column are."""
    columns = [[dict(item.details).get(key, "") for item in items] for key in keys]
    if not keys and any(item.details for item in items):
        columns = [["; ".join(f"{key}: {value}" for key, value in item.details) for item in items]]
    listed = []
    for texts in columns:
        numbers = [_number_in(text) for text in texts]
        numeric = all(value is not None for value, text in zip(numbers, texts, strict=True) if text)
        listed.append(
            [
                Cell(clean(text), value) if numeric and text else Cell(show_name(text), clean(text).casefold(), numeric)
                for text, value in zip(texts, numbers, strict=True)
            ]
        )
    return listed


def _number_in(text: str) -> float | None:
    """None where it is none: what begins with zeros is a code."""
    plain = text.replace(",", "").replace(NARROW, "")
    try:
        return None if len(plain) > 1 and plain.startswith("0") and plain.isdigit() else finite(float(plain))
    except ValueError:
        return None


def quality(story: Story, charts: set[str]) -> Markup:
    result, known = story.result, find_known(story.result)
    told = sentences.state_certificate(story)
    words = element(
        "div",
        element("p", " ".join(told[:2]), class_="lead"),
        paragraphs(*told[2:]),
        element("ul", *(element("li", line) for line in sentences.explain_measured_and_proved(story))),
        paragraphs(sentences.promise(result)),
        _terms(result),
        _exact(result),
        class_="prose",
    )
    figures = []
    if "baselines" in charts:
        ends = "The whiskers are the interval of the estimate. " if interval_of(known) else ""
        said = f"{ends}The dashed line is the bound." if known.bound is not None else ends
        title = "Beside other ways to choose." if len(bars_of(story)) > 1 else "The value and the bound."
        figures.append(figure("baselines", title, said.strip()))
    if "rounds" in charts:
        hidden = any(not is_answer(one) and one.value is not None for one in result.rounds or ())
        note = "Rounds that looked for the bound or scored many candidates are left out."
        if result.estimate is not None and not result.estimate.everyone:
            note += " Every round asks others, so that values waver."
        figures.append(figure("rounds", "The value as the rounds went on.", note if hidden else ""))
    beside = element("div", words, element("div", *figures), class_="columns") if figures else words
    return section("How good it is", beside, _bars_table(story) if len(bars_of(story)) > 1 else None)


def _exact(result: Result) -> Markup | None:
    """The numbers behind the sentences, in full."""
    e, known = result.estimate, find_known(result)
    pairs = [("value", "F over every client", result.value)] if result.value is not None else []
    if e is not None:
        pairs += [
            ("estimate.value", "estimate from sums", e.value),
            ("estimate.low", "interval, low end", e.low),
            ("estimate.high", "interval, high end", e.high),
            ("estimate.bound", "bound, as measured", e.bound),
            ("estimate.bound_high", "bound, with its error", e.bound_high),
            ("estimate.confidence", "confidence", e.confidence),
            ("estimate.popularity", "the most popular items", e.popularity),
            ("estimate.random", "a random choice", e.random),
        ]
    elif known.bound is not None:
        pairs.append(("upper_bound", "bound", known.bound))
    if not pairs:
        return None
    rows = [[Cell(name), Cell(show_number(number(value, 8), field, value), value)] for field, name, value in pairs]
    return fold("These numbers in full", table("Numbers in full", ["Quantity", "Value"], rows, sortable=False))


def _bars_table(story: Story) -> Markup:
    bars = bars_of(story)
    texts = column(bar.value for bar in bars)
    chosen = bars[0].value
    ratios = column(bar.value / chosen for bar in bars) if chosen > 0 else [NOTHING] * len(bars)
    rows = [
        [
            Cell(join([show_name(bar.name), element("small", clean(bar.about))]), bar.name.casefold()),
            Cell(show_number(text, bar.field or f"baselines.{bar.name}", bar.value), bar.value),
            Cell(ratio, bar.value),
        ]
        for bar, text, ratio in zip(bars, texts, ratios, strict=True)
    ]
    return table("Ways to choose", ["Way to choose", "Value", "To the chosen"], rows)


def _terms(result: Result) -> Markup | None:
    theory = result.guarantee
    if theory is None:
        return None
    rows = [[Cell(term.symbol), Cell(number(term.value, 5), term.value), Cell(term.meaning)] for term in theory.terms]
    heads = ["Symbol", "Value", "Meaning"]
    return fold(f"The terms of {theory.theorem}", table("Terms of the theorem", heads, rows, sortable=False))


def costs(story: Story) -> Markup:
    cost, result = cost_of(story.result), story.result
    if cost is None:
        took = f"It took {number(result.seconds, 3)} s."
        return section("What it cost", element("div", paragraphs(sentences.costs(story), took), class_="prose"))
    silent = sentences.silent(cost)
    cells: list[tuple[Part, Part, str]] = [
        ("Rounds", show_number(count(cost.rounds), "cost.rounds", cost.rounds), "questions to a cohort"),
        (
            "Answers",
            show_number(count(cost.answers), "cost.answers", cost.answers),
            silent or "of single clients, in all rounds",
        ),
        ("Received", show_number(size(cost.mean_down), "cost.mean_down", cost.mean_down), "by a client in a round"),
        ("Sent", show_number(size(cost.mean_up), "cost.mean_up", cost.mean_up), "by a client in a round"),
        (
            "In all",
            show_number(size(cost.up + cost.down), "cost.total", cost.up + cost.down),
            "to and from all clients",
        ),
    ]
    rows = [
        [
            Cell(str(place + 1), place + 1),
            Cell(clean(one.label)),
            Cell(count(one.asked), one.asked),
            Cell(show_number(count(one.answered), f"rounds.{place}.answered", one.answered), one.answered),
            Cell(show_number(count(one.down), f"rounds.{place}.down", one.down), one.down),
            Cell(show_number(count(one.up), f"rounds.{place}.up", one.up), one.up),
            Cell(number(one.value), one.value, numeric=True),
        ]
        for place, one in enumerate(result.rounds or ())
    ]
    heads = ["Round", "What for", "Asked", "Answered", "Bytes down", "Bytes up", "Value"]
    every = fold("Every round", table("Every round", heads, rows))
    return section("What it cost", strip(cells, "strip small"), every)


def reveal(story: Story) -> Markup:
    hidden = sentences.warn_unprotected(story)
    words: list[Part] = [element("p", sentences.threat(story), class_="lead")]
    for told, warns in (sentences.smallest(story), sentences.difference(story)):
        if told:
            words.append(element("p", told, class_="warning" if warns else None))
    if hidden:
        words += [element("h3", "What is not protected"), element("ul", *(element("li", line) for line in hidden))]
    told_all = element("div", *words, class_="prose")
    if story.view is None or story.secure == "none":
        return section("What was revealed", told_all)
    return section("What was revealed", element("div", told_all, one_view(story, story.view), class_="columns"))


def one_view(story: Story, view: View) -> Markup:
    rows = [
        [Cell(show_name(item)), *(Cell(count(value), value) for value in values)]
        for item, *values in zip(view.items, *(numbers for _, numbers in view.columns), strict=True)
    ]
    heads = ["Item", *(capitalise(name.removeprefix("the ")) for name, _ in view.columns)]
    return element(
        "div",
        element("h3", "One client, as the server sees it"),
        element("p", sentences.seen(story, view), class_="prose"),
        table(
            "The server's view of one client",
            heads,
            rows,
            sortable=False,
            class_="seen" if view.said is None else "view",
        ),
    )


def again(
    command: str, facts: list[tuple[str, str]], notes: tuple[str, ...], credits: tuple[str, ...], holds: str
) -> Markup:
    """How to get the same page once more."""
    parts: list[Part] = []
    if command:
        parts.append(element("pre", element("code", command), tabindex="0"))
    rows = [element("div", element("dt", clean(key)), element("dd", clean(value))) for key, value in facts]
    parts.append(element("dl", *rows, class_="facts"))
    for title, lines in (("Notes on the data", notes), ("Credits", credits)):
        if lines:
            parts += [element("h3", title), element("ul", *(element("li", clean(line)) for line in lines))]
    parts.append(element("p", holds, class_="fine"))
    return section("How to reproduce it", element("div", *parts, class_="prose"))


def bound_note(bound: float | None) -> str:
    return f"The dashed line is the bound: no allowed set is worth more than {up(bound)}." if bound is not None else ""
