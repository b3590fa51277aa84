"""One HTML file that holds everything: words, numbers, charts, the script that draws them, and the data as JSON.

Its policy forbids the browser all network, and allows the two scripts below by their hashes and nothing else: were
a name ever to slip through as mark-up, it could still not run. Vega compiles expressions into functions by default,
which would need 'unsafe-eval'; the page uses its interpreter (`ast`) instead.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from typing import Any

from folkmoot.report.document import Document
from folkmoot.report.html import collect_charts, render_html
from folkmoot.report.markup import Markup, element, join
from folkmoot.report.text import clean
from folkmoot.report.vega import PAGE_VERSION, SCHEMA, Spec, bundle
from folkmoot.version import __version__

HOLDS = "This page is one file and loads nothing. All of its data is in it, as JSON under the id “{}”."


def render_page(document: Document, name: str, data: Any) -> str:
    """The whole file: the document, and its data as JSON under this name."""
    library = bundle()
    body = join([render_html(document), element("p", HOLDS.format(name), class_="fine")])
    return wrap_body(document.title, body, collect_charts(document), (name, data), library)


def wrap_body(title: str, body: Markup, charts: Mapping[str, Spec], data: tuple[str, Any], library: str) -> str:
    """The whole file around a body."""
    script, style = asset("script.js"), asset("style.css")
    policy = (
        f"default-src 'none'; script-src {_hash(library)} {_hash(script)}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )
    schema = {"$schema": SCHEMA.format(PAGE_VERSION)}
    drawn = {
        name: {key: part if key == "datasets" else schema | part for key, part in chart.items()}
        for name, chart in charts.items()
    }
    inside = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="generator", content=f"Folkmoot {__version__}"),
            element("title", clean(title)),
            element("style", Markup(style)),
        ),
        element(
            "body",
            element("main", body),
            element("noscript", element("p", "Charts need JavaScript; all of their numbers are in the tables.")),
            embed(data[0], data[1]),
            embed("charts", drawn),
            element("script", Markup(library)) if charts else None,
            element("script", Markup(script)),
        ),
        lang="en",
    )
    return f"<!doctype html>\n{inside}\n"


def asset(name: str) -> str:
    return files("folkmoot.report").joinpath(name).read_text(encoding="utf-8")


def embed(name: str, data: Any) -> Markup:
    """Data for scripts: strict JSON in which nothing can end the element that holds it."""
    text = json.dumps(replace_infinities(data), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return element("script", Markup(text), type="application/json", id=name)


def replace_infinities(part: Any) -> Any:
    """By null: JSON knows no infinity, and nothing that is not a number."""
    if isinstance(part, dict):
        return {key: replace_infinities(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [replace_infinities(value) for value in part]
    return None if isinstance(part, float) and not isfinite(part) else part


def _hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
