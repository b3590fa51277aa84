"""`folkmoot run`, `resume`, `verify`, `report`: one run, from its beginning to what is shown of it."""

import errno
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.help import LAST
from folkmoot.cli.options import AtMost, Per, Seed, Settings, Where, Within, add_settings, load_problem
from folkmoot.cli.show import Json, Quiet
from folkmoot.foundation.errors import FolkmootError, InputError
from folkmoot.foundation.settings import Choose, Data, How, Output, PrivacySettings

if TYPE_CHECKING:
    from folkmoot.application.problem import Problem
    from folkmoot.application.run import FinishedRun
    from folkmoot.application.verification import Verification

STOPPED = 130
NOTHING_KEPT = "nothing was kept"
NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.", rich_help_panel=LAST)]


@add_settings(Data, Choose, How, PrivacySettings, Output)
def run(
    path: Where,
    *,
    at_most: AtMost = None,
    per: Per = None,
    within: Within = None,
    seed: Seed = None,
    settings: Settings = None,
    no_report: NoReport = False,
    quiet: Quiet = False,
    as_json: Json = False,
    given: dict[str, Any],
) -> None:
    """Choose the best set for everyone, and write a report."""
    with report_stop(NOTHING_KEPT):
        problem = load_problem(path, given, at_most, per, within, seed, settings)
    run_problem(problem, report=not no_report, quiet=quiet, as_json=as_json)


def run_problem(problem: "Problem", *, report: bool, as_json: bool, quiet: bool = False) -> None:
    """Carry out what was asked for on the command line, and show it."""
    with report_stop(NOTHING_KEPT):
        from folkmoot.application.run import begin_run
        from folkmoot.cli.show import show_outlook, show_work

    silent = as_json or quiet
    with report_stop():
        finished = begin_run(
            problem,
            partial(show_work, quiet=silent),
            partial(show_outlook, quiet=silent),
            progress=False if quiet else None,
        )
        report_run(finished, report=report, quiet=quiet, as_json=as_json)


def resume(
    path: RunPath,
    *,
    cluster: Annotated[str | None, typer.Option(help="Another Dask cluster than the run was begun on.")] = None,
    federation: Annotated[
        Path | None, typer.Option(help="Where the server's kit is now, if it is not where the run was begun.")
    ] = None,
    no_report: NoReport = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Continue a run that was stopped."""
    from folkmoot.application.run import continue_run
    from folkmoot.cli.show import show_work

    with report_stop():
        finished = continue_run(
            path,
            partial(show_work, quiet=as_json or quiet),
            cluster=cluster,
            federation=federation,
            progress=False if quiet else None,
        )
        report_run(finished, report=not no_report, quiet=quiet, as_json=as_json)


def verify(
    path: RunPath,
    *,
    sums_only: Annotated[
        bool, typer.Option("--sums-only", help="From the transcript alone, without the data.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but what does not fit.")] = False,
    as_json: Json = False,
) -> None:
    """Compute a finished run again, question by question, and say whether everything in its folder fits."""
    from folkmoot.application.run import is_networked
    from folkmoot.application.verification import check_run
    from folkmoot.cli.show import console, print_json, show_work

    networked = is_networked(path)
    sums_only = sums_only or networked
    doing = "computing every question again …" if sums_only else "computing every sum again …"
    with show_work(doing, quiet=as_json or quiet):
        found = check_run(path, data=not sums_only)
    if as_json:
        rounds = len(found.result.rounds or ())
        noise = found.result.privacy is not None  # cannot be computed again
        about = {"run": str(path), "verified": True, "rounds": rounds, "from": "sums" if sums_only or noise else "data"}
        print_json({**about, "checked": found.checked, "unchecked": found.unchecked, "missing": found.missing})
        return
    if quiet:
        return
    told = describe_verification(found, networked=networked, data=not sums_only)
    console().print(f"{path}: {told}", soft_wrap=True)


def describe_verification(found: "Verification", *, networked: bool, data: bool) -> str:
    """What was shown, and what was not."""
    rounds = len(found.result.rounds or ())
    many = f"{rounds} rounds, " if rounds > 1 else f"{rounds} round, " if rounds else ""
    files = join_words(found.checked)
    verb = "are" if len(found.checked) > 1 else "is"
    asked = "; no party was asked" if networked else ""
    if found.result.privacy is not None:
        told = (
            f"{many}every question and the choice follow from the sums in the transcript. These hold noise, so they "
            f"were replayed, not computed again{asked}."
        )
        if data:
            told += f" Apart from that, {files} {verb} what the data gives."
    else:
        again = "what the data gives" if data else "what follows from the sums in the transcript"
        told = f"{many}{files} {verb} {again}{asked}."
    if found.missing:
        told += f"\nMissing: {join_words(found.missing)}."
    return f"{told}\nNot checked, because nothing here can show it: {join_words(found.unchecked)}."


def join_words(words: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def report(
    path: RunPath,
    *,
    html: Annotated[Path | None, typer.Option(help="Where the page goes; in the run's folder unless given.")] = None,
    png: Annotated[bool, typer.Option("--png", help="Write the charts as pictures too.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write Markdown too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only where the report is.")] = False,
    as_json: Json = False,
) -> None:
    """Write the report of a finished run, from its data; without, as far as that goes."""
    from folkmoot.application.run import open_run
    from folkmoot.cli.show import console, print_json, show_work

    finished = open_run(path, partial(show_work, quiet=as_json or quiet))
    if html is not None and not html.parent.is_dir():
        raise InputError(f"there is no folder {html.parent}", argument="--html")
    with report_stop():
        try:
            written = finished.write_report(html=html or True, png=png, markdown=markdown)
        except OSError as error:
            raise refuse_writing(error) from None
    if as_json:
        files = [str(one) for one in written.files]
        print_json({"run": str(path), "files": files, "lacking": written.lacking or None})
        return
    if written.lacking and not quiet:
        console().print(written.lacking, soft_wrap=True)
    for one in written.files:
        console().print(f"{one}", soft_wrap=True)


def report_run(finished: "FinishedRun", *, report: bool, as_json: bool, quiet: bool = False) -> None:
    """Write the report that is wanted, and show the answer: even if there is no room for a report."""
    try:
        written = finished.write_wanted_report() if report else finished
    except OSError as error:
        show_run(finished, report=False, quiet=quiet, as_json=as_json)
        remedy = f"`folkmoot report {finished.folder.path}` writes the report later"
        raise refuse_writing(error, remedy) from None
    show_run(written, report=report, quiet=quiet, as_json=as_json)


def refuse_writing(error: OSError, remedy: str | None = None) -> FolkmootError:
    """What to say of a file that cannot be written: wrong input where that is not allowed, a failure otherwise."""
    kind = InputError if error.errno in NOT_ALLOWED else FolkmootError
    why = (error.strerror or "no reason given").lower()
    return kind(f"cannot be written ({why})", place=error.filename, remedy=remedy)


def show_run(finished: "FinishedRun", *, report: bool, as_json: bool, quiet: bool = False) -> None:
    """The answer, and where everything about it is; `quiet`: only where it is."""
    from folkmoot.cli.show import console, print_json, show_story

    if as_json:
        print_json(finished.document())
        return
    out = console()
    if quiet:
        out.print(f"{finished.folder.path}", soft_wrap=True)
        return
    show_story(out, finished.story(compare=report))
    if report and not any(one.suffix == ".html" for one in finished.files):
        out.print("For pages with charts: pip install 'folkmoot[report]', then folkmoot report.")
    for one in finished.files:
        out.print(f"Report: {one}", soft_wrap=True)
    out.print(f"Run:    {finished.folder.path} (folkmoot verify, folkmoot report)", soft_wrap=True)


@contextmanager
def report_stop(kept: str = "") -> Iterator[None]:
    """Ctrl-C is one sentence: what was stopped says how to continue it; else `kept` says what is left of it."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise admit_stop(str(stop) or kept) from None


def admit_stop(left: str = "") -> typer.Exit:
    """Say that somebody stopped a command, and what is left of it; the end of the command."""
    print("\nfolkmoot: stopped" + (f"; {left}" if left else ""), file=sys.stderr)
    return typer.Exit(STOPPED)
