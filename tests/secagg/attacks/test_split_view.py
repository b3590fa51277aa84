"""The server tells different things to different clients: other rolls, other sharers, other survivors. Some of one's
neighbours would then give shares of one of its secrets and some of the other, and both together bring its vector out.
A client gives shares only when enough of its neighbours vouch for what it was told; two stories never find enough, even
with the corrupt clients (a tenth) telling both.
"""

import numpy as np
import pytest

from folkmoot.secagg import client
from tests.secagg.attacks.server_tricks import EvilServer, recover_seed
from tests.secagg.cohorts import CHOICE, CONSENT, VECTOR, Federation

HALVES = Federation(20)


@pytest.mark.parametrize("about", ["roll", "sharers", "survivors", "nothing"])
def test_two_halves_are_told_different_stories(about: str) -> None:
    """All consent to what they were told; then nobody unmasks, unless there was nothing different about it."""
    server, (*there, late, gone) = EvilServer(HALVES, terms=(18, 11)), HALVES.ids
    first, everyone = set(there[::2]), set(HALVES.ids)
    if about == "roll":
        server.advance_to(CHOICE)
        rolls = [server.make_roll(threshold=threshold) for threshold in (11, 12)]
        server.replies[CHOICE] = {one: server.ask(one, rolls[one in first].encode()) for one in everyone}
        for one in everyone:
            server.roll = rolls[one in first]
            boxes = server.ask(one, server.neighbours(one))
            server.__dict__.setdefault("dealers", {})[one] = server.dealer(one, boxes)
        for one in everyone:
            server.ask(one, server.delivery(one, everyone))
    else:
        server.advance_to(VECTOR)
    for one in there:
        less = about == "sharers" and one in first
        server.ask(one, server.sharers(everyone - {gone} if less else everyone))
    alive = {one: everyone - {gone} - ({late} if about == "survivors" and one in first else set()) for one in there}
    spoken = {one: server.consent_of(server.ask(one, server.survivors(alive[one]))) for one in there}
    for one in there:
        if about == "nothing":
            assert server.trial(one, server.consents(one, spoken))
        else:
            server.is_refused(one, server.consents(one, spoken), "vouch for the same roll and survivors")


class TwoStories:
    """To some honest clients: only you and the corrupt are in the sum. To the others the same."""

    def __init__(self, federation: Federation, seed: int, terms: tuple[int, int] | None = None) -> None:
        self.server, self.everyone = EvilServer(federation, seed=seed, terms=terms), set(federation.ids)
        self.server.advance_to(CONSENT)
        self.threshold, self.generator = self.server.roll.threshold, np.random.default_rng(seed)
        picked = self.generator.choice(
            federation.ids, int(federation.policy.corrupt * federation.clients), replace=False
        )
        self.corrupt = set(picked.tolist())
        self.honest = sorted(self.everyone - self.corrupt)

    def unmasking(self, told: set[int]) -> set[int]:
        """Who finds enough neighbours that were told the same, or are corrupt."""
        return {one for one in told if len(self.server.graph[one] & (told | self.corrupt)) >= self.threshold}

    def shares(self, told: set[int]) -> tuple[int, int, int]:
        """The client of whom most shares of both kinds come out: the fewer of the two kinds, of all, and who."""
        sides = [self.unmasking(one) | self.corrupt for one in (told, set(self.honest) - told)]
        counts = [(sorted(len(self.server.graph[one] & side) for side in sides), one) for one in self.honest]
        (fewer, more), victim = max(counts)
        return fewer, fewer + more, victim

    def find_best(self, restarts: int) -> set[int]:
        """Greedy: one client after the other goes where it helps most."""
        found = [set(self.generator.permutation(self.honest)[::2].tolist()) for _ in range(restarts)]
        for told in found:
            for one in self.generator.permutation(self.honest).tolist():
                if self.shares(told ^ {one}) > self.shares(told):
                    told ^= {one}
        return max(found, key=self.shares)

    def play(self) -> int | None:
        """For real. A client whose vector came out, if there is one."""
        server, told = self.server, self.find_best(restarts=10)
        stories = {one: (told if one in told else set(self.honest) - told) | self.corrupt for one in self.honest}
        given = server.views(stories, self.everyone, self.corrupt)
        assert given.keys() == self.unmasking(told) | self.unmasking(set(self.honest) - told)
        own = {one: {who: it for who, it in shares.items() if who in stories[one]} for one, shares in given.items()}
        mask = {
            one: {who: it for who, it in shares.items() if who not in stories[one]} for one, shares in given.items()
        }
        own_seed = server.recovery(own | server.held_shares(self.corrupt, 0)).own_seed
        mask_seed = server.recovery(mask | server.held_shares(self.corrupt, 1)).mask_seed
        for one in self.honest:
            seeds = recover_seed(own_seed, one), recover_seed(mask_seed, one)
            if seeds[0] and seeds[1]:
                vector, state = {one: server.masked[one]}, server.sharers_hash(self.everyone)
                bare = server.expose(vector, state, {one: seeds[0]}, {one: seeds[1]})
                np.testing.assert_array_equal(bare, server.federation.vector(one))
                return one
        return None


@pytest.mark.parametrize(("clients", "seed"), [(30, 0), (30, 1), (35, 2), (40, 3)])
def test_both_secrets_of_one_client_never_come_out(clients: int, seed: int) -> None:
    assert TwoStories(Federation(clients), seed).play() is None


@pytest.mark.parametrize(("clients", "terms"), [(30, (16, 8)), (40, (20, 10))])
def test_they_do_with_a_threshold_of_half_the_neighbours(
    clients: int, terms: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same program, where clients take any terms."""
    monkeypatch.setattr(client, "is_safe", lambda *_: True)
    assert any(TwoStories(Federation(clients), seed, terms).play() for seed in range(3))
