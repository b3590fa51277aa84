"""Kinds of things that can be written down and read back: each kind registers itself when its class is made.

A thing is stored as the name of its kind and its parameters. Folkmoot's own kinds have short names; others are named
by module and class, and must have been imported before they can be read back: reading a file never imports anything.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from folkmoot.foundation.errors import InputError

OWN = "folkmoot"


class Registered:
    """A base whose subclasses can be stored by name. They have `parameters()`, with which the class can be called."""

    kinds: ClassVar[dict[str, type["Registered"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Registered.kinds[name_kind(cls)] = cls

    def parameters(self) -> Mapping[str, Any]:
        """What makes this thing again: numbers, texts, lists, arrays, and other registered things."""
        raise InputError(f"a {type(self).__name__} has no parameters(), so it cannot be written down")


def name_kind(kind: type) -> str:
    """How a kind is called in files: by its class name if it is Folkmoot's own, else by module and class."""
    if kind.__module__.partition(".")[0] == OWN:
        return kind.__name__
    return f"{kind.__module__}:{kind.__qualname__}"


def find_kinds(*bases: type) -> dict[str, type[Any]]:
    """All kinds below these bases that are known by now."""
    return {name: kind for name, kind in Registered.kinds.items() if issubclass(kind, bases)}


def check_storable(thing: Registered, argument: str) -> None:
    """Refuse what could not be read back, before anything depends on it."""
    kind = type(thing)
    if "<locals>" in kind.__qualname__ or Registered.kinds.get(name_kind(kind)) is not kind:
        raise InputError(
            f"{kind.__qualname__} is not defined at the top level of a module, so a stored run could not be read back",
            remedy="move the class to a module, or leave out transcript",
            argument=argument,
        )
