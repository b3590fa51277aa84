"""Graphic matroids: sets of edges without a cycle."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_list
from folkmoot.foundation.sets import Ids, Mask
from folkmoot.matroids.matroid import Matroid


class Graphic(Matroid):
    """Items are the edges of a graph; a set is allowed when its edges form no cycle.

    `edges`: one pair of vertices per item; a vertex is anything hashable. A loop is never allowed;
    parallel edges exclude each other.
    """

    by_construction = True

    def __init__(self, edges: Iterable[tuple[Hashable, Hashable]]) -> None:
        pairs = [as_list(edge, "edges", f"item {item}") for item, edge in enumerate(as_list(edges, "edges"))]
        if not pairs:
            raise InputError("there are no items", remedy="give one pair of vertices per item", argument="edges")
        for item, pair in enumerate(pairs):
            if len(pair) != 2:
                raise InputError(f"item {item} has {len(pair)} vertices; an edge joins two", argument="edges")
            if not all(isinstance(vertex, Hashable) for vertex in pair):
                raise InputError(
                    f"item {item} joins {pair}; a vertex must be hashable, such as a number or a string",
                    argument="edges",
                )
        number: dict[Hashable, int] = {}
        self.ends = np.array([[number.setdefault(vertex, len(number)) for vertex in pair] for pair in pairs])
        self.n_items, self.n_vertices = len(pairs), len(number)

    def _trees(self, members: Mask) -> Ids:
        """The connected component of each vertex."""
        from scipy.sparse import csgraph  # imported only when there is a graph: it is slow to load

        one, two = self.ends[members].T
        graph = coo_array((np.ones(len(one)), (one, two)), shape=(self.n_vertices, self.n_vertices))
        return np.asarray(csgraph.connected_components(graph, directed=False)[1])

    def is_independent(self, members: Mask) -> bool:
        """Union-find: for a small set this is faster than building a graph."""
        parent: dict[int, int] = {}
        for one, two in self.ends[members].tolist():
            while one in parent:
                one = parent[one]
            while two in parent:
                two = parent[two]
            if one == two:
                return False
            parent[one] = two
        return True

    def find_addable(self, members: Mask) -> Mask:
        trees = self._trees(members)
        return np.asarray(trees[self.ends[:, 0]] != trees[self.ends[:, 1]])

    def first_base(self, order: Ids) -> Ids:
        """Kruskal: a minimum spanning forest with the place in the order for a weight."""
        from scipy.sparse import csgraph

        place = np.empty(self.n_items)
        place[order] = np.arange(1, len(order) + 1)
        low, high = self.ends.min(axis=1), self.ends.max(axis=1)
        first = order[low[order] != high[order]]
        _, once = np.unique(low[first] * self.n_vertices + high[first], return_index=True)
        first = first[once]  # of parallel edges only the first
        shape = (self.n_vertices, self.n_vertices)
        forest = csgraph.minimum_spanning_tree(coo_array((place[first], (low[first], high[first])), shape=shape))
        return np.sort(order[forest.data.astype(np.int64) - 1])

    def parameters(self) -> dict[str, Any]:
        return {"edges": self.ends}

    def __repr__(self) -> str:
        return f"Graphic({self.n_items} edges, {self.n_vertices} vertices, rank {self.rank})"
