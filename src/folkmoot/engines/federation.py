"""An engine for clients at parties, which it reaches by any exchange."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from folkmoot.conversation.engine import Control
from folkmoot.conversation.population import Cohort, Population, ids_of
from folkmoot.conversation.rounds import Ask, Cost, Sum
from folkmoot.engines.answering import digest_question, read_speakers, write_question, write_times
from folkmoot.engines.exchange import Bundle, Exchange
from folkmoot.engines.journal import RoundJournal
from folkmoot.engines.leading import Poll, SecureEngine, check_protection
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Ids
from folkmoot.secagg import Aggregate, Announcement, Policy, Roster
from folkmoot.secagg.traffic import room_for


def count_times(cohort: Cohort, clients: Ids) -> int:
    """How often these clients of a cohort count, in total."""
    return len(clients) if cohort.times is None else int(cohort.times[np.searchsorted(ids_of(cohort), clients)].sum())


class Federation(SecureEngine):
    """Sums by secure aggregation over clients that live elsewhere, each of whom is one client of the sum.

    roster: the public keys of the whole population, the same that all parties use. parties: the numbers of the clients
    that each party holds, by the name of the party in the exchange. terms: on which clients take part. least: a round
    that reaches less than this share of the clients asked has no sum. devices: whether bytes are counted as if each
    client were a device of its own, which is sent the question separately (in simulations); if not, each party is sent
    it once. journal: keeps the round that is being led, so that another process can continue it. run:
    distinguishes this run from others with the same parties, which may answer the same question once in each
    (`PartyPolicy.again`).
    """

    def __init__(
        self,
        population: Population,
        roster: Roster,
        parties: Mapping[int, ArrayLike],
        exchange: Exchange,
        terms: Policy | None = None,
        *,
        least: float = 0.5,
        devices: bool = False,
        journal: RoundJournal | None = None,
        run: bytes = b"",
    ) -> None:
        super().__init__(population, roster, exchange, terms, least, journal, run)
        self.devices = devices
        self._holder = np.full(population.n_clients, -1, dtype=np.int64)
        self._names = list(parties)
        for place, ids in enumerate(parties.values()):
            held = np.asarray(ids, dtype=np.int64)
            if held.size and not 0 <= held.min() <= held.max() < population.n_clients:
                raise InputError(f"needs client numbers below {population.n_clients:,}", argument="parties")
            if (self._holder[held] >= 0).any():
                raise InputError("two parties hold the same client", argument="parties")
            self._holder[held] = place
        self._written_out = False  # whether the next vector is sent in full: after a sketch that could not be decoded

    def _check(self, ask: Ask) -> None:
        """Refuse what could never work, before any client is asked."""
        query, population = ask.query, self.population
        ask.ring_bits  # noqa: B018 - refuses what does not fit
        try:
            query.check(population.n_items, population.n_clients)
        except InputError as why:
            raise InputError(
                f"clients would refuse this {type(query).__name__} ({why})",
                remedy="if the question is your own, override check()",
                argument="query",
            ) from None
        groups = query.group_clients()
        if groups is not None and query.encoding.fills_up:
            raise InputError(
                "where one client speaks for a group, answers can be neither negative nor noisy", argument="query"
            )
        if not query.voluntary:
            speakers = ask.cohort.size if groups is None else len(np.unique(groups[ids_of(ask.cohort)]))
            check_protection(self.terms, speakers)

    def _poll(self, ask: Ask, control: Control) -> Poll:
        """The first exchange: the question, and what parties reply to it."""
        query, cohort = ask.query, ask.cohort
        times = np.ones(cohort.size, dtype=np.int64) if cohort.times is None else cohort.times
        outbox = self._deal(write_times(ids_of(cohort), times), write_question(ask, self._session, self.named_run))
        inbox = self._exchange(outbox, control)
        groups, speaker_of = query.group_clients() is not None, dict[int, int]()
        for reply in inbox.values():
            speaker_of |= read_speakers(reply, groups)
        reached = sum(len(reply.letters) for reply in inbox.values()) if query.voluntary else len(speaker_of)
        refused = query.voluntary and not all(reply.letters for reply in inbox.values())
        cost = self._measure_question(outbox, inbox, cohort.size, each=self.devices)
        return Poll(speaker_of, groups, reached, refused, cost)

    def _add_up_nobody(self, ask: Ask, poll: Poll) -> Sum:
        """Everybody was reached, and nobody volunteered."""
        cohort, nothing = ask.cohort, np.zeros(ask.query.length, dtype=np.int64)
        return Sum(nothing, 0, 0, cohort.weight, present=cohort.mark_present(nothing[:0]), cost=poll.cost)

    def _note_failed_sketch(self) -> None:
        self._written_out = True

    def _read_sum(self, ask: Ask, poll: Poll, result: Aggregate, cost: Cost) -> Sum:
        cohort, survivors = ask.cohort, np.array(result.survivors, dtype=np.int64)
        if poll.by_group and len(survivors) < len(poll.speakers):  # then those they speak for cannot be counted
            return Sum.lose(ask, len(survivors), spent=True, cost=cost)
        count = count_times(cohort, np.array(sorted(poll.speaker_of)) if poll.by_group else survivors)
        total = ask.unwrap(result.total, count, len(survivors), len(survivors))
        present = cohort.mark_present(survivors)
        made = self._describe_making(result)
        noise = self._describe_noise(ask, result)
        return Sum(total, count, len(survivors), cohort.weight, present=present, cost=cost, made=made, **noise)

    def _announce(self, ask: Ask, speakers: list[int]) -> Announcement:
        """What clients are told about the round; sketched if that is smaller and others can be asked if it fails."""
        query, room = ask.query, 0
        if ask.can_be_repeated and not self._written_out:
            room = room_for(query.length, ask.span, query.count_nonzero(len(speakers)))
        self._written_out = False
        return Announcement(
            session=self._session,
            round=ask.number,
            question=digest_question(query, self.named_run),
            roster=self.roster.digest,
            clients=len(speakers),
            length=query.length,
            most=ask.span,
            room=room,
            largest=ask.largest_answer,
        )

    def _deal(self, letters: Mapping[int, bytes], question: bytes = b"") -> dict[int, Bundle]:
        """Messages to clients, grouped by party."""
        clients = np.fromiter(letters, dtype=np.int64, count=len(letters))
        dealt: dict[int, dict[int, bytes]] = {}
        for client, place in zip(clients.tolist(), self._holder[clients].tolist(), strict=True):
            if place >= 0 and client not in self._left_out:
                dealt.setdefault(self._names[place], {})[client] = letters[client]
        return {name: Bundle(some, question) for name, some in dealt.items()}
