"""Which party enrolled which clients, where each client is masked by itself.

Terms count clients, but whoever enrols clients can invent them: a party that works for the server is as many corrupt
clients as it has in a round. So no single party may have more there than the terms allow to be corrupt. Cohorts are
drawn at random, so chance alone can give a party more; that must be rare, since cohorts that are refused and drawn
again are no longer a fair sample.
"""

from dataclasses import dataclass

import numpy as np

from folkmoot.conversation.population import Population
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array, Ids
from folkmoot.secagg.parameters import count_share

RARELY = 0.01  # the largest share of rounds that may be refused by chance


@dataclass(frozen=True, eq=False)
class Holdings:
    """Clients are numbered party by party. ends: where the numbers of each party begin, and the number of all."""

    names: tuple[str, ...]
    ends: Ids

    def find_owner(self, ids: Ids) -> str:
        """The party that holds exactly these clients."""
        for number, name in enumerate(self.names):
            if np.array_equal(ids, np.arange(self.ends[number], self.ends[number + 1])):
                return name
        raise InputError("no party holds these clients", argument="holdings")

    def count(self, ids: Ids) -> dict[str, int]:
        """How many of these clients, given in increasing order, each party holds."""
        return dict(zip(self.names, np.diff(np.searchsorted(ids, self.ends)).tolist(), strict=True))

    def describe_excess(self, corrupt: float) -> str:
        """A sentence about a party so large that the others would refuse rounds over everyone; empty: none is."""
        sizes = dict(zip(self.names, np.diff(self.ends).tolist(), strict=True))
        largest = max(self.names, key=sizes.__getitem__)
        share = sizes[largest] / sum(sizes.values())
        if len(self.names) == 1 or share <= corrupt:
            return ""
        return (
            f"{largest} holds {share:.0%} of all clients, but no party may hold more than {corrupt:.0%} of those asked "
            f"(`corrupt`): it could have invented them, so the others refuse"
        )

    def find_chance(self, population: Population, sizes: Ids, corrupt: float) -> Array:
        """For each size of a cohort: the chance, or a little more, that some party has more of it than may be corrupt.

        A client that is drawn twice, where weights differ, is counted twice here and once by the parties.
        """
        from scipy.stats import binom, hypergeom  # it is slow to import, and only federations need it

        held = np.diff(self.ends)[:, None]
        most = np.array([count_share(corrupt, size) for size in sizes.tolist()])
        if population.weights is None:
            tails = hypergeom.sf(most, population.n_clients, held, sizes)
        else:
            share = np.add.reduceat(population.weights, self.ends[:-1])[:, None] / population.total
            tails = binom.sf(most, sizes, share)
        asked_apart = (sizes < population.n_clients) & (
            len(self.names) > 1
        )  # of everyone, none has more: that is checked
        return np.where(asked_apart, np.minimum(np.sum(tails, axis=0), 1.0), 0.0)

    def find_enough(self, population: Population, size: int, corrupt: float) -> int:
        """The size of a cohort, no smaller than this one, from which on parties rarely refuse; everyone is enough."""
        most = population.n_clients
        sizes = np.unique(np.rint(np.geomspace(size, most, 200)).astype(np.int64)) if size < most else np.array([most])
        often = np.flatnonzero(self.find_chance(population, sizes, corrupt) > RARELY)
        return int(sizes[often[-1] + 1]) if len(often) else size
