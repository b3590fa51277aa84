"""The answer as files for other programs: a table, and places on a map."""

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

from folkmoot.conversation.result import Result
from folkmoot.data import Items

TABLE, MAP = "answer.csv", "answer.geojson"


def list_attributes(items: Items, chosen: Sequence[int]) -> dict[str, tuple[Any, ...]] | None:
    """What the file about items says of these, as words and numbers; None where there is no such file."""
    if not items.attributes.columns:
        return None
    rows = items.attributes[list(chosen)]
    return {name: tuple(_simplify(value) for value in rows[name].to_list()) for name in rows.columns}


def render_table(result: Result) -> str:
    """As CSV."""
    return result.table().write_csv()


def render_map(result: Result, items: Items) -> str | None:
    """As GeoJSON (RFC 7946), longitude first; None where nobody knows where any of them is."""
    if items.positions is None:
        return None
    features = [
        {
            "type": "Feature",
            "geometry": _find_point(items, row["item"]),
            "properties": {"pick": place, **{name: _simplify(value) for name, value in row.items()}},
        }
        for place, row in enumerate(result.table().iter_rows(named=True), start=1)
    ]
    if all(one["geometry"] is None for one in features):
        return None
    return json.dumps({"type": "FeatureCollection", "features": features}, ensure_ascii=False, allow_nan=False)


def _find_point(items: Items, item: int) -> dict[str, Any] | None:
    assert items.positions is not None
    latitude, longitude = items.positions[item].tolist()
    if not (isfinite(latitude) and isfinite(longitude)):
        return None
    return {"type": "Point", "coordinates": [longitude, latitude]}


def _simplify(value: Any) -> Any:
    """As JSON can have it."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
