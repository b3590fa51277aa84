"""A concave function of a modular sum: more of the same counts for less."""

from collections.abc import Mapping
from typing import Any, Unpack

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_number
from folkmoot.objectives.accumulated import CAP, LOG1P, SQRT, AccumulatedRows
from folkmoot.objectives.sparse import RowOptions, ScoredRows

KINDS = {"sqrt": SQRT, "log1p": LOG1P}


class ConcaveOverModular(AccumulatedRows):
    """f_i(S) = φ(Σ_{e∈S} s_ie): monotone and submodular if φ is concave and non-decreasing with φ(0) = 0.

    `scores` is rows × items, not negative. `concave` is "sqrt", "log1p", or a number c for min(·, c).
    """

    by_construction = True
    layout_kind = ScoredRows
    _argument = "scores"

    def __init__(self, scores: Any, concave: str | float = "sqrt", **options: Unpack[RowOptions]) -> None:
        if isinstance(concave, str):
            if concave not in KINDS:
                raise InputError(f'needs "sqrt", "log1p" or a number (a cap), got {concave!r}', argument="concave")
            self._kind = KINDS[concave]
        else:
            self._kind, self._cap = CAP, as_number(concave, "concave", above=True)
        super().__init__(scores, **options)

    def store_settings(self) -> dict[str, Any]:
        return {"concave": {kind: name for name, kind in KINDS.items()}.get(self._kind, self._cap)}

    def restore_settings(self, about: Mapping[str, Any]) -> None:
        concave = about.get("concave")
        self._kind = KINDS.get(str(concave), CAP)
        if self._kind == CAP:
            self._cap = as_number(concave, "concave", above=True)
