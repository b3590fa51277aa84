"""Questions that a client answers with a base of its own: one at x, a walk of several, a shard's greedy base."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from folkmoot.foundation.coding import Coding, code_rows
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import kernel
from folkmoot.foundation.private_coins import CoinKey, PrivateCoins, absorb, toss_bits
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, share
from folkmoot.matroids.matroid import Limits, Matroid
from folkmoot.objectives.objective import Objective
from folkmoot.objectives.sampling import DEFAULT_SAMPLES
from folkmoot.questions.encoding import Encoding, Part
from folkmoot.questions.gradient import PointQuery
from folkmoot.questions.query import FINE, Query, Reply
from folkmoot.questions.slots import keep_slots

MOST_CLIENTS = 1 << 31  # where nobody says how many there are
MOST_ENTRIES = 1 << 22  # of clients times items at once, where every client may name every item
MOST_FILLED = 1 << 32  # steps times items times clients, where every client sorts all items: some minutes
SETS = 1  # a branch of the coins of a step: those that draw sets


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalBase(PointQuery):
    """Algorithm 1, lines 6 and 7: the base that the client's own gradient likes best.

    Only items with a positive gain are named (`WholeBase`: a whole base, as in the paper). Gains are compared in fixed
    point and ties are broken by the client's own coins, so that neither float noise nor item numbers decide anything.
    """

    fills_up: ClassVar[bool] = False  # whether bases are completed with items that add nothing

    matroid: Matroid
    single: float

    @property
    def main(self) -> Part:
        rank = self.matroid.rank
        return Part(self.width, 1.0, 1, most_nonzero=rank, most_together=rank)

    def _numbers(self, clients: Objective, gradients: Rows, ids: Ids, own: PrivateCoins) -> Rows:
        return self._bases(gradients, ids, own)

    def _bases(self, gradients: Rows, ids: Ids, own: PrivateCoins) -> Rows:
        """Each row's best base, as ones in its slots."""
        items = self._items_in(gradients.indices)
        how = Coding(self.single / FINE, FINE).scalars
        data = code_rows(gradients.indptr, items, gradients.data, how, ids)
        gains: Rows = sparse.csr_array((data, gradients.indices, gradients.indptr), shape=gradients.shape)
        if not self.fills_up:
            return self._choose(gains, ids, own)
        step = max(MOST_ENTRIES // self.width, 1)
        parts = [slice(lo, lo + step) for lo in range(0, len(ids), step)]
        chosen: Rows = sparse.csr_array(
            sparse.vstack([self._choose(fill_rows(gains[part]), ids[part], own) for part in parts], format="csr")
        )
        return chosen

    def _choose(self, gains: Rows, ids: Ids, own: PrivateCoins) -> Rows:
        """Each row's best base by whole numbers, as ones in its slots."""
        items, start = self._items_in(gains.indices), gains.indptr
        chosen = np.zeros(len(items), dtype=bool)
        limits = self.matroid.limits
        if limits is not None:
            choose_best(start, items, gains.data, limits, own.key, ids, chosen)
        else:
            for row in range(gains.shape[0]):
                span = slice(start[row], start[row + 1])
                chosen[span] = self._base(items[span], gains.data[span], own, int(ids[row]))
        kept = np.concatenate(([0], np.cumsum(chosen)))[start]
        ones = np.ones(int(chosen.sum()), dtype=np.int64)
        return sparse.csr_array((ones, gains.indices[chosen], kept), shape=gains.shape)

    def _base(self, items: Ids, gains: Ids, own: PrivateCoins, client: int) -> Mask:
        """The same for one client under any matroid. Only items with a gain matter: they come first in the order."""
        order = rank(items, gains, own.key, client)
        wanted = items[order[gains[order] > 0]]
        return np.isin(items, self.matroid.first_base(wanted)) & (gains > 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalWalk(LocalBase):
    """Algorithm 2, lines 6 to 13: `steps` local steps of continuous greedy, each adding 1/steps of the client's
    own best base; the answer counts how often each item was in that base.

    A walk can leave the cube, where the extension means nothing: gradients are taken at min(x, 1).
    """

    steps: int

    @property
    def main(self) -> Part:
        most = self.matroid.rank * self.steps
        return Part(self.width, 1 / self.steps, self.steps, most_nonzero=most, most_together=most)

    def look_at_x(self, clients: Objective, ids: Ids, own: PrivateCoins) -> tuple[Rows, Array]:
        """Each client samples sets of its own."""
        if clients.is_exact(self.samples):
            return super().look_at_x(clients, ids, own)
        values = clients.extension(self.x, samples=None if clients.closed_form else self.samples, seed=self.coins.key)
        return clients.sample_gradients_each(
            restrict_to_own(self.x, clients), self._samples, own.branch(0, SETS), ids
        ), values

    @property
    def _samples(self) -> int:
        return DEFAULT_SAMPLES if self.samples is None else self.samples

    def _numbers(self, clients: Objective, gradients: Rows, ids: Ids, own: PrivateCoins) -> Rows:
        for one in self.follow(clients, gradients, ids, own):
            counts = one.counts
        return counts

    def follow(self, clients: Objective, gradients: Rows, ids: Ids, own: PrivateCoins) -> Iterator["LocalStep"]:
        """The walks of all clients, step by step. `gradients`: at x, in the slots of the items asked about."""
        counts = self._bases(gradients, ids, own.branch(0))
        yield LocalStep(None, gradients, counts)
        shared = restrict_to_own(self.x, clients)
        for step in range(1, self.steps):
            moved = sparse.csr_array(
                (counts.data / self.steps, self._items_in(counts.indices), counts.indptr), shared.shape
            )
            points: Rows = shared + moved
            points.data = np.minimum(points.data, 1.0)
            if clients.is_exact(self.samples):
                local = clients.gradients_at_each(points)
            else:
                local = clients.sample_gradients_each(points, self._samples, own.branch(step, SETS), ids)
            local = keep_slots(local, self.slots, self.width)
            counts = counts + self._bases(local, ids, own.branch(step))
            yield LocalStep(points, local, counts)


class LocalStep(NamedTuple):
    """One local step of many clients."""

    points: "Rows | None"  # where each of them is; None: at x
    gradients: Rows  # what it finds there, exact or sampled
    counts: Rows  # how often each item was in its base, up to and with this step


@dataclass(frozen=True, eq=False, kw_only=True)
class WholeBase(LocalBase):
    """A base of r items, as printed in Algorithm 1: items that add nothing fill it up, chosen by the client's coins."""

    fills_up = True

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        super().check(n_items, n_clients)
        check_filling(1, n_items, n_clients)


@dataclass(frozen=True, eq=False, kw_only=True)
class WholeWalk(LocalWalk):
    """A walk along bases of r items, as printed in Algorithm 2."""

    fills_up = True

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        super().check(n_items, n_clients)
        check_filling(self.steps, n_items, n_clients)


def check_filling(steps: int, n_items: int, n_clients: int | None) -> None:
    """Refuse whole bases where too many items are to be sorted: every client sorts all, in every step."""
    if steps * n_items * (n_clients or 1) > MOST_FILLED:
        raise InputError(f"whole bases over {n_items:,} items are too much work for so many clients", argument="items")


def fill_rows(gains: Rows) -> Rows:
    """Every item of every row, with its gain plus 1: the order is the same, and an item without gain counts too."""
    rows, width = gains.shape
    data: Ids = gains.toarray().reshape(-1) + 1
    return sparse.csr_array((data, np.tile(np.arange(width), rows), np.arange(rows + 1) * width), shape=gains.shape)


def restrict_to_own(x: Array, clients: Objective) -> Rows:
    """x on each client's own items: an item that is worth nothing alone to a client never matters to it."""
    own = clients.gains_at(np.zeros(clients.n_items, dtype=bool))
    return sparse.csr_array((x[own.indices], own.indices, own.indptr), shape=own.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupBase(Query[Reply]):
    """A group sees all its members' functions and answers with a greedy base: what is in the sum is the answer of a
    group, not of a client. It is written by the first of its members among those who answer.

    With `deal`, items are dealt to the groups too, and a group considers only its own. Everybody knows whose they are,
    so the sum then shows every group's answer.
    """

    matroid: Matroid
    deal: bool
    items: Ids | None
    coins: PublicCoins

    counts_times = True  # a group weighs its members itself

    @abstractmethod
    def group_clients(self) -> Ids: ...

    @property
    @abstractmethod
    def groups(self) -> int: ...

    @property
    def shows_groups(self) -> bool:
        return self.deal

    @cached_property
    def encoding(self) -> Encoding:
        rank = self.matroid.rank
        return Encoding((Part(self.matroid.n_items, 1.0, 1, most_nonzero=rank, most_together=rank),))

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        group_of_item = self.coins.generator().integers(0, self.groups, self.length)
        hand = self.group_clients()[ids]
        out = sparse.lil_array((clients.n_clients, self.length), dtype=np.int64)
        for group in np.unique(hand).tolist():
            members = np.flatnonzero(hand == group)
            allowed = np.zeros(self.length, dtype=bool)
            allowed[slice(None) if self.items is None else self.items] = True
            if self.deal:
                allowed &= group_of_item == group
            party = clients[members].reweight(times[members])
            out[members[0], greedy_base(party, self.matroid, allowed)] = 1
        return out.tocsr()

    def total(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Ids:
        return np.asarray(self.answers(clients, ids, times, own).sum(axis=0)).reshape(-1)


@dataclass(frozen=True, eq=False, kw_only=True)
class ShardBase(GroupBase):
    """RandGreeDi: clients are dealt to shards, each of which answers with a greedy base.

    Only one of the members of a shard answers, for all of them.
    """

    clients: int  # in total
    shards: int

    @property
    def groups(self) -> int:
        return self.shards

    @property
    def all_speak(self) -> bool:
        return False

    def speakers(self, ids: Ids) -> Mask:
        first = np.zeros(len(ids), dtype=bool)
        first[np.unique(self.group_clients()[ids], return_index=True)[1]] = True
        return first

    def group_clients(self) -> Ids:
        """Shards are about equally large, so that none is empty."""
        places = self.coins.branch(1).generator().permutation(self.clients)
        return np.asarray(places % self.shards)

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        if n_clients is not None and self.clients != n_clients:
            raise InputError(f"needs {n_clients:,}, the number of all clients", argument="clients")
        if type(self.shards) is not int or not 1 <= self.shards <= self.clients:
            raise InputError("needs a number from 1 to that of the clients", argument="shards")
        super().check(n_items, n_clients)


@dataclass(frozen=True, eq=False, kw_only=True)
class PartyBase(GroupBase):
    """RandGreeDi where parties speak for their clients: each party is a shard, and answers with a greedy base.

    sizes: how many clients each party holds; the first holds the first ones, and so on.
    """

    sizes: Ids

    @property
    def groups(self) -> int:
        return len(self.sizes)

    def group_clients(self) -> Ids:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def check(self, n_items: int, n_clients: int | None = None) -> None:
        super().check(n_items, n_clients)
        sizes, most = self.sizes, n_clients or MOST_CLIENTS
        good = 0 < len(sizes) <= most and 1 <= int(sizes.min()) <= int(sizes.max()) <= most
        if not good or int(sizes.sum()) > most or n_clients not in (None, int(sizes.sum())):
            raise InputError(f"needs the numbers of clients of all parties, {most:,} in total", argument="sizes")


def greedy_base(clients: Objective, matroid: Matroid, allowed: Mask) -> list[int]:
    """Greedy over the allowed items."""
    walk, members, order = clients.walk(), np.zeros(matroid.n_items, dtype=bool), []
    while (addable := np.flatnonzero(matroid.find_addable(members) & allowed)).size:
        gains = walk.gains(addable)
        if gains.max() <= 0:
            break
        item = int(addable[gains.argmax()])
        members[item] = True
        walk.add(item)
        order.append(item)
    return order


def choose_best(
    start: NDArray[Any], items: Ids, gains: Ids, limits: Limits, key: CoinKey, ids: Ids, chosen: Mask
) -> None:
    """Each row's best base under limits, of entries with a positive gain; ties are broken by coins."""
    longest = int(np.diff(start).max(initial=0))
    room = limits.capacity.copy(), np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.uint64)
    rows = share(start.astype(np.int64, copy=False)), share(items), share(gains)
    fill_sets(*rows, share(limits.start), share(limits.sets), key, share(ids), *room, chosen)


def rank(items: Ids, gains: Ids, key: CoinKey, client: int) -> Ids:
    """The places of the gains, largest first; equal ones in the order of their coins."""
    order, coins = np.arange(len(items)), np.empty(len(items), dtype=np.uint64)
    sort_places(share(items), share(gains), key, client, order, coins)
    return order


@kernel
def fill_sets(
    start: Ids,
    items: Ids,
    gains: Ids,
    set_start: Ids,
    sets: Ids,
    key: CoinKey,
    ids: Ids,
    room: Ids,
    order: Ids,
    coins: NDArray[np.uint64],
    chosen: Mask,
) -> None:
    """`room` is the capacity of each set, and is so again afterwards; `order` and `coins` are work space."""
    for row in range(len(start) - 1):
        first, last = start[row], start[row + 1]
        for at in range(last - first):
            order[at] = at
        sort_places(items[first:last], gains[first:last], key, ids[row], order, coins)
        for at in range(last - first):
            entry = first + order[at]
            if gains[entry] <= 0:
                break
            fits = True
            for of in range(set_start[items[entry]], set_start[items[entry] + 1]):
                fits = fits and room[sets[of]] > 0
            if fits:
                chosen[entry] = True
                for of in range(set_start[items[entry]], set_start[items[entry] + 1]):
                    room[sets[of]] -= 1
        for entry in range(first, last):
            if chosen[entry]:
                for of in range(set_start[items[entry]], set_start[items[entry] + 1]):
                    room[sets[of]] += 1


@kernel
def sort_places(items: Ids, gains: Ids, key: CoinKey, client: int, order: Ids, coins: NDArray[np.uint64]) -> None:
    """`order` holds all places in their order; `coins` is work space. By Shell's method: rows are short, and it takes
    a tenth as long to compile as numba's own sort.
    """
    count, row = len(items), absorb(key, np.uint64(client))
    for at in range(count):
        coins[at] = toss_bits(row, items[at])
    gap = count
    while gap > 1:
        gap = max((5 * gap - 1) // 11, 1)
        for at in range(gap, count):
            place, to = order[at], at
            while to >= gap and precedes(gains, coins, place, order[to - gap]):
                order[to] = order[to - gap]
                to -= gap
            order[to] = place


@kernel
def precedes(gains: Ids, coins: NDArray[np.uint64], one: int, other: int) -> bool:
    if gains[one] != gains[other]:
        return bool(gains[one] > gains[other])
    if coins[one] != coins[other]:
        return bool(coins[one] < coins[other])
    return one < other
