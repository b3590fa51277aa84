"""Who answers, where each client decides by a coin of its own.

Client i, which counts times_i of `weight` times in total, answers with probability

    κ_i = min(1, times_i·(even + slope·s_i)),

and divides its answer by κ_i: the expected sum is the sum over everyone, whatever s_i is, as long as `even` > 0. s_i is
a number that only the client knows: "nothing" (0: chances are proportional to weights), its scale (the largest
singleton, or the worth of all items together), or the largest share that it has in an item (the paper's importance).

The price: the server sees who answers. With a slope, a client that answers often is likely to have a large s_i; without
one, answering reveals nothing beyond the public weight.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import sha256
from math import isfinite
from typing import Any, Literal, get_args

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Array, Ids, Mask, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.query import Reply

NOBODY_ANSWERED = 1e-100  # clients that a sum then stands for, so that it can be divided by this, and by its square
NO_FLOOR = 2.0**-200  # of chances that follow from shares: who has no share in any item gains nothing from any
FLOOR = 0.3  # share of answers that does not depend on s_i: no factor times_i/κ_i is above 1/FLOOR × an even one

Own = Literal["nothing", "single", "whole", "share"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Participation(Registered):
    """κ_i = min(1, times_i·(even + slope·s_i)). `own` says what s_i is; `inverse` holds 1/O_e, for the
    shares max_e f_i(e)/O_e.
    """

    even: float
    slope: float = 0.0
    own: Own = "nothing"
    inverse: Array | None = None

    def __post_init__(self) -> None:
        for name, least in (("even", "above"), ("slope", "at least")):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
            if not number or value < 0 or (name == "even" and value == 0):
                raise InputError(f"needs a finite number {least} 0", argument=name)
        if self.own not in get_args(Own):
            raise InputError(f"needs one of {', '.join(get_args(Own))}", argument="own")
        if self.inverse is not None:
            good = isinstance(self.inverse, np.ndarray) and self.inverse.dtype == np.float64
            if not good or not (np.isfinite(self.inverse) & (self.inverse >= 0)).all():
                raise InputError("needs finite numbers of at least 0", argument="inverse")
            freeze(self.inverse)
        elif self.own == "share":
            raise InputError("is needed for shares", argument="inverse")

    def parameters(self) -> Mapping[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def digest(self) -> bytes:
        """Different for different chances: a coin that is kept for several questions is never compared with others."""
        inverse = b"" if self.inverse is None else self.inverse.tobytes()
        return sha256(f"{float(self.even).hex()} {float(self.slope).hex()} {self.own} ".encode() + inverse).digest()

    @classmethod
    def uniform(cls, answers: float, weight: int) -> "Participation":
        """About `answers` answers; chances are proportional to weights."""
        return cls(even=answers / weight)

    @classmethod
    def by_scale(
        cls, answers: float, weight: int, mean: float, own: Literal["single", "whole"] = "single", floor: float = FLOOR
    ) -> "Participation":
        """κ_i = min(1, answers·p_i·(floor + (1 − floor)·m_i/mean)), m_i the client's own scale.

        `mean` is a public guess of Σ p_i m_i. Sums are unbiased for any positive guess; a wrong one only
        changes how many clients answer.
        """
        if not mean > 0:
            return cls.uniform(answers, weight)
        return cls(even=floor * answers / weight, slope=(1 - floor) * answers / weight / mean, own=own)

    @classmethod
    def by_share(cls, kappa: float, even: float, inverse: Array) -> "Participation":
        """At least the paper's min(1, κ·w_i), w_i = times_i·max_e f_i(e)/O_e, and at least even·times_i."""
        return cls(even=even, slope=kappa, own="share", inverse=inverse)

    def scales(self, clients: Objective) -> Array:
        """s_i, as each client computes it."""
        if self.own == "single":
            return clients.find_largest_shares(np.ones(clients.n_items))
        if self.own == "whole":
            return clients.find_ceilings()
        if self.own == "share":
            assert self.inverse is not None
            return clients.find_largest_shares(self.inverse)
        return np.zeros(clients.n_clients)

    def chances(self, clients: Objective, times: Ids) -> Array:
        """κ_i."""
        if not self.slope:
            return np.asarray(np.minimum(self.even * times, 1.0), dtype=np.float64)
        return np.asarray(np.minimum((self.even + self.slope * self.scales(clients)) * times, 1.0), dtype=np.float64)

    def takes_part(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Mask:
        """Who answers: the same coins give the same clients."""
        return np.asarray(own.toss(ids, clients.n_items) < self.chances(clients, times))

    def factors(self, clients: Objective, times: Ids) -> Array:
        """times_i/κ_i: what an answer is multiplied by, so that the expected sum is that of all clients."""
        factors: Array = times / np.maximum(self.chances(clients, times), 1e-300)
        return factors

    def bound(self, heaviest: int, single: float) -> float:
        """An upper bound on times_i·g/κ_i, for numbers g ≤ `single` and clients that count up to `heaviest` times.

        If κ_i = 1 that is heaviest·single; else g/(even + slope·s_i), which is at most single/even.
        """
        return max(heaviest * single, single / self.even)

    def bound_own(self, heaviest: int, single: float) -> float:
        """The same for numbers g that are at most what an item is worth to the client: then 1/slope bounds, too. Of
        shares, O_e/slope does, where every item that is worth something counts in them.
        """
        largest = {"single": 1.0, "share": self._largest_sum}.get(self.own)
        if largest is None:
            return self.bound(heaviest, single)
        return max(heaviest * single, min(single / self.even, largest / self.slope))

    @property
    def _largest_sum(self) -> float:
        """max_e O_e."""
        positive = np.zeros(0) if self.inverse is None else self.inverse[self.inverse > 0]
        return float(1 / np.min(positive)) if len(positive) else 0.0


class StandingReply(Reply):
    """A reply whose last number says how many clients the answers stand for."""

    @property
    def standing(self) -> float:
        return max(float(self.parts[-1][0] * self.question.encoding.parts[-1].unit), NOBODY_ANSWERED)
