"""`folkmoot federation demo`: five health services on this machine, from founding to the report."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.demo import check_numbers
from folkmoot.cli.flags import name_flags
from folkmoot.cli.show import Json
from folkmoot.foundation.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

FEWEST_PEOPLE = 5_000
REACH = 100.0  # km
TITLE = "Where should {clinics} clinics be, if five health services may not show each other where their patients live?"
PROBLEM = """# The demo's problem. Change it and run it again: folkmoot federation run problem.toml --kit moot/server
seed = {seed}

[data]
credit = "{credit}"

[choose]
count = {clinics}

[method]
name = "auto"              # one clinic after the other, each where it helps most
{how}
[output]
title = "{title}"
"""
IN_COHORTS = """cohort = 2000              # patients who are asked in a round, at all services together
"""
UNDER_NOISE = """
[privacy]
epsilon = {epsilon!r}  # all patients are asked, and all services add noise: no single patient can be made out
"""
BUDGET = """
# The demo: each of our patients gives away this much, once. A second run is refused.
epsilon = {epsilon!r}
"""


def need_flare() -> None:
    if find_spec("nvflare") is None:
        raise InputError("NVIDIA FLARE is not installed", remedy="pip install 'folkmoot[federation]'")


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Where the demo's files go; folkmoot-demo-federation unless given.", show_default=False),
    ] = None,
    *,
    clinics: Annotated[int, typer.Option(help="How many clinics are built.")] = 12,
    people: Annotated[int, typer.Option(help="How many patients there are.")] = 100_000,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Noise hides every single patient: see folkmoot run --help. All patients are asked."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws homes, cohorts and coins.")] = 0,
    as_json: Json = False,
) -> None:
    """Five health services choose places for clinics together; where patients live never leaves a service."""
    need_flare()
    from folkmoot.application.federation.founding import establish
    from folkmoot.application.federation.loopback import Loopback, find_port
    from folkmoot.application.federation.party_policy import FILE as POLICY
    from folkmoot.application.folder import number_folder, write
    from folkmoot.application.problem import Problem
    from folkmoot.application.run import begin_run
    from folkmoot.cli.runs import report_stop, show_run
    from folkmoot.cli.show import console, show_outlook, show_work
    from folkmoot.demo import CREDIT
    from folkmoot.demo.regions import write_service_files
    from folkmoot.engines.flare.kits import Place
    from folkmoot.foundation.settings import Data
    from folkmoot.privacy.accounting import check_epsilon

    check_numbers(clinics, people, seed, FEWEST_PEOPLE)
    if epsilon is not None:
        with name_flags(epsilon="--epsilon"):
            check_epsilon(epsilon)
    with name_flags(folder="FOLDER"):
        place = number_folder("folkmoot-demo-federation", None if folder is None else str(folder))
    out = console(quiet=as_json)
    with show_work("drawing homes, making kits …", quiet=as_json):
        files, items = write_service_files(place, people, seed)
        data = Data(file="", kind="places", items=str(items), reach=REACH)
        moot = establish(place / "moot", list(files), Place("localhost", find_port()), data)
        if epsilon is not None:
            for name in files:
                policy = moot.find_kit(name) / POLICY
                write(policy, policy.read_text() + BUDGET.format(epsilon=float(epsilon)))
    problem = place / "problem.toml"
    title = TITLE.format(clinics=clinics)
    how = IN_COHORTS if epsilon is None else UNDER_NOISE.format(epsilon=float(epsilon))
    write(problem, PROBLEM.format(seed=seed, clinics=clinics, title=title, credit=CREDIT, how=how))
    _explain(out, people, len(files), epsilon)
    joins = {name: ["--data", str(file.absolute())] for name, file in files.items()}
    with report_stop(), Loopback(moot.folder, joins):
        asked = Problem.load(problem, folder=place / "run", federation=str(moot.server))
        announce = partial(show_outlook, quiet=as_json)
        finished = begin_run(asked, partial(show_work, quiet=as_json), announce).write_wanted_report()
    show_run(finished, report=True, as_json=as_json)


def _explain(out: "Console", people: int, parties: int, epsilon: float | None) -> None:
    noise = (
        ""
        if epsilon is None
        else " Every service adds noise to its sum before it is masked, so that single patients are hidden in all "
        "that leaves, as far as ε says, and counts what each patient has given away."
    )
    out.print(
        f"{people:,} patients of {parties} health services, each in processes of its own, connected by TLS on this "
        "machine only. In every round each service adds up its own patients' answers, masks the sum, and sends that. "
        "The server learns only sums over several services, even if it and one service break all rules." + noise
    )
