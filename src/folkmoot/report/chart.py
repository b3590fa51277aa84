"""A chart that shows itself in a notebook and saves itself to a file."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from folkmoot.conversation.result import Result
from folkmoot.foundation.errors import InputError
from folkmoot.report.charts import answer_chart, frame, rounds_chart
from folkmoot.report.describe import story_of
from folkmoot.report.markup import element
from folkmoot.report.page import wrap_body
from folkmoot.report.pictures import as_picture
from folkmoot.report.story import Item
from folkmoot.report.text import isolate, shorten
from folkmoot.report.vega import NOTEBOOK_VERSION, SCHEMA, Spec, bundle, png

MIME = f"application/vnd.vegalite.v{NOTEBOOK_VERSION}+json"
MOST_LISTED = 40


@dataclass(frozen=True, eq=False)
class Chart:
    """A Vega-Lite specification, complete: any tool that speaks Vega-Lite draws it."""

    spec: Spec

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """For notebooks: the specification, and a picture for those that draw none (if vl-convert is there)."""
        shown: dict[str, Any] = {MIME: self.spec, "text/plain": repr(self)}
        with suppress(InputError):
            shown["image/png"] = self.to_png()
        return {
            kind: data
            for kind, data in shown.items()
            if (not include or kind in include) and not (exclude and kind in exclude)
        }

    def __repr__(self) -> str:
        return f"Chart({self.spec.get('description', '')!r})"

    def to_png(self) -> bytes:
        return png(self._drop_schema())

    def to_html(self) -> str:
        """A file of its own, which needs no network."""
        title = str(self.spec.get("description", "Chart"))
        place = element("figure", element("div", id="chart-only", class_="chart"), class_="only")
        return wrap_body(title, place, {"only": {"wide": self._drop_schema()}}, ("spec", self.spec), bundle())

    def save(self, path: str | Path) -> Path:
        """As .png, .html or .json (the specification), by the name's ending."""
        path = Path(path)
        if path.suffix == ".png":
            path.write_bytes(self.to_png())
        elif path.suffix in (".html", ".htm"):
            path.write_text(self.to_html(), encoding="utf-8")
        elif path.suffix == ".json":
            path.write_text(json.dumps(self.spec, indent=1, allow_nan=False), encoding="utf-8")
        else:
            raise InputError(f"a chart is saved as .png, .html or .json, got {path.name!r}", argument="path")
        return path

    def _drop_schema(self) -> Spec:
        return {key: part for key, part in self.spec.items() if key != "$schema"}


def result_chart(result: Result) -> Chart:
    """What each item added; where that is not known, the value round by round; else the items."""
    story = story_of(result)
    spec = answer_chart(story.chosen) or rounds_chart(story) or _list_items(story.chosen)
    return Chart({"$schema": SCHEMA.format(NOTEBOOK_VERSION), **as_picture(spec)})


def _list_items(items: tuple[Item, ...]) -> Spec:
    rows = [{"place": place, "label": isolate(shorten(item.name))} for place, item in enumerate(items[:MOST_LISTED])]
    if len(items) > MOST_LISTED:
        rows.append({"place": MOST_LISTED, "label": f"… and {len(items) - MOST_LISTED} more"})
    spec: Spec = {
        "data": {"values": rows},
        "height": 20 * len(rows),
        "mark": {"type": "text", "align": "left", "x": 0},
        "encoding": {
            "y": {"field": "place", "type": "ordinal", "axis": None},
            "text": {"field": "label", "type": "nominal"},
        },
    }
    return frame(spec, f"The {len(items)} chosen items")
