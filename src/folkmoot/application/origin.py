"""Where each setting of a problem was made: in a line of a file, or by whoever gave it, under a name of theirs."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from pathlib import Path

from folkmoot.application.toml import spell_toml
from folkmoot.foundation.errors import InputError, SpellSetting, spell_keyword
from folkmoot.foundation.settings import Choose, Data, How, Limited, Output, PrivacySettings

SECTIONS: dict[str, type] = {
    "data": Data,
    "choose": Choose,
    "limit": Limited,
    "method": How,
    "privacy": PrivacySettings,
    "output": Output,
}
KEYWORDS = {("choose", "count"): "choose", ("method", "name"): "method"}  # what reads better without its section
ALIASES = {"matroid": ("choose", "count"), "k": ("choose", "count"), "name": ("data", "name")}
SETTINGS = "settings"  # of a method, beyond those that all methods have
SECTION_OF = {
    one.name: (section, one.name) for section, kind in SECTIONS.items() for one in fields(kind) if one.name != "name"
}
SECTION_OF |= {"seed": ("", "seed"), **ALIASES}


def as_keyword(section: str, name: str) -> str:
    """The name of a setting where there are no sections."""
    return KEYWORDS.get((section, name), name)


def name_in_python(section: str, name: str, number: int) -> str:
    if section == "limit":
        return f"limits[{number}][{name!r}]"
    return f"settings[{name!r}]" if section == SETTINGS else as_keyword(section, name)


@dataclass(frozen=True)
class Wording:
    """What somebody who makes settings calls them: the name of one, and one with its value."""

    name: Callable[[str, str, int], str]
    setting: SpellSetting


PYTHON = Wording(name_in_python, spell_keyword)


@dataclass(frozen=True)
class Origin:
    """A problem file (or none), what was given besides it, and in whose words."""

    path: Path | None = None
    text: str = ""
    given: frozenset[tuple[str, str]] = frozenset()  # section and name of what was given besides
    limits: int = 0  # how many are in the file; those that were given come after them
    wording: Wording = PYTHON

    def locate(self, error: InputError, also: Collection[str] = (), number: int = 0) -> InputError:
        """The error under the name, or at the line, of the setting that its argument is.

        `also`: names of the method's own settings; `number`: which limit it is about.
        """
        argument = error.argument or ""
        section, name = SECTION_OF.get(argument, (None, argument))
        if argument in also and section != "method":
            section, name = SETTINGS, argument
        if section is None:
            return error.rename(error.argument, spell=self._spell)
        return self.locate_at(error, section, name, number)

    def locate_at(self, error: InputError, section: str, name: str, number: int = 0) -> InputError:
        """The error under the name, or at the line, of this setting."""
        given = number >= self.limits if section == "limit" else (section, name) in self.given
        if self.path is None or given:
            return error.rename(self.wording.name(section, name, number - self.limits) or None, spell=self._spell)
        line = self.find_line("method" if section == SETTINGS else section, name, number)
        return error.rename(name, place=self.at_line(line), spell=self._spell)

    @property
    def _spell(self) -> SpellSetting:
        return self.wording.setting if self.path is None else spell_toml

    def at_line(self, line: int) -> str:
        return f"{self.path}, line {line}"

    def find_line(self, section: str, name: str = "", number: int = 0) -> int:
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
