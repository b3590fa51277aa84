"""The expected best item of a random set, and its derivative by each probability: two passes over a row.

Let Q be the chance that no item of a run is in R ~ x. One pass from the worst run to the best gives the
expected best of the runs so far, tail ← c − Q·(c − tail), and for an item of that run

    (1 − x_e) · ∂f̂/∂x_e = Π_{better runs} Q · Q · (c − tail),

which is the same for the whole run. The tail after the best run is f̂(x) itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.coding import CodingScalars, encode_number
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.private_coins import S11, CoinKey, absorb, toss_bits, toss_coin
from folkmoot.foundation.sets import Array, Ids
from folkmoot.objectives.runs import Runs
from folkmoot.objectives.sparse import LEAST_MISS

ZERO, ONE, TWO, THREE, FOUR = (np.uint64(k) for k in range(5))


@kernel
def row_terms(rows: Runs, row: int, chance: float, miss: Array, none: Array, unseen: Array, terms: Array) -> float:
    """terms[run] = chance · (1 − x_e) · ∂f̂/∂x_e for the items of each run; returns f̂(x).

    Indices are unsigned: a signed index is tested for its sign at every use.
    """
    items = rows.items
    first, runs = rows.row_runs[row], rows.row_runs[row + 1] - rows.row_runs[row]
    at = np.uint64(rows.row_start[row])
    row_start = at
    for run in range(runs):
        end = row_start + np.uint64(rows.run_end[first + run])
        one = two = three = four = 1.0  # four products: a single one would wait for each of its own results
        while at + THREE < end:
            one *= miss[items[at]]
            two *= miss[items[at + ONE]]
            three *= miss[items[at + TWO]]
            four *= miss[items[at + THREE]]
            at += FOUR
        while at < end:
            one *= miss[items[at]]
            at += ONE
        none[run] = (one * two) * (three * four)
        unseen[run] = chance
        chance *= none[run]
    tail = 0.0
    for run in range(runs - 1, -1, -1):
        better = none[run] * (rows.run_value[first + run] - tail)
        tail = rows.run_value[first + run] - better
        terms[run] = unseen[run] * better
    return tail


def make_room(rows: Runs, lo: int, hi: int) -> tuple[Array, Array, Array]:
    """Work space for `row_terms`, large enough for any of these rows."""
    most = int((rows.row_runs[lo + 1 : hi + 1] - rows.row_runs[lo:hi]).max())
    return np.empty(most), np.empty(most), np.empty(most)


def make_tosses(rows: Runs, lo: int, hi: int) -> NDArray[np.uint64]:
    """Room for the coins of any run of these rows."""
    return np.empty(int(np.diff(rows.row_start[lo : hi + 1]).max(initial=0)), dtype=np.uint64)


@kernel
def gradient(
    rows: Runs,
    weight: Array,
    lo: int,
    hi: int,
    miss: Array,
    none: Array,
    unseen: Array,
    terms: Array,
    expected: Array,
    out: Array,
) -> None:
    """Weighted (1 − x_e) · ∂f̂/∂x_e, added up over the rows item by item. Or, if `expected` is not empty: f̂(x) for
    each row in `expected`, and weighted ∂f̂/∂x_e for each entry.
    """
    items = rows.items
    by_entry = len(expected) > 0
    for row in range(lo, hi):
        tail = row_terms(rows, row, weight[row], miss, none, unseen, terms)
        first, runs = rows.row_runs[row], rows.row_runs[row + 1] - rows.row_runs[row]
        at = row_start = np.uint64(rows.row_start[row])
        if by_entry:
            expected[row] = tail
            for run in range(runs):
                end = row_start + np.uint64(rows.run_end[first + run])
                while at < end:
                    out[at] = terms[run] / miss[items[at]]
                    at += ONE
        else:
            for run in range(runs):
                end = row_start + np.uint64(rows.run_end[first + run])
                term = terms[run]
                while at < end:
                    out[items[at]] += term
                    at += ONE


@kernel
def gradient_at_own_points(
    rows: Runs,
    weight: Array,
    client_rows: Ids,
    start: NDArray[Any],
    items: NDArray[Any],
    x: Array,
    miss: Array,
    none: Array,
    unseen: Array,
    terms: Array,
    expected: Array,
    out: Array,
) -> None:
    """By entry, with a point of its own for every client (sparse rows: start, items, x). `miss` starts as all ones."""
    for client in range(len(client_rows) - 1):
        for at in range(start[client], start[client + 1]):
            miss[items[at]] = max(1.0 - x[at], LEAST_MISS)
        lo, hi = client_rows[client], client_rows[client + 1]
        gradient(rows, weight, lo, hi, miss, none, unseen, terms, expected, out)
        for at in range(start[client], start[client + 1]):
            miss[items[at]] = 1.0


@kernel
def add_coded_gradient(
    rows: Runs,
    row_weight: Array,
    lo: int,
    hi: int,
    miss: Array,
    touched: NDArray[np.uint8],
    how: CodingScalars,
    ids: Ids,
    times: Ids,
    none: Array,
    unseen: Array,
    terms: Array,
    tosses: NDArray[np.uint64],
    expected: Array,
    into: Ids,
) -> None:
    """`gradient` by entry, each number encoded as by `code_rows`, summed over the rows without storing entries.

    Every row is a client here. Items with x_e = 0 (`touched` is 0; one byte per item stays in the nearest cache) all
    have the run's own term, so it is rounded once per run. Where coins decide, the quotient and the client's part of
    the hash are computed once, and the rest in a loop of its own, several items at once (`tosses` is its work space).
    Most runs hold only such items: then none[run] is exactly 1. `ids` may be empty (a client's number is its row), and
    so may `times` (once each).
    """
    items = rows.items
    for row in range(lo, hi):
        first, runs = rows.row_runs[row], rows.row_runs[row + 1] - rows.row_runs[row]
        expected[row] = row_terms(rows, row, 1.0, miss, none, unseen, terms) * row_weight[row]
        client = ids[row] if len(ids) else row
        count = times[row] if len(times) else 1
        coins = absorb(how.key, np.uint64(client))
        at = np.uint64(rows.row_start[row])
        row_start = at
        for run in range(runs):
            end = row_start + np.uint64(rows.run_end[first + run])
            whole = terms[run] * row_weight[row]
            scaled = whole / how.unit
            tossed = how.stochastic and 0.0 < scaled < how.limit
            below = int(np.floor(scaled)) if tossed else encode_number(whole, how, client, 0)
            edge = np.uint64(np.ceil((scaled - below) * 2.0**53)) if tossed else ZERO  # coins under the fraction
            if tossed:
                for place in range(end - at):
                    tosses[place] = toss_bits(coins, items[at + np.uint64(place)]) >> S11
            start = at
            if none[run] != 1.0:  # x touches this run
                while at < end:
                    item = items[at]
                    up = tossed and tosses[at - start] < edge
                    at += ONE
                    if touched[item]:
                        into[item] += (
                            encode_number(terms[run] / miss[item] * row_weight[row], how, client, item) * count
                        )
                    else:
                        into[item] += (below + int(up)) * count
            elif tossed:
                while at < end:
                    into[items[at]] += (below + int(tosses[at - start] < edge)) * count
                    at += ONE
            else:
                below *= count
                while at < end:
                    into[items[at]] += below
                    at += ONE


@kernel
def sample_gradient(
    rows: Runs,
    client_rows: Ids,
    start: NDArray[Any],
    items: NDArray[Any],
    x: Array,
    n_items: int,
    samples: int,
    key: CoinKey,
    ids: Ids,
    out: Array,
) -> None:
    """The mean of f(R + e) − f(R − e) over sets R ~ x, drawn by coins at each client's own point.

    Only the best two members of R matter to a row: an item above the best gains its difference to the best, and
    the best gains its difference to the second.
    """
    chance = np.zeros(n_items)
    for client in range(len(client_rows) - 1):
        for at in range(start[client], start[client + 1]):
            chance[items[at]] = x[at]
        for row in range(client_rows[client], client_rows[client + 1]):
            for at in range(rows.row_start[row], rows.row_start[row + 1]):
                out[at] = 0.0
            for sample in range(samples):
                add_sample(rows, row, chance, key, ids[client], sample, 1.0 / samples, out)
        for at in range(start[client], start[client + 1]):
            chance[items[at]] = 0.0


@kernel
def add_sample(
    rows: Runs, row: int, chance: Array, key: CoinKey, client: int, sample: int, share: float, out: Array
) -> None:
    leader, best, second = -1, 0.0, 0.0
    n = len(chance)
    at = rows.row_start[row]
    for run in range(rows.row_runs[row], rows.row_runs[row + 1]):
        end = rows.row_start[row] + rows.run_end[run]
        while at < end and (leader < 0 or second == 0.0):
            p = chance[rows.items[at]]
            if p > 0.0 and toss_coin(key, client, sample * n + rows.items[at]) < p:
                if leader < 0:
                    leader, best = at, rows.run_value[run]
                else:
                    second = rows.run_value[run]
            at += 1
        at = end
        if leader >= 0 and second > 0.0:
            break
    at = rows.row_start[row]
    for run in range(rows.row_runs[row], rows.row_runs[row + 1]):
        if rows.run_value[run] <= best:
            break
        end = rows.row_start[row] + rows.run_end[run]
        for entry in range(at, end):
            out[entry] += (rows.run_value[run] - best) * share
        at = end
    if leader >= 0:
        out[leader] += (best - second) * share
