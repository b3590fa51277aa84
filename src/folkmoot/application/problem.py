"""A problem as people write it down: a file in TOML, or the options of a command. Mistakes are told with their line."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, get_args

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Choose, Data, How, Limited, Output, Privacy

Given = Mapping[str, Mapping[str, Any]]  # section, name, value


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything that decides a run, and where each part of it was said."""

    data: Data
    choose: Choose
    limits: tuple[Limited, ...]
    method: How
    settings: Mapping[str, Any]  # of the method, beyond those above
    privacy: Privacy
    output: Output
    seed: int
    source: "ProblemText"

    def at(self, section: str, name: str = "") -> str:
        """Where a setting was made: a line of the file, or an option."""
        return self.source.at(section, name)

    @contextmanager
    def locate_errors(self, *sections: str) -> Iterator[None]:
        """Errors on the way name the place of the setting that they speak of, or quote."""
        try:
            yield
        except InputError as error:
            text = str(error)
            if self.source.path is not None and text.startswith(f"{self.source.path}, line "):
                raise
            for number, limit in enumerate(self.limits if "limit" in sections else ()):
                if any(value in text for value in (limit.per, limit.within) if value):
                    place = self.source.at("limit", "per", number) if self.source.path is not None else "--per"
                    raise InputError(f"{text.removeprefix('per: ').removeprefix('limits: ')}", place=place) from None
            name, colon, rest = text.partition(": ")
            for section in (one for one in sections if one != "limit"):
                known = {one.name for one in fields(SECTIONS[section])} | (self.settings.keys() & {name})
                if colon and name in known:
                    place = "" if self.source.path is None and name == "file" else f"{self.at(section, name)}: "
                    raise InputError(f"{place}{rest}") from None
                for other, value in self.source.said.get(section, {}).items():
                    if self.source.path is not None and isinstance(value, str) and value in text:
                        raise InputError(f"{self.at(section, other)}: {text}") from None
            raise

    def written(self) -> str:
        """As a file that says the same."""
        lines = [f"seed = {self.seed}"]
        parts: list[tuple[str, Any]] = [("[data]", self.data), ("[choose]", self.choose)]
        parts += [("[[limit]]", limit) for limit in self.limits]
        parts += [("[method]", self.method), ("[privacy]", self.privacy), ("[output]", self.output)]
        for head, part in parts:
            said = {name: value for name, value in asdict(part).items() if value is not None}
            if head == "[method]":
                said |= self.settings
            lines += ["", head, *(f"{name} = {as_toml(value)}" for name, value in said.items())]
        return "\n".join(lines) + "\n"


ON_A_COMMAND_LINE = {("choose", "count"): "choose", ("method", "name"): "method"}  # what reads better there
SECTIONS: dict[str, type] = {
    "data": Data,
    "choose": Choose,
    "limit": Limited,
    "method": How,
    "privacy": Privacy,
    "output": Output,
}


@dataclass(frozen=True)
class ProblemText:
    """The text of a problem, to find the line of a setting; no path where it came from options."""

    path: Path | None
    text: str
    said: Mapping[str, Mapping[str, Any]]

    def at(self, section: str, name: str = "", number: int = 0) -> str:
        if self.path is None:
            return f"--{ON_A_COMMAND_LINE.get((section, name), name).replace('_', '-')}"
        return f"{self.path}, line {self._line(section, name, number)}"

    def _line(self, section: str, name: str, number: int) -> int:
        """The line of a setting in the `number`th table of this name; of the table, where the setting is not found."""
        inside, met, best = section == "", -1, 1
        for at, line in enumerate(self.text.splitlines(), start=1):
            head = re.match(r"\s*\[{1,2}\s*([\w-]+)\s*\]{1,2}", line)
            if head:
                met += head[1] == section
                inside = head[1] == section and met == number
                best = at if inside else best
            elif inside and name and re.match(rf"""\s*["']?{re.escape(name)}["']?\s*=""", line):
                return at
        return best


def read(path: Path, given: Given | None = None) -> Problem:
    """A problem file; what is given besides goes before what it says."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{(error.strerror or 'cannot be read').lower()}", place=path) from None
    except UnicodeDecodeError:
        raise InputError("is not text in UTF-8", place=path) from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said, _, where = str(error).partition(" (at ")
        raise InputError(f"{path}, {where.rstrip(')') or 'line 1'}: {said[:1].lower()}{said[1:]}") from None
    for name, value in document.items():
        if name not in SECTIONS and name != "seed":
            line = ProblemText(path, text, {})._line(name, "", 0) if isinstance(value, dict | list) else 0
            where = f"line {line}" if line else ProblemText(path, text, {}).at("", name).rpartition(", ")[2]
            raise InputError(f"{path}, {where}: {_unknown(name, ['seed', *SECTIONS], 'a problem')}")
        fits = isinstance(value, list if name == "limit" else dict) if name != "seed" else True
        if not fits or (name == "limit" and not all(isinstance(one, dict) for one in value)):
            wanted = f"[[{name}]]" if name == "limit" else f"[{name}]"
            raise InputError(f"{name} must be a table: write {wanted} on a line of its own", place=path)
    return assemble(document, given or {}, ProblemText(path, text, document))


def assemble(document: Mapping[str, Any], given: Given, source: ProblemText) -> Problem:
    """The settings of a document and of options, checked."""
    settings = dict(document.get("method", {}))
    known = {field.name for field in fields(How)}
    beyond = {name: settings.pop(name) for name in list(settings) if name not in known}
    parts = {**document, "method": settings}

    def part(section: str) -> dict[str, Any]:
        return fill(SECTIONS[section], section, parts.get(section, {}), given.get(section, {}), source)

    limits = [
        Limited(**fill(Limited, "limit", table, {}, source, number))
        for number, table in enumerate(document.get("limit", []))
    ]
    limits += [Limited(**fill(Limited, "limit", {}, one, source)) for one in given.get("limits", {}).values()]
    seed = given.get("run", {}).get("seed", document.get("seed", 0))
    check_value("seed", int, (), seed, source.at("", "seed"))
    if seed < 0:
        raise InputError(f"{source.at('', 'seed')}: needs a whole number of at least 0, got {seed}")
    data = part("data")
    if source.path is not None:  # files are named from where the problem file is
        beside = {name: data[name] for name in ("file", "items") if data.get(name) is not None}
        own = {name for name in beside if name not in given.get("data", {})}
        data |= {name: str(source.path.parent / beside[name]) for name in own}
    output = part("output")
    if source.path is not None and output.get("folder") and "folder" not in given.get("output", {}):
        output["folder"] = str(source.path.parent / output["folder"])
    return Problem(
        data=Data(**data),
        choose=Choose(**part("choose")),
        limits=tuple(limits),
        method=How(**part("method")),
        settings={**beyond, **given.get("settings", {})},
        privacy=Privacy(**part("privacy")),
        output=Output(**output),
        seed=seed,
        source=replace(source, said={name: parts.get(name, {}) for name in SECTIONS if name != "limit"}),
    )


def fill(
    kind: type, section: str, table: Mapping[str, Any], given: Mapping[str, Any], source: ProblemText, number: int = 0
) -> dict[str, Any]:
    """What a table and options say of these settings; every mistake with its place."""
    options = ProblemText(None, "", {})
    known = {one.name: one for one in fields(kind)}
    for name in table:
        if name not in known:
            raise InputError(f"{source.at(section, name, number)}: {_unknown(name, list(known), f'[{section}]')}")
    out: dict[str, Any] = {}
    for name, one in known.items():
        if name in given:
            out[name], where = given[name], options.at(section, name)
        elif name in table:
            out[name], where = table[name], source.at(section, name, number)
        elif one.default is MISSING:
            needs = f"{one.metadata['about'].rstrip('.').lower()}"
            raise InputError(f"{source.at(section, '', number)}: [{section}] needs `{name}`: {needs}")
        else:
            continue
        check_value(name, one.type, one.metadata["choices"], out[name], where)
    return out


def check_value(name: str, kind: Any, choices: tuple[str, ...], value: Any, where: str) -> None:
    """A value of the type and among the choices that a setting has."""
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    wanted = next(one for one in kinds if one is not type(None))
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    taken = (int, float) if wanted is float else wanted
    if value is None and type(None) in kinds:
        return
    if not isinstance(value, taken) or (isinstance(value, bool) and wanted is not bool):
        raise InputError(f"{name} needs {words[wanted]}, got {value!r}", place=where)
    if choices and value not in choices:
        near = get_close_matches(str(value), choices, 1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{name} may be {', '.join(choices)}, not {value!r}{meant}", place=where)


def _unknown(name: str, known: list[str], of: str) -> str:
    near = get_close_matches(name, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return f"{of} has {', '.join(known)}, not {name!r}{meant}"


def as_toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return f'"{"".join(map(_escape, str(value)))}"'


def _escape(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"


def example(data: Data | None = None) -> str:
    """A commented problem file: every setting with what it is about; those at their defaults are commented out."""
    lines = ["# A problem for Folkmoot: folkmoot run THIS_FILE", "", "seed = 0  # the same seed gives the same answer"]
    for section, kind in SECTIONS.items():
        head = f"[[{section}]]" if section == "limit" else f"[{section}]"
        lines += ["", f"# {(kind.__doc__ or '').strip()}", f"# {head}" if section == "limit" else head]
        for one in fields(kind):
            said = getattr(data, one.name) if data is not None and section == "data" else None
            default = None if one.default is MISSING else one.default
            off = (said is None or said == default) and (section, one.name) != ("choose", "count")
            choices = one.metadata["choices"]
            value = default if said is None else said
            shown = as_toml(value) if value is not None else one.metadata["example"] or as_toml(choices[0])
            among = f" One of {', '.join(choices)}." if choices else ""
            lines.append(f"# {one.metadata['about']}{among}")
            lines.append(f"{'# ' if off else ''}{one.name} = {shown}")
    return "\n".join(lines) + "\n"
