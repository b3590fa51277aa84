"""A result as a piece of HTML for notebooks: no scripts, no colours of its own, nothing that needs to be installed."""

from folkmoot.conversation.result import MOST_SHOWN, Result
from folkmoot.report.chart import items_of
from folkmoot.report.facts import cost_of, find_known
from folkmoot.report.markup import element, show_name
from folkmoot.report.numbers import column, count, fraction, number, up
from folkmoot.report.sentences import NO_BOUND, confidence_of

RIGHT = "text-align: right"


def result_html(result: Result) -> str:
    """A headline and the table of items."""
    known, cost, items = find_known(result), cost_of(result), items_of(result)
    value = "" if known.value is None else f", value {number(known.value, 6)}"
    lines = [f"{count(len(items))} of {count(result.n_items)} items{value}"]
    if known.ratio is not None:
        sure = f"({confidence_of(result)}; upper bound {up(known.bound, 6)})"
        lines.append(f"at least {fraction(known.ratio)} of the best possible {sure}")
    else:
        lines.append(NO_BOUND)
    if cost is not None:
        lines.append(
            f"{count(cost.rounds)} rounds, {count(cost.answers)} answers, the smallest sum over {count(cost.smallest)}"
        )
        if (apart := result.smallest_difference) is not None:
            lines[-1] += f", the smallest difference of two {count(apart.clients)}"
    gained = [item.gain for item in items if item.gain is not None]
    with_gains = bool(items) and len(gained) == len(items)
    heads = [element("th", ""), element("th", "item", style="text-align: left")]
    if with_gains:
        heads += [element("th", name, style=RIGHT) for name in ("gain", "total")]
    gains, totals = column(gained), column(sum(gained[: place + 1]) for place in range(len(gained)))
    rows = []
    for place, item in enumerate(items[:MOST_SHOWN]):
        cells = [
            element("td", str(place + 1), style=RIGHT),
            element("td", show_name(item.name), style="text-align: left"),
        ]
        if with_gains:
            cells += [element("td", text, style=RIGHT) for text in (gains[place], totals[place])]
        rows.append(element("tr", *cells))
    more = len(items) - MOST_SHOWN
    return element(
        "div",
        element(
            "p",
            element("strong", result.method),
            ": ",
            lines[0],
            *(part for line in lines[1:] for part in (element("br"), line)),
        ),
        element("table", element("thead", element("tr", *heads)), element("tbody", *rows)) if items else None,
        element("p", f"… and {count(more)} more") if more > 0 else None,
    )
