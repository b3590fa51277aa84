"""A party: some clients with their data, their identities, their stored states, a policy and a ledger.

Whether a client takes part, and who speaks for whom, is decided here, from the party's own data.
"""

from collections.abc import Callable, Mapping
from time import monotonic, time

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import ArrayLike

from folkmoot.conversation.codec import digest_of
from folkmoot.engines.answering import NOBODY, Inquiry
from folkmoot.engines.exchange import QUESTION, Bundle
from folkmoot.engines.odometer import FEWEST_CLIENTS
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.speaker import NOTHING, Speaker, Step
from folkmoot.engines.store import StateStore
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.randomness import SYSTEM
from folkmoot.foundation.sets import Ids
from folkmoot.objectives.objective import Objective, as_objective
from folkmoot.privacy.noise import SYSTEM_NOISE, NoiseSource
from folkmoot.secagg import Refused, Roster
from folkmoot.secagg.client import Random


class Party(Speaker):
    """Some clients, each of which is one client of the secure sum.

    clients: their functions. ids: their numbers on the roster, increasing. identities: the keys that they sign with.
    roster: all clients of the population, not only this party's.
    """

    def __init__(
        self,
        clients: Objective,
        ids: ArrayLike,
        identities: Mapping[int, Ed25519PrivateKey],
        roster: Roster,
        policy: PartyPolicy | None = None,
        store: StateStore | None = None,
        *,
        random: Random = SYSTEM,
        clock: Callable[[], float] = time,
        uptime: Callable[[], float] = monotonic,
        noise: NoiseSource = SYSTEM_NOISE,
        coins: PrivateCoins | None = None,
    ) -> None:
        everyone = len(roster.keys)
        super().__init__(
            identities, roster, policy, store, random, clock, uptime, noise, coins, everyone, FEWEST_CLIENTS
        )
        self.clients = as_objective(clients)
        self.ids: Ids = np.asarray(ids, dtype=np.int64)
        if self.ids.shape != (self.clients.n_clients,) or (np.diff(self.ids) <= 0).any():
            raise InputError(f"needs {self.clients.n_clients:,} numbers in increasing order", argument="ids")
        if not roster.knows(self.ids) or any(one not in identities for one in self.ids.tolist()):
            raise InputError("needs clients that are on the roster and have an identity", argument="ids")
        if isinstance(identities, dict):  # finds keys that differ from the roster now; derived keys are right
            for client in self.ids.tolist():
                self._find_member(client)
        known = [self.clients.n_clients, self.clients.n_items, list(self.clients.client_names or ())]
        self.store.pin("clients", digest_of(known))  # by their places among the party's own
        self._restore()

    def _consider(self, sent: Bundle) -> Step:
        """Reply to a question: who takes part, and who speaks for whom."""
        self._forget()
        try:
            inquiry = Inquiry.read(sent, self.clients, self.ids, len(self.roster.keys), self.coins)
            self._check_policy(inquiry)
        except Refused as why:
            self._refuse(QUESTION, None, why)
            return NOTHING
        incomplete, answered = inquiry.mark_incomplete(), inquiry.mark_answered(self.bookkeeper.read_answered(inquiry))
        for client in inquiry.ids[incomplete].tolist():
            self._refuse(QUESTION, client, Refused("this party does not hold all clients of this client's group"))
        for client in inquiry.ids[answered & ~incomplete].tolist():
            self._refuse(QUESTION, client, Refused("this client has already answered this question"))
        beyond = np.isin(inquiry.ids, list(self.bookkeeper.find_beyond(inquiry, inquiry.ids.tolist())))
        for client in inquiry.ids[beyond & ~answered & ~incomplete].tolist():
            self._refuse(QUESTION, client, self.bookkeeper.refuse_beyond())
        out = incomplete | answered | beyond
        if out.all():
            return NOTHING
        inquiry = inquiry.keep(~out)
        absent, entry = dict[int, bytes](), None
        willing = inquiry.query.takes_part(inquiry.clients, inquiry.ids, inquiry.times, inquiry.own)
        if willing is not None:  # who takes part reveals something, so it counts as an answer
            entry = self.bookkeeper.make_entry(inquiry, QUESTION, int(willing.sum()))
            absent = dict.fromkeys(inquiry.ids[~willing].tolist(), NOBODY)
            if not willing.any():
                return Step(Bundle(absent), entry=entry)
            inquiry = inquiry.keep(willing)
        self._inquiry = inquiry
        return Step(Bundle(absent | inquiry.write_speakers()), entry=entry)

    def _read_again(self, sent: Bundle, reply: Bundle) -> Inquiry | None:
        inquiry = Inquiry.read(sent, self.clients, self.ids, len(self.roster.keys), self.coins)
        taking_part = [client for client, letter in reply.letters.items() if letter != NOBODY]
        return inquiry.keep(np.isin(inquiry.ids, taking_part)) if taking_part else None

    def _check_policy(self, inquiry: Inquiry) -> None:
        policy = self.policy
        self.bookkeeper.check_question(inquiry.query, self.clients, len(self.roster.keys))
        if inquiry.shows_data:
            if not policy.volunteers:
                raise Refused("this party does not let its clients' data decide who takes part")
            if not policy.uneven and (inquiry.times != 1).any():  # other counts would show more at every try
                raise Refused("who takes part is said only where everyone counts once")
