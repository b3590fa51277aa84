"""The server sees who chose whom, and calls as many clients gone as it can, so that its victim is left in a sum with
few others, or with its own clients alone. Every client that stays wants enough of its neighbours to stay, those want
enough of theirs, and so on: no small set of honest clients is closed in this way; any sum holds more than half of them.
"""

import numpy as np
import pytest

from folkmoot.secagg import client
from folkmoot.secagg.client import Refused
from folkmoot.secagg.keys import mask_seed
from folkmoot.secagg.member import Policy
from folkmoot.secagg.parameters import choose
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import CHOICE, VECTOR, Federation, Vector


class Isolation:
    """Everybody has shared its secrets; who is in the pay of the server holds shares, too."""

    def __init__(self, federation: Federation, seed: int, terms: tuple[int, int] | None = None) -> None:
        self.server, self.federation = EvilServer(federation, seed=seed, terms=terms), federation
        self.server.advance_to(VECTOR)
        self.generator = np.random.default_rng(seed)
        shuffled = self.generator.permutation(federation.ids).tolist()
        bad = int(federation.policy.corrupt * federation.clients)
        self.corrupt, self.honest, self.victim = set(shuffled[:bad]), set(shuffled[bad:]), shuffled[-1]

    def content(self, left: set[int]) -> set[int]:
        """Of these, those who stay: who has too few neighbours left goes, and then others, who had too few without."""
        while True:
            friends = left | self.corrupt
            stay = {one for one in left if len(self.server.graph[one] & friends) >= self.server.roll.threshold}
            if stay == left:
                return stay
            left = stay

    def fewest(self, tries: int) -> set[int]:
        """Greedy: whom fewest of those that are left depend on goes first, as long as the victim stays."""
        found = [self.honest]
        for _ in range(tries):
            left, stuck = self.content(self.honest), {self.victim}
            while candidates := sorted(left - stuck):
                needed = {one: sum(one in self.server.graph[two] for two in left) for one in candidates}
                low = min(needed.values())
                one = self.generator.choice([two for two in candidates if needed[two] <= low + 1])
                after = self.content(left - {int(one)})
                if self.victim in after:
                    left = after
                else:
                    stuck.add(int(one))
            found.append(left)
        return min(found, key=len)

    def play(self, left: set[int]) -> Vector:
        """The sum over these; the corrupt say what helps, and what their vectors are is known anyway."""
        server, sharing = self.server.fork(), left | self.corrupt
        for one in left:
            server.ask(one, server.sharers(sharing))
        given = server.views(dict.fromkeys(left, sharing), sharing, self.corrupt)
        own_seed = server.recovery(given | server.held_shares(self.corrupt, 0)).own_seed
        masking = {one: mask_seed(server.seed(one)) for one in self.corrupt}
        return server.expose(server.masked, server.sharers_hash(sharing), {one: own_seed(one) for one in left}, masking)


@pytest.mark.parametrize(
    ("clients", "policy", "seed"),
    [
        (60, Policy(fewest=5), 0),
        (60, Policy(fewest=5), 1),
        (80, Policy(5, 0.05, 0.05), 2),
        (60, Policy(5, 0.2, 0.1), 3),
        (30, Policy(fewest=5), 4),
    ],
)
def test_more_than_half_of_the_honest_are_in_any_sum(clients: int, policy: Policy, seed: int) -> None:
    federation = Federation(clients, policy=policy)
    isolation = Isolation(federation, seed)
    left = isolation.fewest(tries=3)
    terms = choose(clients, corrupt=policy.corrupt, dropout=policy.dropout)
    assert isolation.victim in left
    assert terms.honest <= len(left) < len(isolation.honest)
    assert 2 * len(left) > len(isolation.honest)
    total = isolation.play(left)  # the sum does come out: the server did nothing that clients can see
    np.testing.assert_array_equal(total, federation.plain_sum(tuple(left)))
    assert (total != federation.vector(isolation.victim)).all()
    for one in sorted(left - {isolation.victim})[::12]:  # any one of them less, and somebody stays away
        with pytest.raises(Refused, match="too few of the neighbours"):
            isolation.play(left - {one})


def test_the_same_program_against_clients_who_take_any_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a low threshold it gets its victim into a smaller sum than it ever may; no honest client takes that roll."""
    low, usual = (22, 10), choose(60)
    server = EvilServer(Federation(60), terms=low)
    server.is_refused(3, server.advance_to(CHOICE)[3], "too small")
    monkeypatch.setattr(client, "is_safe", lambda *_: True)
    isolation = Isolation(Federation(60), 0, low)
    left = isolation.fewest(tries=3)
    assert isolation.victim in left
    assert len(left) < usual.honest
    np.testing.assert_array_equal(isolation.play(left), isolation.federation.plain_sum(tuple(left)))
