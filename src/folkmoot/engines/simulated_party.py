"""All clients of a simulation as one party in this process, with every byte of the whole protocol."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.conversation.engine import Control
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.engines.attendance import LossyExchange
from folkmoot.engines.exchange import InProcess
from folkmoot.engines.federation import Federation
from folkmoot.engines.party import Party
from folkmoot.engines.policy import PartyPolicy
from folkmoot.foundation.private_coins import SIMULATED
from folkmoot.objectives.objective import Objective
from folkmoot.privacy.noise import NoiseSource
from folkmoot.secagg import Policy, Roster
from folkmoot.secagg.primitives import digest
from folkmoot.secagg.together import Watch


@lru_cache(maxsize=100_000)
def derive_identity(seed: int, client: int) -> Ed25519PrivateKey:
    """The identity of a simulated client; a real one must never be derived from a number."""
    return Ed25519PrivateKey.from_private_bytes(digest(b"identity", str(seed).encode(), str(client).encode()))


class DerivedIdentities(Mapping[int, Ed25519PrivateKey]):
    """Identities of clients 0 … count − 1, each derived when it is first needed."""

    def __init__(self, seed: int, count: int) -> None:
        self.seed, self.count = seed, count

    def __contains__(self, client: object) -> bool:
        return isinstance(client, int) and 0 <= client < self.count

    def __getitem__(self, client: int) -> Ed25519PrivateKey:
        if client not in self:
            raise KeyError(client)
        return derive_identity(self.seed, client)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count))

    def __len__(self) -> int:
        return self.count


class SimulatedFederation:
    """Clients that have not answered anything yet. Their identities are derived from the seed; their keys are fresh."""

    def __init__(
        self, objective: Objective, population: Population, seed: int, policy: Policy, noise: NoiseSource
    ) -> None:
        everyone = np.arange(objective.n_clients)
        identities = DerivedIdentities(seed, objective.n_clients)
        roster = Roster.derive(
            f"simulation {seed}",
            objective.n_clients,
            lambda client: identities[client].public_key().public_bytes_raw(),
        )
        habits = PartyPolicy(policy, uneven=True, volunteers=True)
        party = Party(objective, everyone, identities, roster, habits, noise=noise, coins=SIMULATED)
        self.exchange = LossyExchange(InProcess({0: party}))
        self.engine = Federation(population, roster, {0: everyone}, self.exchange, policy, least=0.0, devices=True)

    def add_up(self, ask: Ask, control: Control, leaving: Mapping[int, str], watch: Watch | None = None) -> Sum:
        """A round in which some clients leave; `leaving` says in which exchange."""
        self.exchange.leaving = leaving
        return self.engine.lead_round(ask, control, watch)
