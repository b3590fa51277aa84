"""`folkmoot`: one command per job. Errors of input are one sentence and exit code 2, failures one sentence and 1."""

import atexit
import gc
import re
import shlex
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from folkmoot.cli import compare, demo, federation, init, inspect, runs, secagg
from folkmoot.cli.flags import spell_flag
from folkmoot.cli.output import guard_output
from folkmoot.foundation.errors import FolkmootError, InputError
from folkmoot.version import __version__

NUMBERS = {  # what the library that reads options calls them, and we
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
}
UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # what is wrong with options and arguments


class StoppableCommands(TyperGroup):
    """Commands that say that they were stopped: the library would end them without a word."""

    def make_context(self, *args: Any, **named: Any) -> Any:
        with runs.report_stop():
            return super().make_context(*args, **named)

    def invoke(self, ctx: Any) -> Any:
        with runs.report_stop():
            return super().invoke(ctx)


app = typer.Typer(
    name="folkmoot",
    cls=StoppableCommands,
    context_settings={"help_option_names": ["--help", "--help-all"]},  # some commands have options of these names
    epilog="Begin with: folkmoot demo, or folkmoot run ratings.csv --choose 20",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command, example in (
    (demo.demo, "folkmoot demo"),
    (runs.run, "folkmoot run ratings.csv --items movies.csv --choose 20 --at-most 2 --per genres"),
    (compare.compare, "folkmoot compare ratings.csv --choose 20 --methods auto,greedy,popularity"),
    (inspect.inspect, "folkmoot inspect ratings.csv"),
    (init.init, "folkmoot init films.toml --file ratings.csv"),
    (runs.report, "folkmoot report ratings-run --png --markdown"),
    (runs.resume, "folkmoot resume ratings-run"),
    (runs.verify, "folkmoot verify ratings-run"),
):
    app.command(epilog=f"Example: {example}")(command)
app.add_typer(secagg.app, name="secagg")
app.add_typer(federation.app, name="federation")
atexit.register(gc.freeze)  # looking for garbage in all that was loaded, just before it goes, takes a tenth of a second


def _version(wanted: bool) -> None:
    if wanted:
        print(f"folkmoot {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
]


@app.callback()
def folkmoot(version: Version = False) -> None:
    """Choose the best set of items for a population without collecting individual data."""


def main() -> None:
    sys.exit(guard_output(_run_command))


def _run_command() -> int:
    """What was typed; the exit code."""
    try:
        code: int | None = app(prog_name="folkmoot", standalone_mode=False)
        print(end="", flush=True)  # what is left of the output
        return code or 0
    except UsageError as error:
        if str(error):  # else help was shown instead
            print(f"folkmoot: {_plain(_sentence(error))}", file=sys.stderr)
        return 2
    except FolkmootError as error:
        print(f"folkmoot: {_plain(str(error))}", file=sys.stderr)
        for name, value in getattr(error, "ways", ()):  # whole commands, to choose from
            print(
                f"    {_plain(shlex.join(['folkmoot', *sys.argv[1:]]))} {_plain(spell_flag(name, value))}",
                file=sys.stderr,
            )
        return 2 if isinstance(error, InputError) else 1
    except OSError as error:
        print(f"folkmoot: {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return runs.admit_stop().exit_code


def _plain(said: str) -> str:
    """One line without control signs: names in files are not to steer a terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in said)


def _sentence(error: Exception) -> str:
    """What is wrong with a command line, and where to read on."""
    said = getattr(error, "format_message", lambda: str(error))()
    for theirs, ours in NUMBERS.items():
        said = re.sub(
            rf"Invalid value for '(.*)': Input should be a valid {theirs}\b.*", rf"\1: {ours} is needed", said
        )
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "folkmoot"
    return f"{said.rstrip('.')}; see {where} --help"
