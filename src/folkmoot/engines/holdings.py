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
from folkmoot.foundation.sets import Ids
from folkmoot.secagg import Policy
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

    def describe_excess(self, everyone: Ids, corrupt: float) -> str:
        """A sentence about a party so large that the others would refuse rounds over everyone; empty: none is."""
        held = self.count(everyone)
        largest = max(self.names, key=held.__getitem__)
        share = held[largest] / len(everyone)
        if len(self.names) == 1 or share <= corrupt:
            return ""
        return (
            f"{largest} holds {share:.0%} of all clients, but no party may hold more than {corrupt:.0%} of those asked "
            f"(`corrupt`): it could have invented them, so the others refuse"
        )

    def find_chance(self, population: Population, size: int, terms: Policy) -> float:
        """About how often some party has more of `size` clients drawn at random than may be corrupt; also if one party
        is away that may be. Everyone together is no matter of chance.
        """
        if len(self.names) == 1 or size >= population.n_clients:
            return 0.0
        chances = [self._find_chance(population, size, terms.corrupt, None)]
        held = np.diff(self.ends)
        missable = np.flatnonzero(held <= terms.dropout * population.n_clients)
        if len(missable):
            away = int(missable[held[missable].argmax()])
            chances.append(self._find_chance(population, size, terms.corrupt, away))
        return max(chances)

    def _find_chance(self, population: Population, size: int, corrupt: float, away: int | None) -> float:
        """The chances of all parties but one that is away, added up."""
        from scipy.stats import hypergeom, norm  # it is slow to import, and only federations need it

        held = np.diff(self.ends)
        here = np.arange(len(held)) != (-1 if away is None else away)
        if population.weights is None:
            there = int(held[here].sum())
            drawn = size * there // population.n_clients
            tails = hypergeom.sf(count_share(corrupt, drawn), there, held[here], drawn)
        else:
            # Who is drawn twice is one client. A party has too many if X = (its clients) − corrupt · (all clients) > 0,
            # and X is nearly a sum of independent terms.
            drawn = -np.expm1(size * np.log1p(-np.minimum(population.weights / population.total, 1 - 1e-12)))
            means, spreads = (np.add.reduceat(one, self.ends[:-1])[here] for one in (drawn, drawn * (1 - drawn)))
            mean = means - corrupt * means.sum()
            variance = (1 - 2 * corrupt) * spreads + corrupt**2 * spreads.sum()
            tails = norm.sf(-mean / np.sqrt(np.maximum(variance, 1e-12)))
        return min(float(np.sum(tails)), 1.0)

    def find_enough(self, population: Population, size: int, terms: Policy) -> int:
        """The size of a cohort, no smaller than this one, that parties rarely refuse; everyone is enough."""
        while self.find_chance(population, size, terms) > RARELY:
            size = min(size + 10 ** max(len(str(size)) - 2, 0), population.n_clients)
        return size
