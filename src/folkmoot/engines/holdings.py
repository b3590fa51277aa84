"""Which party enrolled which clients, where each client is masked by itself.

Terms count clients, but whoever enrols clients can invent them: a party that works for the server is as many corrupt
clients as it has in a round. So no single party may have more there than the terms allow to be corrupt.
"""

from dataclasses import dataclass

import numpy as np

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Ids


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
