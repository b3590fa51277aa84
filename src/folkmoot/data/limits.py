"""Limits in words ("at most 2 per region") as the simplest matroid that allows the same sets.

Rounding is fast for matroids that are groups with capacities, so limits that can never bind are dropped first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from folkmoot.data.items import Items
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import Ids
from folkmoot.matroids import Laminar, Matroid, Partition, Truncation, Uniform


@dataclass(frozen=True)
class Limit:
    """At most `at_most` items per value of an attribute (within each value of another)."""

    at_most: int
    per: str
    within: str | None = None


@dataclass(frozen=True)
class Group:
    """Items of which at most `capacity` can be chosen."""

    label: str
    limit: Limit
    members: Ids
    capacity: int


def constraint(items: Items, count: int | None, limits: Sequence[Limit]) -> Matroid:
    """The sets with at most `count` items that respect every limit."""
    families: list[list[Group]] = []
    for limit in limits:
        families.append(make_groups(items, limit, families))
    return bind_groups(len(items), count, families)


def make_groups(items: Items, limit: Limit, others: Sequence[list[Group]] = ()) -> list[Group]:
    """The groups of one limit; each lies within a group of every other limit, around it, or is disjoint."""
    at_most = as_count(limit.at_most, "at_most", least=0, within=f"per {limit.per}")
    members: dict[str, list[int]] = {}
    for item, label in enumerate(items.groups(limit.per, limit.within)):
        if label is not None:
            members.setdefault(label, []).append(item)
    groups = [Group(label, limit, np.array(of), at_most) for label, of in members.items()]
    for other in others:
        _refuse_crossing(groups, other, len(items))
    return groups


def bind_groups(n_items: int, count: int | None, families: Sequence[list[Group]]) -> Matroid:
    """The sets with at most `count` items that respect the capacity of every group."""
    if count is not None:
        count = as_count(count, "count")
        if count > n_items:
            raise InputError(f"{count:,} items cannot be chosen from {n_items:,}", argument="count")
    elif not families:
        raise InputError(
            "there is no limit",
            remedy="say how many items can be chosen, or a limit such as 2 per region",
            argument="count",
        )
    groups, spare = _find_binding([group for family in families for group in family], n_items, count)
    total = None if count is None or count >= spare else count
    if not groups:
        return Uniform(n_items, count if count is not None else n_items)
    covered = np.zeros(n_items, dtype=np.int64)
    for group in groups:
        covered[group.members] += 1
    inner: Matroid
    if covered.max() == 1:
        labels: list[str | None] = [None] * n_items
        capacities: dict[str | None, int] = {}
        for group in groups:
            name = group.label if group.label not in capacities else f"{group.label} ({group.limit.per})"
            capacities[name] = group.capacity
            for item in group.members.tolist():
                labels[item] = name
        if (covered == 0).any():
            capacities[None] = int((covered == 0).sum())
        inner = Partition(labels, capacities)
    else:
        inner = Laminar(n_items, [(group.members, group.capacity) for group in groups])
    return inner if total is None else Truncation(inner, total)


def _refuse_crossing(one: list[Group], two: list[Group], n_items: int) -> None:
    """Groups of two limits must be nested or disjoint."""
    at = [np.full(n_items, -1), np.full(n_items, -1)]
    for where, family in zip(at, (one, two), strict=True):
        for number, group in enumerate(family):
            where[group.members] = number
    both = (at[0] >= 0) & (at[1] >= 0)
    pairs, shared = np.unique(np.column_stack(at)[both], axis=0, return_counts=True)
    for (a, b), common in zip(pairs, shared, strict=True):
        if common < min(len(one[a].members), len(two[b].members)):
            raise InputError(
                f"{one[a].label} ({one[a].limit.per}) and {two[b].label} ({two[b].limit.per}) share items, but "
                "neither contains the other, so the limits together are not a matroid",
                remedy=f"limit {one[a].limit.per} within {two[b].limit.per}, or leave one out",
                argument="per",
            )


def _find_binding(groups: list[Group], n_items: int, count: int | None) -> tuple[list[Group], int]:
    """The groups that forbid a set which the others allow, and how many items all groups together allow."""
    most = n_items if count is None else count
    # From the largest group inwards: what the groups around already imply.
    allowed = np.full(n_items, most)
    kept: list[Group] = []
    for group in sorted(groups, key=lambda group: (-len(group.members), group.capacity)):
        if group.capacity < allowed[group.members[0]]:
            allowed[group.members] = group.capacity
            kept.append(group)
    # From the smallest group outwards: what the groups inside allow, kept as the sum of `share` over the group.
    share = np.ones(n_items, dtype=np.int64)
    binding: list[Group] = []
    for group in reversed(kept):
        inside = int(share[group.members].sum())
        if group.capacity < inside:
            share[group.members] = 0
            share[group.members[0]] = group.capacity
            binding.append(group)
    return binding, int(share.sum())
