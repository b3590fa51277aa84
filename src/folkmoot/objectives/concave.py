"""A concave function of a modular sum: more of the same counts for less."""

from typing import Any, Unpack

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_number
from folkmoot.objectives.accumulated import CAP, LOG1P, SQRT, AccumulatedRows
from folkmoot.objectives.sparse import RowOptions


class ConcaveOverModular(AccumulatedRows):
    """f_i(S) = φ(Σ_{e∈S} s_ie): monotone and submodular if φ is concave and non-decreasing with φ(0) = 0.

    `scores` is rows × items, not negative. `concave` is "sqrt", "log1p", or a number c for min(·, c).
    """

    _argument = "scores"

    def __init__(self, scores: Any, concave: str | float = "sqrt", **options: Unpack[RowOptions]) -> None:
        if isinstance(concave, str):
            kinds = {"sqrt": SQRT, "log1p": LOG1P}
            if concave not in kinds:
                raise InputError(f'needs "sqrt", "log1p" or a number (a cap), got {concave!r}', argument="concave")
            self._kind = kinds[concave]
        else:
            self._kind, self._cap = CAP, as_number(concave, "concave", above=True)
        super().__init__(scores, **options)
