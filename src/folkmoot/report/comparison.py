"""Several methods on one problem, as a document: one plot, one table, and what each of them chose."""

from itertools import takewhile
from math import hypot, sqrt

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
from folkmoot.report.facts import DIGITS_OFF, RankedEntry, rank_entries
from folkmoot.report.numbers import NARROW, count, find_digits, number, round_down, round_up
from folkmoot.report.sections.noise import summarise_promise, warn_of_promise
from folkmoot.report.sections.reproduction import describe_notes, describe_rerun
from folkmoot.report.spread import spread_chart
from folkmoot.report.story import Comparison
from folkmoot.report.text import capitalise, join_names

POPULARITY = "popularity"  # the method that every other is measured by
CLEAR = 2.0  # errors of a difference: a smaller one may be chance
LEAST = 0.0005  # a smaller difference is none
HEADERS = (
    Header("Method"),
    Header("Mean value", aligned=True),
    Header("±", spare=True),
    Header("Of best central"),
    Header("Rounds"),
    Header("Bytes up", spare=True),
    Header("Answers", spare=True),
    Header("Smallest sum", spare=True),
    Header("Seconds"),
)


def describe_comparison(comparison: Comparison) -> Document:
    ranked = rank_entries(comparison)
    digits = find_digits(one.mean for one in ranked if one.mean is not None)
    table = Table("The methods", HEADERS, tuple(_row(one, digits) for one in ranked), level=Level.SUMMARY)
    methods: tuple[Part, ...] = (*_draw(comparison), table, *_warn_of_noise(comparison), *_explain(comparison))
    notes = describe_notes(comparison)
    return Document(
        comparison.title,
        comparison.question,
        (*_state_best(comparison), *_list_facts(comparison)),
        (
            Section("The methods, best first", methods),
            Section(
                "What each chose",
                tuple(_list_chosen(comparison, one) for one in ranked),
                gist=f"The {comparison.items_called} that each method chose with the first seed.",
                folded=True,
            ),
            *((notes,) if notes is not None else ()),
            describe_rerun(comparison),
        ),
    )


def find_best(comparison: Comparison) -> RankedEntry | None:
    """The best of the methods that see sums only; where some add noise, the best of these: the others promise
    nothing.
    """
    listed = [one for one in rank_entries(comparison) if one.entry.federated and one.mean is not None]
    return next((one for one in listed if one.entry.epsilon is not None), listed[0] if listed else None)


def list_equals(comparison: Comparison, best: RankedEntry) -> list[RankedEntry]:
    """The other methods that see sums only and cannot be told from the best: by their means, over so many seeds."""
    sums = [one for one in rank_entries(comparison) if one.entry.federated and one.entry.epsilon is None]
    rivals = [one for one in sums if one.entry.name != best.entry.name]
    return [*takewhile(lambda one: not _is_clear(best, one), rivals)]


def _is_clear(better: RankedEntry, worse: RankedEntry) -> bool:
    """Whether two means differ by more than chance over the seeds explains: by twice the error of their difference."""
    if better.mean is None or worse.mean is None:
        return True
    apart = better.mean - worse.mean
    return apart > max(CLEAR * hypot(find_error(better), find_error(worse)), DIGITS_OFF * abs(better.mean))


def find_error(one: RankedEntry) -> float:
    """The standard error of a mean; 0 where there was one seed, and nobody knows."""
    return (one.spread or 0.0) / sqrt(max(len(one.entry.values), 1))


def _state_best(comparison: Comparison) -> list[Paragraph]:
    """What a hurried reader takes away: how the best from sums compares with popularity, which anybody could have."""
    best = find_best(comparison)
    popular = next((one for one in rank_entries(comparison) if one.entry.name == POPULARITY), None)
    if best is None or best.mean is None or popular is None or not popular.mean or popular.mean <= 0:
        return []
    above = best.mean / popular.mean - 1
    if best.entry.epsilon is not None:
        told = _state_price(comparison, best, above)
    elif above <= LEAST or not _is_clear(best, popular):
        much = f"more than {number(100 * LEAST)}{NARROW}% " if above > DIGITS_OFF else ""
        much = "clearly " if above > LEAST else much
        told = f"No method that sees only sums is {much}better than {POPULARITY}."
    elif equals := list_equals(comparison, best):
        names = join_names([best.entry.name, *(one.entry.name for one in equals)])
        told = f"There is no clear difference between {names}, the best of the methods that see only sums: "
        told += f"up to {round_down(100 * above, 2)}{NARROW}% above {POPULARITY}."
    else:
        share = f"{round_down(100 * above, 2)}{NARROW}%"
        told = f"Of the methods that see only sums, {best.entry.name} is best: {share} above {POPULARITY}."
    return [Paragraph(told, Tone.LEAD, Level.SUMMARY)]


def _state_price(comparison: Comparison, noisy: RankedEntry, above: float) -> str:
    """How a choice under noise compares with popularity, and what noise costs."""
    told = f"Under noise (ε = {number(noisy.entry.epsilon)}), {noisy.entry.name} is {_tell_apart(above, POPULARITY)}"
    rivals = [one for one in rank_entries(comparison) if one.entry.federated and one.entry.epsilon is None]
    exact = next((one for one in rivals if one.entry.rounds > 0 and one.entry.name != POPULARITY), None)
    if exact is None or not exact.mean or not noisy.mean or exact.mean <= 0:
        return f"{told}."
    return f"{told} and {_tell_apart(noisy.mean / exact.mean - 1, exact.entry.name)}, which adds no noise."


def _tell_apart(above: float, name: str) -> str:
    if abs(above) <= DIGITS_OFF:
        return f"as good as {name}"
    share = round_down(100 * above, 2) if above > 0 else round_up(-100 * above, 2)
    return f"{share}{NARROW}% {'above' if above > 0 else 'below'} {name}"


def _list_facts(comparison: Comparison) -> list[Fact]:
    facts, best = list[Fact](), find_best(comparison)
    if best is not None:
        name = "Best from sums alone" if best.entry.epsilon is None else "Best under noise"
        equals = list_equals(comparison, best) if best.entry.epsilon is None else []
        also = f" (no clear difference to {join_names([one.entry.name for one in equals])})" if equals else ""
        facts.append(Fact(name, Quantity(best.mean, field="best.mean"), best.entry.name + also))
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


def _explain(comparison: Comparison) -> list[Paragraph]:
    """What the columns mean; of those that a phone has no room for, apart."""
    always = (
        f"Value: {comparison.meaning}. “Of best central” is the mean value divided by that of the best method that "
        "sees all data, rounded down."
    )
    spare = (
        "± is the standard deviation over the seeds; of a random choice, over the sets whose mean every report shows. "
        "Bytes up are what one client sends per round."
    )
    return [Paragraph(always, Tone.FINE), Paragraph(spare, Tone.FINE, spare=True)]


def _row(one: RankedEntry, digits: int) -> tuple[Cell, ...]:
    entry = one.entry
    talked = entry.rounds > 0
    return (
        Name(entry.name, note=entry.about),
        Quantity(one.mean, field=f"mean.{entry.name}", digits=digits),
        Quantity(one.spread, digits=2),
        Quantity(one.ratio, Form.SHARE),
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
        "Each dot is a seed; the upright line and the number are the mean. Blue methods see sums only, orange all data."
    )
    if comparison.bound is not None:
        caption += f" No allowed set is worth more than the bound, {round_up(comparison.bound)}."
    return (Figure("spread", "Values by method.", caption, spec),)
