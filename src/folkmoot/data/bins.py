"""Columns cut into bins: numbers at quantiles, words by how frequent they are."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array, Ids


class Quantiles:
    """The different values of a column and how many rows lie below each, to cut the column into bins."""

    def __init__(self, column: Array) -> None:
        self.values: Array
        self.values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        self.below = np.cumsum(counts)[:-1]  # rows under values[1], values[2], …
        self.rows = int(counts.sum())

    def edges(self, bins: int) -> Array:
        """At most bins − 1 edges, each a value, so that no bin is empty and bins are about equally large.

        Equal values stay in one bin: each edge is the value closest to its quantile that has rows on both sides.
        """
        if len(self.values) <= bins:
            return self.values[1:]
        wanted = np.arange(1, bins) / bins * self.rows
        nearest = np.abs(self.below - wanted[:, None]).argmin(axis=1)
        edges: Array = self.values[1:][np.unique(nearest)]
        return edges


class Categories:
    """The words of a column, the most frequent first. Where there are more than bins, the rarest share the last one."""

    def __init__(self, cells: NDArray[Any]) -> None:
        counts = Counter(word for word in cells.tolist() if word is not None)
        self.words = sorted(counts, key=lambda word: (-counts[word], word))

    def number(self, cells: NDArray[Any]) -> Array:
        """The number of each cell's word; NaN where there is none."""
        numbers = {word: float(at) for at, word in enumerate(self.words)}
        return np.array([numbers.get(word, np.nan) for word in cells.tolist()], dtype=np.float64)

    def edges(self, bins: int) -> Array:
        """A bin for each of the most frequent words, and one for all others."""
        return np.arange(1.0, min(bins, len(self.words)))


def bin_column(column: Array, edges: Array) -> Ids:
    """The number of the bin of each value; missing values have the last bin."""
    return np.where(np.isnan(column), len(edges) + 1, np.searchsorted(edges, column, side="right"))


def as_edges(given: Any, name: str, within: str | None = None) -> Array:
    """Increasing finite numbers."""
    try:
        edges = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"needs a list of numbers, got {given!r}", argument=name, within=within) from None
    if edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise InputError(
            f"needs a list of finite numbers, each larger than the one before, got {given!r}",
            argument=name,
            within=within,
        )
    return edges
