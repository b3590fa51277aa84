"""`folkmoot compare`: several methods, the same seeds, one table and one plot."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import AtMost, Per, Seed, Settings, Where, Within, problem_of, with_settings
from folkmoot.cli.show import Json
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import METHODS, Choose, Data, How, Output, Privacy

if TYPE_CHECKING:
    from folkmoot.application.problem import Problem
    from folkmoot.report.story import Comparison


@with_settings(Data, Choose, How, Privacy, Output)
def compare(
    path: Where,
    *,
    methods: Annotated[
        str | None,
        typer.Option(help="Names with commas between; the usual ones unless given.", rich_help_panel="method"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds, from --seed on.", rich_help_panel="choose")] = 3,
    at_most: AtMost = None,
    per: Per = None,
    within: Within = None,
    seed: Seed = None,
    settings: Settings = None,
    as_json: Json = False,
    given: dict[str, dict[str, Any]],
) -> None:
    """Compare methods on one problem: the same seeds, one table and one plot."""
    from dataclasses import asdict

    from folkmoot.application.contest import USUAL, compare_methods
    from folkmoot.application.job import prepare
    from folkmoot.cli.show import bar, console, print_json, show_comparison, show_work

    names = [name.strip() for name in methods.split(",")] if methods else list(USUAL)
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise InputError(f"--methods: {unknown[0]!r} is not one of {', '.join(METHODS)}")
    if seeds < 1:
        raise InputError(f"--seeds: needs at least 1, got {seeds}")
    problem = problem_of(path, given, at_most, per, within, seed, settings)
    with show_work(f"reading {Path(problem.data.file).name} …", quiet=as_json):
        job = prepare(problem)
    command = shlex.join(["folkmoot", *sys.argv[1:]])
    with bar(quiet=as_json) as watch:
        found = compare_methods(job, names, range(problem.seed, problem.seed + seeds), command, watch)
    files = _write_files(found, problem)
    if as_json:
        print_json({"comparison": asdict(found), "report": [str(one) for one in files]})
        return
    out = console()
    show_comparison(out, found)
    for one in files:
        out.print(f"Report: {one}", soft_wrap=True)


def _write_files(found: "Comparison", problem: "Problem") -> list[Path]:
    """The page, and what else is wanted, in a folder of its own; the names of the files."""
    import json
    from dataclasses import asdict

    from folkmoot.application.folder import make_folder, write
    from folkmoot.cli.runs import charts_at_hand
    from folkmoot.report import compare_page, markdown_of, pictures_of

    charts, output = charts_at_hand(), problem.output
    content: dict[str, str | bytes] = {"comparison.json": json.dumps(asdict(found), allow_nan=False)}
    if charts:
        content["comparison.html"] = compare_page(found)
    if charts and output.png:
        content |= {f"{name}.png": picture for name, picture in pictures_of(found).items()}
    if output.markdown or not charts:
        content["comparison.md"] = markdown_of(found)
    folder = make_folder(problem, "compare")
    for name, text in content.items():
        write(folder / name, text)
    return [folder / name for name in content if name != "comparison.json"]
