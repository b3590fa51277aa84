"""Which party holds which clients. This is public: the server and all parties know it, and it is the same for all."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from folkmoot.conversation.codec import digest_of
from folkmoot.conversation.population import Cohort, Population, ids_of
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.registry import Registered
from folkmoot.foundation.sets import Ids


@dataclass(frozen=True, eq=False)
class Census(Registered):
    """The whole population, and how many clients each party holds: party 0 holds the first ones, and so on."""

    population: Population
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(self.sizes))  # it travels as a list
        good = all(type(size) is int and size > 0 for size in self.sizes)
        if not good or sum(self.sizes) != self.population.n_clients:
            raise InputError(
                f"needs the numbers of clients of all parties, {self.population.n_clients:,} in total", argument="sizes"
            )

    def parameters(self) -> Mapping[str, Any]:
        return {"population": self.population, "sizes": list(self.sizes)}

    @cached_property
    def digest(self) -> str:
        return digest_of(self)

    @cached_property
    def ends(self) -> Ids:
        """Where the clients of each party begin; the last number is that of all clients."""
        return np.cumsum([0, *self.sizes])

    def is_division(self, groups: Ids) -> bool:
        """Whether these groups of clients are the parties."""
        return np.array_equal(groups, np.repeat(np.arange(len(self.sizes)), self.sizes))

    def divide(self, cohort: Cohort) -> "list[PartyShare]":
        """The part of a cohort that each party holds. A party that holds nobody of it is in the round all the same: the
        others hide among as many.
        """
        places = self.ends if cohort.ids is None else np.searchsorted(cohort.ids, self.ends)
        shares = []
        for party, (lo, hi) in enumerate(zip(places.tolist(), places[1:].tolist(), strict=False)):
            weight = hi - lo if cohort.times is None else int(cohort.times[lo:hi].sum())
            shares.append(PartyShare(party, lo, hi, weight))
        return shares


@dataclass(frozen=True)
class PartyShare:
    """Places first … last − 1 of a cohort, which one party holds."""

    party: int
    first: int
    last: int
    weight: int  # how often these clients count, in total

    @property
    def size(self) -> int:
        return self.last - self.first

    def select(self, cohort: Cohort) -> tuple[Ids, Ids]:
        """The numbers of these clients, and how often each counts."""
        ids = np.arange(self.first, self.last) if cohort.ids is None else cohort.ids[self.first : self.last]
        if cohort.times is None:
            return ids, np.ones(len(ids), dtype=np.int64)
        return ids, cohort.times[self.first : self.last]


def list_present(cohort: Cohort, shares: list[PartyShare]) -> Ids:
    """The clients of a cohort that these parties hold."""
    ids = ids_of(cohort)
    return np.concatenate([ids[share.first : share.last] for share in shares]) if shares else ids[:0]
