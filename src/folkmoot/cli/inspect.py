"""`folkmoot inspect`: what is in a file, and what to expect of each method."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from folkmoot.cli.options import AtMost, Per, Where, Within, problem_of, with_settings
from folkmoot.cli.show import Json
from folkmoot.foundation.settings import Choose, Data

if TYPE_CHECKING:
    from rich.console import Console

    from folkmoot.application.expectation import ClientSpread, Expected
    from folkmoot.application.problem import Problem
    from folkmoot.data import FileLook
    from folkmoot.matroids.matroid import Matroid

CHOSEN = 20  # items, where nobody says how many
ALIKE, FAR = 2, 50  # γ / m_F
ELSEWHERE = ("items_id", "name")  # roles of columns of the items file


@with_settings(Data, Choose)
def inspect(
    path: Where,
    *,
    at_most: AtMost = None,
    per: Per = None,
    within: Within = None,
    as_json: Json = False,
    given: dict[str, dict[str, Any]],
) -> None:
    """What is in this file, which objective fits, and what to expect of each method."""
    from dataclasses import asdict

    from folkmoot.application.expectation import describe_plan, measure_spread, try_methods
    from folkmoot.application.job import COHORT
    from folkmoot.cli.show import bar, console, print_json, show_work
    from folkmoot.data import look

    problem = problem_of(path, given, at_most, per, within)
    with problem.locate_errors("data"), show_work(f"reading {Path(problem.data.file).name} …", quiet=as_json):
        seen = look(problem.data)
    spread, matroid, tried, plan = None, None, 0, None
    methods: list[Expected] = []
    if seen.loaded is not None:
        matroid = _constraint(problem, seen)
        with show_work("looking at what clients hold …", quiet=as_json):
            spread = measure_spread(seen.loaded.objective)
        with bar(quiet=as_json) as watch:
            methods, tried = try_methods(seen.loaded.objective, matroid, problem.seed, watch)
        plan = describe_plan(seen.loaded.objective, matroid, COHORT)
    if as_json:
        print_json(
            {
                **{name: getattr(seen, name) for name in ("file", "rows", "kind", "why", "notes", "problem")},
                "columns": [asdict(one) for one in seen.columns],
                "items_columns": [asdict(one) for one in seen.items_columns],
                "taken": dict(seen.taken),
                "faults": [asdict(one) for one in seen.faults],
                "per_client": asdict(seen.per_client) if seen.per_client else None,
                "values": asdict(seen.values) if seen.values else None,
                "clients": seen.loaded.objective.n_clients if seen.loaded else None,
                "items": seen.loaded.objective.n_items if seen.loaded else None,
                "chosen": matroid.rank if matroid is not None else None,
                "spread": asdict(spread) if spread else None,
                "tried_on": tried,
                "methods": [asdict(one) for one in methods],
                "plan": plan,
            }
        )
        return
    out = console()
    _show_file(out, seen)
    if spread is not None and matroid is not None:
        _show_spread(out, seen, spread)
        _show_methods(out, methods, tried, matroid, seen)
        out.print(f"Without --method, folkmoot run would use {plan}.", soft_wrap=True)
        _show_next(out, methods, matroid, path, seen, given)


def _constraint(problem: "Problem", seen: "FileLook") -> "Matroid":
    """As asked; twenty items, or a half of what there is, where nobody asks."""
    from folkmoot.data import Limit, constraint

    assert seen.loaded is not None
    count = problem.choose.count
    if count is None and not problem.limits:
        count = max(min(CHOSEN, len(seen.loaded.items.names) // 2), 1)
    with problem.locate_errors("limit", "choose", "data"):
        return constraint(seen.loaded.items, count, [Limit(one.at_most, one.per, one.within) for one in problem.limits])


def _show_file(out: "Console", seen: "FileLook") -> None:
    from rich.table import Table
    from rich.text import Text

    from folkmoot.report.numbers import number
    from folkmoot.report.text import clean

    rows = "" if seen.rows is None else f", {seen.rows:,} rows"
    out.print(Text(f"{seen.file}{rows}", style="bold"))
    if seen.columns:
        roles = {column: role for role, column in seen.taken if role not in ELSEWHERE}
        table = Table()
        for name in ("column", "holds", "for example", "taken as"):
            table.add_column(name)
        for one in seen.columns:
            table.add_row(Text(clean(one.name)), one.type, Text(clean(one.example)), roles.get(one.name, ""))
        out.print(table)
    for fault in seen.faults:
        out.print(Text(clean(f"! {fault} (--{fault.what} says what to do)"), style="yellow"))
    if seen.problem is not None:
        out.print(Text(clean(f"Nothing can be chosen from it yet: {seen.problem}"), style="yellow"))
        return
    assert seen.loaded is not None
    loaded, objective = seen.loaded, seen.loaded.objective
    out.print(Text(f"{loaded.kind} ({seen.why}) → {type(objective).__name__}: {loaded.meaning}."))
    line = f"{objective.n_clients:,} {loaded.clients_called}, {objective.n_items:,} {loaded.items_called}"
    if seen.per_client is not None:
        each = seen.per_client
        line += f"; {number(each.least)} to {number(each.most)} entries each, the middle one {number(each.median)}"
    if seen.values is not None:
        values = seen.values
        line += f"; values {number(values.least)} to {number(values.most)}, {values.levels:,} different ones"
    out.print(Text(f"{line}."))


def _show_spread(out: "Console", seen: "FileLook", spread: "ClientSpread") -> None:
    from rich.text import Text

    from folkmoot.report.numbers import number

    assert seen.loaded is not None
    clients = seen.loaded.clients_called
    out.print(
        Text(
            f"γ: no item is worth more than {number(spread.largest)} to one of the {clients}, and none more than "
            f"{number(spread.mean_best)} to all on average: {number(spread.apart, 2)} times apart "
            f"({'alike' if spread.apart < ALIKE else 'tastes differ' if spread.apart < FAR else 'tastes differ much'})."
        )
    )
    share = spread.importance / spread.n_clients
    out.print(
        Text(
            f"Weights: the importance factors add up to {number(spread.importance, 3)} ({number(share, 2)} a client), "
            f"the largest is {number(spread.most_important, 2)}."
        )
    )


def _show_methods(out: "Console", methods: "list[Expected]", tried: int, matroid: "Matroid", seen: "FileLook") -> None:
    from rich.table import Table

    from folkmoot.report.numbers import size

    assert seen.loaded is not None
    who = seen.loaded.clients_called
    table = Table(
        title=f"What to expect: {matroid.rank} items, tried on {tried:,} {who}, 100 a round",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("method")
    for name in ("of greedy", "rounds", "bytes up, a client and round", "theory promises, of what was found"):
        table.add_column(name, justify="right")
    for one in methods:
        asked = [f"{one.rounds}", size(one.bytes_up), one.theory] if one.rounds else ["", "", ""]
        table.add_row(one.method, "—" if one.ratio is None else f"{one.ratio:.4f}", *asked)
    out.print(table)
    for one in methods:
        if one.problem:
            out.print(f"{one.method}: {one.problem}")


def _show_next(
    out: "Console", methods: "list[Expected]", matroid: "Matroid", path: Path, seen: "FileLook", given: dict[str, Any]
) -> None:
    """The command that one would type now."""
    import shlex

    best = max((one for one in methods if one.rounds), key=lambda one: one.ratio or 0.0, default=None)
    words = ["folkmoot", "run", str(path)]
    said = dict(given.get("data", {}))
    mended = {"missing": "category" if seen.kind == "tables" else "drop", "negative": "zero", "duplicates": "first"}
    said |= {fault.what: said.get(fault.what, mended[fault.what]) for fault in seen.faults}
    for name, value in said.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    if path.suffix != ".toml":
        words += ["--choose", str(matroid.rank)]
    words += ["--method", best.method] if best is not None and best.method != "auto" else []
    out.print(f"Next: {shlex.join(words)}", soft_wrap=True)
