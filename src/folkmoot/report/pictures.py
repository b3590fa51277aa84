"""The figures of a document as PNG files, in light colours on white."""

from folkmoot.report.charts import WIDTH
from folkmoot.report.document import Document, Figure, walk_document
from folkmoot.report.palette import lighten
from folkmoot.report.vega import Spec, converter, png


def draw_pictures(document: Document) -> dict[str, bytes]:
    converter()  # says what is missing, before anything is drawn
    figures = [part for part in walk_document(document) if isinstance(part, Figure)]
    return {
        one.name: png(as_picture(one.wide | ({"datasets": one.datasets} if one.datasets else {}))) for one in figures
    }


def as_picture(spec: Spec) -> Spec:
    """On paper: a width of its own, colours written out."""
    bright: Spec = lighten(spec)
    if bright.get("width") == "container":
        bright["width"] = WIDTH
        bright["autosize"] = {"type": "pad"}
    return bright | {"config": {**bright["config"], "background": "white", "padding": 16}}
