"""The server tells its victims that some of their neighbours do not share, so that they do not mask with these; the
neighbours are told otherwise, and help to open the victims, whose masks with them are missing. What stops it: nobody
gives a share of an own mask's seed without its owner's word, or its signature, for the same sharers.
"""

from math import comb, log2

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import hypergeom

from folkmoot.foundation.sets import Ids
from folkmoot.secagg import client
from folkmoot.secagg.faults import AggregationFailed
from folkmoot.secagg.keys import mask_seed as mask_seed_of
from folkmoot.secagg.member import Policy
from folkmoot.secagg.parameters import choose, is_safe
from folkmoot.secagg.primitives import is_signed
from tests.secagg.attacks.server_tricks import EvilServer
from tests.secagg.cohorts import RECEIPT, Federation, Vector


class Withheld:
    """Three friends have each other and the six corrupt clients among their neighbours: a chance of 2^-28 among 60
    clients who choose 20. The server tells them that some of their neighbours (`unseen`) do not share, so that they
    do not mask with these; others of their neighbours (`spent`) are told the same, consent and are never asked to
    unmask. The rest are told that all share, and that all but `spent` survive: those that can (`open_up`) unmask, and
    so do the unseen, who open the friends, whom they call alive, and spend the spent. Three vectors are left.
    """

    def __init__(self, seed: int) -> None:
        self.federation, generator = Federation(60, policy=Policy(fewest=5, security=40)), np.random.default_rng(seed)
        self.terms, ids = choose(60, security=40), self.federation.ids
        self.degree, self.threshold = 20, 14  # those of `choose`, or others that clients take
        self.corrupt, self.friends, self.others = ids[:6], ids[6:9], ids[9:]
        planted = {}
        for one in self.friends:
            near = [other for other in ids[:9] if other != one]
            planted[one] = {*near, *generator.choice(self.others, self.degree - len(near), replace=False).tolist()}
        terms = self.degree, self.threshold
        self.server = EvilServer(self.federation, seed=seed, terms=terms, planted=planted)
        self.server.advance_to(RECEIPT)

    def chance(self) -> float:
        """log2 of how many such threes are to be expected."""
        draws = hypergeom(59, 8, self.degree)
        return log2(comb(54, 3)) + 3 * float(np.log2(draws.pmf(8)))

    def edges(self, clients: list[int], to: list[int]) -> Ids:
        return np.array([[two in self.server.graph[one] for two in to] for one in clients]).astype(int)

    def stories(self) -> tuple[set[int], set[int], set[int]] | None:
        """Who is spent, who opens up, who is unseen; an integer program. None if there is no such choice."""
        among, mine = self.edges(self.others, self.others), self.edges(self.friends, self.others)
        bad, t, size = self.edges(self.others, self.corrupt).sum(axis=1), self.threshold, len(self.others)
        one, none, near = np.eye(size), np.zeros((size, size)), among * mine.any(axis=0)
        lacking = t - (self.degree - mine.sum(axis=1))
        rules = [  # of (spent, open up)
            LinearConstraint(np.hstack([one, one]), -np.inf, 1),
            LinearConstraint(np.hstack([-t * one, among]), -bad, np.inf),
            LinearConstraint(np.hstack([-among, -t * one]), -bad - among.sum(axis=1), np.inf),
            LinearConstraint(np.hstack([t * one - near, none]), -np.inf, self.degree - near.sum(axis=1)),
            LinearConstraint(np.hstack([mine, 0 * mine]), lacking, np.inf),
            LinearConstraint(np.hstack([0 * mine, mine]), lacking, np.inf),
        ]
        whole = np.ones(2 * size, dtype=np.int64)
        found = milp(np.zeros(2 * size), constraints=rules, integrality=whole, bounds=Bounds(0, 1))
        if found.x is None:
            return None
        spent, opening = np.rint(found.x).astype(bool).reshape(2, size)
        names, unseen = np.array(self.others), mine.any(axis=0) & ~spent
        return set(names[spent].tolist()), set(names[opening].tolist()), set(names[unseen].tolist())

    def play(self, spent: set[int], unseen: set[int]) -> Vector:
        server, everyone, friends, corrupt = self.server, set(self.federation.ids), self.friends, set(self.corrupt)
        told, inner = everyone - unseen, spent | corrupt | set(friends)
        for one in everyone:
            server.ask(one, server.delivery(one, inner if one in friends else everyone))
        for one in everyone:
            server.ask(one, server.sharers(told if one in spent or one in friends else everyone))
        vectors = {one: server.masked[one] for one in friends}
        first = server.views(dict.fromkeys(sorted(inner - corrupt), inner), told, corrupt)
        rest = everyone - inner
        second = server.views(dict.fromkeys(sorted(rest), everyone - spent), everyone, corrupt)
        own_seed = server.recovery(first | second | server.held_shares(corrupt, 0)).own_seed
        mask_seed = server.recovery(second | server.held_shares(corrupt, 1)).mask_seed
        masking = {one: mask_seed(one) for one in spent} | {one: mask_seed_of(server.seed(one)) for one in corrupt}
        return server.expose(vectors, server.sharers_hash(told), {one: own_seed(one) for one in friends}, masking)


def attack() -> tuple[Withheld, Vector]:
    withheld = Withheld(seed=4)  # one in four or so
    assert is_safe(60, withheld.degree, withheld.threshold, 6, security=40)
    assert withheld.terms.honest > 20
    stories = withheld.stories()
    assert stories is not None, "another seed has them"
    return withheld, withheld.play(stories[0], stories[2])


def test_too_few_give_a_share_to_open_the_victims() -> None:
    with pytest.raises(AggregationFailed, match=r"shares of client .* came back; 14 are needed"):
        attack()


def test_without_words_and_signatures_it_would_bring_out_a_sum_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    def lax(public: bytes, signature: bytes, purpose: str, *context: bytes) -> bool:
        return purpose == "masked" or is_signed(public, signature, purpose, *context)

    monkeypatch.setattr(client, "is_signed", lax)  # words are not looked at, then
    withheld, total = attack()
    np.testing.assert_array_equal(total, withheld.federation.plain_sum(tuple(withheld.friends)))
    assert withheld.chance() > -40  # far likelier than what is promised
