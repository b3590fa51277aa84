"""`folkmoot demo`: the main job on real places, end to end."""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli.flags import name_flags
from folkmoot.cli.output import ReaderGone
from folkmoot.cli.show import Json
from folkmoot.foundation.errors import InputError

FEWEST_PEOPLE, MOST_PEOPLE = 1_000, 1_000_000
ASKED, JURIES, CORRUPT = 300, 5, 0.05
ROUNDS = 12, 24  # of the search, at least and at most: one for each clinic
TITLE = (
    "Where should {clinics} clinics be, so that {people:,} people live close to one, without collecting where they "
    "live?"
)


def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Where the demo's files go; folkmoot-demo unless given.", show_default=False)
    ] = None,
    *,
    clinics: Annotated[int, typer.Option(help="How many clinics are built.")] = 12,
    people: Annotated[int, typer.Option(help="How many people there are.")] = 100_000,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Noise hides every single person: see folkmoot run --help. All people are asked."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws homes, cohorts and coins.")] = 0,
    as_json: Json = False,
) -> None:
    """Where should 12 clinics be, so that 100,000 people live close to one, without collecting where they live?"""
    from folkmoot.application.folder import number_folder, write
    from folkmoot.application.problem import Problem
    from folkmoot.application.run import begin_run
    from folkmoot.cli.runs import report_stop, show_run
    from folkmoot.cli.show import console, show_outlook, show_view, show_work
    from folkmoot.demo import CREDIT, places, write_files
    from folkmoot.privacy.accounting import check_epsilon

    check_numbers(clinics, people, seed, FEWEST_PEOPLE)
    if epsilon is not None:
        with name_flags(epsilon="--epsilon"):
            check_epsilon(epsilon)
    with name_flags(folder="FOLDER"):
        place = number_folder("folkmoot-demo", None if folder is None else str(folder))
    with show_work("drawing homes …", quiet=as_json):
        write_files(place, people, seed)
    problem = place / "problem.toml"
    title = TITLE.format(clinics=clinics, people=people)
    about = {"title": title, "clinics": clinics, "seed": seed, "credit": CREDIT}
    if epsilon is None:
        rounds = min(max(clinics, ROUNDS[0]), ROUNDS[1])
        how = IN_COHORTS.format(asked=ASKED, juries=JURIES, corrupt=CORRUPT, rounds=rounds)
    else:
        how = UNDER_NOISE.format(epsilon=epsilon, corrupt=CORRUPT)
    write(problem, PROBLEM.format(how=how, show="false" if epsilon is not None else "true", **about))
    if not as_json:
        with suppress(ReaderGone):
            console().print(f"{people:,} people, {len(places())} towns of Italy. {_introduce(people, epsilon)}")
    asked = Problem.load(problem, folder=place / "run")
    announce = partial(show_outlook, quiet=as_json)
    with report_stop():
        run = begin_run(asked, partial(show_work, quiet=as_json), announce).write_wanted_report()
    show_run(run, report=True, as_json=as_json)
    if not as_json:
        show_view(console(), run.story())


def _introduce(people: int, epsilon: float | None) -> str:
    if epsilon is not None:
        return (
            "Everybody is asked in every round, in a simulation of secure aggregation, and adds a share of noise: with "
            f"{CORRUPT:.0%} of the people on the server's side, single people are hidden in all that it sees, as far "
            "as ε says."
        )
    return (
        f"{'' if people > JURIES * ASKED else 'Up to '}{ASKED} people are asked at a time, and only their sum is "
        "learned: every byte of secure aggregation, against a malicious server with "
        f"{CORRUPT:.0%} of the people on its side."
    )


def check_numbers(clinics: int, people: int, seed: int, fewest: int) -> None:
    """Refuse demos that cannot be."""
    from folkmoot.demo import places

    if not fewest <= people <= MOST_PEOPLE:
        raise InputError(f"needs {fewest:,} to {MOST_PEOPLE:,}, got {people:,}", argument="--people")
    if seed < 0:
        raise InputError(f"needs a whole number of at least 0, got {seed}", argument="--seed")
    if not 1 <= clinics <= len(places()):
        raise InputError(f"needs 1 to {len(places())}, the number of towns, got {clinics:,}", argument="--clinics")


PROBLEM = """# The demo's problem. Change it and run it again: folkmoot run problem.toml
seed = {seed}

[data]
file = "people.csv"        # where everybody lives
items = "places.csv"       # where a clinic can stand: everybody knows
kind = "places"
credit = "{credit}"
reach = 100.0              # km: a clinic further away is of no use

[choose]
count = {clinics}

{how}
[output]
title = "{title}"
show_client = {show}         # what one person said: this one was drawn at random
"""

IN_COHORTS = """[method]
name = "auto"              # one clinic after the other, each where it helps most
cohort = {asked}               # people who are asked in a round
rounds = {rounds}                # of the search
jury = {asked}                 # people who score what was found
juries = {juries}                 # so many juries say together how good it is
polish = 0                 # no rounds in which they may swap one clinic for another

[privacy]
secure = "real"            # every byte of secure aggregation, against a malicious server
corrupt = {corrupt}             # share of the people who may work for it
"""

UNDER_NOISE = """[privacy]
epsilon = {epsilon}              # noise hides every single person: nothing seen is e^epsilon times as likely with one
secure = "ideal"           # sums as secure aggregation gives them: everybody is asked, which would take hours in full
corrupt = {corrupt}             # share of the people who may work for the server
"""
