"""Settings as a shell names them: flags, made from the parts of an error and never from its text."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from folkmoot.application.origin import SETTINGS, Wording, as_keyword
from folkmoot.foundation.errors import InputError


def as_flag(keyword: str) -> str:
    return f"--{keyword.replace('_', '-')}"


def name_flag(section: str, name: str, _number: int = 0) -> str:
    """The flag of a setting; none for the file of data, which stands by itself."""
    if section == SETTINGS:
        return f"--set {name}"
    return "" if (section, name) == ("data", "file") else as_flag(as_keyword(section, name))


def spell_flag(name: str, value: object) -> str:
    """A setting as one would type it."""
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    return f"{as_flag(name)} {'…' if value is ... else shlex.quote(text)}"


FLAGS = Wording(name_flag, spell_flag)


@contextmanager
def name_flags(**names: str) -> Iterator[None]:
    """Errors about an argument name the flag, or the word, by which it was typed."""
    try:
        yield
    except InputError as error:
        raise error.rename(names.get(error.argument or "", error.argument), spell=spell_flag) from None
