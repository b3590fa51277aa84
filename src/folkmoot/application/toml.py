"""Values and settings as a problem file writes them."""

from typing import Any


def as_toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return f'"{"".join(map(_escape, str(value)))}"'


def _escape(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"


def spell_toml(name: str, value: object) -> str:
    """A setting as a line of a file."""
    return f"{name} = {'…' if value is ... else as_toml(value)}"
