"""What a party with a budget does not answer: questions without a price, without a crowd, or beyond all sense."""

from dataclasses import dataclass, replace
from math import inf, nan, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import folkmoot as fm
from folkmoot.engines import Bundle, PartyPolicy
from folkmoot.engines.odometer import find_costs
from folkmoot.engines.pooling import announce_pool, write_pooled_question
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Ids, Rows
from folkmoot.objectives import Objective
from folkmoot.privacy.noise import KeyedNoise, Noise
from folkmoot.questions import Pair, Query
from folkmoot.questions.encoding import Encoding, Part
from folkmoot.questions.hidden import Direction, Worth
from folkmoot.questions.query import Reply
from tests.engines import crowds
from tests.engines.crowds import gradient
from tests.engines.noisy import BUDGET, EVERYONE, KINDS, LIMIT, MU, PRICE, Site, ask_noise, close, limit, make_site
from tests.engines.pools import ITEMS, ask_all, ask_some

# What is refused.


@dataclass(frozen=True, eq=False, kw_only=True)
class Claiming(Query[Reply]):
    """Says that it has noise, and what it costs next to nothing."""

    mu: float = 1e-6

    @property
    def encoding(self) -> Encoding:
        return Encoding((Part(1, 1.0, 5),), noise=1.0)

    @property
    def added_noise(self) -> Noise:
        return Noise(self.mu, 1 << 13)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:  # noqa: ARG002
        return sparse.csr_array(np.full((len(ids), 1), 5, dtype=np.int64))


@dataclass(frozen=True, eq=False, kw_only=True)
class LoudDirection(Direction):
    """One of Folkmoot's own, with longer answers."""

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        return super().write_rows(clients, ids, times, own) * 1000


REFUSED: dict[str, tuple[Query[Any], str]] = {
    "no noise": (gradient(ITEMS), "this party answers only under noise, and how much a Gradient shows"),
    "no noise, after some": (
        Pair(first=ask_noise(), second=gradient(ITEMS)),
        "this party answers only under noise, and how much a Pair shows",
    ),
    "two of which each has noise": (
        Pair(first=ask_noise(), second=ask_noise(0.1)),
        "this party answers only under noise, and how much a Pair shows",
    ),
    "another kind that claims noise": (
        Claiming(),
        "this party answers only under noise, and how much a tests.engines.test_odometer_refusals:Claiming shows",
    ),
    "a kind below Folkmoot's own": (
        LoudDirection(**ask_noise().parameters()),
        "this party answers only under noise, and how much a tests.engines.test_odometer_refusals:LoudDirection shows",
    ),
    "a floor of one": (ask_noise(honest=1), "1 honest shares of noise are promised for any sum; 2 are needed"),
    "too large a price": (ask_noise(1.01 * sqrt(LIMIT)), "one round would cost μ = "),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("kind", KINDS)
def test_questions_without_a_price_or_a_crowd_are_refused(kind: str, what: str) -> None:
    site = make_site(kind)
    query, why = REFUSED[what]
    said = site.engine()(site.ask(query))
    assert (said.lost, said.spent) == (True, False)
    assert {one[: len(why)] for one in site.reasons} == {why}
    assert close(site.paid, 0.0)
    for party in site.parties.values():
        assert not party.ledger


@pytest.mark.parametrize("kind", KINDS)
def test_adjacency_is_the_policys(kind: str) -> None:
    strict = limit(kind, budget=fm.Privacy(1.0, 1e-3, "replace-one"))
    site = make_site(kind, strict)
    assert site.engine()(site.ask(ask_noise())).lost
    assert site.reasons == {"this party hides its clients by replace-one, not by zero-out alone"}
    site = make_site(kind, strict)
    assert not site.engine(run=b"one")(site.ask(ask_noise(adjacency="replace-one"))).lost
    assert close(site.paid, PRICE / 2)  # with as much noise, less is seen than whether one has anything to say
    strict = limit(kind, budget=fm.Privacy(1.0, 1e-3))
    site = Site(kind, strict, site.stores)
    assert not site.engine(run=b"two")(site.ask(ask_noise(adjacency="replace-one"), 1)).lost


def test_what_was_paid_is_known_in_every_adjacency() -> None:
    """A party that changes its mind about adjacency finds what earlier rounds cost in the new one."""
    assert find_costs(ask_noise(MU)) == pytest.approx((MU**2, 2 * MU**2))
    assert find_costs(ask_noise(MU, centred=True)) == pytest.approx((MU**2, 4 * MU**2))
    assert find_costs(ask_noise(MU, adjacency="replace-one")) == pytest.approx((MU**2 / 2, MU**2))
    assert find_costs(ask_noise(MU, centred=True, adjacency="replace-one")) == pytest.approx((MU**2 / 4, MU**2))
    site = make_site("pooled", limit("pooled", budget=fm.Privacy(1.0, 1e-3)))
    assert not site.engine(run=b"one")(site.ask(ask_noise())).lost
    site = Site("pooled", limit("pooled", budget=fm.Privacy(1.0, 1e-3, "replace-one")), site.stores)
    assert site.engine(run=b"two")(site.ask(ask_noise(adjacency="replace-one"), 1)).lost  # 0.8 + 0.4 of it
    assert not site.engine(run=b"two")(site.ask(ask_noise(sqrt(0.2 * LIMIT), adjacency="replace-one"), 2)).lost


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_honest_on_the_roll_is_a_refusal_when_it_is_seen(kind: str) -> None:
    """A server promises more honest shares than the terms can. Nobody speaks, and nobody is stuck."""
    site = make_site(kind)
    claimed = 4 if kind == "pooled" else 50
    said = site.engine()(site.ask(ask_noise(honest=claimed)))
    assert said.lost
    (why,) = site.reasons
    actual = 3 if kind == "pooled" else int(why.split()[3])
    assert why == f"any sum holds {actual} honest shares of noise, and {claimed} are needed"
    assert actual < claimed
    assert close(site.paid, 0.0)
    assert not site.engine()(site.ask(ask_noise(), 1)).lost
    without = make_site(kind, limit(kind, budget=None))  # the share would not fit its room: also without a budget
    assert without.engine()(without.ask(ask_noise(honest=claimed))).lost


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_may_want_more_honest_shares(kind: str) -> None:
    """Whether a server promises fewer, or as many and there are fewer."""
    wanted = 4 if kind == "pooled" else 50
    site = make_site(kind, limit(kind, honest=wanted))
    assert site.engine()(site.ask(ask_noise(honest=2))).lost
    assert site.reasons == {f"2 honest shares of noise are promised for any sum; {wanted} are needed"}
    assert site.engine()(site.ask(ask_noise(honest=wanted), 1)).lost
    assert any(why.endswith(f"honest shares of noise, and {wanted} are needed") for why in site.reasons)
    assert close(site.paid, 0.0)


def test_a_few_clients_are_no_crowd() -> None:
    """Clients require five honest shares unless they say otherwise; a cohort of six has four."""
    site = make_site("each", PartyPolicy(crowds.TERMS, budget=BUDGET))
    few = np.arange(0, 12, 2)
    assert site.engine()(ask_some(ask_noise(honest=5), few)).lost
    assert site.engine()(ask_some(ask_noise(honest=2), few, number=1)).lost
    assert site.reasons == {
        "any sum holds 4 honest shares of noise, and 5 are needed",
        "2 honest shares of noise are promised for any sum; 5 are needed",
    }
    assert not site.engine()(site.ask(ask_noise(honest=5), 2)).lost


def test_answers_do_not_grow_with_how_often_one_counts() -> None:
    """A server that lets one client count a thousand times gets the same sum, and it costs the same."""
    for kind in KINDS:
        sums = []
        for times in (None, np.where(EVERYONE == 30, 1000, 1)):
            site = make_site(kind, limit(kind, uneven=True, clients=1), noise=KeyedNoise(b"test"))
            said = site.engine()(ask_some(ask_noise(), EVERYONE, times))
            assert not said.lost
            assert close(site.paid, PRICE)
            sums.append(said.total)
        assert np.array_equal(sums[0], sums[1])


HOSTILE: dict[str, dict[str, Any]] = {
    "no price": {"mu": 0.0},
    "a negative price": {"mu": -0.1},
    "a price that is no number": {"mu": nan},
    "an infinite price": {"mu": inf},
    "a price that cannot be": {"mu": 101.0},
    "a price as a whole number": {"mu": 1},
    "coarse noise": {"sd": (1 << 13) - 1},
    "no noise": {"sd": 0},
    "negative noise": {"sd": -(1 << 16)},
    "noise as a number with a point": {"sd": 65536.0},
    "tables that fill the memory": {"sd": 1 << 32, "honest": 2},
    "shares that are just too wide": {"sd": (1 << 17) + 1, "honest": 1},
    "no honest clients": {"honest": 0},
    "fewer than none": {"honest": -3},
    "true honest clients": {"honest": True},
    "a norm of 0": {"mu": 1e-7, "sd": 1 << 13},
    "another adjacency": {"adjacency": "none"},
    "no adjacency": {"adjacency": None},
    "weights that are no numbers": {"heaviest": nan},
    "no weight": {"heaviest": 0.0},
    "negative weights": {"heaviest": -1.0},
    "a cap that is no number": {"cap": nan},
    "an infinite cap": {"cap": inf},
    "a largest value of 0": {"most": 0.0},
    "a largest value that is no number": {"most": nan},
    "a tiny largest value": {"most": 1e-300},
    "items twice": {"items": np.array([1, 1])},
    "items that are not there": {"items": np.array([0, ITEMS])},
    "no items": {"items": np.array([], dtype=np.int64)},
    "members of another length": {"members": np.zeros(ITEMS + 1, dtype=bool)},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_party_checks_all_that_noise_depends_on(what: str) -> None:
    """Also a party without a budget; nothing is computed from it."""
    for policy in (limit("pooled"), limit("pooled", budget=None)):
        party = make_site("pooled", policy).parties[0]
        query = ask_noise(**{"sd": 1 << 16, **HOSTILE[what]})
        question = write_pooled_question(ask_all(query), bytes(16), party.census)
        assert not party.reply(Bundle({0: b""}, question)).letters
        (refusal,) = party.refusals
        assert refusal.stage == "question"
        assert "answering failed" not in refusal.why


@pytest.mark.parametrize("whole", [0.0, nan, inf, -1.0, 1e-300])
def test_a_worth_needs_a_largest_value(whole: float) -> None:
    party = make_site("pooled").parties[0]
    query = Worth(members=np.ones(ITEMS, dtype=bool), whole=whole, mu=0.1, sd=1 << 16, honest=2)
    question = write_pooled_question(ask_all(query), bytes(16), party.census)
    assert not party.reply(Bundle({0: b""}, question)).letters


def test_noisy_answers_are_not_sketched() -> None:
    """A server announces a sketch of a few numbers in place of the whole vector."""
    site = make_site("each")
    engine: Any = site.engine()
    announce = engine._announce

    def sketch(*what: Any) -> Any:
        return replace(announce(*what), room=4)

    engine._announce = sketch
    assert engine(site.ask(ask_noise())).lost
    assert site.reasons == {"noisy answers are sent in full, not in a sketch"}


def test_what_is_announced_cannot_cut_noise_off() -> None:
    """The largest number of a vector is announced: a smaller one would cut noise off, and show who has much."""
    site = make_site("pooled")
    party, ask = site.parties[0], site.ask(ask_noise())
    assert party.reply(Bundle({0: b""}, write_pooled_question(ask, bytes(16), party.census))).letters
    right = announce_pool(ask, bytes(16), party.roster.digest, party.census)
    room = ask.query.encoding.find_room(0, 1)
    assert right.largest >= 2 * room + ask_noise().norm
    assert room >= 24 * ask_noise().added_noise.find_share_sd(2) >= 24 * ask_noise().added_noise.find_share_sd(3)
