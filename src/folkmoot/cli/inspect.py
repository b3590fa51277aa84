"""`folkmoot inspect`: what is in a file, and what to expect of each method."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from folkmoot.cli.flags import as_flag
from folkmoot.cli.options import AtMost, Per, Where, Within, add_settings, load_problem
from folkmoot.cli.show import Json
from folkmoot.foundation.settings import Choose, Data, PrivacySettings

if TYPE_CHECKING:
    from rich.console import Console

    from folkmoot.application.inspection import ClientSpread, Expectation, Inspection
    from folkmoot.application.outlook import Outlook
    from folkmoot.data import FileLook

ALIKE, FAR = 2, 50  # γ / m_F
NOISE = ("epsilon", "delta", "adjacency")
BAR = 24  # letters: a bar of the curve
ABOUT_COLUMNS = ("Left out", "Taken for", "Cut into", "Values that")  # notes on the columns of a table
STARS = 5  # what ratings usually go up to
ELSEWHERE = ("items_id", "name")  # roles of columns of the items file


@add_settings(Data, Choose, PrivacySettings, only={PrivacySettings: NOISE})
def inspect(
    path: Where,
    *,
    at_most: AtMost = None,
    per: Per = None,
    within: Within = None,
    as_json: Json = False,
    given: dict[str, Any],
) -> None:
    """What is in this file, which objective fits, and what to expect of each method."""
    from folkmoot.application.inspection import inspect as look_at
    from folkmoot.cli.show import bar, console, print_json

    problem = load_problem(path, given, at_most, per, within)
    with bar(quiet=as_json) as watch:
        watch(f"reading {problem.source}", 0, 1)
        found = look_at(problem, watch)
    if as_json:
        print_json(found.document())
    else:
        _show_all(console(), found, path, given, _spell_limits(at_most or [], per or [], within))
    if found.next is None:  # a run would ask, and stop
        raise typer.Exit(2)


def _show_all(out: "Console", found: "Inspection", path: Path, given: dict[str, Any], limits: list[str]) -> None:
    _show_file(out, found.seen)
    if found.expected is not None:
        _show_spread(out, found.seen, found.expected.spread)
        _show_rare(out, found.expected, found.seen)
        _show_methods(out, found.expected, found.seen)
        if found.expected.outlook is not None:
            _show_noise(out, found.expected.outlook)
        else:
            out.print(f"Without --method, folkmoot run would use {found.expected.plan}.", soft_wrap=True)
        _show_lacking(out, found)
        _show_next(out, found, path, given, limits)


def _show_file(out: "Console", seen: "FileLook") -> None:
    from rich.table import Table
    from rich.text import Text

    from folkmoot.report.text import clean, count_many

    rows = "" if seen.rows is None else f", {count_many(seen.rows, 'rows')}"
    out.print(Text(f"{seen.file}{rows}", style="bold"))
    if seen.columns:
        roles = {column: role for role, column in seen.taken if not (seen.items_columns and role in ELSEWHERE)}
        table = Table()
        for name in ("column", "holds", "for example", "taken as"):
            table.add_column(name)
        for one in seen.columns:
            table.add_row(Text(clean(one.name)), one.type, Text(clean(one.example)), roles.get(one.name, ""))
        out.print(table)
    for fault in seen.faults:
        out.print(Text(clean(f"! {fault} (--{fault.what} says what to do)"), style="yellow"))
    for note in seen.notes:
        if note.startswith(ABOUT_COLUMNS):
            out.print(Text(clean(note)), soft_wrap=True)
        elif note in seen.warnings:  # for somebody who knows the file
            out.print(Text(clean(f"! {note}"), style="yellow"), soft_wrap=True)
    if seen.problem is not None:
        out.print(Text(clean(f"Nothing can be chosen from it yet: {seen.problem}"), style="yellow"))
        return
    assert seen.loaded is not None
    loaded, objective = seen.loaded, seen.loaded.objective
    out.print(Text(f"{loaded.kind} ({seen.why}) → {type(objective).__name__}: {loaded.meaning}."))
    who, what = (
        count_many(objective.n_clients, loaded.clients_called),
        count_many(objective.n_items, loaded.items_called),
    )
    out.print(Text(f"{who}, {what}{_describe_spreads(seen)}."))


def _describe_spreads(seen: "FileLook") -> str:
    """How much clients hold, and of what."""
    from folkmoot.report.numbers import number
    from folkmoot.report.text import count_many

    each, values, table, said = seen.per_client, seen.values, seen.kind == "tables", ""
    if each is not None:
        what = "rows" if table else "entries"
        span = f"{number(each.least)} to {number(each.most)} {what} each, the middle one {number(each.median)}"
        said += f"; {span}" if each.levels > 1 else f"; {count_many(int(each.most), what)} each"
    if values is not None and table:
        said += f"; {dict(seen.taken)['target']} has {values.levels:,} values"
    elif values is not None and values.levels == 1:
        said += f"; every value is {number(values.most)}"
    elif values is not None:
        said += f"; values {number(values.least)} to {number(values.most)}, {values.levels:,} different ones"
    return said


def _show_spread(out: "Console", seen: "FileLook", spread: "ClientSpread") -> None:
    from rich.text import Text

    from folkmoot.report.numbers import number

    assert seen.loaded is not None
    clients = seen.loaded.clients_called
    apart = spread.disparity
    out.print(
        Text(
            f"γ: no item is worth more than {number(spread.largest)} to one of the {clients}, and none more than "
            f"{number(spread.mean_best)} to all on average: {number(apart, 2)} times apart "
            f"({'alike' if apart < ALIKE else 'tastes differ' if apart < FAR else 'tastes differ much'})."
        )
    )
    share = number(spread.importance / spread.n_clients, 2)
    out.print(
        Text(
            f"Weights: the importance factors add up to {number(spread.importance, 3)} ({share} per client), "
            f"the largest is {number(spread.most_important, 2)}."
        )
    )


def _show_rare(out: "Console", expected: "Expectation", seen: "FileLook") -> None:
    """What sums would show of whoever is alone with an item."""
    from rich.text import Text

    from folkmoot.report.sections.rarity import MUCH, explain_rare, name_remedies

    rare = expected.rare
    if rare is None or not rare.one:
        return
    assert seen.loaded is not None
    objective, chosen = seen.loaded.objective, expected.matroid.rank
    helps = name_remedies(objective.n_items, chosen, rare.clients, objective.n_clients)
    said = f"{explain_rare(rare, seen.loaded.clients_called)}. What helps: {helps}."
    out.print(Text(said, style="yellow" if rare.one >= MUCH * rare.numbers else ""), soft_wrap=True)


def _show_methods(out: "Console", expected: "Expectation", seen: "FileLook") -> None:
    from rich.table import Table
    from rich.text import Text

    from folkmoot.report.numbers import size
    from folkmoot.report.text import clean

    assert seen.loaded is not None
    if expected.changed:
        out.print(Text(clean(expected.changed), style="yellow"), soft_wrap=True)
    who = seen.loaded.clients_called
    table = Table(
        title=f"What to expect: {expected.matroid.rank} items, tried on {expected.tried_on:,} {who}, 100 per round",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("method")
    for name in ("of greedy", "rounds", "bytes up per client and round", "theory promises, of what was found"):
        table.add_column(name, justify="right")
    for one in expected.trials:
        asked = [f"{one.rounds}", size(one.bytes_up), one.theory] if one.rounds else ["", "", ""]
        table.add_row(one.method, "—" if one.ratio is None else f"{one.ratio:.4f}", *asked)
    out.print(table)
    for one in expected.trials:
        if one.problem:
            out.print(f"{one.method}: {one.problem}.", soft_wrap=True)


def _show_noise(out: "Console", outlook: "Outlook") -> None:
    """What to expect under noise, over a range of ε."""
    from rich.table import Table
    from rich.text import Text

    mine, clients = outlook.privacy.epsilon, f"{outlook.clients:,} clients"
    table = Table(
        title=f"What noise would cost: {outlook.chosen} items, {clients}, δ = {outlook.delta:.2g}",
        title_justify="left",
        title_style="bold",
    )
    for name in ("ε", "signal", "of a choice without noise"):
        table.add_column(name, justify="right")
    table.add_column("")
    for epsilon, one in outlook.curve:
        style = "bold" if epsilon == mine else ""
        share = "refused" if one.is_hopeless else one.span
        bar = "" if one.is_hopeless else "█" * max(round(BAR * (min(one.low, 1.0) - 0.5) / 0.5), 1)
        marked = f"{bar} ← asked for" if epsilon == mine else bar
        table.add_row(f"{epsilon:g}", f"{one.signal:.3g}", share, Text(marked.strip(), style="cyan"), style=style)
    out.print(table)
    out.print(
        "Signal: all clients' answers, in deviations of the noise, per item to be chosen. Below 3 a run warns; where "
        "they would drown, it is refused. A run reaches something between the two limits, 19 times of 20; bars show "
        "the lower one, from 50 % on.",
        soft_wrap=True,
    )
    found = outlook.forecast
    out.print(Text(f"For ε = {mine:g}: {found.describe()}.", style="yellow" if found.is_poor else ""), soft_wrap=True)


def _show_lacking(out: "Console", found: "Inspection") -> None:
    """What else noise needs."""
    from rich.text import Text

    expected = found.expected
    assert expected is not None
    if expected.lacking == "most":
        example = found.next.get("most", STARS) if found.next else STARS
        said = (
            "Under noise nobody can be asked how large values are: add what everybody knows, such as "
            f"--most {example:g}."
        )
        out.print(Text(said, style="yellow"), soft_wrap=True)
    elif expected.lacking:
        out.print(Text(f"Noise is not possible: {expected.lacking}.", style="yellow"), soft_wrap=True)


def _show_next(out: "Console", found: "Inspection", path: Path, given: dict[str, Any], limits: list[str]) -> None:
    """The command that one would type now."""
    import shlex

    from rich.text import Text

    assert found.expected is not None
    if found.next is None:
        out.print(Text("No command is known to work on this file as it is.", style="yellow"), soft_wrap=True)
        return
    if found.expected.outlook is not None and "epsilon" in found.next:
        epsilon = found.next["epsilon"]
        said = "without noise" if epsilon is None else f"with ε = {epsilon:g}"
        out.print(
            Text(f"A run with ε = {given['epsilon']:g} would be refused; what follows is {said}.", style="yellow")
        )
    words = ["folkmoot", "run", str(path)]
    for name, value in {**given, **found.next}.items():
        if value is not None and not (name in NOISE and found.next.get("epsilon", 0) is None):
            words += [as_flag(name), ",".join(value) if isinstance(value, tuple) else _spell(value)]
    out.print(f"Next: {shlex.join([*words, *limits])}", soft_wrap=True)


def _spell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spell_limits(at_most: list[int], per: list[str], within: str | None) -> list[str]:
    words = [
        word for most, group in zip(at_most, per, strict=True) for word in ("--at-most", str(most), "--per", group)
    ]
    return words if within is None else [*words, "--within", within]
