"""Options of commands, made from the same settings that a problem file has: one help text for both."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

import typer

from folkmoot.application.origin import as_keyword
from folkmoot.application.problem import Problem
from folkmoot.cli.flags import FLAGS, as_flag
from folkmoot.cli.help import LAST, METHOD, NEEDED, arrange
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Choose, Data, How, Output, PrivacySettings

PANELS = {Data: "data", Choose: "choose", How: METHOD, PrivacySettings: METHOD, Output: LAST}
SECTIONS = {Data: "data", Choose: "choose", How: "method", PrivacySettings: "privacy", Output: "output"}
HELPS = ("show_help", "show_all_help")
DATA_ARGUMENT = "file"  # is no option: it stands by itself

Seed = Annotated[int | None, typer.Option(help="The same seed gives the same answer.", rich_help_panel="choose")]
Where = Annotated[Path, typer.Argument(help="A problem file (.toml), or a file of data.", show_default=False)]
AtMost = Annotated[
    list[int] | None,
    typer.Option(help="At most so many of each group; one for each --per.", rich_help_panel="choose"),
]
Per = Annotated[
    list[str] | None, typer.Option(help="Column of the items file that makes the groups.", rich_help_panel="choose")
]
Within = Annotated[
    str | None,
    typer.Option(
        help="Column that the groups of the last --per lie within: a region of a country.",
        rich_help_panel="choose",
        hidden=True,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other setting of the method, as NAME=VALUE.", rich_help_panel=METHOD, hidden=True),
]


def add_settings(
    *kinds: type, only: Mapping[type, Collection[str]] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add an option for every setting of these kinds; the command receives those that were given as `given`. `only`:
    the settings of a kind that are wanted. What is needed comes first in help.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(command).parameters.values() if one.name != "given"]
        added = [option for kind in kinds for option in _options(kind, (only or {}).get(kind), needed=How in kinds)]
        lists = _find_lists(kinds)

        def call(**values: Any) -> None:
            given = {option.name: values.pop(option.name) for option in added}
            for name in HELPS:
                values.pop(name)
            given = {
                name: _split(value) if name in lists else value
                for name, value in given.items()
                if value is not None and value != []
            }
            command(**values, given=given)

        call.__doc__, call.__name__ = command.__doc__, command.__name__
        all_of = [kind for kind in kinds if kind not in (only or {})]
        parameters = arrange([*own, *added], {name for kind in all_of for name in _list_names(kind)})
        call.__dict__["__signature__"] = inspect.Signature(parameters)
        call.__annotations__ = {one.name: one.annotation for one in parameters}
        return call

    return decorate


def _options(kind: type, only: Collection[str] | None, *, needed: bool) -> list[inspect.Parameter]:
    """An option for each setting, by the keyword that `Problem.load` has for it. `needed`: whether the command needs to
    know how many are chosen.
    """
    out = []
    for one in fields(kind):
        if one.name == DATA_ARGUMENT or (only is not None and one.name not in only):
            continue
        name = as_keyword(SECTIONS[kind], one.name)
        types = get_args(one.type) if isinstance(one.type, UnionType) else (one.type,)
        inner: Any = next(part for part in types if part is not type(None))
        inner = list[str] if get_origin(inner) is tuple else inner
        choices = one.metadata["choices"]
        flag = as_flag(name)
        option = typer.Option(
            flag if inner is not bool else f"{flag}/{as_flag(f'no_{name}')}",
            help=_describe(one.metadata["about"], choices),
            rich_help_panel=NEEDED if needed and name == "choose" else PANELS[kind],
            metavar="NAME" if choices else None,
            autocompletion=_complete(choices),
            show_default=False,
        )
        keyword = inspect.Parameter.KEYWORD_ONLY
        out.append(inspect.Parameter(name, keyword, default=None, annotation=Annotated[inner | None, option]))
    return out


def _list_names(kind: type) -> list[str]:
    return [as_keyword(SECTIONS[kind], one.name) for one in fields(kind)]


def _describe(about: str, choices: tuple[str, ...]) -> str:
    return f"{about} One of {', '.join(choices)}." if choices else about


def _find_lists(kinds: Collection[type]) -> set[str]:
    """The settings that are lists of words, typed with commas between them or as several options."""
    return {
        as_keyword(SECTIONS[kind], one.name) for kind in kinds for one in fields(kind) if get_origin(one.type) is tuple
    }


def _split(given: list[str]) -> tuple[str, ...]:
    return tuple(word.strip() for words in given for word in words.split(",") if word.strip())


def _complete(choices: tuple[str, ...]) -> Callable[[], list[str]] | None:
    return (lambda: list(choices)) if choices else None


def load_problem(
    path: Path,
    given: dict[str, Any],
    at_most: list[int] | None = None,
    per: list[str] | None = None,
    within: str | None = None,
    seed: int | None = None,
    settings: list[str] | None = None,
) -> Problem:
    """A problem file with options before it, or data and options alone."""
    changes: dict[str, Any] = {**given, "limits": _limits(at_most or [], per or [], within)}
    changes |= {"settings": _settings(settings or [])} | ({} if seed is None else {"seed": seed})
    if path.suffix == ".toml":
        return Problem.load_in_words(path, changes, FLAGS)
    return Problem.from_data_in_words(path, changes, FLAGS)


def _limits(at_most: list[int], per: list[str], within: str | None) -> list[dict[str, Any]]:
    if len(at_most) != len(per):
        more, fewer = ("--at-most", "a --per") if len(at_most) > len(per) else ("--per", "an --at-most")
        raise InputError(
            f"needs {fewer} beside each ({max(len(at_most), len(per))} and {min(len(at_most), len(per))} were given)",
            argument=more,
            remedy="write --at-most 2 --per genre",
        )
    if within is not None and not per:
        raise InputError(
            "needs groups to lie within it",
            argument="--within",
            remedy="write --at-most 1 --per region --within country",
        )
    limits: list[dict[str, Any]] = [{"at_most": most, "per": group} for most, group in zip(at_most, per, strict=True)]
    if within is not None:
        limits[-1]["within"] = within
    return limits


def _settings(pairs: list[str]) -> dict[str, Any]:
    """NAME=VALUE, the value as TOML has it, or text."""
    import tomllib

    out: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise InputError(f"needs NAME=VALUE, got {pair!r}", argument="--set")
        try:
            out[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            out[name.strip()] = value
    return out
