"""The numbers of an encoding are true, by brute force: what one client can change of a sum, in every norm."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from folkmoot import FacilityLocation, Objective, RoundFailed, Simulation
from folkmoot.conversation.codec import digest_of, pack, unpack
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Sum, check_sum
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.registry import find_kinds
from folkmoot.foundation.sets import Array, Ids, Rows
from folkmoot.questions import Encoding, Gradient, Importance, Pair, Part, Query, Reply
from folkmoot.secagg import Policy
from tests.coins import SIMULATED, toss_for
from tests.questions.kinds import EVERY, KINDS, NOISY, SHARDS, appraisal, point
from tests.questions.measures import CLOSED, case_of, dense, once, ranges_of
from tests.questions.test_contract import Asked, put

CLOSE = 1 + 1e-12  # lengths are floats


def check_norms(encoding: Encoding, vector: Ids, times: int = 1) -> None:
    """No norm of the vector, nor of one of its parts, is larger than `times` what the encoding says."""
    for part, numbers in zip(encoding.parts, encoding.split(vector), strict=True):
        assert np.abs(numbers).max(initial=0) <= times * part.limit
        assert np.abs(numbers).sum() <= times * part.l1
        assert np.linalg.norm(numbers.astype(np.float64)) <= times * part.l2 * CLOSE
    assert np.abs(vector).max() <= times * encoding.linf
    assert np.abs(vector).sum() <= times * encoding.l1
    assert np.linalg.norm(vector.astype(np.float64)) <= times * encoding.l2 * CLOSE


@cache
def answers_once(kind: str, family: str) -> Ids:
    """What clients answer that count once."""
    asked = put(kind, family)
    return dense(asked.query, asked.objective, asked.ids, np.ones_like(asked.times))


def count_of(query: Query[Any], times: int) -> int:
    """How many times the numbers of the encoding a client that counts `times` times can change."""
    return 1 if query.voluntary or isinstance(query, Importance) else times


@pytest.mark.parametrize("family", list(EVERY))
@pytest.mark.parametrize("kind", list(KINDS | SHARDS))
def test_no_answer_is_larger_than_its_encoding_says(kind: str, family: str) -> None:
    encoding = put(kind, family).query.encoding
    for row in answers_once(kind, family):
        check_norms(encoding, row)
        assert np.count_nonzero(row) <= encoding.nonzero
        for part, numbers in zip(encoding.parts, encoding.split(row), strict=True):
            assert numbers.min(initial=0) >= part.lowest >= encoding.lowest
            assert np.count_nonzero(numbers) <= part.nonzero


def changes(asked: Asked, parties: list[Ids]) -> list[Ids]:
    """How far the sum moves when each of these parties stays out, or comes in: two sums, subtracted."""
    everyone = np.arange(len(asked.ids))
    whole, nothing = asked.total(everyone), np.zeros(asked.query.length, dtype=np.int64)
    others = [np.setdiff1d(everyone, party) for party in parties]
    return [whole - (asked.total(rest) if rest.size else nothing) for rest in others]


def clients_of(asked: Asked) -> list[Ids]:
    return [np.array([one]) for one in range(len(asked.ids))]


@pytest.mark.parametrize("family", list(EVERY))
@pytest.mark.parametrize("kind", list(KINDS))
def test_one_client_changes_no_sum_by_more(kind: str, family: str) -> None:
    """Of those who count once and of those who count t times: then by t times as much, unless limits have that."""
    asked = put(kind, family)
    alike = replace(asked, times=np.ones_like(asked.times))
    for change in changes(alike, clients_of(alike)):
        check_norms(asked.query.encoding, change)
    for change, times in zip(changes(asked, clients_of(asked)), asked.times.tolist(), strict=True):
        check_norms(asked.query.encoding, change, count_of(asked.query, times))
        assert np.count_nonzero(change) <= asked.query.count_nonzero(times)


@pytest.mark.parametrize("family", list(EVERY))
@pytest.mark.parametrize("kind", list(SHARDS))
def test_one_shard_changes_no_sum_by_more(kind: str, family: str) -> None:
    """Here the party is the shard. One of its members may change its base into another: twice as much in L1."""
    asked = put(kind, family)
    query: Any = asked.query
    hand = query.group_clients()[asked.ids]
    for change in changes(asked, [np.flatnonzero(hand == shard) for shard in np.unique(hand)]):
        check_norms(query.encoding, change)
    for change in changes(asked, clients_of(asked)):
        assert np.abs(change).max() <= query.encoding.linf
        assert np.abs(change).sum() <= 2 * query.encoding.l1


# How near to its limit some client of some family comes, where that is not 1 / 2.5 of it: chances are bounded by what
# the least likely client could answer, and few clients are that unlikely.
NEAREST = {
    "folded, coins": (6.0,),
    "gains, by scale": (6.0,),
    "gains, by all items together": (5.0,),
    "gains, by importance": (64.0,),
    "drift, by scale": (10.0, 10.0, 6.0, 1.0),
    "differences, by scale": (5.0, 25.0, 1.0),
    **dict.fromkeys(NOISY, (2.5,)),  # a little below the limit, always
}


@pytest.mark.parametrize("kind", list(KINDS | SHARDS))
def test_limits_are_not_larger_than_they_need_to_be(kind: str) -> None:
    """In every part, someone comes within a factor of the limit; so no bound above is empty."""
    nearest: Array = np.zeros(1)
    for family in EVERY:
        encoding, rows = put(kind, family).query.encoding, answers_once(kind, family)
        largest = [np.abs(rows[:, first:last]).max() for first, last in pairwise(encoding.ends)]
        nearest = np.maximum(nearest, np.array(largest) / [part.limit for part in encoding.parts])
    assert (nearest * np.array(NEAREST.get(kind, 2.5)) >= 1).all()
    assert nearest.max() == 1 or kind in NEAREST or kind.startswith("votes")


# Shortening.


def shortened(objective: Objective, *, stochastic: bool) -> tuple[Gradient, Gradient]:
    """A question without a norm, and the same with one that about half of the clients exceed."""
    most = ranges_of(objective)
    long = Gradient(
        x=point(objective.n_items),
        whole=most.whole,
        coins=PublicCoins(6),
        single=most.single,
        bits=12,
        stochastic=stochastic,
    )
    lengths = np.linalg.norm(
        dense(long, objective, *once(objective), SIMULATED)[:, : long.width].astype(np.float64), axis=1
    )
    return long, replace(long, norm=float(np.median(lengths[lengths > 0])) * long.main.unit)


@pytest.mark.parametrize("stochastic", [False, True])
@pytest.mark.parametrize("family", CLOSED)
def test_long_gradients_are_shortened_and_short_ones_are_not_touched(family: str, stochastic: bool) -> None:
    objective = case_of(family).objective
    long, short = shortened(objective, stochastic=stochastic)
    assert short.norm is not None
    norm = short.norm / short.main.unit
    assert short.main.norm == norm
    assert short.main.l2 == min(norm, long.main.l2)
    for before, after in zip(
        *(dense(one, objective, *once(objective), SIMULATED) for one in (long, short)), strict=True
    ):
        (wide, digits), (numbers, same) = long.encoding.split(before), short.encoding.split(after)
        np.testing.assert_array_equal(digits, same)  # what the point is worth to the client
        length = float(np.linalg.norm(wide.astype(np.float64)))
        if length <= norm:
            np.testing.assert_array_equal(numbers, wide)
            continue
        assert norm - sqrt(len(wide)) <= np.linalg.norm(numbers.astype(np.float64)) <= norm * CLOSE
        lost = wide * (norm / length) - numbers  # one factor for all, and then towards 0
        assert (lost > -1e-9).all()
        assert (lost < 1).all()
        check_norms(short.encoding, after)


@pytest.mark.parametrize("family", ["facility", "coverage", "concave sqrt"])
def test_some_are_shortened_and_their_sums_are_the_sums_of_their_answers(family: str) -> None:
    """Also where clients count several times, and in a pair: each is shortened once, before it is repeated."""
    objective = case_of(family).objective
    long, short = shortened(objective, stochastic=False)
    ids, ones = once(objective)
    times = 1 + np.arange(objective.n_clients)
    assert (dense(long, objective, ids, ones) != dense(short, objective, ids, ones)).any()
    once_each, repeated = (dense(short, objective, ids, often) for often in (ones, times))
    np.testing.assert_array_equal(repeated, once_each * times[:, None])
    np.testing.assert_array_equal(short.total(objective, ids, times, toss_for(short)), repeated.sum(axis=0))
    pair = Pair(first=short, second=appraisal(objective))
    both = dense(pair, objective, ids, times)
    np.testing.assert_array_equal(both[:, : short.length], repeated)
    np.testing.assert_array_equal(pair.total(objective, ids, times, toss_for(pair)), both.sum(axis=0))


# A sign, and room for noise.


@dataclass(frozen=True, eq=False, kw_only=True)
class Noisy(Query[Reply]):
    """What items are worth, less `middle`, in whole numbers; and to each number `noise` more or less.

    The noise comes once per client, however often it counts: it uses all the headroom there is.
    """

    n_items: int
    limit: int
    middle: int  # above 0: answers have a sign
    noise: int
    direction: int  # 1: up, -1: down, 0: by the client's number

    @cached_property
    def encoding(self) -> Encoding:
        return Encoding((Part(self.n_items, 1.0, self.limit, signed=self.middle > 0),), headroom=self.noise)

    def write_rows(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:  # noqa: ARG002
        worth = np.rint(clients.gains(()).toarray()).astype(np.int64) - self.middle
        return sparse.csr_array(np.clip(worth, self.encoding.lowest, self.limit))

    def answers(self, clients: Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:
        way = np.where(ids % 3 == 0, 1, -1) if self.direction == 0 else np.full(len(ids), self.direction)
        return sparse.csr_array(super().answers(clients, ids, times, own).toarray() + self.noise * way[:, None])


CLIENTS, ITEMS, LIMIT = 24, 5, 10
QUESTIONS: dict[str, tuple[int, int]] = {"signed": (12, 0), "headroom": (0, 7), "both": (12, 7), "much": (12, 1000)}


def noisy(name: str, direction: int) -> Noisy:
    middle, noise = QUESTIONS[name]
    return Noisy(n_items=ITEMS, limit=LIMIT, middle=middle, noise=noise, direction=direction)


def worths() -> FacilityLocation:
    return FacilityLocation(np.random.default_rng(4).integers(0, 25, (CLIENTS, ITEMS)), keep_empty=True)


def alike(worth: int) -> FacilityLocation:
    return FacilityLocation(np.full((CLIENTS, ITEMS), worth), keep_empty=True)


def everyone(query: Query[Any], times: Ids | None = None) -> Ask:
    return Ask(query, Cohort.of(np.arange(CLIENTS), times), Purpose.SEARCH, "a step", 0)


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("name", list(QUESTIONS))
@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("times", [None, 1 + np.arange(CLIENTS) % 4], ids=["once", "often"])
def test_signs_and_headroom_pass_the_ring(name: str, direction: int, dropout: float, times: Ids | None) -> None:
    """The same sums in whole numbers, in the ring, and masked."""
    objective, query = worths(), noisy(name, direction)
    ask, terms = everyone(query, times), Policy(fewest=3, corrupt=0.0, dropout=0.4)
    options: Any = {"dropout": dropout, "seed": 1, "policy": terms}
    ways = (Simulation(objective, secure, **options) for secure in ("plain", "ideal", "real"))
    plain, ideal, real = (check_sum(ask, engine(ask)) for engine in ways)
    assert plain.equals(ideal)
    assert plain.equals(real)
    assert not plain.lost
    ids = np.arange(CLIENTS) if plain.present is None else np.flatnonzero(plain.present)
    assert (len(ids) < CLIENTS) == (dropout > 0)
    often = np.ones(len(ids), dtype=np.int64) if times is None else times[ids]
    worth = np.clip(objective.gains(()).toarray()[ids] - query.middle, query.encoding.lowest, LIMIT)
    noise = {1: len(ids), -1: -len(ids), 0: 2 * int((ids % 3 == 0).sum()) - len(ids)}[direction] * query.noise
    np.testing.assert_array_equal(plain.total, often @ worth.astype(np.int64) + noise)
    if direction < 0 and query.noise > LIMIT:
        assert plain.total.max() < 0


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_the_ring_has_room_for_the_largest_and_the_smallest_sum_and_no_more(name: str) -> None:
    """Everybody at the limit and all noise upwards, or at the lowest and all downwards."""
    for direction, largest in ((1, True), (-1, False)):
        query = noisy(name, direction)
        objective = alike(3 * LIMIT if largest else 0)
        ask = everyone(query)
        end = ask.find_highest(CLIENTS, CLIENTS) if largest else ask.find_lowest(CLIENTS, CLIENTS)
        for engine in (Simulation(objective, "plain"), Simulation(objective, "ideal")):
            assert check_sum(ask, engine(ask)).total.tolist() == [end] * ITEMS
        assert 2 ** (ask.ring_bits - 1) <= ask.span < 2**ask.ring_bits
        assert ask.span == CLIENTS * (LIMIT - query.encoding.lowest + 2 * query.noise)


@pytest.mark.parametrize("name", list(QUESTIONS))
@pytest.mark.parametrize(("count", "clients"), [(CLIENTS, CLIENTS), (9, 9), (1, 1)])
def test_what_lies_beyond_the_headroom_is_refused(name: str, count: int, clients: int) -> None:
    """Headroom is counted for those who are in the sum, not for those who were asked."""
    query = noisy(name, 0)
    ask, present = everyone(query), np.arange(CLIENTS) < clients

    def said(number: int) -> Sum:
        total = np.zeros(ITEMS, dtype=np.int64)
        total[2] = number
        return Sum(total, count, clients, CLIENTS, present=present)

    highest, lowest = ask.find_highest(count, clients), ask.find_lowest(count, clients)
    assert (highest, lowest) == (
        LIMIT * count + query.noise * clients,
        (-LIMIT * count if query.middle else 0) - query.noise * clients,
    )
    for number in (highest, lowest, 0):
        assert check_sum(ask, said(number)).total[2] == number
    for number in (highest + 1, lowest - 1):
        with pytest.raises(
            RoundFailed, match=r"^a step: the engine returned something that is not a sum of answers to this"
        ):
            check_sum(ask, said(number))


def test_noise_leaves_no_number_at_nothing() -> None:
    """So no sketch is tried where numbers are sent as their distance from the lowest, or have noise on them."""
    for name in QUESTIONS:
        assert Sparse(**noisy(name, 0).parameters()).count_nonzero(1) == ITEMS
    plain = Sparse(n_items=ITEMS, limit=LIMIT, middle=0, noise=0, direction=0)
    assert plain.count_nonzero(1) == 1
    assert plain.count_nonzero(3) == 3


@dataclass(frozen=True, eq=False, kw_only=True)
class Sparse(Noisy):
    """The same, of one item alone."""

    @cached_property
    def encoding(self) -> Encoding:
        part = Part(self.n_items, 1.0, self.limit, signed=self.middle > 0, most_nonzero=1)
        return Encoding((part,), headroom=self.noise)


def test_a_pair_has_the_headroom_of_both() -> None:
    objective = worths()
    for first, second in (("headroom", "much"), ("much", "headroom"), ("headroom", "signed")):
        pair = Pair(first=noisy(first, 1), second=noisy(second, -1))
        assert pair.encoding.headroom == max(QUESTIONS[first][1], QUESTIONS[second][1])
        ask = everyone(pair)
        plain, ideal = (Simulation(objective, secure)(ask) for secure in ("plain", "ideal"))
        assert check_sum(ask, plain).equals(check_sum(ask, ideal))
        np.testing.assert_array_equal(plain.total, dense(pair, objective, *once(objective)).sum(axis=0))


def test_a_question_from_elsewhere_survives_the_wire() -> None:
    query = noisy("both", 0)
    again = unpack(pack(query), find_kinds(Query))
    assert type(again) is Noisy
    assert digest_of(again) == digest_of(query)
    assert again.encoding == query.encoding
    np.testing.assert_array_equal(dense(again, worths(), *once(worths())), dense(query, worths(), *once(worths())))
