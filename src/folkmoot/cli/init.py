"""`folkmoot init`: a commented problem file to begin with."""

from pathlib import Path
from typing import Annotated, Any

import typer

from folkmoot.cli.options import add_settings
from folkmoot.cli.show import Json
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Data


@add_settings(Data)
def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("problem.toml"),
    *,
    file: Annotated[str, typer.Option(help="The file with the data.", rich_help_panel="data")] = "ratings.csv",
    as_json: Json = False,
    given: dict[str, Any],
) -> None:
    """Write a commented problem file."""
    from folkmoot.application.folder import write
    from folkmoot.application.template import make_template
    from folkmoot.cli.show import console, print_json

    if path.exists():
        raise InputError("already exists", remedy="give another name", place=path)
    if path.suffix != ".toml":
        raise InputError("a problem file ends in .toml", place=path)
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", place=path)
    write(path, make_template(Data(file=file, **given)))
    if as_json:
        print_json({"file": str(path)})
    else:
        console().print(f"{path} is written. Edit it, then: folkmoot run {path}", soft_wrap=True)
