"""What all other items gain, in a few thousand numbers: items are dealt to buckets, and the best of a bucket speaks.

Where there are hundreds of thousands of items, one number for each costs a client a megabyte a round. Here items are
dealt to buckets by a public hash, several times over, and a client says what the best item of each bucket would add.
In the sum, a bucket is at least what any one of its items adds: so the smallest of an item's buckets is an upper bound
on its gain, and never too low. What items add themselves is estimated from all their buckets (`estimate_items`).

Where clients decide by coins whether they answer, sums are right on average only: they find items, and bound nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from folkmoot.foundation.coding import code_rows
from folkmoot.foundation.coins import PublicCoins, hash_triple
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, freeze
from folkmoot.objectives.objective import Objective
from folkmoot.questions.encoding import Encoding, Part, Rounding
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import FINEST, Query, Reply

BITS = 12  # numbers are rounded up, so a coarse unit costs little and a bound stays one
EXACT = 2**40  # units of a number before it is multiplied and rounded by a coin
STEPS = 30  # of the estimate
TINY = 1e-300


class FoldedReply(Reply):
    """What the best items of buckets add, on average."""

    question: "Folded"

    @property
    def buckets(self) -> Array:
        """Means: rows × buckets."""
        return self.read(0).reshape(self.question.rows, self.question.buckets)

    def bound_items(self, n_items: int) -> Array:
        """No item adds more than this, to those who answered: its least bucket. Over all items, also those that the
        question was not about.
        """
        return bound_items([self], n_items)


@dataclass(frozen=True, eq=False, kw_only=True)
class Folded(Query[FoldedReply]):
    """What the best item of each bucket adds at a point; all items are dealt to `buckets` buckets, `rows` times.

    Put within some of the items (`Within`), it is about all the others, and the point is 0 outside. Numbers are rounded
    up: sums are never too low. With `who`, each client decides by a coin whether to answer and divides its answer by
    its chance, which depends on all items; numbers are then rounded by coins, so that sums are right on average.
    """

    of_worth = True
    reply_kind = FoldedReply

    x: Array
    single: float  # no item adds more than this to a client (with `who`: after multiplying by times_i/κ_i)
    rows: int
    buckets: int
    coins: PublicCoins  # deal the items, and draw sets where there is no closed form
    who: Participation | None = None  # None: everyone answers

    def __post_init__(self) -> None:
        freeze(self.x)

    @cached_property
    def encoding(self) -> Encoding:
        limit, rounding = (2**BITS - 1, Rounding.UP) if self.who is None else (FINEST, Rounding.COIN)
        return Encoding((Part(self.rows * self.buckets, self.single / limit, limit, rounding),))

    @property
    def voluntary(self) -> bool:
        return self.who is not None

    def takes_part(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Mask | None:
        return None if self.who is None else self.who.takes_part(clients.unrestricted, ids, times, own)

    def deal_items(self, n_items: int) -> NDArray[np.int32]:
        """The bucket of every item in each row."""
        return deal(self.coins.word, n_items, self.rows, self.buckets)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        whole, kept = clients.unrestricted, clients.kept_items
        point = self.x
        if kept is not None:
            point = np.zeros(whole.n_items)
            point[kept] = self.x
        known = (point == 0) | (point == 1)
        if known.all():  # a set, unless it is too large to be evaluated
            gains = whole.gains_at(whole.narrow_sets((point == 1)[None, :], self.coins.key)[0])
        else:
            gains = whole.gradients(point, seed=self.coins.key)
        apart = point > 0  # items that are asked about by themselves, or are in the set
        if kept is not None:
            apart[kept] = True
        part, slots = self.encoding.parts[0], self.deal_items(whole.n_items)
        unit, limit = (part.unit, part.limit) if self.who is None else (self.single / EXACT, EXACT)
        entries = gains.indptr.astype(np.int64), gains.indices.astype(np.int32), gains.data
        start = np.zeros(whole.n_clients + 1, dtype=np.int64)
        at, numbers = np.empty((2, self.rows * gains.nnz), dtype=np.int64)
        best, touched = np.zeros((2, self.length), dtype=np.int64)
        found = fold(*entries, apart, slots, self.buckets, unit, limit, best, touched, start, at, numbers)
        at, numbers = at[:found], numbers[:found]
        if self.who is not None:
            values: Array = numbers.astype(np.float64) * unit
            values *= np.repeat(self.who.factors(whole, times), np.diff(start))
            places = at + whole.n_items + 1  # coins of their own: that of n_items has decided who answers
            numbers = code_rows(start, places, values, part.coding(own).scalars, ids)
        return sparse.csr_array((numbers, at, start), shape=(whole.n_clients, self.length))


def find_least(buckets: Array, tables: NDArray[np.int32]) -> Array:
    """The least of every item's buckets."""
    least: Array = np.take_along_axis(buckets, tables, axis=1).min(axis=0)
    return least


def bound_items(replies: Sequence[FoldedReply], n_items: int) -> Array:
    """The least of every item's buckets, in several rounds."""
    bounds = [find_least(reply.buckets, reply.question.deal_items(n_items)) for reply in replies]
    least: Array = np.min(bounds, axis=0)
    return least


def estimate_items(replies: Sequence[FoldedReply], n_items: int) -> Array:
    """What each item adds, from what buckets add in several rounds, each with its own deal of the items.

    A bucket is about the sum of its items. Starting from equal shares, each step corrects an item by how much its
    buckets differ from what they should be (expectation maximisation for counts; nothing becomes negative).
    """
    buckets = np.concatenate([reply.buckets for reply in replies])
    tables = np.concatenate([reply.question.deal_items(n_items) for reply in replies])
    found = find_least(buckets, tables)
    for _ in range(STEPS):
        factor = np.zeros(n_items)
        for bucket, at in zip(buckets, tables, strict=True):
            sums = np.bincount(at, found, len(bucket))
            factor += (bucket / np.maximum(sums, TINY))[at]
        found *= factor / len(buckets)
    return found


@kernel
def deal(key: np.uint64, n_items: int, rows: int, buckets: int) -> NDArray[np.int32]:
    """The bucket of every item in each row, by hashes."""
    out = np.empty((rows, n_items), np.int32)
    for row in range(rows):
        for item in range(n_items):
            out[row, item] = hash_triple(key, row, item) % np.uint64(buckets)
    return out


@kernel
def fold(
    start: Ids,
    items: NDArray[np.int32],
    gains: Array,
    apart: Any,
    slots: NDArray[np.int32],
    buckets: int,
    unit: float,
    limit: int,
    best: Ids,
    touched: Ids,
    out_start: Ids,
    out_at: Ids,
    out_numbers: Ids,
) -> int:
    """The largest number in each bucket of each client's row, rounded up. `best` is all zeros, before and after."""
    found = 0
    for client in range(len(start) - 1):
        count = 0
        for at in range(start[client], start[client + 1]):
            if apart[items[at]] or not gains[at] > 0.0:
                continue
            number = max(int(np.ceil(min(gains[at] / unit, limit))), 1)  # also where the quotient is as good as 0
            for row in range(slots.shape[0]):
                slot = row * buckets + slots[row, items[at]]
                if best[slot] == 0:
                    touched[count] = slot
                    count += 1
                best[slot] = max(best[slot], number)
        for k in range(count):
            out_at[found], out_numbers[found] = touched[k], best[touched[k]]
            best[touched[k]] = 0
            found += 1
        out_start[client + 1] = found
    return found
