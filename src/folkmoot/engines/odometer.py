"""What every client of a party has given away under noise, in all rounds of all runs and servers, and what it may.

A round of noise costs a client μ, and rounds add up as Σμ² (`privacy.accounting`). Each client's sum is kept in the
party's store. It grows in the transaction in which a masked vector leaves, whatever the server does with the vector.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from folkmoot.foundation.registry import OWN, find_kinds, name_kind
from folkmoot.foundation.sets import Array, Ids, Mask, freeze
from folkmoot.foundation.settings import ADJACENCIES
from folkmoot.privacy.accounting import Privacy, find_epsilon, find_reach
from folkmoot.questions.hidden import HiddenQuery
from folkmoot.questions.query import Query
from folkmoot.secagg import Refused
from folkmoot.secagg.client import Crowd

FEWEST_CLIENTS, FEWEST_PARTIES = 5, 2  # honest shares of noise in a sum, unless a policy says otherwise
SLACK = 1e-9  # of a budget, for sums of floating-point numbers: a run may use all of it
ZERO_OUT = ADJACENCIES[0]


@dataclass(frozen=True)
class Charge:
    """What some clients pay for an answer. costs: μ² in each of ADJACENCIES. members: who pays, as bits by place among
    the party's clients.
    """

    costs: tuple[float, ...]
    members: bytes


@dataclass(frozen=True, eq=False)
class Mileage:
    """Σμ² of every client of a party: a row for each of ADJACENCIES, a column for each client that ever paid.

    charges: how many there were. before: what everybody is taken to have paid before anything was counted here.
    """

    charges: int = 0
    squares: Array = field(default_factory=lambda: np.zeros((len(ADJACENCIES), 0)))
    before: tuple[float, ...] = (0.0,) * len(ADJACENCIES)

    def __post_init__(self) -> None:
        freeze(self.squares)

    def add(self, charge: Charge) -> "Mileage":
        marks = np.unpackbits(np.frombuffer(charge.members, dtype=np.uint8), bitorder="little")
        squares = np.zeros((len(ADJACENCIES), max(self.squares.shape[1], len(marks))))
        squares[:, : self.squares.shape[1]] = self.squares
        paying = np.flatnonzero(marks)
        sums = squares[:, paying] + np.reshape(charge.costs, (-1, 1))
        squares[:, paying] = np.nextafter(sums, np.inf)  # however small a cost is, and however large the sum
        return Mileage(self.charges + 1, squares, self.before)

    def find(self, adjacency: str, places: Ids) -> Array:
        """What the clients at these places have paid."""
        row = ADJACENCIES.index(adjacency)
        known = np.zeros(max(int(places.max(initial=-1)) + 1, self.squares.shape[1]))
        known[: self.squares.shape[1]] = self.squares[row]
        return known[places] + self.before[row]

    @property
    def largest(self) -> tuple[float, ...]:
        """What the client who paid most has paid."""
        most = self.squares.max(axis=1, initial=0.0).tolist()
        return tuple(one + other for one, other in zip(most, self.before, strict=True))

    def encode(self) -> bytes:
        return self.squares.astype("<f8").tobytes()

    @classmethod
    def decode(cls, charges: int, squares: bytes, before: tuple[float, ...]) -> "Mileage":
        return cls(charges, np.frombuffer(squares, dtype="<f8").reshape(len(ADJACENCIES), -1), before)


@dataclass(frozen=True)
class Odometer:
    """What a party asks of questions, so that its clients stay within their budget.

    budget: for each client, for good; None: no limit, and questions without noise are answered, too. clients: in the
    whole population, which decides δ where the budget does not. honest: the fewest honest shares of noise that a sum
    must hold.
    """

    budget: Privacy | None
    clients: int
    honest: int

    @cached_property
    def limit(self) -> float:
        """Σμ² that nobody goes beyond."""
        return float("inf") if self.budget is None else self.budget.find_mu(self.clients) ** 2

    def check_question(self, query: Query[Any]) -> None:
        """Refuse what has no known price, or hides nobody well enough."""
        if self.budget is None:
            return
        if not isinstance(query, HiddenQuery) or not has_known_price(query):
            kind = name_kind(type(query))
            raise Refused(f"this party answers only under noise, and how much a {kind} shows of a client is not known")
        if query.adjacency == ZERO_OUT != self.budget.adjacency:
            raise Refused(f"this party hides its clients by {self.budget.adjacency}, not by {query.adjacency} alone")
        if query.honest < self.honest:
            raise Refused(
                f"{query.honest:,} honest shares of noise are promised for any sum; {self.honest:,} are needed"
            )
        if query.mu**2 > self.limit * (1 + SLACK):
            raise Refused(f"one round would cost μ = {query.mu:.3g}, more than {self._describe_budget()}")

    def check_crowd(self, query: Query[Any], crowd: Crowd) -> None:
        """Refuse to speak where the shares of noise in a sum may be too few. The server knows that as well."""
        self.check_question(query)  # the policy may be another than when the question was accepted
        if isinstance(query, HiddenQuery):
            self.check_honest(query, crowd.honest)

    def check_honest(self, query: HiddenQuery[Any], honest: int) -> None:
        """Refuse noise of which any sum holds so few honest shares."""
        least = query.honest if self.budget is None else max(query.honest, self.honest)
        if honest < least:
            raise Refused(f"any sum holds {honest:,} honest shares of noise, and {least:,} are needed")

    def mark_beyond(self, query: Query[Any], spent: Mileage, places: Ids) -> Mask:
        """Which of the clients at these places cannot pay for an answer."""
        if self.budget is None or not isinstance(query, HiddenQuery):
            return np.zeros(len(places), dtype=bool)
        adjacency = self.budget.adjacency
        cost = find_costs(query)[ADJACENCIES.index(adjacency)]
        return np.asarray(spent.find(adjacency, places) + cost > self.limit * (1 + SLACK))

    def refuse_beyond(self) -> Refused:
        return Refused(f"the answer would go beyond {self._describe_budget()}")

    def _describe_budget(self) -> str:
        assert self.budget is not None
        delta = self.budget.find_delta(self.clients)
        return f"a client's budget of ε = {self.budget.epsilon:g} (δ = {delta:.2g}, μ = {self.limit**0.5:.3g})"

    def describe(self, spent: Mileage) -> str:
        """For people: what the client who paid most has paid, and of how much."""
        rounds = f"{spent.charges:,} rounds with noise"
        adjacency = ZERO_OUT if self.budget is None else self.budget.adjacency
        delta = Privacy(1.0).find_delta(self.clients) if self.budget is None else self.budget.find_delta(self.clients)
        square = spent.largest[ADJACENCIES.index(adjacency)]
        paid, about = find_epsilon(square**0.5, delta), f"δ = {delta:.2g}, {adjacency}"
        if self.budget is None:
            return f"no limit; {rounds} let ε = {paid:.3g} through ({about}), questions without noise not counted"
        left = max(1 - square / self.limit, 0.0)
        return (
            f"ε = {paid:.3g} of {self.budget.epsilon:g} spent at most ({about}) in {rounds}; {left:.0%} of μ² is left"
        )


def has_known_price(query: Query[Any]) -> bool:
    """Whether it is of a kind of Folkmoot's own whose answers have a known norm: others could claim any."""
    kind = type(query)
    own = kind.__module__.partition(".")[0] == OWN and find_kinds(HiddenQuery).get(name_kind(kind)) is kind
    return own and isinstance(query, HiddenQuery) and query.added_noise is not None


def find_costs(query: HiddenQuery[Any]) -> tuple[float, ...]:
    """μ² of an answer in each of ADJACENCIES, whichever the noise was made for."""
    unit = query.mu / find_reach(query.adjacency, signed=query.signed)
    return tuple((unit * find_reach(one, signed=query.signed)) ** 2 for one in ADJACENCIES)


def charge_for(query: Query[Any], members: bytes) -> Charge | None:
    """What these clients pay for their answers; None if there is no price."""
    if not isinstance(query, HiddenQuery) or not has_known_price(query):
        return None
    return Charge(find_costs(query), members)
