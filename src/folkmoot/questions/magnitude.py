"""How large values are: the public range that fixed point needs, from a secure histogram."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, weigh
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding, Part
from folkmoot.questions.query import Query, Reply
from folkmoot.theory.confidence import Tail

LEAST, MOST = -64, 63  # exponents of the marks; values beyond them count at the nearest mark
STEPS = 4  # marks per power of two
# The marks, each a power of two times one of these; the last also covers everything above it.
TOPS = np.ldexp(
    np.array([0.5946035575013605, 0.7071067811865476, 0.8408964152537145, 1.0]), np.arange(LEAST, MOST + 1)[:, None]
).reshape(-1)
BINS = len(TOPS) + 1  # the first is for 0
MIDDLES = np.append(0.0, 0.92 * TOPS)  # about the middle of each bin


@dataclass(frozen=True)
class Ranges:
    """Limits that (nearly) no client's numbers exceed."""

    single: float  # what one item is worth to a client
    whole: float  # what a set is worth to a client
    sum: float  # the sum of what each item alone is worth to a client
    clipped: float = 0.0  # share of the clients asked, by weight, whose largest number exceeds its limit
    complete: bool = False  # whether everyone was asked, and answered
    public: bool = False  # whether the limits are public knowledge: nobody was asked
    surveyed: bool = False  # whether everyone was asked; some may not have answered
    tail: Tail | None = None  # how the worth of all items together is spread over the clients who answered
    # Approximate means over clients, of what the best item is worth and of what all items together are; 0: unknown.
    mean_single: float = field(default=0.0, compare=False)
    mean_whole: float = field(default=0.0, compare=False)
    uneven: float = field(default=1.0, compare=False)  # mean square over squared mean of the best items; 1: all alike

    @property
    def source(self) -> str:
        """Where the limits come from."""
        if self.public or self.complete:
            return "public" if self.public else "everyone"
        return "present" if self.surveyed else "jury"


class MagnitudeReply(Reply):
    """How many clients marked each bin."""

    def find_ranges(self, *, clip: float = 1.0) -> Ranges:
        """Limits, each of which at least a share `clip` of the clients stay within."""
        tops, beyond = [], 0.0
        counts = self.total.reshape(3, BINS)
        for what in range(3):
            reached = np.cumsum(counts[what, 1:])  # of those to whom anything is worth something
            if not reached[-1]:
                tops.append(1.0)
                continue
            top = int(np.searchsorted(reached, clip * reached[-1] - 1e-9))
            if top in (0, len(TOPS) - 1):
                raise InputError(
                    f"lie {'above' if top else 'below'} {TOPS[top]:.3g}",
                    remedy="rescale them to be closer to 1, so that sums keep their precision",
                    argument="values",
                )
            if what < 2:  # the sum matters for votes only
                beyond = max(beyond, float((reached[-1] - reached[top]) / counts[what].sum()))
            tops.append(float(TOPS[top]))
        shares = counts[1] / max(int(counts[1].sum()), 1)
        some = np.flatnonzero(shares)
        worth = Tail(np.concatenate(([0.0], TOPS))[some], shares[some]) if some.size else None
        means = weigh(MIDDLES, counts[:2].T) / np.maximum(counts[:2].sum(axis=1), 1)
        square = float(weigh(counts[0], MIDDLES**2)) / max(int(counts[0].sum()), 1)
        uneven = square / float(means[0]) ** 2 if means[0] > 0 else 1.0
        single, whole = (float(mean) for mean in means)
        found = Ranges(tops[0], tops[1], tops[2], beyond, tail=worth)
        return replace(found, mean_single=single, mean_whole=whole, uneven=uneven)


@dataclass(frozen=True)
class Magnitude(Query[MagnitudeReply]):
    """Each client marks three bins: of its best item, of all items together, and of the sum of its single items."""

    reply_kind = MagnitudeReply

    @property
    def encoding(self) -> Encoding:
        return Encoding((Part(BINS, 1.0, 1, most_nonzero=1),) * 3)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        nothing: Mask = np.zeros(clients.n_items, dtype=bool)
        largest = clients.find_largest_shares(np.ones(clients.n_items))
        together = np.asarray(clients.gains_at(nothing).sum(axis=1), dtype=np.float64).reshape(-1)
        marks = np.stack([find_bins(values) for values in (largest, clients.find_ceilings(), together)], axis=1)
        places = (marks + BINS * np.arange(3)).reshape(-1)
        start = np.arange(0, len(places) + 1, 3)
        return sparse.csr_array(
            (np.ones(len(places), dtype=np.int64), places, start), shape=(clients.n_clients, self.length)
        )


def find_bins(values: Array) -> Ids:
    """0 for a value of 0; otherwise 1 + the index of the first top that is at least the value."""
    return np.where(values > 0, np.minimum(np.searchsorted(TOPS, values), len(TOPS) - 1) + 1, 0)
