"""From the tables of a problem file, and settings that are given besides, to settings that are checked."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, get_args, get_origin

from folkmoot.application.origin import SECTIONS, SETTINGS, Origin, Wording, as_keyword
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Data, How, Limited

FILES = ("file", "items", "folder", "federation")  # settings that name a file
LIMIT = tuple(one.name for one in fields(Limited))  # the parts of a limit
WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Changes:
    """Settings that go before those of a file."""

    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # section, name, value
    limits: tuple[Mapping[str, Any], ...] = ()  # come after those of the file
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the method, beyond those that all methods have

    @classmethod
    def from_keywords(cls, changes: Mapping[str, Any]) -> "Changes":
        """Every setting by its name, `choose` (how many), `method` (its name), `seed`, `limits` (a list of mappings
        such as {"at_most": 2, "per": "genre"}), the parts of one more limit, and `settings` (any others of the
        method, by name).
        """
        known = {as_keyword(section, one.name): (section, one.name) for section, one in list_settings()}
        known["seed"] = ("", "seed")
        sections: dict[str, dict[str, Any]] = {}
        limits, settings = changes.get("limits", ()), changes.get("settings", {})
        limit = {name: changes[name] for name in LIMIT if name in changes}
        if not isinstance(limits, list | tuple) or not all(isinstance(one, Mapping) for one in limits):
            wanted = 'a list such as [{"at_most": 2, "per": "genre"}]'
            raise InputError(f"needs {wanted}, got {limits!r}", argument="limits")
        if not isinstance(settings, Mapping):
            raise InputError(f"needs names and values such as {{'polish': 3}}, got {settings!r}", argument="settings")
        for name, value in changes.items():
            if name in ("limits", "settings", *LIMIT):
                continue
            if name not in known:
                raise InputError(f"is no setting{_suggest(name, [*known, 'limits', 'settings'])}", argument=name)
            section, own = known[name]
            sections.setdefault(section, {})[own] = os.fspath(value) if isinstance(value, os.PathLike) else value
        return cls(sections, (*limits, *([limit] if limit else [])), settings)

    @property
    def names(self) -> frozenset[tuple[str, str]]:
        beyond = {(SETTINGS, name) for name in self.settings}
        return frozenset({(section, name) for section, given in self.sections.items() for name in given} | beyond)


def as_file(given: object, name: str) -> Path:
    """The path of a file, without loading what checks numbers too."""
    if not isinstance(given, str | os.PathLike):
        table = hasattr(given, "columns")  # a DataFrame, whose text has many lines
        raise InputError(
            f"needs the name of a file, got {type(given).__name__ if table else repr(given)}",
            remedy="folkmoot.load and folkmoot.solve take tables" if table else None,
            argument=name,
        )
    return Path(given)


def list_settings() -> list[tuple[str, Any]]:
    """Every section and setting that occurs once in a problem."""
    return [(section, one) for section, kind in SECTIONS.items() if section != "limit" for one in fields(kind)]


def read_document(path: Path, changes: Changes, wording: Wording) -> tuple[dict[str, Any], Origin]:
    """The tables of a problem file, and where everything in it stands."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError((error.strerror or "cannot be read").lower(), place=path) from None
    except UnicodeDecodeError:
        raise InputError("is not text in UTF-8", place=path) from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said, _, where = str(error).partition(" (at ")
        place = f"{path}, {where.rstrip(')') or 'line 1'}"
        raise InputError(f"{said[:1].lower()}{said[1:]}", place=place) from None
    origin = Origin(path, text, wording=wording)
    for name, value in document.items():
        table = isinstance(value, dict | list)
        if name not in SECTIONS and name != "seed":
            line = origin.find_line(name) if table else origin.find_line("", name)
            raise InputError(_unknown(name, ["seed", *SECTIONS], "a problem"), place=origin.at_line(line))
        fits = isinstance(value, list if name == "limit" else dict) if name != "seed" else True
        if not fits or (name == "limit" and not all(isinstance(one, dict) for one in value)):
            wanted = f"[[{name}]]" if name == "limit" else f"[{name}]"
            raise InputError(f"{name} must be a table", remedy=f"write {wanted} on a line of its own", place=path)
    return document, Origin(path, text, changes.names, len(document.get("limit", [])), wording)


def assemble(document: Mapping[str, Any], changes: Changes, origin: Origin) -> dict[str, Any]:
    """The parts of a problem, every value checked; mistakes are told with their place."""
    method = dict(document.get("method", {}))
    common = {one.name for one in fields(How)}
    beyond = {name: method.pop(name) for name in list(method) if name not in common}
    parts = {**document, "method": method}

    def fill(section: str) -> dict[str, Any]:
        return fill_section(section, parts.get(section, {}), changes.sections.get(section, {}), origin)

    limits = [fill_section("limit", one, {}, origin, at) for at, one in enumerate(document.get("limit", []))]
    limits += [fill_section("limit", {}, one, origin, len(limits) + at) for at, one in enumerate(changes.limits)]
    filled = {section: fill(section) for section in SECTIONS if section != "limit"}
    if filled["data"].get("file") is None and filled["privacy"].get("federation") is None:
        file = next(one for one in fields(Data) if one.name == "file")
        _refuse_missing("data", file, origin, bool(changes.sections.get("data")))
    if origin.path is not None:  # files are named from where the problem file is
        for section in ("data", "privacy", "output"):
            for name in FILES:
                if filled[section].get(name) and name not in changes.sections.get(section, {}):
                    filled[section][name] = str(origin.path.parent / filled[section][name])
    seed = changes.sections.get("", {}).get("seed", document.get("seed", 0))
    try:
        check_value("seed", int, (), seed)
        if seed < 0:
            raise InputError(f"needs a whole number of at least 0, got {seed}", argument="seed")
    except InputError as error:
        raise origin.locate_at(error, "", "seed") from None
    return {
        **{section: SECTIONS[section](**values) for section, values in filled.items()},
        "limits": tuple(Limited(**one) for one in limits),
        "settings": {**beyond, **changes.settings},
        "seed": seed,
        "origin": origin,
    }


def fill_section(
    section: str, table: Mapping[str, Any], given: Mapping[str, Any], origin: Origin, number: int = 0
) -> dict[str, Any]:
    """What a table of a file says of these settings, and what is given, which goes first."""
    known = {one.name: one for one in fields(SECTIONS[section])}
    for name in table:
        if name not in known:
            line = origin.find_line(section, name, number)
            raise InputError(_unknown(name, list(known), f"[{section}]"), place=origin.at_line(line))
    for name in given:
        if name not in known:
            raise InputError(
                _unknown(name, list(known), "a limit"), argument=origin.wording.name(section, name, number)
            )
    out: dict[str, Any] = {}
    for name, one in known.items():
        if name in given or name in table:
            said = given[name] if name in given else table[name]
            try:
                out[name] = check_value(name, one.type, one.metadata["choices"], said)
            except InputError as error:
                raise origin.locate_at(error, section, name, number) from None
        elif one.default is MISSING:
            _refuse_missing(section, one, origin, bool(given), number)
    return out


def _refuse_missing(section: str, one: Any, origin: Origin, given: bool, number: int = 0) -> NoReturn:
    """Raise an error: a setting is needed; `given`: others of its section were given besides the file."""
    about = one.metadata["about"].rstrip(".").lower()
    if origin.path is None or given:
        raise origin.locate_at(InputError(f"is needed: {about}"), section, one.name, number)
    place = origin.at_line(origin.find_line(section, "", number))
    raise InputError(f"[{section}] needs `{one.name}`: {about}", place=place)


def check_value(name: str, kind: Any, choices: tuple[str, ...], value: Any) -> Any:
    """The value, if it is of the type and among the choices that a setting has. A list of names may be written as one
    text with commas.
    """
    if get_origin(kind) is tuple:
        return _check_names(name, value)
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    wanted = next(one for one in kinds if one is not type(None))
    taken = (int, float) if wanted is float else wanted
    if value is None and type(None) in kinds:
        return None
    if not isinstance(value, taken) or (isinstance(value, bool) and wanted is not bool):
        raise InputError(f"needs {WORDS[wanted]}, got {value!r}", argument=name)
    if choices and value not in choices:
        raise InputError(f"may be {', '.join(choices)}, not {value!r}{_suggest(str(value), choices)}", argument=name)
    return value


def _check_names(name: str, value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise InputError(f"needs a list of names, got {value!r}", argument=name)
    return tuple(one.strip() for one in names if one.strip())


def _unknown(name: str, known: list[str], of: str) -> str:
    return f"{of} has {', '.join(known)}, not {name!r}{_suggest(name, known)}"


def _suggest(name: str, known: Any) -> str:
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
