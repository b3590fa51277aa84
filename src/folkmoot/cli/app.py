"""`folkmoot`: one command a job. Errors of input are one sentence and exit code 2, failures one sentence and 1."""

import sys

import typer

from folkmoot.cli import secagg
from folkmoot.errors import FolkmootError, InputError

app = typer.Typer(
    name="folkmoot",
    help="Picks the best set of things for everyone, without anyone showing what they like.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(secagg.app, name="secagg")


def main() -> None:
    try:
        app(prog_name="folkmoot")
    except FolkmootError as error:
        print(f"folkmoot: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except OSError as error:
        print(f"folkmoot: {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("folkmoot: stopped", file=sys.stderr)
        sys.exit(130)
