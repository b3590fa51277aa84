"""What a question may cost a party's clients, and what is written down of it: habits, the ledger, budgets and noise.

It knows nothing of rounds and messages; `speaker` asks it before anything is answered.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from folkmoot.engines.answering import list_kinds
from folkmoot.engines.exchange import QUESTION
from folkmoot.engines.odometer import Charge, Odometer, charge_for
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.round_inquiry import RoundInquiry
from folkmoot.engines.store import LedgerEntry, StateStore
from folkmoot.foundation.errors import InputError, NotSubmodular
from folkmoot.foundation.sets import Ids
from folkmoot.objectives.objective import Objective
from folkmoot.privacy.noise import NoiseSource
from folkmoot.questions.hidden import HiddenQuery
from folkmoot.questions.query import Query
from folkmoot.secagg import Refused
from folkmoot.secagg.client import Crowd
from folkmoot.theory.checks import refuse_broken

DAY = 24 * 60 * 60.0


class Bookkeeper:
    """Decides for a party which questions may be answered and who can pay for them, and says what to write down.

    policy: what the party agrees to. store: what was answered and paid before. clock: seconds, for the ledger and for
    answers per day. noise: where shares of noise come from. population: how many clients there are, at all parties.
    hiding: the fewest honest shares of noise that a sum must hold, unless the policy says so.
    """

    def __init__(
        self,
        policy: PartyPolicy,
        store: StateStore,
        clock: Callable[[], float],
        noise: NoiseSource,
        population: int,
        hiding: int,
    ) -> None:
        self.policy, self.store, self.clock, self.noise = policy, store, clock, noise
        self.odometer = Odometer(policy.budget, population, policy.honest or hiding)
        self._keep_laws = False  # whether the clients' functions were looked at, and none was seen to break a law

    def check_question(self, query: Query[Any], clients: Objective, asked: int) -> None:
        """Refuse questions of a sort that is not answered here, and more rounds than are answered in a day.

        asked: how many can be asked at most, that are each a client of the secure sum. Where even these cannot hide
        each other well enough, nothing need be said: a round that is broken off later counts (`secagg.ledger`).
        """
        policy, limit = self.policy, clients.largest_set
        for kind in list_kinds(query):
            if not policy.allows(kind):
                raise Refused(f"this party does not answer questions of the kind {kind}")
        self.odometer.check_question(query)
        if isinstance(query, HiddenQuery):
            self.odometer.check_honest(query, policy.terms.bound_honest(asked))
        if not policy.singletons and query.shows_singletons:
            raise Refused("this party does not say what single items are worth by themselves")
        private = isinstance(query, HiddenQuery)  # whether those are answered must not depend on any data
        if limit is not None and query.largest_set > limit and not private:  # which sets are too large is private
            raise Refused(f"this party's clients look at no sets of more than {limit} items")
        if policy.per_day is not None:
            answered = count_answers(self.store.read_ledger(self.clock() - DAY))
            if answered >= policy.per_day:
                raise Refused(f"{answered} rounds were answered in the last 24 hours, and no more are allowed")
        if not private and not self._keep_laws:  # under noise, whose function falls says nothing
            try:
                refuse_broken(clients)
            except (NotSubmodular, InputError) as why:
                raise Refused(str(why)) from None
            self._keep_laws = True

    def read_answered(self, inquiry: RoundInquiry) -> bytes:
        """Which of the party's clients may not answer this any more, as bits."""
        return self.store.read_members(inquiry.digest.hex(), inquiry.run.hex() if self.policy.again else None)

    def find_beyond(self, inquiry: RoundInquiry, speakers: list[int]) -> frozenset[int]:
        """Speakers of whose clients any cannot pay for an answer: other rounds may have cost something meanwhile."""
        if self.policy.budget is None:
            return frozenset()
        spent = self.store.read_mileage()

        def is_beyond(some: list[int]) -> bool:
            return bool(self.odometer.mark_beyond(inquiry.query, spent, inquiry.find_places(some)).any())

        return frozenset(one for one in speakers if is_beyond([one])) if is_beyond(speakers) else frozenset()

    def refuse_beyond(self) -> Refused:
        return self.odometer.refuse_beyond()

    def check_crowd(self, inquiry: RoundInquiry, crowd: Crowd) -> None:
        """Refuse where the noise would not be enough."""
        self.odometer.check_crowd(inquiry.query, crowd)

    def write_vector(self, inquiry: RoundInquiry, client: int, crowd: Crowd, beyond: bool) -> Ids:
        """An answer before masking, with its share of the noise, if the question says that there is some.

        The answer was cut to its range before; nothing is cut after noise was added, except what lies beyond all room.
        Refused where the noise would not be enough, or costs more than the client may pay: then nothing is drawn.
        """
        self.check_crowd(inquiry, crowd)
        if beyond:
            raise self.refuse_beyond()
        vector, noise = inquiry.write_vector(client), inquiry.query.added_noise
        if noise is None:
            return vector
        return vector + noise.draw_share(len(vector), crowd.honest, self.noise.find_private(inquiry.round, client))

    def make_entry(self, inquiry: RoundInquiry, stage: str, clients: int) -> LedgerEntry:
        """What the ledger says of an answer that so many clients gave."""
        session, digest, run = inquiry.session.hex(), inquiry.digest.hex(), inquiry.run.hex()
        noise = inquiry.query.added_noise
        mu = 0.0 if noise is None else noise.mu
        return LedgerEntry(stage, inquiry.kind, digest, session, inquiry.round, self.clock(), clients, run, mu)

    def make_charge(self, inquiry: RoundInquiry, speakers: list[int]) -> Charge | None:
        """What those pay who are heard in the vectors of these speakers; None if there is no price."""
        return charge_for(inquiry.query, mark_places(inquiry.find_places(speakers)))


def count_answers(entries: Iterable[LedgerEntry]) -> int:
    """Each reply that says who takes part counts as one, and so does each answered round without such a reply."""
    polls, answers = Counter[tuple[str, int, str]](), Counter[tuple[str, int, str]]()
    for entry in entries:
        (polls if entry.stage == QUESTION else answers)[entry.session, entry.round, entry.question] += 1
    return (polls | answers).total()


def mark_places(places: Ids) -> bytes:
    """These places, as bits."""
    marks = np.zeros(int(places.max(initial=-1)) + 1, dtype=bool)
    marks[places] = True
    return np.packbits(marks, bitorder="little").tobytes()
