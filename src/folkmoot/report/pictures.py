"""The charts of a report as PNG files, in light colours on white."""

from folkmoot.report.charts import WIDTH, charts_of
from folkmoot.report.comparison import spread_chart
from folkmoot.report.maps import map_of
from folkmoot.report.palette import in_light
from folkmoot.report.story import Comparison, Story
from folkmoot.report.vega import Spec, converter, png


def pictures(story: Story) -> dict[str, bytes]:
    """ "answer", "map", "rounds" and "baselines", those that there is something to show in."""
    converter()  # says what is missing, before anything is drawn
    specs = {name: still(spec) for name, spec in charts_of(story).items()}
    drawn = map_of(story)
    if drawn is not None:
        specs["map"] = still({**drawn.wide, "datasets": drawn.datasets})
    return {name: png(spec) for name, spec in specs.items()}


def pictures_of(comparison: Comparison) -> dict[str, bytes]:
    converter()
    spec = spread_chart(comparison)
    return {} if spec is None else {"spread": png(still(spec))}


def still(spec: Spec) -> Spec:
    """On paper: a width of its own, colours written out."""
    bright: Spec = in_light(spec)
    if bright.get("width") == "container":
        bright["width"] = WIDTH
        bright["autosize"] = {"type": "pad"}
    return bright | {"config": {**bright["config"], "background": "white", "padding": 16}}
