"""What a run returns."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from folkmoot.errors import InputError
from folkmoot.sets import Array, frozen

FORMAT = "folkmoot-result-1"
MOST_SHOWN = 30


@dataclass(frozen=True, eq=False)
class Result:
    """The chosen set and what is known about it. Prints as a short table."""

    method: str
    n_items: int
    selected: tuple[int, ...]  # sorted item ids
    value: float  # F(S)
    upper_bound: float  # no allowed set is worth more
    seconds: float
    seed: int
    order: tuple[int, ...] | None = None  # as they were taken, and what each added
    gains: tuple[float, ...] | None = None
    fractional: Array | None = None  # the point that was rounded
    names: tuple[str, ...] | None = None  # of `selected`

    def __post_init__(self) -> None:
        if self.fractional is not None:
            frozen(self.fractional)

    @property
    def ratio(self) -> float:
        """value / upper_bound: the set is at least this much of the best possible."""
        if self.upper_bound > 0:
            return max(self.value / self.upper_bound, 0.0)
        return 1.0 if self.value >= self.upper_bound else 0.0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def to_json(self) -> str:
        """Everything, as text that `from_json` reads back to the last bit."""
        document: dict[str, Any] = {"format": FORMAT}
        for name in self.__dataclass_fields__:
            document[name] = getattr(self, name)
        document["ratio"] = self.ratio
        if self.fractional is not None:
            support = np.flatnonzero(self.fractional)
            document["fractional"] = {"items": support.tolist(), "x": self.fractional[support].tolist()}
        return json.dumps(document)

    @classmethod
    def from_json(cls, text: str) -> "Result":
        try:
            document = json.loads(text)
            if document.pop("format") != FORMAT:
                raise KeyError
            document.pop("ratio")
            for name in ("selected", "order", "gains", "names"):
                if document[name] is not None:
                    document[name] = tuple(document[name])
            if document["fractional"] is not None:
                x = np.zeros(document["n_items"])
                x[document["fractional"]["items"]] = document["fractional"]["x"]
                document["fractional"] = x
            return cls(**document)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            raise InputError(f"text: is not a result in the form {FORMAT!r}") from None

    def __str__(self) -> str:
        lines = [
            f"{self.method}: {len(self.selected)} of {self.n_items} items, value {self.value:.6g}",
            f"at least {np.floor(self.ratio * 1e4) / 1e4:.4f} of the best possible "
            f"(upper bound {self.upper_bound:.6g}); {self.seconds:.3g} s, seed {self.seed}",
        ]
        name_of = dict(zip(self.selected, self.names, strict=True)) if self.names else {}
        shown = self.order or self.selected
        width = max([len(str(name_of.get(item, item))) for item in shown[:MOST_SHOWN]] + [4])
        lines.append(f"{'':>4}  {'item':<{width}}        gain       total" if self.gains else f"{'':>4}  item")
        total = 0.0
        for place, item in enumerate(shown[:MOST_SHOWN]):
            line = f"{place + 1:>4}  {name_of.get(item, item)!s:<{width}}"
            if self.gains:
                total += self.gains[place]
                line += f"  {self.gains[place]:>10.6g}  {total:>10.6g}"
            lines.append(line.rstrip())
        if len(shown) > MOST_SHOWN:
            lines.append(f"      … and {len(shown) - MOST_SHOWN} more")
        return "\n".join(lines)
