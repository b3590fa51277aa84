"""Small files of settings in a kit: read strictly, with mistakes told by file and line; written with comments."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass
from difflib import get_close_matches
from pathlib import Path
from textwrap import wrap
from typing import Any, NoReturn

from folkmoot.application.assembly import check_value
from folkmoot.application.origin import Origin
from folkmoot.application.toml import as_toml
from folkmoot.foundation.errors import InputError

WIDTH = 110  # of comments
Fields = Mapping[str, Field[Any]]


@dataclass(frozen=True)
class Paper:
    """What a file says, and where. The section "" is what stands before the first table."""

    origin: Origin
    document: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Paper":
        try:
            text = path.read_text(encoding="utf-8-sig")
            return cls(Origin(path, text), tomllib.loads(text))
        except OSError as error:
            raise InputError((error.strerror or "cannot be read").lower(), place=path) from None
        except UnicodeDecodeError:
            raise InputError("is not text in UTF-8", place=path) from None
        except tomllib.TOMLDecodeError as error:
            said, _, where = str(error).partition(" (at ")
            place = f"{path}, {where.rstrip(')') or 'line 1'}"
            raise InputError(f"{said[:1].lower()}{said[1:]}", place=place) from None

    def refuse(self, problem: str, section: str, name: str = "", remedy: str | None = None) -> NoReturn:
        """Say what is wrong, with the line where it stands."""
        place = self.origin.at_line(self.origin.find_line(section, name))
        raise InputError(problem, argument=name or None, place=place, remedy=remedy)

    def locate(self, error: InputError, section: str) -> InputError:
        """An error about a setting of this section, with its line."""
        return self.origin.locate_at(error, section, error.argument or "")

    def take_table(self, section: str, known: Iterable[str]) -> Mapping[str, Any]:
        """One of its tables; names that are not known are refused."""
        table = self.document.get(section, {}) if section else self.document
        if not isinstance(table, dict):
            self.refuse(f"must be a table: write [{section}] on a line of its own", "", section)
        names = list(known)
        for name in table:
            if name not in names:
                of = f"[{section}]" if section else "this file"
                near = get_close_matches(name, names, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                head, own = (name, "") if isinstance(table[name], dict) and not section else (section, name)
                place = self.origin.at_line(self.origin.find_line(head, own))
                raise InputError(f"{of} has {', '.join(names)}, not {name!r}{hint}", place=place)
        return table

    def fill(self, section: str, fields: Fields, also: Iterable[str] = ()) -> dict[str, Any]:
        """The settings of a table that are given; their types are checked. also: names that somebody else reads."""
        table, out = self.take_table(section, [*fields, *also]), dict[str, Any]()
        for name, one in fields.items():
            if name in table:
                try:
                    out[name] = check_value(name, one.type, one.metadata["choices"], table[name])
                except InputError as error:
                    raise self.locate(error, section) from None
            elif one.default is MISSING:
                self.refuse(f"`{name}` is needed: {one.metadata['about'].rstrip('.').lower()}", section)
        return out

    def take_texts(self, section: str, name: str) -> tuple[str, ...]:
        """A list of texts."""
        given = (self.document.get(section, {}) if section else self.document).get(name)
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            self.refuse('needs a list of names such as ["north", "south"]', section, name)
        return tuple(given)


def write_settings(fields: Fields, given: Mapping[str, Any]) -> list[str]:
    """Lines of a file: each setting with what it is about; what is not given is commented out."""
    lines = []
    for name, one in fields.items():
        choices = one.metadata["choices"]
        lines += write_comment(one.metadata["about"] + (f" One of {', '.join(choices)}." if choices else ""))
        default = None if one.default is MISSING else one.default
        if given.get(name) not in (None, ()):
            lines.append(f"{name} = {as_toml(given[name])}")
        elif default not in (None, ()):
            lines.append(f"# {name} = {as_toml(default)}")
        else:
            lines.append(f"# {name} = {one.metadata['example'] or (as_toml(choices[0]) if choices else '…')}")
    return lines


def write_comment(text: str) -> list[str]:
    return [f"# {line}" for line in wrap(text, WIDTH)]
