"""`folkmoot federation demo`: five health services on this machine, from founding to the report."""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.flags import name_flags
from folkmoot.cli.show import Json
from folkmoot.foundation.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

FEWEST_PEOPLE, MOST_PEOPLE = 5_000, 1_000_000
REACH = 100.0  # km
TITLE = "Where should {clinics} clinics be, if five health services may not show each other where their patients live?"
PROBLEM = """# The demo's problem. Change it and run it again: folkmoot federation run problem.toml --kit moot/server
seed = {seed}

[choose]
count = {clinics}

[method]
name = "auto"              # one clinic after the other, each where it helps most
cohort = 2000              # patients who are asked in a round, at all services together

[output]
title = "{title}"
"""


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Where the demo's files go; folkmoot-demo-federation unless given.", show_default=False),
    ] = None,
    *,
    clinics: Annotated[int, typer.Option(help="How many clinics are built.")] = 12,
    people: Annotated[int, typer.Option(help="How many patients there are.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Draws homes, cohorts and coins.")] = 0,
    as_json: Json = False,
) -> None:
    """Five health services choose places for clinics together; where patients live never leaves a service."""
    from folkmoot.application.federation.founding import establish
    from folkmoot.application.federation.loopback import Loopback, find_port
    from folkmoot.application.folder import number_folder, write
    from folkmoot.application.problem import Problem
    from folkmoot.application.run import begin_run
    from folkmoot.cli.runs import report_stop, show_run
    from folkmoot.cli.show import console, show_work
    from folkmoot.demo import places
    from folkmoot.demo.regions import write_service_files
    from folkmoot.engines.flare.kits import Place
    from folkmoot.foundation.settings import Data

    if not FEWEST_PEOPLE <= people <= MOST_PEOPLE:
        raise InputError(f"needs {FEWEST_PEOPLE:,} to {MOST_PEOPLE:,}, got {people:,}", argument="--people")
    if seed < 0:
        raise InputError(f"needs a whole number of at least 0, got {seed}", argument="--seed")
    if not 1 <= clinics <= len(places()):
        raise InputError(f"needs 1 to {len(places())}, the number of towns, got {clinics:,}", argument="--clinics")
    with name_flags(folder="FOLDER"):
        place = number_folder("folkmoot-demo-federation", None if folder is None else str(folder))
    out = console(quiet=as_json)
    with show_work("drawing homes, making kits …", quiet=as_json):
        files, items = write_service_files(place, people, seed)
        data = Data(file="", kind="places", items=str(items), reach=REACH)
        moot = establish(place / "moot", list(files), Place("localhost", find_port()), data)
    problem = place / "problem.toml"
    write(problem, PROBLEM.format(seed=seed, clinics=clinics, title=TITLE.format(clinics=clinics)))
    _explain(out, people, len(files))
    joins = {name: ["--data", str(file.absolute())] for name, file in files.items()}
    with report_stop(), Loopback(moot.folder, joins):
        asked = Problem.load(problem, folder=place / "run", federation=str(moot.server))
        command = shlex.join(["folkmoot", "federation", "run", str(problem), "--kit", str(moot.server)])
        finished = begin_run(asked, command, partial(show_work, quiet=as_json)).write_wanted_report()
    show_run(finished, report=True, as_json=as_json)


def _explain(out: "Console", people: int, parties: int) -> None:
    out.print(
        f"{people:,} patients of {parties} health services, each in processes of its own, connected by TLS on this "
        "machine only. In every round each service adds up its own patients' answers, masks the sum, and sends that. "
        "The server learns the sum over all services, even if it and one service break every rule.",
        soft_wrap=True,
    )
