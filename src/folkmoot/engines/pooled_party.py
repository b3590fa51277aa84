"""A party that is one client of the secure sum: it adds up its own clients' answers at home."""

from collections.abc import Callable
from time import monotonic, time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.conversation.codec import digest_of
from folkmoot.engines.census import Census
from folkmoot.engines.exchange import QUESTION, Bundle
from folkmoot.engines.odometer import FEWEST_PARTIES
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.pooling import PooledInquiry, check_parties
from folkmoot.engines.speaker import NOTHING, Speaker, Step
from folkmoot.engines.store import StateStore
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.randomness import SYSTEM
from folkmoot.objectives.objective import Objective, as_objective
from folkmoot.privacy.noise import SYSTEM_NOISE, NoiseSource
from folkmoot.secagg import Refused, Roster
from folkmoot.secagg.client import Random


class PooledParty(Speaker):
    """Clients that are heard as one vector.

    clients: their functions, in the order of the census. number: of the party, on the roster and in the census.
    identity: the key that it signs with. roster: all parties. census: how many clients each of them holds.
    """

    def __init__(
        self,
        clients: Objective,
        number: int,
        identity: Ed25519PrivateKey,
        roster: Roster,
        census: Census,
        policy: PartyPolicy | None = None,
        store: StateStore | None = None,
        *,
        random: Random = SYSTEM,
        clock: Callable[[], float] = time,
        uptime: Callable[[], float] = monotonic,
        noise: NoiseSource = SYSTEM_NOISE,
        coins: PrivateCoins | None = None,
    ) -> None:
        everyone = census.population.n_clients
        super().__init__(
            {number: identity}, roster, policy, store, random, clock, uptime, noise, coins, everyone, FEWEST_PARTIES
        )
        self.clients, self.number, self.census = as_objective(clients), number, census
        if not 0 <= number < len(census.sizes) or census.sizes[number] != self.clients.n_clients:
            raise InputError(f"does not count {self.clients.n_clients:,} clients at party {number}", argument="census")
        if census.population.n_items != self.clients.n_items:
            raise InputError(
                f"is about {census.population.n_items:,} items, but this party's clients are about "
                f"{self.clients.n_items:,}",
                argument="census",
            )
        if len(roster.keys) != len(census.sizes):
            raise InputError("needs as many parties as the census", argument="roster")
        self._find_member(number)  # refuses a key that is not on the roster
        known = [number, self.clients.n_clients, self.clients.n_items, list(self.clients.client_names or ())]
        self.store.pin("clients", digest_of(known))  # by their places; other parties may come to hold others
        self._restore()

    def _read_again(self, sent: Bundle, reply: Bundle) -> PooledInquiry:  # noqa: ARG002
        return self._read(sent)

    def _read(self, sent: Bundle) -> PooledInquiry:
        return PooledInquiry.read(sent, self.clients, self.number, self.census, self.roster.digest, self.coins)

    def _consider(self, sent: Bundle) -> Step:
        self._forget()
        try:
            inquiry = self._read(sent)
            self._check_policy(inquiry)
        except Refused as why:
            self._refuse(QUESTION, None, why)
            return NOTHING
        self._inquiry = inquiry
        return Step(Bundle({self.number: inquiry.write_consent()}))

    def _check_policy(self, inquiry: PooledInquiry) -> None:
        policy = self.policy
        self.bookkeeper.check_question(inquiry.query, self.clients, len(self.census.sizes))
        try:
            check_parties(policy.terms, len(self.census.sizes))
            inquiry.announcement  # noqa: B018 - refuses sums that no ring can hold
        except InputError as why:
            raise Refused(why.problem) from None
        if inquiry.query.voluntary and not policy.volunteers:
            raise Refused("clients would decide by chance who answers: by chance, one could be alone in a sum")
        if inquiry.query.shows_groups and not policy.apart:
            raise Refused("the sum would show each party's answer apart from the others'")
        if not policy.uneven and not inquiry.is_even:
            raise Refused("some clients would count more often than others")
        if not inquiry.effective_size >= policy.clients:  # also if it is no number
            raise Refused(
                f"the clients asked are as good as {inquiry.effective_size:,.1f} that count alike; "
                f"{policy.clients:,} are needed"
            )
        share = inquiry.find_largest_share(policy.terms)
        if share > policy.largest_share:
            raise Refused(f"one party could be {share:.0%} of the sum; at most {policy.largest_share:.0%} are allowed")
        self._check_cohort(inquiry)
        if inquiry.has_answered(self.bookkeeper.read_answered(inquiry)):
            raise Refused("some of these clients have already answered this question")
        if self.bookkeeper.find_beyond(inquiry, [self.number]):  # one client is enough: it cannot be left out unseen
            raise self.bookkeeper.refuse_beyond()

    def _check_cohort(self, inquiry: PooledInquiry) -> None:
        """Refuse a cohort that is nearly an earlier one: from both sums would follow that of the few others. With a
        budget, noise hides these few; without one, the server chooses how little noise there is.
        """
        if self.policy.budget is not None:
            return
        cohort, least = inquiry.cohort, self.policy.clients
        apart = map(cohort.count_apart, self.store.list_cohorts(cohort, least - 1))
        if (nearest := min((count for count in apart if count), default=least)) < least:
            raise Refused(
                f"the clients asked differ by {nearest:,} from those of an earlier round; {least:,} are needed, or none"
            )
