"""An engine over parties that each speak for all their clients."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from folkmoot.conversation.engine import Control
from folkmoot.conversation.rounds import Ask, Cost, Sum
from folkmoot.engines.answering import SPEAKER
from folkmoot.engines.census import Census, list_present
from folkmoot.engines.exchange import Bundle, Exchange
from folkmoot.engines.journal import RoundJournal
from folkmoot.engines.leading import Poll, SecureEngine
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.pooling import announce_pool, check_parties, write_pooled_question
from folkmoot.foundation.errors import InputError
from folkmoot.secagg import Aggregate, Announcement, Policy, Roster


class PooledFederation(SecureEngine):
    """Sums by secure aggregation over parties, each of which is one client of the sum.

    census: how many clients each party holds. roster: the parties' public keys. Terms count parties, not clients: five
    are needed so that one may be corrupt while another is gone. The exchange calls parties by their numbers. journal:
    keeps the round that is being led, so that another process can continue it. run: distinguishes this run from others
    with the same parties, which may answer the same question once in each (`PartyPolicy.again`). apart: by how many
    clients cohorts must differ, or not at all (`PartyPolicy.clients`).

    Where everybody is asked, nobody else could take the place of parties that answered a round without a sum. A round
    that was broken off before any party was asked for shares of masks is sealed: parties forget its keys when the next
    one begins, so its sum can never be learned, and they are asked again.
    """

    seals = True

    def __init__(
        self,
        census: Census,
        roster: Roster,
        exchange: Exchange,
        terms: Policy | None = None,
        *,
        least: float = 0.5,
        journal: RoundJournal | None = None,
        run: bytes = b"",
        apart: int = PartyPolicy.clients,
    ) -> None:
        population = replace(census.population, sizes=census.sizes, missing_by_chance=False, apart=apart)
        super().__init__(population, roster, exchange, terms, least, journal, run)
        self.census = census
        self._agreed: set[int] = set()  # the parties that take part in the round
        if set(roster.keys) != set(range(len(census.sizes))):
            raise InputError("needs a key for each party of the census", argument="roster")
        check_parties(self.terms, len(census.sizes))

    def describe(self) -> Mapping[str, Any]:
        return {**super().describe(), "census": self.census.digest}

    def _check(self, ask: Ask) -> None:
        query = ask.query
        try:
            query.check(self.population.n_items, self.population.n_clients)
        except InputError as why:
            raise InputError(f"parties would refuse this {type(query).__name__} ({why})", argument="query") from None
        groups = query.group_clients()
        if groups is not None and not self.census.is_division(groups):
            raise InputError(
                "deals clients to groups at random, but here clients stay at their parties", argument="query"
            )
        ask.ring_bits  # noqa: B018 - refuses sums that no ring can hold

    def _poll(self, ask: Ask, control: Control) -> Poll:
        shares = self.census.divide(ask.cohort)
        question = write_pooled_question(ask, self._session, self.census, self.named_run)
        there = (share.party for share in shares if share.party not in self._left_out)
        outbox = {party: Bundle({party: b""}, question) for party in there}
        inbox = self._exchange(outbox, control)
        self._agreed = {party for party, reply in inbox.items() if reply.letters.get(party) == SPEAKER.pack(party)}
        reached = sum(share.size for share in shares if share.party in self._agreed)
        asked = {share.party: share.party for share in shares}  # all are announced; who did not agree has dropped out
        return Poll(asked, False, reached, False, self._measure_question(outbox, inbox, len(outbox)))

    def _announce(self, ask: Ask, speakers: list[int]) -> Announcement:  # noqa: ARG002 - of all who were asked
        return announce_pool(ask, self._session, self.roster.digest, self.census, self.named_run)

    def _read_sum(self, ask: Ask, poll: Poll, result: Aggregate, cost: Cost) -> Sum:  # noqa: ARG002
        cohort = ask.cohort
        shares = [one for one in self.census.divide(cohort) if one.party in set(result.survivors)]
        ids, weight = list_present(cohort, shares), sum(share.weight for share in shares)
        total = ask.unwrap(result.total, weight, len(ids), len(result.survivors))
        present = cohort.mark_present(ids)  # nobody outside a party learns who of its clients volunteered
        made = replace(self._describe_making(result), parties=result.survivors)
        noise = self._describe_noise(ask, result)
        return Sum(total, weight, len(ids), cohort.weight, present=present, cost=cost, made=made, **noise)

    def _deal(self, letters: Mapping[int, bytes]) -> dict[int, Bundle]:
        return {party: Bundle({party: letter}) for party, letter in letters.items() if party in self._agreed}
