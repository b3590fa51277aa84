"""Several methods on one problem, as a document: one table, one plot, and what each of them chose."""

from math import isfinite

from folkmoot.report.charts import ROW, draw_bound, frame, names_axis
from folkmoot.report.document import (
    Bullets,
    Cell,
    Document,
    Fact,
    Figure,
    Fold,
    Form,
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
from folkmoot.report.facts import RankedEntry, rank_entries
from folkmoot.report.numbers import count, number, round_up
from folkmoot.report.palette import ACCENT, INK, WARM
from folkmoot.report.sections.noise import summarise_promise, warn_of_promise
from folkmoot.report.sections.reproduction import describe_rerun
from folkmoot.report.story import Comparison
from folkmoot.report.text import capitalise, isolate, shorten
from folkmoot.report.vega import Spec

HEADERS = (
    Header("Method"),
    Header("Mean value", aligned=True),
    *map(Header, ("±", "Of best central", "Rounds", "Bytes up", "Answers", "Smallest sum", "Seconds")),
)


def describe_comparison(comparison: Comparison) -> Document:
    ranked = rank_entries(comparison)
    table = Table("The methods", HEADERS, tuple(_row(one) for one in ranked), level=Level.SUMMARY)
    explained = Paragraph(_explain(comparison), Tone.FINE)
    methods: tuple[Part, ...] = (table, *_warn_of_noise(comparison), explained, *_draw(comparison))
    return Document(
        comparison.title,
        comparison.question,
        tuple(_list_facts(comparison)),
        (
            Section("The methods, best first", methods),
            Section("What each chose", tuple(_list_chosen(comparison, one) for one in ranked)),
            describe_rerun(comparison),
        ),
    )


def _list_facts(comparison: Comparison) -> list[Fact]:
    facts = []
    best = next((one for one in rank_entries(comparison) if one.entry.federated and one.mean is not None), None)
    if best is not None:
        facts.append(Fact("Best from sums alone", Quantity(best.mean, field="best.mean"), best.entry.name))
    if best is not None and best.ratio is not None:
        of = "of the best central method (which sees all data)"
        facts.append(Fact("Versus central", Quantity(best.ratio, Form.SHARE, "best.ratio"), of))
    if comparison.bound is not None:
        bound = Quantity(comparison.bound, Form.HIGH, "bound")
        facts.append(Fact("Upper bound", bound, "no allowed set is worth more"))
    clients = Quantity(comparison.n_clients, Form.COUNT, "n_clients")
    facts.append(
        Fact(capitalise(comparison.clients_called), clients, f"{count(comparison.n_items)} {comparison.items_called}")
    )
    facts.append(Fact("Seeds", Quantity(len(comparison.seeds), Form.COUNT), "the same for every method"))
    for epsilon, delta in _list_promises(comparison):
        told = summarise_promise(epsilon, delta, comparison.n_clients, simulated=True)
        facts.append(Fact("ε", Quantity(epsilon, field="epsilon"), told))
    return facts


def _list_promises(comparison: Comparison) -> list[tuple[float, float]]:
    """ε and δ of the methods that add noise."""
    noisy = {(one.epsilon, one.delta) for one in comparison.entries}
    return sorted((epsilon, delta) for epsilon, delta in noisy if epsilon is not None and delta is not None)


def _warn_of_noise(comparison: Comparison) -> list[Paragraph]:
    """What a simulation of noise does not do, and what so much noise does not promise."""
    promises = _list_promises(comparison)
    if not promises:
        return []
    told = (
        "This was a simulation: it shows what noise would cost, and protects nobody here, because whoever ran it had "
        "all the data. Values, and what methods without noise chose, come from the data, outside the noise: pass this "
        "comparison on only if you could pass on the data."
    )
    weak = [warning for promise in promises for warning in warn_of_promise(*promise, comparison.n_clients)]
    return [Paragraph(told, Tone.WARNING, Level.SUMMARY), *weak]


def _explain(comparison: Comparison) -> str:
    return (
        f"Value: {comparison.meaning}. ± is the standard deviation over the seeds. “Of best central” is the mean value "
        "divided by that of the best method that sees all data, rounded down. Bytes up are what one client sends per "
        "round."
    )


def _row(one: RankedEntry) -> tuple[Cell, ...]:
    entry = one.entry
    talked = entry.rounds > 0
    return (
        Name(entry.name, note=entry.about),
        Quantity(one.mean, field=f"mean.{entry.name}"),
        Quantity(one.spread, digits=2),
        Quantity(one.ratio, Form.RATIO),
        Quantity(entry.rounds if talked else None, Form.COUNT),
        Quantity(entry.bytes_up if talked else None, Form.SIZE),
        Quantity(entry.answers if talked else None, Form.COUNT),
        Quantity(entry.smallest, Form.COUNT),
        Quantity(entry.seconds, digits=2),
    )


def _list_chosen(comparison: Comparison, one: RankedEntry) -> Fold:
    names = one.entry.selected
    listed: Part = Bullets(tuple(map(Name, names)), ordered=True) if names else Paragraph("Its items were not kept.")
    return Fold(f"{one.entry.name}: {count(len(names))} {comparison.items_called}", (listed,))


def _draw(comparison: Comparison) -> tuple[Figure, ...]:
    spec = spread_chart(comparison)
    if spec is None:
        return ()
    caption = (
        "Each dot is a seed; the short upright line is the mean. Blue methods see sums only, orange ones all data."
    )
    if comparison.bound is not None:
        caption += f" The dashed line is the bound: no allowed set is worth more than {round_up(comparison.bound)}."
    return (Figure("spread", "Values by method.", caption, spec),)


def spread_chart(comparison: Comparison) -> Spec | None:
    """Every seed's value as a dot, the mean as a line, one row per method."""
    scored = [one for one in rank_entries(comparison) if one.mean is not None]
    if not scored:
        return None
    labels = [f"{place + 1}  {isolate(shorten(one.entry.name, 44))}" for place, one in enumerate(scored)]
    values: list[Spec] = []
    means: list[Spec] = []
    for one, label in zip(scored, labels, strict=True):
        kind = "sees sums only" if one.entry.federated else "sees all data"
        base: Spec = {"label": label, "name": isolate(shorten(one.entry.name)), "kind": kind}
        for seed, value in zip(comparison.seeds, one.entry.values, strict=False):
            if isfinite(value):
                values.append(base | {"value": value, "shown": number(value, 6), "seed": seed})
        known = [value for value in one.entry.values if isfinite(value)]
        means.append(base | {"mean": one.mean, "low": min(known), "high": max(known), "text": number(one.mean)})
    everything = [float(row["value"]) for row in values]
    if comparison.bound is not None and isfinite(comparison.bound):
        everything.append(comparison.bound)
    low, high = min(everything), max(everything)
    room = 0.06 * ((high - low) or abs(high) or 1.0)
    domain = {"domain": [low - room, high + 1.5 * room], "nice": False}
    axis = {"title": "value", "domain": False, "ticks": False, "tickCount": 5}
    x = {"type": "quantitative", "axis": axis, "scale": domain}
    colour = {"condition": {"test": "datum.kind === 'sees sums only'", "value": ACCENT}, "value": WARM}
    tooltip = [{"field": field, "title": title, "type": "nominal"} for field, title in TOLD]
    y = names_axis(labels, limit=330)
    y["axis"] = y["axis"] | {"grid": True}
    layers: list[Spec] = [
        {
            "data": {"values": means},
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.28, "strokeCap": "round"},
            "encoding": {"y": y, "x": x | {"field": "low"}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "data": {"values": values},
            "mark": {"type": "circle", "size": 50, "opacity": 0.85},
            "encoding": {"y": y, "x": x | {"field": "value"}, "color": colour, "tooltip": tooltip},
        },
        {
            "data": {"values": means},
            "mark": {"type": "tick", "thickness": 2.5, "size": 18, "color": INK},
            "encoding": {"y": y, "x": x | {"field": "mean"}},
        },
    ]
    if comparison.bound is not None and isfinite(comparison.bound):
        layers += draw_bound(comparison.bound, f"bound {round_up(comparison.bound)}", x)
    spec: Spec = {"height": (ROW + 6) * len(scored), "layer": layers}
    return frame(spec, "Dots: the value of every method with every seed, and the bound")


TOLD = (("name", "Method"), ("kind", "It"), ("shown", "Value"), ("seed", "Seed"))
