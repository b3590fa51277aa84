"""The one door to vl-convert, which brings Vega: its JavaScript for pages and its renderer for pictures."""

import os
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from folkmoot.foundation.errors import InputError
from folkmoot.version import __version__

Spec: TypeAlias = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v{}.json"
PAGE_VERSION = 6  # what the bundle's Vega speaks; our specs are the same in both
NOTEBOOK_VERSION = 5  # what notebooks know how to show
SCALE = 2.0
KEPT = Path(__file__).parent / "__pycache__"


def converter() -> Any:
    """vl_convert, asked for only when a chart is drawn: all else of a report works without."""
    try:
        return import_module("vl_convert")
    except ImportError:
        raise InputError("the report's charts need vl-convert-python: pip install 'folkmoot[report]'") from None


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that needs no network.

    Making it takes longer than all else of a small report, so it is kept beside Python's own compiled files, if that
    folder may be written to.
    """
    tool = converter()
    kept = KEPT / f"vega-{tool.__version__}-{__version__}.js"
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_bytes().decode()
    script = make_bundle(tool)
    with suppress(OSError):
        KEPT.mkdir(exist_ok=True)
        half = KEPT / f"{kept.name}.{os.getpid()}"
        half.write_bytes(script.encode())
        half.replace(kept)  # whole or not at all, whoever else writes it
    return script


def make_bundle(tool: Any) -> str:
    script: str = tool.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # Inside a script element these would end it, or hide what follows; in JavaScript they mean the same.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def png(spec: Spec) -> bytes:
    picture: bytes = converter().vegalite_to_png({"$schema": SCHEMA.format(PAGE_VERSION), **spec}, scale=SCALE)
    return picture
