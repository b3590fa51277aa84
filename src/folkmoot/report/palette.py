"""Colours by what they are for. In a page they are CSS variables, so charts follow light, dark and print by
themselves; in pictures and notebooks, which know no CSS, they are those of the light theme.
"""

from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"

INK, SOFT, LINE, PAPER = "var(--ink)", "var(--soft)", "var(--line)", "var(--paper)"
ACCENT, WARM, MUTED, DOTS = "var(--accent)", "var(--warm)", "var(--muted)", "var(--dots)"
# Blue, orange and grey: told apart with every kind of colour blindness, and in grey print by their lightness.
LIGHT = {
    INK: "#1b2430",
    SOFT: "#566072",
    LINE: "#dfe3e8",
    PAPER: "#ffffff",
    ACCENT: "#0b5394",
    WARM: "#c4570a",
    MUTED: "#a9b2bd",
    DOTS: "#a5afbb",
}
DATA = ("values", "datasets")  # what people wrote, whatever it looks like


def lighten(part: Any) -> Any:
    """The same specification with every colour written out."""
    if isinstance(part, dict):
        return {key: value if key in DATA else lighten(value) for key, value in part.items()}
    if isinstance(part, list):
        return [lighten(value) for value in part]
    return LIGHT.get(part, part) if isinstance(part, str) else part
