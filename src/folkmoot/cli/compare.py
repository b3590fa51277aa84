"""`folkmoot compare`: several methods, the same seeds, one table and one plot."""

import shlex
import sys
from typing import Annotated, Any

import typer

from folkmoot.cli.flags import name_flags
from folkmoot.cli.help import METHOD
from folkmoot.cli.options import AtMost, Per, Seed, Settings, Where, Within, add_settings, load_problem
from folkmoot.cli.runs import NOTHING_KEPT, report_stop
from folkmoot.cli.show import Json, Quiet
from folkmoot.foundation.settings import Choose, Data, How, Output, PrivacySettings


@add_settings(Data, Choose, How, PrivacySettings, Output)
def compare(
    path: Where,
    *,
    methods: Annotated[
        str | None,
        typer.Option(help="Names with commas between; the usual ones unless given.", rich_help_panel=METHOD),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds, from --seed on.", rich_help_panel="choose")] = 3,
    at_most: AtMost = None,
    per: Per = None,
    within: Within = None,
    seed: Seed = None,
    settings: Settings = None,
    quiet: Quiet = False,
    as_json: Json = False,
    given: dict[str, Any],
) -> None:
    """Compare methods on one problem: the same seeds, one table and one plot."""
    silent = as_json or quiet
    with report_stop(NOTHING_KEPT):
        from dataclasses import asdict

        from folkmoot.application.comparison import check_contest, compare_methods, write_comparison
        from folkmoot.application.job import find_outlook, prepare
        from folkmoot.cli.show import bar, console, print_json, show_comparison, show_outlook, show_work

        problem = load_problem(path, given, at_most, per, within, seed, settings)
        with name_flags(methods="--methods", seeds="--seeds"):
            names = None if methods is None else [name.strip() for name in methods.split(",")]
            contest = check_contest(problem, names, seeds)
        with show_work(f"reading {problem.source} …", quiet=silent):
            job = prepare(problem, only_what_fits=True)
        if (outlook := find_outlook(job)) is not None:
            show_outlook(outlook, quiet=silent)
        with bar(quiet=silent) as watch:
            found = compare_methods(job, *contest, shlex.join(["folkmoot", *sys.argv[1:]]), watch)
    files = write_comparison(found, problem)
    if as_json:
        print_json({"comparison": asdict(found), "report": [str(one) for one in files]})
        return
    out = console()
    if quiet:
        out.print(f"{files[0].parent}", soft_wrap=True)
        return
    show_comparison(out, found)
    for one in files:
        out.print(f"Report: {one}", soft_wrap=True)
