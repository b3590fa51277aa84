"""A commented problem file to begin with."""

from dataclasses import MISSING, fields

from folkmoot.application.origin import SECTIONS
from folkmoot.application.toml import as_toml, spell_toml
from folkmoot.foundation.settings import Data


def make_template(data: Data | None = None) -> str:
    """Every setting with what it is about; those at their defaults are commented out."""
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
            among = f" One of {', '.join(choices)}." if choices else ""
            lines.append(f"# {one.metadata['about']}{among}")
            if value not in (None, ()):
                shown = spell_toml(one.name, value)
            else:
                shown = f"{one.name} = {one.metadata['example'] or as_toml(choices[0])}"
            lines.append(f"{'# ' if off else ''}{shown}")
    return "\n".join(lines) + "\n"
