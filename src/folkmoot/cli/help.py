"""Help that fits on two screens: the usual options in few words, what is needed first. `--help-all` shows every one."""

import inspect
from collections.abc import Collection
from copy import copy
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperOption

NEEDED = "needed"
METHOD = "method and privacy"
LAST = "output and help"
OWN = "of this command"
ORDER = (NEEDED, OWN, "choose", "data", METHOD, LAST)
# The options that most people need, and how they are said in few words; the others are for --help-all.
USUAL = {
    "choose": "How many items in all (unless the problem file says it).",
    "at_most": "At most so many of each group; one for each --per.",
    "per": "Column of the items file that makes the groups.",
    "seed": "The same seed gives the same answer.",
    "seeds": "How many seeds, from --seed on.",
    "items": "File about the items: names, attributes, positions.",
    "kind": "ratings, memberships, distances, places or tables.",
    "client": "Column that says whose row it is.",
    "item": "Column that says which item.",
    "value": "Column with the rating, distance or weight.",
    "reach": "Beyond so many kilometres an item is of no use.",
    "target": "Tables: column that is to be predicted.",
    "method": "auto, greedy (sees all data), popularity, random, …",
    "methods": "Names with commas between; the usual ones unless given.",
    "cohort": "Clients asked in a round; 1,000 unless given.",
    "epsilon": "Noise that hides each client; 1 hides well.",
    "secure": "ideal, real (every byte of it, slowly) or plain.",
    "folder": "Folder of the run; else named after the data.",
    "title": "Title of the report.",
    "no_report": "Write no report.",
    "quiet": "Print only where the answer is.",
    "as_json": "Print JSON, for scripts.",
    "show_help": "Show this.",
    "show_all_help": "Show every option, in full.",
}


def arrange(parameters: list[inspect.Parameter], others: Collection[str]) -> list[inspect.Parameter]:
    """The parameters of a command in the order of help, with two options that show it; those of the `others` that are
    not usual are hidden.
    """
    full: dict[str, str] = {}
    arguments, options = [], []
    for one in parameters:
        if one.kind is not inspect.Parameter.KEYWORD_ONLY:
            arguments.append(one)
            continue
        kind, option = get_args(one.annotation)
        full[one.name] = option.help
        brief = copy(option)
        brief.help = USUAL.get(one.name, option.help)
        brief.hidden = option.hidden or (one.name in others and one.name not in USUAL)
        brief.rich_help_panel = _find_panel(one, option)
        brief.metavar = _name_value(kind) if option.metavar is None else option.metavar
        options.append(one.replace(annotation=Annotated[kind, brief]))
    options += [_make_help("--help", "show_help", None), _make_help("--help-all", "show_all_help", full)]
    return [*arguments, *sorted(options, key=lambda one: ORDER.index(get_args(one.annotation)[1].rich_help_panel))]


def _find_panel(parameter: inspect.Parameter, option: Any) -> str:
    if parameter.default is inspect.Parameter.empty:
        return NEEDED
    if option.rich_help_panel in ORDER:
        return str(option.rich_help_panel)
    return LAST if parameter.name in USUAL else OWN


def _name_value(kind: Any) -> str:
    """What a value looks like; nothing for a flag, which has none."""
    if inner := [part for part in get_args(kind) if part is not type(None)]:
        return _name_value(inner[0])
    return {bool: "", int: "N", float: "X"}.get(kind, "TEXT")


def _make_help(flag: str, name: str, full: dict[str, str] | None) -> inspect.Parameter:
    """An option that shows help and stops; with every option, where their full help is given."""

    def show(context: typer.Context, wanted: bool) -> None:
        if not wanted:
            return
        for option in context.command.params:
            if full is not None and isinstance(option, TyperOption) and option.name in full:
                option.hidden, option.help = False, full[option.name]
        typer.echo(context.get_help())
        raise typer.Exit

    option = typer.Option(flag, help=USUAL[name], callback=show, is_eager=True, rich_help_panel=LAST, metavar="")
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])
