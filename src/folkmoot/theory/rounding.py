"""From a point of the matroid polytope back to a set, without looking at the function.

There are three ways. Each works for every matroid and needs only x:

- `top_of_base`: the base of the largest total x; often the best, without a guarantee.
- `pipage`: random moves along e_a − e_b until x is integral; E[S] = x and E[F(S)] ≥ F̂(x).
- `swap`: bases whose mixture is x, merged pair by pair by random exchanges; the same guarantees.

If x sums to less than the rank it is first raised to a point y ≥ x of the base polytope, guided by `fill`
(weights over the items), so that S is always a base and E[S] ≥ x. Pipage in groups with capacities takes
linear time. Everything else uses a convex decomposition of x into bases, which needs only the matroid's
best bases.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import Array, Ids, Mask, as_point, indicator, weigh
from folkmoot.matroids.matroid import Blocks, Matroid, as_matroid

WHOLE = 1e-8  # closer than this to 0 or 1 counts as integral
NEAR = 1e-6  # closer than this to the polytope counts as inside: tolerates float32 and sums of steps
EXACT = 1e-10  # how well a mixture fits its point
ROUND = 12  # decimals of a share that are kept: later ones depend on the processor, and so would the bases
PIN = 1e3  # larger than every residual


@dataclass(frozen=True)
class Decomposition:
    """Bases and their shares: Σ share · 1_base = x (or a point above x, if x sums to less than the rank)."""

    bases: Mask
    shares: Array

    @property
    def point(self) -> Array:
        return np.asarray(weigh(self.shares, self.bases))


def top_of_base(matroid: Matroid, x: ArrayLike, *, fill: ArrayLike | None = None) -> Mask:
    """The base with the largest Σ x_e; ties go by `fill`, then by item id."""
    point, filling = _check_point(matroid, x, fill)
    order = np.lexsort((-filling, -point))
    return indicator(matroid.n_items, matroid.first_base(order))


def pipage(matroid: Matroid, x: ArrayLike, *, draws: int = 1, seed: int = 0, fill: ArrayLike | None = None) -> Mask:
    """Randomised pipage rounding: `draws` × items, each row a base.

    Moves x along e_a − e_b as far as possible in one direction or the other, by a coin that preserves E[x].
    Along such a line F̂ is convex, so no step loses value in expectation (Calinescu et al. 2011).
    """
    point, filling = _check_point(matroid, x, fill)
    rngs = _streams(seed, draws)
    if matroid.blocks is not None:
        point = fill_blocks(matroid.blocks, point, filling)
        return np.array([_pipage_blocks(matroid.blocks, point, rng) for rng in rngs])
    parts = decompose(matroid, point, fill=filling)
    return np.array([_pipage_bases(matroid, parts, rng) for rng in rngs])


def swap(matroid: Matroid, x: ArrayLike, *, draws: int = 1, seed: int = 0, fill: ArrayLike | None = None) -> Mask:
    """Swap rounding (Chekuri, Vondrák and Zenklusen 2010): `draws` × items, each row a base."""
    point, filling = _check_point(matroid, x, fill)
    parts = decompose(matroid, point, fill=filling)
    return np.array([_swap_bases(matroid, parts, rng) for rng in _streams(seed, draws)])


def _check_point(matroid: Matroid, x: ArrayLike, fill: ArrayLike | None) -> tuple[Array, Array]:
    as_matroid(matroid)
    point = as_point(matroid.n_items, x)
    return point, point if fill is None else matroid.check_weights(fill)


def _streams(seed: int, draws: int) -> list[np.random.Generator]:
    start = as_count(seed, "seed", least=0)
    return [np.random.default_rng([start, draw]) for draw in range(as_count(draws, "draws"))]


# Groups with capacities.


def fill_blocks(blocks: Blocks, x: Array, weights: Array) -> Array:
    """Raise x to a point of the base polytope: in each group, items with the largest weights first."""
    groups = len(blocks.capacity)
    goal = np.minimum(np.bincount(blocks.group, minlength=groups), blocks.capacity)
    missing = goal - np.bincount(blocks.group, weights=x, minlength=groups)
    if missing.min() < -NEAR:
        worst = int(missing.argmin())
        raise InputError(
            f"sums to {goal[worst] - missing[worst]:.6g} over group {worst}, which may have {goal[worst]}; "
            "it lies outside the matroid polytope",
            argument="x",
        )
    order = np.lexsort((-weights, blocks.group))
    group, room = blocks.group[order], (1.0 - x)[order]
    before = np.cumsum(room) - room
    before -= before[np.searchsorted(group, group)]  # room of the group's earlier items
    filled = x.copy()
    filled[order] += np.clip(missing[group] - before, 0.0, room)
    return filled


def _pipage_blocks(blocks: Blocks, x: Array, rng: np.random.Generator) -> Mask:
    """Within each group, settle two fractional items at a time."""
    rounded = np.where(x > 1 - WHOLE, 1.0, np.where(x < WHOLE, 0.0, x))
    fractional: Ids = rng.permutation(np.flatnonzero((rounded > 0) & (rounded < 1)))
    groups, coins = blocks.group[fractional].tolist(), iter(rng.random(len(fractional)).tolist())
    point = rounded.tolist()  # a list: reading single numbers from it is faster than from an array
    open_of: dict[int, int] = {}  # the one fractional item of each group
    for b, group in zip(fractional.tolist(), groups, strict=True):
        a = open_of.get(group, -1)
        if a >= 0:
            up, down = min(1 - point[a], point[b]), min(point[a], 1 - point[b])
            if next(coins) * (up + down) < down:
                point[a], point[b] = point[a] + up, point[b] - up
            else:
                point[a], point[b] = point[a] - down, point[b] + down
            for item in (a, b):
                if point[item] < WHOLE or point[item] > 1 - WHOLE:
                    point[item] = round(point[item])
            b = next((item for item in (a, b) if 0 < point[item] < 1), -1)
        open_of[group] = b
    return np.array(point) > 0.5  # a group's sum is integral, so its last item is integral up to rounding errors


# Any other matroid.


def decompose(matroid: Matroid, x: ArrayLike, *, fill: ArrayLike | None = None) -> Decomposition:
    """Bases whose mixture is x, or lies above x where x sums to less than the rank.

    Least squares with non-negative shares over all independent sets, with columns generated by `best_base`:
    the residual of the best mixture so far is a price per item, and the set with the largest total price
    improves the mixture most. The fit has one more row: how many items a set lacks to be a base. Lacking an
    item therefore has a price too, and the new set is made of the items of the best base whose price is
    higher. When no set improves the fit, either it is exact or x lies outside the polytope. Sets are then
    completed to bases by `fill`.
    """
    point, filling = _check_point(matroid, x, fill)
    fractional = np.flatnonzero((point > WHOLE) & (point < 1 - WHOLE))
    goal = np.append(point[fractional], [matroid.rank - point.sum(), 1.0])  # … what a set lacks; shares sum to one
    prices = np.where(point >= 1 - WHOLE, PIN, -PIN)  # integral items are fixed, not fitted
    tight = point.sum() > matroid.rank - NEAR  # then only bases can mix to x
    sets: list[Mask] = []
    mixed, shares = MixedColumns(goal), np.empty(0)
    for _ in range(20 * len(goal) + 100):
        residual = goal - weigh(shares, mixed.columns.T)
        if np.abs(residual).max() < EXACT:
            break
        prices[fractional] = residual[:-2]
        members = indicator(matroid.n_items, matroid.best_base(prices))
        if not tight:
            members &= prices > residual[-2]  # keep an item only if its price is above that of lacking one
        column = np.append(members[fractional].astype(float), [matroid.rank - members.sum(), 1.0])
        if weigh(column, residual) <= EXACT * EXACT or not mixed.add(column):  # nothing improves the fit
            break
        sets.append(members)
        shares, kept = _fit_nonnegative(mixed, np.append(shares, 0.0))
        sets = [members for members, keep in zip(sets, kept, strict=True) if keep]
        if kept[:-1].all() and not kept[-1]:  # only the new set was dropped: it would come again
            break
    shares = shares / shares.sum()
    off = np.abs(weigh(shares, sets) - point)
    if off.max() > NEAR:
        raise InputError(
            f"lies outside the matroid polytope by about {off.max():.3g} at item {off.argmax()}",
            remedy="give a mixture of independent sets",
            argument="x",
        )
    completed = [matroid.first_base(np.lexsort((-filling, ~members))) for members in sets]
    bases, same = np.unique([indicator(matroid.n_items, base) for base in completed], axis=0, return_inverse=True)
    return Decomposition(bases, np.bincount(same.reshape(-1), weights=shares).astype(np.float64))


class MixedColumns:
    """Columns Q·R, with Q orthonormal, that come and go; and the mixture of them that fits a goal.

    A new column costs a few passes over Q. Libraries of linear algebra would solve each system from the start, and in
    threads that wait for each other as soon as other programs use the cores.
    """

    def __init__(self, goal: Array) -> None:
        self.goal = goal
        self.columns = np.empty((len(goal), 0))
        self._q, self._r = np.empty((0, len(goal))), list[Array]()  # rows of Q are its columns, and so are those of R

    def add(self, column: Array, least: float = EXACT) -> bool:
        """Whether the column could be added: not if all but the `least` part of it is a mixture of the others."""
        rest, parts = column, np.zeros(len(self._q))
        for _ in range(2):  # the second time removes what rounding errors left the first time
            part = np.asarray(weigh(rest, self._q.T))
            rest, parts = rest - weigh(part, self._q), parts + part
        length = float(np.sqrt(weigh(rest, rest)))
        if length <= least * float(np.sqrt(weigh(column, column))):
            return False
        self.columns = np.column_stack((self.columns, column))
        self._q = np.vstack((self._q, rest / length))
        self._r.append(np.append(parts, length))
        return True

    def keep(self, kept: Mask) -> None:
        """Only these columns."""
        first = int(np.argmin(kept))  # what comes before the first that goes stays as it is
        later = self.columns[:, first:][:, kept[first:]].T
        self.columns, self._q, self._r = self.columns[:, :first], self._q[:first], self._r[:first]
        for column in later:
            self.add(column, 0.0)

    def fit(self) -> Array:
        """The shares of least squares: R · shares = Qᵀ · goal, from the last to the first."""
        shares = np.array(weigh(self.goal, self._q.T))
        for at in range(len(shares) - 1, -1, -1):
            shares[at] /= self._r[at][at]
            shares[:at] -= shares[at] * self._r[at][:at]
        return shares


def _fit_nonnegative(mixed: MixedColumns, shares: Array) -> tuple[Array, Mask]:
    """Lawson and Hanson's inner loop: least squares over the columns, dropping those that turn negative."""
    kept = np.ones(len(shares), dtype=bool)
    while True:
        best = np.round(mixed.fit(), ROUND)
        if (best > 0).all():
            return best, kept
        now = shares[kept]
        falling = best <= 0
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(falling, np.where(now > 0, now / (now - best), 0.0), np.inf)
        now = now + float(steps.min()) * (best - now)
        now[falling & (now <= 1e-14)] = 0.0
        if (now > 0).all():
            now[steps.argmin()] = 0.0
        shares = shares.copy()
        shares[kept] = now
        mixed.keep(now > 0)
        kept = shares > 0


def _find_exchange(matroid: Matroid, one: Mask, two: Mask, a: int) -> int:
    """For a in one but not in two: an item b of two such that one − a + b and two − b + a are both independent."""
    without = one.copy()
    without[a] = False
    for b in np.flatnonzero(matroid.find_addable(without) & two & ~one).tolist():
        if _can_exchange(matroid, two, b, a):
            return b
    raise InputError(
        "two of its bases cannot exchange an item, so it is no matroid",
        remedy="call is_valid() to see what is wrong",
        argument="matroid",
    )


def _can_exchange(matroid: Matroid, base: Mask, out: int, into: int) -> bool:
    other = base.copy()
    other[out], other[into] = False, True
    return matroid.is_independent(other)


def _find_willing(matroid: Matroid, bases: Mask, out: int, into: int) -> Ids:
    """The bases that hold one item and can exchange it for another that they lack."""
    willing = np.flatnonzero(bases[:, out] & ~bases[:, into])
    limits = matroid.limits
    if limits is None:
        return np.array([k for k in willing if _can_exchange(matroid, bases[k], out, into)], dtype=np.int64)
    for one in np.setdiff1d(limits.around(into), limits.around(out)):  # only these have one item more then
        inside = bases[np.ix_(willing, limits.members(one))]
        willing = willing[np.count_nonzero(inside, axis=1) < limits.capacity[one]]
    return willing


def sort_rows(rows: Mask) -> tuple[Ids, Ids]:
    """What np.unique finds, in a tenth of the time: where each different row is first, in their order, and which of
    them each row is.
    """
    keys = [row.tobytes() for row in np.packbits(rows, axis=1)]
    first: dict[bytes, int] = {}
    for at, key in enumerate(keys):
        first.setdefault(key, at)
    number = {key: at for at, key in enumerate(sorted(first))}
    return np.array([first[key] for key in number]), np.array([number[key] for key in keys])


def _swap_bases(matroid: Matroid, parts: Decomposition, rng: np.random.Generator) -> Mask:
    """Merge the bases one after the other; a coin weighted by their shares decides each exchange."""
    merged: Mask = parts.bases[0].copy()
    weight = parts.shares[0]
    for base, share in zip(parts.bases[1:].copy(), parts.shares[1:], strict=True):
        while (mine := np.flatnonzero(merged & ~base)).size:
            a = int(mine[0])
            b = _find_exchange(matroid, merged, base, a)
            if rng.random() * (weight + share) < weight:
                base[b], base[a] = False, True
            else:
                merged[a], merged[b] = False, True
        weight += share
    return merged


def _pipage_bases(matroid: Matroid, parts: Decomposition, rng: np.random.Generator) -> Mask:
    """Pipage along e_a − e_b, as far as the bases of the decomposition allow.

    To raise a, all bases that hold b and can exchange it for a do so; to lower a, the other way round. Each
    step preserves E[x] and lowers E[Σ x(1 − x)] by at least twice the product of two shares. Shares never
    split, they only merge; so it ends, with one base.
    """
    bases, shares = parts.bases, parts.shares
    moving = np.flatnonzero(bases.any(axis=0) & ~bases.all(axis=0))  # nothing else ever changes
    while len(bases) > 1:
        one, two = np.argsort(-shares, kind="stable")[:2]
        a = int(np.flatnonzero(bases[one] & ~bases[two])[0])
        b = _find_exchange(matroid, bases[one], bases[two], a)
        gives_b, gives_a = _find_willing(matroid, bases, b, a), _find_willing(matroid, bases, a, b)
        up, down = shares[gives_b].sum(), shares[gives_a].sum()
        bases = bases.copy()
        if rng.random() * (up + down) < down:
            bases[gives_b, b], bases[gives_b, a] = False, True
        else:
            bases[gives_a, a], bases[gives_a, b] = False, True
        first, same = sort_rows(bases[:, moving])
        bases = bases[first]  # equal bases are merged
        shares = np.bincount(same, weights=shares).astype(np.float64)
    merged: Mask = bases[0]
    return merged
